// What the runtime says of a kernel, asked once. On an H200's host a launch takes 4 to 5 us, and the questions before it took
// another 0.6 (cudaFuncGetAttributes), 0.4 (cudaFuncSetAttribute) and 0.3 to 0.6 (occupancy) each.
#pragma once

#include <gpusort/runtime/check.h>
#include <gpusort/runtime/context.h>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gpusort::runtime
{

/// What a block may use without asking; beyond it a kernel has to opt in.
inline constexpr std::size_t default_shared_bytes = 48 * 1024;
/// Clusters of up to so many blocks need no asking.
inline constexpr unsigned portable_cluster = 8;

/// What a thread knows of a kernel in a context.
class kernel_facts
{
public:
  /// Asks about the kernel. Throws thrust::system_error if there is no code of it for the device.
  explicit kernel_facts(void const* kernel)
      : kernel_(kernel)
  {
    cudaFuncAttributes attributes{};
    check(cudaFuncGetAttributes(&attributes, kernel), "gpusort: attributes of a kernel");
    is_code_for_9_0_ = attributes.ptxVersion >= 90;
  }

  /// Whether its code is for compute capability 9.0 or newer: only such code waits for the kernel before it and has
  /// clusters. The code that runs may be older than the device.
  bool is_code_for_9_0() const
  {
    return is_code_for_9_0_;
  }

  /// Lets the kernel have so much shared memory and such clusters. All threads ask for the same most of a kernel: they set it
  /// for each other.
  cudaError_t opt_in(std::size_t shared_bytes, unsigned cluster)
  {
    if (shared_bytes > shared_bytes_)
    {
      cudaError_t const status =
        cudaFuncSetAttribute(kernel_, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes));
      if (status != cudaSuccess)
      {
        return status;
      }
      shared_bytes_ = shared_bytes;
    }
    if (cluster > portable_cluster && !has_wide_clusters_)
    {
      cudaError_t const status = cudaFuncSetAttribute(kernel_, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
      if (status != cudaSuccess)
      {
        return status;
      }
      has_wide_clusters_ = true;
    }
    return cudaSuccess;
  }

  /// How many blocks or clusters of a shape there is room for, which `ask()` finds out; again, if there is none: that may change.
  template <class Ask>
  int room_for(int threads, std::size_t shared_bytes, unsigned cluster, Ask ask)
  {
    auto const known = std::find_if(rooms_.begin(), rooms_.end(), [&](room const& r) {
      return r.threads == threads && r.shared_bytes == shared_bytes && r.cluster == cluster;
    });
    if (known != rooms_.end())
    {
      return known->count;
    }
    int const count = ask();
    if (count > 0)
    {
      rooms_.push_back({threads, shared_bytes, cluster, count});
    }
    return count;
  }

private:
  struct room
  {
    int threads;
    std::size_t shared_bytes;
    unsigned cluster;
    int count;
  };

  void const* kernel_;
  bool is_code_for_9_0_     = false;
  bool has_wide_clusters_   = false;
  std::size_t shared_bytes_ = default_shared_bytes;
  std::vector<room> rooms_;
};

/// A kernel in a context.
struct kernel_in_context
{
  void const* kernel;
  unsigned long long context;

  bool operator==(kernel_in_context const& other) const
  {
    return kernel == other.kernel && context == other.context;
  }
};

struct hash_of_kernel
{
  std::size_t operator()(kernel_in_context const& at) const
  {
    return std::hash<void const*>{}(at.kernel) + 31 * std::hash<unsigned long long>{}(at.context);
  }
};

/// All that this thread knows. Not shared between threads: nobody waits, and a thread asks again what another knows.
inline auto& known_kernels()
{
  thread_local std::unordered_map<kernel_in_context, kernel_facts, hash_of_kernel> known;
  return known;
}

/// What this thread knows of the kernel in the current context; what it does not know it asks.
inline kernel_facts& facts_of(void const* kernel)
{
  auto& known = known_kernels();
  if (unsigned long long const context = number_of_context())
  {
    auto const found = known.find({kernel, context});
    if (found != known.end())
    {
      return found->second;
    }
  }
  kernel_facts asked(kernel); // makes the context, if this thread has none
  return known.emplace(kernel_in_context{kernel, context_number()}, std::move(asked)).first->second;
}

/// Asks again next time, about this kernel: what is known of it may be why a launch was refused.
inline void forget_facts_of(void const* kernel)
{
  known_kernels().erase({kernel, number_of_context()});
}

} // namespace gpusort::runtime
