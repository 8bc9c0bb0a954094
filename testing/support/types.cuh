// The keys, values and orders that the contract suite is typed over, each with a name for the test's output.
#pragma once

#include <testing/support/inputs.h>
#include <testing/support/owned_memory.cuh>

#include <cuda/std/functional>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <thrust/functional.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <type_traits>
#include <vector>

namespace gpusort::testing
{

// Keys. A record carries its input position in a field that no order looks at, so that lost stability shows up in a
// comparison of bytes. No type has padding.

enum class level : std::int16_t
{
};

/// 12 bytes.
struct three_words
{
  std::uint32_t key;
  std::uint32_t position;
  std::uint32_t tail;

  friend __host__ __device__ bool operator<(three_words const& a, three_words const& b)
  {
    return a.key < b.key;
  }
  friend __host__ __device__ bool operator>(three_words const& a, three_words const& b)
  {
    return b < a;
  }
};

/// 64 bytes, which kernels hold in registers.
struct cache_line
{
  std::uint64_t key;
  std::uint64_t position;
  std::uint64_t tail[6];

  friend __host__ __device__ bool operator<(cache_line const& a, cache_line const& b)
  {
    return a.key < b.key;
  }
  friend __host__ __device__ bool operator>(cache_line const& a, cache_line const& b)
  {
    return b < a;
  }
};

/// Default-constructible, and every copy runs user code.
struct rich_key
{
  std::uint32_t key      = 0;
  std::uint32_t position = 0;

  rich_key() = default;
  __host__ __device__ rich_key(std::uint32_t k, std::uint32_t p)
      : key(k)
      , position(p)
  {}
  __host__ __device__ rich_key(rich_key const& other)
      : key(other.key)
      , position(other.position)
  {}
  __host__ __device__ rich_key& operator=(rich_key const& other)
  {
    key      = other.key;
    position = other.position;
    return *this;
  }

  friend __host__ __device__ bool operator<(rich_key const& a, rich_key const& b)
  {
    return a.key < b.key;
  }
  friend __host__ __device__ bool operator>(rich_key const& a, rich_key const& b)
  {
    return b < a;
  }
};
static_assert(!std::is_trivially_copyable_v<rich_key>);
static_assert(sizeof(three_words) == 12 && sizeof(cache_line) == 64 && sizeof(rich_key) == 8);

// Values.

struct no_value
{};

struct sixteen_bytes
{
  std::uint64_t low;
  std::uint64_t high;
};

/// Values in two arrays, passed to a call as a zip_iterator.
struct zip_of_two
{};

/// An array on the host. Not std::vector, which has no data() for bool.
template <class T>
class host_array
{
public:
  explicit host_array(std::size_t n)
      : data_(new T[n])
      , size_(n)
  {}
  host_array(host_array const& other)
      : host_array(other.size_)
  {
    std::memcpy(static_cast<void*>(data()), other.data(), size_ * sizeof(T));
  }
  host_array(host_array&&)            = default;
  host_array& operator=(host_array&&) = default;

  // clang-format off
  T* data() { return data_.get(); }
  T const* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  T const* begin() const { return data(); }
  T const* end() const { return data() + size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  T const& operator[](std::size_t i) const { return data_[i]; }
  // clang-format on

private:
  std::unique_ptr<T[]> data_;
  std::size_t size_;
};

/// n keys of a distribution.
template <class Key>
host_array<Key> keys_of(distribution d, std::size_t n, std::uint64_t seed = 1)
{
  host_array<Key> keys(n);
  if constexpr (std::is_same_v<Key, three_words> || std::is_same_v<Key, cache_line> || std::is_same_v<Key, rich_key>)
  {
    using field = decltype(Key::key);
    std::vector<field> fields(n);
    generate(d, seed, fields.data(), n);
    for (std::size_t i = 0; i < n; ++i)
    {
      Key key{};
      key.key      = fields[i];
      key.position = static_cast<field>(i);
      keys[i]      = key;
    }
  }
  else
  {
    generate(d, seed, keys.data(), n);
  }
  return keys;
}

/// The value that starts at position i: every position has its own.
template <class Value>
Value value_at(std::size_t i)
{
  if constexpr (std::is_same_v<Value, sixteen_bytes>)
  {
    return {static_cast<std::uint64_t>(i), ~static_cast<std::uint64_t>(i)};
  }
  else
  {
    return static_cast<Value>(i * 2654435761u); // an odd factor: distinct modulo every power of two
  }
}

/// A number from 0 to 511 that many keys share, so that orders by projection have ties to keep.
template <class Key>
__host__ __device__ unsigned projection(Key const& key)
{
  std::uint64_t bits = 0;
  if constexpr (std::is_same_v<Key, three_words> || std::is_same_v<Key, cache_line> || std::is_same_v<Key, rich_key>)
  {
    bits = key.key;
    return static_cast<unsigned>(bits ^ (bits >> 7)) & 511;
  }
  else
  {
    static_assert(std::is_trivially_copyable_v<Key>);
    // The leading bytes, where every distribution differs.
    constexpr std::size_t bytes = sizeof(Key) < 8 ? sizeof(Key) : 8;
    memcpy(&bits, reinterpret_cast<unsigned char const*>(&key) + (sizeof(Key) - bytes), bytes);
    return static_cast<unsigned>(sizeof(Key) == 1 ? bits & 63 : bits >> (8 * bytes - 9));
  }
}

template <class Key>
__host__ __device__ bool projection_less(Key const& a, Key const& b)
{
  return projection(a) < projection(b);
}

/// Descending by projection.
struct reverse_of_projection
{
  template <class Key>
  __host__ __device__ bool operator()(Key const& a, Key const& b) const
  {
    return projection(b) < projection(a);
  }
};

/// A comparator that may only be called when it is not const.
struct counting_less
{
  unsigned calls = 0;

