// Sorts what the threads of a block hold in registers digit by digit, the least significant first: for what bins do not sort, because too many
// keys are close to each other, and no token of 64 bits tells. As long for any keys. Stable.
// Source: Satish, Harris and Garland, section III; elements stay in registers between passes, and pass through shared memory.
#pragma once

#include <gpusort/block/bucket_rank.cuh>

#include <cstdint>

namespace gpusort::block
{

/// Up to `Threads` x `Items` elements.
template <int Threads, int Items>
class register_digit_sort
{
  static constexpr int digits     = 256;
  static constexpr int digit_bits = 8;

public:
  /// Says which elements a thread holds: `element(i)`, if `holds(i)`.
  using digit_rank = bucket_rank<digits, Threads, Items, false>;

  struct shared_storage
  {
    typename digit_rank::counts counts;
    typename digit_rank::shared_totals totals;
  };

  /// Sorts the elements `held`, of which a thread has those that `ranking` says, by the lowest `width` bits of integers:
  /// `bits_of(element, low)` are those from bit `low` on. Afterwards to[0], to[1], ... has them in order, and `held` is done with. `to` is shared
  /// memory for Threads x Items elements, which bits_of does not read. Called by all threads; begins and ends with a barrier.
  template <class T, class BitsOf>
  __device__ static void
  sort(shared_storage& shared, digit_rank& ranking, T (&held)[Items], int width, T* to, BitsOf bits_of)
  {
    __syncthreads();
    if (width <= 0)
    {
#pragma unroll
      for (int i = 0; i < Items; ++i)
      {
        if (ranking.holds(i))
        {
          to[ranking.element(i)] = held[i];
        }
      }
      __syncthreads();
    }
#pragma unroll 1
    for (int low = 0; low < width; low += digit_bits)
    {
      if (low > 0)
      {
        ranking.load(to, held);
      }
      shared.counts.clear();
      __syncthreads();
      std::uint32_t ranks[Items];
      ranking.count([&](int i) { return bits_of(held[i], low) % digits; }, ranks);
      __syncthreads();
      std::uint32_t const total = threadIdx.x < digits ? ranking.total() : 0;
      std::uint32_t const start = ranking.starts(shared.totals, total);
      if (threadIdx.x < digits)
      {
        ranking.spread(start);
      }
      __syncthreads();
      ranking.finish(ranks);
      ranking.put(held, ranks, to);
      __syncthreads();
    }
  }
};

} // namespace gpusort::block
