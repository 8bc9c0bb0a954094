// A barrier for all blocks of a grid that was launched together.
#pragma once

#include <cuda/atomic>

#include <cstdint>

namespace gpusort::runtime
{

/// Waits for all threads of the grid; what they wrote before is then visible to all. The same `arrived`, zero before the
/// first time, and `round`, likewise, are used each time. Only for kernels started by launch_together.
__device__ inline void wait_for_grid(std::uint32_t* arrived, std::uint32_t& round)
{
  ++round;
  __syncthreads();
  if (threadIdx.x == 0)
  {
    ::cuda::atomic_ref<std::uint32_t, ::cuda::thread_scope_device> const blocks(*arrived);
    blocks.fetch_add(1, ::cuda::std::memory_order_acq_rel);
    while (blocks.load(::cuda::std::memory_order_acquire) < round * gridDim.x)
    {}
  }
  __syncthreads();
}

} // namespace gpusort::runtime
