// Graph capture: a whole sort becomes part of a CUDA graph, which then sorts whatever is in its array at each launch.
#include "has_gpu.h"

#include <gpusort/sort.h>
#include <gpusort/workspace.h>

#include <cuda_runtime.h>
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/system/cuda/execution_policy.h>
#include <thrust/system_error.h>

#include <algorithm>
#include <cstddef>
#include <random>

using host_keys = thrust::host_vector<float>;

void require_success(cudaError_t status)
{
  if (status != cudaSuccess)
  {
    throw thrust::system_error(status, thrust::cuda_category());
  }
}

host_keys random_keys(unsigned seed)
{
  host_keys keys(500000);
  std::mt19937 random(seed);
  for (float& x : keys)
  {
    x = static_cast<float>(random() >> 8) - (1 << 23);
  }
  return keys;
}

bool on_gpu()
{
  thrust::device_vector<float> keys = random_keys(0);
  auto const first                  = thrust::raw_pointer_cast(keys.data());
  auto const last                   = first + keys.size();

  cudaStream_t stream = nullptr;
  require_success(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  // Memory that outlives the graph. Without a workspace the scratch would be allocated by the graph itself.
  std::size_t const bytes = gpusort::workspace_bytes(thrust::cuda::par_nosync, first, last, thrust::greater<float>{});
  thrust::device_vector<char> scratch(bytes);
  gpusort::workspace workspace{thrust::raw_pointer_cast(scratch.data()), bytes};
  require_success(cudaDeviceSynchronize());

  cudaGraph_t graph       = nullptr;
  cudaGraphExec_t program = nullptr;
  require_success(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  gpusort::sort(thrust::cuda::par_nosync(workspace).on(stream), first, last, thrust::greater<float>{});
  require_success(cudaStreamEndCapture(stream, &graph));
  require_success(cudaGraphInstantiate(&program, graph, 0));

  bool right = true;
  for (unsigned launch = 1; launch <= 5; ++launch)
  {
    host_keys expected = random_keys(launch);
    keys               = expected;
    require_success(cudaDeviceSynchronize());
    require_success(cudaGraphLaunch(program, stream));
    require_success(cudaStreamSynchronize(stream));

    std::sort(expected.begin(), expected.end(), thrust::greater<float>{});
    host_keys const out = keys;
    right               = right && out == expected;
  }
  require_success(cudaGraphExecDestroy(program));
  require_success(cudaGraphDestroy(graph));
  require_success(cudaStreamDestroy(stream));
  return right;
}

bool on_host()
{
  host_keys keys = random_keys(0);
  gpusort::sort(keys.begin(), keys.end(), thrust::greater<float>{});
  return std::is_sorted(keys.begin(), keys.end(), thrust::greater<float>{});
}

int main()
{
  return report(has_gpu() ? on_gpu() : on_host());
}
