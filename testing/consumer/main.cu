// A program that uses gpusort as its own author would: on the GPU if there is one, and from a file that nvcc never sees.
#include <gpusort/sort.h>
#include <gpusort/version.h>
#include <gpusort/workspace.h>

#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>

#include <algorithm>
#include <cstdio>
#include <vector>

// host.cpp
bool sorts_on_the_host();

namespace
{

bool sorts_on_the_gpu()
{
  std::vector<unsigned> const input{9, 4, 7, 4, 0, 3};
  thrust::device_vector<unsigned> keys = input;

  auto const policy       = gpusort::merge_sort(thrust::device);
  std::size_t const bytes = gpusort::workspace_bytes(policy, keys.begin(), keys.end());
  gpusort::sort(keys.begin(), keys.end());
  gpusort::sort(policy, keys.begin(), keys.end());

  std::vector<unsigned> sorted(input.size());
  thrust::copy(keys.begin(), keys.end(), sorted.begin());
  std::printf("sorted on the GPU with %zu bytes of scratch\n", bytes);
  return std::is_sorted(sorted.begin(), sorted.end());
}

} // namespace

int main()
{
  std::printf("gpusort %d.%d.%d\n", GPUSORT_VERSION_MAJOR, GPUSORT_VERSION_MINOR, GPUSORT_VERSION_PATCH);

  std::vector<int> v{3, 1, 2};
  gpusort::sort(thrust::host, v.begin(), v.end());
  if (!std::is_sorted(v.begin(), v.end()) || !sorts_on_the_host())
  {
    std::puts("wrong order on the host");
    return 1;
  }
  std::puts("sorted on the host");

  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
  {
    std::puts("no GPU: the GPU part was compiled and not run");
    return 0;
  }
  return sorts_on_the_gpu() ? 0 : 1;
}
