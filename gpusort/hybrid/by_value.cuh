// Sorting buckets by the values of keys, where the comparator agrees.
// Source: bins of equal width inside a block, as in block/bin_sort.cuh; that a guess is checked by the comparator is our own.
#pragma once

#include <gpusort/block/runs.cuh>
#include <gpusort/block/sort_by_bins.cuh>
#include <gpusort/block/work_queue.cuh>
#include <gpusort/hybrid/kernels.cuh>
#include <gpusort/hybrid/tuning.h>
#include <gpusort/radix/key_order.h>
#include <gpusort/radix/value_order.cuh>
#include <gpusort/runtime/dependency.cuh>
#include <gpusort/runtime/residency.cuh>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::hybrid
{

/// How blocks sort by value.
template <class Key, class Value>
using value_sort =
  block::sort_by_bins<radix::value_bits_t<Key>,
                      Value,
                      radix::value_order_t<Key>,
                      value_sort_shape_v<Key, Value>.threads,
                      value_sort_shape_v<Key, Value>.items,
                      block::full_bins::give_up>;

template <class Key, class Value>
using value_source =
  block::run_source<radix::value_bits_t<Key>, Value, value_sort_shape_v<Key, Value>.threads, most_by_value<Key, Value>>;

template <class Key, class Value>
struct value_sort_storage
{
  typename value_sort<Key, Value>::shared_storage sorter;
  typename value_source<Key, Value>::shared_storage source;
  radix::value_bits_t<Key> first_key;
  std::uint32_t next_work;
};

/// Asks the comparator as Agrees does, and when it has been asked about all keys of a block, takes the next work, and looks whether any block has been
/// contradicted: what is left to be done, writing, hides how long that takes, and has registers for it.
template <class Agrees>
struct looks_ahead : Agrees
{
  block::work_queue<std::uint32_t>& queue;
  bool& gives_up; // the first thread's

  __device__ bool all_agree(bool own) const
  {
    queue.look_ahead();
    if (threadIdx.x == 0)
    {
      gives_up = *const_cast<std::uint32_t volatile*>(this->disagrees) != 0;
    }
    return Agrees::all_agree(own);
  }
};

/// Lists the buckets of a work once more, as many together as a block merges; those that are too large for that by themselves are left
/// over, and their parts are listed. Called by one thread; `count` works have been listed before.
template <class Key, class Value>
__device__ void list_again(work const& whole,
                           std::uint32_t count,
                           work* works,
                           std::uint32_t* left,
                           leftover* leftovers,
                           split_level<Key> const& level)
{
  bucket const* const buckets = level.buckets + (static_cast<std::size_t>(whole.segment) << level.log2);
  auto const list             = [&](std::uint64_t skip, bool is_part, bool is_moved, unsigned first, unsigned last) {
    std::uint32_t const at                = count + atomicAdd(&level.all->more_works, 1u);
    works[at]                             = {skip,
                 is_part ? 1u : 0u,
                 is_moved ? 1u : 0u,
                                             whole.segment,
                                             static_cast<std::uint16_t>(first),
                                             static_cast<std::uint16_t>(last)};
    left[atomicAdd(&level.all->left, 1u)] = at;
  };
  for (unsigned first = whole.first, last = 0; first < whole.last; first = last)
  {
    std::uint64_t size = buckets[first].size();
    for (last = first + 1; last < whole.last && size + buckets[last].size() <= level.most; ++last)
    {
      size += buckets[last].size();
    }
    if (size <= level.most)
    {
      list(0, false, buckets[first].is_done() && last == first + 1, first, last);
      continue;
    }
    leave_over<Key, Value>({buckets[first].begin, size}, leftovers, *level.all);
    for (std::uint64_t skip = 0; skip < size; skip += part_v<Key, Value>)
    {
      list(skip, true, false, first, last);
    }
  }
}

/// Sorts neighbouring buckets and parts of large ones as listed, from the second pair of arrays into the caller's, by value, if a sample says that the
/// comparator does so too. What it has not sorted it lists again, by number: where the comparator does not agree about two
/// neighbours, after which, if keys are numbers, blocks stop trying as soon as they have asked about another work; where keys are too close to each other for bins; what is only to be moved. What is too
/// much for blocks that merge is listed by its buckets.
/// Grid: any. Block: value_sort_shape_v's threads. Shared: value_sort_storage.
template <class Key, class Value, class Compare>
__global__ void __launch_bounds__(
  value_sort_shape_v<Key, Value>.threads,
  runtime::resident_blocks(value_sort_shape_v<Key, Value>.threads, value_sort_shape_v<Key, Value>.blocks))
  sort_by_value(
    buffers<Key, Value> at, work* works, std::uint32_t* left, leftover* leftovers, split_level<Key> level, Compare comp)
{
  using sorter                = value_sort<Key, Value>;
  using bits                  = radix::value_bits_t<Key>;
  constexpr bool with_values  = !std::is_same_v<Value, block::no_values>;
  constexpr block_shape shape = value_sort_shape_v<Key, Value>;
  static_assert(most_of_v<Key, Value> <= most_by_value<Key, Value>);
  static_assert(most_by_value<Key, Value> <= shape.threads * shape.items);
  constexpr bool may_be_wide = most_of_v<Key, Value> < most_by_value<Key, Value>;
  extern __shared__ uint4 shared_words[];
  auto& shared = *reinterpret_cast<value_sort_storage<Key, Value>*>(shared_words);

  runtime::wait_for_previous_kernel();
  counters& all             = *level.all;
  std::uint32_t const which = all.value_order;
  if (all.seen != merge::seen::both || which == radix::value_order::other)
  {
    return;
  }
  block::work_queue<std::uint32_t> queue(&all.works_tried, shared.next_work, gridDim.x);
  bool gives_up = false;
  looks_ahead<radix::asks_comparator<Key, Compare>> const agrees{
    {radix::order_of_values<Key>(which), &all.disagrees, comp}, queue, gives_up};
  std::uint32_t const count = all.works;
  std::uint64_t const mark  = 2 + blockIdx.x;
  bool has_marked           = false; // works: the first thread
  int const lowest_alike    = all.lowest_alike;
  for (std::uint32_t w = blockIdx.x; w < count; w = queue.next(gives_up))
  {
    work const own                   = works[w];
    block::segment_tiles const tiles = level.tiles_of(own.segment);
    bucket const* const buckets      = level.buckets + (static_cast<std::size_t>(own.segment) << level.log2);
    bucket const last                = buckets[own.last - 1];
    std::uint64_t const skip         = own.is_part != 0 ? own.skip : 0;
    std::uint64_t const begin        = buckets[own.first].begin + skip;
    std::uint64_t const rest         = last.begin + last.size() - begin;
    std::uint64_t const size         = own.is_part != 0 && rest > part_v<Key, Value> ? part_v<Key, Value> : rest;
    bool is_sorted                   = !gives_up && own.is_moved == 0 && skip == own.skip;
    if (is_sorted)
    {
      value_source<Key, Value> source(
        shared.source, tiles, own.first, own.last, skip, reinterpret_cast<bits const*>(at.keys[1]), at.values[1]);
      is_sorted = block::sort_runs_by_bins<sorter>(
        shared.sorter,
        shared.first_key,
        agrees.order,
        static_cast<int>(size),
        source,
        reinterpret_cast<bits*>(at.keys[0]) + begin,
        with_values ? at.values[0] + begin : nullptr,
        lowest_alike,
        agrees);
    }
    else
    {
      __syncthreads(); // all have read the work, which may change
    }
    if (!is_sorted && threadIdx.x == 0)
    {
      if (may_be_wide && own.sorts_buckets() && size > level.most)
      {
        works[w].skip = mark; // to be listed again, below
        has_marked    = true;
      }
      else
      {
        if (own.sorts_buckets())
        {
          works[w].skip = 0; // others begin where it does
        }
        left[atomicAdd(&all.left, 1u)] = w;
      }
    }
  }
  if constexpr (may_be_wide)
  {
    // Apart from the above, which has no registers for it.
    if (__syncthreads_or(has_marked) != 0)
    {
      for (std::uint32_t w = threadIdx.x; w < count; w += shape.threads)
      {
        work const own = works[w];
        if (own.sorts_buckets() && own.skip == mark)
        {
          list_again<Key, Value>(own, count, works, left, leftovers, level);
        }
      }
    }
  }
}

} // namespace gpusort::hybrid
