// Programmatic dependent launch: the next kernel's blocks are set up while this one's still run.
#pragma once

namespace gpusort::runtime
{

/// Every kernel that `launch` starts calls this before it touches global memory. It lets the next kernel of the stream be
/// set up, and waits until the one before is complete and its writes are visible.
__device__ inline void wait_for_previous_kernel()
{
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
#endif
}

} // namespace gpusort::runtime
