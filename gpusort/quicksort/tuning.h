// Numbers of the quicksort on the GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace gpusort::quick
{

/// A segment of up to so many times what a block sorts is partitioned by one block, a longer one merged by all. Measured on an
/// H200 with CUDA 13.0, u32 and u64 of which the sample misleads, so that segments are of 7 to 60 times that: with 64 here, 2^24 3.9
/// and 5.5 ms, 2^27 16.2 and 23.8; merged, as hybrid sort does, 1.5 and 2.1, 11.3 and 16.7, and since then, 2^24, 0.9 and 1.4. Limits
/// between 4 and 7 are not measured: buckets that chance makes too large are of less than 2.
inline constexpr std::uint64_t most_tiles_of_block = 4;

/// Partitions that a segment may take: after so many, luck has been so bad that it is merged.
__host__ __device__ constexpr int most_partitions(std::uint64_t tiles)
{
  int log2 = 0;
  while (std::uint64_t{1} << log2 < tiles)
  {
    ++log2;
  }
  return 2 * log2 + 4;
}

/// Segments that wait on the stack of a block: the larger part of a partition goes below the smaller one, so that those above
/// are half as large each.
inline constexpr int most_waiting = 16;

/// Elements that a thread has under way in a partition.
__host__ __device__ constexpr int items_for(std::size_t key_bytes)
{
  return key_bytes <= 8 ? 8 : key_bytes <= 16 ? 4 : 2;
}

} // namespace gpusort::quick
