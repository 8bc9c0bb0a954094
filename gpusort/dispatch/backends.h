// Which room sorts for which tag. A tag defined outside the library does the same for itself.
#pragma once

#include <gpusort/algorithm.h>
#include <gpusort/dispatch/elements.h>
#include <gpusort/dispatch/selection.h>
#include <gpusort/dispatch/stable_host_sort.h>
#include <gpusort/dispatch/system.h>
#include <gpusort/hybrid/sequential.h>
#include <gpusort/merge/sequential.h>
#include <gpusort/quicksort/sequential.h>
#include <gpusort/radix/fields.h>
#include <gpusort/radix/sequential.h>
#include <gpusort/radix/tuning.h>

#include <nv/target>

#include <cstddef>
#include <type_traits>

#if defined(__CUDACC__)
#  include <gpusort/hybrid/device.cuh>
#  include <gpusort/merge/device.cuh>
#  include <gpusort/quicksort/device.cuh>
#  include <gpusort/radix/device.cuh>
#  include <gpusort/radix/fields.cuh>
#endif

namespace gpusort
{

// Each says as well how much it takes from a policy that brings its own memory.

template <>
struct sequential_backend<quicksort_t>
{
  template <class Element, class Key, class Compare>
  static std::size_t scratch_bytes(std::size_t)
  {
    return 0;
  }

  template <class Policy, class Iterator, class KeyOf, class Compare>
  __host__ __device__ static void sort(Policy& policy, Iterator first, Iterator last, KeyOf key_of, Compare comp)
  {
    quick::sequential_sort(policy, first, last, key_of, comp);
  }
};

template <>
struct sequential_backend<hybrid_sort_t>
{
  template <class Element, class Key, class Compare>
  static std::size_t scratch_bytes(std::size_t n)
  {
    return hybrid::sequential_bytes<Element>(n);
  }

  template <class Policy, class Iterator, class KeyOf, class Compare>
  __host__ __device__ static void sort(Policy& policy, Iterator first, Iterator last, KeyOf key_of, Compare comp)
  {
    hybrid::sequential_sort<dispatch::has_own_memory_v<Policy>>(policy, first, last, key_of, comp);
  }
};

template <>
struct sequential_backend<merge_sort_t>
{
  template <class Element, class Key, class Compare>
  static std::size_t scratch_bytes(std::size_t n)
  {
    return merge::sequential_bytes<Element>(n);
  }

  template <class Policy, class Iterator, class KeyOf, class Compare>
  __host__ __device__ static void sort(Policy& policy, Iterator first, Iterator last, KeyOf key_of, Compare comp)
  {
    merge::sequential_sort<dispatch::has_own_memory_v<Policy>>(policy, first, last, key_of, comp);
  }
};

template <>
struct sequential_backend<radix_sort_t>
{
  template <class Element, class Key, class Compare>
  static std::size_t scratch_bytes(std::size_t n)
  {
    return radix::sequential_bytes<Element, Key, Compare>(n);
  }

  template <class Policy, class Iterator, class KeyOf, class Compare>
  __host__ __device__ static void sort(Policy& policy, Iterator first, Iterator last, KeyOf key_of, Compare comp)
  {
    radix::sequential_sort<dispatch::has_own_memory_v<Policy>>(policy, first, last, key_of, comp);
  }
};

// On the host the C++ library's stable sort, which every other algorithm is tested against. It has no form for device
// code and cannot be told where its memory comes from: there the merge sort, equally stable, stands in.
template <>
struct sequential_backend<automatic_t>
{
  template <class Element, class Key, class Compare>
  static std::size_t scratch_bytes(std::size_t n)
  {
    return sequential_backend<merge_sort_t>::scratch_bytes<Element, Key, Compare>(n);
  }

  template <class Policy, class Iterator, class KeyOf, class Compare>
  __host__ __device__ static void sort(Policy& policy, Iterator first, Iterator last, KeyOf key_of, Compare comp)
  {
    if constexpr (dispatch::has_own_memory_v<Policy>)
    {
      sequential_backend<merge_sort_t>::sort(policy, first, last, key_of, comp);
    }
    else
    {
      NV_IF_TARGET(NV_IS_HOST,
                   (dispatch::stable_host_sort(first, last, key_of, comp);),
                   (sequential_backend<merge_sort_t>::sort(policy, first, last, key_of, comp);));
    }
  }
};

#if defined(__CUDACC__)
template <>
struct device_backend<hybrid_sort_t> : hybrid::device
{};

template <>
struct device_backend<quicksort_t> : quick::device
{};

template <>
struct device_backend<merge_sort_t> : merge::device
{};

// Numbers are sorted by their own bits, everything else by its image.
template <>
struct device_backend<radix_sort_t>
{
  template <class Key, class Compare>
  using form = std::conditional_t<radix::has_key_order_v<Key, Compare>, radix::device, radix::device_by_fields>;

  template <class Key, class Value, class Compare>
  static std::size_t scratch_bytes(std::size_t n)
  {
    return form<Key, Compare>::template scratch_bytes<Key, Value, Compare>(n);
  }

  template <class Key, class Value, class Compare>
  static void sort(cudaStream_t stream, void* scratch, Key* keys, Value* values, std::size_t n, Compare comp)
  {
    form<Key, Compare>::template sort<Key, Value, Compare>(stream, scratch, keys, values, n, comp);
  }
};
#endif

namespace dispatch
{

/// Whether the back end of Algorithm moves the keys themselves; otherwise they are sorted by index.
template <class Algorithm, class Key, class Value, class Compare>
inline constexpr bool moves_keys_v = sorts_directly_v<Key>;

template <class Key, class Value, class Compare>
inline constexpr bool moves_keys_v<radix_sort_t, Key, Value, Compare> =
  radix::has_key_order_v<Key, Compare>
  || (std::is_same_v<Value, no_value> && is_bitwise_movable<Key>::value
      && radix::moves_key_with_image(sizeof(Key), radix::image_of<Key, Compare>::bits));

} // namespace dispatch

} // namespace gpusort
