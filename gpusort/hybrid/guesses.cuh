// Buckets by a guess: where the value of a key says that it belongs, if the comparator agrees.
// Source: buckets of equal width, as for keys that are numbers; that the comparator is asked about each key is our own.
#pragma once

#include <gpusort/block/bit_width.h>
#include <gpusort/block/merge.cuh>
#include <gpusort/block/splitters.cuh>
#include <gpusort/hybrid/tuning.h>
#include <gpusort/radix/key_order.h>
#include <gpusort/radix/value_order.cuh>

#include <cstddef>
#include <cstdint>

namespace gpusort::hybrid
{

using block::most_buckets;
using block::node_of;
using block::sampled_place;
using block::splitter_at;
using block::splitter_search;
using block::splitter_tree;
static_assert(1 << most_log2 == most_buckets);

/// The block that chooses splitters of a segment.
template <class Key, class Compare>
using splitter_choice =
  block::splitter_choice<Key, Compare, sample_shape_for(sizeof(Key)).threads, sample_shape_for(sizeof(Key)).items>;

/// Whether buckets are guessed where comparators go by values. Not those of records: finding their field takes more than it saves. Measured on
/// an H200, records of 16 bytes, 2^24, first and second order_tiles: 204 and 262 us, with guesses 245 and 292.
template <class Key, class Value, class Compare>
inline constexpr bool guesses_buckets_v = radix::tries_values_v<Key, Value, Compare> && radix::is_number_v<Key>;

/// How a segment's keys are guessed, in device memory. Its values, but for those of the first bucket, are cut into cells of equal width,
/// in the order of values that the comparator seems to have; the first key of its sample in each is a splitter.
struct value_cells
{
  std::uint64_t base; // rank of the first key of the first cell
  std::uint32_t order; // of values; value_order::other: nothing is guessed
  // A rank that is r behind the base is in cell (r >> shift) x scale >> (32 + scale_shift).
  std::uint32_t scale;
  std::uint8_t shift;
  std::uint8_t scale_shift;
  std::uint16_t cells; // as many as splitters
};

/// The same in registers.
template <class Key>
struct value_guess
{
  using bits = radix::bits_t<Key>;

  radix::key_order_t<Key> order;
  bits base;
  std::uint32_t scale;
  unsigned shift;
  unsigned scale_shift;
  unsigned cells;

  __device__ explicit value_guess(value_cells const& of)
      : order(radix::order_of_values<Key>(of.order))
      , base(static_cast<bits>(of.base))
      , scale(of.scale)
      , shift(of.shift)
      , scale_shift(of.scale_shift)
      , cells(of.cells)
  {}

  /// The cell that a key is in, or the first or the last one.
  __device__ unsigned cell(Key const& key) const
  {
    bits const rank = order.rank_of(radix::bits_of(key));
    bits far        = rank > base ? static_cast<bits>(rank - base) : bits{0};
    if constexpr (sizeof(bits) > 4)
    {
      far >>= shift;
      far = far < ~std::uint32_t{0} ? far : ~std::uint32_t{0};
    }
    unsigned const found = __umulhi(static_cast<std::uint32_t>(far), scale) >> scale_shift;
    return found < cells ? found : cells - 1;
  }

  /// How many splitters a key is behind, or, if `is_right` becomes false, any number. splitters[s]: the one with number s, and any key
  /// for -1 and `cells`.
  template <class Compare>
  __device__ unsigned operator()(Key const& key, Key const* splitters, bool& is_right, Compare& comp) const
  {
    auto const own         = static_cast<int>(cell(key));
    bool const is_behind   = block::precedes(splitters[own], key, comp);
    auto const next        = own + (is_behind ? 1 : -1);
    bool const is_the_same = block::precedes(splitters[next], key, comp) == is_behind;
    auto const passed      = static_cast<unsigned>(is_behind ? next : own);
    bool const is_at_end   = passed - 1 >= cells - 1; // nothing is left to ask
    is_right               = is_right && (!is_the_same || is_at_end);
    return passed;
  }
};

/// Finds the bucket of keys as splitter_search does: by two comparisons a key, where they say that a guess is right, or else by a search.
template <class Key, class Compare>
struct guessing_search
{
  splitter_search<Key, Compare> search;
  value_guess<Key> guess;
  Key const* splitters; // in order, in shared memory, with one more key at either end
  bool guesses;