  template <class Key>
  __host__ __device__ bool operator()(Key const& a, Key const& b)
  {
    ++calls;
    return projection(a) < projection(b);
  }
};

template <class Key>
using compare_pointer = bool (*)(Key const&, Key const&);

template <class Key>
__global__ void take_address_of_projection_less(compare_pointer<Key>* out)
{
  *out = &projection_less<Key>;
}

/// The address that `projection_less<Key>` has on the device.
template <class Key>
compare_pointer<Key> projection_less_on_device()
{
  device_variable<compare_pointer<Key>> const address(nullptr);
  take_address_of_projection_less<Key><<<1, 1>>>(address.get());
  require(cudaGetLastError(), "fetching a function pointer");
  return address.read();
}

// Orders. `with<Key>(f)` calls f(ours, thrusts, hosts): the comparator given to gpusort on the GPU, to Thrust on the GPU
// and to the oracle. They differ where a comparator cannot be called on one side.

// clang-format off
struct thrust_less
{
  static constexpr char const* name = "thrust_less";
  template <class Key, class F> static void with(F f) { f(thrust::less<Key>{}, thrust::less<Key>{}, thrust::less<Key>{}); }
};
struct thrust_greater
{
  static constexpr char const* name = "thrust_greater";
  template <class Key, class F> static void with(F f) { f(thrust::greater<Key>{}, thrust::greater<Key>{}, thrust::greater<Key>{}); }
};
struct cuda_std_less
{
  static constexpr char const* name = "cuda_std_less_void";
  template <class Key, class F> static void with(F f) { f(cuda::std::less<>{}, cuda::std::less<Key>{}, cuda::std::less<>{}); }
};
struct cuda_std_greater
{
  static constexpr char const* name = "cuda_std_greater_void";
  template <class Key, class F> static void with(F f) { f(cuda::std::greater<>{}, cuda::std::greater<Key>{}, cuda::std::greater<>{}); }
};
// Thrust cannot call the comparators of the C++ library in device code.
struct std_less
{
  static constexpr char const* name = "std_less";
  template <class Key, class F> static void with(F f) { f(std::less<Key>{}, thrust::less<Key>{}, std::less<Key>{}); }
};
struct std_greater
{
  static constexpr char const* name = "std_greater";
  template <class Key, class F> static void with(F f) { f(std::greater<Key>{}, thrust::greater<Key>{}, std::greater<Key>{}); }
};
struct function_object
{
  static constexpr char const* name = "non_const_function_object";
  template <class Key, class F> static void with(F f) { f(counting_less{}, counting_less{}, counting_less{}); }
};
struct reverse_projection
{
  static constexpr char const* name = "reverse_of_projection";
  template <class Key, class F> static void with(F f) { f(reverse_of_projection{}, reverse_of_projection{}, reverse_of_projection{}); }
};
// clang-format on
struct function_pointer
{
  static constexpr char const* name = "function_pointer";
  template <class Key, class F>
  static void with(F f)
  {
    compare_pointer<Key> const on_device = projection_less_on_device<Key>();
    f(on_device, on_device, &projection_less<Key>);
  }
};
struct lambda
{
  static constexpr char const* name = "lambda";
  template <class Key, class F>
  static void with(F f)
  {
    unsigned const mask = 0x155;
    auto const order    = [mask]
      __host__ __device__(Key const& a, Key const& b) { return (projection(a) ^ mask) < (projection(b) ^ mask); };
    f(order, order, order);
  }
};

// Names, as they appear in the tests' output.

// clang-format off
template <class T> struct name_of_type;
template <> struct name_of_type<std::uint8_t>      { static constexpr char const* value = "u8"; };
template <> struct name_of_type<std::int8_t>       { static constexpr char const* value = "i8"; };
template <> struct name_of_type<std::uint16_t>     { static constexpr char const* value = "u16"; };
template <> struct name_of_type<std::int16_t>      { static constexpr char const* value = "i16"; };
template <> struct name_of_type<std::uint32_t>     { static constexpr char const* value = "u32"; };
template <> struct name_of_type<std::int32_t>      { static constexpr char const* value = "i32"; };
template <> struct name_of_type<std::uint64_t>     { static constexpr char const* value = "u64"; };
template <> struct name_of_type<std::int64_t>      { static constexpr char const* value = "i64"; };
template <> struct name_of_type<unsigned __int128> { static constexpr char const* value = "u128"; };
template <> struct name_of_type<__int128>          { static constexpr char const* value = "i128"; };
template <> struct name_of_type<float>             { static constexpr char const* value = "f32"; };
template <> struct name_of_type<double>            { static constexpr char const* value = "f64"; };
template <> struct name_of_type<__half>            { static constexpr char const* value = "f16"; };
template <> struct name_of_type<__nv_bfloat16>     { static constexpr char const* value = "bf16"; };
template <> struct name_of_type<bool>              { static constexpr char const* value = "bool"; };
template <> struct name_of_type<level>             { static constexpr char const* value = "enum"; };
template <> struct name_of_type<three_words>       { static constexpr char const* value = "struct12"; };
template <> struct name_of_type<cache_line>        { static constexpr char const* value = "struct64"; };
template <> struct name_of_type<rich_key>          { static constexpr char const* value = "rich"; };
template <> struct name_of_type<no_value>          { static constexpr char const* value = "keys_alone"; };
template <> struct name_of_type<sixteen_bytes>     { static constexpr char const* value = "16_bytes"; };
template <> struct name_of_type<zip_of_two>        { static constexpr char const* value = "zip"; };
// clang-format on

} // namespace gpusort::testing
