// How many blocks a multiprocessor can hold at once.
#pragma once

namespace gpusort::runtime
{

/// The second argument of __launch_bounds__: `wanted` blocks of `threads` threads, or as many as the architecture that is
/// being compiled for has threads for.
__host__ __device__ constexpr int resident_blocks(int threads, int wanted)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ == 800 || (__CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200)
  constexpr int most_threads = 2048;
#elif __CUDA_ARCH__ < 800
  constexpr int most_threads = 1024;
#else
  constexpr int most_threads = 1536;
#endif
  return wanted * threads <= most_threads ? wanted : most_threads / threads;
}

} // namespace gpusort::runtime
