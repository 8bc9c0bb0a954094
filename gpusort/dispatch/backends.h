// Which room sorts for which tag. A tag defined outside the library does the same for itself.
#pragma once

#include <gpusort/algorithm.h>
#include <gpusort/dispatch/elements.h>
#include <gpusort/dispatch/selection.h>
#include <gpusort/dispatch/stable_host_sort.h>
#include <gpusort/dispatch/system.h>
#include <gpusort/expensive.h>
#include <gpusort/hybrid/sequential.h>
#include <gpusort/merge/sequential.h>
#include <gpusort/quicksort/sequential.h>
#include <gpusort/radix/fields.h>
#include <gpusort/radix/sequential.h>
#include <gpusort/radix/tuning.h>

#include <cuda/std/detail/__config>
#include <nv/target>

#include <cstddef>
#include <type_traits>
#include <utility>

#if defined(__CUDACC__)
#  include <gpusort/hybrid/device.cuh>
#  include <gpusort/hybrid/uneven_keys.cuh>
#  include <gpusort/merge/device.cuh>
#  include <gpusort/merge/few_comparisons.cuh>
#  include <gpusort/quicksort/device.cuh>
#  include <gpusort/radix/device.cuh>
#  include <gpusort/radix/fields.cuh>
#endif

namespace gpusort
{

namespace dispatch
{

/// Whether `automatic` sorts many elements by radix sort on the host: if they may be copied, and their keys have few digits.
template <class Element, class Key, class Compare>
inline constexpr bool has_host_radix_v =
  std::is_copy_constructible_v<Element> && radix::has_image_v<Key, Compare> && radix::digits_v<Key, Compare> <= 8;

/// How many those are. Measured with g++ 12 on an EPYC, ns a key by radix sort and by the C++ library's stable sort: u8 n = 16 16
/// and 15, 32 9 and 19; u32 64 23 and 22, 128 20 and 26, 2^20 15 and 78; u64 128 42 and 30, 512 20 and 39, 2^20 38 and 78.
template <class Key, class Compare>
inline constexpr std::size_t least_for_host_radix = std::size_t{32} * radix::digits_v<Key, Compare>;

} // namespace dispatch

// Each says as well how much it takes from a policy that brings its own memory.

template <>
struct sequential_backend<quicksort_t>
{
  template <class Element, class Key, class Compare>
  static std::size_t scratch_bytes(std::size_t)
  {
    return 0;
  }

  _CCCL_EXEC_CHECK_DISABLE
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

  _CCCL_EXEC_CHECK_DISABLE
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

  _CCCL_EXEC_CHECK_DISABLE
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

  _CCCL_EXEC_CHECK_DISABLE
  template <class Policy, class Iterator, class KeyOf, class Compare>
  __host__ __device__ static void sort(Policy& policy, Iterator first, Iterator last, KeyOf key_of, Compare comp)
  {
    radix::sequential_sort<dispatch::has_own_memory_v<Policy>>(policy, first, last, key_of, comp);
  }
};

// On the host radix sort, where it can and where there are enough elements; what it could sort, but is less, merge sort, by the
// same ranks; and all else the C++ library's stable sort. That has no form for device code and cannot be told where its memory comes
// from: there merge sort, equally stable, stands in.
template <>
struct sequential_backend<automatic_t>
{
  template <class Element, class Key, class Compare>
  static std::size_t scratch_bytes(std::size_t n)
  {
    if constexpr (dispatch::has_host_radix_v<Element, Key, Compare>)
    {
      if (n >= dispatch::least_for_host_radix<Key, Compare>)
      {
        return sequential_backend<radix_sort_t>::scratch_bytes<Element, Key, Compare>(n);
      }
    }
    return sequential_backend<merge_sort_t>::scratch_bytes<Element, Key, Compare>(n);
  }

