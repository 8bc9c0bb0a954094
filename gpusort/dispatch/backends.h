// Which room sorts for which tag. A tag defined outside the library does the same for itself.
#pragma once

#include <gpusort/algorithm.h>
#include <gpusort/dispatch/stable_host_sort.h>
#include <gpusort/dispatch/system.h>
#include <gpusort/hybrid/sequential.h>
#include <gpusort/merge/sequential.h>
#include <gpusort/quicksort/sequential.h>
#include <gpusort/radix/sequential.h>

#include <nv/target>

#if defined(__CUDACC__)
#  include <gpusort/merge/device.cuh>
#  include <gpusort/radix/device.cuh>
#endif

namespace gpusort
{

template <>
struct sequential_backend<quicksort_t>
{
  template <class Policy, class Iterator, class KeyOf, class Compare>
  __host__ __device__ static void sort(Policy& policy, Iterator first, Iterator last, KeyOf key_of, Compare comp)
  {
    quick::sequential_sort(policy, first, last, key_of, comp);
  }
};

template <>
struct sequential_backend<hybrid_sort_t>
{
  template <class Policy, class Iterator, class KeyOf, class Compare>
  __host__ __device__ static void sort(Policy& policy, Iterator first, Iterator last, KeyOf key_of, Compare comp)
  {
    hybrid::sequential_sort<dispatch::has_own_memory_v<Policy>>(policy, first, last, key_of, comp);
  }
};

template <>
struct sequential_backend<merge_sort_t>
{
  template <class Policy, class Iterator, class KeyOf, class Compare>
  __host__ __device__ static void sort(Policy& policy, Iterator first, Iterator last, KeyOf key_of, Compare comp)
  {
    merge::sequential_sort<dispatch::has_own_memory_v<Policy>>(policy, first, last, key_of, comp);
  }
};

template <>
struct sequential_backend<radix_sort_t>
{
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
struct device_backend<merge_sort_t> : merge::device
{};

template <>
struct device_backend<radix_sort_t> : radix::device
{};
#endif

} // namespace gpusort
