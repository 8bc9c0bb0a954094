// Comparators that take long, told apart from those that do not.
#pragma once

#include <cuda/std/detail/__config>
#include <cuda/std/utility>

namespace gpusort
{

/// What `expensive` returns: a comparator that answers as `comp` does.
template <class Compare>
struct expensive_compare
{
  Compare comp;

  // Whatever `comp` can be called with, and nothing else: some take references to keys that are not const.
  _CCCL_EXEC_CHECK_DISABLE
  template <class A, class B>
  __host__ __device__ auto operator()(A&& a, B&& b)
    -> decltype(static_cast<bool>(::cuda::std::declval<Compare&>()(static_cast<A&&>(a), static_cast<B&&>(b))))
  {
    return static_cast<bool>(comp(static_cast<A&&>(a), static_cast<B&&>(b)));
  }
  _CCCL_EXEC_CHECK_DISABLE
  template <class A, class B>
  __host__ __device__ auto operator()(A&& a, B&& b) const
    -> decltype(static_cast<bool>(::cuda::std::declval<Compare const&>()(static_cast<A&&>(a), static_cast<B&&>(b))))
  {
    return static_cast<bool>(comp(static_cast<A&&>(a), static_cast<B&&>(b)));
  }
};

/// The order of `comp`, marked as one whose comparisons take longer than anything else in a sort does:
/// ```
/// gpusort::sort(thrust::device, books.begin(), books.end(), gpusort::expensive(by_title));
/// ```
/// Effect: on the GPU `automatic`, `merge_sort` and `hybrid_sort` ask it at most 1.1 n log2 n times for n elements, up to 2^32; they ask other
///   comparators 1.4 to 1.8 n log2 n times, and up to 3.5 where n is small. `quicksort` and the host's sorts treat it as any other. Nobody reads
///   what it compares, a `less` of numbers either: there is no radix sort by it.
/// Complexity: O(n log n), whatever the input; n - 1 comparisons, and some 2000 more, if there are 2^16 elements or more and they are in order or reversed.
/// Stability: that of the algorithm; `comp`'s order.
/// Memory: elements go by index: on the GPU 4 bytes an element, and as many again or a copy of the keys or the values, whichever is most; twice as many
///   bytes for more than 2^32. Ranges that are not contiguous are staged as ever.
/// Requires: as of any comparator. When it pays: docs/performance.md, "Few comparisons".
/// Throws: nothing of its own.
_CCCL_EXEC_CHECK_DISABLE
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
