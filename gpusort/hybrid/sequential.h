// The hybrid sort, one step after the other: a split into buckets by sampled splitters, then a merge sort of each.
#pragma once

#include <gpusort/merge/sequential.h>
#include <gpusort/runtime/sequential.h>
#include <gpusort/runtime/temporary.h>

#include <cuda/std/detail/__config>

#include <cstddef>
#include <cstdint>

namespace gpusort::hybrid
{

/// Splitters of one split. Small, so that a thread of a kernel can hold the whole plan on its stack.
inline constexpr int splitters = 15;

/// Even buckets lie between two splitters, odd ones hold what is equivalent to a splitter.
inline constexpr int buckets = 2 * splitters + 1;

/// Elements sampled for each splitter: with eight a bucket is seldom more than three times its share.
inline constexpr int oversampling = 8;
inline constexpr int sample_size  = (splitters + 1) * oversampling - 1;

/// A bucket of this size is merge-sorted; on the GPU it is what one block can hold, some hundreds to some thousands.
inline constexpr std::ptrdiff_t bucket_length = 2048;

/// Buckets that are still larger after so many splits are merge-sorted as they are: longer ranges than 2^27, and
/// comparators that keep everything in one bucket.
inline constexpr int max_splits = 4;

/// A bucket that is still to be split.
struct segment
{
  std::ptrdiff_t begin;
  std::ptrdiff_t n;
  int splits_left;
};

/// A split takes one segment off the stack and puts at most one for each even bucket on it.
inline constexpr int stack_size = 1 + max_splits * splitters;

/// The order of elements by where they stand, so that a sample is a list of positions.
template <class Iterator, class Less>
struct position_order
{
  Iterator first;
  Less& less;

