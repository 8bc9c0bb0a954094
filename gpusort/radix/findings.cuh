// What a radix sort learns by looking at its input, and the shapes that its kernels share.
#pragma once

#include <gpusort/block/look_back.cuh>
#include <gpusort/block/partition.cuh>
#include <gpusort/block/tile.cuh>
#include <gpusort/block/verdict.h>
#include <gpusort/block/warp.cuh>
#include <gpusort/radix/bucket_map.h>
#include <gpusort/radix/few_values.cuh>
#include <gpusort/radix/key_order.h>
#include <gpusort/radix/tuning.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::radix
{

/// What a look has seen.
namespace seen
{
// How a key and the next compare.
inline constexpr std::uint32_t ascent    = 1;
inline constexpr std::uint32_t alike     = 2;
inline constexpr std::uint32_t descent   = 4;
inline constexpr std::uint32_t no_longer = ascent | descent; // the input is neither sorted nor reversed
inline constexpr std::uint32_t twin      = 8; // a -0, which its rank does not tell from +0
inline constexpr std::uint32_t uneven    = 16; // by a sample, some bucket will not fit a block
inline constexpr std::uint32_t splitters = 128; // say which bucket a key of a wave belongs to, in place of a map
// By a comparator: keys whose values go up, but it does not, or does not go down.
inline constexpr std::uint32_t not_upwards    = 32;
inline constexpr std::uint32_t not_downwards  = 64;
inline constexpr std::uint32_t no_value_order = not_upwards | not_downwards;
// From this bit on, the order of records that has been found (noted_order).
inline constexpr int first_of_order = 8;
} // namespace seen

/// What has been found out about the input, and what is done with it; in device memory. Zero before the sort, but for `decided`,
/// which is 1 while one wave sorts, and reset if that fails.
template <class Bits>
struct findings
{
  std::uint32_t seen; // by all blocks of a look
  std::uint32_t order_blocks; // that have looked at the order alone
  std::uint32_t bucket_blocks; // that have looked at the buckets
  std::uint32_t digit_blocks; // that have counted the digits
  std::uint32_t digits_counted; // for blocks of the launch that counts them: what is found by that is known
  // Keys of warps most of whose first row is in one stretch, and in one bucket: what each level meets.
  unsigned long long in_crowds[2];
  std::uint32_t lost; // a count of 16 bits has overflowed: sizes of buckets are wrong

  std::uint32_t decided; // there is no need to count digits
  int lowest_alike; // lowest bits, that all ranks of a sample have in common
  std::uint32_t uneven_digits; // that vary in a sample whose buckets would not fit
  std::uint32_t may_be_curve; // by which its buckets would
  block::sort_verdict verdict; // 0: keys are left to others

  // By buckets:
  std::uint32_t splits; // the input is split into buckets of equal width, which fit a block
  std::uint32_t by_curve; // or into others that do; then the map is to positions
  // In which each level leaves keys of a bucket that have no values: kept, if equal ones can be told apart.
  block::rank_order order_of_level[2];
  std::uint32_t split_tiles; // of the second level
  std::uint32_t buckets_taken[2]; // that blocks sort: of all, and of those that are listed
  std::uint32_t buckets[2]; // that blocks sort, but for those that are listed: of all inputs, and by a curve by others
  std::uint32_t listed; // buckets, for blocks of another class
  key_map_t<Bits, true> map; // or what a key_map_t of integers is made of

  // By digits, or in place:
  std::uint32_t
    in_tiles; // passes start from the second arrays: a wave has failed after its tiles were ordered there, stably
  std::uint32_t reverses; // the input is reversed, and nothing else
  std::uint32_t mixes; // the first pass does not keep order, and so is done as one to buckets
  few_values<Bits> values; // of which the sorted keys consist, and nothing else is to be done
  std::uint32_t passes; // how many times the keys move
  std::int32_t digit_of_pass[most_digits];
  std::uint32_t tiles_done;
};

/// How an input is ordered.
enum class input_order
{
  none,
  sorted,
  reversed
};

/// What all blocks have seen together says so. `tells_equal`: equal keys may be told apart, by their values or as -0 and +0, so that
/// a reversal has to keep their order.
__device__ inline input_order order_of_seen(std::uint32_t all, bool tells_equal)
{
  return (all & seen::descent) == 0 ? input_order::sorted
       : (all & (tells_equal ? seen::ascent | seen::alike : seen::ascent)) == 0
         ? input_order::reversed
         : input_order::none;
}

/// Notes it if the input is sorted or reversed: then no more is to be decided. Called by one thread, after all blocks have
/// looked. `tells_equal`: equal keys may be told apart, by their values or as -0 and +0.
template <class Bits>
__device__ bool note_order(findings<Bits>& found, bool tells_equal)
{
  input_order const order = order_of_seen(*const_cast<std::uint32_t volatile*>(&found.seen), tells_equal);
  found.reverses          = order == input_order::reversed ? 1 : 0;
  found.decided           = order != input_order::none ? 1 : 0;
  return found.decided != 0;
}

/// Of what has been decided before digits are counted nothing is left to others. Called by all threads of a grid.
template <class Bits>
__device__ void accept_decided(findings<Bits>* found)
{
  if (blockIdx.x == 0 && threadIdx.x == 0)
  {
    found->verdict = block::verdict::accepted;
  }
}

/// The keys that a warp looks at together, as ranks: the i-th of a lane is the (i x 32 + lane)-th of them, in up to Items
/// rows.
template <class Bits, int Items>
struct warp_ranks
{
  Bits at[Items];
  Bits behind; // the rank of the key behind them, if there is one, and if it was asked for
  int left; // keys from the lane's first on, in the rows and behind

  /// Reads `rows` rows, as far as there are keys, from number `first` of n on. `with_behind` has to be the same for all
  /// lanes. They are keys until they are ranked.
  __device__ void read(Bits const* keys, std::size_t first, int rows, std::size_t n, bool with_behind)
  {
    int const lane = static_cast<int>(threadIdx.x) % 32;
    int const all  = rows * 32;
    int const size = first >= n ? 0 : n - first > static_cast<std::size_t>(all) ? all + 1 : static_cast<int>(n - first);
    keys += first + lane;
    left = size - lane;
    // All loads are under way before the first is used.
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      at[i] = holds(i, rows) ? keys[i * 32] : Bits{};
    }
    behind = with_behind && size > all ? keys[all - lane] : Bits{};
  }

  /// Makes ranks of them. Returns what is seen of the keys by themselves.
  template <bool IsFloat>
  __device__ std::uint32_t rank(key_order<Bits, IsFloat> const& order)
  {
    std::uint32_t found = 0;
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      found |= order.loses(at[i]) ? seen::twin : 0;
      at[i] = order.rank_of(at[i]);
    }
    behind = order.rank_of(behind);
    return found;
  }

  __device__ bool holds(int i, int rows) const
  {
    return i < rows && i * 32 < left;
  }

  /// How the keys compare with the next ones.
  __device__ std::uint32_t compare_neighbours(int rows) const
  {
    std::uint32_t found = 0;
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      Bits const in_next_row = at[i + 1 < Items ? i + 1 : i]; // lane 31 is handed the first lane's
      Bits next              = block::from_lane_behind(threadIdx.x % 32 == 0 ? in_next_row : at[i]);
      if (threadIdx.x % 32 == 31 && i + 1 >= rows)
      {
        next = behind;
      }
      if (i < rows && i * 32 + 1 < left)
      {
        found |= at[i] < next ? seen::ascent : next < at[i] ? seen::descent : seen::alike;
      }
    }
    return block::or_of_warp(found);
  }
};

