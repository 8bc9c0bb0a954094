// Shared memory for functions that are not inlined: of what a reference refers to, the compiler would not know there that it is shared
// memory, which takes longer to read and write.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace gpusort::block
{

/// The block's dynamic shared memory as what its kernel has made of it.
template <class Storage>
__device__ Storage& dynamic_shared()
{
  extern __shared__ uint4 shared_words[];
  return *reinterpret_cast<Storage*>(shared_words);
}

/// Where in shared memory something lies, for callees that do not know what else there is.
struct shared_address
{
  std::uint32_t bytes;

  template <class T>
  __device__ explicit shared_address(T const& object)
      : bytes(static_cast<std::uint32_t>(__cvta_generic_to_shared(&object)))
  {}

  template <class T>
  __device__ T& as() const
  {
    return *static_cast<T*>(__cvta_shared_to_generic(bytes));
  }
};

} // namespace gpusort::block
