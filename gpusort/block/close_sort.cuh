// Sorts what is too close together for one counting of bins: unsigned integers in shared memory, in place, split by the highest bits in
// which they differ.
// Source: most significant digits first, as Sintorn and Assarsson's buckets; that digits begin where integers differ is our own.
#pragma once

#include <gpusort/block/bit_width.h>
#include <gpusort/block/warp.cuh>

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

namespace gpusort::block
{

/// What the warps of a block tell each other.
template <int Warps>
struct close_storage
{
  std::uint32_t differing[Warps][2]; // words
  std::uint32_t totals[Warps];
};

/// Puts n elements in order of which few are not, and these not far from where they belong: `precedes(i, j)` says whether the i-th has to
/// be in front of the j-th, `swap(i)` swaps the i-th with the next one. Stable if `precedes` is strict. Returns false if that would take too
/// long. Called by all threads of a block, after a barrier; ends with one.
template <int Threads, class Precedes, class Swap>
__device__ bool order_neighbours(int n, Precedes precedes, Swap swap)
{
  constexpr int most_steps = 32;
  int quiet                = 0; // steps that have swapped nothing
#pragma unroll 1
  for (int step = 0; step < most_steps && quiet < 2; ++step)
  {
    bool swaps = false;
#pragma unroll 1
    for (int i = 2 * static_cast<int>(threadIdx.x) + step % 2; i + 1 < n; i += 2 * Threads)
    {
      if (precedes(i + 1, i))
      {
        swap(i);
        swaps = true;
      }
    }
    quiet = __syncthreads_or(swaps) != 0 ? 0 : quiet + 1;
  }
  return quiet == 2;
}

/// One step of such a sort, by all threads of a block, of whom there are `Threads`. Every one of them holds up to `Items` integers and has
/// `Counts` counts, a power of two and a multiple of 4.
template <int Threads, int Items, int Counts>
class close_sort
{
  static constexpr int warps = Threads / 32;

public:
  static constexpr int counts         = Threads * Counts;
  static constexpr std::uint32_t most = Threads * Items; // integers

  /// Splits `size` integers, at(i), which are references, into bins, in order. `leave(begin, size)` is called for each bin of more than
  /// `few`, by one thread, unless none of a bin differ any more. `counted`: room for `counts`. Returns whether any may: bins have to be sorted.
  /// size <= most. Called by all threads; begins and ends with a barrier.
  template <class At, class Leave>
  __device__ static bool
  split(std::uint32_t* counted, close_storage<warps>& shared, std::uint32_t size, std::uint32_t few, At at, Leave leave)
  {
    using integer              = std::decay_t<decltype(at(0))>;
    constexpr int counts_log2  = log2_of(counts);
    std::uint32_t const thread = threadIdx.x;
    auto* const own_counts     = reinterpret_cast<uint4*>(&counted[thread * Counts]);
    constexpr int vectors      = Counts / 4;
    integer const first        = at(0);
    std::uint32_t differing[2] = {};
    integer held[Items];
#pragma unroll
    for (int v = 0; v < vectors; ++v)
    {
      own_counts[v] = uint4{0, 0, 0, 0};
    }
    for_own(size, thread, [&](int i, std::uint32_t number) {
      held[i]               = at(number);
      integer const differs = held[i] ^ first;
      differing[0] |= word_of(differs, 0);
      differing[1] |= sizeof(integer) > 4 ? word_of(differs, words_of_v<integer> - 1) : 0;
    });
    integer const differs = or_of_all<integer>(shared, differing);
    __syncthreads(); // counts are clear, all integers are read, and what warps have told each other
    if (differs == 0)
    {
      return false;
    }
    int const width     = bit_width(differs);
    int const shift     = width > counts_log2 ? width - counts_log2 : 0;
    auto const count_of = [&](integer own) -> std::uint32_t& {
      return counted[static_cast<std::uint32_t>(own >> shift) % counts];
    };
    for_own(size, thread, [&](int i, std::uint32_t) { atomicAdd(&count_of(held[i]), 1u); });
    __syncthreads();
    uint4 own[vectors];
    std::uint32_t sum = 0;
#pragma unroll
    for (int v = 0; v < vectors; ++v)
    {
      own[v] = own_counts[v];
      sum += own[v].x + own[v].y + own[v].z + own[v].w;
    }
    std::uint32_t const begin = sum_before(shared, sum);
    std::uint32_t next        = begin;
#pragma unroll
    for (int v = 0; v < vectors; ++v)
    {
      uint4 begins;
      begins.x      = next;
      begins.y      = begins.x + own[v].x;
      begins.z      = begins.y + own[v].y;
      begins.w      = begins.z + own[v].z;
      next          = begins.w + own[v].w;
      own_counts[v] = begins;
    }
    __syncthreads();
    for_own(size, thread, [&](int i, std::uint32_t) { at(atomicAdd(&count_of(held[i]), 1u)) = held[i]; });
    __syncthreads();
    if (shift != 0)
    {
      std::uint32_t from = begin;
#pragma unroll
      for (int v = 0; v < vectors; ++v)
      {
        uint4 const four           = own_counts[v]; // where bins end, by now
        std::uint32_t const ends[] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (std::uint32_t const end : ends)
        {
          if (end - from > few)
          {
            leave(from, end - from);
          }
          from = end;
        }
      }
    }
    __syncthreads();
    return shift != 0;
  }

private:
  static_assert(1 << log2_of(counts) == counts && Counts % 4 == 0);

  /// f(i, number) for each integer of a thread: its own i-th, and its number of all.
  template <class F>
  __device__ static void for_own(std::uint32_t size, std::uint32_t thread, F f)
  {
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      std::uint32_t const number = static_cast<std::uint32_t>(i) * Threads + thread;
      if (number < size)
      {
        f(i, number);
      }
    }
  }

  /// The bits that any thread has. Another barrier has to follow.
  template <class Integer>
  __device__ static Integer or_of_all(close_storage<warps>& shared, std::uint32_t const (&own)[2])
  {
    constexpr int words = words_of_v<Integer>;
#pragma unroll
    for (int w = 0; w < words; ++w)
    {
      std::uint32_t const of_warp = or_of_warp(own[w]);
      if (threadIdx.x % 32 == 0)
      {
        shared.differing[threadIdx.x / 32][w] = of_warp;
      }
    }
    __syncthreads();
    Integer all       = 0;
    unsigned const at = threadIdx.x % 32;
#pragma unroll
    for (int w = 0; w < words; ++w)
    {
      all |= static_cast<Integer>(or_of_warp(at < warps ? shared.differing[at][w] : 0)) << (w * 16) << (w * 16);
    }
    return all;
  }

  /// The sum of what the threads before this one have.
  __device__ static std::uint32_t sum_before(close_storage<warps>& shared, std::uint32_t own)
  {
    std::uint32_t const inclusive = inclusive_sum_of_warp(own);
    if (threadIdx.x % 32 == 31)
    {
      shared.totals[threadIdx.x / 32] = inclusive;
    }
    __syncthreads();
    unsigned const at            = threadIdx.x % 32;
    std::uint32_t const of_warps = inclusive_sum_of_warp(at < warps ? shared.totals[at] : 0);
    return inclusive - own + (threadIdx.x < 32 ? 0 : __shfl_sync(all_lanes, of_warps, threadIdx.x / 32 - 1));
  }
};

} // namespace gpusort::block
