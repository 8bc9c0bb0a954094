// Numbers of the radix sort, each with where it was measured.
#pragma once

#include <gpusort/block/full_bins.h>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace gpusort::radix
{

/// Of any key.
inline constexpr int most_digits = 16;

/// The shape of a block in a partition pass.
struct pass_shape
{
  int threads;
  int items; // a thread
  int blocks; // a multiprocessor: what registers are shared out for
  // Whether full tiles have code of their own, and those passes by digits a kernel of their own that are no level of buckets.
  bool has_special_code;
  bool counts_first = false; // see block/partition.cuh
  int bucket_blocks = 0; // levels of buckets have a kernel of their own, with so many a multiprocessor, if not 0
  // Passes by digits of one launch that has few blocks, each of which moves a tile after the other; 0: a block for each tile.
  int passes_in_turn = 0;
};

/// Keys and values of so many bytes. Measured on an H200 with CUDA 13.0, uniform keys, in ms for the whole sort; the
/// runners-up behind the choice: u32, 2^28: 5.33 (512 x 18: 5.49); pairs of u32, 2^28: 7.72 (384 x 18: 7.76); u64, 2^27:
/// 7.25 (512 x 14: 7.31); (u64, u32), 2^27: 9.85 (384 x 14: 10.2); pairs of u64, 2^27: 12.3 (512 x 10: 12.5); u128 of
/// which 64 bits vary, 2^26: 6.29 (512 x 8: 6.34). Special code makes wide keys slower, for want of registers: AND of two
/// samples, in ms without it and with it, u64, 2^28: 15.1, 16.9; (u64, u32), 2^27: 10.5, 11.5; pairs of u64, 2^27: 12.2,
/// 12.7; u128, 2^26: 11.8, 14.6; but u32, 2^28: 6.1, 5.7; pairs of u32, 2^27: 4.4, 3.9. A kernel of its own for levels of buckets, with
/// three blocks, u32, 2^28: 3.64 (with two 3.91; none 3.87); u64, 2^28: 6.65 (6.65; 6.46); on an H100, with two blocks, pairs of u32, 2^28, uniform,
/// in order and AND of three samples: 7.37, 0.75, 8.28 (none 7.30, 0.68, 8.15); 2^24, the first and the last, 0.545, 0.588 (0.541, 0.596). Blocks that take turns, in place of
/// one for each tile, 2^28, uniform keys, which leave them nothing to do, and zipf, which they move: u64 6.69, 14.2 to 6.49, 14.7; f64 7.45,
/// 15.7 to 7.13, 15.4; u128 15.7, 45.3 to 14.9, 45.2; but (u64, u32) 11.1, 18.4 to 10.9, 26.6; pairs of u64
/// 12.4, 23.1 to 12.1, 31.8, for want of registers. Keys of 4 bytes take turns with a launch for each pass: u32, 2^28, 3.71, 4.90 to 3.60, 4.75; 2^24, 0.286, 0.374
/// to 0.280, 0.380, where one launch of all passes takes 0.276, 0.402.
__host__ __device__ constexpr pass_shape pass_shape_for(std::size_t key_bytes, std::size_t value_bytes)
{
  std::size_t const widest = key_bytes > value_bytes ? key_bytes : value_bytes;
  if (widest <= 4)
  {
    return value_bytes == 0
           ? pass_shape{384, 24, 2, true, key_bytes == 4, key_bytes == 4 ? 3 : 0, key_bytes == 4 ? 1 : 0}
           : pass_shape{512, 14, 2, true};
  }
  if (widest <= 8)
  {
    return value_bytes == 0 ? pass_shape{384, 18, 2, false, false, 0, most_digits}
         : value_bytes <= 4 ? pass_shape{384, 16, 2, false}
                            : pass_shape{384, 14, 2, false};
  }
  return {256, 12, 3, false, false, 0, value_bytes == 0 ? most_digits : 0};
}

/// The blocks that sort what fits them. For whole inputs medium ones, or small ones, where not every device has room for these. Medium blocks sort the shares of a cluster too, and buckets where crowded ones are listed. For buckets: so that two or three blocks fit a
/// multiprocessor. Long buckets are those of inputs too large for 2^16 of mean_bucket, of others that are not quite even, if they are keys alone, and those by a curve where
/// short ones have too little to spare. Counted ones
/// are those of inputs too large for these, of keys of 4 bytes alone.
/// Measured on an H200 with CUDA 13.0, uniform u32 in memory, us for the whole sort with blocks of 512 x 15 and of 512 x 9: 4096 14.0, 11.9; 2^14, in a cluster, 25.1,
/// 20.7; 7000, in one block and in a cluster, 14.9, 18.9. Instructions that are executed once have to be fetched, which takes longer than they do: with blocks of 512 x 4, up to
/// 2048 took 0.7 us less, and have not been worth a kernel since such inputs are sorted by search, where there are clusters.
enum class sort_class
{
  small,
  medium,
  bucket,
  long_bucket,
  counted_bucket
};

/// Whether blocks that sort buckets stage their elements in shared memory, as they were, which leaves room in registers: where tokens have
/// places (block/bin_sort.cuh).
__host__ __device__ constexpr bool is_staged(std::size_t key_bytes, std::size_t value_bytes, sort_class c)
{
  return (c == sort_class::bucket && (value_bytes != 0 || key_bytes > 8))
      || (c == sort_class::long_bucket && value_bytes != 0);
}

struct sort_shape
{
  int threads;
  int items; // a thread, at the most
};

__host__ __device__ constexpr sort_shape sort_shape_for(std::size_t key_bytes, std::size_t value_bytes, sort_class c)
{
  bool const short_keys = key_bytes <= 4 && value_bytes == 0;
  bool const is_wide    = key_bytes > 8 || value_bytes > 8;
  bool const is_bucket  = c == sort_class::bucket || c == sort_class::long_bucket;
  return c == sort_class::small       ? sort_shape{512, 4}
       : is_bucket && short_keys      ? sort_shape{256, 18}
       : is_bucket && is_wide         ? sort_shape{1024, 5}
       : c == sort_class::long_bucket ? sort_shape{1024, key_bytes > 4 && value_bytes > 0 ? 11 : 18}
                                      : sort_shape{512, 9};
}

/// Elements that a block sorts: no more of a bucket than a medium block, which sorts it if it is crowded.
__host__ __device__ constexpr int sort_tile_for(std::size_t key_bytes, std::size_t value_bytes, sort_class c)
{
  sort_shape const shape = sort_shape_for(key_bytes, value_bytes, c);
  int const all          = shape.threads * shape.items;
  if (c == sort_class::bucket)
  {
    int const medium = sort_tile_for(key_bytes, value_bytes, sort_class::medium);
    return medium < all ? medium : all;
  }
  return all;
}

/// Blocks that sort buckets, a multiprocessor: what registers are shared out for. Measured on an H200, uniform keys, 2^28, in
/// ms for the whole sort, with one and with two: u64 8.9, 7.9; pairs of u32 7.65, 7.5; u128 16.3, 18.9. u32: 512 x 9 with two
/// 4.24, 256 x 18 with three 4.09, with four 4.09; u64, before it was read again (`rereads`), 256 x 18 with two and three 7.95
/// and 7.74, 512 x 9 7.38. Those of pairs and u128 are of blocks that held elements in registers. Staged, 2^28: pairs of u32, three, 6.42; (u64, u32), two,
/// 9.5; pairs of u64, two, 10.6; u128, one of 1024 threads, 12.7; others not tried.
__host__ __device__ constexpr int sort_blocks_per_sm(std::size_t key_bytes, std::size_t value_bytes, sort_class c)
{
  bool const wide = key_bytes > 8 || value_bytes > 8;
  return c != sort_class::bucket || wide ? 1 : key_bytes <= 4 && value_bytes <= 4 ? 3 : 2;
}

/// Whether blocks that sort buckets list those that bins do not sort, for medium blocks, but for long ones; others sort these digit by
/// digit, which takes registers that keys alone of up to 8 bytes leave.
__host__ __device__ constexpr bool lists_crowded(std::size_t key_bytes, std::size_t value_bytes)
{
  return value_bytes != 0 || key_bytes > 8;
}

/// What blocks do where bins are too full. Those of whole inputs merge, or go digit by digit, where that takes no longer than sorting long bins. Blocks that sort
/// even buckets do without splits: with them, u32, 2^28, on an H200, took 3.75 ms in place of 3.70 for radix sort, and 6.2 in place of 5.7 for hybrid
/// sort.
__host__ __device__ constexpr block::full_bins full_bins_of(sort_class c)
{
  return c == sort_class::bucket || c == sort_class::long_bucket
         ? block::full_bins::give_up
         : block::full_bins::split_few;
}

/// Whether blocks of a class that sorts buckets read their keys again for each step. Measured on an H200, uniform keys, 2^28, in ms for the whole sort,
/// with keys in registers and read again: u64 6.73, 6.47; u32 3.85, 4.06. 2^30, long buckets: u32 18.0, 15.7; u64 35.7, 29.6 (before
/// there was less to do for each bin).
__host__ __device__ constexpr bool rereads(std::size_t key_bytes, std::size_t value_bytes, sort_class c)
{
  return value_bytes == 0 && (c == sort_class::long_bucket || (c == sort_class::bucket && key_bytes == 8));
}

/// Bits of a rank that bins tell apart at the most: see block/bin_sort.cuh.
inline constexpr int most_bin_bits = 13;

/// Whether keys are sorted by digits however even they are: few digits vary, and so few bits that there are many of each value, while
/// ranks of a bucket differ in more bits than bins tell apart, so that bins are crowded and have to be sorted. Where three digits vary, the
/// lowest bits, up to `lowest_varying`, say nothing to bins; but they do if tokens have places (block/bin_sort.cuh), by which lanes meet on counts. Measured
/// on an H200, 2^28, in ms by digits and by buckets: u32 that are multiples of 256 4.36, 3.47 (6.68 where bins took those bits); u64 of which the highest 24
/// bits vary 7.12, 5.87 to 6.17; the same with values of 4 bytes 7.30, 8.03; 9.73, 11.4.
__host__ __device__ constexpr bool have_few_digits(
  std::uint64_t n, bool have_places, int bits_in_bucket, int varying_digits, int varying_bits, int lowest_varying)
{
  bool const leaves_out = varying_digits > 2 && !have_places;
  return bits_in_bucket - (leaves_out ? lowest_varying : 0) > most_bin_bits && varying_digits <= 3
      && std::uint64_t{8} << varying_bits <= n;
}

/// Uneven keys that vary in so many digits are left to a sample sort, which moves them two or three times. Measured on an H200, us by digits and so:
/// the AND of three, that of five, half of them alike, `gaussian`, and even keys, who pay for the launches: u64 2^22 365, 359; 351, 305; 359, 281; 192, 206; 159, 173;
/// 2^23 615, 539; 600, 435; 600, 385; 300, 314; 265, 279; 2^28 14,800, 14,830; 14,030, 9,280; 14,390, 9,010; 7,270, 7,350; 6,190, 6,270; (u64, u32) 2^23 726, 735;
/// 683, 640; 729, 564; 751, 495; 392, 401; 2^24 1,288, 1,285; 1,211, 1,071; 1,279, 937; 1,338, 831; 696, 701; 2^28, which takes a third level of splits (11 * 2^24 do not), 18,910, 20,760;
/// 17,630, 14,870; 18,230, 12,530; 19,410, 14,180; 9,450, 9,490; pairs of u64, of a version before, the first, the fourth and the last 2^21 297, 311; 305, 210; 149, 158; 2^22 499, 514; 518, 342; 255, 266; 2^28 23,303, 21,706; 24,958, 16,022;
/// 10,907, 10,990; u128 2^18 184, 134 (`gaussian` is even); 54, 65; 2^20 305, 190; 313, 197; 90, 92; 2^26 11,621, 6,329; 11,990, 6,435; 3,208, 3,236. With values of
/// more than 8 bytes, which are not sorted by value, it was not measured.
inline constexpr std::uint32_t least_digits_to_leave = 7;

/// Of how many elements such keys are left. Of 8 bytes no more than two levels of splits take, unless values make passes by digits dear.
struct sizes_to_leave
{
  std::size_t least, most; // 0, 0: of none
};

constexpr sizes_to_leave sizes_to_leave_for(std::size_t key_bytes, std::size_t value_bytes)
{
  constexpr auto any = ~std::size_t{0};
  if (key_bytes > 8)
  {
    return {std::size_t{1} << 20, any};
  }
  if (key_bytes < 8)
  {
    return {0, 0};
  }
  return value_bytes == 0 ? sizes_to_leave{std::size_t{1} << 23, std::size_t{1} << 28}
       : value_bytes < 8  ? sizes_to_leave{std::size_t{1} << 24, std::size_t{11} << 24}
                          : sizes_to_leave{std::size_t{1} << 22, any};
}

/// The blocks that do.
struct rereading_shape
{
  int threads;
  int most; // keys
  int blocks; // a multiprocessor: what registers are shared out for, and shared memory allows
};

__host__ __device__ constexpr rereading_shape rereading_shape_for(std::size_t key_bytes, sort_class c)
{
  return c != sort_class::long_bucket ? rereading_shape{512, 4608, 3}
       : key_bytes <= 4               ? rereading_shape{512, 17920, 2}
                                      : rereading_shape{1024, 18432, 1};
}

/// The most that any device has.
inline constexpr unsigned most_cluster_blocks = 16;

/// Elements of a block that searches the shares of others, one a thread. More take longer than what sorts by value (in_cluster.cuh), if keys are even. Measured on an
/// H200 with CUDA 13.0, us for the whole sort, by search, and by value if keys are even and if they are the AND of three: u32 2^14 19.0, 16.8, 33; u64 12,000 21.3,
/// 19.7, 32; 2^14 27, 19.2, 55.
__host__ __device__ constexpr int search_threads(std::size_t key_bytes)
{
  return key_bytes > 8 ? 512 : key_bytes > 4 ? 768 : 1024;
}
inline constexpr int search_group = 256; // threads of a block whose elements are sorted before all are

/// Blocks that search each other's shares of n elements. Measured on an H200 with CUDA 13.0, u32, whatever they are, us for the whole sort with 8 blocks and with 16,
/// where an empty kernel takes 5.0 to 5.5: 256 7.0, 7.9; 1000 7.3, 8.2; 2000 8.0, 8.3; 4096 10.0, 9.1; u64 256 7.4, 8.5; 1000 8.0, 8.9; 2000 9.1, 9.2; 4096 12.3,
/// 10.8.
constexpr unsigned search_blocks_for(std::size_t n)
{
  return n <= 2048 ? 8 : most_cluster_blocks;
}

/// Blocks of a cluster that shares an input out by value, the better choice first. Measured on an H200, uniform keys in the cache, in
/// us with 8 and with 16: u32 2^14 15.4, 16.0; 2^15 17.8, 16.9; u64 2^14 17.1, 16.0; 2^15 21.9, 17.6.
inline constexpr unsigned cluster_blocks[] = {16, 8};

/// Elements of the input that a thread of a cluster takes.
inline constexpr int cluster_items =
  sort_tile_for(4, 0, sort_class::bucket) / sort_shape_for(4, 0, sort_class::medium).threads;

/// Elements that a cluster sorts: so many that a mean share leaves a ninth of a block's tile free, where a block sorts no more
/// than it takes of the input.
constexpr std::size_t most_in_cluster(unsigned blocks)
{
  return static_cast<std::size_t>(sort_tile_for(4, 0, sort_class::bucket)) * blocks * 8 / 9;
}

/// What one wave of blocks sorts: at most 128 tiles, one a multiprocessor of an H200, and then 256 buckets, about two each. In a long wave there are up to two
/// tiles a multiprocessor, and buckets are sorted by blocks of twice as many threads.
inline constexpr int wave_threads = 512;
inline constexpr int wave_samples = 4; // a thread; as many are neighbours
/// Where the neighbours begin that are number `group`, of wave_threads, of the sample of n keys: at a place of their part of the input that is not always the same, so
/// that no period is in step with it.
__host__ __device__ constexpr std::uint32_t wave_sample_begin(std::uint32_t n, std::uint32_t group)
{
  std::uint32_t const stride = n / wave_threads - wave_samples; // at least 1
  auto const place = static_cast<std::uint32_t>(static_cast<std::uint64_t>(group * 0x9e3779b9u) * stride >> 32);
  return group * (stride + wave_samples) + place;
}

inline constexpr int least_wave_items = 2; // with one, 2^16 keys would take as much memory for what tiles note as 2^17
inline constexpr unsigned wave_blocks = 128;
inline constexpr unsigned most_wave_tiles   = 2 * wave_blocks;
inline constexpr int wave_buckets           = 256;
inline constexpr int wave_sort_threads      = 512;
inline constexpr int long_wave_sort_threads = 1024;

/// Elements of a tile, a thread, at the most, of keys and values of so many bytes: as many as there are registers for. With 17, pairs of u64
/// took 1 us more at 2^16, and 6 at 2^20, on an H200. Keys of 16 bytes are fewer, as full buckets are smaller.
__host__ __device__ constexpr int wave_items(std::size_t key_bytes, std::size_t value_bytes, bool is_record = false)
{
  bool const is_wide = value_bytes != 0 && (key_bytes > 4 || value_bytes > 4);
  return is_record || (is_wide && key_bytes <= 8) ? 16 : key_bytes > 8 ? 12 : 17;
}
__host__ __device__ constexpr std::size_t
most_in_wave(std::size_t key_bytes, std::size_t value_bytes, bool is_record = false)
{
  auto const items = static_cast<std::size_t>(wave_items(key_bytes, value_bytes, is_record));
  return std::size_t{wave_blocks} * wave_threads * items;
}

/// Elements of a bucket that a thread sorts, at the most: of keys and values of so many bytes, as many as two blocks a multiprocessor have
/// registers or shared memory for. Keys alone, which are held in registers, have other code for short buckets, which takes fewer
/// instructions: u64, 2^20, 17.3 us in place of 20.
__host__ __device__ constexpr int wave_sort_items(std::size_t key_bytes, std::size_t value_bytes)
{
  std::size_t const widest = key_bytes > value_bytes ? key_bytes : value_bytes;
  return widest > 8 ? 8 : value_bytes == 0 ? (widest <= 4 ? 18 : 17) : widest <= 4 ? 14 : 10;
}
__host__ __device__ constexpr int short_wave_sort_items(std::size_t key_bytes, std::size_t value_bytes)
{
  return value_bytes == 0 && key_bytes <= 8 ? 9 : wave_sort_items(key_bytes, value_bytes);
}

/// Whether blocks of a wave stage the elements of a bucket, whether there are values or not: records, and keys of 16 bytes.
__host__ __device__ constexpr bool is_staged_in_wave(std::size_t key_bytes, bool is_record)
{
  return is_record || key_bytes > 8;
}

/// Elements of a bucket that a block holds, at the most. Records are staged in shared memory, of which two blocks have no more.
__host__ __device__ constexpr int most_in_wave_bucket(
  std::size_t key_bytes, std::size_t value_bytes, bool is_record = false, int threads = wave_sort_threads)
{
  return is_record ? 4800 : threads * wave_sort_items(key_bytes, value_bytes);
}

/// The same if nearly all are one key: of what is staged, and with values, these are one bin, which is split only if it has no more than 8 a thread
/// (block/bins.cuh).
__host__ __device__ constexpr int most_alike_in_wave_bucket(
  std::size_t key_bytes, std::size_t value_bytes, bool is_record = false, int threads = wave_sort_threads)
{
  bool const are_one_bin = value_bytes != 0 || is_staged_in_wave(key_bytes, is_record);
  return threads * (are_one_bin ? 8 : wave_sort_items(key_bytes, value_bytes));
}

/// Up to so many keys of so many bytes a cluster is used all the same. Measured on an H200 with CUDA 13.0, uniform keys in memory, us with a cluster and
/// with one wave: u32 2^14 21.4 and 22, 2^15 22.3 and 22.0, 2^16 24.8 and 20.2; u64 22.6, 22.7; 24.5, 23.8; 28.7, 23.9; f32 2^15 23.6, 20.1. Of 16 bytes, 2^15,
/// even ones 29.0 and 27.5, the AND of three 121 and 55: a cluster sorts what it cannot share out digit by digit.
__host__ __device__ constexpr std::size_t most_before_wave(std::size_t key_bytes)
{
  return std::size_t{1} << (key_bytes > 8 ? 13 : 14);
}

/// Whether one wave sorts keys and values of so many bytes, if there are not too many of them.
__host__ __device__ constexpr bool has_wave(std::size_t key_bytes, std::size_t value_bytes)
{
  return ((key_bytes == 4 || key_bytes == 8) && value_bytes <= 8) || (key_bytes == 16 && value_bytes == 0);
}

/// Whether a long wave sorts more of them. Measured on an H200 with CUDA 13.0, us by buckets or digits and in a long wave, 2^21: u32 even 80, 48, `gaussian` 94,
/// 79, `zipf` 99, 89; u64 118, 70, 137, 127, 250, 238. With values few uneven inputs gain: pairs of u32, 1,200,000, in a long wave even 59, `gaussian` 60, half
/// alike 108, where CUB takes 102, 102, 97.
__host__ __device__ constexpr bool has_long_wave(std::size_t key_bytes, std::size_t value_bytes)
{
  return key_bytes <= 8 && value_bytes == 0 && has_wave(key_bytes, value_bytes);
}
/// Up to how many: full buckets are 2.1 times as large as even ones, so that between splitters one in 20 inputs has a fuller one, for which its block takes long.
constexpr std::size_t most_in_long_wave(std::size_t key_bytes, std::size_t value_bytes)
{
  std::size_t const most = most_in_wave(key_bytes, value_bytes);
  int const bucket       = most_in_wave_bucket(key_bytes, value_bytes, false, long_wave_sort_threads);
  std::size_t const room = static_cast<std::size_t>(bucket * wave_buckets) / 21 * 10;
  return !has_long_wave(key_bytes, value_bytes) ? most : room < 2 * most ? room : 2 * most;
}

/// Threads of the blocks that sort the buckets of n elements.
__host__ __device__ constexpr int
wave_sort_threads_for(std::size_t n, std::size_t key_bytes, std::size_t value_bytes, bool is_record = false)
{
  bool const may_be_long = !is_record && has_long_wave(key_bytes, value_bytes);
  return may_be_long && n > most_in_wave(key_bytes, value_bytes) ? long_wave_sort_threads : wave_sort_threads;
}

/// Elements of a tile of n: as few as do. If one row less than the most would do, tiles have the most all the same, because full ones take fewer
/// instructions.
constexpr int wave_tile_for(std::size_t n, std::size_t key_bytes, std::size_t value_bytes, bool is_record = false)
{
  int const most         = wave_items(key_bytes, value_bytes, is_record);
  std::size_t const each = wave_blocks * wave_threads; // elements of a row of all blocks
  std::size_t const all  = (n + each * most - 1) / (each * most) * each; // of their tiles
  auto const rows        = static_cast<int>((n + all - 1) / all);
  return wave_threads * (rows < least_wave_items ? least_wave_items : rows + 1 == most ? most : rows);
}

/// Whether keys of so many bytes are sorted by buckets: shorter ones are counted, or, with values, have so few digits that
/// nothing is gained.
__host__ __device__ constexpr bool has_buckets(std::size_t key_bytes)
{
  return key_bytes >= 4;
}

/// Up to so many tiles, all passes by digits are one launch: a launch that has nothing to do takes more than a microsecond. With
/// more, the wait until a tile's writes are visible to the next pass takes more than that saves: u32 2^28, 5.6 ms as launches, 6.1
/// as one.
inline constexpr std::size_t tiles_in_one_launch = 512;

/// From so many keys on, a sample is glanced at for an order before the look, which counts besides. That costs others 4 us. Measured on an H100, in
/// order, 2^28 u32 and 2^27 u64, us for the glance: keys one by one, each read twice, 433 and 386; vectors, four under way, 360 and 361; six, 356 and
/// 356, which is 90 % of what memory has.
inline constexpr std::size_t least_to_glance = std::size_t{1} << 26;
inline constexpr int glance_threads          = 1024;
inline constexpr int glance_blocks_per_sm    = 1;
inline constexpr int glance_rows             = 6; // vectors that a thread has under way

inline constexpr int look_threads       = 1024;
inline constexpr int samples_per_thread = 4;

/// The bucket of a key is expected to have up to this many keys, for a block of `tile`: with 2^16 buckets and 2^28 keys, the
/// figure that a sample gives for even ones of 4096 is off by a quarter now and then.
constexpr std::size_t most_expected(int tile)
{
  return static_cast<std::size_t>(tile) * 5 / 4;
}

/// Up to this many, keys are taken for even: of 2^28 that are, the figure is off by more in three of a thousand samples, to no harm but that
/// many buckets are long.
constexpr std::size_t most_expected_evenly(std::size_t n, int buckets_log2)
{
  return (n >> buckets_log2) * 5 / 4 + 1;
}

/// Whether floating-point numbers of so many bytes may go by value. About zero only if there are so many: the bucket that zero is in has all exponents,
/// and takes a block up to 0.3 ms, digit by digit. Short ones with values only if these are not too many: numbers from 0 to 1 are multiples of 2^-24, of which
/// each then occurs so often that its bins are crowded. Measured on an H200, digit by digit and by value, us: normally distributed f64 2,500,000 288, 308; 2^22 370, 270;
/// 2^23 610, 371; with u64 2^22 463, 342; f32 2,500,000 134, 122; 2^22 175, 164; 2^24 405, 365; with u32 2,500,000 160, 172; 2^24 568, 573; pairs of f32 and u32, from 0 to 1,
/// ms, by value and otherwise, 2^24 0.53, 0.59; 2^28 9.4, 8.0.
__host__ __device__ constexpr std::size_t least_about_zero(std::size_t key_bytes, bool with_values)
{
  return std::size_t{1} << (key_bytes > 4 ? 22 : with_values ? 25 : 21);
}
inline constexpr std::size_t most_short_by_value = std::size_t{1} << 26;
__host__ __device__ constexpr bool
goes_by_value(std::uint64_t n, std::size_t key_bytes, bool with_values, bool about_zero)
{
  return (!about_zero || n >= least_about_zero(key_bytes, with_values))
      && (key_bytes > 4 || !with_values || n <= most_short_by_value);
}

/// How much wider buckets reach than a sample where keys may be rare towards its ends, as a part of its width at either end: of 2^28 normally
/// distributed keys, 65,536 lie beyond either end of a sample of 4096, and about 1,500 beyond such margins.
inline constexpr double margin_of_rare_keys = 0.125;

/// Its square root, rounded down.
__host__ __device__ constexpr std::uint32_t root_of(std::uint32_t x)
{
  std::uint32_t root = 0;
  while ((root + 1) * (root + 1) <= x)
  {
    ++root;
  }
  return root;
}

/// Most of a sample that is met in one of n / 2^buckets_log2 buckets of `tile`, by chance: the mean and four times its square
/// root, and a few where the mean is small. With 4 of them in place of 8, most even inputs of 2^25 keys would be taken for uneven.
constexpr std::uint32_t most_in_sample(std::size_t n, int tile)
{
  auto const mean =
    static_cast<std::uint32_t>(std::size_t{look_threads} * samples_per_thread * static_cast<std::size_t>(tile) / n);
  return mean + 4 * root_of(mean) + 8;
}

/// Keys that a thread of a look reads at once: what its registers hold beside the rest.
__host__ __device__ constexpr int look_items(std::size_t key_bytes)
{
  return key_bytes <= 8 ? 8 : 4;
}

/// For the counts of more, a look has no shared memory.
inline constexpr int most_buckets_log2 = 16;

/// Elements of a mean bucket, at most, up to most_buckets_log2: of short buckets and of long ones.
inline constexpr std::size_t mean_bucket = 4096;
__host__ __device__ constexpr std::size_t mean_long_bucket(std::size_t key_bytes, std::size_t value_bytes)
{
  return key_bytes > 4 && value_bytes > 0 ? 10240 : 16384;
}

/// Whether keys of so many bytes go to buckets by a curve, where those of equal width would not fit blocks.
__host__ __device__ constexpr bool has_curve(std::size_t key_bytes)
{
  return key_bytes == 8;
}

/// Elements of a mean bucket by a curve, at most, up to most_buckets_log2: a sample says less of how many they are. Measured on an H200, ms, where means are
/// up to 1024 and up to 2048: normally distributed f64 2^26 2.49, 2.12; `gaussian` (u64, u32) 2^26 3.32, 2.86.
inline constexpr std::size_t mean_bucket_by_curve = 2816;

/// How much further a curve reaches than its sample, as a part of its width at either end: beyond, all keys are in one bucket. Of 2^28 exponentially
/// distributed ones 22,000 lie beyond an eighth, and 1,000 beyond this. What it reaches for nothing makes cells wider, but no bucket emptier.
inline constexpr int margin_of_curve_log2 = 1; // halvings
inline constexpr double margin_of_curve   = 1.0 / (1 << margin_of_curve_log2);

/// The bucket of a key is expected to have up to so many, for a block of `tile`.
constexpr std::size_t most_expected_by_curve(int tile)
{
  return static_cast<std::size_t>(tile) * 3 / 4;
}

/// The same for one of equal width where a curve may do instead: if two and a half times as many fit, as the fullest may have, or if keys are about even. Of those
/// a sample says that many on average, and four deviations more once in tens of thousands of times.
constexpr std::size_t most_expected_or_curve(std::size_t n, int buckets_log2, int tile)
{
  constexpr std::size_t samples = std::size_t{look_threads} * samples_per_thread;
  auto const meetings =
    static_cast<std::uint32_t>(samples * (samples - 1) / 2 >> buckets_log2); // of samples in buckets
  std::size_t const mean       = n >> buckets_log2;
  std::size_t const about_even = mean + mean * 4 / root_of(meetings);
  std::size_t const uneven     = static_cast<std::size_t>(tile) * 2 / 5;
  std::size_t const most       = uneven < about_even ? about_even : uneven;
  return most < most_expected(tile) ? most : most_expected(tile);
}

/// What a wave's sample says of buckets of equal width.
struct wave_sample
{
  std::uint32_t all; // that have been counted
  std::uint32_t squares; // of what each bucket has of them, added up
  std::uint32_t most; // that one has
  std::uint32_t filled; // buckets that have any
};

/// What a bucket of `capacity` of n keys has of `all` samples, up to 2^16, on average. Chance makes it the square root more or less.
__host__ __device__ constexpr std::uint32_t of_full_bucket(std::uint32_t all, std::uint32_t n, int capacity)
{
  return all * static_cast<std::uint32_t>(capacity) / n;
}

/// The most samples that a bucket has if it is hardly longer than a full one, which has `full` of them. Chance makes it the square root more, and now and then three times
/// that, for which room is left where a full bucket has much of the sample: in small inputs, of which one bucket often has about so much if keys are uneven.
__host__ __device__ constexpr std::uint32_t most_well_below(std::uint32_t full)
{
  return full - root_of(full) - (full < 256 ? 0 : full / 16);
}

/// Whether buckets that hold `capacity` of n keys suffice, `alike` if those are one key. They do in three cases: the fullest bucket is well below a full one.
/// Or many have about as much of the sample as the fullest, which then has most by chance, and it is hardly above a full one. Or the sample is
/// about as even as chance leaves it: if each of m buckets takes every key equally likely, their shares of k keys deviate from k / m by squares that
/// add up to k, give or take; keys that are uneven add more, of which the fuller even buckets are, the less can be borne.
__host__ __device__ constexpr bool fits_wave(wave_sample const& sample, std::uint32_t n, int capacity, int alike)
{
  constexpr std::uint32_t many = 16; // buckets
  std::uint32_t const full     = of_full_bucket(sample.all, n, capacity);
  bool const is_one_of_many    = sample.squares >= many * sample.most * sample.most;
  if (sample.most <= most_well_below(of_full_bucket(sample.all, n, alike))
      || (is_one_of_many && sample.most <= full + root_of(full)))
  {
    return true;
  }
  float const spare =
    static_cast<float>(wave_buckets * capacity) / static_cast<float>(n) - 1; // of a full bucket, in even ones
  float const borne = static_cast<float>(sample.all) * spare * spare / 9;
  // What chance makes of even keys, in nearly all samples; where hardly anything is to spare, which is so of many records, in fewer.
  float const least   = spare < 0.2f ? 72 : 96;
  auto const unevenly = static_cast<std::uint32_t>(borne < least ? least : borne < 192 ? borne : 192);
  return sample.most <= sample.all / wave_buckets + root_of(25 * sample.all / wave_buckets)
      && sample.squares * wave_buckets <= sample.all * (sample.all + wave_buckets + unevenly);
}

/// Whether full buckets, of up to `most`, have so much to spare that a sample of half the size says enough of them.
__host__ __device__ constexpr bool has_small_samples(int most)
{
  return most >= 8192;
}

/// Keys of a sample by which splitters of a wave are chosen, a thread, at the most, for such buckets: powers of two, so that no run is left to a
/// second round of few warps.
__host__ __device__ constexpr int wave_splitter_items(int most)
{
  return has_small_samples(most) ? 8 : 16;
}

/// The same where few samples do.
inline constexpr int few_wave_splitter_items = 3;

/// Whether so few will do: if full buckets are nearly four times as large as even ones, one of as many samples is hardly ever larger.
__host__ __device__ constexpr bool few_splitter_samples_do(std::uint32_t n, int most)
{
  return n / 4 * 15 <= static_cast<std::uint32_t>(most) * wave_buckets;
}

/// Keys of such a sample of n: 6 for each bucket, or 16 or 32.
__host__ __device__ constexpr int splitter_samples_for(std::uint32_t n, int most)
{
  return wave_threads * (few_splitter_samples_do(n, most) ? few_wave_splitter_items : wave_splitter_items(most));
}

/// Whether a sample is about even, but for the bucket that has most of it.
__host__ __device__ constexpr bool is_even_but_for_one(wave_sample const& sample)
{
  std::uint32_t const others  = sample.all - sample.most;
  std::uint32_t const squares = sample.squares - sample.most * sample.most;
  return squares * wave_buckets <= others * (others + wave_buckets + 192); // as fits_wave bears it, at the most
}

/// Whether blocks of a wave of n elements that hold buckets of up to `most` sort what bins do not, sooner than digits sort all: not those of a long wave, half as
/// many at once (u32 2^21, AND of two, 124 us, by digits 90), nor of 16 bytes (2^19 `zipf` 326, 244); of 4 bytes keys alone (pairs 700,000 84, 81). And only if full buckets are 2.1 times
/// as large as even ones, or 2.4 times of 4 bytes: where there are many of some keys, one beside them may be overfull, and digits would have taken less (u32 1,000,000 `zipf` 105, 75; u64
/// 17 * 2^16 161, 137).
__host__ __device__ constexpr bool
sorts_crowded_soon(std::uint32_t n, std::size_t key_bytes, std::size_t value_bytes, int most)
{
  bool const is_long         = most > most_in_wave_bucket(4, 0);
  std::uint32_t const of_ten = key_bytes == 8 ? 21 : 24;
  bool const has_space       = n / 10 * of_ten <= static_cast<std::uint32_t>(most) * wave_buckets;
  bool const pays            = key_bytes == 8 || (key_bytes == 4 && value_bytes == 0);
  return !is_long && has_space && pays;
}

/// Whether a wave with splitters sorts n keys sooner than digits do, or merging, if it `asks` a comparator: not if full buckets are hardly larger than
/// even ones, so that chance fills one; not if few buckets of equal width have anything, of a handful of values; nor if one has much of the sample, as
/// where many keys are alike or close together, since blocks then take long, or give up, unless buckets are small, or all others are even, and a small
/// sample will do. Much is more than a 32nd, or, `crowded_soon`, as sorts_crowded_soon says, if more than 32 buckets have something, an eighth. Records take so long
/// to merge that it is whatever their sample says. For figures see "Uneven keys in one wave", "Records in one block and in one wave", "A wave's sample, and keys of 16
/// bytes" and "Overfull buckets, and floats about zero" in docs/performance.md.
__host__ __device__ constexpr bool is_worth_splitters(
  wave_sample const& sample, std::uint32_t n, int most, bool asks, bool crowded_soon, bool are_records = false)
{
  bool const have_room = n / 4 * 7 <= static_cast<std::uint32_t>(most) * wave_buckets;
  if (are_records || !have_room)
  {
    return have_room;
  }
  bool const is_one_much = has_small_samples(most) && is_even_but_for_one(sample);
  bool const has_little  = sample.most <= sample.all / 32;
  bool const bears_more  = crowded_soon && sample.filled > 32 && sample.most <= sample.all / 8;
  bool const bears_any   = sample.filled > 8 && (few_splitter_samples_do(n, most) || is_one_much);
  return has_little || (!asks && (bears_more || bears_any));
}

/// The most that a bucket may have of such a sample of n: of what a full one has, twice the square root less.
__host__ __device__ constexpr std::uint32_t most_in_splitter_sample(std::uint32_t n, int most, int samples)
{
  std::uint32_t const full = of_full_bucket(static_cast<std::uint32_t>(samples), n, most);
  return full - 2 * root_of(full);
}

/// How many more elements than it holds, up to `most`, a block sorts of an overfull bucket of a wave: of keys alone that their rank tells.
__host__ __device__ constexpr int most_too_many_in_wave(int most, std::size_t value_bytes, bool is_record)
{
  return value_bytes == 0 && !is_record ? most / 2 : 0;
}

/// What follows from the size of an input that is to be sorted in one wave: worked out once, in place of by all threads, which would all wait for the divisions.
struct wave_limits
{
  int capacity; // elements of a bucket that a block holds, at the most
  int alike; // the same if nearly all are one key
  std::uint32_t most_of_sample; // of the fewest that are counted: no more is well below a full bucket
  bool crowded_soon; // as sorts_crowded_soon says
  int splitter_samples; // none, if splitters would leave too little to chance
  int most_between_splitters; // samples of a bucket
};

/// Samples that are counted of each `wave_samples`, at least, where keys are not like their neighbours.
inline constexpr std::uint32_t least_wave_samples = 3;

/// Of n keys and values of so many bytes; if it `asks` a comparator, blocks do not sort what bins do not.
constexpr wave_limits wave_limits_for(
  std::uint32_t n, std::size_t key_bytes, std::size_t value_bytes, bool is_record = false, bool asks = false)
{
  int const threads       = wave_sort_threads_for(n, key_bytes, value_bytes, is_record);
  int const capacity      = most_in_wave_bucket(key_bytes, value_bytes, is_record, threads);
  int const alike         = most_alike_in_wave_bucket(key_bytes, value_bytes, is_record, threads);
  bool const crowded_soon = !asks && sorts_crowded_soon(n, key_bytes, value_bytes, capacity);
  int const samples       = splitter_samples_for(n, capacity);
  bool const leaves_room  = static_cast<int>(most_in_splitter_sample(n, capacity, samples)) >= samples / wave_buckets;
  // Where one key has many places, buckets beside it may have more than all should: half of what a block sorts of an overfull one is left to chance.
  int const bearable = capacity + (crowded_soon ? most_too_many_in_wave(capacity, value_bytes, is_record) / 2 : 0);
  return {capacity,
          alike,
          most_well_below(of_full_bucket(least_wave_samples * wave_threads, n, alike)),
          crowded_soon,
          leaves_room ? samples : 0,
          static_cast<int>(most_in_splitter_sample(n, bearable, samples))};
}

/// Buckets, as a power of two, so that a mean one fits a block.
constexpr int buckets_log2_for(std::size_t n, std::size_t mean = mean_bucket)
{
  int log2 = 8;
  while (log2 < most_buckets_log2 && n >> log2 > mean)
  {
    ++log2;
  }
  return log2;
}

/// Most elements that are sorted by buckets that are not long: as many as fit them with room for chance.
inline constexpr std::size_t most_in_buckets = std::size_t{4352} << most_buckets_log2;

/// Whether keys and values of so many bytes have long buckets, with their own blocks to sort them: those that fit one.
constexpr bool has_long_buckets(std::size_t key_bytes, std::size_t value_bytes)
{
  return key_bytes == 4 ? value_bytes <= 4 : key_bytes == 8 && value_bytes <= 8;
}

__host__ __device__ constexpr std::size_t most_in_long_buckets(std::size_t key_bytes, std::size_t value_bytes)
{
  return mean_long_bucket(key_bytes, value_bytes) << most_buckets_log2;
}

/// Whether buckets of keys and values of so many bytes may be counted: 2^16 of equal width have no more than 2^16 ranks each, which is what a block has
/// shared memory to count. Some have more where they are of equal width by value, and the first and the last may.
__host__ __device__ constexpr bool has_counted_buckets(std::size_t key_bytes, std::size_t value_bytes)
{
  return key_bytes == 4 && value_bytes == 0;
}

/// Most elements that are sorted by such buckets: 2^18 each. A look that counts them in half words has more blocks than 4.
inline constexpr std::size_t most_in_counted_buckets = std::size_t{1} << (18 + most_buckets_log2);

/// Keys of a counted bucket of n, at the most: half as many again as of a mean one.
constexpr std::size_t most_in_counted_bucket(std::size_t n)
{
  return (n >> most_buckets_log2) * 3 / 2;
}

/// The bucket of a key of such an input is expected to have up to this many: a sample of even ones says more once in tens of thousands of times.
constexpr std::size_t most_expected_counted(std::size_t n)
{
  return (n >> most_buckets_log2) * 11 / 8;
}

/// Whether keys that vary in so many digits, and have up to 2^values_log2 values, are sorted by digits, however even they are: beyond long buckets where
/// that is three passes, or where half a word might not hold how many there are of a value; and pairs in long buckets where bins would be crowded.
/// Measured on an H200, pairs of u32, 2^30, even keys below 2^24, 2^26, 2^27, 2^28 and 2^32, ms by digits 29.1, 30.5, 30.6, 30.6, 31.9 and by buckets
/// 35.1, 31.6, 29.7, 28.7, 27.7; multiples of 64 and 128 30.7, 30.5 and 38.6, 43.2; u32, 2^31, below 1,000,000 by buckets 38.8, where four passes by digits
/// take 40.9.
__host__ __device__ constexpr bool
have_few_values(std::uint64_t n, bool with_values, int varying_digits, int values_log2)
{
  if (n > most_in_long_buckets(4, 0))
  {
    return varying_digits <= 3 || (values_log2 < 32 && n >> values_log2 > std::uint64_t{1} << 14);
  }
  return with_values && n > most_in_buckets && values_log2 < 32 && n >> values_log2 > 8;
}

/// Launches of the second level of an input that has more than one part: a power of two, so many that, whatever buckets have, no launch has more elements than
/// three quarters of a part.
constexpr int launches_of_stretches(std::size_t parts)
{
  int launches = 1;
  while (parts > 1 && static_cast<std::size_t>(launches) < 2 * parts)
  {
    launches *= 2;
  }
  return launches;
}

/// The kernels that count keys of one or two bytes, without values, and write them anew. Counting takes all shared memory of a
/// multiprocessor, so its one block has all threads. Measured on an H200, uniform keys, 2^28: u8 87 us for counting and 62 for
/// writing, u16 240 and 162.
inline constexpr int count_threads  = 1024;
inline constexpr int count_rows     = 4; // vectors of 16 bytes that a thread reads at once, while it counts as many
inline constexpr int rank_threads   = 1024;
inline constexpr int ranks_of_block = rank_threads * 4;
inline constexpr int zero_threads   = 512;
inline constexpr int zero_rows      = 4; // vectors that a thread reads at once
inline constexpr int zero_blocks    = 264; // two for each multiprocessor of an H200; not more than zero_threads
inline constexpr int write_threads  = 512;
inline constexpr int write_rows     = 4; // vectors that a thread writes

/// Blocks that write, a multiprocessor. Measured on an H200, u16, uniform keys, us for the whole sort with two and with three: 2^20 32, 35;
/// 2^22 38, 40; 2^24 58, 60; 2^28 412, 410; and with six of 256 threads 33, 41, 60, 416.
inline constexpr int write_blocks_per_sm = 2;

/// Shares of the output that each of them has: several of halves, as zeros of both signs take longer than other keys, and lie side by side. Measured on an H200,
/// 2^28 halves, no zeros, a tenth, a quarter and a half, us with one share, with four, and with tiles shared out by eights: 449, 454, 465; 1,429, 1,260, 1,244;
/// 1,582, 1,370, 1,384; 1,729, 1,577, 1,600; u16 with one and by eights 412, 446.
__host__ __device__ constexpr unsigned write_shares(bool is_float)
{
  return is_float ? 4 : 1;
}

/// Keys of one byte that one block counts and writes: four tiles of its, less what may lie outside the first vector. Measured on
/// an H200, uniform keys in the cache, in us: 2^14 8.8, 2^15 10.8; many blocks 2^16 14.7, a cluster, as others have it, 21.
inline constexpr std::size_t most_bytes_in_block = 65520;

/// Words of two counts each that a block has of keys of two bytes, as a power of two, where there is so much shared memory: for
/// all values, or for fewer, and then the input is read several times.
constexpr int count_words_log2(std::size_t shared_bytes)
{
  int log2 = 15;
  while (std::size_t{4} << log2 > shared_bytes)
  {
    --log2;
  }
  return log2;
}

/// Vectors that a thread reads at once of an input of so many.
constexpr int count_rows_for(std::size_t vectors, std::size_t processors)
{
  std::size_t const rows = vectors / (processors * count_threads);
  return rows < 1 ? 1 : rows < static_cast<std::size_t>(count_rows) ? static_cast<int>(rows) : count_rows;
}

inline constexpr int histogram_threads = 512;

/// Values of an input whose keys are counted by value and, without values beside them, written anew.
inline constexpr int most_values = 64;

/// A first pass by digits may leave keys of a digit in any order, where none of them has more than this part of all: lanes that meet
/// on a digit wait for each other.
inline constexpr std::size_t crowd_of_digit = 8;

/// Blocks of the kernels that go on until nothing is left.
inline constexpr int resident_blocks_per_sm = 3;

/// Blocks that a small input is spread over: about two for each multiprocessor of an H200. Smaller tiles for them
/// shorten a pass, whose time on a small input is that of one tile. With at least 4, 6, 8 rows 2^16 u32 take 43, 44, 44 us
/// and 2^18 take 56, 51, 51 on an H200.
inline constexpr int blocks_for_small_inputs = 256;
inline constexpr int least_rows              = 6; // elements a thread

/// The same in a pass over keys and values of so many bytes. With fewer, look-back words take less scratch memory. Measured on an H200 with 256 and with
/// 216, the AND of three, us, the lesser of two medians: u32 2^20 76, 74; 2^20.5 92, 95; 2^21 102, 95; u64 2^20 132, 137; pairs of u32 2^20 83, 86. Half of all keys
/// alike, 2^20: u32 75, 75; u64 133, 139.
constexpr int blocks_of_small_pass(std::size_t key_bytes, std::size_t value_bytes)
{
  return key_bytes <= 4 && value_bytes == 0 ? 216 : blocks_for_small_inputs;
}

/// Elements a thread takes of n: enough for `blocks` blocks, and at most `items`.
constexpr int rows_for(std::size_t n, int threads, int items, int blocks = blocks_for_small_inputs)
{
  std::size_t const all    = static_cast<std::size_t>(blocks) * static_cast<std::size_t>(threads);
  std::size_t const spread = (n + all - 1) / all;
  std::size_t const rows   = spread < least_rows ? least_rows : spread;
  return rows < static_cast<std::size_t>(items) ? static_cast<int>(rows) : items;
}

/// The kernel that brings the result back, and reversals.
inline constexpr int home_threads = 512;

/// Blocks of it, a multiprocessor, if there is so much to do.
inline constexpr int home_blocks_per_sm = 4;

/// Elements that a thread reverses at once, and vectors of 16 bytes. Measured on an H200, u32 that are reversed, 2^28: 541 us by vectors,
/// 600 to 690 by elements, whatever their number; a copy takes 509.
inline constexpr int reversed_at_once         = 8;
inline constexpr int vectors_reversed_at_once = 4;

/// Elements of a thread that are under way at once.
__host__ __device__ constexpr int moved_at_once(std::size_t key_bytes, std::size_t value_bytes)
{
  return key_bytes <= 4 && value_bytes <= 4 ? 16 : 8;
}

/// Keys that a thread of the counting reads at once: what its registers hold beside the rest.
__host__ __device__ constexpr int histogram_items(std::size_t key_bytes)
{
  return key_bytes <= 2 ? 16 : key_bytes <= 4 ? 8 : key_bytes <= 8 ? 6 : 3;
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

/// The kernel that writes images out.
inline constexpr int image_threads  = 256;
inline constexpr int images_at_once = 4; // keys a thread

/// Whether keys of several fields move with their images. Otherwise indices do, and the keys are gathered once at the end. Measured on an H200
/// with CUDA 13.0, uniform fields, 2^20, 2^22, 2^24: the time by index over that of keys that move, for images of 32, 64 and 128 bits:
///   8 bytes:  1.31, 1.26, 1.54;  1.23, 1.22, 1.50;  1.16, 1.18, 1.34
///   12 bytes: 0.91, 1.14, 1.26;  0.89, 1.11, 1.23
///   16 bytes: 0.74, 0.99, 1.01;  0.93, 1.09, 1.16;  1.07, 1.06, 1.15; and of 192 bits, which are two sorts, 0.90, 0.96, 1.05
///   24 bytes: 0.62, 0.71, 0.72;  0.76, 0.82, 0.86;  0.95, 0.87, 0.93
/// An index takes three launches more, which is what counts in small inputs.
constexpr bool moves_key_with_image(std::size_t key_bytes)
{
  return key_bytes <= 16;
}

} // namespace gpusort::radix