/// Adds what a warp has seen to the findings.
template <class Bits>
__device__ void note_seen(findings<Bits>& found, std::uint32_t by_warp)
{
  if (threadIdx.x % 32 == 0 && (*const_cast<std::uint32_t volatile*>(&found.seen) & by_warp) != by_warp)
  {
    atomicOr(&found.seen, by_warp);
  }
}

/// Counts of keys in buckets, in shared memory, two in a word. A count of 2^16 or more is lost, and with it the sum of all.
struct bucket_tally
{
  std::uint32_t* words;

  /// Of 2^log2 buckets, by all threads of a block; a barrier has to follow.
  __device__ void clear(int log2) const
  {
    for (int i = static_cast<int>(threadIdx.x); i < 1 << (log2 - 1); i += static_cast<int>(blockDim.x))
    {
      words[i] = 0;
    }
  }

  /// Returns what was counted before.
  __device__ std::uint32_t count(std::uint32_t bucket, std::uint32_t keys = 1) const
  {
    int const shift = static_cast<int>(bucket % 2) * 16;
    return atomicAdd(&words[bucket / 2], keys << shift) >> shift & 0xffff;
  }

  /// Counts a bucket of every lane of a warp, those that are the first lane's at once. Called by all lanes.
  __device__ void count_crowd(std::uint32_t bucket) const
  {
    block::crowd const own(bucket);
    if (own.has_to_count())
    {
      count(bucket, own.share());
    }
  }
};

