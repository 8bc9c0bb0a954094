// Who is measured: this library by tag, Thrust, and CUB.
#pragma once

#include <benchmarks/device.cuh>
#include <benchmarks/elements.cuh>
#include <benchmarks/input.cuh>
#include <gpusort/sort.h>
#include <gpusort/workspace.h>

#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <thrust/execution_policy.h>
#include <thrust/sort.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

namespace gpusort::benchmarks
{

/// One way to sort. Memory that it says it needs is allocated once, outside the time that is taken.
template <class Key, class Value>
struct contender
{
  using input_arrays = arrays<Key, Value>;

  std::string name;
  clock_kind clock;
  bool is_stable;
  std::function<std::size_t(input_arrays)> scratch_bytes;
  std::function<input_arrays(input_arrays, device_memory const& scratch)> sort; // returns where the result is
};

/// gpusort::sort or sort_by_key under whatever stands where a policy does.
template <class Key, class Value, class Compare, class Policy>
void sort_with_gpusort(Policy const& policy, arrays<Key, Value> a, Compare comp)
{
  if constexpr (has_value_v<Value>)
  {
    gpusort::sort_by_key(policy, a.keys, a.keys + a.n, a.values, comp);
  }
  else
  {
    gpusort::sort(policy, a.keys, a.keys + a.n, comp);
  }
}

/// An algorithm of this library through the public call, asynchronous, with its memory given beforehand.
template <class Key, class Value, class Compare, class Tag>
contender<Key, Value> tagged(std::string name, Tag tag, Compare comp)
{
  auto const scratch_bytes = [tag, comp](arrays<Key, Value> a) -> std::size_t {
    auto const policy = tag(thrust::cuda::par_nosync);
    if constexpr (has_value_v<Value>)
    {
      return gpusort::workspace_bytes_by_key(policy, a.keys, a.keys + a.n, a.values, comp);
    }
    else
    {
      return gpusort::workspace_bytes(policy, a.keys, a.keys + a.n, comp);
    }
  };
  auto const sort = [tag, comp](arrays<Key, Value> a, device_memory const& scratch) {
    gpusort::workspace ws{scratch.data(), scratch.bytes()};
    sort_with_gpusort(tag(thrust::cuda::par_nosync(ws).on(stream())), a, comp);
    return a;
  };
  return {name, clock_kind::events, is_stable_v<Tag>, scratch_bytes, sort};
}

template <class Key, class Value>
std::size_t no_scratch(arrays<Key, Value>)
{
  return 0;
}

/// This library under the policy that most code uses, which waits and finds its own memory.
template <class Key, class Value, class Compare>
contender<Key, Value> plain(Compare comp)
{
  auto const sort = [comp](arrays<Key, Value> a, device_memory const&) {
    sort_with_gpusort(thrust::device, a, comp);
    return a;
  };
  return {"plain", clock_kind::host, true, no_scratch<Key, Value>, sort};
}

/// Thrust under the same policy. Its sort is its stable sort; both are here because both are called.
template <class Key, class Value, class Compare>
contender<Key, Value> with_thrust(bool stable, Compare comp)
{
  auto const sort = [stable, comp](arrays<Key, Value> a, device_memory const&) {
    Key* const end = a.keys + a.n;
    if constexpr (has_value_v<Value>)
    {
      if (stable)
      {
        thrust::stable_sort_by_key(thrust::device, a.keys, end, a.values, comp);
      }
      else
      {
        thrust::sort_by_key(thrust::device, a.keys, end, a.values, comp);
      }
    }
    else if (stable)
    {
      thrust::stable_sort(thrust::device, a.keys, end, comp);
    }
    else
    {
      thrust::sort(thrust::device, a.keys, end, comp);
    }
    return a;
  };
  return {stable ? "thrust_stable" : "thrust", clock_kind::host, stable, no_scratch<Key, Value>, sort};
}

/// cub::DeviceRadixSort over its double buffers. Scratch memory: second keys, second values, CUB's own.
/// The result stays in whichever buffer the last pass wrote.
template <class Key, class Value, order Order>
struct cub_radix
{
  static_assert(Order == order::less || Order == order::greater || (Order == order::fields && !has_value_v<Value>) );

  // A signed 64-bit count is what Thrust passes: the kernels are shared with it.
  using count = std::ptrdiff_t;

  static std::size_t second_bytes(std::size_t n, std::size_t size)
  {
    return (n * size + 255) / 256 * 256;
  }

  static cudaError_t
  call(void* temp, std::size_t& bytes, cub::DoubleBuffer<Key>& k, cub::DoubleBuffer<Value>& v, count n)
  {
    [[maybe_unused]] constexpr int end_bit = 8 * sizeof(Key);
    using cub_sort                         = cub::DeviceRadixSort;
    if constexpr (Order == order::fields)
    {
      return cub_sort::SortKeys(temp, bytes, k, n, fields_for_cub{}, stream());
    }
    else if constexpr (has_value_v<Value> && Order == order::less)
    {
      return cub_sort::SortPairs(temp, bytes, k, v, n, 0, end_bit, stream());
    }
    else if constexpr (has_value_v<Value>)
    {
      return cub_sort::SortPairsDescending(temp, bytes, k, v, n, 0, end_bit, stream());
    }
    else if constexpr (Order == order::less)
    {
      return cub_sort::SortKeys(temp, bytes, k, n, 0, end_bit, stream());
    }
    else
    {
      return cub_sort::SortKeysDescending(temp, bytes, k, n, 0, end_bit, stream());
    }
  }

