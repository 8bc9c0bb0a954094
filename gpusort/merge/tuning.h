// Numbers of the merge sort, each with where it was measured.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace gpusort::merge
{

/// The tile of a block, for the block sort and the merge passes alike.
struct tile_shape
{
  int threads;
  int items; // a thread; odd, so that threads side by side meet different banks of shared memory
  int blocks; // a multiprocessor: what registers are shared out for
};

/// Keys and values of so many bytes.
__host__ __device__ constexpr tile_shape tile_shape_for(std::size_t key_bytes, std::size_t value_bytes)
{
  std::size_t const widest = key_bytes > value_bytes ? key_bytes : value_bytes;
  if (widest <= 4)
  {
    return value_bytes == 0 ? tile_shape{256, 17, 6} : tile_shape{256, 13, 3};
  }
  if (widest <= 8)
  {
    return value_bytes == 0 ? tile_shape{256, 11, 6} : tile_shape{256, 9, 3};
  }
  if (widest <= 16)
  {
    return {256, 7, 3};
  }
  if (widest <= 32)
  {
    return {256, 3, 4};
  }
  return {256, 2, 4};
}

} // namespace gpusort::merge
