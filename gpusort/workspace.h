// Scratch memory that the caller owns: how much a call needs, and an allocator that hands it over.
#pragma once

#include <gpusort/algorithm.h>
#include <gpusort/dispatch/call.h>
#include <gpusort/runtime/check.h>
#include <gpusort/runtime/layout.h>
#include <gpusort/runtime/sequential.h>

#include <thrust/detail/execution_policy.h>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace gpusort
{

/// An allocator over memory of the caller's, for `thrust::cuda::par_nosync(ws).on(stream)`. Pieces are handed out one
/// after the other and taken back last first; nothing is ever allocated.
/// Memory: `bytes` bytes at `pointer`, device memory for a CUDA policy, alive until the stream has passed the calls that
///   use it. One workspace serves one stream at a time: calls in order on one stream may share it.
/// Throws: a type derived from std::bad_alloc if it is too small, before the sort touches its input.
class workspace
{
public:
  using value_type = char;

  workspace(void* pointer, std::size_t bytes) noexcept
      : begin_(static_cast<char*>(pointer))
      , bytes_(pointer == nullptr ? 0 : bytes)
  {}

  char* allocate(std::size_t bytes)
  {
    // The first piece begins where the memory does: whoever asks aligns it.
    std::size_t const start = used_ == 0 ? 0 : runtime::align_up(used_, runtime::scratch_alignment);
    if (start > bytes_ || bytes > bytes_ - start)
    {
      throw runtime::bad_alloc(bytes, "a gpusort::workspace; gpusort::workspace_bytes says how much a call needs");
    }
    used_ = start + bytes;
    return begin_ + start;
  }

  void deallocate(char* piece, std::size_t) noexcept
  {
    used_ = static_cast<std::size_t>(piece - begin_);
  }

private:
  char* begin_;
  std::size_t bytes_;
  std::size_t used_ = 0;
};

namespace dispatch
{

/// Bytes that a sequential sort takes from a policy that brings its own memory; none if its back end does not say.
template <class Algorithm, class Element, class Key, class Compare, class = void>
struct sequential_scratch
{
  static std::size_t bytes(std::size_t)
  {
    return 0;
  }
};
template <class Algorithm, class Element, class Key, class Compare>
struct sequential_scratch<
  Algorithm,
  Element,
  Key,
  Compare,
  std::void_t<decltype(sequential_backend<Algorithm>::template scratch_bytes<Element, Key, Compare>(std::size_t{}))>>
{
  static std::size_t bytes(std::size_t n)
  {
    return sequential_backend<Algorithm>::template scratch_bytes<Element, Key, Compare>(n);
  }
};

template <class Algorithm, class Policy, class KeyIterator, class ValueIterator, class Compare>
std::size_t workspace_bytes(KeyIterator first, KeyIterator last)
{
  // A bare policy of a system that is Thrust's: Thrust answers the call.
  if constexpr (system_of_v<Policy> != system::other || !std::is_same_v<Algorithm, automatic_t>)
  {
    require_support<sort_function, Algorithm, Policy, value_of_t<KeyIterator>, Compare>();
  }
  std::ptrdiff_t const n = runtime::checked_size(static_cast<std::ptrdiff_t>(last - first));
#if defined(__CUDACC__)
  if constexpr (system_of_v<Policy> == system::cuda)
  {
    using algorithm = device_algorithm_t<Algorithm, value_of_t<KeyIterator>, Compare>;
    return n < 2 ? 0
                 : device_scratch_bytes<algorithm, KeyIterator, ValueIterator, device_compare_t<Compare>>(
                     static_cast<std::size_t>(n));
  }
#endif
  if constexpr (system_of_v<Policy> == system::sequential && has_own_memory_v<Policy>)
  {
    using element = runtime::element_t<decltype(dispatch::elements_from(first, std::declval<ValueIterator>()))>;
    return n < 2 ? 0
                 : sequential_scratch<Algorithm, element, value_of_t<KeyIterator>, Compare>::bytes(
                     static_cast<std::size_t>(n));
  }
  (void) n;
  return 0;
}

// What stands where a policy does, as an algorithm and a policy.
template <class Policy, class... Iterators>
Policy policy_of(thrust::detail::execution_policy_base<Policy> const&, Iterators...);
template <class Algorithm, class Policy, class... Iterators>
Policy policy_of(with_algorithm<Algorithm, Policy> const&, Iterators...);
template <class Algorithm, class Iterator, class... Iterators>
typename thrust::iterator_system<Iterator>::type policy_of(algorithm<Algorithm> const&, Iterator, Iterators...);

template <class Policy>
automatic_t algorithm_of(thrust::detail::execution_policy_base<Policy> const&);
template <class Algorithm, class Policy>
Algorithm algorithm_of(with_algorithm<Algorithm, Policy> const&);
template <class Algorithm>
Algorithm algorithm_of(algorithm<Algorithm> const&);

} // namespace dispatch

/// Bytes of scratch memory that `gpusort::sort(policy, first, last, comp)` and `stable_sort` take from the policy's
/// allocator. `policy` is a policy, a tag or a tag around a policy, as in the call. With a workspace of that size the
/// call allocates nothing. Fewer elements may take a little more, where they are sorted another way: a workspace for calls of
/// up to n elements has all that these take with a sixteenth and 128 KB more than n take. 0 for sequential policies without an
/// allocator, which take memory from the heap, and for systems whose sort is Thrust's.
/// Complexity: O(1); no memory is read. Throws: std::runtime_error if last < first.
template <class Policy, class I, class Compare = dispatch::default_compare_t<I>>
std::size_t workspace_bytes(Policy const& policy, I first, I last, Compare = Compare{})
{
  (void) policy;
  return dispatch::workspace_bytes<decltype(dispatch::algorithm_of(policy)),
                                   decltype(dispatch::policy_of(policy, first)),
                                   I,
                                   dispatch::no_values,
                                   Compare>(first, last);
}

/// The same for `sort_by_key(policy, keys_first, keys_last, values_first, comp)` and `stable_sort_by_key`.
template <class Policy, class I, class J, class Compare = dispatch::default_compare_t<I>>
std::size_t workspace_bytes_by_key(Policy const& policy, I keys_first, I keys_last, J values_first, Compare = Compare{})
{
  (void) policy;
  (void) values_first;
  return dispatch::workspace_bytes<decltype(dispatch::algorithm_of(policy)),
                                   decltype(dispatch::policy_of(policy, keys_first)),
                                   I,
                                   J,
                                   Compare>(keys_first, keys_last);
}

} // namespace gpusort
