// The one way a kernel is started: every launch is checked.
#pragma once

#include <gpusort/runtime/check.h>
#include <gpusort/runtime/kernel_facts.cuh>

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>

namespace gpusort::runtime
{

/// What every device that this library compiles for lets a block opt in to.
inline constexpr std::size_t least_shared_bytes = 64 * 1024;

struct launch_shape
{
  std::size_t blocks;
  int threads;
  std::size_t shared_bytes = 0;
  // The most that any launch of the kernel on this device asks for, if not all ask for the same.
  std::size_t most_shared_bytes = 0;
  unsigned cluster              = 1; // blocks of a cluster
  // Whether a multiprocessor gives all it can to shared memory, however little the blocks ask for: kernels that ask for different parts
  // wait for it to be idle, and so for each other's blocks.
  bool shares_most = false;
};

/// A launch as the runtime takes it. It may not be copied: it points to itself.
struct launch_config
{
  cudaLaunchConfig_t config{};
  cudaLaunchAttribute attributes[3];

  launch_config(launch_shape const& shape, cudaStream_t stream, bool for_9_0)
  {
    config.gridDim          = dim3(static_cast<unsigned>(shape.blocks));
    config.blockDim         = dim3(static_cast<unsigned>(shape.threads));
    config.dynamicSmemBytes = shape.shared_bytes;
    config.stream           = stream;
    config.attrs            = attributes;
    if (for_9_0)
    {
      cudaLaunchAttribute& overlap                       = attributes[config.numAttrs++];
      overlap.id                                         = cudaLaunchAttributeProgrammaticStreamSerialization;
      overlap.val.programmaticStreamSerializationAllowed = 1;
    }
    if (shape.shares_most)
    {
      cudaLaunchAttribute& carveout  = attributes[config.numAttrs++];
      carveout.id                    = cudaLaunchAttributePreferredSharedMemoryCarveout;
      carveout.val.sharedMemCarveout = cudaSharedmemCarveoutMaxShared;
    }
    if (shape.cluster > 1)
    {
      cudaLaunchAttribute& cluster = attributes[config.numAttrs++];
      cluster.id                   = cudaLaunchAttributeClusterDimension;
      cluster.val.clusterDim.x     = shape.cluster;
      cluster.val.clusterDim.y     = 1;
      cluster.val.clusterDim.z     = 1;
    }
  }
  launch_config(launch_config const&)            = delete;
  launch_config& operator=(launch_config const&) = delete;
};

/// Lets a kernel have what its launches ask for.
inline cudaError_t opt_in(kernel_facts& facts, launch_shape const& shape)
{
  return facts.opt_in(std::max(shape.most_shared_bytes, shape.shared_bytes), shape.cluster);
}

/// An attribute of the current device.
inline std::size_t of_device(cudaDeviceAttr attribute, char const* what)
{
  int device = 0, value = 0;
  check(cudaGetDevice(&device), "gpusort: current device");
  check(cudaDeviceGetAttribute(&value, attribute, device), what);
  return static_cast<std::size_t>(value);
}

/// What a block can have.
inline std::size_t shared_bytes_of_device()
{
  return of_device(cudaDevAttrMaxSharedMemoryPerBlockOptin, "gpusort: shared memory of the device");
}

/// How much shared memory a block takes if a multiprocessor with `all`, of which each block costs `reserved` more, is to have room for so many and no more.
constexpr std::size_t share_of_multiprocessor(std::size_t all, std::size_t reserved, std::size_t blocks)
{
  constexpr std::size_t unit = 256; // or more than is asked for would be taken
  std::size_t const each     = all / blocks / unit * unit;
  return each > reserved ? each - reserved : 0;
}

/// The same of the current device, but no more than a block can have.
inline std::size_t share_of_multiprocessor(std::size_t blocks)
{
  return std::min(
    share_of_multiprocessor(
      of_device(cudaDevAttrMaxSharedMemoryPerMultiprocessor, "gpusort: shared memory of a multiprocessor"),
      of_device(cudaDevAttrReservedSharedMemoryPerBlock, "gpusort: shared memory that blocks cannot use"),
      blocks),
    shared_bytes_of_device());
}

inline std::size_t multiprocessors()
{
  return of_device(cudaDevAttrMultiProcessorCount, "gpusort: processor count");
}

/// Whether the device behind the stream has room for a cluster of the kernel's blocks, when nothing else runs.
template <class... Params>
bool can_launch_cluster(void (*kernel)(Params...), launch_shape const& shape, cudaStream_t stream)
{
  auto const* const code = reinterpret_cast<void const*>(kernel);
  kernel_facts& facts    = facts_of(code);
  return facts.is_code_for_9_0() && facts.room_for(shape.threads, shape.shared_bytes, shape.cluster, [&] {
    int clusters       = 0;
    cudaError_t status = opt_in(facts, shape);
    if (status == cudaSuccess)
    {
      launch_config const launch(shape, stream, true);
      status = cudaOccupancyMaxActiveClusters(&clusters, code, &launch.config);
    }
    if (status != cudaSuccess)
    {
      (void) cudaGetLastError(); // a size that the device does not know
      return 0;
    }
    return clusters;
  }) > 0;
}

/// Whether all blocks of such a launch can run at the same time on the current device, when nothing else runs.
template <class... Params>
bool can_run_together(void (*kernel)(Params...), launch_shape const& shape)
{
  auto const* const code = reinterpret_cast<void const*>(kernel);
  kernel_facts& facts    = facts_of(code);
  int const blocks       = facts.room_for(shape.threads, shape.shared_bytes, 1, [&] {
    int of_multiprocessor = 0;
    if (opt_in(facts, shape) != cudaSuccess)
    {
      (void) cudaGetLastError(); // more shared memory than the device has
      return 0;
    }
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&of_multiprocessor, code, shape.threads, shape.shared_bytes),
          "gpusort: room for blocks");
    return of_multiprocessor;
  });
  return static_cast<std::size_t>(blocks) * multiprocessors() >= shape.blocks;
}

/// Enqueues `kernel(args...)` on `stream`. The kernel may be set up while the one before it still runs: it calls
/// wait_for_previous_kernel or wait_for_previous_kernel_only first. Throws thrust::system_error if the launch is refused.
template <class... Params, class... Args>
void launch(void (*kernel)(Params...), launch_shape const& shape, cudaStream_t stream, Args... args)
{
  auto const* const code = reinterpret_cast<void const*>(kernel);
  kernel_facts& facts    = facts_of(code);
  check(opt_in(facts, shape), "gpusort: shared memory or clusters of a kernel");
  launch_config const launch(shape, stream, facts.is_code_for_9_0());
  cudaError_t const status = cudaLaunchKernelEx(&launch.config, kernel, static_cast<Params>(args)...);
  if (status != cudaSuccess)
  {
    forget_facts_of(code);
  }
  check(status, "gpusort: kernel launch");
}

/// Blocks of `per_block` items that cover `n` items.
__host__ __device__ constexpr std::size_t blocks_for(std::size_t n, std::size_t per_block)
{
  return (n + per_block - 1) / per_block;
}

} // namespace gpusort::runtime
