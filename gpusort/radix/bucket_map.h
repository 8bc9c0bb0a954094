// Which of a power of two of buckets the rank of a key belongs to: buckets of equal width over the ranks of a sample, or over the numbers that
// they are ranks of.
#pragma once

#include <gpusort/block/bit_width.h>
#include <gpusort/radix/key_order.h>

#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
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

  /// The bucket of a rank, in whatever order.
  template <class Order>
  __host__ __device__ std::uint32_t operator()(Order const&, Bits rank) const
  {
    return (*this)(rank);
  }

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

  /// The same with a part of the range more at either end: an eighth, or another power of two.
  __host__ __device__ static bucket_map with_margins(Bits least, Bits greatest, int buckets_log2, int part_log2 = 3)
  {
    constexpr Bits greatest_rank = static_cast<Bits>(~Bits{0});
    Bits const margin            = static_cast<Bits>((greatest - least) >> part_log2);
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
    int const edge_log2 = block::bit_width(span) - 7;
    Bits const edge     = static_cast<Bits>((Bits{1} << edge_log2) - 1);
    Bits const low      = static_cast<Bits>(least & ~edge);
    Bits const high     = static_cast<Bits>(greatest | edge);
    int const width     = block::bit_width(static_cast<Bits>(high - low));
    int const shift     = width > 32 ? width - 32 : 0;
    auto const edges =
      static_cast<std::uint32_t>(static_cast<Bits>(high - low) >> edge_log2) + 1; // 65 to 129 in the range
    return {low, bucket_map::part_of_power(32 + buckets_log2 - (edge_log2 - shift), edges), shift, last};
  }

private:
  /// 2^power / divisor, if that has 32 bits, for powers from 8 to 39 and divisors of 8 bits. A division of 64 bits takes an H200 700 cycles, which all wait for.
  __host__ __device__ static std::uint32_t part_of_power(int power, std::uint32_t divisor)
  {
    std::uint32_t const dividend = std::uint32_t{1} << (power - 8);
    return ((dividend / divisor) << 8) + ((dividend % divisor) << 8) / divisor;
  }
};

/// Maps ranks of floating-point numbers of 4 or 8 bytes to buckets of equal width by value: ranks of numbers that are evenly spread are not
/// even, as half of those from 0 to 1 share an exponent. Never inverts two ranks; those beyond either end belong to the first and last bucket.
template <class Bits>
struct value_map
{
  using number = std::conditional_t<sizeof(Bits) <= 4, float, double>;
  using order  = key_order<Bits, true>; // of the ranks; not kept, as who maps ranks has it

  number scale; // buckets by one; negative if numbers go down where ranks go up
  number offset; // the bucket of zero, which need not be one
  std::uint32_t last; // bucket; 0: there is no such map

  __host__ __device__ bool exists() const
  {
    return last != 0;
  }

  __host__ __device__ std::uint32_t operator()(order const& of, Bits rank) const
  {
    // NaNs at the upper end become infinite, those at the lower one belong to bucket 0.
    rank = rank < rank_of_infinity ? rank : rank_of_infinity;
    // Each step keeps the order, its rounding as well.
    number const steps         = std::fma(number_of(of, rank), scale, offset);
    std::uint32_t const bucket = whole(steps > 0 ? steps : 0);
    return bucket < last ? bucket : last;
  }

  /// 2^buckets_log2 buckets over a sample's least and greatest rank, and this part of their distance more at either end. Rounds outwards, to
  /// multiples of a power of two, by up to a 64th of the distance. There is none if that is nothing, or too much for a number.
  __host__ __device__ static value_map over(order const& of, Bits least, Bits greatest, int buckets_log2, double margin)
  {
    double const at_least    = number_of(of, least);
    double const at_greatest = number_of(of, greatest);
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
    double const edge = ::ldexp(1.0, ::ilogb(high - low) - 6);
    low               = ::floor(low / edge) * edge;
    high              = ::ceil(high / edge) * edge;
    double const from = ascends ? low : high;
    double const to   = ascends ? high : low;
    auto const scale  = static_cast<number>(static_cast<double>(std::uint32_t{1} << buckets_log2) / (to - from));
    auto const offset = static_cast<number>(-from * static_cast<double>(scale));
    if (!is_finite(offset) || !is_finite(scale) || scale == 0)
    {
      return {};
    }
    return {scale, offset, (std::uint32_t{1} << buckets_log2) - 1};
  }

private:
  // Of the infinite number that sorts last, whatever the direction: its rank has no bit but those of a sign and an exponent.
  static constexpr Bits rank_of_infinity = static_cast<Bits>(~Bits{0} << (std::numeric_limits<number>::digits - 1));

