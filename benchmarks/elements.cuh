// The keys, values and comparators that are measured, and the names they have on the command line.
#pragma once

#include <benchmarks/options.h>
#include <gpusort/algorithm.h>
#include <testing/support/inputs.h>

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
using r16 = record<2>;
using r64 = record<8>;

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
  if (std::is_same_v<T, u128>) return "u128";
  if (std::is_same_v<T, f32>) return "f32";
  if (std::is_same_v<T, f64>) return "f64";
  if (std::is_same_v<T, r16>) return "r16";
  if (std::is_same_v<T, r64>) return "r64";
  if (std::is_same_v<T, b16>) return "16B";
  if (std::is_same_v<T, no_value>) return "none";
  // clang-format on
  return "";
}

constexpr char const* name_of(order o)
{
  return o == order::less ? "less" : o == order::greater ? "greater" : o == order::custom ? "custom" : "scrambled";
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

template <order Order, class Key>
struct comparator_of
{
  using type = by_first_field;
};
template <class Key>
struct comparator_of<order::less, Key>
{
  using type = thrust::less<Key>;
};
template <class Key>
struct comparator_of<order::greater, Key>
{
  using type = thrust::greater<Key>;
};
template <class Key>
struct comparator_of<order::scrambled, Key>
{
  using type = by_product;
};
template <order Order, class Key>
using comparator_t = typename comparator_of<Order, Key>::type;

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

} // namespace gpusort::testing
