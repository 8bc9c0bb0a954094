// Radix sort, one step after the other: a counting sort for each digit, the least significant first.
#pragma once

#include <gpusort/radix/fields.h>
#include <gpusort/radix/key_order.h>
#include <gpusort/runtime/sequential.h>
#include <gpusort/runtime/temporary.h>

#include <cuda/std/detail/__config>
#include <cuda/std/utility>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace gpusort::radix
{

/// How many digits a key has under an order.
template <class Key, class Compare>
inline constexpr int digits_v = (image_of<Key, Compare>::bits + digit_bits - 1) / digit_bits;

/// The digits of elements' keys, the least significant being the 0-th.
template <class Key, class KeyOf, class Compare>
struct element_digit
{
  KeyOf key_of;
  Compare comp;

  _CCCL_EXEC_CHECK_DISABLE
  template <class Element>
  __host__ __device__ unsigned operator()(Element const& element, int d) const
  {
    return image_of<Key, Compare>::template read<std::uint8_t>(comp, key_of(element), d * digit_bits);
  }
};

/// Adds the elements' digits to `counts`: one row of `radix_size` numbers for each digit. Counts do not depend on the
/// order of the elements, so one read serves all passes.
_CCCL_EXEC_CHECK_DISABLE
template <class Iterator, class DigitOf>
__host__ __device__ void
count_digits(Iterator first, std::ptrdiff_t n, std::ptrdiff_t* counts, int digits, DigitOf const& digit_of)
{
  for (std::ptrdiff_t i = 0; i < n; ++i)
  {
    for (int d = 0; d < digits; ++d)
    {
      ++counts[d * radix_size + static_cast<int>(digit_of(*(first + i), d))];
    }
  }
}

/// Whether a digit tells some of the n keys apart.
__host__ __device__ inline bool is_mixed(std::ptrdiff_t const* counts, std::ptrdiff_t n)
{
  for (int b = 0; b < radix_size; ++b)
  {
    if (counts[b] != 0)
    {
      return counts[b] != n;
    }
  }
  return false;
}

/// Moves n elements from `in` to `out`, ordered by digit d and otherwise as they were. `counts` is used up.
/// Source: Satish, Harris and Garland, section III: the rank of an element is the number of keys with a smaller digit
/// plus the number of earlier keys with the same one.
_CCCL_EXEC_CHECK_DISABLE
template <class In, class Out, class DigitOf>
__host__ __device__ void
scatter_by_digit(In in, Out out, std::ptrdiff_t n, std::ptrdiff_t* counts, int d, DigitOf const& digit_of)
{
  std::ptrdiff_t sum = 0;
  for (int b = 0; b < radix_size; ++b)
  {
    std::ptrdiff_t const count = counts[b];
    counts[b]                  = sum;
    sum += count;
  }
  for (std::ptrdiff_t i = 0; i < n; ++i)
  {
    std::ptrdiff_t const rank = counts[digit_of(*(in + i), d)]++;
    runtime::move_element(*(out + rank), *(in + i));
  }
}

/// Bytes that `sequential_sort` takes from a policy with memory of its own.
template <class Element, class Key, class Compare>
std::size_t sequential_bytes(std::size_t n)
{
  return runtime::bytes_of_pieces(
    runtime::temporary_bytes<std::ptrdiff_t>(std::size_t{digits_v<Key, Compare>} * radix_size),
    runtime::temporary_bytes<Element>(n));
}

/// Orders [first, last) by the keys `key_of(element)` under `comp`, which is never called: it says how a key is read as an
/// unsigned integer (`fields.h`).
/// Complexity: O(n x bytes of that integer); digits that are the same in all keys cost only the counting.
/// Stability: stable.
/// Memory: n elements and the counts of all digits, from the policy if `UseOwnMemory`, from the heap otherwise.
/// Requires: random access iterators, possibly with proxies; elements that can be copied and moved;
///   `has_image_v<Key, Compare>`.
/// Throws: a type derived from std::bad_alloc, with the range as it was; whatever the elements throw when moved. In
///   device code missing memory stops the kernel.
/// Source: Satish, Harris and Garland, section III; digits of 8 bits instead of their 4, because a thread with a cache
///   need not gather its writes first.
_CCCL_EXEC_CHECK_DISABLE
template <bool UseOwnMemory, class Policy, class Iterator, class KeyOf, class Compare>
__host__ __device__ void sequential_sort(Policy& policy, Iterator first, Iterator last, KeyOf key_of, Compare comp)
{
  using element        = runtime::element_t<Iterator>;
  using key            = std::decay_t<decltype(key_of(std::declval<element const&>()))>;
  using digit          = element_digit<key, KeyOf, Compare>;
  constexpr int digits = digits_v<key, Compare>;

  std::ptrdiff_t const n = last - first;
  if (n < 2)
  {
    return;
  }
  digit const digit_of{key_of, comp};
  runtime::temporary<UseOwnMemory, std::ptrdiff_t, Policy> counts(policy, digits * radix_size);
  radix::count_digits(first, n, counts.data(), digits, digit_of);

  int passes = 0;
  for (int d = 0; d < digits; ++d)
  {
    passes += is_mixed(counts.data() + d * radix_size, n) ? 1 : 0;
  }
  if (passes == 0)
  {
    return;
  }
  runtime::temporary<UseOwnMemory, element, Policy> copy(policy, first, n);
  // Range and copy hold the same elements, and every pass moves them to the other side: start where the last pass ends
  // in the range.
  bool in_range = passes % 2 == 0;
  for (int d = 0; d < digits; ++d)
  {
    std::ptrdiff_t* const row = counts.data() + d * radix_size;
    if (!is_mixed(row, n))
    {
      continue;
    }
    if (in_range)
    {
      radix::scatter_by_digit(first, copy.data(), n, row, d, digit_of);
    }
    else
    {
      radix::scatter_by_digit(copy.data(), first, n, row, d, digit_of);
    }
    in_range = !in_range;
  }
}

} // namespace gpusort::radix
