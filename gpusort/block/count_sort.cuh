// Sorts keys alone inside a block by counting: how many there are of each value says what the output is, and no key moves. For as many keys as
// there are, of ranks that are close together. Source: Satish, Harris and Garland, section III, count digits before they move keys; here the digit is all
// in which the keys of a block differ.
#pragma once

#include <gpusort/block/prefix_sum.cuh>
#include <gpusort/block/span.cuh>
#include <gpusort/block/tile.cuh>
#include <gpusort/block/warp.cuh>

#include <cstdint>

namespace gpusort::block
{

/// Keys of 4 bytes; `Order` as in bin_sort. Not stable, which shows only where keys differ that are equal: these it leaves to others.
template <class Bits, class Order, int Threads>
class count_sort
{
  static_assert(sizeof(Bits) == 4);

  // Ranks are counted by their lowest bits: those of keys that are close enough differ in these. A group of them is what a thread adds up; a warp
  // writes two at once, four ranks a lane.
  static constexpr std::uint32_t ranks       = std::uint32_t{1} << 16;
  static constexpr std::uint32_t group_ranks = 64;
  static constexpr std::uint32_t group_words = group_ranks / 2;
  static constexpr std::uint32_t groups      = ranks / group_ranks;
  static constexpr int warps                 = Threads / 32;
  static constexpr int at_once               = 8; // keys that a thread reads
  static constexpr std::uint32_t step_ranks  = 2 * group_ranks;
  static constexpr int lane_ranks            = step_ranks / 32;
  // Keys of such a step that are put in order in shared memory before they are written: with 2^18 keys of 2^16 ranks nearly all have fewer.
  static constexpr std::uint32_t most_staged = 640;
  static_assert(groups == Threads);

public:
  static constexpr int most = 1 << 30;

  struct shared_storage
  {
    union
    {
      std::uint32_t counts[ranks / 2]; // two in a word
      uint2 of_lanes[ranks / lane_ranks];
      uint4 vectors[ranks / 8];
    };
    std::uint32_t begins[groups]; // where the keys of a group begin in the output, from the group of the least on
    std::uint8_t staged[warps][most_staged]; // ranks of a step, as numbers in it: of each key, or those that there are
    warp_sums<std::uint32_t, groups> sums;
    span_storage<Bits, Threads> span;
  };

  /// keys_out are the n keys of `elements`, sorted; they may be the same array. Returns false, with nothing written, if ranks are too far from each
  /// other, if one has too many keys for half a word, or if equal keys differ. n is more than none. Called by all threads of a block; shared memory may be
  /// used again after a barrier.
  __device__ static bool
  sort(shared_storage& shared,
       Order const& order,
       int n,
       contiguous_source<Bits, no_values> const& elements,
       Bits* keys_out,
       no_values*,
       int /* likely_alike: ranks that no key has are as many either way */ = 0)
  {
    for (unsigned i = threadIdx.x; i < ranks / 8; i += Threads)
    {
      shared.vectors[i] = uint4{0, 0, 0, 0};
    }
    __syncthreads();
    bool loses = false;
    Bits least = static_cast<Bits>(~Bits{0}), greatest = 0;
    block::for_each<Threads, at_once, true>(elements.keys, n, [&](Bits key) {
      loses           = loses || order.loses(key);
      Bits const rank = order.rank_of(key);
      least           = rank < least ? rank : least;
      greatest        = greatest < rank ? rank : greatest;
      atomicAdd(&shared.counts[rank % ranks / 2], 1u << (rank % 2 * 16));
    });
    loses                     = span_of_block(shared.span, least, greatest, loses);
    std::uint32_t const first = least / group_ranks;
    if (loses || greatest / group_ranks - first >= groups)
    {
      return false;
    }
    std::uint32_t const own    = keys_of_group(shared, first + threadIdx.x);
    std::uint32_t const begin  = exclusive_sum<groups>(shared.sums, own);
    shared.begins[threadIdx.x] = begin;
    // A count that has overflowed is missing, or has become one of its neighbour's: either way there seem to be fewer keys.
    if (__syncthreads_or(threadIdx.x == groups - 1 && begin + own != static_cast<std::uint32_t>(n)) != 0)
    {
      return false;
    }
    write(shared, order, first, static_cast<std::uint32_t>(n), keys_out);
    return true;
  }

private:
  /// Keys of the group with this number, modulo `groups`.
  __device__ static std::uint32_t keys_of_group(shared_storage const& shared, std::uint32_t group)
  {
    std::uint32_t const* const words = shared.counts + group % groups * group_words;
    std::uint32_t keys               = 0;
#pragma unroll 8
    for (std::uint32_t i = 0; i < group_words; ++i)
    {
      std::uint32_t const two = words[(i + threadIdx.x) % group_words]; // lanes meet different banks
      keys += (two & 0xffff) + (two >> 16);
    }
    return keys;
  }

  /// The last group that begins no later than `place`. Called by all lanes of a warp.
  __device__ static std::uint32_t group_at(shared_storage const& shared, std::uint32_t place)
  {
    static_assert(groups == 32 * 32);
    std::uint32_t const lane = threadIdx.x % 32;
    std::uint32_t const row  = __popc(__ballot_sync(all_lanes, shared.begins[lane * 32] <= place)) - 1;
    return row * 32 + __popc(__ballot_sync(all_lanes, shared.begins[row * 32 + lane] <= place)) - 1;
  }

