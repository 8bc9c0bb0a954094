// What the sequential algorithms share: the order of elements as one function, and the sort for short ranges.
#pragma once

#include <cuda/std/detail/__config>
#include <cuda/std/iterator>
#include <cuda/std/tuple>
#include <cuda/std/utility>

#include <thrust/detail/raw_reference_cast.h>
#include <thrust/iterator/detail/tuple_of_iterator_references.h>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace gpusort::runtime
{

/// What an element is when it does not stand in its range: through a zip_iterator `*it` is a tuple of references, and a
/// copy of that is no copy of the element.
template <class Iterator>
using element_t = typename ::cuda::std::iterator_traits<Iterator>::value_type;

/// How many pieces a tuple has, or a zip_iterator's reference. Not of classes derived from them, which may have more, and assign them in a way of
/// their own.
// clang-format off
template <class T> inline constexpr std::size_t pieces_v = 0;
template <class... T> inline constexpr std::size_t pieces_v<::cuda::std::tuple<T...>> = sizeof...(T);
template <class... T> inline constexpr std::size_t pieces_v<thrust::detail::tuple_of_iterator_references<T...>> = sizeof...(T);
// clang-format on

template <class To, class From>
__host__ __device__ void move_element(To&& to, From&& from);

_CCCL_EXEC_CHECK_DISABLE
template <class To, class From, std::size_t... I>
__host__ __device__ void move_pieces(To& to, From& from, std::index_sequence<I...>)
{
  (runtime::move_element(::cuda::std::get<I>(to), ::cuda::std::get<I>(from)), ...);
}

/// to = std::move(from). Tuples, of references where they come from a zip_iterator, are moved piece by piece: as a whole they would copy, and an
/// exception would end the program.
_CCCL_EXEC_CHECK_DISABLE
template <class To, class From>
__host__ __device__ void move_element(To&& to, From&& from)
{
  constexpr std::size_t pieces = pieces_v<std::remove_reference_t<To>>;
  if constexpr (pieces > 0 && pieces == pieces_v<std::remove_reference_t<From>>)
  {
    runtime::move_pieces(to, from, std::make_index_sequence<pieces>{});
  }
  else
  {
    ::cuda::std::forward<To>(to) = ::cuda::std::move(from);
  }
}

/// comp(a, b). A comparator whose parameters are references to keys that it might change, and which Thrust accepts, gets
/// them: it is asked about elements of a range or about copies of them, which are not const.
_CCCL_EXEC_CHECK_DISABLE
template <class Compare, class A, class B>
__host__ __device__ bool compare_raw_keys(Compare& comp, A const& a, B const& b)
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

/// A key, or in place of Thrust's reference to one on the GPU the key itself, which only code on the GPU can ask for.
template <class Key>
inline constexpr bool is_raw_v =
  std::is_same_v<decltype(thrust::raw_reference_cast(std::declval<Key const&>())), Key const&>;

_CCCL_EXEC_CHECK_DISABLE
template <class Key>
__host__ __device__ decltype(auto) raw_key(Key const& key)
{
  if constexpr (is_raw_v<Key>)
  {
    return (key);
  }
  else
  {
    return thrust::raw_reference_cast(key);
  }
}

/// compare_raw_keys of the keys themselves: a comparator for any type would be asked about Thrust's references otherwise.
_CCCL_EXEC_CHECK_DISABLE
template <class Compare, class A, class B>
__host__ __device__ bool compare_keys(Compare& comp, A const& a, B const& b)
{
  return runtime::compare_raw_keys(comp, runtime::raw_key(a), runtime::raw_key(b));
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
      runtime::move_element(*hole, *(hole - 1));
    }
    runtime::move_element(*hole, element);
  }
}

} // namespace gpusort::runtime
