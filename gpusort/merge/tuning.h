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

/// Keys and values of so many bytes. Measured on an H200 with CUDA 13.0, uniform keys, custom comparator, in ms for the
/// whole sort, with the runners-up: u32, 2^27: 6.58 (256 x 23 for 4 blocks: 6.79); u64, 2^27: 11.1 (256 x 11 for 6: 11.4);
/// pairs of u32, 2^27: 14.1 (256 x 15 for 3: 14.3); pairs of u64, 2^26: 10.2 (256 x 11 for 3: 11.1). The shapes for wider
/// elements keep a tile near 32 KB and were not varied.
__host__ __device__ constexpr tile_shape tile_shape_for(std::size_t key_bytes, std::size_t value_bytes)
{
  std::size_t const widest = key_bytes > value_bytes ? key_bytes : value_bytes;
  if (widest <= 4)
  {
    return value_bytes == 0 ? tile_shape{256, 17, 6} : tile_shape{256, 9, 5};
  }
  if (widest <= 8)
  {
    return value_bytes == 0 ? tile_shape{256, 13, 5} : tile_shape{256, 9, 4};
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