/// The tiles of an input, or of a part of it, and what a look-back over them takes, in device memory.
struct tiling
{
  std::size_t n; // of the whole input
  int tile; // elements
  std::uint32_t tiles;
  std::uint32_t spare_tiles; // that a second level of buckets may have besides
  std::uint32_t* status; // look_back words: all tiles x radix_size

  /// Of so many elements side by side. The last part of an input has fewer than `tiles`.
  __device__ std::uint32_t tiles_of(std::uint64_t size) const
  {
    return static_cast<std::uint32_t>((size + tile - 1) / tile);
  }
};

/// What one launch moves: a stretch of the input, which is all of it up to 2^30 elements. At the second level of buckets of more, its number says which
/// stretches of buckets it is instead.
struct input_part
{
  std::size_t begin;
  std::size_t size;
  std::uint32_t number;
  bool is_last;
  std::uint64_t* next; // two rows of radix_size, by turns: where this part's keys begin, and the next one's

  /// Where the keys of each digit, or stretch of buckets, begin of a part that is not the first.
  __device__ std::uint64_t const* begins() const
  {
    return next + number % 2 * radix_size;
  }
  /// Where those of the next part will, if there is one.
  __device__ std::uint64_t* begins_behind() const
  {
    return is_last ? nullptr : next + (number + 1) % 2 * radix_size;
  }
};

/// Makes the part of a block, of so many, of the look-back words empty for a pass over the tiles, and those of the spare ones what a pass
/// leaves behind.
__device__ inline void clear_status(tiling const& work, unsigned number, unsigned blocks)
{
  std::size_t const empty   = std::size_t{work.tiles} * radix_size;
  std::size_t const all     = empty + std::size_t{work.spare_tiles} * radix_size;
  std::size_t const threads = static_cast<std::size_t>(blocks) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(number) * blockDim.x + threadIdx.x; i < all; i += threads)
  {
    work.status[i] = i < empty ? 0 : block::look_back::left_behind;
  }
}

/// Whether this block is the last of so many to get here, which then sees what all have written. Called by all threads.
__device__ inline bool is_last_block(std::uint32_t& finished, unsigned blocks)
{
  __shared__ bool is_last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0)
  {
    is_last = atomicAdd(&finished, 1u) == blocks - 1;
  }
  __syncthreads();
  if (is_last)
  {
    __threadfence();
  }
  return is_last;
}

/// Values move as the unsigned integer of their size where there is one, so that fewer kernels are compiled.
template <class Value, class = void>
struct carried_value
{
  using type = Value;
};
template <class Value>
struct carried_value<Value, std::enable_if_t<std::is_empty_v<Value>>>
{
  using type = block::no_values; // nothing to move
};
template <class Value>
struct carried_value<
  Value,
  std::enable_if_t<!std::is_empty_v<Value> && alignof(Value) == sizeof(Value) && sizeof(Value) <= 16>>
{
  using type = typename unsigned_of_size<sizeof(Value)>::type;
};

using block::value_bytes_v;

/// The shape of a pass over keys and values of these types.
template <class Bits, class Value>
inline constexpr pass_shape pass_shape_v = pass_shape_for(sizeof(Bits), value_bytes_v<Value>);

/// A pass that moves keys and values to the buckets that a classifier says.
template <class Bits, class Value, class Classifier>
using pass_by =
  block::partition<Bits,
                   Value,
                   Classifier,
                   radix_size,
                   pass_shape_v<Bits, Value>.threads,
                   pass_shape_v<Bits, Value>.items,
                   pass_shape_v<Bits, Value>.has_special_code,
                   pass_shape_v<Bits, Value>.counts_first>;

/// The arrays between which keys and values move; the first pair is the caller's.
template <class Bits, class Value>
struct buffers
{
  Bits* keys[2];
  Value* values[2];
};

} // namespace gpusort::radix
