// What the elements of a call are: how they may be moved, whether there are values, whether the range is an array.
#pragma once

#include <gpusort/expensive.h>
#include <gpusort/radix/key_order.h>

#include <thrust/iterator/discard_iterator.h>
#include <thrust/iterator/iterator_traits.h>
#include <thrust/tuple.h>
#include <thrust/type_traits/is_contiguous_iterator.h>
#include <thrust/type_traits/is_trivially_relocatable.h>

#include <cuda/std/functional>
#include <cuda/std/iterator>
#include <cuda/std/tuple>
#include <cuda/std/utility>

#include <cstddef>
#include <memory> // std::less and std::greater, in every library known; <functional> brings containers
#include <tuple>
#include <type_traits>
#include <utility>

namespace gpusort::dispatch
{

/// Stands for the values of a call that sorts keys alone.
struct no_values
{};

template <class Iterator>
struct is_discard : std::false_type
{};
template <class System>
struct is_discard<thrust::discard_iterator<System>> : std::true_type
{};

/// Values that are thrown away are not moved at all.
template <class Iterator>
inline constexpr bool has_values_v = !std::is_same_v<Iterator, no_values> && !is_discard<Iterator>::value;

template <class Iterator>
using value_of_t = typename ::cuda::std::iterator_traits<Iterator>::value_type;

/// What a kernel calls in place of a host function of the C++ library, unless it is a program's own. If the twin for T is one, the twin for all
/// types asks the operator, as the host function does.
template <template <class> class Function, template <class> class Twin, class T>
struct device_twin
{
  using library = std::conditional_t<radix::is_specialised_v<Twin, T>, Twin<void>, Twin<T>>;
  using type    = std::conditional_t<radix::is_specialised_v<Function, T>, Function<T>, library>;
};

/// The comparator as kernels call it: those of namespace std are host functions, and have twins that are not; but for a program's own.
// clang-format off
template <class Compare> struct device_compare { using type = Compare; };
template <class T> struct device_compare<std::less<T>> : device_twin<std::less, ::cuda::std::less, T> {};
template <class T> struct device_compare<std::greater<T>> : device_twin<std::greater, ::cuda::std::greater, T> {};
template <class T> struct device_compare<expensive_compare<T>> { using type = expensive_compare<typename device_compare<T>::type>; };
// clang-format on
template <class Compare>
using device_compare_t = typename device_compare<Compare>::type;

template <class Compare>
device_compare_t<Compare> as_device_compare([[maybe_unused]] Compare comp)
{
  if constexpr (std::is_same_v<device_compare_t<Compare>, Compare>)
  {
    return comp;
  }
  else
  {
    return {};
  }
}

/// Whether a T may be moved by copying its bytes. Tuples and pairs are, if what they hold is: their assignment operators
/// keep them from being trivially copyable.
template <class T>
struct is_bitwise_movable : std::bool_constant<std::is_trivially_copyable_v<T> || thrust::is_trivially_relocatable_v<T>>
{};
template <class... T>
struct is_bitwise_movable<::cuda::std::tuple<T...>> : std::bool_constant<(is_bitwise_movable<T>::value && ...)>
{};
template <class T, class U>
struct is_bitwise_movable<::cuda::std::pair<T, U>>
    : std::bool_constant<is_bitwise_movable<T>::value && is_bitwise_movable<U>::value>
{};
template <class... T>
struct is_bitwise_movable<std::tuple<T...>> : std::bool_constant<(is_bitwise_movable<T>::value && ...)>
{};
template <class T, class U>
struct is_bitwise_movable<std::pair<T, U>>
    : std::bool_constant<is_bitwise_movable<T>::value && is_bitwise_movable<U>::value>
{};

/// Whether only host functions can make a T: kernels may move its bytes, but not hold it in variables.
// clang-format off
template <class T> inline constexpr bool is_made_on_host_v = false;
template <class... T> inline constexpr bool is_made_on_host_v<std::tuple<T...>> = true;
template <class T, class U> inline constexpr bool is_made_on_host_v<std::pair<T, U>> = true;
// clang-format on

template <class T>
inline constexpr bool is_held_by_kernels_v =
  is_bitwise_movable<T>::value && std::is_default_constructible_v<T> && !is_made_on_host_v<T> && alignof(T) <= 16;

/// Whether kernels may hold T in registers and shared memory; other types are sorted by index, whose comparisons read keys wherever they lie.
/// Measured on an H200 with CUDA 13.0, records ordered by their first 8 bytes, hybrid sort, directly and by index: docs/performance.md, "Direct
/// or by index". 96 bytes take 1.6 times as long by index, 128 bytes 0.8 to 0.85 times.
template <class T>
inline constexpr bool sorts_directly_v = is_held_by_kernels_v<T> && sizeof(T) <= 96;

/// The same for values, where the price of an index is the gathering, and three launches more, which is what counts in small inputs. With 16
/// bytes, radix sort takes a quarter less by index from 2^16 to 2^20 and as long from 2^22 on, comparisons 8 to 16 % less from 2^20 on; with 32
/// bytes both take half as long by index.
template <class T>
inline constexpr bool moves_directly_v = is_held_by_kernels_v<T> && sizeof(T) <= 16;

} // namespace gpusort::dispatch