  _CCCL_EXEC_CHECK_DISABLE
  template <class Policy, class Iterator, class KeyOf, class Compare>
  __host__ __device__ static void sort(Policy& policy, Iterator first, Iterator last, KeyOf key_of, Compare comp)
  {
    NV_IF_TARGET(NV_IS_HOST,
                 (sort_on_host(policy, first, last, key_of, comp);),
                 (sequential_backend<merge_sort_t>::sort(policy, first, last, key_of, comp);));
  }

private:
  template <class Policy, class Iterator, class KeyOf, class Compare>
  static void sort_on_host(Policy& policy, Iterator first, Iterator last, KeyOf key_of, Compare comp)
  {
    using element            = runtime::element_t<Iterator>;
    using key                = std::decay_t<decltype(key_of(std::declval<element const&>()))>;
    constexpr bool has_radix = dispatch::has_host_radix_v<element, key, Compare>;
    if constexpr (has_radix)
    {
      if (static_cast<std::size_t>(last - first) >= dispatch::least_for_host_radix<key, Compare>)
      {
        sequential_backend<radix_sort_t>::sort(policy, first, last, key_of, comp);
        return;
      }
    }
    if constexpr (has_radix && radix::has_key_order_v<key, Compare>)
    {
      sequential_backend<merge_sort_t>::sort(policy, first, last, key_of, radix::rank_compare<key, Compare>{});
    }
    else if constexpr (dispatch::has_own_memory_v<Policy>)
    {
      sequential_backend<merge_sort_t>::sort(policy, first, last, key_of, comp);
    }
    else
    {
      dispatch::stable_host_sort(first, last, key_of, comp);
    }
  }
};

#if defined(__CUDACC__)
namespace dispatch
{

/// Whether Compare compares elements through their indices, and takes long.
template <class Compare>
inline constexpr bool is_expensive_at_index_v = false;

/// `Usual`, but for indices under a comparator that takes long.
template <class Usual>
struct sparing_backend
{
  template <class Compare>
  using form = std::conditional_t<is_expensive_at_index_v<Compare>, merge::few_comparisons, Usual>;

  template <class Key, class Value, class Compare>
  static std::size_t scratch_bytes(std::size_t n)
  {
    return form<Compare>::template scratch_bytes<Key, Value, Compare>(n);
  }

  template <class Key, class Value, class Compare>
  static void sort(cudaStream_t stream, void* scratch, Key* keys, Value* values, std::size_t n, Compare comp)
  {
    form<Compare>::template sort<Key, Value, Compare>(stream, scratch, keys, values, n, comp);
  }
};

} // namespace dispatch

template <>
struct device_backend<hybrid_sort_t> : dispatch::sparing_backend<hybrid::device>
{};

template <>
struct device_backend<quicksort_t> : quick::device
{};

template <>
struct device_backend<merge_sort_t> : dispatch::sparing_backend<merge::device>
{};

// Numbers are sorted by their own bits, everything else by its image.
template <>
struct device_backend<radix_sort_t>
{
  using device = radix::device_with<hybrid::uneven_keys>;

  template <class Key, class Compare>
  using form = std::conditional_t<radix::has_key_order_v<Key, Compare>, device, radix::device_by_fields<device>>;

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

/// Whether Algorithm asks comparators that take long as little as it can, on the GPU.
template <class Algorithm>
inline constexpr bool spares_comparisons_v =
  std::is_same_v<Algorithm, merge_sort_t> || std::is_same_v<Algorithm, hybrid_sort_t>;

/// Whether the back end of Algorithm moves the keys themselves; otherwise they are sorted by index.
template <class Algorithm, class Key, class Value, class Compare>
inline constexpr bool moves_keys_v =
  sorts_directly_v<Key> && !(spares_comparisons_v<Algorithm> && is_expensive_v<Compare>);

template <class Key, class Value, class Compare>
inline constexpr bool moves_keys_v<radix_sort_t, Key, Value, Compare> =
  radix::has_key_order_v<Key, Compare>
  || (std::is_same_v<Value, no_value> && is_bitwise_movable<Key>::value && radix::moves_key_with_image(sizeof(Key)));

} // namespace dispatch

} // namespace gpusort
