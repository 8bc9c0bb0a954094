// Numbers of the radix sort, each with where it was measured.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace gpusort::radix
{

/// The shape of a block in a partition pass.
struct pass_shape
{
  int threads;
  int items; // a thread
  int blocks; // a multiprocessor: what registers are shared out for
};

/// Keys and values of so many bytes. Measured on an H200 with CUDA 13.0, uniform keys, in ms for the whole sort; the
/// runners-up behind the choice: u32, 2^28: 5.33 (512 x 18: 5.49); pairs of u32, 2^28: 7.72 (384 x 18: 7.76); u64, 2^27:
/// 7.25 (512 x 14: 7.31); (u64, u32), 2^27: 9.85 (384 x 14: 10.2); pairs of u64, 2^27: 12.3 (512 x 10: 12.5); u128 of
/// which 64 bits vary, 2^26: 6.29 (512 x 8: 6.34).
__host__ __device__ constexpr pass_shape pass_shape_for(std::size_t key_bytes, std::size_t value_bytes)
{
  std::size_t const widest = key_bytes > value_bytes ? key_bytes : value_bytes;
  if (widest <= 4)
  {
    return value_bytes == 0 ? pass_shape{384, 24, 2} : pass_shape{512, 14, 2};
  }
  if (widest <= 8)
  {
    return value_bytes == 0 ? pass_shape{384, 18, 2}
         : value_bytes <= 4 ? pass_shape{384, 16, 2}
                            : pass_shape{384, 14, 2};
  }
  return {256, 12, 3};
}

/// The blocks that sort what fits them: small ones where the shared memory of a device does not hold more.
struct sort_shape
{
  int threads;
  int items; // a thread
};

__host__ __device__ constexpr sort_shape block_sort_shape(bool small)
{
  return small ? sort_shape{256, 8} : sort_shape{512, 9};
}

__host__ __device__ constexpr int block_sort_tile(bool small)
{
  return block_sort_shape(small).threads * block_sort_shape(small).items;
}

/// Elements that a block at least sorts if small buckets lie side by side, as a power of two: about half of what fits it,
/// or less, down to 2^9, where that leaves multiprocessors idle.
constexpr int share_log2_for(std::size_t n, bool small)
{
  int log2 = small ? 10 : 11;
  while (log2 > 9 && n >> log2 < 128)
  {
    --log2;
  }
  return log2;
}

/// Blocks that sort buckets, a multiprocessor: what registers are shared out for. Measured on an H200, uniform keys, 2^28, in
/// ms for the whole sort, with one and with two: u32 5.3, 4.5; u64 8.9, 7.9; pairs of u32 7.65, 7.5; u128 16.3, 18.9.
__host__ __device__ constexpr int block_sorts_per_sm(std::size_t key_bytes, std::size_t value_bytes)
{
  return key_bytes > 8 || value_bytes > 8 || (key_bytes == 8 && value_bytes != 0) ? 1 : 2;
}

/// One split into 256 buckets makes even ones that fit a block of up to this many elements; more take two levels.
constexpr std::size_t one_level_elements(bool small)
{
  return std::size_t{256} * (small ? 1024 : 4096);
}

/// Segments that are split together beyond the first two levels, where few are left. Bounded for their counters' memory.
constexpr std::size_t max_segments_for(std::size_t n, bool two_levels)
{
  std::size_t const few = n / (std::size_t{8} * block_sort_tile(false));
  std::size_t const all = few < 1024 ? few : 1024;
  return two_levels ? (all < 256 ? 256 : all) : (all < 16 ? 16 : all);
}

/// Where a bucket has more than this part of a segment, lanes that count in shared memory wait too long for each other.
inline constexpr unsigned crowded_share = 8;

/// Levels whose buckets follow a sample; further ones go by digits.
inline constexpr std::uint32_t sampled_levels = 4;
inline constexpr int samples_per_thread       = 4;

inline constexpr int waiting_threads    = 1024; // that look at and split what is left after the first levels
inline constexpr int look_threads       = 512;
inline constexpr int look_blocks_per_sm = 2;

/// Keys that a thread of a look reads at once: what its registers hold beside the rest.
__host__ __device__ constexpr int look_items(std::size_t key_bytes)
{
  return key_bytes <= 8 ? 8 : 4;
}

/// Blocks that a small input is spread over: about two for each multiprocessor of an H200. Smaller tiles for them
/// shorten a pass, whose time on a small input is that of one tile. With at least 4, 6, 8 rows 2^16 u32 take 43, 44, 44 us
/// and 2^18 take 56, 51, 51 on an H200.
inline constexpr int blocks_for_small_inputs = 256;
inline constexpr int least_rows              = 6; // elements a thread

/// Elements a thread takes of n: enough for `blocks_for_small_inputs` blocks, and at most `items`.
constexpr int rows_for(std::size_t n, int threads, int items)
{
  std::size_t const spread = (n + blocks_for_small_inputs * static_cast<std::size_t>(threads) - 1)
                           / (blocks_for_small_inputs * static_cast<std::size_t>(threads));
  std::size_t const rows = spread < least_rows ? least_rows : spread;
  return rows < static_cast<std::size_t>(items) ? static_cast<int>(rows) : items;
}

inline constexpr int moved_at_once = 8; // elements a thread, where they are copied or reversed

/// The kernel that writes images out.
inline constexpr int image_threads  = 256;
inline constexpr int images_at_once = 4; // keys a thread

/// Whether keys of several fields move with their images. Otherwise indices do, and the keys are gathered once at the
/// end. Counted in bytes of memory traffic a key; what both need, the images above all, is left out:
/// - every level of a sort reads and writes what moves with the image: the key, or an index of 4 bytes. There are two and
///   the sorting inside blocks, or as many as the image has bytes, if it has fewer;
/// - an index is written, and read by the reading of images and by the gathering (12 bytes); gathering reads a whole
///   sector of 32 bytes, however short the key is, and writes it, and then it is copied back;
/// - of an image of more than 128 bits, every further word is sorted by itself, and read through the indices, a sector a
///   key.
/// So keys of up to 16 bytes, which is what kernels move, go with their images. Not measured yet.
constexpr bool moves_key_with_image(std::size_t key_bytes, int image_bits)
{
  std::size_t const bytes    = static_cast<std::size_t>(image_bits + 7) / 8;
  std::size_t const words    = static_cast<std::size_t>(image_bits + 127) / 128;
  std::size_t const levels   = words * (bytes < 3 ? bytes : 3);
  std::size_t const sectors  = key_bytes < 32 ? 32 : key_bytes;
  std::size_t const by_key   = 2 * levels * key_bytes + (words - 1) * key_bytes;
  std::size_t const by_index = 2 * levels * 4 + 12 + sectors + 3 * key_bytes + (words - 1) * (sectors + 4);
  return key_bytes <= 16 && by_key <= by_index;
}

} // namespace gpusort::radix
