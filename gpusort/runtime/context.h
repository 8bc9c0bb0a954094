// Which context is current: what the library keeps of a device must not outlive it.
#pragma once

#include <gpusort/runtime/check.h>

#include <cuda_runtime_api.h>
#include <thrust/system/cuda/error.h>
#include <thrust/system_error.h>

namespace gpusort::runtime
{

/// A number that no two contexts of this process share, so that what belongs to a device before cudaDeviceReset is not
/// taken for what belongs to it afterwards; 0 if this thread has no context yet, as before its first CUDA call that needs one.
inline unsigned long long number_of_context()
{
  using get_id_function               = int (*)(void* context, unsigned long long* id); // cuCtxGetId
  static get_id_function const get_id = [] {
    void* function                         = nullptr;
    cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
    check(cudaGetDriverEntryPointByVersion("cuCtxGetId", &function, 12000, cudaEnableDefault, &result),
          "gpusort: driver entry point");
    return reinterpret_cast<get_id_function>(function);
  }();
  unsigned long long id = 0;
  return get_id != nullptr && get_id(nullptr, &id) == 0 ? id : 0;
}

/// The same, where a CUDA call must have made the current device's context. Throws thrust::system_error if there is none.
inline unsigned long long context_number()
{
  unsigned long long const id = number_of_context();
  if (id == 0)
  {
    throw thrust::system_error(cudaErrorUnknown, thrust::cuda_category(), "gpusort: number of the current context");
  }
  return id;
}

} // namespace gpusort::runtime
