// Keys by distribution, shared by tests and benchmarks. Each key is a function of its index alone, so that host and GPU
// make the same ones, in any order and number of threads.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>

namespace gpusort::testing
{

/// How keys are distributed. A key is made from a fraction x in [0, 1), its rank among all keys of its type: x below is
/// that of element i of n, U a uniform fraction drawn for i, and S(k, m) = (k + U) / m a uniform one in the k-th of m
/// equal parts.
///
/// From the quicksort paper, section 5.3, p = 128: uniform, sorted, zero, bucket, gaussian, staggered. Its staggered
/// blocks are counted from 0, and the lower half is i < p/2: with i <= p/2 one block would lie outside the range.
/// From Satish et al.: entropy_1 .. entropy_5.
/// Against sorts that look at values or at the most significant bits: two_values, coarse, eight_bits, common_prefix, half_alike. C is
/// one fraction for all keys.
enum class distribution
{
  uniform, // U
  sorted, // S(i, n)
  reversed, // S(n-1-i, n)
  nearly_sorted, // one element in a hundred uniform, the others sorted
  zero, // one value for all, drawn at random
  bucket, // S(s, p), s = floor(i p^2 / n) mod p: p blocks of p sections
  gaussian, // the mean of four U
  staggered, // block b = floor(i p / n): S(2b + 1, p) if b < p/2, S(2b - p, p) otherwise
  few_distinct, // 16 values, equally likely
  zipf, // 2^24 values, of which the k-th is drawn with probability 1 / (24 * 2^floor(log2 k)): about 1/k
  entropy_1, // the bitwise AND of 1 .. 5 U: 32, 25.95, 17.41, 10.78, 6.42 bits of information per 32 bits
  entropy_2,
  entropy_3,
  entropy_4,
  entropy_5,
  runs, // ascending runs of 2^floor(log2(n) / 2) elements, each over the whole range
  organ_pipe, // sorted up to the middle, from there reversed
  two_values, // equally likely
  coarse, // U rounded down to a multiple of 2^-24: keys of 32 bits are multiples of 256
  eight_bits, // C, but for bits 17 to 24 from the top, which are those of U
  common_prefix, // the first 48 bits are those of C, the others those of U
  half_alike, // every other key, by chance, as common_prefix, the others U
  // By value and not by rank, for float and double; the same as uniform and gaussian for other keys:
  unit, // numbers evenly spread from 0 to 1
  normal // the sum of twelve of those, less 6: mean 0, standard deviation 1
};

inline constexpr distribution all_distributions[] = {
  distribution::uniform,       distribution::sorted,     distribution::reversed,  distribution::nearly_sorted,
  distribution::zero,          distribution::bucket,     distribution::gaussian,  distribution::staggered,
  distribution::few_distinct,  distribution::zipf,       distribution::entropy_1, distribution::entropy_2,
  distribution::entropy_3,     distribution::entropy_4,  distribution::entropy_5, distribution::runs,
  distribution::organ_pipe,    distribution::two_values, distribution::coarse,    distribution::eight_bits,
  distribution::common_prefix, distribution::half_alike, distribution::unit,      distribution::normal};

constexpr char const* name_of(distribution d)
{
  switch (d)
  {
      // clang-format off
    case distribution::uniform: return "uniform";
    case distribution::sorted: return "sorted";
    case distribution::reversed: return "reversed";
    case distribution::nearly_sorted: return "nearly_sorted";
    case distribution::zero: return "zero";
    case distribution::bucket: return "bucket";
    case distribution::gaussian: return "gaussian";
    case distribution::staggered: return "staggered";
    case distribution::few_distinct: return "few_distinct";
    case distribution::zipf: return "zipf";
    case distribution::entropy_1: return "entropy_1";
    case distribution::entropy_2: return "entropy_2";
    case distribution::entropy_3: return "entropy_3";
    case distribution::entropy_4: return "entropy_4";
    case distribution::entropy_5: return "entropy_5";
    case distribution::runs: return "runs";
    case distribution::organ_pipe: return "organ_pipe";
    case distribution::two_values: return "two_values";
    case distribution::coarse: return "coarse";
    case distribution::eight_bits: return "eight_bits";
    case distribution::common_prefix: return "common_prefix";
    case distribution::half_alike: return "half_alike";
    case distribution::unit: return "unit";
    case distribution::normal: return "normal";
      // clang-format on
  }
  return "";
}

/// The distribution of that name, if there is one.
inline std::optional<distribution> parse_distribution(std::string_view name)
{
  for (distribution const d : all_distributions)
  {
    if (name == name_of(d))
    {
      return d;
    }
  }
  return std::nullopt;
}

namespace inputs
{

using wide = unsigned __int128;

inline constexpr std::uint64_t blocks = 128; // the paper's p

/// A bijection whose output bits each depend on all input bits (the finaliser of SplitMix64, Steele et al. 2014).
__host__ __device__ constexpr std::uint64_t mix(std::uint64_t x)
{
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// A uniform fraction: the `draw`-th of element i. Fractions are integers that count units of 2^-64 or 2^-128.
template <class Fraction>
__host__ __device__ constexpr Fraction random(std::uint64_t seed, unsigned draw, std::uint64_t i)
{
  if constexpr (sizeof(Fraction) == sizeof(wide))
  {
    return wide{random<std::uint64_t>(seed, 2 * draw, i)} << 64 | random<std::uint64_t>(~seed, 2 * draw + 1, i);
  }
  else
  {
    return mix(mix(seed + draw * 0xd1342543de82ef95u) + (i + 1) * 0x9e3779b97f4a7c15u);
  }
}

/// floor(a b) of a fraction a and an integer b.
__host__ __device__ constexpr std::uint64_t scale(std::uint64_t a, std::uint64_t b)
{
  return static_cast<std::uint64_t>(wide{a} * b >> 64);
}

__host__ __device__ constexpr wide scale(wide a, wide b)
{
  wide const a_low = static_cast<std::uint64_t>(a), a_high = a >> 64;
  wide const b_low = static_cast<std::uint64_t>(b), b_high = b >> 64;
  wide const cross_1 = a_low * b_high, cross_2 = a_high * b_low;
  wide const carry = (a_low * b_low >> 64) + static_cast<std::uint64_t>(cross_1) + static_cast<std::uint64_t>(cross_2);
  return a_high * b_high + (cross_1 >> 64) + (cross_2 >> 64) + (carry >> 64);
}

/// S(k, m): the point at u of the k-th of m equal parts of [0, 1), k < m.
template <class Fraction>
__host__ __device__ constexpr Fraction part(std::uint64_t k, std::uint64_t m, Fraction u)
{
  if (m == 1)
  {
    return u;
  }
  constexpr Fraction last = ~Fraction{0};
  Fraction const width    = last / m + (last % m + 1 == m ? 1 : 0);
  return k * width + scale(u, width);
}

/// The longest power of two whose square is at most n.
__host__ __device__ constexpr std::uint64_t run_length(std::uint64_t n)
{
  std::uint64_t length = 1;
  while (4 * length * length <= n)
  {
    length *= 2;
  }
  return length;
}

/// One of `values` fractions, equally likely.
template <class Fraction>
__host__ __device__ constexpr Fraction one_of(std::uint64_t values, std::uint64_t seed, std::uint64_t i)
{
  std::uint64_t const k = scale(random<std::uint64_t>(seed, 1, i), values);
  return part(k, values, random<Fraction>(seed, 2, k));
}

/// A fraction with its first `bits` bits set and no others.
template <class Fraction>
__host__ __device__ constexpr Fraction first_bits(int bits)
{
  return ~(~Fraction{0} >> bits);
}

/// a, with those bits of b that are set in `mask`.
template <class Fraction>
__host__ __device__ constexpr Fraction with_bits(Fraction a, Fraction b, Fraction mask)
{
  return (a & ~mask) | (b & mask);
}

/// The fraction x of element i of n, n at most 2^50.
template <class Fraction>
__host__ __device__ constexpr Fraction fraction(distribution d, std::uint64_t seed, std::uint64_t i, std::uint64_t n)
{
  Fraction const u      = random<Fraction>(seed, 0, i);
  Fraction const common = random<Fraction>(seed, 0, 0);
  switch (d)
  {
    case distribution::uniform:
    case distribution::unit:
      return u;
    case distribution::sorted:
      return part(i, n, u);
    case distribution::reversed:
      return part(n - 1 - i, n, u);
    case distribution::nearly_sorted:
      return scale(random<std::uint64_t>(seed, 1, i), std::uint64_t{100}) == 0 ? u : part(i, n, u);
    case distribution::zero:
      return common;
    case distribution::bucket:
      return part(i * (blocks * blocks) / n % blocks, blocks, u);
    case distribution::gaussian:
    case distribution::normal:
      return (u >> 2) + (random<Fraction>(seed, 1, i) >> 2) + (random<Fraction>(seed, 2, i) >> 2)
           + (random<Fraction>(seed, 3, i) >> 2);
    case distribution::staggered:
    {
      std::uint64_t const b = i * blocks / n;
      return part(b < blocks / 2 ? 2 * b + 1 : 2 * b - blocks, blocks, u);
    }
    case distribution::few_distinct:
      return one_of<Fraction>(16, seed, i);
    case distribution::zipf:
    {
      std::uint64_t const octave = scale(random<std::uint64_t>(seed, 1, i), std::uint64_t{24});
      std::uint64_t const start  = std::uint64_t{1} << octave;
      return random<Fraction>(seed, 3, start + scale(random<std::uint64_t>(seed, 2, i), start));
    }
    case distribution::entropy_1:
    case distribution::entropy_2:
    case distribution::entropy_3:
    case distribution::entropy_4:
    case distribution::entropy_5:
    {
      unsigned const samples = static_cast<unsigned>(d) - static_cast<unsigned>(distribution::entropy_1) + 1;
      Fraction x             = u;
      for (unsigned draw = 1; draw < samples; ++draw)
      {
        x &= random<Fraction>(seed, draw, i);
      }
      return x;
    }
    case distribution::runs:
    {
      std::uint64_t const length = run_length(n);
      return part(i % length, length, u);
    }
    case distribution::organ_pipe:
      return part(i < (n + 1) / 2 ? 2 * i : 2 * (n - 1 - i) + 1, n, u);
    case distribution::two_values:
      return one_of<Fraction>(2, seed, i);
    case distribution::coarse:
      return u & first_bits<Fraction>(24);
    case distribution::eight_bits:
      return with_bits(common, u, first_bits<Fraction>(24) & ~first_bits<Fraction>(16));
    case distribution::common_prefix:
      return with_bits(u, common, first_bits<Fraction>(48));
    case distribution::half_alike:
      return random<std::uint64_t>(seed, 1, i) >> 63 != 0 ? with_bits(u, common, first_bits<Fraction>(48)) : u;
  }
  return u;
}

/// The bits of the finite floating-point number at a fraction of all of them, `non_negative` of which are +0 or more.
template <class Bits>
__host__ __device__ constexpr Bits finite_float(std::uint64_t x, Bits non_negative)
{
  constexpr Bits sign     = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  std::uint64_t const all = 2 * std::uint64_t{non_negative};
  std::uint64_t const at  = scale(x, all);
  return static_cast<Bits>(at < non_negative ? sign | (non_negative - 1 - at) : at - non_negative);
}

} // namespace inputs

/// Makes a Key from a fraction, so that a greater fraction never makes a lesser key. A key type of a test's own gets a
/// specialisation with `using fraction = std::uint64_t` (or unsigned __int128), and
/// `__host__ __device__ static Key make(fraction)`.
template <class Key, class = void>
struct key_from_bits
{
  static_assert(std::is_integral_v<Key>, "specialise gpusort::testing::key_from_bits for this key type");
  using fraction = std::uint64_t;

