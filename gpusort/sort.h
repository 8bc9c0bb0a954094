// The public calls: drop-in replacements for thrust::sort and its three siblings, with a say in the algorithm.
#pragma once

#include <gpusort/algorithm.h>
#include <gpusort/dispatch/call.h>
#include <gpusort/expensive.h>

#include <thrust/detail/execution_policy.h>

#include <cuda/std/detail/__config>

// The first argument of a call is one of
// - an execution policy of Thrust's or derived from one: `thrust::device`, `thrust::cuda::par_nosync.on(stream)` ...;
// - an algorithm tag alone: `gpusort::radix_sort`; the system comes from the iterators;
// - a tag around a policy: `gpusort::merge_sort(thrust::cuda::par.on(stream))`;
// - no policy at all: the system comes from the iterators, the algorithm is `gpusort::automatic`.
//
// What holds for all four functions:
//
// Memory: on the GPU one scratch allocation, from the policy's allocator if it has one and from stream-ordered memory
//   otherwise; `workspace_bytes` says how much. On the host, memory for the elements once more, but for quicksort.
// Stream: on the GPU all work is enqueued on the policy's stream. `par` policies wait for it before they return;
//   `par_nosync` policies never wait, and the call can be captured into a CUDA graph.
// Requires: random access iterators; `comp` is a strict weak ordering, callable where the sort runs. Elements are
//   trivially copyable, or have copy and move operations. Iterators that are not contiguous are staged.
// Throws: std::runtime_error if last < first; a type derived from std::bad_alloc if scratch memory cannot be had, before
//   the input is touched; thrust::system_error if CUDA reports a failure; whatever a custom allocator or, on the host,
//   the comparator throws. Empty and one-element ranges allocate nothing and launch nothing.
// In device code, under any policy of ours, the calling thread sorts sequentially.

