// How failures leave the library: CUDA errors as thrust::system_error, missing memory as std::bad_alloc.
#pragma once

#include <cuda_runtime_api.h>
#include <thrust/system/cuda/error.h>
#include <thrust/system_error.h>

#include <cstddef>
#include <new>
#include <string>

namespace gpusort::runtime
{

/// Throws thrust::system_error unless `status` is cudaSuccess, and clears the error so that it is reported once.
inline void check(cudaError_t status, char const* what)
{
  if (status != cudaSuccess)
  {
    (void) cudaGetLastError();
    throw thrust::system_error(status, thrust::cuda_category(), what);
  }
}

/// Scratch memory could not be had. Thrown before the input is touched.
class bad_alloc : public std::bad_alloc
{
public:
  bad_alloc(std::size_t wanted_bytes, char const* from)
      : message_("gpusort: no " + std::to_string(wanted_bytes) + " bytes of scratch memory from " + from)
  {}

  char const* what() const noexcept override
  {
    return message_.c_str();
  }

private:
  std::string message_;
};

} // namespace gpusort::runtime
