// Numbers of the radix sort, each with where it was measured.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace gpusort::radix
{

/// The shape of a block in a partition pass.
struct pass_shape
{
  int threads;
  int items; // a thread
  int blocks; // a multiprocessor: what registers are shared out for
};

/// Keys and values of so many bytes.
__host__ __device__ constexpr pass_shape pass_shape_for(std::size_t key_bytes, std::size_t value_bytes)
{
  std::size_t const widest = key_bytes > value_bytes ? key_bytes : value_bytes;
  if (widest <= 4)
  {
    return value_bytes == 0 ? pass_shape{384, 24, 2} : pass_shape{512, 14, 2};
  }
  if (widest <= 8)
  {
    return value_bytes == 0 ? pass_shape{384, 18, 2} : pass_shape{512, 10, 2};
  }
  return {512, 6, 2};
}

/// The block that sorts a whole input on its own.
inline constexpr int one_tile_threads = 512;
__host__ __device__ constexpr int one_tile_items(std::size_t key_bytes)
{
  return key_bytes <= 8 ? 16 : 8;
}

inline constexpr int histogram_threads       = 512;
inline constexpr int histogram_blocks_per_sm = 4;

/// Keys that a thread of the counting reads at once: what its registers hold beside the rest.
__host__ __device__ constexpr int histogram_items(std::size_t key_bytes)
{
  return key_bytes <= 4 ? 16 : static_cast<int>(32 / key_bytes);
}

/// Copies of a block's histogram, as a power of two: lanes of a warp that meet on one digit then meet less often. Bounded
/// by 32 KB of shared memory a block, with 1 KB a copy and digit.
constexpr int histogram_copies_log2(int digits)
{
  int log2 = 0;
  while ((digits << (log2 + 1)) <= 32)
  {
    ++log2;
  }
  return log2;
}

} // namespace gpusort::radix
