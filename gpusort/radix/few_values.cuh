// The values of an input that has few of them, as a sample tells: its keys are counted by value in place of digit by digit.
#pragma once

#include <gpusort/block/span.cuh>
#include <gpusort/block/warp.cuh>
#include <gpusort/radix/key_order.h>
#include <gpusort/radix/tuning.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::radix
{

/// All values of an input that has few, in device memory; zero before the sort. There may be some that no key has.
template <class Bits>
struct few_values
{
  std::uint32_t count; // 0: not known to be few
  Bits keys[radix_size]; // in order
  unsigned long long begins[radix_size]; // of each in the output; before all keys are counted, how many there are

  /// The number of the value that belongs to a place of the output.
  __device__ std::uint32_t at(std::uint64_t place) const
  {
    std::uint32_t low = 0, high = count;
    while (high - low > 1)
    {
      std::uint32_t const middle             = (low + high) / 2;
      (begins[middle] <= place ? low : high) = middle;
    }
    return low;
  }
};

/// Counts the ranks that a sample has, if these are few, in a block of so many threads. A rank is found by a hash under which no
/// two of them meet.
template <class Bits, int Threads>
class value_tally
{
  static constexpr int warps        = Threads / 32;
  static constexpr int slots_log2   = 11;
  static constexpr int words        = (1 << slots_log2) / 32; // with a bit for each slot
  static constexpr int sample_items = sizeof(Bits) > 8 ? 4 : 8; // a thread
  static_assert(words == 2 * 32 && most_values == 2 * 32);

public:
  struct shared_storage
  {
    block::span_storage<Bits, Threads> span;
    Bits ranks[most_values]; // in order
    std::uint8_t numbers[1 << slots_log2]; // of the ranks, in their slots
    std::uint32_t good_warps; // whose hash will do
    // Marks are done with when keys are counted.
    union
    {
      std::uint32_t marks[warps][words];
      std::uint32_t counts[most_values][32]; // a lane adds to its own
    };
  };

  __device__ explicit value_tally(shared_storage& shared)
      : shared_(shared)
  {}

  /// Lists the ranks of a sample, the same for every block, unless there are too many, or no hash tells them apart, or the input is
  /// smaller than a sample. Called by all threads of a block.
  template <bool IsFloat>
  __device__ void list(Bits const* keys, std::size_t n, key_order<Bits, IsFloat> const& order)
  {
    constexpr std::size_t samples = std::size_t{Threads} * sample_items;
    if (n < samples)
    {
      return;
    }
    std::uint64_t const stride = n / samples;
    auto const sampled         = [&](int i) {
      std::uint64_t const number = static_cast<std::uint64_t>(threadIdx.x) * sample_items + i;
      // Not always the first of a stride, so that periods in the input do not hide from it.
      return order.rank_of(keys[number * stride + number * 61 % stride]);
    };
    Bits ranks[sample_items];
    ranks[0] = sampled(0);
    if (threadIdx.x < words)
    {
      shared_.marks[0][threadIdx.x] = 0;
    }
    __syncthreads();
    mark(shared_.marks[0], slot_of(ranks[0], multiplier_of(0)));
    __syncthreads();
    // As many slots at most as values: of most inputs, a part of the sample tells that there are more.
    auto const* const word    = shared_.marks[0] + threadIdx.x % 32;
    std::uint32_t const slots = block::sum_of_warp(static_cast<std::uint32_t>(__popc(word[0]) + __popc(word[32])));
    if (slots > most_values)
    {
      return;
    }
#pragma unroll
    for (int i = 1; i < sample_items; ++i)
    {
      ranks[i] = sampled(i);
    }
    if (take_apart(ranks) && find_hash())
    {
      count_ = listed_;
    }
  }

  /// How many ranks keys are counted by; 0 if none are listed.
  __device__ int count() const
  {
    return count_;
  }

  __device__ Bits rank(int number) const
  {
    return shared_.ranks[number];
  }

  /// Counts a rank, if it is listed, of a tally of some. Returns whether it is.
  __device__ bool add(Bits rank) const
  {
    unsigned const number = shared_.numbers[slot_of(rank, multiplier_)];
    if (shared_.ranks[number] != rank)
    {
      return false;
    }
    atomicAdd(&shared_.counts[number][threadIdx.x % 32], 1u);
    return true;
  }

  /// Adds the block's counts to `totals`, by the numbers of the ranks. Called by all threads, after a barrier.
  __device__ void add_to(unsigned long long* totals) const
  {
    for (int number = static_cast<int>(threadIdx.x) / 32; number < count_; number += warps)
    {
      std::uint32_t const sum = block::sum_of_warp(shared_.counts[number][threadIdx.x % 32]);
      if (threadIdx.x % 32 == 0 && sum != 0)
      {
        atomicAdd(totals + number, static_cast<unsigned long long>(sum));
      }
    }
  }

private:
  using hashed = std::conditional_t<(sizeof(Bits) > 4), std::uint64_t, std::uint32_t>;

  /// Odd, and unlike other warps' in all bits, so that what one hash does not tell apart another may.
  __device__ static hashed multiplier_of(int warp)
  {
    std::uint64_t const mixed = static_cast<unsigned>(warp + 1) * 0x9e3779b97f4a7c15u;
    return static_cast<hashed>((mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9u >> 13 | 1);
  }

  __device__ static unsigned slot_of(Bits rank, hashed multiplier)
  {
    auto word = static_cast<hashed>(rank);
    if constexpr (sizeof(Bits) > 8)
    {
      // Turned, so that halves that are alike do not cancel bits.
      auto const high = static_cast<hashed>(rank >> 64);
      word += (high << 32 | high >> 32) * 0xd6e8feb86659fd93u;
    }
    return static_cast<unsigned>(word * multiplier >> (sizeof(hashed) * 8 - slots_log2));
  }

  /// Returns whether the slot has been marked before.
  __device__ static bool mark(std::uint32_t (&marks)[words], unsigned slot)
  {
    std::uint32_t const bit = 1u << slot % 32;
    return (atomicOr(&marks[slot / 32], bit) & bit) != 0;
  }

  /// Lists the different ones of a sample's ranks in order, from both ends inwards. Returns false if they are too many.
  __device__ bool take_apart(Bits const (&ranks)[sample_items])
  {
    Bits low = 0, high = 0; // the last ones found, if any
    int below = 0, above = 0; // that have been found from either end
    for (;;)
    {
      Bits least = static_cast<Bits>(~Bits{0}), greatest = 0;
      bool is_any = false;
#pragma unroll
      for (int i = 0; i < sample_items; ++i)
      {
        if (below == 0 || (low < ranks[i] && ranks[i] < high))
        {
          least    = ranks[i] < least ? ranks[i] : least;
          greatest = greatest < ranks[i] ? ranks[i] : greatest;
          is_any   = true;
        }
      }
      if (!block::span_of_block(shared_.span, least, greatest, is_any))
      {
        break;
      }
      if (below + above + 2 > most_values)
      {
        return false;
      }
      if (threadIdx.x == 0)
      {
        shared_.ranks[below]                   = least;
        shared_.ranks[most_values - 1 - above] = greatest;
      }
      low  = least;
      high = greatest;
      ++below;
      above += least < greatest ? 1 : 0;
      __syncthreads();
    }
    auto const number = static_cast<int>(threadIdx.x);
    Bits const moved  = shared_.ranks[number < above ? most_values - above + number : 0];
    __syncthreads();
    if (number < above)
    {
      shared_.ranks[below + number] = moved;
    }
    listed_ = below + above;
    return true;
  }

  /// Each warp tries a hash. Returns whether one will do, and then has the ranks' numbers in their slots, and no counts.
  __device__ bool find_hash()
  {
    auto const warp = static_cast<int>(threadIdx.x) / 32;
    auto const lane = static_cast<int>(threadIdx.x) % 32;
    for (int i = static_cast<int>(threadIdx.x); i < warps * words; i += Threads)
    {
      shared_.marks[i / words][i % words] = 0;
    }
    for (int i = static_cast<int>(threadIdx.x); i < 1 << slots_log2; i += Threads)
    {
      shared_.numbers[i] = 0;
    }
    if (threadIdx.x == 0)
    {
      shared_.good_warps = 0;
    }
    __syncthreads();
    bool meets = false;
    for (int number = lane; number < listed_; number += 32)
    {
      meets = mark(shared_.marks[warp], slot_of(shared_.ranks[number], multiplier_of(warp))) || meets;
    }
    if (__any_sync(block::all_lanes, meets) == 0 && lane == 0)
    {
      atomicOr(&shared_.good_warps, 1u << warp);
    }
    __syncthreads();
    if (shared_.good_warps == 0)
    {
      return false;
    }
    multiplier_ = multiplier_of(__ffs(static_cast<int>(shared_.good_warps)) - 1);
    if (static_cast<int>(threadIdx.x) < listed_)
    {
      shared_.numbers[slot_of(shared_.ranks[threadIdx.x], multiplier_)] = static_cast<std::uint8_t>(threadIdx.x);
    }
    for (int i = static_cast<int>(threadIdx.x); i < most_values * 32; i += Threads)
    {
      shared_.counts[i / 32][i % 32] = 0;
    }
    __syncthreads();
    return true;
  }

  shared_storage& shared_;
  hashed multiplier_ = 0;
  int listed_        = 0;
  int count_         = 0;
};

} // namespace gpusort::radix
