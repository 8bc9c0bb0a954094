// Sorts keys alone inside a block by bins, as bin_sort.cuh does, but reads them again for each step, the first time excepted from the
// cache: so registers limit neither how many keys a block sorts, nor how many blocks a multiprocessor has at work.
// Source: as of bin_sort.cuh.
#pragma once

#include <gpusort/block/bins.cuh>
#include <gpusort/block/bit_width.h>
#include <gpusort/block/span.cuh>
#include <gpusort/block/tile.cuh>

#include <cstddef>
#include <cstdint>

namespace gpusort::block
{

/// Up to `Most` keys of 4 or 8 bytes; `Order` as in bin_sort. Not stable, which shows only where keys differ that are equal: these it
/// leaves to others.
template <class Bits, class Order, int Threads, int Most>
class rereading_bin_sort
{
  static_assert(sizeof(Bits) == 4 || sizeof(Bits) == 8);
  static_assert(Most < 1 << 16);

  // As many bins may be crowded as 4608 keys make, or a thread each: more of long buckets would be another block's memory.
  using bins = key_bins < Threads, Most >= 16384 ? 14 : 13, true, Threads<768 ? 768 : Threads, full_bins::give_up>;

  static constexpr int at_once = sizeof(Bits) == 4 ? 9 : 4; // keys that a thread reads
  // Whether as many as that have code of their own, which takes fewer instructions: for short keys, they do not matter.
  static constexpr bool full_apart = sizeof(Bits) > 4;

public:
  static constexpr int most = Most;

  struct shared_storage
  {
    alignas(16) char tokens[bins::template bytes_of<Bits>(Most)];
    typename bins::shared_storage bins_of_keys;
    span_storage<Bits, Threads> span;
  };

  /// keys_out are the n keys of `elements`, sorted; they may be the same array. Returns false, with nothing written, if too many keys are
  /// close to each other, or if equal ones differ. n <= most, and more than none. `likely_alike`: so many of the lowest bits are likely to be the same in
  /// all ranks. Called by all threads of a block; shared memory may be used again after a barrier.
  __device__ static bool
  sort(shared_storage& shared,
       Order const& order,
       int n,
       contiguous_source<Bits, no_values> const& elements,
       Bits* keys_out,
       no_values*,
       int likely_alike = 0)
  {
    Bits const* const keys_in = elements.keys;
    auto& counts              = shared.bins_of_keys;
    auto* const tokens        = reinterpret_cast<Bits*>(shared.tokens);
    bins::clear(counts);
    Bits least = 0, greatest = 0;
    if (find_span(shared.span, order, n, keys_in, least, greatest))
    {
      return false;
    }
    int const width     = bit_width(static_cast<Bits>(greatest - least));
    int const bins_log2 = bins::max_log2;
    int lowest_alike    = 0; // bits of all ranks
    if (is_worth_leaving_out(likely_alike, width, bins_log2, false))
    {
      Bits differing = 0;
      for (int at = static_cast<int>(threadIdx.x); at < n; at += Threads)
      {
        differing |= order.rank_of(keys_in[at]) ^ least;
      }
      lowest_alike = lowest_alike_of_block(differing, likely_alike);
    }
    auto const split     = split_into_bins(width, bins_log2, lowest_alike);
    int const shift      = split.shift;
    bool const are_alike = split.are_alike; // tokens that share a bin
    // A token is how far a key's rank is from the least.
    auto const token_of = [&](Bits key) { return static_cast<Bits>(order.rank_of(key) - least); };
    auto const bin_of   = [&](Bits token) {
      return bins::place_of(static_cast<std::uint32_t>(token >> shift), bins_log2);
    };
    block::for_each<Threads, at_once, full_apart>(keys_in, n, [&](Bits key) {
      auto const bin = bin_of(token_of(key));
      atomicAdd(&counts.counts[bin.word], bin.one());
    });
    __syncthreads();
    if (!bins::template begin<Bits>(counts, n, bins_log2, are_alike, true))
    {
      return false;
    }
    block::for_each<Threads, at_once, full_apart>(keys_in, n, [&](Bits key) {
      Bits const token          = token_of(key);
      auto const bin            = bin_of(token);
      std::uint32_t const place = bin.of(atomicAdd(&counts.counts[bin.word], bin.one())); // no carry: it has 16 bits
      tokens[bins::template index_of<Bits>(place)] = token;
    });
    if (!bins::sort(counts, tokens, n, are_alike))
    {
      return false;
    }
    for (int at = static_cast<int>(threadIdx.x); at < n; at += Threads)
    {
      keys_out[at] = order.bits_of_rank(
        static_cast<Bits>(least + tokens[bins::template index_of<Bits>(static_cast<std::uint32_t>(at))]));
    }
    return true;
  }

private:
  /// The least and the greatest rank. Returns whether any key differs from another of its rank. Contains a barrier.
  __device__ static bool
  find_span(span_storage<Bits, Threads>& span, Order const& order, int n, Bits const* keys, Bits& least, Bits& greatest)
  {
    bool loses = false;
    least      = static_cast<Bits>(~Bits{0});
    greatest   = 0;
    block::for_each<Threads, at_once, full_apart>(keys, n, [&](Bits key) {
      loses           = loses || order.loses(key);
      Bits const rank = order.rank_of(key);
      least           = rank < least ? rank : least;
      greatest        = greatest < rank ? rank : greatest;
    });
    return span_of_block(span, least, greatest, loses);
  }
};

} // namespace gpusort::block
