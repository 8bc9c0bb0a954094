// Comparators that take long, told apart from those that do not.
#pragma once

#include <cuda/std/detail/__config>

namespace gpusort
{

/// What `expensive` returns: a comparator that answers as `comp` does.
template <class Compare>
struct expensive_compare
{
  Compare comp;

  _CCCL_EXEC_CHECK_DISABLE
  template <class A, class B>
  __host__ __device__ bool operator()(A const& a, B const& b)
  {
    return static_cast<bool>(comp(a, b));
  }
  _CCCL_EXEC_CHECK_DISABLE
  template <class A, class B>
  __host__ __device__ bool operator()(A const& a, B const& b) const
  {
    return static_cast<bool>(comp(a, b));
  }
};

/// The order of `comp`, marked as one whose comparisons take longer than anything else in a sort does:
/// ```
/// gpusort::sort(thrust::device, books.begin(), books.end(), gpusort::expensive(by_title));
/// ```
/// Effect: on the GPU `automatic`, `merge_sort` and `hybrid_sort` ask it at most 1.1 n log2 n times for n elements; other comparators, on
///   the GPU, 1.4 to 1.8 n log2 n times, and up to 3.5 where n is small. Nothing else changes: `quicksort` and the host's sorts treat it as any other.
/// Complexity: O(n log n), whatever the input; n - 1 comparisons, and a few hundred, if it is in order or reversed.
/// Stability: that of the algorithm; `comp`'s order.
/// Memory: elements go by index: on the GPU 4 bytes an element, and as many again or a copy of the keys or the values, whichever is most; twice as many
///   for more than 2^32.
/// Requires: as of any comparator. When it pays: docs/performance.md, "Few comparisons".
/// Throws: nothing of its own.
template <class Compare>
__host__ __device__ constexpr expensive_compare<Compare> expensive(Compare comp)
{
  return {comp};
}

/// Whether comparisons by Compare take long. May be specialised for types of one's own, which `expensive` then need not be called for.
template <class Compare>
inline constexpr bool is_expensive_v = false;
template <class Compare>
inline constexpr bool is_expensive_v<expensive_compare<Compare>> = true;

} // namespace gpusort
