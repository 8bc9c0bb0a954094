// Which of a power of two of buckets the rank of a key belongs to: buckets of equal width over the ranks of a sample, or over the numbers that
// they are ranks of.
#pragma once

#include <gpusort/block/bit_width.h>
#include <gpusort/radix/key_order.h>

#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace gpusort::radix
{

/// Maps ranks to buckets without ever inverting two of them. Ranks beyond either end belong to the first and last bucket.
template <class Bits>
struct bucket_map
{
  Bits low; // the least rank that the first bucket is meant for
  std::uint32_t scale; // buckets by the step, times 2^32; 0: a step is a bucket
  std::int32_t shift; // ranks by the step, as a power of two
  std::uint32_t last; // bucket

  __host__ __device__ std::uint32_t operator()(Bits rank) const
  {
    Bits const above = rank > low ? static_cast<Bits>(rank - low) : Bits{0};
    std::uint32_t steps;
    if constexpr (sizeof(Bits) > 4)
    {
      Bits const all = above >> shift;
      steps          = all > 0xffffffffu ? 0xffffffffu : static_cast<std::uint32_t>(all);
    }
    else
    {
      steps = above; // of one rank each
    }
    std::uint32_t const bucket =
      scale == 0 ? steps : static_cast<std::uint32_t>(static_cast<std::uint64_t>(steps) * scale >> 32);
    return bucket < last ? bucket : last;
  }

  /// The same with an eighth of the range more at either end.
  __host__ __device__ static bucket_map with_margins(Bits least, Bits greatest, int buckets_log2)
  {
    constexpr Bits greatest_rank = static_cast<Bits>(~Bits{0});
    Bits const margin            = static_cast<Bits>((greatest - least) / 8);
    return over(
      least > margin ? static_cast<Bits>(least - margin) : Bits{0},
      greatest < static_cast<Bits>(greatest_rank - margin) ? static_cast<Bits>(greatest + margin) : greatest_rank,
      buckets_log2);
  }

  /// A bucket for each rank, for ranks of up to 4 bytes.
  __host__ __device__ static bucket_map of_ranks()
  {
    static_assert(sizeof(Bits) <= 4);
    return {Bits{0}, 0, 0, 0xffffffffu};
  }

  /// 2^buckets_log2 buckets, of which there are 2^8 to 2^16, over a sample's least and greatest rank. Rounds outwards, so
  /// that ranges between multiples of powers of two, which are common, are hit exactly: by an edge of up to a 64th of the
  /// range.
  __host__ __device__ static bucket_map over(Bits least, Bits greatest, int buckets_log2)
  {
    constexpr Bits greatest_rank = static_cast<Bits>(~Bits{0});
    std::uint32_t const last     = (std::uint32_t{1} << buckets_log2) - 1;
    Bits const span              = static_cast<Bits>(greatest - least);
    if (span <= static_cast<Bits>(last))
    {
      // A bucket for each rank, the sample in the middle of them.
      Bits const margin = static_cast<Bits>((last - span) / 2);
      Bits const beyond = static_cast<Bits>(greatest_rank - least); // ranks above the least
      Bits const below  = beyond < static_cast<Bits>(last - margin) ? static_cast<Bits>(last - beyond) : margin;
      return {least > below ? static_cast<Bits>(least - below) : Bits{0}, 0, 0, last};
    }
    Bits const edge = static_cast<Bits>((Bits{1} << (block::bit_width(span) - 7)) - 1);
    Bits const low  = static_cast<Bits>(least & ~edge);
    Bits const high = static_cast<Bits>(greatest | edge);
    int const width = block::bit_width(static_cast<Bits>(high - low));
    int const shift = width > 32 ? width - 32 : 0;
    auto const top  = static_cast<std::uint64_t>(static_cast<Bits>(static_cast<Bits>(high - low) >> shift));
    return {low, static_cast<std::uint32_t>((std::uint64_t{last + 1} << 32) / (top + 1)), shift, last};
  }
};

/// Maps ranks of floating-point numbers of 4 or 8 bytes to buckets of equal width by value: ranks of numbers that are evenly spread are not
/// even, as half of those from 0 to 1 share an exponent. Never inverts two ranks; those beyond either end belong to the first and last bucket.
template <class Bits>
struct value_map
{
  using number = std::conditional_t<sizeof(Bits) <= 4, float, double>;

  key_order<Bits, true> order;
  Bits least, greatest; // ranks of the ends; others are taken for one of them
  number first; // the least rank's
  number scale; // buckets by one; negative if numbers go down where ranks go up
  std::uint32_t last; // bucket; 0: there is no such map

  __host__ __device__ bool exists() const
  {
    return last != 0;
  }

  __host__ __device__ std::uint32_t operator()(Bits rank) const
  {
    rank               = rank < least ? least : rank;
    rank               = rank < greatest ? rank : greatest;
    number const steps = (number_of(order, rank) - first) * scale; // each of these keeps the order, rounding as well
    std::uint32_t const bucket = static_cast<std::uint32_t>(steps);
    return bucket < last ? bucket : last;
  }

  /// 2^buckets_log2 buckets over a sample's least and greatest rank, and this part of their distance more at either end. Rounds outwards, to
  /// multiples of a power of two, by up to a 64th of the distance. There is none if that is nothing, or too much for a number.
  __host__ __device__ static value_map
  over(key_order<Bits, true> const& order, Bits least, Bits greatest, int buckets_log2, double margin)
  {
    double const at_least    = number_of(order, least);
    double const at_greatest = number_of(order, greatest);
    bool const ascends       = at_least < at_greatest;
    double low               = ascends ? at_least : at_greatest;
    double high              = ascends ? at_greatest : at_least;
    double const wider       = (high - low) * margin;
    low -= wider;
    high += wider;
    if (!(high - low > 0) || !is_finite(high - low))
    {
      return {};
    }
    double const edge  = ::ldexp(1.0, ::ilogb(high - low) - 6);
    low                = ::floor(low / edge) * edge;
    high               = ::ceil(high / edge) * edge;
    auto const from    = static_cast<number>(ascends ? low : high);
    auto const to      = static_cast<number>(ascends ? high : low);
    auto const buckets = static_cast<double>(std::uint32_t{1} << buckets_log2);
    auto const scale   = static_cast<number>(buckets / (static_cast<double>(to) - static_cast<double>(from)));
    if (!is_finite(from) || !is_finite(to) || !is_finite(scale) || scale == 0)
    {
      return {};
    }
    return {order,
            order.rank_of(radix::bits_of(from)),
            order.rank_of(radix::bits_of(to)),
            from,
            scale,
            (std::uint32_t{1} << buckets_log2) - 1};
  }

private:
  __host__ __device__ static number number_of(key_order<Bits, true> const& order, Bits rank)
  {
    Bits const bits = order.bits_of_rank(rank);
    number value;
    std::memcpy(&value, &bits, sizeof(Bits));
    return value;
  }

  template <class T>
  __host__ __device__ static bool is_finite(T x)
  {
    return x - x == 0;
  }
};

/// Where keys have no such map.
struct no_value_map
{};

template <class Bits, bool IsFloat>
inline constexpr bool has_value_map_v = IsFloat && (sizeof(Bits) == 4 || sizeof(Bits) == 8);
template <class Bits>
using value_map_t = std::conditional_t<has_value_map_v<Bits, true>, value_map<Bits>, no_value_map>;

} // namespace gpusort::radix
