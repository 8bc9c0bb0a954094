// The algorithm tags, what each promises, and the two templates through which new ones are added.
#pragma once

#include <gpusort/radix/fields.h>

#include <thrust/detail/execution_policy.h>

#include <cstddef>
#include <type_traits>

namespace gpusort
{

/// The value type of a call that sorts keys alone.
struct no_value
{};

/// The base of `algorithm` and `with_algorithm`: what may stand where Thrust has an execution policy.
template <class Derived>
struct tagged
{
  __host__ __device__ constexpr Derived const& self() const
  {
    return static_cast<Derived const&>(*this);
  }
};

/// An execution policy together with the algorithm that is to run under it.
template <class Algorithm, class Policy>
struct with_algorithm : tagged<with_algorithm<Algorithm, Policy>>
{
  using algorithm_type = Algorithm;
  using policy_type    = Policy;

  // Mutable because Thrust's own customisation points take policies by non-const reference.
  mutable Policy policy;

  __host__ __device__ explicit constexpr with_algorithm(Policy const& p)
      : policy(p)
  {}
};

/// The base of every algorithm tag. A tag alone means "this algorithm, on the system of the iterators";
/// called with a policy it means "this algorithm, under that policy", and keeps a copy of the policy.
///
/// A tag `T` states `static constexpr bool is_stable` and `template <class Key, class Compare> static constexpr bool
/// supports`. How it sorts is said by specialising `gpusort::sequential_backend<T>`, `gpusort::device_backend<T>`, or both.
template <class Derived>
struct algorithm : tagged<Derived>
{
  template <class Policy>
  __host__ __device__ constexpr with_algorithm<Derived, Policy>
  operator()(thrust::detail::execution_policy_base<Policy> const& policy) const
  {
    return with_algorithm<Derived, Policy>(static_cast<Policy const&>(policy));
  }
};

namespace detail
{
struct no_backend
{};
} // namespace detail

/// How `Algorithm` sorts on the sequential systems (`thrust::seq`, `thrust::host`), in host and device code.
/// A specialisation has
/// ```
/// template <class Policy, class Iterator, class KeyOf, class Compare>
/// __host__ __device__ static void sort(Policy& policy, Iterator first, Iterator last, KeyOf key_of, Compare comp);
/// ```
/// which orders the elements `[first, last)` by `comp(key_of(a), key_of(b))`. With values the elements are pairs, seen
/// through a zip_iterator; `policy` is where scratch memory comes from. If it also has
/// ```
/// template <class Element, class Key, class Compare>
/// static std::size_t scratch_bytes(std::size_t n);
/// ```
/// then that is what `workspace_bytes` says for a policy that brings its own memory; without it, 0.
template <class Algorithm>
struct sequential_backend : detail::no_backend
{};

/// How `Algorithm` sorts on the GPU. A specialisation has
/// ```
/// template <class Key, class Value, class Compare>
/// static std::size_t scratch_bytes(std::size_t n);
/// template <class Key, class Value, class Compare>
/// static void sort(cudaStream_t stream, void* scratch, Key* keys, Value* values, std::size_t n, Compare comp);
/// ```
/// `sort` enqueues on `stream` and returns: it neither waits nor allocates. `scratch` is aligned to 256 bytes and stays
/// alive until the stream has passed the call. `n` is at least 2. Without values, `Value` is `no_value` and `values`
/// null. Keys and values may be moved by their bytes: larger and richer types are sorted by index before they get here.
template <class Algorithm>
struct device_backend : detail::no_backend
{};

/// What a bare policy means. On the GPU radix sort when the keys have a radix order under the comparator, and otherwise hybrid sort,
/// which merges what is not worth a split; but merge sort for keys that may be numbers or addresses of what is compared: pointers under a comparator of
/// the user's, and integers of 4 bytes or more under one that may carry an address. On the host radix sort for keys of up to 64 bits that have such an order, and otherwise the C++
/// library's stable sort. Stable; O(n log n) or O(n x bytes of a key).
struct automatic_t : algorithm<automatic_t>
{
  static constexpr bool is_stable = true;
  template <class Key, class Compare>
  static constexpr bool supports = true;
};

/// Three-way quicksort with sampled pivots and a depth bound; on the GPU, what is not worth a partition is merged. Not stable;
/// O(n log n).
/// Source: Cederman and Tsigas, GPU-Quicksort, section 3.
struct quicksort_t : algorithm<quicksort_t>
{
  static constexpr bool is_stable = false;
  template <class Key, class Compare>
  static constexpr bool supports = true;
};

/// A split into buckets by sampled splitters, then a merge sort of each bucket; on the GPU, what is not worth a split is merged
/// whole, and numbers are sorted by their values, and records by a number in them, where the comparator says of all neighbours that it does so too. Stable;
/// O(n log n).
/// Source: Sintorn and Assarsson, Fast Parallel GPU-Sorting Using a Hybrid Algorithm.
struct hybrid_sort_t : algorithm<hybrid_sort_t>
{
  static constexpr bool is_stable = true;
  template <class Key, class Compare>
  static constexpr bool supports = true;
};

/// Block sort, then merge passes: many runs at once by splitters, or pairs by merge path. Stable; O(n log n).
/// Source: Satish, Harris and Garland, section IV.
struct merge_sort_t : algorithm<merge_sort_t>
{
  static constexpr bool is_stable = true;
  template <class Key, class Compare>
  static constexpr bool supports = true;
};

/// Radix sort: by the least significant digit first, or, on the GPU where a look at the keys shows that it pays, by the most
/// significant bits first and then inside blocks. Stable; O(n x bytes of a key, or of the fields that it is ordered by), on the GPU
/// O(n log n) where uneven integers of 8 or 16 bytes are split and merged.
/// Source: Satish, Harris and Garland, section III.
struct radix_sort_t : algorithm<radix_sort_t>
{
  static constexpr bool is_stable = true;
  template <class Key, class Compare>
  static constexpr bool supports = radix::has_image_v<Key, Compare>;
};

inline constexpr automatic_t automatic{};
inline constexpr quicksort_t quicksort{};
inline constexpr hybrid_sort_t hybrid_sort{};
inline constexpr merge_sort_t merge_sort{};
inline constexpr radix_sort_t radix_sort{};

/// Whether `Algorithm` keeps equivalent elements in their input order.
template <class Algorithm>
inline constexpr bool is_stable_v = Algorithm::is_stable;

/// Whether sorting `Key`s under `Compare` is sorting unsigned integers digit by digit: integers of 8 to 128 bits, bool,
/// character types, float, double, __half, __nv_bfloat16, enums, and `cuda::std` tuples, `cuda::std` pairs and std::pairs of
/// all these, under `less` or `greater` of `thrust::`, `cuda::std::` or `std::`, for the type itself or `void`; and keys of
/// any type under `gpusort::by` and `gpusort::descending` (`order.h`). Not where a program compares in a way of its own: by
/// an operator for the enum, the pair or the tuple, from C++20 on `<=>` for an enum in a pair, or by `less` or `greater`
/// specialised for the type.
template <class Key, class Compare>
inline constexpr bool has_radix_order_v = radix::has_image_v<Key, Compare>;

/// Whether `Algorithm` can sort `Key`s under `Compare`.
template <class Algorithm, class Key, class Compare>
inline constexpr bool supports_v = Algorithm::template supports<Key, Compare>;

/// The algorithm that `automatic` runs on the GPU for `Key`s under `Compare`. Where that is merge sort, hybrid sort splits large
/// inputs first, unless keys may be numbers or addresses of what is compared, with the same result.
template <class Key, class Compare>
using selected_t = std::conditional_t<has_radix_order_v<Key, Compare>, radix_sort_t, merge_sort_t>;

} // namespace gpusort
