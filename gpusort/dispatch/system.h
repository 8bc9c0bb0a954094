// Which system a policy names, and whether its owner has an overload of the call that goes before ours.
#pragma once

#include <thrust/detail/execution_policy.h>
#include <thrust/system/cuda/detail/execution_policy.h>
#include <thrust/system/detail/sequential/execution_policy.h>
#include <thrust/system/omp/detail/execution_policy.h>
#include <thrust/system/tbb/detail/execution_policy.h>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace gpusort::dispatch
{

enum class system
{
  sequential, // ours, on the calling thread of host or device
  cuda, // ours, on the GPU
  other // Thrust's: OpenMP, TBB, a user's own
};

namespace detail
{
template <class P>
std::true_type derives_from_cuda(thrust::cuda_cub::execution_policy<P> const&);
std::false_type derives_from_cuda(...);

template <class P>
std::true_type derives_from_sequential(thrust::system::detail::sequential::execution_policy<P> const&);
std::false_type derives_from_sequential(...);

template <class P>
std::true_type derives_from_threads(thrust::system::omp::detail::execution_policy<P> const&);
template <class P>
std::true_type derives_from_threads(thrust::system::tbb::detail::execution_policy<P> const&);
std::false_type derives_from_threads(...);

// Thrust's thread systems derive from the sequential one, so they are asked first.
template <class Policy>
using system_constant =
  std::integral_constant<system,
                         decltype(derives_from_cuda(std::declval<Policy const&>()))::value         ? system::cuda
                         : decltype(derives_from_threads(std::declval<Policy const&>()))::value    ? system::other
                         : decltype(derives_from_sequential(std::declval<Policy const&>()))::value ? system::sequential
                                                                                                   : system::other>;
} // namespace detail

template <class Policy>
inline constexpr system system_of_v = detail::system_constant<Policy>::value;

/// The policy itself. Customisation points take policies by non-const reference; callers pass temporaries.
template <class Policy>
__host__ __device__ Policy& mutable_policy(thrust::detail::execution_policy_base<Policy> const& policy)
{
  return thrust::detail::derived_cast(thrust::detail::strip_const(policy));
}

// A user's overload is found by asking what Thrust would ask: an unqualified call. Beside it stand declarations of ours
// with the very parameters of Thrust's own systems. If one of Thrust's functions would have been chosen, the call is
// ambiguous with ours or picks ours; only an overload that is better than Thrust's makes it valid with another result.
namespace probe
{
struct ours
{};

template <class D>
using cuda_policy = thrust::cuda_cub::execution_policy<D>;
template <class D>
using sequential_policy = thrust::system::detail::sequential::execution_policy<D>;

// clang-format off
template <class D, class I> ours sort(cuda_policy<D>&, I, I);
template <class D, class I, class C> ours sort(cuda_policy<D>&, I, I, C);
template <class D, class I> ours sort(sequential_policy<D>&, I, I);
template <class D, class I, class C> ours sort(sequential_policy<D>&, I, I, C);
template <class D, class I> ours stable_sort(cuda_policy<D>&, I, I);
template <class D, class I, class C> ours stable_sort(cuda_policy<D>&, I, I, C);
template <class D, class I> ours stable_sort(sequential_policy<D>&, I, I);
template <class D, class I, class C> ours stable_sort(sequential_policy<D>&, I, I, C);
template <class D, class I, class J> ours sort_by_key(cuda_policy<D>&, I, I, J);
template <class D, class I, class J, class C> ours sort_by_key(cuda_policy<D>&, I, I, J, C);
template <class D, class I, class J> ours sort_by_key(sequential_policy<D>&, I, I, J);
template <class D, class I, class J, class C> ours sort_by_key(sequential_policy<D>&, I, I, J, C);
template <class D, class I, class J> ours stable_sort_by_key(cuda_policy<D>&, I, I, J);
template <class D, class I, class J, class C> ours stable_sort_by_key(cuda_policy<D>&, I, I, J, C);
template <class D, class I, class J> ours stable_sort_by_key(sequential_policy<D>&, I, I, J);
template <class D, class I, class J, class C> ours stable_sort_by_key(sequential_policy<D>&, I, I, J, C);
template <class T, class D> ours get_temporary_buffer(cuda_policy<D>&, std::ptrdiff_t);
template <class T, class D> ours get_temporary_buffer(sequential_policy<D>&, std::ptrdiff_t);
template <class D> ours malloc(cuda_policy<D>&, std::size_t);
template <class D> ours malloc(sequential_policy<D>&, std::size_t);

template <class P, class... A> using sort_t = decltype(sort(std::declval<P&>(), std::declval<A>()...));
template <class P, class... A> using stable_sort_t = decltype(stable_sort(std::declval<P&>(), std::declval<A>()...));
template <class P, class... A> using sort_by_key_t = decltype(sort_by_key(std::declval<P&>(), std::declval<A>()...));
template <class P, class... A> using stable_sort_by_key_t = decltype(stable_sort_by_key(std::declval<P&>(), std::declval<A>()...));
template <class P> using temporary_buffer_t = decltype(get_temporary_buffer<char>(std::declval<P&>(), std::ptrdiff_t{}));
template <class P> using malloc_t = decltype(malloc(std::declval<P&>(), std::size_t{}));
// clang-format on

template <class Void, template <class...> class Call, class... A>
struct finds_another : std::false_type
{};
template <template <class...> class Call, class... A>
struct finds_another<std::void_t<Call<A...>>, Call, A...> : std::bool_constant<!std::is_same_v<Call<A...>, ours>>
{};
} // namespace probe

/// Whether `Call<Policy, Args...>` is answered by somebody other than Thrust's systems and this library.
template <template <class...> class Call, class... Args>
inline constexpr bool is_overloaded_v = probe::finds_another<void, Call, Args...>::value;

/// Whether the policy brings its own scratch memory: an allocator, a memory resource, a user's malloc.
template <class Policy>
inline constexpr bool has_own_memory_v =
  is_overloaded_v<probe::temporary_buffer_t, Policy> || is_overloaded_v<probe::malloc_t, Policy>;

} // namespace gpusort::dispatch
