// What every call does first: open its NVTX range, look at its size.
#pragma once

#include <cuda_runtime_api.h>

#include <nv/target>

#include <cstddef>
#include <stdexcept>

#if __has_include(<nvtx3/nvToolsExt.h>)
#  include <nvtx3/nvToolsExt.h>
#  define GPUSORT_HAS_NVTX 1
#else
#  define GPUSORT_HAS_NVTX 0
#endif

namespace gpusort::runtime
{

/// An NVTX range from construction to destruction on the calling host thread; nothing in device code.
class call_range
{
public:
  __host__ __device__ explicit call_range([[maybe_unused]] char const* name)
  {
#if GPUSORT_HAS_NVTX
    NV_IF_TARGET(NV_IS_HOST, (nvtxRangePushA(name);))
#endif
  }

  call_range(call_range const&)            = delete;
  call_range& operator=(call_range const&) = delete;

  __host__ __device__ ~call_range()
  {
#if GPUSORT_HAS_NVTX
    NV_IF_TARGET(NV_IS_HOST, (nvtxRangePop();))
#endif
  }
};

/// n, unless it is negative. Throws std::runtime_error; in device code, where nothing can be thrown, stops the kernel.
__host__ __device__ inline std::ptrdiff_t checked_size(std::ptrdiff_t n)
{
  if (n < 0)
  {
    NV_IF_TARGET(
      NV_IS_HOST, (throw std::runtime_error("gpusort: the end of the range lies before its beginning");), (__trap();))
  }
  return n;
}

} // namespace gpusort::runtime

#undef GPUSORT_HAS_NVTX