  static std::size_t scratch_bytes(arrays<Key, Value> a)
  {
    cub::DoubleBuffer<Key> k(a.keys, a.keys);
    cub::DoubleBuffer<Value> v(a.values, a.values);
    std::size_t bytes = 0;
    check(call(nullptr, bytes, k, v, static_cast<count>(a.n)), "cub::DeviceRadixSort, size of scratch");
    return bytes + second_bytes(a.n, sizeof(Key)) + second_bytes(a.n, value_bytes_v<Value>);
  }

  static arrays<Key, Value> sort(arrays<Key, Value> a, device_memory const& scratch)
  {
    char* const second_keys   = scratch.as<char>();
    char* const second_values = second_keys + second_bytes(a.n, sizeof(Key));
    char* const temp          = second_values + second_bytes(a.n, value_bytes_v<Value>);
    std::size_t bytes         = scratch.bytes() - static_cast<std::size_t>(temp - second_keys);

    cub::DoubleBuffer<Key> k(a.keys, reinterpret_cast<Key*>(second_keys));
    cub::DoubleBuffer<Value> v(a.values, has_value_v<Value> ? reinterpret_cast<Value*>(second_values) : nullptr);
    check(call(temp, bytes, k, v, static_cast<count>(a.n)), "cub::DeviceRadixSort");
    return {k.Current(), has_value_v<Value> ? v.Current() : nullptr, a.n};
  }

  static contender<Key, Value> contend()
  {
    return {"cub_radix", clock_kind::events, true, scratch_bytes, sort};
  }
};

/// cub::DeviceMergeSort, in place, with 32-bit counts: what Thrust takes for as many elements as can be measured here.
template <class Key, class Value, class Compare>
struct cub_merge
{
  static cudaError_t call(void* temp, std::size_t& bytes, arrays<Key, Value> a, Compare comp)
  {
    if (a.n > std::numeric_limits<std::uint32_t>::max())
    {
      throw not_measured("cub_merge is measured up to 2^32 - 1 elements");
    }
    auto const n = static_cast<std::uint32_t>(a.n);
    if constexpr (has_value_v<Value>)
    {
      return cub::DeviceMergeSort::SortPairs(temp, bytes, a.keys, a.values, n, comp, stream());
    }
    else
    {
      return cub::DeviceMergeSort::SortKeys(temp, bytes, a.keys, n, comp, stream());
    }
  }

  static contender<Key, Value> contend(Compare comp)
  {
    auto const scratch_bytes = [comp](arrays<Key, Value> a) {
      std::size_t bytes = 0;
      check(call(nullptr, bytes, a, comp), "cub::DeviceMergeSort, size of scratch");
      return bytes;
    };
    auto const sort = [comp](arrays<Key, Value> a, device_memory const& scratch) {
      std::size_t bytes = scratch.bytes();
      check(call(scratch.data(), bytes, a, comp), "cub::DeviceMergeSort");
      return a;
    };
    return {"cub_merge", clock_kind::events, false, scratch_bytes, sort};
  }
};

/// Whether an algorithm of this library runs on the GPU for these keys.
template <class Tag, class Key, class Compare>
constexpr bool runs_on_device()
{
  if constexpr (supports_v<Tag, Key, Compare>)
  {
    return std::is_same_v<Tag, automatic_t> || !std::is_base_of_v<gpusort::detail::no_backend, device_backend<Tag>>;
  }
  return false;
}

template <class Key, class Value, class Compare, class Tag>
void add_tagged(std::vector<contender<Key, Value>>& all, std::string name, Tag tag, Compare comp)
{
  if constexpr (runs_on_device<Tag, Key, Compare>())
  {
    all.push_back(tagged<Key, Value>(name, tag, comp));
  }
}

/// Everybody who can sort these keys in this order.
template <class Key, class Value, order Order>
std::vector<contender<Key, Value>> contenders()
{
  auto const comp = comparator<Order, Key>();

  std::vector<contender<Key, Value>> all;
  add_tagged<Key, Value>(all, "automatic", automatic, comp);
  add_tagged<Key, Value>(all, "radix", radix_sort, comp);
  add_tagged<Key, Value>(all, "merge", merge_sort, comp);
  add_tagged<Key, Value>(all, "quicksort", quicksort, comp);
  add_tagged<Key, Value>(all, "hybrid", hybrid_sort, comp);
  all.push_back(plain<Key, Value>(comp));
  all.push_back(with_thrust<Key, Value>(false, comp));
  all.push_back(with_thrust<Key, Value>(true, comp));
  if constexpr (Order == order::less || Order == order::greater || Order == order::fields)
  {
    all.push_back(cub_radix<Key, Value, Order>::contend());
  }
  all.push_back(cub_merge<Key, Value, decltype(comparator<Order, Key>())>::contend(comp));
  return all;
}

} // namespace gpusort::benchmarks
