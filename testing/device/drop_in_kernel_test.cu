// thrust::seq in device code: every algorithm in its sequential form, on a thread of a kernel.
#include <testing/support/types.cuh>

#include <gpusort/sort.h>
#include <gtest/gtest.h>

#include <thrust/execution_policy.h>
#include <thrust/functional.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

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
                                                : "thrust_device";
  }
};

using calls = ::testing::
  Types<by_quicksort, by_hybrid_sort, by_merge_sort, by_radix_sort, by_automatic, by_bare_seq, by_the_device_policy>;
TYPED_TEST_SUITE(in_kernel, calls, call_names);

TYPED_TEST(in_kernel, SortsARowInEachThread)
{
  constexpr std::size_t size = std::size_t{rows} * row_stride;
  std::vector<key> in(size);
  for (std::size_t i = 0; i < size; ++i)
  {
    in[i] = static_cast<key>((i * 2654435761u >> 4) % 101); // ties in every row of some length
  }
  key* keys   = nullptr;
  key* pairs  = nullptr;
  int* values = nullptr;
  require(cudaMallocManaged(&keys, size * sizeof(key)), "keys");
  require(cudaMallocManaged(&pairs, size * sizeof(key)), "keys of pairs");
  require(cudaMallocManaged(&values, size * sizeof(int)), "values");
  std::copy(in.begin(), in.end(), keys);
  std::copy(in.begin(), in.end(), pairs);
  std::iota(values, values + size, 0);

  sort_rows<TypeParam><<<1, rows>>>(keys, pairs, values);
  require(cudaGetLastError(), "launch");
  require(cudaDeviceSynchronize(), "kernel");

  for (int row = 0; row < rows; ++row)
  {
    SCOPED_TRACE(::testing::Message() << "row of " << 5 * row);
    std::size_t const begin = static_cast<std::size_t>(row) * row_stride;
    std::size_t const end   = begin + static_cast<std::size_t>(5 * row);
    std::size_t const next  = begin + row_stride;

    // Everything behind the row is as it was.
    EXPECT_TRUE(std::equal(keys + end, keys + next, in.data() + end));
    EXPECT_TRUE(std::equal(pairs + end, pairs + next, in.data() + end));

    std::vector<int> positions(end - begin);
    std::iota(positions.begin(), positions.end(), static_cast<int>(begin));
    std::stable_sort(positions.begin(), positions.end(), [&](int a, int b) {
      return in[static_cast<std::size_t>(a)] < in[static_cast<std::size_t>(b)];
    });
    std::vector<int> found(values + begin, values + end);
    for (std::size_t i = begin; i < end; ++i)
    {
      key const expected = in[static_cast<std::size_t>(positions[i - begin])];
      ASSERT_EQ(keys[i], expected) << "at " << i - begin;
      ASSERT_EQ(pairs[i], expected) << "at " << i - begin;
      ASSERT_EQ(in[static_cast<std::size_t>(values[i])], expected) << "the value left its key, at " << i - begin;
    }
    if constexpr (!TypeParam::stable)
    {
      std::sort(found.begin(), found.end());
      std::sort(positions.begin(), positions.end());
    }
    EXPECT_EQ(found, positions);
  }
  require(cudaFree(keys), "cudaFree");
  require(cudaFree(pairs), "cudaFree");
  require(cudaFree(values), "cudaFree");
}

} // namespace
} // namespace gpusort::testing