namespace gpusort
{

/// Orders [first, last) under `comp`, by default `<`.
/// Complexity: that of the algorithm (`algorithm.h`); O(n x key bytes) or O(n log n) for `automatic`.
/// Stability: that of the algorithm; `automatic` is stable.
_CCCL_EXEC_CHECK_DISABLE
template <class I>
__host__ __device__ void sort(I first, I last)
{
  dispatch::with_system_of_keys<dispatch::sort_function, automatic_t>(first, last);
}

_CCCL_EXEC_CHECK_DISABLE
template <class I, class Compare>
__host__ __device__ void sort(I first, I last, Compare comp)
{
  dispatch::with_system_of_keys<dispatch::sort_function, automatic_t>(first, last, comp);
}

_CCCL_EXEC_CHECK_DISABLE
template <class Policy, class I>
__host__ __device__ void sort(thrust::detail::execution_policy_base<Policy> const& policy, I first, I last)
{
  dispatch::with_policy<dispatch::sort_function>(dispatch::mutable_policy(policy), first, last);
}

_CCCL_EXEC_CHECK_DISABLE
template <class Policy, class I, class Compare>
__host__ __device__ void
sort(thrust::detail::execution_policy_base<Policy> const& policy, I first, I last, Compare comp)
{
  dispatch::with_policy<dispatch::sort_function>(dispatch::mutable_policy(policy), first, last, comp);
}

_CCCL_EXEC_CHECK_DISABLE
template <class Tag, class I>
__host__ __device__ void sort(tagged<Tag> const& tag, I first, I last)
{
  dispatch::with_tagged<dispatch::sort_function>(tag.self(), first, last);
}

_CCCL_EXEC_CHECK_DISABLE
template <class Tag, class I, class Compare>
__host__ __device__ void sort(tagged<Tag> const& tag, I first, I last, Compare comp)
{
  dispatch::with_tagged<dispatch::sort_function>(tag.self(), first, last, comp);
}

/// Orders [first, last) under `comp`, by default `<`; equivalent elements keep their order.
/// Complexity: that of the algorithm. Stability: stable; a tag whose algorithm is not is refused at compile time.
_CCCL_EXEC_CHECK_DISABLE
template <class I>
__host__ __device__ void stable_sort(I first, I last)
{
  dispatch::with_system_of_keys<dispatch::stable_sort_function, automatic_t>(first, last);
}

_CCCL_EXEC_CHECK_DISABLE
template <class I, class Compare>
__host__ __device__ void stable_sort(I first, I last, Compare comp)
{
  dispatch::with_system_of_keys<dispatch::stable_sort_function, automatic_t>(first, last, comp);
}

_CCCL_EXEC_CHECK_DISABLE
template <class Policy, class I>
__host__ __device__ void stable_sort(thrust::detail::execution_policy_base<Policy> const& policy, I first, I last)
{
  dispatch::with_policy<dispatch::stable_sort_function>(dispatch::mutable_policy(policy), first, last);
}

_CCCL_EXEC_CHECK_DISABLE
template <class Policy, class I, class Compare>
__host__ __device__ void
stable_sort(thrust::detail::execution_policy_base<Policy> const& policy, I first, I last, Compare comp)
{
  dispatch::with_policy<dispatch::stable_sort_function>(dispatch::mutable_policy(policy), first, last, comp);
}

_CCCL_EXEC_CHECK_DISABLE
template <class Tag, class I>
__host__ __device__ void stable_sort(tagged<Tag> const& tag, I first, I last)
{
  dispatch::with_tagged<dispatch::stable_sort_function>(tag.self(), first, last);
}

_CCCL_EXEC_CHECK_DISABLE
template <class Tag, class I, class Compare>
__host__ __device__ void stable_sort(tagged<Tag> const& tag, I first, I last, Compare comp)
{
  dispatch::with_tagged<dispatch::stable_sort_function>(tag.self(), first, last, comp);
}

/// Orders the keys [keys_first, keys_last) under `comp`, by default `<`, and moves the values with them: values_first[i]
/// goes where keys_first[i] goes. A discard_iterator for values sorts the keys alone.
/// Complexity: that of the algorithm. Stability: that of the algorithm; `automatic` is stable.
_CCCL_EXEC_CHECK_DISABLE
template <class I, class J>
__host__ __device__ void sort_by_key(I keys_first, I keys_last, J values_first)
{
  dispatch::with_system_of_pairs<dispatch::sort_by_key_function, automatic_t>(keys_first, keys_last, values_first);
}

_CCCL_EXEC_CHECK_DISABLE
template <class I, class J, class Compare>
__host__ __device__ void sort_by_key(I keys_first, I keys_last, J values_first, Compare comp)
{
  dispatch::with_system_of_pairs<dispatch::sort_by_key_function, automatic_t>(
    keys_first, keys_last, values_first, comp);
}

_CCCL_EXEC_CHECK_DISABLE
template <class Policy, class I, class J>
__host__ __device__ void
sort_by_key(thrust::detail::execution_policy_base<Policy> const& policy, I keys_first, I keys_last, J values_first)
{
  dispatch::with_policy<dispatch::sort_by_key_function>(
    dispatch::mutable_policy(policy), keys_first, keys_last, values_first);
}

_CCCL_EXEC_CHECK_DISABLE
template <class Policy, class I, class J, class Compare>
__host__ __device__ void sort_by_key(
  thrust::detail::execution_policy_base<Policy> const& policy, I keys_first, I keys_last, J values_first, Compare comp)
{
  dispatch::with_policy<dispatch::sort_by_key_function>(
    dispatch::mutable_policy(policy), keys_first, keys_last, values_first, comp);
}

_CCCL_EXEC_CHECK_DISABLE
template <class Tag, class I, class J>
__host__ __device__ void sort_by_key(tagged<Tag> const& tag, I keys_first, I keys_last, J values_first)
{
  dispatch::with_tagged<dispatch::sort_by_key_function>(tag.self(), keys_first, keys_last, values_first);
}

_CCCL_EXEC_CHECK_DISABLE
template <class Tag, class I, class J, class Compare>
__host__ __device__ void sort_by_key(tagged<Tag> const& tag, I keys_first, I keys_last, J values_first, Compare comp)
{
  dispatch::with_tagged<dispatch::sort_by_key_function>(tag.self(), keys_first, keys_last, values_first, comp);
}

/// Orders the keys [keys_first, keys_last) under `comp`, by default `<`, and moves the values with them; pairs whose keys
/// are equivalent keep their order.
/// Complexity: that of the algorithm. Stability: stable; a tag whose algorithm is not is refused at compile time.
_CCCL_EXEC_CHECK_DISABLE
template <class I, class J>
__host__ __device__ void stable_sort_by_key(I keys_first, I keys_last, J values_first)
{
  dispatch::with_system_of_pairs<dispatch::stable_sort_by_key_function, automatic_t>(
    keys_first, keys_last, values_first);
}

_CCCL_EXEC_CHECK_DISABLE
template <class I, class J, class Compare>
__host__ __device__ void stable_sort_by_key(I keys_first, I keys_last, J values_first, Compare comp)
{
  dispatch::with_system_of_pairs<dispatch::stable_sort_by_key_function, automatic_t>(
    keys_first, keys_last, values_first, comp);
}

_CCCL_EXEC_CHECK_DISABLE
template <class Policy, class I, class J>
__host__ __device__ void stable_sort_by_key(
  thrust::detail::execution_policy_base<Policy> const& policy, I keys_first, I keys_last, J values_first)
{
  dispatch::with_policy<dispatch::stable_sort_by_key_function>(
    dispatch::mutable_policy(policy), keys_first, keys_last, values_first);
}

_CCCL_EXEC_CHECK_DISABLE
template <class Policy, class I, class J, class Compare>
__host__ __device__ void stable_sort_by_key(
  thrust::detail::execution_policy_base<Policy> const& policy, I keys_first, I keys_last, J values_first, Compare comp)
{
  dispatch::with_policy<dispatch::stable_sort_by_key_function>(
    dispatch::mutable_policy(policy), keys_first, keys_last, values_first, comp);
}

_CCCL_EXEC_CHECK_DISABLE
template <class Tag, class I, class J>
__host__ __device__ void stable_sort_by_key(tagged<Tag> const& tag, I keys_first, I keys_last, J values_first)
{
  dispatch::with_tagged<dispatch::stable_sort_by_key_function>(tag.self(), keys_first, keys_last, values_first);
}

_CCCL_EXEC_CHECK_DISABLE
template <class Tag, class I, class J, class Compare>
__host__ __device__ void
stable_sort_by_key(tagged<Tag> const& tag, I keys_first, I keys_last, J values_first, Compare comp)
{
  dispatch::with_tagged<dispatch::stable_sort_by_key_function>(tag.self(), keys_first, keys_last, values_first, comp);
}

} // namespace gpusort
