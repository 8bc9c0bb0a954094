// What sorts an input by comparisons on the GPU: the choice in one place, and where each way begins, with what was measured there.
#pragma once

#include <gpusort/merge/tuning.h>
#include <gpusort/radix/tuning.h>

#include <cstddef>

namespace gpusort::merge
{

/// The ways to sort, each for more elements than the one before; of the last two, an algorithm has one.
enum class way
{
  few_in_block, // by value in one block, or by merging where the comparator sorts in another way
  many_in_block, // the same, with more elements a thread
  one_tile, // merged in one block
  in_cluster, // tiles, merged by the blocks of one cluster
  many_ways, // tiles, many of which are merged in one pass
  split, // buckets, each sorted in a block: hybrid sort and quicksort
  few_ways // tiles, few of which are merged in one pass: merge sort
};

/// What the choice goes by, besides the number of elements.
struct input_kind
{
  std::size_t key_bytes;
  std::size_t value_bytes; // 0: keys alone
  std::size_t most_in_block   = 0; // elements that one block has room to try by value; 0: values cannot tell the order
  std::size_t least_in_wave   = 0; // elements that one wave of blocks tries
  std::size_t most_in_wave    = 0;
  bool has_cluster            = false; // the blocks of a cluster can merge keys
  bool has_split              = false;
  std::size_t least_by_number = ~std::size_t{0}; // elements, if there may be a number in them to go by
};

/// How to sort. What is tried first may leave the input as it was, which is known on the device only.
struct choice
{
  bool by_number; // tried first: wide records, by a number in them (hybrid/by_number.cuh)
  bool in_wave; // tried next: by value, in one wave of blocks (in_wave.cuh)
  way rest; // what is left
  many_way_plan merging = {}; // for the ways from one_tile to many_ways
};

/// What one block tries by value, with fewer elements a thread and with more, of keys and values of so many bytes. Measured on an H200 with
/// CUDA 13.0, uniform keys in memory, us by value, by merging in the same block, and by merging in one block (2^10) or a cluster, which is what
/// larger inputs get: u32 2^10 7.3, 12.1, 11.6, 2^12 10.8, 18.7, 17.7; u64 2^12 13.5, 26.7, 18.6; pairs of u32 2^11 11.1, 21.8, 17.3, 2^12 15.6,
/// 26.9, 19.5; pairs of u64 2^11 12.5, 25.8, 19.5, 2^12 17.5, 34.5, 20.9. So with values, where less is gained than may be lost, a block takes
/// fewer; so it does of records of more than 8 bytes (one_block_shape_for). A cluster of which one block tries values first: u64 2^12 17.7.
constexpr std::size_t most_in_block(block_class c, std::size_t key_bytes, std::size_t value_bytes)
{
  one_block_shape const shape = one_block_shape_for(c, key_bytes, value_bytes);
  return static_cast<std::size_t>(shape.threads) * static_cast<std::size_t>(shape.items);
}

/// What a cluster merges. u32, us in a cluster and in two launches: 2^12 14.4 and 16.4, 2^13 17.0 and 17.6; of 16 blocks, 2^14 20.4 and 19.0.
/// u64, 2^12: 16.2 and 18.9; pairs of u32 16.0 and 20.4. Tiles of a half or a quarter: 2^12 14.6 and 15.9.
constexpr std::size_t most_in_cluster(std::size_t key_bytes, std::size_t value_bytes)
{
  return tile_of(many_way_shape_for(key_bytes, value_bytes, input_class::tiny)) * most_cluster_blocks;
}

/// The least input of numbers, and of records, that one wave of blocks tries. Measured on an H200 with CUDA 13.0, uniform keys, us merged and in one wave, of forms with one launch or two less behind it: u32 2^15 24.3 and 24.1, 2^16 27.5
/// and 25.0; u64 2^15 24.7 and 28.3, 2^16 30.6 and 28.5; pairs of u32 2^16 31.1 and 28.1; of a version before, u32 2^18 39.0 and 29.1, 2^20 73.6 and 34.8; u64
/// 50.9, 33.7; 108, 45.6. Where the comparator orders in another way, which takes both, u32 2^16 32.6 and 41.8: what is gained at that size is less than
/// what may be lost.
/// Records of 16 bytes, even, of few values, and scrambled, us merged and in one wave: 2^16 41.7 and 34, 41 and 57; 2^17 56.5 and 38, 51 and 62, 60 and
/// 67; 2^18 73.9 and 43.3, 67 and 66, 78 and 84.
inline constexpr std::size_t least_in_wave         = (std::size_t{1} << 16) + 1;
inline constexpr std::size_t least_records_in_wave = std::size_t{1} << 17;

/// The most elements that are merged many ways. Of more, blocks cannot hold the samples that would fill their tiles: u32, 2^21
/// takes 194 us where pairs of runs take 144. As many as one wave may sort by value, which few launches with nothing to do follow.
inline constexpr std::size_t most_for_many_ways = std::size_t{17} << 16;

/// Whether a split is worth its launches, for n elements of so many bytes, keys and values counted; fewer are merged. Measured on
/// an H200 with CUDA 13.0, uniform keys, us by merge sort and by hybrid sort (of versions before small tiles had few elements a
/// thread):
///   4-byte keys: 2^18 36 and 68, 2^20 68 and 102, 2^21 144 and 129; with 4-byte values: 2^20 117 and 122, 2^21 232 and 162;
///   8-byte keys: 2^18 48 and 72, 2^20 104 and 127, 2^21 200 and 178; with 8-byte values: 2^19 75 and 110, 2^20 168 and 142;
///   16 bytes: 2^18 62 and 99, 2^19 115 and 122, 2^20 216 and 153; 64 bytes: 2^15 57 and 68, 2^16 97 and
///   133 (91 and 83 with buckets of 1280 in a block, for which not every device has room). Many ways end sooner where keys or
///   values have more than 16 bytes, because blocks hold fewer samples.
constexpr bool is_worth_splitting(std::size_t n, std::size_t element_bytes)
{
  constexpr std::size_t most_bytes = most_for_many_ways * 8;
  return n > most_for_many_ways || n > most_bytes / element_bytes;
}

/// The least input of records of so many bytes that is tried by a number. Measured on an H200 with CUDA 13.0, us split or merged, by a number,
/// and where there is none to go by: 32 bytes 2^18 133, 94, 194, 2^20 251, 134, 312; 64 bytes 2^16 86, 65, 140, 2^17 128, 68, 261, 2^18 174, 83,
/// 222, 2^20 498, 185, 549, 2^24 7,046, 2,523, 7,448; 96 bytes 2^17 176, 72, 216, 2^20 777, 236, 816; 256 bytes (which are split by
/// index) 2^17 199, 111, 409, 2^20 1,479, 463, 1,656.
constexpr std::size_t least_by_number_of(std::size_t record_bytes)
{
  return std::size_t{1} << (record_bytes <= 64 ? 18 : 17);
}

/// How n > 1 elements are sorted: what `automatic` chooses where there is a way to split. A device without room for a cluster merges many ways.
constexpr choice choice_for(std::size_t n, input_kind const& of)
{
  bool const by_number = n >= of.least_by_number;
  bool const in_wave   = n >= of.least_in_wave && n <= of.most_in_wave;
  if (n <= of.most_in_block)
  {
    bool const are_few = n <= most_in_block(block_class::few, of.key_bytes, of.value_bytes);
    return {by_number, in_wave, are_few ? way::few_in_block : way::many_in_block};
  }
  bool const is_split = of.has_split && is_worth_splitting(n, of.key_bytes + of.value_bytes);
  if (n <= most_for_many_ways && !is_split)
  {
    many_way_plan const merging = many_way_plan_of(n, of.key_bytes, of.value_bytes);
    if (merging.is_possible)
    {
      bool const is_for_cluster = of.has_cluster && n <= most_in_cluster(of.key_bytes, of.value_bytes);
      return {by_number,
              in_wave,
              merging.passes == 0 ? way::one_tile
              : is_for_cluster    ? way::in_cluster
                                  : way::many_ways,
              merging};
    }
  }
  return {by_number, in_wave, of.has_split ? way::split : way::few_ways};
}

} // namespace gpusort::merge
