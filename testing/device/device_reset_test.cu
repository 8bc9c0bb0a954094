// What the library keeps between calls does not outlive the device's context.
#include <gpusort/sort.h>

#include <gtest/gtest.h>

#include <thrust/execution_policy.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace
{

void require(cudaError_t status)
{
  if (status != cudaSuccess)
  {
    throw std::runtime_error(cudaGetErrorString(status));
  }
}

template <class Algorithm>
void sort_on_a_fresh_device(Algorithm algorithm)
{
  std::vector<std::uint32_t> keys(100'000);
  std::uint32_t state = 1;
  for (auto& key : keys)
  {
    key = state = state * 1664525u + 1013904223u;
  }
  std::size_t const bytes  = keys.size() * sizeof(keys[0]);
  std::uint32_t* on_device = nullptr;
  require(cudaMalloc(&on_device, bytes));
  require(cudaMemcpy(on_device, keys.data(), bytes, cudaMemcpyHostToDevice));
  gpusort::sort(algorithm(thrust::device), on_device, on_device + keys.size());
  std::vector<std::uint32_t> sorted(keys.size());
  require(cudaMemcpy(sorted.data(), on_device, bytes, cudaMemcpyDeviceToHost));
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(sorted, keys);
  require(cudaDeviceReset());
}

TEST(DeviceReset, CallsGoOnAfterwards)
{
  for (int round = 0; round < 3; ++round)
  {
    SCOPED_TRACE(round);
    sort_on_a_fresh_device(gpusort::radix_sort);
    sort_on_a_fresh_device(gpusort::merge_sort);
    sort_on_a_fresh_device(gpusort::hybrid_sort);
    sort_on_a_fresh_device(gpusort::quicksort);
  }
}

} // namespace
