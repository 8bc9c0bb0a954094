// Merge sort, one step after the other: short sorted runs, then passes that merge neighbours.
#pragma once

#include <gpusort/runtime/sequential.h>
#include <gpusort/runtime/temporary.h>

#include <cuda/std/detail/__config>

#include <cstddef>

namespace gpusort::merge
{

/// Length of the runs that insertion sort makes; on the GPU a block sorts a tile instead. From 16 to 64 the time for
/// integers hardly changes, and comparisons, which may be dear, grow with it.
inline constexpr std::ptrdiff_t run_length = 16;

/// Merges pairs of neighbouring sorted runs of `run` elements from `in` to `out`; a last run without a partner is moved.
/// Source: Satish, Harris and Garland, section IV, one level of their tree of pairwise merges. They cut a pair into
/// tiles by splitters and binary search so that many threads can merge it; one thread walks along both runs.
_CCCL_EXEC_CHECK_DISABLE
template <class In, class Out, class Less>
__host__ __device__ void merge_pass(In in, Out out, std::ptrdiff_t n, std::ptrdiff_t run, Less& less)
{
  for (std::ptrdiff_t begin = 0; begin < n; begin += 2 * run)
  {
    std::ptrdiff_t const middle = n - begin < run ? n : begin + run;
    std::ptrdiff_t const end    = n - middle < run ? n : middle + run;
    std::ptrdiff_t left         = begin;
    std::ptrdiff_t right        = middle;
    for (std::ptrdiff_t to = begin; to < end; ++to)
    {
      // Of equivalent elements the left one was first in the input and stays first.
      bool const take_right = left == middle || (right != end && less(*(in + right), *(in + left)));
      std::ptrdiff_t& from  = take_right ? right : left;
      runtime::move_element(*(out + to), *(in + from));
      ++from;
    }
  }
}

_CCCL_EXEC_CHECK_DISABLE
template <class Iterator, class Less>
__host__ __device__ void sort_runs(Iterator first, std::ptrdiff_t n, Less& less)
{
  for (std::ptrdiff_t begin = 0; begin < n; begin += run_length)
  {
    runtime::insertion_sort(first + begin, first + (n - begin < run_length ? n : begin + run_length), less);
  }
}

/// Orders [first, first + n) under `less` with the help of n objects at `buffer`, whose values are lost.
/// Complexity: O(n log n). Stability: stable.
_CCCL_EXEC_CHECK_DISABLE
template <class Iterator, class Element, class Less>
__host__ __device__ void sort_with_buffer(Iterator first, std::ptrdiff_t n, Element* buffer, Less& less)
{
  int passes = 0;
  for (std::ptrdiff_t run = run_length; run < n; run *= 2)
  {
    ++passes;
  }
  // Every pass moves all elements to the other side: start where the last pass ends in the range.
  bool in_range = passes % 2 == 0;
  if (in_range)
  {
    merge::sort_runs(first, n, less);
  }
  else
  {
    for (std::ptrdiff_t i = 0; i < n; ++i)
    {
      runtime::move_element(buffer[i], *(first + i));
    }
    merge::sort_runs(buffer, n, less);
  }
  for (std::ptrdiff_t run = run_length; run < n; run *= 2, in_range = !in_range)
  {
    if (in_range)
    {
      merge::merge_pass(first, buffer, n, run, less);
    }
    else
    {
      merge::merge_pass(buffer, first, n, run, less);
    }
  }
}

/// Bytes that `sequential_sort` takes from a policy with memory of its own.
template <class Element>
std::size_t sequential_bytes(std::size_t n)
{
  return runtime::bytes_of_pieces(runtime::temporary_bytes<Element>(n));
}

/// Orders [first, last) by `comp(key_of(a), key_of(b))` with a bottom-up merge sort.
/// Complexity: O(n log n) comparisons and moves, whatever the input.
/// Stability: stable.
/// Memory: n elements, from the policy if `UseOwnMemory`, from the heap otherwise.
/// Requires: random access iterators, possibly with proxies; elements that can be copied and moved. A `comp` that is no
///   strict weak ordering leaves the elements in some other order.
/// Throws: a type derived from std::bad_alloc, with the range as it was; whatever `comp` and the elements throw, with
///   every element destructible and of unspecified value. In device code missing memory stops the kernel.
/// Source: Satish, Harris and Garland, section IV.
_CCCL_EXEC_CHECK_DISABLE
template <bool UseOwnMemory, class Policy, class Iterator, class KeyOf, class Compare>
__host__ __device__ void sequential_sort(Policy& policy, Iterator first, Iterator last, KeyOf key_of, Compare comp)
{
  std::ptrdiff_t const n = last - first;
  if (n < 2)
  {
    return;
  }
  runtime::element_order<KeyOf, Compare> less{key_of, comp};
  runtime::temporary<UseOwnMemory, runtime::element_t<Iterator>, Policy> copy(policy, first, n);
  merge::sort_with_buffer(first, n, copy.data(), less);
}

} // namespace gpusort::merge
