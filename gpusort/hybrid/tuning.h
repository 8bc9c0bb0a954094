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
    return value_bytes == 0 ? block_shape{512, 20, 2} : block_shape{512, 14, 2};
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
  return key_bytes <= 4  ? block_shape{1024, 9, 1}
       : key_bytes <= 8  ? block_shape{1024, 7, 1}
       : key_bytes <= 16 ? block_shape{512, 7, 1}
       : key_bytes <= 32 ? block_shape{256, 5, 1}
                         : block_shape{256, 3, 1};
}

/// Samples for each bucket that a segment is split into, if they fit.
inline constexpr int samples_a_bucket = 36;

/// Elements that a bucket should have, of the `most` that a block sorts: as few as make blocks that take several nearly full.
constexpr std::size_t bucket_size_for(std::size_t most)
{
  return most * 7 / 32;
}

/// What buckets may have if that saves a level.
constexpr std::size_t largest_bucket_size_for(std::size_t most)
{
  return most * 9 / 16;
}

/// Tiles that are counted together.
inline constexpr std::uint32_t tiles_of_group = 64;

/// The kernel that looks at the input.
inline constexpr int look_threads               = 512;
inline constexpr int look_rows                  = 4; // elements that a thread has under way
inline constexpr std::size_t look_blocks_per_sm = 4;

/// Blocks that a small input is spread over.
inline constexpr std::size_t blocks_for_small_inputs = 256;
inline constexpr int least_rows                      = 6; // elements a thread

/// Blocks that merge what is left over, a multiprocessor: with more, registers run short.
inline constexpr int leftover_blocks = 2;

/// Levels that suffice for any input that fits a device.
inline constexpr int most_levels = 4;

/// How an input is split.
struct split_depth
{
  int levels;
  int log2[most_levels]; // of the buckets of a segment

  constexpr int bits() const
  {
    int sum = 0;
    for (int level = 0; level < levels; ++level)
    {
      sum += log2[level];
    }
    return sum;
  }
};

/// The split of n elements into buckets for blocks that sort `most`: as few levels as do, and as many buckets in each.
constexpr split_depth split_depth_for(std::size_t n, std::size_t most)
{
  split_depth depth{};
  if (n <= most)
  {
    return depth;
  }
  int bits = 2; // a tree of one splitter has no bucket of equals
  while (n >> bits > bucket_size_for(most))
  {
    ++bits;
  }
  int least = 2;
  while (n >> least > largest_bucket_size_for(most))
  {
    ++least;
  }
  depth.levels = (least + most_log2 - 1) / most_log2;
  if (depth.levels > most_levels)
  {
    depth.levels = most_levels;
  }
  if (bits > depth.levels * most_log2)
  {
    bits = depth.levels * most_log2;
  }
  for (int level = 0; level < depth.levels; ++level)
  {
    int const left    = depth.levels - level;
    depth.log2[level] = (bits + left - 1) / left;
    bits -= depth.log2[level];
  }
  return depth;
}

/// Elements a thread takes of n in a split: of all elements, so many that the table of where buckets begin takes no more than
/// a fortieth of their room, as far as `items` go: 1-byte elements have too few, and the table takes a tenth.
constexpr int
rows_for(std::size_t n, split_depth const& depth, std::size_t element_bytes, int threads, int items)
{
  std::size_t const spread = n / (blocks_for_small_inputs * static_cast<std::size_t>(threads)) + 1;
  std::size_t of_tile      = 0;
  for (int level = 0; level < depth.levels; ++level)
  {
    of_tile += sizeof(std::uint16_t) << depth.log2[level];
  }
  std::size_t const table = of_tile * 40 / element_bytes / static_cast<std::size_t>(threads) + 1;
  std::size_t const least = table > least_rows ? table : least_rows;
  std::size_t const rows  = spread < least ? least : spread;
  return rows < static_cast<std::size_t>(items) ? static_cast<int>(rows) : items;
}

} // namespace gpusort::hybrid
