// A first glance at a large input: if a sample is in order or reversed, so may all of it be, and that is found out as fast as memory is read.
#pragma once

#include <gpusort/block/warp.cuh>
#include <gpusort/radix/findings.cuh>
#include <gpusort/radix/key_order.h>
#include <gpusort/radix/tuning.h>
#include <gpusort/runtime/dependency.cuh>
#include <gpusort/runtime/residency.cuh>

#include <cstddef>
#include <cstdint>

namespace gpusort::radix
{

/// Looks at all neighbours of n >= glance_threads keys if a sample is in order or reversed, until one pair says that the input is not. If all
/// of it is, that is decided; if not, what has been seen is noted, and somebody else decides.
/// Grid: any. Block: glance_threads.
template <class Bits, bool IsFloat>
__global__ void __launch_bounds__(glance_threads, runtime::resident_blocks(glance_threads, glance_blocks_per_sm))
  glance_at_order(
    Bits const* keys, std::size_t n, key_order<Bits, IsFloat> order, bool with_values, findings<Bits>* found)
{
  __shared__ Bits sample[glance_threads];
  constexpr std::size_t rows = glance_rows(sizeof(Bits));
  constexpr std::size_t step = rows * glance_threads;

  runtime::wait_for_previous_kernel();
  unsigned const thread    = threadIdx.x;
  std::size_t const stride = n / glance_threads;
  Bits const own           = order.rank_of(keys[thread * stride + thread * 61 % stride]); // as in map_by_sample
  sample[thread]           = own;
  __syncthreads();
  Bits const before    = sample[thread > 0 ? thread - 1 : 0];
  bool const goes_up   = __syncthreads_and(before <= own) != 0;
  bool const goes_down = __syncthreads_and(thread == 0 || own <= before) != 0;
  if (!goes_up && !goes_down)
  {
    return;
  }
  // What would say that the input is in no order, as far as the sample leaves that open.
  std::uint32_t const stops =
    goes_up && goes_down ? 0
    : goes_up            ? seen::descent
    : with_values        ? seen::ascent | seen::alike
                         : seen::ascent;
  auto const is_ruled_out = [&](std::uint32_t all) {
    return (all & stops) != 0 || (all & seen::no_longer) == seen::no_longer;
  };
  std::uint32_t const volatile& noted = found->seen;
  std::uint32_t seen_here = 0, told = 0;
  std::uint32_t rounds = 0;
  for (std::size_t begin = blockIdx.x * step; begin + 1 < n; begin += gridDim.x * step)
  {
    // Not always: all warps read the same word.
    bool const asks_others        = rounds++ % 16 == 15;
    std::uint32_t const by_others = asks_others ? block::or_of_warp(noted) : 0; // the same for all lanes
    std::size_t const left        = n - begin;
    Bits held[rows], next[rows];
#pragma unroll
    for (std::size_t i = 0; i < rows; ++i)
    {
      std::size_t const at = i * glance_threads + thread;
      bool const is_pair   = at + 1 < left;
      held[i]              = is_pair ? keys[begin + at] : Bits{};
      next[i]              = is_pair ? keys[begin + at + 1] : Bits{};
    }
#pragma unroll
    for (std::size_t i = 0; i < rows; ++i)
    {
      if (i * glance_threads + thread + 1 < left)
      {
        Bits const a = order.rank_of(held[i]);
        Bits const b = order.rank_of(next[i]);
        seen_here |= a < b ? seen::ascent : b < a ? seen::descent : seen::alike;
        seen_here |= order.loses(held[i]) || order.loses(next[i]) ? seen::twin : 0;
      }
    }
    seen_here = block::or_of_warp(seen_here);
    if (seen_here != told)
    {
      note_seen(*found, seen_here);
      told = seen_here;
    }
    if (is_ruled_out(seen_here | by_others))
    {
      break;
    }
  }
  if (is_last_block(found->order_blocks) && thread == 0)
  {
    std::uint32_t const all = noted;
    if (!is_ruled_out(all))
    {
      note_order(*found, with_values || (all & seen::twin) != 0);
    }
  }
}

} // namespace gpusort::radix
