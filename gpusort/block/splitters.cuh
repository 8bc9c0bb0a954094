// Splitters of a segment: how a block chooses them by a sorted sample, and how threads search among them.
// Source: Sintorn and Assarsson, section IV, who choose the buckets of a split by a first pass over the input; that keys equal to a splitter
// get a bucket of their own is the gap of GPU-Quicksort (Cederman and Tsigas, section 3).
#pragma once

#include <gpusort/block/merge.cuh>
#include <gpusort/block/merge_sort.cuh>
#include <gpusort/block/staged_keys.cuh>
#include <gpusort/block/tile.cuh>
#include <gpusort/block/warp.cuh>

#include <cuda/std/bit>

#include <cstddef>
#include <cstdint>

namespace gpusort::block
{

/// The most buckets that splitters make of a segment, as a power of two.
inline constexpr int most_splits_log2 = 8;
inline constexpr int most_buckets     = 1 << most_splits_log2;

/// The 2^log2 - 1 splitters of a segment, in device or shared memory, as a search tree: node 1 is the root, nodes 2i and
/// 2i + 1 are the children of node i, and what goes before node i's splitter is to its left. Splitters are numbered in order.
template <class Key>
struct splitter_tree
{
  alignas(16) char nodes[staged_stride<Key> * most_buckets];
  std::uint32_t repeats[most_buckets / 32]; // a bit for each splitter: the next one is equivalent
  bool has_repeats; // any

  __host__ __device__ staged_keys_t<Key> keys()
  {
    return block::staged_at<Key>(nodes);
  }
  __host__ __device__ staged_keys_t<Key const> keys() const
  {
    return block::staged_at<Key const>(const_cast<char*>(nodes));
  }

  /// Whether `bucket` has nothing but keys equivalent to a splitter.
  __host__ __device__ bool is_of_equals(unsigned bucket) const
  {
    return bucket > 0 && (repeats[(bucket - 1) / 32] >> (bucket - 1) % 32 & 1u) != 0;
  }
};

/// The splitter at a node.
__host__ __device__ constexpr unsigned splitter_at(unsigned node, int log2)
{
  int level = 0;
  while (node >> level > 1)
  {
    ++level;
  }
  return ((2 * (node - (1u << level)) + 1) << (log2 - 1 - level)) - 1;
}

/// The node of a splitter.
__host__ __device__ constexpr unsigned node_of(unsigned splitter, int log2)
{
  return ((1u << log2) + splitter + 1) >> (::cuda::std::countr_zero(splitter + 1) + 1);
}

/// Finds the bucket of keys: number b holds what is behind splitter b - 1 and not behind splitter b. If the next splitter is
/// equivalent to splitter b, keys that are as well go to bucket b + 1, which then has no others.
/// Complexity: log2 comparisons a key, and one more if the splitter that they lead to is repeated.
template <class Key, class Compare>
struct splitter_search
{
  splitter_tree<Key> const& tree; // in shared memory
  int log2;
  bool has_repeats; // of the tree
  Compare& comp;

  /// The buckets of keys[i] for which holds(i).
  template <int Items, class Holds>
  __device__ void all(Key const (&keys)[Items], Holds holds, std::uint32_t (&buckets)[Items]) const
  {
    descend(keys, holds, buckets);
    find_equals(keys, holds, buckets);
  }

  /// The same but for keys that are equivalent to a repeated splitter. No comparison waits for that of another key.
  template <int Items, class Holds>
  __device__ void descend(Key const (&keys)[Items], Holds holds, std::uint32_t (&buckets)[Items]) const
  {
    constexpr int together = Items < 8 ? Items : 8;
    constexpr auto node    = static_cast<unsigned>(staged_stride<Key>);
    // Nodes are told apart by where they lie, in bytes, which saves instructions.
    auto const at = [&](unsigned place) -> Key const& { return *reinterpret_cast<Key const*>(tree.nodes + place); };
#pragma unroll
    for (int first = 0; first < Items; first += together)
    {
      unsigned place[together];
#pragma unroll
      for (int i = 0; i < together; ++i)
      {
        place[i] = node;
      }
#pragma unroll 1
      for (int level = 0; level < log2; ++level)
      {
#pragma unroll
        for (int i = 0; i < together; ++i)
        {
          if (first + i < Items && holds(first + i))
          {
            bool const is_right = block::precedes(at(place[i]), keys[first + i], comp);
            place[i] *= 2;
            if (is_right)
            {
              place[i] += node;
            }
          }
        }
      }
#pragma unroll
      for (int i = 0; i < together; ++i)
      {
        if (first + i < Items)
        {
          buckets[first + i] = place[i] / node - (1u << log2);
        }
      }
    }
  }

