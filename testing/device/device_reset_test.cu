// What the library keeps between calls does not outlive the device's context.
#include <gpusort/runtime/dependency.cuh>
#include <gpusort/runtime/launch.cuh>
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

/// Grid: one block. Needs more shared memory than a kernel has that has not opted in.
template <class Word>
__global__ void touch_shared(Word* last, Word words)
{
  extern __shared__ std::uint32_t room[];
  gpusort::runtime::wait_for_previous_kernel();
  room[words - 1] = words;
  *last           = room[words - 1];
}

/// Opting in belongs to the context, and what a thread knows of it must not outlive that.
TEST(DeviceReset, KernelsOptInAgain)
{
  namespace runtime             = gpusort::runtime;
  constexpr std::uint32_t words = runtime::least_shared_bytes / sizeof(std::uint32_t) - 1024;
  for (int round = 0; round < 3; ++round)
  {
    SCOPED_TRACE(round);
    std::uint32_t* on_device = nullptr;
    require(cudaMalloc(&on_device, sizeof(words)));
    runtime::launch(touch_shared<std::uint32_t>, {1, 1, words * sizeof(std::uint32_t)}, nullptr, on_device, words);
    std::uint32_t last = 0;
    require(cudaMemcpy(&last, on_device, sizeof(last), cudaMemcpyDeviceToHost));
    EXPECT_EQ(last, words);
    require(cudaDeviceReset());
  }
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
