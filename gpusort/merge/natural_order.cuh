// Order that an input has before it is sorted: what is in order is left alone, what is reversed is turned around.
#pragma once

#include <gpusort/block/merge.cuh>
#include <gpusort/block/verdict.h>
#include <gpusort/block/warp.cuh>
#include <gpusort/merge/checks.cuh>
#include <gpusort/merge/tuning.h>
#include <gpusort/runtime/dependency.cuh>
#include <gpusort/runtime/launch.cuh>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::merge
{

/// How an element and the next one of the input compare, for all of them.
using order_seen = std::uint32_t;

namespace seen
{
inline constexpr order_seen descent    = 1; // the next one goes before it
inline constexpr order_seen no_descent = 2;
inline constexpr order_seen both       = descent | no_descent; // there is something to sort
} // namespace seen

/// Whether there is anything to sort; null: nobody has looked.
__device__ inline bool is_to_be_sorted(order_seen const* all)
{
  return all == nullptr || *all == seen::both;
}

/// Looks at a few stretches of n > 1 elements, which nearly always say that there is something to sort.
/// Grid: one block. Block: look_threads.
template <class Key, class Compare>
__global__ void __launch_bounds__(look_threads)
  glance_at_input(Key const* keys, std::size_t n, order_seen* all, Compare comp)
{
  runtime::wait_for_previous_kernel();
  order_seen own = 0;
#pragma unroll
  for (int r = 0; r < glance_rows; ++r)
  {
    std::size_t const at = static_cast<std::size_t>(r) * (n / glance_rows) + threadIdx.x;
    if (at + 1 < n)
    {
      own |= block::precedes(keys[at + 1], keys[at], comp) ? seen::descent : seen::no_descent;
    }
  }
  order_seen const descent    = __syncthreads_or(own & seen::descent) != 0 ? seen::descent : 0;
  order_seen const no_descent = __syncthreads_or(own & seen::no_descent) != 0 ? seen::no_descent : 0;
  if (threadIdx.x == 0)
  {
    *all = descent | no_descent;
  }
}

/// Looks whether the input is sorted, or each element goes before the one in front of it, unless a glance has seen that it is neither, as
/// `all` says; warps stop looking as soon as they know. Also clears `count` counts, which nobody reads if the input has been sorted before.
/// Grid: any. Block: look_threads.
template <class Key, class Compare>
__global__ void __launch_bounds__(look_threads)
  look_at_input(Key const* keys,
                std::size_t n,
                order_seen* all,
                unsigned long long* counts,
                std::size_t count,
                block::sort_verdict const* by_others,
                Compare comp)
{
  constexpr int rows = look_rows_for(sizeof(Key));
  runtime::wait_for_previous_kernel();
  if (block::is_sorted_already(by_others))
  {
    return;
  }
  std::size_t const begin = static_cast<std::size_t>(blockIdx.x) * look_threads + threadIdx.x;
  std::size_t const step  = static_cast<std::size_t>(gridDim.x) * look_threads;
  for (std::size_t i = begin; i < count; i += step)
  {
    counts[i] = 0;
  }
  // All lanes of a warp take part in every round.
  std::size_t const rounds = (n - 1 + step - 1) / step;
  order_seen known         = block::or_of_warp(*const_cast<order_seen volatile*>(all));
  for (std::size_t round = 0; round < rounds && known != seen::both; round += rows)
  {
    order_seen const by_all = *const_cast<order_seen volatile*>(all);
    order_seen own          = 0;
#pragma unroll
    for (int r = 0; r < rows; ++r)
    {
      std::size_t const i = begin + (round + static_cast<std::size_t>(r)) * step;
      if (i + 1 < n)
      {
        own |= block::precedes(keys[i + 1], keys[i], comp) ? seen::descent : seen::no_descent;
      }
    }
    order_seen const by_warp = block::or_of_warp(own);
    known                    = block::or_of_warp(by_all) | by_warp;
    if (threadIdx.x % 32 == 0 && (by_warp & ~by_all) != 0)
    {
      atomicOr(all, by_warp);
    }
  }
}

/// Launches it for n > 1 keys, after a glance.
template <class Key, class Compare>
void launch_look(cudaStream_t stream,
                 Key const* keys,
                 std::size_t n,
                 order_seen* all,
                 unsigned long long* counts,
                 std::size_t count,
                 block::sort_verdict const* by_others,
                 Compare comp)
{
  runtime::launch(
    look_at_input<Key, Compare>,
    {std::min(runtime::blocks_for(n, look_threads), runtime::multiprocessors() * look_blocks_per_sm), look_threads},
    stream,
    keys,
    n,
    all,
    counts,
    count,
    by_others,
    comp);
}

template <class T>
__device__ void swap_places(T* elements, std::size_t a, std::size_t b)
{
  T const held = elements[a];
  elements[a]  = elements[b];
  elements[b]  = held;
}

/// Of an input that is not to be sorted: undoes that it is reversed, if it is. Called by all threads of a grid.
template <class Key, class Value>
__device__ void undo_reversal(order_seen all, Key* keys, Value* values, std::size_t n)
{
  if (all != seen::descent)
  {
    return;
  }
  std::size_t const step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n / 2; i += step)
  {
    merge::swap_places(keys, i, n - 1 - i);
    if constexpr (!std::is_empty_v<Value>)
    {
      merge::swap_places(values, i, n - 1 - i);
    }
  }
}

} // namespace gpusort::merge
