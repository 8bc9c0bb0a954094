// Streams and memory: which stream a call uses, whether it waits, and where its scratch memory comes from.
#include "has_gpu.h"

#include <gpusort/sort.h>
#include <gpusort/workspace.h>

#include <cuda_runtime.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/host_vector.h>
#include <thrust/system/cuda/execution_policy.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <random>

using host_keys = thrust::host_vector<unsigned>;

bool is_sorted(thrust::device_vector<unsigned> const& keys)
{
  host_keys const out = keys;
  return std::is_sorted(out.begin(), out.end());
}

// Any type with these three members will do as an allocator.
struct counting_allocator
{
  using value_type = char;

  bool on_gpu;
  int allocations   = 0;
  int deallocations = 0;

  char* allocate(std::ptrdiff_t bytes)
  {
    ++allocations;
    void* memory    = nullptr;
    auto const size = static_cast<std::size_t>(bytes);
    if (on_gpu ? cudaMalloc(&memory, size) != cudaSuccess : (memory = std::malloc(size)) == nullptr)
    {
      throw std::bad_alloc();
    }
    return static_cast<char*>(memory);
  }

  void deallocate(char* memory, std::size_t)
  {
    ++deallocations;
    on_gpu ? static_cast<void>(cudaFree(memory)) : std::free(memory);
  }
};

bool on_gpu(host_keys const& input)
{
  cudaStream_t stream = nullptr;
  if (cudaStreamCreate(&stream) != cudaSuccess)
  {
    return false;
  }

  // On a stream of our own, with stream-ordered scratch memory; waits for the result.
  thrust::device_vector<unsigned> keys = input;
  gpusort::sort(thrust::cuda::par.on(stream), keys.begin(), keys.end());
  bool right = is_sorted(keys);

  // Without waiting and without allocating: the workspace serves call after call on this stream.
  thrust::device_vector<unsigned> other = input;
  keys                                  = input;
  std::size_t const bytes = gpusort::workspace_bytes(thrust::cuda::par_nosync.on(stream), keys.begin(), keys.end());
  thrust::device_vector<char> scratch(bytes);
  gpusort::workspace workspace{thrust::raw_pointer_cast(scratch.data()), bytes};
  auto const policy = thrust::cuda::par_nosync(workspace).on(stream);
  gpusort::sort(policy, keys.begin(), keys.end());
  gpusort::sort(policy, other.begin(), other.end());
  cudaStreamSynchronize(stream);
  right = right && is_sorted(keys) && is_sorted(other);

  // A workspace that is too small is noticed before anything is touched.
  gpusort::workspace too_small{thrust::raw_pointer_cast(scratch.data()), 16};
  keys = input;
  try
  {
    gpusort::sort(thrust::cuda::par_nosync(too_small).on(stream), keys.begin(), keys.end());
    right = false;
  }
  catch (std::bad_alloc const&)
  {
    right = right && keys == input;
  }

  // An allocator of our own, here with a tag that names the algorithm as well.
  counting_allocator allocator{true};
  gpusort::sort(gpusort::merge_sort(thrust::cuda::par(allocator).on(stream)), keys.begin(), keys.end());
  right = right && is_sorted(keys) && allocator.allocations == 1 && allocator.deallocations == 1;

  cudaStreamDestroy(stream);
  return right;
}

bool on_host(host_keys const& input)
{
  counting_allocator allocator{false};
  host_keys keys = input;
  gpusort::sort(thrust::seq(allocator), keys.begin(), keys.end());
  return std::is_sorted(keys.begin(), keys.end()) && allocator.allocations > 0
      && allocator.allocations == allocator.deallocations;
}

int main()
{
  host_keys input(1 << 20);
  std::mt19937 random(7);
  for (unsigned& x : input)
  {
    x = random();
  }
  return report(has_gpu() ? on_gpu(input) : on_host(input));
}
