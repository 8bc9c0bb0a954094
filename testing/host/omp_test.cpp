// Thrust's OpenMP system: this library has no back end for it, so its calls are Thrust's.
#include <gpusort/sort.h>
#include <gtest/gtest.h>

#include <thrust/functional.h>
#include <thrust/sort.h>
#include <thrust/system/omp/execution_policy.h>
#include <thrust/system/omp/vector.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <numeric>
#include <vector>

#include <omp.h>

namespace gpusort::testing
{
namespace
{

constexpr std::size_t n = 100'003;

std::vector<int> some_keys()
{
  std::vector<int> keys(n);
  for (std::size_t i = 0; i < n; ++i)
  {
    keys[i] = static_cast<int>(i * 2654435761u % 1009);
  }
  return keys;
}

TEST(OpenMp, PolicyFallsThroughToThrust)
{
  std::vector<int> const before = some_keys();
  std::vector<int> keys = before, values(n), expected_keys = before, expected_values(n);
  std::iota(values.begin(), values.end(), 0);
  std::iota(expected_values.begin(), expected_values.end(), 0);
  thrust::stable_sort_by_key(
    thrust::omp::par, expected_keys.begin(), expected_keys.end(), expected_values.begin(), thrust::greater<int>{});
  gpusort::stable_sort_by_key(thrust::omp::par, keys.begin(), keys.end(), values.begin(), thrust::greater<int>{});
  EXPECT_EQ(keys, expected_keys);
  EXPECT_EQ(values, expected_values);

  std::vector<int> sorted = before;
  std::sort(sorted.begin(), sorted.end());
  keys = before;
  gpusort::sort(thrust::omp::par, keys.begin(), keys.end());
  EXPECT_EQ(keys, sorted);
  keys = before;
  gpusort::stable_sort(thrust::omp::par, keys.begin(), keys.end());
  EXPECT_EQ(keys, sorted);
  keys = before;
  gpusort::sort_by_key(thrust::omp::par, keys.begin(), keys.end(), values.begin());
  EXPECT_EQ(keys, sorted);
  keys = before;
  gpusort::sort(gpusort::automatic(thrust::omp::par), keys.begin(), keys.end());
  EXPECT_EQ(keys, sorted);
}

TEST(OpenMp, ItsThreadsDoTheWork)
{
  omp_set_num_threads(4);
  std::vector<int> keys = some_keys();
  std::atomic<int> in_parallel{0};
  gpusort::sort(thrust::omp::par, keys.begin(), keys.end(), [&](int a, int b) {
    in_parallel += omp_in_parallel();
    return a < b;
  });
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
  EXPECT_GT(in_parallel, 0);
}

TEST(OpenMp, IteratorsChooseIt)
{
  omp_set_num_threads(4);
  std::vector<int> const before = some_keys();
  thrust::omp::vector<int> keys(before.begin(), before.end());
  std::atomic<int> in_parallel{0};
  gpusort::stable_sort(keys.begin(), keys.end(), [&](int a, int b) {
    in_parallel += omp_in_parallel();
    return a > b;
  });
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end(), std::greater<>{}));
  EXPECT_GT(in_parallel, 0);
}

} // namespace
} // namespace gpusort::testing