  __host__ __device__ static constexpr Key make(fraction x)
  {
    using bits           = std::make_unsigned_t<Key>;
    constexpr int digits = 8 * sizeof(Key);
    constexpr bits flip  = std::is_signed_v<Key> ? static_cast<bits>(bits{1} << (digits - 1)) : bits{0};
    return static_cast<Key>(static_cast<bits>(static_cast<bits>(x >> (64 - digits)) ^ flip));
  }
};

template <>
struct key_from_bits<bool>
{
  using fraction = std::uint64_t;
  __host__ __device__ static constexpr bool make(fraction x)
  {
    return x >> 63 != 0;
  }
};

template <class Enum>
struct key_from_bits<Enum, std::enable_if_t<std::is_enum_v<Enum>>>
{
  using fraction = std::uint64_t;
  __host__ __device__ static constexpr Enum make(fraction x)
  {
    return static_cast<Enum>(key_from_bits<std::underlying_type_t<Enum>>::make(x));
  }
};

template <>
struct key_from_bits<unsigned __int128>
{
  using fraction = inputs::wide;
  __host__ __device__ static constexpr unsigned __int128 make(fraction x)
  {
    return x;
  }
};

template <>
struct key_from_bits<__int128>
{
  using fraction = inputs::wide;
  __host__ __device__ static constexpr __int128 make(fraction x)
  {
    return static_cast<__int128>(x ^ (inputs::wide{1} << 127));
  }
};

// Floats: all finite values of both signs, zeros included, each bit pattern as likely as any other under `uniform`.
template <>
struct key_from_bits<float>
{
  using fraction = std::uint64_t;
  __host__ __device__ static float make(fraction x)
  {
    std::uint32_t const bits = inputs::finite_float(x, std::uint32_t{0x7f800000});
    float key;
    memcpy(&key, &bits, sizeof(key));
    return key;
  }
};

template <>
struct key_from_bits<double>
{
  using fraction = std::uint64_t;
  __host__ __device__ static double make(fraction x)
  {
    std::uint64_t const bits = inputs::finite_float(x, std::uint64_t{0x7ff0000000000000});
    double key;
    memcpy(&key, &bits, sizeof(key));
    return key;
  }
};

template <>
struct key_from_bits<__half>
{
  using fraction = std::uint64_t;
  __host__ __device__ static __half make(fraction x)
  {
    __half_raw raw;
    raw.x = inputs::finite_float(x, std::uint16_t{0x7c00});
    return __half(raw);
  }
};

template <>
struct key_from_bits<__nv_bfloat16>
{
  using fraction = std::uint64_t;
  __host__ __device__ static __nv_bfloat16 make(fraction x)
  {
    __nv_bfloat16_raw raw;
    raw.x = inputs::finite_float(x, std::uint16_t{0x7f80});
    return __nv_bfloat16(raw);
  }
};

/// A number from 0 to less than 1, with as many bits as all that are at least a half have.
template <class Number>
__host__ __device__ Number unit_number(std::uint64_t random)
{
  constexpr int bits = sizeof(Number) == 4 ? 24 : 53;
  return static_cast<Number>(random >> (64 - bits)) / static_cast<Number>(std::uint64_t{1} << bits);
}

/// Element i of n keys of a distribution. Requires: i < n <= 2^50.
template <class Key>
__host__ __device__ Key element(distribution d, std::uint64_t seed, std::uint64_t i, std::uint64_t n)
{
  if constexpr (std::is_same_v<Key, float> || std::is_same_v<Key, double>)
  {
    if (d == distribution::unit || d == distribution::normal)
    {
      if (d == distribution::unit)
      {
        return unit_number<Key>(inputs::random<std::uint64_t>(seed, 0, i));
      }
      double sum = -6;
      for (unsigned k = 0; k < 12; ++k)
      {
        sum += unit_number<double>(inputs::random<std::uint64_t>(seed, k, i));
      }
      return static_cast<Key>(sum);
    }
  }
  using make = key_from_bits<Key>;
  return make::make(inputs::fraction<typename make::fraction>(d, seed, i, n));
}

/// Writes n keys of a distribution. Complexity: O(n), some nanoseconds a key.
template <class Key>
void generate(distribution d, std::uint64_t seed, Key* out, std::size_t n)
{
  for (std::size_t i = 0; i < n; ++i)
  {
    out[i] = element<Key>(d, seed, i, n);
  }
}

} // namespace gpusort::testing
