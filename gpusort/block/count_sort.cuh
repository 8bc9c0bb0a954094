// Sorts keys alone inside a block by counting: how many there are of each value says what the output is, and no key moves. For as many keys as
// there are, of ranks that are close together. Source: Satish, Harris and Garland, section III, count digits before they move keys; here the digit is all
// in which the keys of a block differ.
#pragma once

#include <gpusort/block/prefix_sum.cuh>
#include <gpusort/block/span.cuh>
#include <gpusort/block/tile.cuh>
#include <gpusort/block/warp.cuh>

#include <cstdint>
#include <limits>

namespace gpusort::block
{

/// Keys of 4 bytes; `Order` as in bin_sort. Not stable, which shows only where keys differ that are equal: these it leaves to others.
template <class Bits, class Order, int Threads>
class count_sort
{
  static_assert(sizeof(Bits) == 4);

  // Ranks are counted by their lowest bits: those of keys that are close enough differ in these. A group of them is what a warp writes at once, two
  // ranks a lane.
  static constexpr std::uint32_t ranks       = std::uint32_t{1} << 16;
  static constexpr std::uint32_t group_ranks = 64;
  static constexpr std::uint32_t group_words = group_ranks / 2;
  static constexpr std::uint32_t groups      = ranks / group_ranks;
  static constexpr int warps                 = Threads / 32;
  static constexpr int at_once               = 8; // keys that a thread reads
  static_assert(groups == Threads);

public:
  static constexpr int most = std::numeric_limits<int>::max();

  struct shared_storage
  {
    union
    {
      std::uint32_t counts[ranks / 2]; // two in a word
      uint4 vectors[ranks / 8];
    };
    std::uint32_t begins[groups]; // where the keys of a group begin in the output, from the group of the least on
    std::uint8_t present[warps][group_ranks]; // the ranks that a group has, as numbers in it
    warp_sums<std::uint32_t, groups> sums;
    span_storage<Bits, Threads> span;
  };

  /// keys_out are the n keys of `elements`, sorted; they may be the same array. Returns false, with nothing written, if ranks are too far from each
  /// other, if one has too many keys for half a word, or if equal keys differ. n is more than none. Called by all threads of a block; shared memory may be
  /// used again after a barrier.
  __device__ static bool sort(shared_storage& shared,
                              Order const& order,
                              int n,
                              contiguous_source<Bits, no_values> const& elements,
                              Bits* keys_out,
                              no_values*)
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
  /// Words of the counts of a group, of those of its number modulo `groups`.
  __device__ static std::uint32_t const* words_of(shared_storage const& shared, std::uint32_t group)
  {
    return shared.counts + group % groups * group_words;
  }

  __device__ static std::uint32_t keys_of_group(shared_storage const& shared, std::uint32_t group)
  {
    std::uint32_t const* const words = words_of(shared, group);
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
    std::uint8_t* const present = shared.present[warp];
    std::uint32_t group         = group_at(shared, from);
    for (std::uint32_t begin = shared.begins[group]; begin < to; ++group)
    {
      std::uint32_t const two     = words_of(shared, first + group)[lane];
      std::uint32_t const low     = two & 0xffff;
      std::uint32_t const high    = two >> 16;
      std::uint32_t const through = inclusive_sum_of_warp(low + high);
      std::uint32_t const of_low  = begin + through - low - high; // where the lane's keys begin
      std::uint32_t const of_high = begin + through - high;
      std::uint32_t const end     = begin + __shfl_sync(all_lanes, through, 31);
      std::uint32_t const before  = (std::uint32_t{1} << lane) - 1;
      std::uint32_t number =
        __popc(__ballot_sync(all_lanes, low != 0) & before) + __popc(__ballot_sync(all_lanes, high != 0) & before);
      if (low != 0)
      {
        present[number++] = static_cast<std::uint8_t>(lane * 2);
      }
      if (high != 0)
      {
        present[number] = static_cast<std::uint8_t>(lane * 2 + 1);
      }
      __syncwarp();
      std::uint32_t place = begin < from ? from : begin;
      // Ranks that are present and begin before `place`.
      std::uint32_t begun = __popc(__ballot_sync(all_lanes, low != 0 && of_low < place))
                          + __popc(__ballot_sync(all_lanes, high != 0 && of_high < place));
      auto const base = static_cast<Bits>((first + group) * group_ranks);
      for (std::uint32_t const last = end < to ? end : to; place < last; place += 32)
      {
        std::uint32_t const starts      = or_of_warp(bit_of(low, of_low - place) | bit_of(high, of_high - place));
        std::uint32_t const number_here = begun + __popc(starts & (before << 1 | 1)) - 1;
        if (place + lane < last)
        {
          keys_out[place + lane] = order.bits_of_rank(static_cast<Bits>(base + present[number_here]));
        }
        begun += __popc(starts);
      }
      __syncwarp();
      begin = end;
    }
  }

  /// Where keys begin among the next 32 places, as a bit, if there are any.
  __device__ static std::uint32_t bit_of(std::uint32_t keys, std::uint32_t places_ahead)
  {
    return keys != 0 && places_ahead < 32 ? std::uint32_t{1} << places_ahead : 0;
  }
};

} // namespace gpusort::block
