// Numbers of the hybrid sort.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace gpusort::hybrid
{

struct block_shape
{
  int threads;
  int items; // a thread
  int blocks; // a multiprocessor: what registers are shared out for
};

/// The most buckets that a level splits a segment into, as a power of two.
inline constexpr int most_log2 = 8;

/// A tile of a split, for keys and values of so many bytes: up to 54 KB. Most are shapes that radix passes were measured
/// with; none has been measured here yet.
__host__ __device__ constexpr block_shape tile_shape_for(std::size_t key_bytes, std::size_t value_bytes)
{
  std::size_t const widest = key_bytes > value_bytes ? key_bytes : value_bytes;
  if (widest <= 4)
  {
    return value_bytes == 0 ? block_shape{384, 24, 2} : block_shape{512, 14, 2};
  }
  if (widest <= 8)
  {
    return value_bytes == 0 ? block_shape{384, 18, 2} : block_shape{384, 14, 2};
  }
  if (widest <= 16)
  {
    return {256, 12, 3};
  }
  if (widest <= 32)
  {
    return {256, 6, 3};
  }
  return {256, 2, 3};
}

/// The block that sorts a bucket. Odd items, so that threads side by side meet different banks of shared memory.
__host__ __device__ constexpr block_shape sort_shape_for(std::size_t key_bytes, std::size_t value_bytes)
{
  std::size_t const widest = key_bytes > value_bytes ? key_bytes : value_bytes;
  if (widest <= 4)
  {
    return value_bytes == 0 ? block_shape{512, 17, 2} : block_shape{512, 11, 2};
  }
  if (widest <= 8)
  {
    return value_bytes == 0 ? block_shape{512, 13, 2} : block_shape{512, 9, 2};
  }
  if (widest <= 16)
  {
    return value_bytes == 0 ? block_shape{512, 7, 1} : block_shape{512, 5, 1};
  }
  if (widest <= 32)
  {
    return {256, 5, 2};
  }
  return {256, 3, 2};
}

/// The block that sorts a sample: so many keys that a bucket of 256 is seldom half as large again as it should be, or, from 32
/// bytes on, as many as shared memory holds, with which one in ten is. It has the GPU to itself in a first level: many threads.
__host__ __device__ constexpr block_shape sample_shape_for(std::size_t key_bytes)
{
  return key_bytes <= 4  ? block_shape{1024, 5, 1}
       : key_bytes <= 8  ? block_shape{512, 9, 1}
       : key_bytes <= 16 ? block_shape{512, 7, 1}
       : key_bytes <= 32 ? block_shape{256, 5, 1}
                         : block_shape{256, 3, 1};
}

/// Elements that a bucket should have, of the `most` that a block sorts: room for what chance adds.
constexpr std::size_t bucket_size_for(std::size_t most)
{
  return most * 9 / 16;
}

/// Elements that are looked back through together: half of what look-back counts.
inline constexpr std::size_t most_in_chain = std::size_t{1} << 29;

/// The kernel that looks at the input.
inline constexpr int look_threads               = 512;
inline constexpr int look_rows                  = 4; // elements that a thread has under way
inline constexpr std::size_t look_blocks_per_sm = 4;

/// Blocks that a small input is spread over.
inline constexpr std::size_t blocks_for_small_inputs = 256;
inline constexpr int least_rows                      = 6; // elements a thread

/// Elements a thread takes of n in a split into 2^log2 buckets: of all elements, so many that the words of their tile's
/// look-back take no more than a fortieth of their room, as far as `items` go: 1-byte elements have too few, and the words
/// take a ninth.
constexpr int rows_for(std::size_t n, int log2, std::size_t element_bytes, int threads, int items)
{
  std::size_t const spread = n / (blocks_for_small_inputs * static_cast<std::size_t>(threads)) + 1;
  std::size_t const words  = (std::size_t{160} << log2) / element_bytes / static_cast<std::size_t>(threads) + 1;
  std::size_t const least  = words > least_rows ? words : least_rows;
  std::size_t const rows   = spread < least ? least : spread;
  return rows < static_cast<std::size_t>(items) ? static_cast<int>(rows) : items;
}

/// Blocks that merge what is left over, a multiprocessor: with more, registers run short.
inline constexpr int leftover_blocks = 2;

/// How an input is split.
struct split_depth
{
  int levels; // 0 to 2
  int log2[2]; // buckets of a segment, at most
};

/// The split of n elements into buckets of about `size`. A second level splits each segment by its own size; it may need
/// half as many buckets again as an even one.
constexpr split_depth split_depth_for(std::size_t n, std::size_t most)
{
  if (n <= most)
  {
    return {0, {0, 0}};
  }
  std::size_t const buckets = n / bucket_size_for(most) + 1;
  int log2                  = 2; // a tree of one splitter has no bucket of equals
  while (log2 < most_log2 && std::size_t{1} << log2 < buckets)
  {
    ++log2;
  }
  if (std::size_t{1} << log2 >= buckets)
  {
    return {1, {log2, 0}};
  }
  int first = 2;
  while (first < most_log2 && std::size_t{1} << 2 * first < buckets)
  {
    ++first;
  }
  int second = 2;
  while (second < most_log2 && std::size_t{1} << (first + second) < buckets + buckets / 2)
  {
    ++second;
  }
  return {2, {first, second}};
}

} // namespace gpusort::hybrid
