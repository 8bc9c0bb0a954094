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

/// Sorts `size` integers, at(i), which are few.
template <class At>
__device__ void insert_in_order(std::uint32_t size, At at)
{
#pragma unroll 1
  for (std::uint32_t i = 1; i < size; ++i)
  {
    auto const moved = at(i);
    std::uint32_t to = i;
#pragma unroll 1
    for (; to > 0 && moved < at(to - 1); --to)
    {
      at(to) = at(to - 1);
    }
    at(to) = moved;
  }
}

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

/// One step of such a sort, by the lanes of a warp or by all threads of a block, of whom there are `Threads`. Every one of them holds up to
/// `Items` integers and has `Counts` counts, a power of two and a multiple of 4.
template <int Threads, int Items, int Counts>
class close_sort
{
  static constexpr bool is_warp      = Threads == 32;
  static constexpr std::uint32_t few = 6;

public:
  static constexpr int counts = Threads * Counts;

  /// As many as are split at once.
  static constexpr std::uint32_t most = Threads * Items;

  /// Splits `size` integers, at(i), which are references, into bins, and sorts those that have few. `leave(begin, size)` is called
  /// for the others, by one thread each, unless none of a bin differ any more. `counted`: room for `counts`.
  /// size <= most. Called by all of `Threads`; they begin and end with a barrier of theirs.
  template <int Warps, class At, class Leave>
  __device__ static void
  split(std::uint32_t* counted, close_storage<Warps>& shared, std::uint32_t size, At at, Leave leave)
  {
    using integer              = std::decay_t<decltype(at(0))>;
    constexpr int counts_log2  = log2_of(counts);
    std::uint32_t const thread = threadIdx.x % Threads;
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
    meet(); // counts are clear, all integers are read, and what warps have told each other
    if (differs == 0)
    {
      return;
    }
    int const width     = bit_width(differs);
    int const shift     = width > counts_log2 ? width - counts_log2 : 0;
    auto const count_of = [&](integer own) -> std::uint32_t& {
      return counted[static_cast<std::uint32_t>(own >> shift) % counts];
    };
    for_own(size, thread, [&](int i, std::uint32_t) { atomicAdd(&count_of(held[i]), 1u); });
    meet();
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
    meet();
    for_own(size, thread, [&](int i, std::uint32_t) { at(atomicAdd(&count_of(held[i]), 1u)) = held[i]; });
    meet();
    if (shift != 0)
    {
      std::uint32_t from = begin;
#pragma unroll 1
      for (int i = 0; i < Counts; ++i)
      {
        // By now, a count is where its bin ends.
        std::uint32_t const end = counted[thread * Counts + i];
        if (end - from > few)
        {
          leave(from, end - from);
        }
        else
        {
          insert_in_order(end - from, [&](std::uint32_t k) -> integer& { return at(from + k); });
        }
        from = end;
      }
    }
    meet();
  }

private:
  __host__ __device__ static constexpr int log2_of(int power)
  {
    return power == 1 ? 0 : 1 + log2_of(power / 2);
  }
  static_assert(1 << log2_of(counts) == counts && Counts % 4 == 0);

  __device__ static void meet()
  {
    if constexpr (is_warp)
    {
      __syncwarp();
    }
    else
    {
      __syncthreads();
    }
  }

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
  template <class Integer, int Warps>
  __device__ static Integer or_of_all(close_storage<Warps>& shared, std::uint32_t const (&own)[2])
  {
    constexpr int words = words_of_v<Integer>;
    Integer all         = 0;
#pragma unroll
    for (int w = 0; w < words; ++w)
    {
      std::uint32_t const of_warp = or_of_warp(own[w]);
      if constexpr (!is_warp)
      {
        if (threadIdx.x % 32 == 0)
        {
          shared.differing[threadIdx.x / 32][w] = of_warp;
        }
      }
      all |= static_cast<Integer>(of_warp) << (w * 16) << (w * 16);
    }
    if constexpr (!is_warp)
    {
      __syncthreads();
      all               = 0;
      unsigned const at = threadIdx.x % 32;
#pragma unroll
      for (int w = 0; w < words; ++w)
      {
        all |= static_cast<Integer>(or_of_warp(at < Warps ? shared.differing[at][w] : 0)) << (w * 16) << (w * 16);
      }
    }
    return all;
  }

  /// The sum of what the threads before this one have.
  template <int Warps>
  __device__ static std::uint32_t sum_before(close_storage<Warps>& shared, std::uint32_t own)
  {
    std::uint32_t const inclusive = inclusive_sum_of_warp(own);
    if constexpr (is_warp)
    {
      return inclusive - own;
    }
    else
    {
      if (threadIdx.x % 32 == 31)
      {
        shared.totals[threadIdx.x / 32] = inclusive;
      }
      __syncthreads();
      unsigned const at            = threadIdx.x % 32;
      std::uint32_t const of_warps = inclusive_sum_of_warp(at < Warps ? shared.totals[at] : 0);
      return inclusive - own + (threadIdx.x < 32 ? 0 : __shfl_sync(all_lanes, of_warps, threadIdx.x / 32 - 1));
    }
  }
};

} // namespace gpusort::block
