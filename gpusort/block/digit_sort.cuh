// Sorts inside a block digit by digit, the least significant first, between two arrays in memory: any keys, and as many as
// there are. For what happens seldom in kernels that do something else: short code, few registers, not fast. Stable.
// Source: Satish, Harris and Garland, section III.
#pragma once

#include <gpusort/block/bit_width.h>
#include <gpusort/block/bucket_rank.cuh>
#include <gpusort/block/prefix_sum.cuh>
#include <gpusort/block/span.cuh>
#include <gpusort/block/tile.cuh>

#include <cstdint>
#include <type_traits>

namespace gpusort::block
{

/// `Order` maps keys to the unsigned integers that sort like them: `Bits rank_of(Bits) const`.
template <class Bits, class Value, class Order, int Threads>
class digit_sort
{
  static constexpr bool with_values = !std::is_same_v<Value, no_values>;

  static constexpr int digits     = 256;
  static constexpr int digit_bits = 8;
  static constexpr int rows       = 4; // keys of a thread that are ranked together
  static constexpr int tile       = Threads * rows;
  using digit_rank                = bucket_rank<digits, Threads, rows, false>;

public:
  struct shared_storage
  {
    typename digit_rank::counts counts;
    Bits keys[tile]; // of a tile that is moved
    std::uint32_t begins[digits]; // of the keys of each digit that are still to come
    warp_sums<std::uint32_t, digits> sums;
    span_storage<Bits, Threads> span;
  };

  /// Keys and values beside them, if there are any.
  struct elements
  {
    Bits* keys;
    Value* values;

    __device__ elements operator+(int offset) const
    {
      return {keys + offset, with_values ? values + offset : values};
    }
  };

  /// Sorts n elements of `from` into `to`, which is either of the two `from` and `spare`. Called by all threads of a block;
  /// shared memory may be used again after a barrier.
  __device__ static void
  sort(shared_storage& shared, Order const& order, int n, elements from, elements spare, elements to)
  {
    Bits least    = static_cast<Bits>(~Bits{0});
    Bits greatest = 0;
    block::for_each<Threads, rows, false>(from.keys, n, [&](Bits key) {
      Bits const rank = order.rank_of(key);
      least           = rank < least ? rank : least;
      greatest        = greatest < rank ? rank : greatest;
    });
    span_of_block(shared.span, least, greatest);
    int const width = bit_width(static_cast<Bits>(greatest - least));
#pragma unroll 1
    for (int low = 0; low < width; low += digit_bits)
    {
      auto const digit_of = [&](Bits key) {
        return static_cast<unsigned>(static_cast<Bits>(order.rank_of(key) - least) >> low) & (digits - 1);
      };
      find_begins(shared, n, from.keys, digit_of);
#pragma unroll 1
      for (int first = 0; first < n; first += tile)
      {
        move(shared, from + first, n - first < tile ? n - first : tile, spare, digit_of);
      }
      elements const sorted = spare;
      spare                 = from;
      from                  = sorted;
      __syncthreads();
    }
    if (from.keys != to.keys)
    {
      block::copy_slowly<Threads>(n, from.keys, to.keys);
      if constexpr (with_values)
      {
        block::copy_slowly<Threads>(n, from.values, to.values);
      }
    }
  }

private:
  /// Counts the keys of each digit. A barrier has to follow.
  template <class DigitOf>
  __device__ static void find_begins(shared_storage& shared, int n, Bits const* keys, DigitOf digit_of)
  {
    if (threadIdx.x < digits)
    {
      shared.begins[threadIdx.x] = 0;
    }
    __syncthreads();
    block::for_each<Threads, rows, false>(keys, n, [&](Bits key) { atomicAdd(&shared.begins[digit_of(key)], 1u); });
    __syncthreads();
    std::uint32_t const own   = threadIdx.x < digits ? shared.begins[threadIdx.x] : 0;
    std::uint32_t const begin = exclusive_sum<digits>(shared.sums, own);
    if (threadIdx.x < digits)
    {
      shared.begins[threadIdx.x] = begin;
    }
  }

  /// Moves `size` elements, a tile at most, to where their digits begin, which then is behind them. Begins with a barrier, and has to be
  /// followed by one.
  template <class DigitOf>
  __device__ static void move(shared_storage& shared, elements from, int size, elements to, DigitOf digit_of)
  {
    digit_rank ranking(shared.counts, size);
    auto const digit_in = [&](int i) {
      return ranking.holds(i) ? digit_of(shared.keys[ranking.element(i)]) : digits - 1u;
    };
    __syncthreads();
    shared.counts.clear();
    block::move_tile<Threads, rows>(size, [&](int place) { return from.keys[place]; }, shared.keys);
    __syncthreads();
#pragma unroll 1
    for (int i = 0; i < ranking.rows(); ++i)
    {
      ranking.count_one(digit_in(i));
    }
    __syncthreads();
    if (threadIdx.x < digits)
    {
      std::uint32_t const total = ranking.total();
      std::uint32_t const begin = shared.begins[threadIdx.x];
      ranking.spread(begin);
      shared.begins[threadIdx.x] = begin + total;
    }
    __syncthreads();
#pragma unroll 1
    for (int i = 0; i < ranking.rows(); ++i)
    {
      std::uint32_t const place = ranking.take_rank(digit_in(i));
      if (ranking.holds(i))
      {
        to.keys[place] = shared.keys[ranking.element(i)];
        if constexpr (with_values)
        {
          to.values[place] = from.values[ranking.element(i)];
        }
      }
    }
  }
};

} // namespace gpusort::block
