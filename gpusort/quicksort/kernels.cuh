// The second phase of quicksort: one block sorts one segment, partition by partition.
// Source: Cederman and Tsigas, sections 3.1.2 and 3.2.2.
#pragma once

#include <gpusort/block/merge.cuh>
#include <gpusort/block/prefix_sum.cuh>
#include <gpusort/block/tile.cuh>
#include <gpusort/hybrid/kernels.cuh>
#include <gpusort/quicksort/tuning.h>
#include <gpusort/runtime/dependency.cuh>
#include <gpusort/runtime/residency.cuh>

#include <cstddef>
#include <cstdint>
#include <new>

namespace gpusort::quick
{

/// A segment that waits on a block's stack.
template <class Key>
struct waiting_segment
{
  std::uint64_t begin;
  std::uint64_t size;
  std::uint32_t from; // number of the arrays that it is in
  int partitions_left;
  bool has_lower; // no key goes before `lower`
  alignas(16) char lower[sizeof(Key)];
};

template <class Key, class Value, class Compare>
struct segment_storage
{
  static constexpr int threads = hybrid::sort_shape_v<Key, Value>.threads;

  typename hybrid::bucket_sort<Key, Value, Compare>::shared_storage sorter;
  block::warp_sums<std::uint32_t, threads> sums;
  std::uint32_t left_of_chunk;
  int waiting;
  alignas(16) char pivot[sizeof(Key)];
  bool takes_equals; // to the left
  waiting_segment<Key> stack[most_waiting];
};

/// Where the median of three keys stands.
template <class Key, class Compare>
__device__ std::uint64_t median(Key const* keys, std::uint64_t a, std::uint64_t b, std::uint64_t c, Compare& comp)
{
  if (block::precedes(keys[a], keys[b], comp))
  {
    return block::precedes(keys[b], keys[c], comp) ? b : block::precedes(keys[a], keys[c], comp) ? c : a;
  }
  return block::precedes(keys[a], keys[c], comp) ? a : block::precedes(keys[b], keys[c], comp) ? c : b;
}

/// Where the median of three medians of three of `size` >= 9 keys stands.
template <class Key, class Compare>
__device__ std::uint64_t choose_pivot(Key const* keys, std::uint64_t size, Compare& comp)
{
  std::uint64_t const step = size / 9;
  auto const of_three      = [&](std::uint64_t first) {
    return quick::median(keys, first, first + step, first + 2 * step, comp);
  };
  return quick::median(keys, of_three(step / 2), of_three(3 * step + step / 3), of_three(6 * step + step / 5), comp);
}

/// Moves keys and values of [begin, begin + size) from one pair of arrays to the other: those that go to the left to the
/// front, the others to the end, in any order. Returns how many are to the left. Each key is classified once, and has room
/// on either side whatever the comparator says. Called by all threads of a block; ends with a barrier.
template <class Key, class Value, class Compare, class GoesLeft>
__device__ std::uint64_t partition_segment(
  segment_storage<Key, Value, Compare>& shared,
  std::uint64_t begin,
  std::uint64_t size,
  Key const* keys_in,
  Key* keys_out,
  Value const* values_in,
  Value* values_out,
  GoesLeft goes_left)
{
  constexpr int threads      = segment_storage<Key, Value, Compare>::threads;
  constexpr int items        = items_for(sizeof(Key));
  constexpr bool with_values = hybrid::value_bytes_v<Value> != 0;
  constexpr auto chunk       = static_cast<std::uint64_t>(threads) * items;

  std::uint64_t left = 0; // of the chunks before
#pragma unroll 1
  for (std::uint64_t first = 0; first < size; first += chunk)
  {
    int const here = size - first < chunk ? static_cast<int>(size - first) : static_cast<int>(chunk);
    Key keys[items];
    block::registers<Value, items> values;
    block::read_tile<threads>(keys, here, [&](int place) { return keys_in[begin + first + place]; });
    if constexpr (with_values)
    {
      block::read_tile<threads>(values.at, here, [&](int place) { return values_in[begin + first + place]; });
    }
    std::uint32_t lefts = 0, held = 0;
    unsigned is_left = 0;
#pragma unroll
    for (int i = 0; i < items; ++i)
    {
      if (i * threads + static_cast<int>(threadIdx.x) < here)
      {
        ++held;
        if (goes_left(keys[i]))
        {
          is_left |= 1u << i;
          ++lefts;
        }
      }
    }
    std::uint32_t const before_left = block::exclusive_sum<threads>(shared.sums, lefts);
    __syncthreads();
    std::uint32_t const before = block::exclusive_sum<threads>(shared.sums, held);
    if (threadIdx.x == threads - 1)
    {
      shared.left_of_chunk = before_left + lefts;
    }
    std::uint64_t next_left  = begin + left + before_left;
    std::uint64_t next_right = begin + size - 1 - (first - left) - (before - before_left);
#pragma unroll
    for (int i = 0; i < items; ++i)
    {
      if (i * threads + static_cast<int>(threadIdx.x) < here)
      {
        std::uint64_t const output = (is_left >> i & 1u) != 0 ? next_left++ : next_right--;
        keys_out[output]           = keys[i];
        if constexpr (with_values)
        {
          values_out[output] = values.at[i];
        }
      }
    }
    __syncthreads();
    left += shared.left_of_chunk;
  }
  __syncthreads();
  return left;
}

/// Sorts the segments of a list into the caller's arrays, a block each: partitions them around a pivot until a block can sort
/// what is left, the smaller part first. What goes too deep, or is too long for one block, is left over.
/// A right part has no key before its pivot: where its own pivot is equivalent to that one, all that are go to the left, and
/// are done.
/// Grid: any. Block: bucket_sort's threads. Shared: segment_storage.
template <class Key, class Value, class Compare>
__global__ void __launch_bounds__(hybrid::sort_shape_v<Key, Value>.threads,
                                  runtime::resident_blocks(hybrid::sort_shape_v<Key, Value>.threads, 1))
  sort_segments(hybrid::buffers<Key, Value> at,
                hybrid::large_bucket const* segments,
                hybrid::leftover* leftovers,
                hybrid::counters* all,
                Compare comp)
{
  using sorter               = hybrid::bucket_sort<Key, Value, Compare>;
  constexpr bool with_values = sorter::with_values;
  constexpr auto most        = static_cast<std::uint64_t>(sorter::tile);
  extern __shared__ uint4 shared_words[];
  auto& shared = *reinterpret_cast<segment_storage<Key, Value, Compare>*>(shared_words);

  runtime::wait_for_previous_kernel();
  std::uint32_t const count = all->large_buckets;
  for (std::uint32_t s = blockIdx.x; s < count; s += gridDim.x)
  {
    hybrid::large_bucket const whole = segments[s];
    if (whole.size > most * most_tiles_of_block)
    {
      if (threadIdx.x == 0)
      {
        hybrid::leave_over<Key, Value>(whole, leftovers, *all);
      }
      continue;
    }
    if (threadIdx.x == 0)
    {
      shared.stack[0].begin           = whole.begin;
      shared.stack[0].size            = whole.size;
      shared.stack[0].from            = 0;
      shared.stack[0].partitions_left = most_partitions(whole.size / most + 1);
      shared.stack[0].has_lower       = false;
      shared.waiting                  = 1;
    }
    __syncthreads();
    while (shared.waiting > 0)
    {
      waiting_segment<Key> const& top = shared.stack[shared.waiting - 1];
      std::uint64_t const begin       = top.begin;
      std::uint64_t const size        = top.size;
      std::uint32_t const from        = top.from;
      int const partitions_left       = top.partitions_left;
      Key const* const keys_in        = from == 0 ? at.keys[0] : at.keys[1];
      Key* const keys_out             = from == 0 ? at.keys[1] : at.keys[0];
      Value const* const values_in    = from == 0 ? at.values[0] : at.values[1];
      Value* const values_out         = from == 0 ? at.values[1] : at.values[0];
      __syncthreads(); // all know the segment
      if (size <= most || partitions_left == 0)
      {
        if (threadIdx.x == 0)
        {
          --shared.waiting;
        }
        // What goes too deep is sorted in parts.
        std::uint64_t const part = size <= most ? size : hybrid::part_v<Key, Value>;
        for (std::uint64_t first = begin; first < begin + size; first += part)
        {
          std::uint64_t const left = begin + size - first;
          block::contiguous_source<Key, Value> source{keys_in + first, with_values ? values_in + first : nullptr};
          sorter::sort(shared.sorter,
                       source,
                       at.keys[0] + first,
                       with_values ? at.values[0] + first : nullptr,
                       static_cast<int>(left < part ? left : part),
                       false,
                       comp);
          __syncthreads();
        }
        if (size > most && threadIdx.x == 0)
        {
          hybrid::leave_over<Key, Value>({begin, size}, leftovers, *all);
        }
        continue;
      }
      if (threadIdx.x == 0)
      {
        Key const pivot = keys_in[begin + quick::choose_pivot(keys_in + begin, size, comp)];
        ::new (static_cast<void*>(shared.pivot)) Key(pivot);
        shared.takes_equals = top.has_lower && !block::precedes(*reinterpret_cast<Key const*>(top.lower), pivot, comp);
      }
      __syncthreads();
      Key const pivot         = *reinterpret_cast<Key const*>(shared.pivot);
      bool const takes_equals = shared.takes_equals;
      std::uint64_t const left =
        quick::partition_segment(shared, begin, size, keys_in, keys_out, values_in, values_out, [&](Key const& key) {
          return takes_equals ? !block::precedes(pivot, key, comp) : block::precedes(key, pivot, comp);
        });
      if (takes_equals && from == 0)
      {
        // They are done, but not at home.
        block::copy_slowly<segment_storage<Key, Value, Compare>::threads>(
          static_cast<int>(left), at.keys[1] + begin, at.keys[0] + begin);
        if constexpr (with_values)
        {
          block::copy_slowly<segment_storage<Key, Value, Compare>::threads>(
            static_cast<int>(left), at.values[1] + begin, at.values[0] + begin);
        }
      }
      if (threadIdx.x == 0)
      {
        // The parts take the place of the segment, the smaller one on top; what is done or empty takes none.
        waiting_segment<Key>& place = shared.stack[shared.waiting - 1];
        bool const has_lower        = place.has_lower;
        Key lower                   = pivot;
        if (has_lower)
        {
          lower = *reinterpret_cast<Key const*>(place.lower);
        }
        --shared.waiting;
        auto const push =
          [&](std::uint64_t part_begin, std::uint64_t part_size, bool part_has_lower, Key const& part_lower) {
            if (part_size == 0)
            {
              return;
            }
            waiting_segment<Key>& part = shared.stack[shared.waiting++];
            part.begin                 = part_begin;
            part.size                  = part_size;
            part.from                  = 1 - from;
            part.partitions_left       = partitions_left - 1;
            part.has_lower             = part_has_lower;
            ::new (static_cast<void*>(part.lower)) Key(part_lower);
          };
        std::uint64_t const left_size = takes_equals ? 0 : left;
        std::uint64_t const right     = size - left;
        bool const left_is_smaller    = left_size < right;
        if (!left_is_smaller)
        {
          push(begin, left_size, has_lower, lower);
        }
        push(begin + left, right, true, pivot);
        if (left_is_smaller)
        {
          push(begin, left_size, has_lower, lower);
        }
      }
      __syncthreads();
    }
    __syncthreads();
  }
}

} // namespace gpusort::quick
