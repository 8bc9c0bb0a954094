// What a radix sort keeps in device memory between its kernels, and the shapes of their blocks.
//
// A segment is a stretch of an array whose keys have still to be sorted. Looking at it maps the ranks of its keys to 256
// buckets and counts them; splitting it moves the keys there. Buckets that fit a block are noted, small neighbours
// together; larger ones are segments of the next level. All lists are in device memory.
#pragma once

#include <gpusort/block/bin_sort.cuh>
#include <gpusort/block/partition.cuh>
#include <gpusort/block/tile.cuh>
#include <gpusort/radix/bucket_map.h>
#include <gpusort/radix/key_order.h>
#include <gpusort/radix/tuning.h>
#include <gpusort/runtime/phases.cuh>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::radix
{

/// What a look has seen.
namespace seen
{
// How a key and the next compare.
inline constexpr std::uint32_t ascent  = 1;
inline constexpr std::uint32_t alike   = 2;
inline constexpr std::uint32_t descent = 4;
inline constexpr std::uint32_t outside = 8; // a rank that the map was not made for
inline constexpr std::uint32_t twin    = 16; // a key that differs from another of its rank: -0
} // namespace seen

enum class action : std::uint32_t
{
  none, // the segment is sorted, and in the caller's array
  split, // to its buckets, in the other array
  split_in_any_order, // the same, where equal keys are alike
  fill, // each bucket with its key, in the caller's array
  copy, // to the caller's array
  reverse // in place
};

/// What becomes of a segment.
template <class Bits>
struct segment_state
{
  std::uint32_t array; // that holds it: 0, the caller's, or 1
  std::uint32_t level; // how often its keys have been split
  bool is_sorted; // only in the wrong array
  std::uint32_t seen;
  std::uint32_t looked_at; // tiles
  action todo;
  bucket_map<Bits> map;
};

/// A segment that no level has room for yet.
struct waiting_segment
{
  std::uint64_t begin;
  std::uint64_t size;
  std::uint32_t array;
  std::uint32_t level;
  bool is_sorted;
};

/// Neighbouring elements that one block sorts: where they begin, how many they are, and which array holds them.
class bucket
{
public:
  bucket() = default;
  __device__ bucket(std::uint64_t begin, std::uint64_t size, std::uint32_t array)
      : packed_(begin << 16 | size << 1 | array)
  {}

  __device__ std::uint64_t begin() const
  {
    return (packed_ & ~crowded) >> 16;
  }
  __device__ int size() const
  {
    return static_cast<int>(packed_ >> 1 & 0x7fff);
  }
  __device__ bool is_home() const
  {
    return packed_ % 2 == 0;
  }

  /// Bins do not sort it.
  __device__ void call_crowded()
  {
    packed_ |= crowded;
  }
  __device__ bool is_crowded() const
  {
    return (packed_ & crowded) != 0;
  }

private:
  static constexpr std::uint64_t crowded = std::uint64_t{1} << 63;

  std::uint64_t packed_;
};
static_assert(block_sort_tile(false) < 1 << 15);

/// How far the sort is; zero before it.
struct progress
{
  std::uint32_t segments[2]; // of the level
  std::uint32_t tiles[2];
  std::uint32_t tickets[2];
  std::uint32_t waiting;
  std::uint32_t buckets;
  std::uint32_t crowded; // of them
  runtime::phases work; // of the levels after the first
};

/// Everything a sort works with. Levels alternate neither with arrays nor with lists: list 0 holds the input, which is the
/// only segment of the first level; list 1 those of the level at work later.
template <class Bits, bool IsFloat, class Value>
struct sort_job
{
  static constexpr bool with_values = !std::is_same_v<Value, block::no_values>;

  Bits* keys[2]; // the caller's, and as many more
  Value* values[2];
  std::size_t n;
  key_order<Bits, IsFloat> order;

  int tile; // elements, of a split
  bool wide; // see partition_work
  bool two_levels; // the first level hands its large buckets to list 1, not to the waiting segments
  unsigned largest; // bucket that a block sorts
  int share_log2; // elements that a block at least sorts if there are neighbours, as a power of two
  std::uint32_t max_segments; // of list 1

  progress* done;
  block::segment* segments[2];
  segment_state<Bits>* states[2];
  std::uint64_t* bins[2]; // segments x radix_size: counts, then where buckets begin
  void* status; // look_back words
  std::size_t status_bytes;
  waiting_segment* waiting;
  bucket* buckets;
};

template <class Value>
inline constexpr std::size_t value_bytes_v = std::is_same_v<Value, block::no_values> ? 0 : sizeof(Value);

/// The shape of a split of keys and values of these types.
template <class Bits, class Value>
__host__ __device__ constexpr pass_shape shape_of()
{
  return pass_shape_for(sizeof(Bits), value_bytes_v<Value>);
}

/// The bucket of a key in a split.
template <class Bits, bool IsFloat>
struct bucket_of_key
{
  key_order<Bits, IsFloat> order;
  bucket_map<Bits> map;

  __device__ unsigned operator()(Bits key) const
  {
    return map(order.rank_of(key));
  }
};

template <class Bits, bool IsFloat, class Value>
using split_partition =
  block::partition<Bits,
                   Value,
                   bucket_of_key<Bits, IsFloat>,
                   radix_size,
                   shape_of<Bits, Value>().threads,
                   shape_of<Bits, Value>().items>;

/// The same for the segments that are left after the first levels: as large a tile on more threads, because items are what
/// makes code long, and this code is compiled with every sort for the few inputs that need it.
template <class Bits, bool IsFloat, class Value>
using waiting_partition =
  block::partition<Bits,
                   Value,
                   bucket_of_key<Bits, IsFloat>,
                   radix_size,
                   waiting_threads,
                   (split_partition<Bits, IsFloat, Value>::tile + waiting_threads - 1) / waiting_threads>;

template <class Bits, bool IsFloat, class Value, bool Small>
using bucket_sort = block::
  bin_sort<Bits, Value, key_order<Bits, IsFloat>, block_sort_shape(Small).threads, block_sort_shape(Small).items>;

} // namespace gpusort::radix
