// The one way a kernel is started: every launch is checked.
#pragma once

#include <gpusort/runtime/check.h>

#include <cuda_runtime.h>

#include <cstddef>

namespace gpusort::runtime
{

/// What a block may use without asking; beyond it a kernel has to opt in.
inline constexpr std::size_t default_shared_bytes = 48 * 1024;
/// What every device that this library compiles for lets a block opt in to.
inline constexpr std::size_t least_shared_bytes = 64 * 1024;

struct launch_shape
{
  std::size_t blocks;
  int threads;
  std::size_t shared_bytes = 0;
  // The most that any launch of the kernel on this device asks for, if not all ask for the same: threads that launch at the
  // same time set it for each other.
  std::size_t most_shared_bytes = 0;
};

/// Whether the code of a kernel waits for the one before it, as only code for compute capability 9.0 and newer can. The
/// code that runs may be older than the device.
inline bool waits_for_previous_kernel(void const* kernel)
{
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, kernel), "gpusort: attributes of a kernel");
  return attributes.ptxVersion >= 90;
}

/// Enqueues `kernel(args...)` on `stream`. The kernel may be set up while the one before it still runs: it calls
/// wait_for_previous_kernel first. Throws thrust::system_error if the launch is refused.
template <class... Params, class... Args>
void launch(void (*kernel)(Params...), launch_shape shape, cudaStream_t stream, Args... args)
{
  std::size_t const most = shape.most_shared_bytes > 0 ? shape.most_shared_bytes : shape.shared_bytes;
  if (most > default_shared_bytes)
  {
    check(cudaFuncSetAttribute(
            reinterpret_cast<void const*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(most)),
          "gpusort: shared memory of a kernel");
  }
  cudaLaunchAttribute overlap{};
  overlap.id                                         = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;

  cudaLaunchConfig_t config{};
  config.gridDim          = dim3(static_cast<unsigned>(shape.blocks));
  config.blockDim         = dim3(static_cast<unsigned>(shape.threads));
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream           = stream;
  config.attrs            = &overlap;
  config.numAttrs         = waits_for_previous_kernel(reinterpret_cast<void const*>(kernel)) ? 1 : 0;
  check(cudaLaunchKernelEx(&config, kernel, static_cast<Params>(args)...), "gpusort: kernel launch");
}

/// Blocks of `per_block` items that cover `n` items.
constexpr std::size_t blocks_for(std::size_t n, std::size_t per_block)
{
  return (n + per_block - 1) / per_block;
}

} // namespace gpusort::runtime
