// The keys, values and comparators that are measured, and the names they have on the command line.
#pragma once

#include <benchmarks/options.h>
#include <gpusort/algorithm.h>
#include <gpusort/expensive.h>
#include <gpusort/order.h>
#include <testing/support/inputs.h>

#include <cuda/std/tuple>
#include <thrust/functional.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::benchmarks
{

using u8   = std::uint8_t;
using u16  = std::uint16_t;
using u32  = std::uint32_t;
using u64  = std::uint64_t;
using i64  = std::int64_t;
using u128 = unsigned __int128;
using f32  = float;
using f64  = double;

/// A key with cargo: ordered by its first field.
template <int Words>
struct record
{
  u64 key;
  u64 cargo[Words - 1];
};
using r16  = record<2>;
using r32  = record<4>;
using r64  = record<8>;
using r96  = record<12>;
using r256 = record<32>;

/// A key of two fields.
struct two_words
{
  u32 high;
  u32 low;
};

/// A value of 16 bytes.
struct b16
{
  u64 index;
  u64 complement;
};

template <class T>
constexpr char const* name_of_type()
{
  // clang-format off
  if (std::is_same_v<T, u8>) return "u8";
  if (std::is_same_v<T, u16>) return "u16";
  if (std::is_same_v<T, u32>) return "u32";
  if (std::is_same_v<T, u64>) return "u64";
  if (std::is_same_v<T, i64>) return "i64";
  if (std::is_same_v<T, u128>) return "u128";
  if (std::is_same_v<T, f32>) return "f32";
  if (std::is_same_v<T, f64>) return "f64";
  if (std::is_same_v<T, r16>) return "r16";
  if (std::is_same_v<T, r32>) return "r32";
  if (std::is_same_v<T, r64>) return "r64";
  if (std::is_same_v<T, r96>) return "r96";
  if (std::is_same_v<T, r256>) return "r256";
  if (std::is_same_v<T, two_words>) return "2xu32";
  if (std::is_same_v<T, b16>) return "16B";
  if (std::is_same_v<T, no_value>) return "none";
  // clang-format on
  return "";
}

constexpr char const* name_of(order o)
{
  // clang-format off
  switch (o)
  {
    case order::less: return "less";
    case order::greater: return "greater";
    case order::fields: return "fields";
    case order::custom: return "custom";
    case order::scrambled: return "scrambled";
    case order::slow: return "slow";
    default: return "expensive";
  }
  // clang-format on
}

/// Ascending, but not a type that a library could know.
struct by_first_field
{
  template <class Key>
  __host__ __device__ bool operator()(Key const& a, Key const& b) const
  {
    return a < b;
  }
  template <int Words>
  __host__ __device__ bool operator()(record<Words> const& a, record<Words> const& b) const
  {
    return a.key < b.key;
  }
};

/// By keys times an odd number, of which none is lost.
struct by_product
{
  template <class Key>
  __host__ __device__ bool operator()(Key const& a, Key const& b) const
  {
    constexpr auto factor = static_cast<Key>(0x9e3779b97f4a7c15u);
    return a * factor < b * factor;
  }
  template <int Words>
  __host__ __device__ bool operator()(record<Words> const& a, record<Words> const& b) const
  {
    return (*this)(a.key, b.key);
  }
};

/// By an integer that takes long to compute from a key, of which no two have the same.
struct by_long_computation
{
  static constexpr int steps = 300;

  __host__ __device__ static u32 computed(u32 key)
  {
    for (int i = 0; i < steps; ++i)
    {
      key = (key ^ key >> 15) * 0x9e3779b1u;
    }
    return key;
  }
  __host__ __device__ bool operator()(u32 a, u32 b) const
  {
    return computed(a) < computed(b);
  }
};

template <int Words>
auto by_fields_of(record<Words> const*)
{
  return gpusort::by(&record<Words>::key);
}
inline auto by_fields_of(two_words const*)
{
  return gpusort::by(&two_words::high, &two_words::low);
}

/// The comparator of an order.
template <order Order, class Key>
auto comparator()
{
  if constexpr (Order == order::less)
  {
    return thrust::less<Key>{};
  }
  else if constexpr (Order == order::greater)
  {
    return thrust::greater<Key>{};
  }
  else if constexpr (Order == order::fields)
  {
    return by_fields_of(static_cast<Key const*>(nullptr));
  }
  else if constexpr (Order == order::custom)
  {
    return by_first_field{};
  }
  else if constexpr (Order == order::scrambled)
  {
    return by_product{};
  }
  else if constexpr (Order == order::slow)
  {
    return by_long_computation{};
  }
  else
  {
    return gpusort::expensive(by_long_computation{});
  }
}

/// The fields of a key, as CUB's radix sort wants them for those that are no numbers.
struct fields_for_cub
{
  template <int Words>
  __host__ __device__ ::cuda::std::tuple<u64&> operator()(record<Words>& r) const
  {
    return {r.key};
  }
  __host__ __device__ ::cuda::std::tuple<u32&, u32&> operator()(two_words& key) const
  {
    return {key.high, key.low};
  }
};

template <class Value>
inline constexpr bool has_value_v = !std::is_same_v<Value, no_value>;

template <class Value>
inline constexpr std::size_t value_bytes_v = has_value_v<Value> ? sizeof(Value) : 0;

/// The value that goes with the key at index i. It names i, so that every pair can be checked after the sort.
template <class Value>
__device__ Value value_at(u64 i)
{
  if constexpr (std::is_same_v<Value, b16>)
  {
    return {i, ~i};
  }
  else
  {
    return static_cast<Value>(i);
  }
}

/// The index that a value names; one that is out of any range if the value is broken.
template <class Value>
__device__ u64 index_of(Value const& value)
{
  if constexpr (std::is_same_v<Value, b16>)
  {
    return value.complement == ~value.index ? value.index : ~u64{0};
  }
  else
  {
    return value;
  }
}

} // namespace gpusort::benchmarks

namespace gpusort::testing
{

template <int Words>
struct key_from_bits<benchmarks::record<Words>>
{
  using fraction = std::uint64_t;
  __host__ __device__ static benchmarks::record<Words> make(fraction x)
  {
    benchmarks::record<Words> r;
    r.key = x;
    for (int i = 0; i < Words - 1; ++i)
    {
      r.cargo[i] = inputs::mix(x + i);
    }
    return r;
  }
};

template <>
struct key_from_bits<benchmarks::two_words>
{
  using fraction = std::uint64_t;
  __host__ __device__ static benchmarks::two_words make(fraction x)
  {
    return {static_cast<std::uint32_t>(x >> 32), static_cast<std::uint32_t>(x)};
  }
};

} // namespace gpusort::testing
