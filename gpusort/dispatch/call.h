// One call, from what the user wrote to a system and an algorithm. Everything here is decided at compile time but n.
#pragma once

#include <gpusort/algorithm.h>
#include <gpusort/dispatch/backends.h>
#include <gpusort/dispatch/elements.h>
#include <gpusort/dispatch/selection.h>
#include <gpusort/dispatch/system.h>
#include <gpusort/runtime/range.h>

#include <thrust/functional.h>
#include <thrust/iterator/iterator_traits.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/sort.h>
#include <thrust/system/detail/generic/select_system.h>
#include <thrust/tuple.h>
#include <thrust/type_traits/is_contiguous_iterator.h>
#include <thrust/type_traits/unwrap_contiguous_iterator.h>

#include <cuda/std/detail/__config>
#include <cuda/std/iterator>
#include <nv/target>

#if defined(__CUDACC__)
#  include <gpusort/dispatch/cuda.cuh>

#  include <thrust/system/cuda/detail/cdp_dispatch.h>
#endif

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace gpusort::dispatch
{

// The four public functions, as types: what they are called, what they promise, and how Thrust is asked instead.
// clang-format off
struct stable_sort_function
{
  static constexpr bool stable = true;
  static constexpr bool by_key = false;
  static constexpr char const* name = "gpusort::stable_sort";
  using stable_form = stable_sort_function;
  template <class Policy, class... Args>
  static constexpr bool overloaded = is_overloaded_v<probe::stable_sort_t, Policy, Args...>;
  _CCCL_EXEC_CHECK_DISABLE
  template <class... Args>
  __host__ __device__ static void through_thrust(Args&&... args) { thrust::stable_sort(args...); }
};

struct sort_function
{
  static constexpr bool stable = false;
  static constexpr bool by_key = false;
  static constexpr char const* name = "gpusort::sort";
  using stable_form = stable_sort_function;
  template <class Policy, class... Args>
  static constexpr bool overloaded = is_overloaded_v<probe::sort_t, Policy, Args...>;
  _CCCL_EXEC_CHECK_DISABLE
  template <class... Args>
  __host__ __device__ static void through_thrust(Args&&... args) { thrust::sort(args...); }
};

struct stable_sort_by_key_function
{
  static constexpr bool stable = true;
  static constexpr bool by_key = true;
  static constexpr char const* name = "gpusort::stable_sort_by_key";
  using stable_form = stable_sort_by_key_function;
  template <class Policy, class... Args>
  static constexpr bool overloaded = is_overloaded_v<probe::stable_sort_by_key_t, Policy, Args...>;
  _CCCL_EXEC_CHECK_DISABLE
  template <class... Args>
  __host__ __device__ static void through_thrust(Args&&... args) { thrust::stable_sort_by_key(args...); }
};

struct sort_by_key_function
{
  static constexpr bool stable = false;
  static constexpr bool by_key = true;
  static constexpr char const* name = "gpusort::sort_by_key";
  using stable_form = stable_sort_by_key_function;
  template <class Policy, class... Args>
  static constexpr bool overloaded = is_overloaded_v<probe::sort_by_key_t, Policy, Args...>;
  _CCCL_EXEC_CHECK_DISABLE
  template <class... Args>
  __host__ __device__ static void through_thrust(Args&&... args) { thrust::sort_by_key(args...); }
};
// clang-format on

struct whole_element
{
  template <class T>
  __host__ __device__ T const& operator()(T const& element) const
  {
    return element;
  }
};

struct key_of_pair
{
  template <class Pair>
  __host__ __device__ decltype(auto) operator()(Pair const& pair) const
  {
    return thrust::get<0>(pair);
  }
};

/// A pointer for an iterator that is as good as one. Thrust's own form of this warns of iterators that are host code.
_CCCL_EXEC_CHECK_DISABLE
template <class Iterator>
__host__ __device__ auto unwrapped(Iterator first)
{
  if constexpr (thrust::is_contiguous_iterator_v<Iterator>)
  {
    return thrust::unwrap_contiguous_iterator(first);
  }
  else
  {
    return first;
  }
}

/// What a sequential sort orders: keys, or pairs of key and value.
_CCCL_EXEC_CHECK_DISABLE
template <class KeyIterator, class ValueIterator>
__host__ __device__ auto elements_from(KeyIterator keys, ValueIterator values)
{
  if constexpr (has_values_v<ValueIterator>)
  {
    return thrust::make_zip_iterator(thrust::make_tuple(dispatch::unwrapped(keys), dispatch::unwrapped(values)));
  }
  else
  {
    (void) values;
    return dispatch::unwrapped(keys);
  }
}

_CCCL_EXEC_CHECK_DISABLE
template <class Algorithm, class Policy, class KeyIterator, class ValueIterator, class Compare>
__host__ __device__ void
sort_sequentially(Policy& policy, KeyIterator keys, std::ptrdiff_t n, ValueIterator values, Compare comp)
{
  static_assert(
    !std::is_base_of_v<gpusort::detail::no_backend, sequential_backend<Algorithm>>,
    "gpusort: this algorithm has no sequential form; specialise gpusort::sequential_backend for it, or sort "
    "under a CUDA policy.");
  using backend = sequential_backend<Algorithm>;

  auto const first = elements_from(keys, values);
  if constexpr (has_values_v<ValueIterator>)
  {
    backend::sort(policy, first, first + n, key_of_pair{}, comp);
  }
  else
  {
    backend::sort(policy, first, first + n, whole_element{}, comp);
  }
}

/// The one sentence a user reads when a tag cannot honour a call.
template <class Function, class Algorithm, class Policy, class Key, class Compare>
constexpr void require_support()
{
  constexpr bool stable_enough = !Function::stable || is_stable_v<Algorithm>;
  static_assert(stable_enough || !std::is_same_v<Algorithm, quicksort_t>,
                "gpusort: stable_sort cannot run gpusort::quicksort, which is not stable; use gpusort::merge_sort, "
                "gpusort::hybrid_sort or gpusort::automatic, or call gpusort::sort.");
  static_assert(stable_enough || std::is_same_v<Algorithm, quicksort_t>,
                "gpusort: stable_sort needs an algorithm whose is_stable is true; use gpusort::automatic, or call "
                "gpusort::sort.");

  constexpr bool supported = supports_v<Algorithm, Key, Compare>;
  static_assert(supported || !std::is_same_v<Algorithm, radix_sort_t>,
                "gpusort: radix_sort needs keys with a radix order under the comparator (gpusort::has_radix_order_v): "
                "numbers, enums, or tuples or pairs of these under less or greater, or structs under gpusort::by; "
                "use gpusort::merge_sort or gpusort::automatic for this one.");
  static_assert(supported || std::is_same_v<Algorithm, radix_sort_t>,
                "gpusort: this algorithm does not support this key type under this comparator "
                "(gpusort::supports_v); use gpusort::merge_sort or gpusort::automatic.");

  static_assert(system_of_v<Policy> != system::other,
                "gpusort: an algorithm tag needs a CUDA policy, thrust::seq or thrust::host; Thrust's OpenMP and TBB "
                "systems and a user's own run their own algorithm: call them with the bare policy.");

  if constexpr (system_of_v<Policy> == system::cuda)
  {
    using algorithm = device_algorithm_t<Algorithm, Key, Compare>;
#if defined(__CUDACC__)
    constexpr bool on_device = !std::is_base_of_v<gpusort::detail::no_backend, device_backend<algorithm>>;
    static_assert(on_device,
                  "gpusort: this algorithm has no device form; specialise gpusort::device_backend for it, or sort "
                  "under thrust::seq or thrust::host.");
#else
    static_assert(!std::is_same_v<algorithm, algorithm>,
                  "gpusort: sorting on the GPU needs a CUDA compiler: move this call to a file that nvcc compiles, or "
                  "sort under thrust::seq or thrust::host.");
#endif
  }
}

/// What the author of a call with constant elements reads.
template <class Iterator>
constexpr void require_writable()
{
  using raw       = decltype(dispatch::unwrapped(std::declval<Iterator>()));
  using reference = typename ::cuda::std::iterator_traits<raw>::reference;
  static_assert(!std::is_lvalue_reference_v<reference> || !std::is_const_v<std::remove_reference_t<reference>>
                  || std::is_assignable_v<reference, value_of_t<Iterator>>,
                "gpusort: this range can be read only: its iterators give references to constant elements, as those of "
                "cbegin() and of a container that is const do.");
}

_CCCL_EXEC_CHECK_DISABLE
template <class Function, class Algorithm, class Policy, class KeyIterator, class ValueIterator, class Compare>
__host__ __device__ void
run(Policy& policy, KeyIterator keys_first, KeyIterator keys_last, ValueIterator values_first, Compare comp)
{
  using key = value_of_t<KeyIterator>;
  require_support<Function, Algorithm, Policy, key, Compare>();
  require_writable<KeyIterator>();
  if constexpr (has_values_v<ValueIterator>)
  {
    require_writable<ValueIterator>();
  }

  runtime::call_range const range(Function::name);
  std::ptrdiff_t const n = runtime::checked_size(static_cast<std::ptrdiff_t>(keys_last - keys_first));
  if (n < 2)
  {
    return;
  }
#if defined(__CUDACC__)
  if constexpr (system_of_v<Policy> == system::cuda)
  {
    using algorithm = device_algorithm_t<Algorithm, key, Compare>;
    // In device code the calling thread sorts, as with Thrust.
    THRUST_CDP_DISPATCH(
      (dispatch::sort_on_device<algorithm>(
         policy, keys_first, static_cast<std::size_t>(n), values_first, dispatch::as_device_compare(comp));),
      (thrust::detail::seq_t in_kernel;
       dispatch::sort_sequentially<automatic_t>(in_kernel, keys_first, n, values_first, comp);));
  }
  else
#endif
  {
    dispatch::sort_sequentially<Algorithm>(policy, keys_first, n, values_first, comp);
  }
}

template <class Iterator>
using default_compare_t = thrust::less<value_of_t<Iterator>>;

// The arguments of a call in their two forms, without and with a comparator.
_CCCL_EXEC_CHECK_DISABLE
template <class Function, class Algorithm, class Policy, class I>
__host__ __device__ void keys(Policy& policy, I first, I last)
{
  dispatch::run<Function, Algorithm>(policy, first, last, no_values{}, default_compare_t<I>{});
}

_CCCL_EXEC_CHECK_DISABLE
template <class Function, class Algorithm, class Policy, class I, class Compare>
__host__ __device__ void keys(Policy& policy, I first, I last, Compare comp)
{
  dispatch::run<Function, Algorithm>(policy, first, last, no_values{}, comp);
}

_CCCL_EXEC_CHECK_DISABLE
template <class Function, class Algorithm, class Policy, class I, class J>
__host__ __device__ void pairs(Policy& policy, I first, I last, J values)
{
  dispatch::run<Function, Algorithm>(policy, first, last, values, default_compare_t<I>{});
}

_CCCL_EXEC_CHECK_DISABLE
template <class Function, class Algorithm, class Policy, class I, class J, class Compare>
__host__ __device__ void pairs(Policy& policy, I first, I last, J values, Compare comp)
{
  dispatch::run<Function, Algorithm>(policy, first, last, values, comp);
}

/// A call whose algorithm the user named.
_CCCL_EXEC_CHECK_DISABLE
template <class Function, class Algorithm, class Policy, class... Args>
__host__ __device__ void with_tag(Policy& policy, Args... args)
{
  if constexpr (Function::by_key)
  {
    dispatch::pairs<Function, Algorithm>(policy, args...);
  }
  else
  {
    dispatch::keys<Function, Algorithm>(policy, args...);
  }
}

/// Whether somebody else answers the call `Function(policy, args...)`: a Thrust system without a back end here, or an
/// overload of the policy's owner. Thrust's sequential systems also try the forms that a call is rewritten to.
template <class Function, class Policy, class... Args>
constexpr bool is_answered_elsewhere()
{
  constexpr system s = system_of_v<Policy>;
  if constexpr (s == system::other || Function::template overloaded<Policy, Args...>)
  {
    return true;
  }
  else if constexpr (s == system::sequential)
  {
    using stable_form = typename Function::stable_form;
    if constexpr (sizeof...(Args) == (Function::by_key ? 3 : 2))
    {
      using compare = default_compare_t<std::tuple_element_t<0, std::tuple<Args...>>>;
      return Function::template overloaded<Policy, Args..., compare>
          || stable_form::template overloaded<Policy, Args..., compare>;
    }
    return stable_form::template overloaded<Policy, Args...>;
  }
  else
  {
    return false;
  }
}

/// A call under a bare policy.
_CCCL_EXEC_CHECK_DISABLE
template <class Function, class Policy, class... Args>
__host__ __device__ void with_policy(Policy& policy, Args... args)
{
  if constexpr (is_answered_elsewhere<Function, Policy, Args...>())
  {
    runtime::call_range const range(Function::name);
    Function::through_thrust(policy, args...);
  }
  else
  {
    dispatch::with_tag<Function, automatic_t>(policy, args...);
  }
}

/// A call whose policy and algorithm are known: `automatic` is what the bare policy means.
_CCCL_EXEC_CHECK_DISABLE
template <class Function, class Algorithm, class Policy, class... Args>
__host__ __device__ void with(Policy& policy, Args... args)
{
  if constexpr (std::is_same_v<Algorithm, automatic_t>)
  {
    dispatch::with_policy<Function>(policy, args...);
  }
  else
  {
    dispatch::with_tag<Function, Algorithm>(policy, args...);
  }
}

/// A call that names no policy: the system comes from the iterators, as Thrust chooses it.
_CCCL_EXEC_CHECK_DISABLE
template <class Function, class Algorithm, class I, class... Compare>
__host__ __device__ void with_system_of_keys(I first, I last, Compare... comp)
{
  using thrust::system::detail::generic::select_system;
  typename thrust::iterator_system<I>::type system;
  auto&& chosen = select_system(system);
  dispatch::with<Function, Algorithm>(chosen, first, last, comp...);
}

_CCCL_EXEC_CHECK_DISABLE
template <class Function, class Algorithm, class I, class J, class... Compare>
__host__ __device__ void with_system_of_pairs(I first, I last, J values, Compare... comp)
{
  using thrust::system::detail::generic::select_system;
  typename thrust::iterator_system<I>::type keys_system;
  typename thrust::iterator_system<J>::type values_system;
  auto&& chosen = select_system(keys_system, values_system);
  dispatch::with<Function, Algorithm>(chosen, first, last, values, comp...);
}

/// A call that a tag or a tag around a policy leads.
_CCCL_EXEC_CHECK_DISABLE
template <class Function, class Algorithm, class Policy, class... Args>
__host__ __device__ void with_tagged(with_algorithm<Algorithm, Policy> const& tagged, Args... args)
{
  dispatch::with<Function, Algorithm>(tagged.policy, args...);
}

_CCCL_EXEC_CHECK_DISABLE
template <class Function, class Algorithm, class... Args>
__host__ __device__ void with_tagged(algorithm<Algorithm> const&, Args... args)
{
  if constexpr (Function::by_key)
  {
    dispatch::with_system_of_pairs<Function, Algorithm>(args...);
  }
  else
  {
    dispatch::with_system_of_keys<Function, Algorithm>(args...);
  }
}

} // namespace gpusort::dispatch
