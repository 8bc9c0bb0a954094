// A first glance at a large input: if a sample is in order or reversed, so may all of it be, and that is found out as fast as memory is read.
#pragma once

#include <gpusort/block/warp.cuh>
#include <gpusort/block/words.cuh>
#include <gpusort/radix/findings.cuh>
#include <gpusort/radix/key_order.h>
#include <gpusort/radix/tuning.h>
#include <gpusort/runtime/dependency.cuh>
#include <gpusort/runtime/residency.cuh>

#include <cstddef>
#include <cstdint>

namespace gpusort::radix
{

/// Keys that a warp looks at together.
template <class Bits>
inline constexpr std::size_t glance_chunk = std::size_t{32} * glance_rows * block::vector_of<Bits>::count;

/// How a key and the next compare, and whether the first is a -0.
template <class Bits, bool IsFloat>
__device__ std::uint32_t seen_of(key_order<Bits, IsFloat> const& order, Bits key, Bits next_rank)
{
  Bits const rank = order.rank_of(key);
  return (rank < next_rank   ? seen::ascent
          : next_rank < rank ? seen::descent
                             : seen::alike)
       | (order.loses(key) ? seen::twin : 0);
}

/// Looks at a chunk, which begins where vectors do, and at the key behind it. Called by all lanes of a warp; returns what each has seen.
template <class Bits, bool IsFloat>
__device__ std::uint32_t look_at_chunk(Bits const* chunk, key_order<Bits, IsFloat> const& order)
{
  using vector            = block::vector_of<Bits>;
  unsigned const lane     = threadIdx.x % 32;
  vector const* const own = reinterpret_cast<vector const*>(chunk) + lane;
  vector held[glance_rows];
#pragma unroll
  for (int row = 0; row < glance_rows; ++row)
  {
    held[row] = own[row * 32];
  }
  Bits const behind  = lane == 0 ? chunk[glance_chunk<Bits>] : Bits{};
  std::uint32_t seen = order.loses(behind) ? seen::twin : 0; // nobody else may look at the last key of all
#pragma unroll
  for (int row = 0; row < glance_rows; ++row)
  {
    // The next key of the last lane is the first one's in the next row.
    Bits const first_of_next = row + 1 < glance_rows ? held[(row + 1) % glance_rows].at[0] : behind;
    Bits const next          = block::from_lane_behind(order.rank_of(lane == 0 ? first_of_next : held[row].at[0]));
#pragma unroll
    for (int i = 0; i < vector::count; ++i)
    {
      bool const is_last = i + 1 == vector::count;
      seen |= seen_of(order, held[row].at[i], is_last ? next : order.rank_of(held[row].at[(i + 1) % vector::count]));
    }
  }
  return seen;
}

/// Looks at all neighbours of n >= glance_threads keys if a sample is in order or reversed, until one pair says that the input is not. If all
/// of it is, that is decided; if not, what has been seen is noted, and somebody else decides.
/// Grid: any. Block: glance_threads.
template <class Bits, bool IsFloat>
__global__ void __launch_bounds__(glance_threads, runtime::resident_blocks(glance_threads, glance_blocks_per_sm))
  glance_at_order(
    Bits const* keys, std::size_t n, key_order<Bits, IsFloat> order, bool with_values, findings<Bits>* found)
{
  __shared__ Bits sample[glance_threads];

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

  // Chunks begin where vectors do, and have a key behind them.
  constexpr std::size_t chunk_size = glance_chunk<Bits>;
  std::size_t const in_front =
    (0 - reinterpret_cast<std::uintptr_t>(keys)) % sizeof(block::vector_of<Bits>) / sizeof(Bits);
  std::size_t const chunks = (n - 1 - in_front) / chunk_size;
  std::size_t const warps  = std::size_t{gridDim.x} * (glance_threads / 32);
  std::uint32_t told       = 0;
  auto const tell          = [&](std::uint32_t seen_by_lane) {
    std::uint32_t const all = block::or_of_warp(seen_by_lane) | told;
    if (all != told)
    {
      note_seen(*found, all);
      told = all;
    }
  };
  std::uint32_t rounds = 0;
  for (std::size_t chunk = std::size_t{blockIdx.x} * (glance_threads / 32) + thread / 32; chunk < chunks;
       chunk += warps)
  {
    // Not always: all warps read the same word.
    bool const asks_others        = rounds++ % 16 == 15;
    std::uint32_t const by_others = asks_others ? block::or_of_warp(noted) : 0; // the same for all lanes
    tell(look_at_chunk(keys + in_front + chunk * chunk_size, order));
    if (is_ruled_out(told | by_others))
    {
      break;
    }
  }
  // The neighbours in front of the chunks, and behind them.
  std::size_t const in_chunks = chunks * chunk_size;
  std::uint32_t seen_here     = 0;
  for (std::size_t i = std::size_t{blockIdx.x} * glance_threads + thread; i < n - 1 - in_chunks; i += warps * 32)
  {
    std::size_t const at = i < in_front ? i : i + in_chunks;
    seen_here |= seen_of(order, keys[at], order.rank_of(keys[at + 1]));
    seen_here |= order.loses(keys[at + 1]) ? seen::twin : 0;
  }
  tell(seen_here);

  if (is_last_block(found->order_blocks, gridDim.x) && thread == 0)
  {
    std::uint32_t const all = noted;
    if (!is_ruled_out(all))
    {
      note_order(*found, with_values || (all & seen::twin) != 0);
    }
  }
}

} // namespace gpusort::radix
