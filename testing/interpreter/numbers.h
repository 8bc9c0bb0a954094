// C++ types for those of PTX.
#pragma once

#include "semantics.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace gpusort::interpreter
{

/// Half precision. Arithmetic is that of float, rounded to the nearest; its results are those of the device, since a float has more
/// than twice the digits.
struct half
{
  std::uint16_t bits = 0;

  half() = default;
  half(float x)
      : bits(rounded(x))
  {}
  operator float() const
  {
    std::uint32_t const sign     = (bits & 0x8000u) << 16;
    std::uint32_t const exponent = bits >> 10 & 31;
    std::uint32_t const fraction = bits & 1023u;
    if (exponent == 0)
    {
      float const magnitude = std::ldexp(static_cast<float>(fraction), -24);
      return sign != 0 ? -magnitude : magnitude;
    }
    std::uint32_t const wide = exponent == 31 ? 255 : exponent + (127 - 15);
    std::uint32_t const word = sign | wide << 23 | fraction << 13;
    float result             = 0;
    std::memcpy(&result, &word, sizeof result);
    return result;
  }

private:
  static std::uint16_t rounded(float x)
  {
    std::uint32_t word = 0;
    std::memcpy(&word, &x, sizeof word);
    std::uint32_t const sign      = word >> 16 & 0x8000;
    std::uint32_t const magnitude = word & 0x7FFFFFFF;
    if (magnitude > 0x7F800000)
    {
      return 0x7FFF; // the only NaN that the device makes
    }
    if (magnitude >= 0x47800000) // 2^16; a little less is rounded up to the bits of infinity
    {
      return static_cast<std::uint16_t>(sign | 0x7C00);
    }
    if (magnitude < 0x38800000) // 2^-14: multiples of 2^-24
    {
      return static_cast<std::uint16_t>(
        sign | static_cast<std::uint32_t>(std::nearbyint(std::ldexp(std::fabs(x), 24))));
    }
    std::uint32_t const to_even = magnitude + 0xFFF + (magnitude >> 13 & 1);
    return static_cast<std::uint16_t>(sign | (to_even - (std::uint32_t{127 - 15} << 23)) >> 13);
  }
};

/// The upper half of a float.
struct bfloat
{
  std::uint16_t bits = 0;

  bfloat() = default;
  bfloat(float x)
  {
    std::uint32_t word = 0;
    std::memcpy(&word, &x, sizeof word);
    bits = x != x ? 0x7FFF : static_cast<std::uint16_t>((word + 0x7FFF + (word >> 16 & 1)) >> 16);
  }
  operator float() const
  {
    std::uint32_t const word = std::uint32_t{bits} << 16;
    float result             = 0;
    std::memcpy(&result, &word, sizeof result);
    return result;
  }
};

/// Two numbers in a word.
template <class T>
struct pair_of
{
  T low, high;
};

template <class T>
constexpr bool is_half = std::is_same_v<T, half> || std::is_same_v<T, bfloat>;

template <class T>
constexpr bool is_floating = std::is_floating_point_v<T> || is_half<T>;

template <class T>
struct of
{
  using type = T;
};

template <class Tag>
using type_in = typename Tag::type;

// `make` is called with the tag of the C++ type that a type of PTX means, and returns the handler; other types have none.

template <class Make>
handler for_words(type t, Make make)
{
  switch (t)
  {
    case type::u32:
      return make(of<std::uint32_t>{});
    case type::s32:
      return make(of<std::int32_t>{});
    case type::u64:
      return make(of<std::uint64_t>{});
    case type::s64:
      return make(of<std::int64_t>{});
    default:
      return nullptr;
  }
}

template <class Make>
handler for_integers(type t, Make make)
{
  switch (t)
  {
    case type::u16:
      return make(of<std::uint16_t>{});
    case type::s16:
      return make(of<std::int16_t>{});
    default:
      return for_words(t, make);
  }
}

template <class Make>
handler for_integers_and_bytes(type t, Make make)
{
  switch (t)
  {
    case type::u8:
      return make(of<std::uint8_t>{});
    case type::s8:
      return make(of<std::int8_t>{});
    default:
      return for_integers(t, make);
  }
}

/// Those whose arithmetic the device has in full.
template <class Make>
handler for_wide_floats(type t, Make make)
{
  switch (t)
  {
    case type::f32:
      return make(of<float>{});
    case type::f64:
      return make(of<double>{});
    default:
      return nullptr;
  }
}

template <class Make>
handler for_floats(type t, Make make)
{
  switch (t)
  {
    case type::f16:
      return make(of<half>{});
    case type::bf16:
      return make(of<bfloat>{});
    default:
      return for_wide_floats(t, make);
  }
}

template <class Make>
handler for_numbers(type t, Make make)
{
  return is_float(t) ? for_floats(t, make) : for_integers(t, make);
}

/// By the width of a register and not by a type.
template <class Make>
handler for_width(int width, Make make)
{
  switch (width)
  {
    case 16:
      return make(of<std::uint16_t>{});
    case 32:
      return make(of<std::uint32_t>{});
    case 64:
      return make(of<std::uint64_t>{});
    default:
      return nullptr;
  }
}

} // namespace gpusort::interpreter