  /// Moves what is equivalent to a repeated splitter on to the bucket behind it.
  template <int Items, class Holds>
  __device__ void find_equals(Key const (&keys)[Items], Holds holds, std::uint32_t (&buckets)[Items]) const
  {
    if (!has_repeats)
    {
      return;
    }
    auto const nodes = tree.keys();
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      unsigned const bucket = buckets[i];
      if (holds(i) && tree.is_of_equals(bucket + 1) && !block::precedes(keys[i], nodes[node_of(bucket, log2)], comp))
      {
        buckets[i] = bucket + 1;
      }
    }
  }
};

/// A place in the i-th of `size` / `stride` parts of a segment: not always the same one, so that no period of the input is
/// in step with it.
__host__ __device__ inline std::uint64_t sampled_place(std::uint64_t i, std::uint64_t stride)
{
  std::uint64_t mixed = (i + 1) * 0x9e3779b97f4a7c15u;
  mixed               = (mixed ^ (mixed >> 29)) * 0xbf58476d1ce4e5b9u;
  return i * stride + ((mixed >> 32) * stride >> 32);
}

/// Places splitters in a sorted sample so that each of `buckets` <= count gets as much of it as others. Called by all threads of a
/// block; a barrier has to follow.
__device__ inline void place_splitters(std::uint16_t (&places)[most_buckets], int count, unsigned buckets)
{
  unsigned const number = threadIdx.x;
  if (number + 1 < buckets)
  {
    places[number] = static_cast<std::uint16_t>((number + 1) * static_cast<unsigned>(count) / buckets);
  }
}

/// Makes a tree for 2^log2 >= buckets of splitters whose places in a sorted sample are known; the last one stands for all that are
/// missing. `sorted(place)` is the key there. Called by all threads of a block, at least most_buckets.
template <class Key, class Sorted, class Compare>
__device__ void plant_splitters(Sorted sorted,
                                std::uint16_t const (&places)[most_buckets],
                                unsigned buckets,
                                int log2,
                                splitter_tree<Key>& tree,
                                Compare& comp)
{
  auto const splitter   = [&](unsigned s) -> Key const& { return sorted(places[s < buckets - 2 ? s : buckets - 2]); };
  unsigned const number = threadIdx.x;
  unsigned const nodes  = 1u << log2;
  if (number > 0 && number < nodes)
  {
    tree.keys()[number] = splitter(splitter_at(number, log2));
  }
  bool repeats = false;
  if (number + 2 < buckets)
  {
    repeats = places[number] == places[number + 1] || !block::precedes(splitter(number), splitter(number + 1), comp);
  }
  std::uint32_t const word = __ballot_sync(all_lanes, repeats);
  if (number < most_buckets && number % 32 == 0)
  {
    tree.repeats[number / 32] = word;
  }
  bool const any = __syncthreads_or(repeats) != 0;
  if (number == 0)
  {
    tree.has_repeats = any;
  }
}

/// Sorts samples of up to `Threads` x `Items` keys by a comparator.
template <class Key, class Compare, int Threads, int Items>
class splitter_choice
{
  using sorter = merge_sort<Key, no_values, Compare, Threads, Items>;

public:
  static constexpr int threads = Threads;
  static_assert(threads >= most_buckets);

  using shared_storage = typename sorter::shared_storage;

  static constexpr int most_samples = sorter::tile;

  /// Where a sample is put together.
  __device__ static staged_keys_t<Key> samples(shared_storage& shared)
  {
    return sorter::keys_of(shared);
  }

  /// Of a sample by which splitters have been chosen, the key at a place.
  __device__ static Key const& sorted_at(shared_storage const& shared, int place)
  {
    return sorter::key_at(shared, place);
  }

  /// Sorts `count` samples. Called by all threads of a block, a barrier after the sample is there.
  __device__ static void sort(shared_storage& shared, int count, Compare& comp)
  {
    // If the comparator contradicts itself, any order will do.
    sorter::sort_in_shared(shared, runs_of_threads<Items>{count}, comp);
  }
};

} // namespace gpusort::block
