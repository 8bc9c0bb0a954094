// What the sequential algorithms share: the order of elements as one function, and the sort for short ranges.
#pragma once

#include <cuda/std/detail/__config>
#include <cuda/std/iterator>
#include <cuda/std/utility>

#include <type_traits>

namespace gpusort::runtime
{

/// What an element is when it does not stand in its range: through a zip_iterator `*it` is a tuple of references, and a
/// copy of that is no copy of the element.
template <class Iterator>
using element_t = typename ::cuda::std::iterator_traits<Iterator>::value_type;

/// comp(a, b). A comparator whose parameters are references to keys that it might change, and which Thrust accepts, gets
/// them: it is asked about elements of a range or about copies of them, which are not const.
_CCCL_EXEC_CHECK_DISABLE
template <class Compare, class A, class B>
__host__ __device__ bool compare_keys(Compare& comp, A const& a, B const& b)
{
  if constexpr (std::is_invocable_v<Compare&, A&, B&> && !std::is_invocable_v<Compare&, A const&, B const&>)
  {
    return static_cast<bool>(comp(const_cast<A&>(a), const_cast<B&>(b)));
  }
  else
  {
    return static_cast<bool>(comp(a, b));
  }
}

/// Whether element a goes before element b: `comp` asked about their keys. Handed on by reference, because the
/// comparator may change as it is called.
template <class KeyOf, class Compare>
struct element_order
{
  KeyOf key_of;
  Compare comp;

  // The key of a proxy may live inside the proxy, so keys are never kept beyond the call.
  _CCCL_EXEC_CHECK_DISABLE
  template <class A, class B>
  __host__ __device__ bool operator()(A const& a, B const& b)
  {
    return runtime::compare_keys(comp, key_of(a), key_of(b));
  }
};

/// Orders [first, last) under `less`.
/// Complexity: O(n^2) comparisons, n - 1 if the range is ordered already: for short ranges. Stability: stable.
/// Memory: one element. A `less` that is no ordering leaves the range in some other order.
_CCCL_EXEC_CHECK_DISABLE
template <class Iterator, class Less>
__host__ __device__ void insertion_sort(Iterator first, Iterator last, Less& less)
{
  if (first == last)
  {
    return;
  }
  for (Iterator next = first + 1; next != last; ++next)
  {
    element_t<Iterator> element = ::cuda::std::move(*next);
    Iterator hole               = next;
    for (; hole != first && less(element, *(hole - 1)); --hole)
    {
      *hole = ::cuda::std::move(*(hole - 1));
    }
    *hole = ::cuda::std::move(element);
  }
}

} // namespace gpusort::runtime