  _CCCL_EXEC_CHECK_DISABLE
  __host__ __device__ bool operator()(std::ptrdiff_t a, std::ptrdiff_t b)
  {
    return less(*(first + a), *(first + b));
  }
};

/// Writes the positions of the splitters of [first, first + n), in order, to `splitter`: every eighth of a sorted
/// sample.
/// Source: Sintorn and Assarsson, section IV, who cut the interval from the smallest to the largest number evenly and
/// refine the cuts by a histogram. That needs keys that are numbers; a sample needs only their order, and follows it.
_CCCL_EXEC_CHECK_DISABLE
template <class Iterator, class Less>
__host__ __device__ void choose_splitters(Iterator first, std::ptrdiff_t n, std::ptrdiff_t* splitter, Less& less)
{
  std::ptrdiff_t sample[sample_size];
  // A linear congruential generator (Knuth's MMIX constants): positions that no regular input is in step with, and the
  // same ones each time. Its low bits are poor.
  auto state = static_cast<std::uint64_t>(n);
  for (std::ptrdiff_t& position : sample)
  {
    state    = state * 6364136223846793005u + 1442695040888963407u;
    position = static_cast<std::ptrdiff_t>((state >> 16) % static_cast<std::uint64_t>(n));
  }
  position_order<Iterator, Less> less_at{first, less};
  runtime::insertion_sort(sample, sample + sample_size, less_at);
  for (int s = 0; s < splitters; ++s)
  {
    splitter[s] = sample[(s + 1) * oversampling - 1];
  }
}

/// The bucket of the element at `position`: by binary search the first splitter that does not go before it, then whether
/// it goes before that splitter or is equivalent to it.
/// Source: Sintorn and Assarsson, section IV. The buckets for equivalent elements are ours: they are done as they are,
/// so constant input and few distinct keys, on which the paper's split fails, are the fastest.
_CCCL_EXEC_CHECK_DISABLE
template <class Iterator, class Less>
__host__ __device__ int bucket_of(Iterator first, std::ptrdiff_t position, std::ptrdiff_t const* splitter, Less& less)
{
  int low  = 0;
  int high = splitters;
  while (low < high)
  {
    int const middle = (low + high) / 2;
    if (less(*(first + splitter[middle]), *(first + position)))
    {
      low = middle + 1;
    }
    else
    {
      high = middle;
    }
  }
  bool const is_equivalent = low < splitters && !less(*(first + position), *(first + splitter[low]));
  return 2 * low + (is_equivalent ? 1 : 0);
}

/// Moves [first, first + n) into buckets, each in input order; bucket b then ends at `bucket_end[b]`. Uses n objects at
/// `buffer` and n bytes at `bucket`.
/// Source: Sintorn and Assarsson, section IV: count and record the bucket of each element, prefix sum, reposition. They
/// count with atomics, which loses the input order; counting in order keeps it.
_CCCL_EXEC_CHECK_DISABLE
template <class Iterator, class Element, class Less>
__host__ __device__ void
split(Iterator first, std::ptrdiff_t n, Element* buffer, unsigned char* bucket, std::ptrdiff_t* bucket_end, Less& less)
{
  std::ptrdiff_t splitter[splitters];
  hybrid::choose_splitters(first, n, splitter, less);

  // Each element is classified once and its bucket recorded: the splitters still stand in their places, and a comparator
  // that changes its mind cannot make the counts wrong.
  std::ptrdiff_t count[buckets] = {};
  for (std::ptrdiff_t i = 0; i < n; ++i)
  {
    int const b = hybrid::bucket_of(first, i, splitter, less);
    bucket[i]   = static_cast<unsigned char>(b);
    ++count[b];
  }
  std::ptrdiff_t sum = 0;
  for (int b = 0; b < buckets; ++b)
  {
    bucket_end[b] = sum;
    sum += count[b];
  }
  // bucket_end begins as where the bucket begins, and moves to its end as the bucket fills.
  for (std::ptrdiff_t i = 0; i < n; ++i)
  {
    runtime::move_element(buffer[bucket_end[bucket[i]]++], *(first + i));
  }
  for (std::ptrdiff_t i = 0; i < n; ++i)
  {
    runtime::move_element(*(first + i), buffer[i]);
  }
}

/// Bytes that `sequential_sort` takes from a policy with memory of its own.
template <class Element>
std::size_t sequential_bytes(std::size_t n)
{
  return runtime::bytes_of_pieces(runtime::temporary_bytes<Element>(n), runtime::temporary_bytes<unsigned char>(n));
}

/// Orders [first, last) by `comp(key_of(a), key_of(b))` by splitting it into buckets and merge-sorting each.
/// Complexity: O(n log n) comparisons and moves, whatever the input: there are at most `max_splits` levels of splits.
/// Stability: stable.
/// Memory: n elements and n bytes, from the policy if `UseOwnMemory`, from the heap otherwise.
/// Requires: random access iterators, possibly with proxies; elements that can be copied and moved. A `comp` that is no
///   strict weak ordering leaves the elements in some other order.
/// Throws: a type derived from std::bad_alloc, with the range as it was; whatever `comp` and the elements throw, with
///   every element destructible and of unspecified value. In device code missing memory stops the kernel.
/// Source: Sintorn and Assarsson, section V.
_CCCL_EXEC_CHECK_DISABLE
template <bool UseOwnMemory, class Policy, class Iterator, class KeyOf, class Compare>
__host__ __device__ void sequential_sort(Policy& policy, Iterator first, Iterator last, KeyOf key_of, Compare comp)
{
  std::ptrdiff_t const n = last - first;
  if (n < 2)
  {
    return;
  }
  runtime::element_order<KeyOf, Compare> less{key_of, comp};
  runtime::temporary<UseOwnMemory, runtime::element_t<Iterator>, Policy> copy(policy, first, n);
  if (n <= bucket_length)
  {
    merge::sort_with_buffer(first, n, copy.data(), less);
    return;
  }
  runtime::temporary<UseOwnMemory, unsigned char, Policy> bucket(policy, n);

  segment stack[stack_size];
  int waiting      = 0;
  stack[waiting++] = {0, n, max_splits};
  while (waiting > 0)
  {
    segment const s = stack[--waiting];
    std::ptrdiff_t bucket_end[buckets];
    hybrid::split(first + s.begin, s.n, copy.data(), bucket.data(), bucket_end, less);
    for (int b = 0; b < buckets; b += 2)
    {
      std::ptrdiff_t const begin = b == 0 ? 0 : bucket_end[b - 1];
      segment const part{s.begin + begin, bucket_end[b] - begin, s.splits_left - 1};
      if (part.n > bucket_length && part.splits_left > 0)
      {
        stack[waiting++] = part;
      }
      else
      {
        merge::sort_with_buffer(first + part.begin, part.n, copy.data(), less);
      }
    }
  }
}

} // namespace gpusort::hybrid
