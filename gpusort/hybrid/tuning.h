// Numbers of the hybrid sort.
#pragma once

#include <gpusort/block/runs.h>

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

/// A tile of a split, for keys and values of so many bytes: up to 55 KB. Measured on an H200 with CUDA 13.0, uniform keys, for
/// the whole sort of 2^28: u32 8.37 ms, as 512 x 20, which needs more scratch memory, and 384 x 24 for 2 (a version before,
/// 9.21 and 9.25); 512 x 20 for 1 block: 11.3; u64 14.6 (512 x 13 for 2: 15.0); pairs of u32 16.0 (384 x 18 for 2: 17.3). The
/// others were not varied.
__host__ __device__ constexpr block_shape tile_shape_for(std::size_t key_bytes, std::size_t value_bytes)
{
  std::size_t const widest = key_bytes > value_bytes ? key_bytes : value_bytes;
  if (widest <= 4)
  {
    return value_bytes == 0 ? block_shape{512, 22, 2} : block_shape{512, 14, 2};
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
  return widest <= 64 ? block_shape{256, 2, 3} : block_shape{256, 1, 3};
}

/// Of fewer buckets than most_log2 says, as a power of two, the least whose tiles are ranked by no more bits than they need (block/bucket_rank.cuh).
/// Measured on an H200 with CUDA 13.0, uniform keys, ms, ranked by 8 bits always, by 7 or 8, and by 6 to 8: u32 2^30 30.4, 28.4, 28.0; u64 2^30 45.6, 44.2,
/// 43.8; pairs of u64 2^28 15.7, 15.4, 15.3; but pairs of u32 2^28 8.56, 8.45, 8.67, 2^24 0.634, 0.625, 0.632. Most of that comes of
/// fewer registers that spill; of 16 bytes more would.
__host__ __device__ constexpr int least_ranked_log2_for(std::size_t key_bytes, std::size_t value_bytes)
{
  std::size_t const widest = key_bytes > value_bytes ? key_bytes : value_bytes;
  return widest > 8 ? most_log2 : widest <= 4 && value_bytes != 0 ? most_log2 - 1 : most_log2 - 2;
}

/// The block that sorts buckets. Odd items, so that threads side by side meet different banks of shared memory. Measured on an H200 with CUDA 13.0,
/// uniform keys in an order that values say nothing of, us for the whole sort of 2^26: u32 1,895 (384 x 23 for 2 blocks a multiprocessor 1,996, 512 x 17
/// for 3 1,994), u64 3,249 (512 x 13 for 2 3,310, for 3 3,436), pairs of u32 2,848 (512 x 11 for 2 3,028, for 3 3,070), pairs of u64 4,390 (512 x 9 for
/// 2 4,563, for 3 5,052). 64-byte keys, 2^24, a version before: 8.06 ms with 320 x 3, and 7.04 with 256 x 3 and gaps between keys,
/// for which 320 x 3 would take more room than every device has.
__host__ __device__ constexpr block_shape sort_shape_for(std::size_t key_bytes, std::size_t value_bytes)
{
  std::size_t const widest = key_bytes > value_bytes ? key_bytes : value_bytes;
  if (widest <= 4)
  {
    return value_bytes == 0 ? block_shape{384, 23, 3} : block_shape{384, 15, 3};
  }
  if (widest <= 8)
  {
    return value_bytes == 0 ? block_shape{384, 17, 3} : block_shape{384, 11, 3};
  }
  if (widest <= 16)
  {
    return value_bytes == 0 ? block_shape{512, 7, 1} : block_shape{512, 5, 1};
  }
  if (widest <= 32)
  {
    return {256, 5, 2};
  }
  return widest <= 64 ? block_shape{256, 3, 2} : block_shape{192, 3, 2};
}

/// The block that sorts buckets by value, of no fewer elements than the one that merges. Measured on an H200 with CUDA 13.0, uniform
/// keys, in ms for the whole sort: u32 2^28 6.15 (1024 x 9 for 1 block 6.7, 512 x 18 for 1 6.9); u64 2^28 9.5 (512 x 18 for 2: 11.0;
/// 512 x 13 for 2, which takes a third level: 11.2); pairs of u32 2^26 2.15 (1024 x 8 for 1 block 2.33), pairs of u64 2^24 0.87 (1024
/// x 8 for 1 block 0.89).
__host__ __device__ constexpr block_shape
value_sort_shape_for(std::size_t key_bytes, std::size_t value_bytes, bool is_record)
{
  std::size_t const widest = key_bytes > value_bytes ? key_bytes : value_bytes;
  if (is_record && value_bytes == 0)
  {
    return key_bytes <= 8 ? block_shape{1024, 7, 1} : block_shape{512, 7, 2};
  }
  if (key_bytes > 8)
  {
    return {512, 5, 2};
  }
  if (value_bytes == 0)
  {
    return key_bytes <= 4 ? block_shape{512, 18, 2} : block_shape{1024, 9, 1};
  }
  return widest <= 4 ? block_shape{512, 14, 2} : block_shape{512, 10, 2};
}

/// The block that sorts a sample: so many keys that a bucket of 256 is seldom half as large again as it should be, or, from 32
/// bytes on, as many as shared memory holds, with which one in six is. It has the GPU to itself in a first level: many threads.
__host__ __device__ constexpr block_shape sample_shape_for(std::size_t key_bytes)
{
  return key_bytes <= 4  ? block_shape{1024, 9, 1}
       : key_bytes <= 8  ? block_shape{1024, 7, 1}
       : key_bytes <= 16 ? block_shape{512, 7, 1}
       : key_bytes <= 32 ? block_shape{256, 5, 1}
       : key_bytes <= 64 ? block_shape{256, 3, 1}
                         : block_shape{256, 2, 1};
}

/// Elements that a bucket should have, of the `most` that a block sorts: as few as make blocks that take several nearly full.
constexpr std::size_t bucket_size_for(std::size_t most)
{
  return most * 3 / 8;
}

/// What buckets may have if that saves a level.
constexpr std::size_t largest_bucket_size_for(std::size_t most)
{
  return most * 37 / 64;
}

/// Samples for each of the buckets that a segment is split into, if they fit: more where a block has room for few of them, so
/// that, of one level of narrow keys, hardly one in a million is too large.
__host__ __device__ constexpr int samples_a_bucket(std::uint64_t bucket_size, std::uint64_t most)
{
  return bucket_size * 3 <= most ? 16 : 36;
}

/// Samples of a segment that is split into so many buckets, of which no more than `possible` fit.
__host__ __device__ constexpr int
samples_for(std::uint64_t size, int buckets, std::uint64_t bucket_size, std::uint64_t most, int possible)
{
  int const enough = buckets * samples_a_bucket(bucket_size, most);
  int const fit    = size < static_cast<std::uint64_t>(possible) ? static_cast<int>(size) : possible;
  return enough < fit ? enough : fit;
}

/// Buckets, of 2^log2 at most, that a segment is split into.
__host__ __device__ constexpr int buckets_for(std::uint64_t size, std::uint64_t bucket_size, int log2)
{
  std::uint64_t const wanted = size / bucket_size + 1;
  std::uint64_t const most   = std::uint64_t{1} << log2;
  return static_cast<int>(wanted < 3 ? 3 : wanted < most ? wanted : most); // of two, none can be of equals
}

using block::tiles_of_group;

/// Blocks that a small input is spread over.
inline constexpr std::size_t blocks_for_small_inputs = 256;

/// Buckets of equal width may have so many times the keys of a sample that they would have if all had the same; and the least buckets
/// of a segment, as a power of two, with which a guess is less work than a search.
inline constexpr unsigned most_unevenness = 2;
inline constexpr int least_guessed_log2   = 4;

/// Elements that neighbouring buckets have that are sorted together: of a small input, few enough for all multiprocessors. Tried for records of
/// 16 bytes, 2^20, of which a block and a bit more would sort all: half as many, so that all blocks sort twice, 139 us in place of 129.
constexpr std::size_t elements_together(std::size_t n, std::size_t most)
{
  std::size_t const even = n / blocks_for_small_inputs;
  return even < most / 4 ? most / 4 : even < most ? even : most;
}

/// Elements that a thread takes at least, in a split of a small input.
inline constexpr int least_rows = 6;

/// Blocks that merge what is left over, a multiprocessor, of keys and values of so many bytes: with more, registers run short. Measured on an H200 with
/// CUDA 13.0, hybrid sort of 2^24 keys that mislead samples, a version before, us: u32 1,048 (4 blocks: 1,070), u64 1,577 (3 blocks: 1,626).
constexpr int leftover_blocks_for(std::size_t key_bytes, std::size_t value_bytes)
{
  return key_bytes <= 4 && value_bytes == 0 ? 3 : 2;
}

/// Records of up to so many bytes are looked into for a number to go by.
inline constexpr std::size_t most_numbered_bytes = 2048;

/// The blocks that do so, and what each thread of those that read numbers has under way.
inline constexpr int number_threads               = 256;
inline constexpr std::size_t number_blocks_per_sm = 8;
inline constexpr unsigned numbers_at_once         = 4;

/// Records that are tied by a number and still put in order; and pairs that are compared beforehand, of which one is likely to be tied if
/// records are tied by more than that, up to 2^23 of them: a power of two.
inline constexpr std::uint32_t most_ties     = 32;
inline constexpr std::size_t fewest_compared = number_threads;
constexpr std::size_t compared_pairs(std::size_t n)
{
  std::size_t pairs = fewest_compared;
  while (pairs < std::size_t{1} << 18 && 2 * pairs <= n / most_ties)
  {
    pairs *= 2;
  }
  return pairs;
}

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

/// The split of n > most elements into buckets for blocks that sort `most`: as few levels as do where a block may have up to
/// `widest`, and as many buckets in each, up to 2^log2_of_level.
constexpr split_depth split_depth_for(std::size_t n, std::size_t most, std::size_t widest, int log2_of_level)
{
  split_depth depth{};
  int bits = 2; // a tree of one splitter has no bucket of equals
  while (n >> bits > bucket_size_for(most))
  {
    ++bits;
  }
  int least = 2;
  while (n >> least > largest_bucket_size_for(widest))
  {
    ++least;
  }
  depth.levels = (least + log2_of_level - 1) / log2_of_level;
  if (depth.levels > most_levels)
  {
    depth.levels = most_levels;
  }
  if (bits > depth.levels * log2_of_level)
  {
    bits = depth.levels * log2_of_level;
  }
  for (int level = 0; level < depth.levels; ++level)
  {
    int const left    = depth.levels - level;
    depth.log2[level] = (bits + left - 1) / left;
    bits -= depth.log2[level];
  }
  return depth;
}

/// The most elements of a segment that a second level splits, or a later one. Chance does not give a bucket a quarter of all, where the first level
/// makes 16 or more, but whoever knows which keys are sampled can.
constexpr std::size_t most_split_for(std::size_t n, split_depth const& depth)
{
  return depth.log2[0] >= 4 ? n / 4 : n;
}

/// Elements a thread takes of n in a split: of all elements, so many that the table of where buckets begin takes no more than
/// a fortieth of their room, as far as `items` go: 1-byte elements have too few, and the table takes a tenth.
constexpr int rows_for(std::size_t n, split_depth const& depth, std::size_t element_bytes, int threads, int items)
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
