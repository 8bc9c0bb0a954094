// Splitters of a segment: how a block chooses them, and how threads search among them.
#pragma once

#include <gpusort/block/merge.cuh>
#include <gpusort/block/merge_sort.cuh>
#include <gpusort/block/tile.cuh>
#include <gpusort/block/warp.cuh>
#include <gpusort/hybrid/tuning.h>

#include <cstddef>
#include <cstdint>

namespace gpusort::hybrid
{

inline constexpr int most_buckets = 1 << most_log2;

/// The 2^log2 - 1 splitters of a segment, in device or shared memory, as a search tree: node 1 is the root, nodes 2i and
/// 2i + 1 are the children of node i, and what goes before node i's splitter is to its left. Splitters are numbered in order.
template <class Key>
struct splitter_tree
{
  alignas(16) char nodes[sizeof(Key) * most_buckets];
  std::uint32_t repeats[most_buckets / 32]; // a bit for each splitter: the next one is equivalent

  __host__ __device__ Key* keys()
  {
    return reinterpret_cast<Key*>(nodes);
  }
  __host__ __device__ Key const* keys() const
  {
    return reinterpret_cast<Key const*>(nodes);
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
  int zeros = 0;
  while (((splitter + 1) >> zeros & 1u) == 0)
  {
    ++zeros;
  }
  return (1u << (log2 - 1 - zeros)) + ((splitter + 1) >> (zeros + 1));
}

/// Finds the bucket of keys: number b holds what is behind splitter b - 1 and not behind splitter b. If the next splitter is
/// equivalent to splitter b, keys that are as well go to bucket b + 1, which then has no others.
/// Complexity: log2 comparisons a key, and one more if the splitter that they lead to is repeated.
template <class Key, class Compare>
struct splitter_search
{
  splitter_tree<Key> const& tree; // in shared memory
  int log2;
  Compare& comp;

  /// The buckets of keys[i] for which holds(i). No comparison waits for that of another key.
  template <int Items, class Holds>
  __device__ void all(Key const (&keys)[Items], Holds holds, std::uint32_t (&buckets)[Items]) const
  {
    constexpr int together = Items < 8 ? Items : 8;
    Key const* const nodes = tree.keys();
#pragma unroll
    for (int first = 0; first < Items; first += together)
    {
      unsigned node[together];
#pragma unroll
      for (int i = 0; i < together; ++i)
      {
        node[i] = 1;
      }
#pragma unroll 1
      for (int level = 0; level < log2; ++level)
      {
#pragma unroll
        for (int i = 0; i < together; ++i)
        {
          if (first + i < Items && holds(first + i))
          {
            node[i] = 2 * node[i] + (block::precedes(nodes[node[i]], keys[first + i], comp) ? 1 : 0);
          }
        }
      }
#pragma unroll
      for (int i = 0; i < together; ++i)
      {
        if (first + i < Items && holds(first + i))
        {
          unsigned bucket = node[i] - (1u << log2);
          if (tree.is_of_equals(bucket + 1) && !block::precedes(keys[first + i], nodes[node_of(bucket, log2)], comp))
          {
            ++bucket;
          }
          buckets[first + i] = bucket;
        }
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

/// Chooses splitters of a segment by a sorted sample.
template <class Key, class Compare>
class splitter_choice
{
  static constexpr block_shape shape = sample_shape_for(sizeof(Key));
  using sorter                       = block::merge_sort<Key, block::no_values, Compare, shape.threads, shape.items>;

public:
  static constexpr int threads = shape.threads;
  static_assert(threads >= most_buckets);

  using shared_storage = typename sorter::shared_storage;

  /// Chooses splitters of keys[0, size) for `buckets` >= 2 buckets of a tree for 2^log2, where the rest stays empty.
  /// Called by all threads of a block; size >= buckets.
  __device__ static void
  choose(shared_storage& shared,
         Key const* keys,
         std::uint64_t size,
         unsigned buckets,
         int log2,
         splitter_tree<Key>& tree,
         Compare& comp)
  {
    int const samples          = size < sorter::tile ? static_cast<int>(size) : sorter::tile;
    std::uint64_t const stride = size / static_cast<std::uint64_t>(samples);
    // If the comparator contradicts itself, any keys will do.
    sorter::sort_into_shared(
      shared, [&](int i) { return keys[sampled_place(static_cast<std::uint64_t>(i), stride)]; }, samples, comp);
    Key const* const sorted = reinterpret_cast<Key const*>(shared.keys);
    // The last one stands for all that are missing.
    auto const sample_of = [&](unsigned splitter) {
      unsigned const number = splitter < buckets - 2 ? splitter : buckets - 2;
      return (number + 1) * static_cast<unsigned>(samples) / buckets;
    };
    unsigned const number = threadIdx.x;
    unsigned const nodes  = 1u << log2;
    if (number > 0 && number < nodes)
    {
      tree.keys()[number] = sorted[sample_of(splitter_at(number, log2))];
    }
    bool repeats = false;
    if (number + 2 < nodes)
    {
      unsigned const own = sample_of(number), next = sample_of(number + 1);
      repeats = own == next || !block::precedes(sorted[own], sorted[next], comp);
    }
    std::uint32_t const word = __ballot_sync(block::all_lanes, repeats);
    if (number < most_buckets && number % 32 == 0)
    {
      tree.repeats[number / 32] = word;
    }
  }
};

} // namespace gpusort::hybrid
