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
};

/// Whether the code of a kernel waits for the one before it, as only code for compute capability 9.0 and newer can. The
/// code that runs may be older than the device.
inline bool waits_for_previous_kernel(void const* kernel)
{
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, kernel), "gpusort: attributes of a kernel");
  return attributes.ptxVersion >= 90;
}

/// Lets a kernel use that many bytes of shared memory.
inline void allow_shared(void const* kernel, std::size_t bytes)
{
  if (bytes > default_shared_bytes)
  {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
          "gpusort: shared memory of a kernel");
  }
}

/// Enqueues `kernel(args...)` with an attribute of the launch, or without.
template <class... Params, class... Args>
void launch_with(
  cudaLaunchAttribute* attribute, void (*kernel)(Params...), launch_shape shape, cudaStream_t stream, Args... args)
{
  allow_shared(reinterpret_cast<void const*>(kernel), shape.shared_bytes);
  cudaLaunchConfig_t config{};
  config.gridDim          = dim3(static_cast<unsigned>(shape.blocks));
  config.blockDim         = dim3(static_cast<unsigned>(shape.threads));
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream           = stream;
  config.attrs            = attribute;
  config.numAttrs         = attribute != nullptr ? 1 : 0;
  check(cudaLaunchKernelEx(&config, kernel, static_cast<Params>(args)...), "gpusort: kernel launch");
}

/// Enqueues `kernel(args...)` on `stream`. The kernel may be set up while the one before it still runs: it calls
/// wait_for_previous_kernel first. Throws thrust::system_error if the launch is refused.
template <class... Params, class... Args>
void launch(void (*kernel)(Params...), launch_shape shape, cudaStream_t stream, Args... args)
{
  cudaLaunchAttribute overlap{};
  overlap.id                                         = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  bool const waits                                   = waits_for_previous_kernel(reinterpret_cast<void const*>(kernel));
  launch_with(waits ? &overlap : nullptr, kernel, shape, stream, args...);
}

/// Enqueues a kernel whose blocks wait for each other, with as many of `shape.blocks` blocks as the device runs at once.
template <class... Params, class... Args>
void launch_together(void (*kernel)(Params...), launch_shape shape, cudaStream_t stream, Args... args)
{
  int device = 0, processors = 0, resident = 0;
  check(cudaGetDevice(&device), "gpusort: current device");
  check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device), "gpusort: processor count");
  allow_shared(reinterpret_cast<void const*>(kernel), shape.shared_bytes);
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, shape.threads, shape.shared_bytes),
        "gpusort: resident blocks of a kernel");
  std::size_t const most = static_cast<std::size_t>(processors) * static_cast<std::size_t>(resident);
  if (most < shape.blocks)
  {
    shape.blocks = most;
  }
  cudaLaunchAttribute together{};
  together.id              = cudaLaunchAttributeCooperative;
  together.val.cooperative = 1;
  launch_with(&together, kernel, shape, stream, args...);
}

/// Blocks of `per_block` items that cover `n` items.
constexpr std::size_t blocks_for(std::size_t n, std::size_t per_block)
{
  return (n + per_block - 1) / per_block;
}

} // namespace gpusort::runtime
