// thrust::seq in device code: every algorithm in its sequential form, on a thread of a kernel.
#include <testing/support/device_memory.cuh>
#include <testing/support/types.cuh>

#include <gpusort/sort.h>
#include <gtest/gtest.h>

#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/permutation_iterator.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <type_traits>

namespace gpusort::testing
{
namespace
{

using key = std::uint32_t;

// Row r has 5 r elements: from nothing to more than any threshold between a short range and a long one.
constexpr int rows       = 96;
constexpr int row_stride = 5 * rows;

/// What a thread does with its row: one struct for each call that a kernel may contain.
struct by_quicksort
{
  static constexpr bool stable = false;
  __device__ static void keys(key* first, key* last)
  {
    gpusort::sort(gpusort::quicksort(thrust::seq), first, last);
  }
  __device__ static void pairs(key* first, key* last, int* values)
  {
    gpusort::sort_by_key(gpusort::quicksort(thrust::seq), first, last, values, thrust::less<key>{});
  }
};
struct by_hybrid_sort
{
  static constexpr bool stable = true;
  __device__ static void keys(key* first, key* last)
  {
    gpusort::stable_sort(gpusort::hybrid_sort(thrust::seq), first, last);
  }
  __device__ static void pairs(key* first, key* last, int* values)
  {
    gpusort::stable_sort_by_key(gpusort::hybrid_sort(thrust::seq), first, last, values);
  }
};
struct by_merge_sort
{
  static constexpr bool stable = true;
  __device__ static void keys(key* first, key* last)
  {
    gpusort::sort(gpusort::merge_sort(thrust::seq), first, last, thrust::less<key>{});
  }
  __device__ static void pairs(key* first, key* last, int* values)
  {
    gpusort::stable_sort_by_key(gpusort::merge_sort(thrust::seq), first, last, values);
  }
};
struct by_radix_sort
{
  static constexpr bool stable = true;
  __device__ static void keys(key* first, key* last)
  {
    gpusort::stable_sort(gpusort::radix_sort(thrust::seq), first, last);
  }
  __device__ static void pairs(key* first, key* last, int* values)
  {
    gpusort::sort_by_key(gpusort::radix_sort(thrust::seq), first, last, values);
  }
};
struct by_automatic
{
  static constexpr bool stable = true;
  __device__ static void keys(key* first, key* last)
  {
    gpusort::sort(gpusort::automatic(thrust::seq), first, last);
  }
  __device__ static void pairs(key* first, key* last, int* values)
  {
    gpusort::sort_by_key(gpusort::automatic(thrust::seq), first, last, values);
  }
};
struct by_bare_seq
{
  static constexpr bool stable = true;
  __device__ static void keys(key* first, key* last)
  {
    gpusort::sort(thrust::seq, first, last);
  }
  __device__ static void pairs(key* first, key* last, int* values)
  {
    gpusort::stable_sort_by_key(thrust::seq, first, last, values, thrust::less<key>{});
  }
};
/// In device code there is nobody to launch kernels: the calling thread sorts.
struct by_the_device_policy
{
  static constexpr bool stable = true;
  __device__ static void keys(key* first, key* last)
  {
    gpusort::sort(thrust::device, first, last);
  }
  __device__ static void pairs(key* first, key* last, int* values)
  {
    gpusort::stable_sort_by_key(thrust::device, first, last, values);
  }
};

/// Behind these iterators are Thrust's references, which a comparator for any type does not see.
struct less_of_any
{
  template <class T>
  __device__ bool operator()(T const& a, T const& b) const
  {
    return a < b;
  }
};
struct by_references
{
  static constexpr bool stable = true;
  __device__ static auto in_place(key* first)
  {
    return thrust::make_permutation_iterator(thrust::device_pointer_cast(first), thrust::make_counting_iterator(0));
  }
  __device__ static void keys(key* first, key* last)
  {
    gpusort::stable_sort(thrust::seq, in_place(first), in_place(first) + (last - first), less_of_any{});
  }
  __device__ static void pairs(key* first, key* last, int* values)
  {
    gpusort::stable_sort_by_key(thrust::seq, in_place(first), in_place(first) + (last - first), values, less_of_any{});
  }
};

template <class Call>
__global__ void sort_rows(key* keys, key* pair_keys, int* values)
{
  int const row = static_cast<int>(threadIdx.x);
  int const at  = row * row_stride;
  Call::keys(keys + at, keys + at + 5 * row);
  Call::pairs(pair_keys + at, pair_keys + at + 5 * row, values + at);
}

template <class Call>
class in_kernel : public ::testing::Test
{};

struct call_names
{
  template <class Call>
  static std::string GetName(int)
  {
    return std::is_same_v<Call, by_quicksort>   ? "quicksort"
         : std::is_same_v<Call, by_hybrid_sort> ? "hybrid_sort"
         : std::is_same_v<Call, by_merge_sort>  ? "merge_sort"
         : std::is_same_v<Call, by_radix_sort>  ? "radix_sort"
         : std::is_same_v<Call, by_automatic>   ? "automatic"
         : std::is_same_v<Call, by_bare_seq>    ? "thrust_seq"
         : std::is_same_v<Call, by_references>  ? "references"
                                                : "thrust_device";
  }
};

using calls =
  ::testing::Types<by_quicksort,
                   by_hybrid_sort,
                   by_merge_sort,
                   by_radix_sort,
                   by_automatic,
                   by_bare_seq,
                   by_references,
                   by_the_device_policy>;
TYPED_TEST_SUITE(in_kernel, calls, call_names);

TYPED_TEST(in_kernel, SortsARowInEachThread)
{
  constexpr std::size_t size = std::size_t{rows} * row_stride;
  host_array<key> in(size);
  for (std::size_t i = 0; i < size; ++i)
  {
    in[i] = static_cast<key>((i * 2654435761u >> 4) % 101); // ties in every row of some length
  }
  host_array<int> positions(size);
  std::iota(positions.begin(), positions.end(), 0);

  guarded_array<key> keys(size), pairs(size);
  guarded_array<int> values(size);
  keys.load(in);
  pairs.load(in);
  values.load(positions);
  sort_rows<TypeParam><<<1, rows>>>(keys.begin(), pairs.begin(), values.begin());
  require(cudaGetLastError(), "launch");
  require(cudaDeviceSynchronize(), "kernel");

  // Everything behind a row stays as it was.
  for (int row = 0; row < rows; ++row)
  {
    int* const first = positions.begin() + row * row_stride;
    std::stable_sort(first, first + 5 * row, [&](int a, int b) {
      return in[static_cast<std::size_t>(a)] < in[static_cast<std::size_t>(b)];
    });
  }
  host_array<key> expected(size);
  for (std::size_t i = 0; i < size; ++i)
  {
    expected[i] = in[static_cast<std::size_t>(positions[i])];
  }
  EXPECT_TRUE(keys.holds(expected));
  EXPECT_TRUE(pairs.holds(expected));
  if constexpr (TypeParam::stable)
  {
    EXPECT_TRUE(values.holds(positions));
  }
  else
  {
    host_array<int> const found = values.read();
    for (int row = 0; row < rows; ++row)
    {
      SCOPED_TRACE(::testing::Message() << "row of " << 5 * row);
      int const begin = row * row_stride, end = begin + 5 * row;
      ASSERT_TRUE(std::is_permutation(found.begin() + begin, found.begin() + end, positions.begin() + begin));
      EXPECT_TRUE(std::equal(found.begin() + end, found.begin() + begin + row_stride, positions.begin() + end));
      for (std::size_t i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
      {
        ASSERT_EQ(in[static_cast<std::size_t>(found[i])], expected[i]) << "the value left its key, at " << i;
      }
    }
  }
}

} // namespace
} // namespace gpusort::testing