  __host__ __device__ static number number_of(order const& of, Bits rank)
  {
    Bits const bits = of.bits_of_rank(rank);
    number value;
    std::memcpy(&value, &bits, sizeof(Bits));
    return value;
  }

  /// The integer part of what is not negative, or some greater number than there are buckets.
  __host__ __device__ static std::uint32_t whole(number steps)
  {
#ifdef __CUDA_ARCH__
    if constexpr (sizeof(number) <= 4)
    {
      return __float2uint_rz(steps);
    }
    else
    {
      return __double2uint_rz(steps);
    }
#else
    return steps < 1 << 24 ? static_cast<std::uint32_t>(steps) : 1 << 24;
#endif
  }

  template <class T>
  __host__ __device__ static bool is_finite(T x)
  {
    return x - x == 0;
  }
};

/// One of the two, in as few registers as either of them takes.
template <class Bits>
struct rank_or_value_map
{
  using number = typename value_map<Bits>::number;

  bool by_value;
  value_map<Bits> values; // or what stands for the other

  rank_or_value_map() = default;
  __host__ __device__ rank_or_value_map(value_map<Bits> const& map)
      : by_value(true)
      , values(map)
  {}
  __host__ __device__ rank_or_value_map(bucket_map<Bits> const& map)
      : by_value(false)
      , values{{}, {}, map.last}
  {
    std::uint32_t const parts[2] = {map.scale, static_cast<std::uint32_t>(map.shift)};
    std::memcpy(&values.scale, parts, sizeof(number)); // ranks of 4 bytes are not shifted
    std::memcpy(&values.offset, &map.low, sizeof(number));
  }

  /// What it was made of, if that was a map of ranks.
  __host__ __device__ explicit operator bucket_map<Bits>() const
  {
    std::uint32_t parts[2] = {0, 0};
    Bits low;
    std::memcpy(parts, &values.scale, sizeof(number));
    std::memcpy(&low, &values.offset, sizeof(number));
    return {low, parts[0], static_cast<std::int32_t>(parts[1]), values.last};
  }

  __host__ __device__ explicit operator value_map<Bits>() const
  {
    return values;
  }

  __host__ __device__ std::uint32_t operator()(typename value_map<Bits>::order const& of, Bits rank) const
  {
    return by_value ? values(of, rank) : static_cast<bucket_map<Bits>>(*this)(of, rank);
  }
};

template <class Bits, bool IsFloat>
inline constexpr bool has_value_map_v = IsFloat && (sizeof(Bits) == 4 || sizeof(Bits) == 8);

/// How keys are mapped to buckets, whether they are floating-point numbers or not.
template <class Bits, bool IsFloat>
using key_map_t = std::conditional_t<has_value_map_v<Bits, IsFloat>, rank_or_value_map<Bits>, bucket_map<Bits>>;
/// The same where it is known that they go by value, if they can.
template <class Bits, bool IsFloat>
using value_map_t = std::conditional_t<has_value_map_v<Bits, IsFloat>, value_map<Bits>, bucket_map<Bits>>;

/// How ranks are mapped to buckets: by value too, where they are of numbers that go so.
template <class Order>
struct map_of_order
{
  using type                      = bucket_map<typename Order::rank>;
  static constexpr bool by_values = false;
};
template <class Bits, bool IsFloat>
struct map_of_order<key_order<Bits, IsFloat>>
{
  using type                      = key_map_t<Bits, IsFloat>;
  static constexpr bool by_values = has_value_map_v<Bits, IsFloat>;
};

} // namespace gpusort::radix