  /// Writes n keys, of which each warp has an equal share, whatever values they have. Groups are numbered from `first` on.
  __device__ static void
  write(shared_storage& shared, Order const& order, std::uint32_t first, std::uint32_t n, Bits* keys_out)
  {
    std::uint32_t const lane  = threadIdx.x % 32;
    std::uint32_t const warp  = threadIdx.x / 32;
    std::uint32_t const share = (n + Threads - 1) / Threads * 32;
    std::uint32_t const from  = warp * share;
    std::uint32_t const to    = n - from < share ? n : from + share;
    if (from >= n)
    {
      return;
    }
    std::uint8_t* const staged = shared.staged[warp];
    std::uint32_t group        = group_at(shared, from) / 2 * 2;
    for (std::uint32_t begin = shared.begins[group]; begin < to; group += 2)
    {
      counted_ranks const own   = counted_ranks::of(shared, first + group, begin);
      std::uint32_t const end   = __shfl_sync(all_lanes, own.end(), 31);
      std::uint32_t const place = begin < from ? from : begin;
      std::uint32_t const last  = end < to ? end : to;
      auto const base           = static_cast<Bits>((first + group) * group_ranks);
      auto const write_one      = [&](std::uint32_t at, std::uint32_t number) {
        keys_out[at] = order.bits_of_rank(static_cast<Bits>(base + number));
      };
      if (end - begin <= most_staged)
      {
        std::uint8_t* here = staged + (own.begin - begin);
#pragma unroll
        for (int i = 0; i < lane_ranks; ++i)
        {
#pragma unroll 1
          for (std::uint32_t left = own.keys[i]; left > 0; --left)
          {
            *here++ = own.number(i);
          }
        }
        __syncwarp();
        for (std::uint32_t at = place + lane; at < last; at += 32)
        {
          write_one(at, staged[at - begin]);
        }
      }
      else
      {
        write_long(own, place, last, staged, write_one);
      }
      __syncwarp();
      begin = end;
    }
  }

  /// What a lane has of two groups: how many keys of each of its ranks, and where they begin in the output.
  struct counted_ranks
  {
    std::uint32_t keys[lane_ranks];
    std::uint32_t begin;

    /// Of the group with this number, modulo `groups`, and the next one.
    __device__ static counted_ranks of(shared_storage const& shared, std::uint32_t group, std::uint32_t begin)
    {
      std::uint32_t const lane = threadIdx.x % 32;
      uint2 const two          = shared.of_lanes[(group * (group_ranks / lane_ranks) + lane) % (ranks / lane_ranks)];
      counted_ranks own{{two.x & 0xffff, two.x >> 16, two.y & 0xffff, two.y >> 16}, 0};
      std::uint32_t const all = own.end();
      own.begin               = begin + inclusive_sum_of_warp(all) - all;
      return own;
    }

    __device__ std::uint32_t end() const
    {
      return begin + keys[0] + keys[1] + keys[2] + keys[3];
    }

    /// Of the lane's i-th rank in the step.
    __device__ static std::uint8_t number(int i)
    {
      return static_cast<std::uint8_t>(threadIdx.x % 32 * lane_ranks + static_cast<unsigned>(i));
    }
  };

  /// Writes the places [place, last) of a step, however many keys its ranks have: `write_one(at, number of the rank)`.
  template <class WriteOne>
  __device__ static void write_long(
    counted_ranks const& own, std::uint32_t place, std::uint32_t last, std::uint8_t* present, WriteOne const& write_one)
  {
    std::uint32_t const lane   = threadIdx.x % 32;
    std::uint32_t const before = (std::uint32_t{1} << lane) - 1;
    std::uint32_t number = 0, begun = 0; // ranks that are present, of lanes before, and that begin before `place`
    std::uint32_t begin = own.begin;
#pragma unroll
    for (int i = 0; i < lane_ranks; ++i)
    {
      number += __popc(__ballot_sync(all_lanes, own.keys[i] != 0) & before);
      begun += __popc(__ballot_sync(all_lanes, own.keys[i] != 0 && begin < place));
      begin += own.keys[i];
    }
#pragma unroll
    for (int i = 0; i < lane_ranks; ++i)
    {
      if (own.keys[i] != 0)
      {
        present[number++] = own.number(i);
      }
    }
    __syncwarp();
    for (; place < last; place += 32)
    {
      std::uint32_t starts = 0;
      begin                = own.begin;
#pragma unroll
      for (int i = 0; i < lane_ranks; ++i)
      {
        starts |= bit_of(own.keys[i], begin - place);
        begin += own.keys[i];
      }
      starts = or_of_warp(starts);
      if (place + lane < last)
      {
        write_one(place + lane, present[begun + __popc(starts & (before << 1 | 1)) - 1]);
      }
      begun += __popc(starts);
    }
  }

  /// Where keys begin among the next 32 places, as a bit, if there are any.
  __device__ static std::uint32_t bit_of(std::uint32_t keys, std::uint32_t places_ahead)
  {
    return keys != 0 && places_ahead < 32 ? std::uint32_t{1} << places_ahead : 0;
  }
};

} // namespace gpusort::block
