// Quicksort, one step after the other: three-way partitions, an explicit stack, and a bound on bad luck.
#pragma once

#include <gpusort/runtime/sequential.h>

#include <cuda/std/detail/__config>
#include <cuda/std/utility>

#include <cstddef>

namespace gpusort::quick
{

/// Up to here the alternative sort takes over; on the GPU it is what one block can hold. From 16 to 64 the time for
/// integers hardly changes, and comparisons, which may be dear, grow with the square.
inline constexpr std::ptrdiff_t short_length = 16;

/// From here on nine candidates for the pivot are worth their comparisons.
inline constexpr std::ptrdiff_t long_length = 128;

/// A part of the range that is still to be sorted, and how many more partitions may be spent on it.
struct segment
{
  std::ptrdiff_t begin;
  std::ptrdiff_t n;
  int partitions_left;
};

/// Of a segment popped from the stack the larger part goes back below the smaller one, so what lies above k waiting
/// segments is at most n / 2^k long: 63 levels serve every n.
inline constexpr int stack_size = 64;

__host__ __device__ constexpr int floor_log2(std::ptrdiff_t n)
{
  int log = 0;
  while (n > 1)
  {
    n /= 2;
    ++log;
  }
  return log;
}

_CCCL_EXEC_CHECK_DISABLE
template <class Iterator>
__host__ __device__ void swap_elements(Iterator a, Iterator b)
{
  if (a != b)
  {
    runtime::element_t<Iterator> element = ::cuda::std::move(*a);
    runtime::move_element(*a, *b);
    runtime::move_element(*b, element);
  }
}

_CCCL_EXEC_CHECK_DISABLE
template <class Iterator, class Less>
__host__ __device__ Iterator median(Iterator a, Iterator b, Iterator c, Less& less)
{
  if (less(*a, *b))
  {
    return less(*b, *c) ? b : (less(*a, *c) ? c : a);
  }
  return less(*a, *c) ? a : (less(*b, *c) ? c : b);
}

/// Where the pivot of [first, first + n) stands: the median of the first, middle and last element, as the paper chooses
/// it in its second phase (section 5.2, after Singleton). Its first phase averages the smallest and the largest value,
/// which a comparator cannot; long segments take the median of three such medians instead.
_CCCL_EXEC_CHECK_DISABLE
template <class Iterator, class Less>
__host__ __device__ Iterator choose_pivot(Iterator first, std::ptrdiff_t n, Less& less)
{
  Iterator const middle = first + n / 2;
  Iterator const last   = first + (n - 1);
  if (n < long_length)
  {
    return quick::median(first, middle, last, less);
  }
  std::ptrdiff_t const step = n / 8;
  return quick::median(quick::median(first, first + step, first + 2 * step, less),
                       quick::median(middle - step, middle, middle + step, less),
                       quick::median(last - 2 * step, last - step, last, less),
                       less);
}

/// Elements of a segment in front of `less_end` go before the pivot, those from `greater_begin` on after it; those
/// between are equivalent to it and in their final places.
template <class Iterator>
struct partition_bounds
{
  Iterator less_end;
  Iterator greater_begin;
};

/// Partitions [first, last), in place, around the value that stands at `pivot_at`.
/// Source: Cederman and Tsigas, section 3.1.1. Their blocks count first, then write less and greater elements to the two
/// ends of a second buffer and fill the gap with the pivot; one thread can swap, and moves the equivalent elements
/// themselves into the gap, because they carry values.
_CCCL_EXEC_CHECK_DISABLE
template <class Iterator, class Less>
__host__ __device__ partition_bounds<Iterator>
partition_three_ways(Iterator first, Iterator last, Iterator pivot_at, Less& less)
{
  runtime::element_t<Iterator> pivot = *pivot_at;
  Iterator less_end                  = first;
  Iterator next                      = first;
  Iterator greater_begin             = last;
  while (next != greater_begin)
  {
    if (less(*next, pivot))
    {
      quick::swap_elements(less_end, next);
      ++less_end;
      ++next;
    }
    else if (less(pivot, *next))
    {
      --greater_begin;
      quick::swap_elements(next, greater_begin);
    }
    else
    {
      ++next;
    }
  }
  return {less_end, greater_begin};
}

/// Lets the element at `hole` sink in the heap of n elements at `first` until none below it goes after it.
_CCCL_EXEC_CHECK_DISABLE
template <class Iterator, class Less>
__host__ __device__ void sift_down(Iterator first, std::ptrdiff_t n, std::ptrdiff_t hole, Less& less)
{
  runtime::element_t<Iterator> element = ::cuda::std::move(*(first + hole));
  while (hole < n / 2)
  {
    std::ptrdiff_t child = 2 * hole + 1;
    if (child + 1 < n && less(*(first + child), *(first + (child + 1))))
    {
      ++child;
    }
    if (!less(element, *(first + child)))
    {
      break;
    }
    runtime::move_element(*(first + hole), *(first + child));
    hole = child;
  }
  runtime::move_element(*(first + hole), element);
}

/// Orders [first, first + n) under `less`.
/// Complexity: O(n log n), whatever the input. Stability: not stable. Memory: one element.
_CCCL_EXEC_CHECK_DISABLE
template <class Iterator, class Less>
__host__ __device__ void heap_sort(Iterator first, std::ptrdiff_t n, Less& less)
{
  for (std::ptrdiff_t root = n / 2; root > 0; --root)
  {
    quick::sift_down(first, n, root - 1, less);
  }
  for (std::ptrdiff_t end = n - 1; end > 0; --end)
  {
    quick::swap_elements(first, first + end);
    quick::sift_down(first, end, 0, less);
  }
}

/// Orders [first, last) by `comp(key_of(a), key_of(b))` with a three-way quicksort. All equivalent to the pivot are done
/// after one partition, so constant input takes one pass.
/// Complexity: O(n log n): a segment that 2 log2 n partitions have not finished is heap-sorted.
/// Stability: not stable.
/// Memory: none but the stack, of at most log2 n segments.
/// Requires: random access iterators, possibly with proxies; elements that can be copied and moved. A `comp` that is no
///   strict weak ordering leaves the elements in some other order.
/// Throws: whatever `comp` and the elements throw, with every element destructible and of unspecified value.
/// Source: Cederman and Tsigas, sections 3.1 and 3.2.2; the bound and its remedy are those of introsort (Musser 1997),
///   which they measure against.
_CCCL_EXEC_CHECK_DISABLE
template <class Policy, class Iterator, class KeyOf, class Compare>
__host__ __device__ void sequential_sort(Policy&, Iterator first, Iterator last, KeyOf key_of, Compare comp)
{
  runtime::element_order<KeyOf, Compare> less{key_of, comp};
  std::ptrdiff_t const n = last - first;
  if (n <= short_length)
  {
    runtime::insertion_sort(first, last, less);
    return;
  }
  segment stack[stack_size];
  int waiting      = 0;
  stack[waiting++] = {0, n, 2 * floor_log2(n)};
  while (waiting > 0)
  {
    segment const s      = stack[--waiting];
    Iterator const begin = first + s.begin;
    Iterator const end   = begin + s.n;
    if (s.n <= short_length)
    {
      runtime::insertion_sort(begin, end, less);
      continue;
    }
    if (s.partitions_left == 0)
    {
      quick::heap_sort(begin, s.n, less);
      continue;
    }
    auto const bounds = quick::partition_three_ways(begin, end, quick::choose_pivot(begin, s.n, less), less);
    segment const lower{s.begin, bounds.less_end - begin, s.partitions_left - 1};
    segment const upper{bounds.greater_begin - first, end - bounds.greater_begin, s.partitions_left - 1};

    // Smaller side on top, as Hoare and Sedgewick advise: see stack_size.
    bool const lower_is_larger = lower.n > upper.n;
    segment const& larger      = lower_is_larger ? lower : upper;
    segment const& smaller     = lower_is_larger ? upper : lower;
    if (larger.n > 1)
    {
      stack[waiting++] = larger;
    }
    if (smaller.n > 1)
    {
      stack[waiting++] = smaller;
    }
  }
}

} // namespace gpusort::quick