  template <int Items, class Holds>
  __device__ void all(Key const (&keys)[Items], Holds holds, std::uint32_t (&buckets)[Items]) const
  {
    bool is_right = guesses;
    if (guesses)
    {
      unsigned const last = (1u << search.log2) - 1; // bucket: copies of the last splitter are in front of it
#pragma unroll
      for (int i = 0; i < Items; ++i)
      {
        if (holds(i))
        {
          unsigned const passed = guess(keys[i], splitters, is_right, search.comp);
          buckets[i]            = passed == guess.cells ? last : passed;
        }
      }
    }
    if (!is_right)
    {
      search.descend(keys, holds, buckets);
    }
    search.find_equals(keys, holds, buckets);
  }
};

/// Places splitters where cells of equal width begin, of a sample that the comparator has sorted: sorted(i) is the i-th of `count`. If
/// that makes buckets that are even enough, says how to guess them; if not, places are to be found in another way. Called by all
/// `Threads` threads of a block; a barrier has to follow.
template <int Threads, class Key, class Sorted>
__device__ value_cells
place_evenly(std::uint16_t (&places)[most_buckets], std::uint32_t order, int count, unsigned buckets, Sorted sorted)
{
  using bits        = radix::bits_t<Key>;
  auto const values = radix::order_of_values<Key>(order);
  auto const rank   = [&](int place) { return values.rank_of(radix::bits_of(sorted(place))); };
  bits const first  = rank(0);
  bits const last   = rank(count - 1);
  // Floating-point numbers suffice, and are soon divided: edges of cells need not be exact, since the comparator is asked.
  unsigned const cells = buckets - 1;
  auto const all       = static_cast<float>(static_cast<bits>(last - first));
  float const width    = __fdividef(all, static_cast<float>(buckets)); // of a cell
  bits const base      = first + static_cast<bits>(width);
  int const excess     = block::bit_width(static_cast<bits>(last - base)) - 32;
  int const shift      = excess > 0 ? excess : 0;
  float const steps    = ldexpf(width, -shift); // of a cell
  if (order == radix::value_order::other || last < first || steps < 1) // as for all threads
  {
    return value_cells{};
  }
  static_assert(Threads >= most_buckets);
  unsigned const own = threadIdx.x;
  int low            = 0;
  if (own < cells)
  {
    bits const edge = base + static_cast<bits>(width * static_cast<float>(own));
    for (int high = count; low < high;)
    {
      int const middle = (low + high) / 2;
      if (rank(middle) < edge)
      {
        low = middle + 1;
      }
      else
      {
        high = middle;
      }
    }
    // Edges are in order, whatever their rounding; so are these, unless two are one.
    places[own] = static_cast<std::uint16_t>(low);
  }
  __syncthreads();
  bool is_even = true;
  if (own <= cells)
  {
    int const before = own == 0 ? 0 : places[own - 1];
    int const at     = own == cells ? count : low;
    is_even = at > before && at - before <= static_cast<int>(most_unevenness * static_cast<unsigned>(count) / buckets);
  }
  if (__syncthreads_and(is_even) == 0)
  {
    return value_cells{};
  }
  int const scale_shift = ilogbf(steps);
  return {base,
          order,
          __float2uint_rz(__fdividef(ldexpf(1, 32 + scale_shift), steps)),
          static_cast<std::uint8_t>(shift),
          static_cast<std::uint8_t>(scale_shift),
          static_cast<std::uint16_t>(cells)};
}

} // namespace gpusort::hybrid
