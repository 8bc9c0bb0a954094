// The kernels of the hybrid sort: choose splitters, order tiles by bucket, find out where buckets begin, sort those that fit a
// block, merge what is left.
#pragma once

#include <gpusort/block/bit_width.h>
#include <gpusort/block/dynamic_shared.cuh>
#include <gpusort/block/merge.cuh>
#include <gpusort/block/merge_sort.cuh>
#include <gpusort/block/partition.cuh>
#include <gpusort/block/prefix_sum.cuh>
#include <gpusort/block/runs.cuh>
#include <gpusort/block/tile.cuh>
#include <gpusort/block/verdict.h>
#include <gpusort/block/warp.cuh>
#include <gpusort/block/work_queue.cuh>
#include <gpusort/hybrid/guesses.cuh>
#include <gpusort/hybrid/tuning.h>
#include <gpusort/merge/checks.cuh>
#include <gpusort/merge/kernels.cuh>
#include <gpusort/merge/natural_order.cuh>
#include <gpusort/radix/value_order.cuh>
#include <gpusort/runtime/dependency.cuh>
#include <gpusort/runtime/residency.cuh>

#include <cuda/atomic>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::hybrid
{

using block::value_bytes_v;

/// A stretch of the sorted order: what a level makes of a segment, and a segment of the next level.
struct bucket
{
  std::uint64_t begin;
  std::uint64_t size_and_done;

  static constexpr std::uint64_t done = std::uint64_t{1} << 63;

  __device__ std::uint64_t size() const
  {
    return size_and_done & ~done;
  }
  /// Whether it has nothing but equivalent keys.
  __device__ bool is_done() const
  {
    return (size_and_done & done) != 0;
  }
};

/// What one block does when the last level has been ordered: it brings neighbouring buckets of a segment, or a part of a single one that is too
/// large for it, to their places, and sorts them.
struct work
{
  // Of a part: elements of the bucket before it. Otherwise, of what is sorted: 1 if it is not to be tried by value, and the mark of a block that is to
  // list it again.
  std::uint64_t skip : 62;
  std::uint64_t is_part : 1;
  std::uint64_t is_moved : 1; // and not sorted
  std::uint32_t segment;
  std::uint16_t first, last; // buckets, the last is not one of them

  /// Whether it is whole buckets that are sorted.
  __device__ bool sorts_buckets() const
  {
    return is_part == 0 && is_moved == 0;
  }
};

/// A bucket that is too large for a block.
struct large_bucket
{
  std::uint64_t begin;
  std::uint64_t size;
};

/// How far apart the keys of a bucket are, in ranks of values, as far as those of a sample say, which are in order. It is noted where the bucket
/// will be.
template <class Key>
struct bucket_spread
{
  using rank = std::conditional_t<sizeof(Key) <= 4, std::uint32_t, std::uint64_t>;

  rank first;
  rank last_but_lowest : sizeof(rank) * 8 - 8; // without its 8 lowest bits
  // The width of the least distance, other than 0, from a key of the sample to the one `together` places behind it.
  rank closest_bits : 8;

  // With 2 even buckets are taken for close now and then, and some that bins sort: on an H100, 2^28, ms, AND of three samples of u64 14.3 (with 4
  // 15.8, unasked 19.2), but pairs of u64, AND of two, 21.4 (20.0, 20.0), and even u64 2^24 684 us (635, 637).
  static constexpr int together = 4;

  static constexpr rank none = static_cast<rank>(~rank{0});
};
static_assert(sizeof(bucket_spread<std::uint64_t>) == sizeof(bucket));

/// What is merged in the end: sorted parts, in the caller's arrays.
struct leftover
{
  large_bucket where;
  std::uint64_t first_part; // of all parts of leftovers
  std::uint32_t passes; // of merging
  std::uint32_t failed; // the first pass in which the comparator contradicted itself, from 1 on; or 0

  /// Whether a pass merges it. That it may fail meanwhile makes no difference: all blocks have seen failures of the passes before.
  __device__ bool is_merged_in(std::uint32_t pass) const
  {
    std::uint32_t const first_failed = *const_cast<std::uint32_t const volatile*>(&failed);
    return pass < passes && (first_failed == 0 || first_failed > pass);
  }
};

/// What blocks tell each other.
struct counters
{
  merge::order_seen seen; // in the input
  std::uint32_t works; // listed
  std::uint32_t works_tried; // that blocks have taken to sort by value
  std::uint32_t works_taken; // that blocks have taken to merge or to move
  std::uint32_t value_order; // in which the comparator has sorted a sample
  int lowest_alike; // lowest bits, that the ranks of all values in it have in common
  std::uint32_t disagrees; // the comparator, with that order
  std::uint32_t left; // works that have not been done by value
  std::uint32_t more_works; // listed in place of those of them that are too large for blocks that merge
  std::uint32_t large_buckets; // that somebody looks at before they are left over
  unsigned long long leftovers; // their number, and in the lower bits, of the number of parts_bits, their parts
  std::uint32_t merge_passes; // the most that a leftover takes
  std::uint32_t brings_home; // whether a leftover ends in the second arrays
  alignas(128) unsigned long long merge_tickets;
  alignas(128) unsigned long long merge_steps_done; // on a line of its own, because blocks wait for it

  static constexpr int parts_bits = 36;
};

/// A level of the split, in device memory. The first has one segment, all of the input; those of a later one are the buckets
/// of the level before it. Tiles are numbered so that a segment knows its own from where it begins: some numbers are left out.
template <class Key>
struct split_level
{
  int number;
  int log2; // of the buckets of a segment
  std::uint32_t segments;
  std::uint64_t n;
  bucket const* table; // of the segments, but for the first level
  splitter_tree<Key>* trees; // of each segment
  value_cells* cells; // of each segment; null: buckets are not guessed
  std::uint16_t* starts; // tiles x buckets: where each begins in the tile
  unsigned long long* before; // groups of tiles x buckets: elements of each in a group; later, in those before it
  bucket* buckets; // of all segments
  counters* all;
  int tile; // elements
  std::uint64_t of_tile; // 2^64 / tile, rounded up: divides all that is less than 2^48
  std::uint64_t most; // that a block sorts by comparisons
  std::uint64_t most_split; // elements of a segment of a later level; a larger one is merged
  std::uint64_t together; // that it sorts of several buckets
  std::uint64_t most_by_value; // that a block sorts by value, or 0: it does not try
  std::uint64_t together_by_value;
  std::uint64_t wanted; // elements of a bucket
  bool notes_spreads;
  int value_bins_log2; // of a block that sorts by value

  /// Where the spreads of a segment's buckets are noted until these are known.
  __device__ bucket_spread<Key>* spreads_of(std::uint32_t s) const
  {
    return reinterpret_cast<bucket_spread<Key>*>(buckets + (static_cast<std::size_t>(s) << log2));
  }

  /// Whether bins of equal width over the keys of buckets with these spreads would be too full.
  __device__ bool are_too_close(bucket_spread<Key> const* spreads, unsigned first, unsigned end) const
  {
    using rank      = typename bucket_spread<Key>::rank;
    auto const last = static_cast<rank>(static_cast<rank>(spreads[end - 1].last_but_lowest) << 8 | 255);
    int const width = block::bit_width(static_cast<rank>(last - spreads[first].first));
    bool are_close  = false;
    for (unsigned b = first; b < end; ++b)
    {
      are_close = are_close || static_cast<int>(spreads[b].closest_bits) <= width - value_bins_log2;
    }
    return are_close;
  }

  __device__ bucket segment(std::uint32_t s) const
  {
    return number == 0 ? bucket{0, n} : table[s];
  }

  /// Whether a segment is split; otherwise all of it goes to its first bucket.
  __device__ bool splits(bucket const& own) const
  {
    return number == 0 || (!own.is_done() && own.size() > most && own.size() <= most_split);
  }

  __device__ std::uint32_t whole_tiles(std::uint64_t elements) const
  {
    return static_cast<std::uint32_t>(__umul64hi(elements, of_tile));
  }

  __device__ std::uint32_t first_tile(std::uint32_t s, std::uint64_t begin) const
  {
    return whole_tiles(begin) + s;
  }

  __device__ std::uint32_t first_group(std::uint32_t s, std::uint64_t begin) const
  {
    return first_tile(s, begin) / tiles_of_group + s;
  }

  /// The segment that a tile belongs to, if it belongs to any. Called by all lanes of a warp.
  __device__ std::uint32_t segment_of(std::uint32_t number_of_tile) const
  {
    std::uint32_t low = 0, high = segments;
    while (high - low > 1)
    {
      std::uint32_t const step = (high - low + 31) / 32;
      std::uint32_t const own  = low + threadIdx.x % 32 * step;
      bool const has_begun     = own < high && first_tile(own, table[own].begin) <= number_of_tile;
      low += (__popc(__ballot_sync(block::all_lanes, has_begun)) - 1) * step;
      high = high - low < step ? high : low + step;
    }
    return low;
  }

  __device__ block::segment_tiles tiles_of(std::uint32_t s) const
  {
    bucket const own = segment(s);
    return {starts + (static_cast<std::size_t>(first_tile(s, own.begin)) << log2),
            before + (static_cast<std::size_t>(first_group(s, own.begin)) << log2),
            own.begin,
            own.size(),
            whole_tiles(own.size() + static_cast<std::uint64_t>(tile) - 1),
            1 << log2,
            tile};
  }
};

/// The arrays between which keys and values move; the first pair is the caller's.
template <class Key, class Value>
struct buffers
{
  Key* keys[2];
  Value* values[2];
};

template <class Key, class Compare>
struct choice_storage
{
  typename splitter_choice<Key, Compare>::shared_storage sample;
  std::uint16_t places[most_buckets]; // of splitters
  std::uint32_t varying[4]; // bits of the ranks of values
};

/// Takes `count` elements of a bucket, one of each `size` / `count`, after its segment's tiles have been ordered. Called by all
/// threads of a block; a barrier has to follow.
template <class Key>
__device__ void sample_runs(block::segment_tiles const& tiles,
                            unsigned number,
                            std::uint64_t size,
                            int count,
                            Key const* keys,
                            block::staged_keys_t<Key> samples)
{
  static_assert(tiles_of_group == 2 * 32);
  std::uint64_t const stride = size / static_cast<std::uint64_t>(count);
  std::uint32_t const lane   = threadIdx.x % 32;
  std::uint32_t const groups = tiles.groups();
  std::uint32_t const all    = tiles.count;
  // A warp takes a group, a lane two tiles.
  for (std::uint32_t group = threadIdx.x / 32; group < groups; group += blockDim.x / 32)
  {
    std::uint32_t const tile = group * tiles_of_group + 2 * lane;
    std::uint32_t starts[2]  = {0, 0};
    std::uint32_t counts[2]  = {0, 0};
#pragma unroll
    for (std::uint32_t i = 0; i < 2; ++i)
    {
      if (tile + i < all)
      {
        std::uint32_t end = 0;
        starts[i]         = tiles.run(tile + i, number, number + 1, end);
        counts[i]         = end - starts[i];
      }
    }
    std::uint64_t const first     = tiles.before[static_cast<std::size_t>(group) * tiles.buckets + number];
    std::uint32_t const inclusive = block::inclusive_sum_of_warp(counts[0] + counts[1]);
    std::uint32_t const exclusive = inclusive - counts[0] - counts[1];
    std::uint32_t const total     = __shfl_sync(block::all_lanes, inclusive, 31);
    std::uint64_t const last      = (first + total) / stride;
    for (std::uint64_t base = first / stride; base <= last; base += 32)
    {
      std::uint64_t const i     = base + lane;
      std::uint64_t const place = sampled_place(i, stride);
      bool const is_here        = i < static_cast<std::uint64_t>(count) && place >= first && place - first < total;
      auto const offset         = static_cast<std::uint32_t>(is_here ? place - first : 0);
      int holder                = 0;
#pragma unroll
      for (int step = 16; step > 0; step /= 2)
      {
        holder += __shfl_sync(block::all_lanes, exclusive, holder + step) <= offset ? step : 0;
      }
      std::uint32_t const inside   = offset - __shfl_sync(block::all_lanes, exclusive, holder);
      std::uint32_t const of_first = __shfl_sync(block::all_lanes, counts[0], holder);
      std::uint32_t const start_0  = __shfl_sync(block::all_lanes, starts[0], holder);
      std::uint32_t const start_1  = __shfl_sync(block::all_lanes, starts[1], holder);
      bool const in_second         = inside >= of_first;
      if (is_here)
      {
        std::uint64_t const number_of_tile = group * tiles_of_group + 2 * holder + (in_second ? 1 : 0);
        samples[i]                         = keys[tiles.begin + number_of_tile * static_cast<std::uint64_t>(tiles.tile)
                          + (in_second ? start_1 + inside - of_first : start_0 + inside)];
      }
    }
  }
}

/// How neighbours of a sample compare that is in the order of the input: nearly always they say that there is something to sort. Called by
/// all `Threads` threads of a block, who get the same answer.
template <int Threads, class Samples, class Compare>
__device__ merge::order_seen glance_at_sample(Samples samples, int count, Compare& comp)
{
  auto const at              = static_cast<int>(threadIdx.x * static_cast<unsigned>(count - 1) / Threads);
  bool const descends        = block::precedes(samples[at + 1], samples[at], comp);
  merge::order_seen const by = __syncthreads_or(descends) != 0 ? merge::seen::descent : 0;
  return by | (__syncthreads_or(!descends) != 0 ? merge::seen::no_descent : 0);
}

/// Notes how far apart the keys of the buckets of a segment are, of a sample in order, sorted(i) the i-th of `count`, with splitters at
/// `places`; of a sample of none, that nothing is. Called by all `Threads` threads of a block.
template <int Threads, class Key, class Sorted>
__device__ void note_spreads(
  bucket_spread<Key>* spreads,
  std::uint16_t const (&places)[most_buckets],
  std::uint32_t order,
  int count,
  unsigned buckets,
  int log2,
  Sorted sorted)
{
  using spread           = bucket_spread<Key>;
  using rank             = typename spread::rank;
  constexpr unsigned all = Threads / most_buckets < 32 ? Threads / most_buckets : 32; // threads of a bucket, neighbours
  static_assert((all & (all - 1)) == 0);
  auto const values  = radix::order_of_values<Key>(order);
  auto const rank_at = [&](int i) { return static_cast<rank>(values.rank_of(radix::value_bits_of(sorted(i)))); };
  // Bucket b ends with the splitter b, the last one with the sample; missing splitters are copies of the last that there is. The splitter itself is
  // left out: with it, works towards the ends of a range span more, and of pairs more of them are merged (u64, 2^22, `gaussian`, radix sort, H200: 391 us
  // where 334 and 342 had been measured without).
  unsigned const own   = threadIdx.x / all;
  unsigned const last  = (1u << log2) - 1;
  bool const is_bucket = own <= last;
  auto const place     = [&](unsigned s) { return count == 0 ? 0 : places[s < buckets - 2 ? s : buckets - 2]; };
  int const begin      = own == 0 ? 0 : place(own - 1);
  int const end        = own == last ? count : place(own);
  rank closest         = spread::none;
  for (int i = begin + static_cast<int>(threadIdx.x % all); i + spread::together < end; i += all)
  {
    auto const apart = static_cast<rank>(rank_at(i + spread::together) - rank_at(i));
    closest          = apart != 0 && apart < closest ? apart : closest;
  }
#pragma unroll
  for (unsigned step = 1; step < all; step *= 2)
  {
    rank const other = __shfl_xor_sync(block::all_lanes, closest, step);
    closest          = other < closest ? other : closest;
  }
  if (is_bucket && threadIdx.x % all == 0)
  {
    rank const first    = count == 0 ? rank{0} : rank_at(begin);
    rank const greatest = begin < end ? rank_at(end - 1) : first;
    spreads[own]        = {first, static_cast<rank>(greatest >> 8), static_cast<rank>(block::bit_width(closest))};
  }
}

/// The lowest bits that the ranks of the values of a sample of `count` have in common, of which sorted(i) is the i-th. Called by all `Threads` threads of
/// a block with words that are zero, a barrier since; the first one gets the answer.
template <int Threads, class Key, class Sorted>
__device__ int lowest_alike_of(std::uint32_t (&varying)[4], std::uint32_t order, int count, Sorted sorted)
{
  auto const values  = radix::order_of_values<Key>(order);
  auto const rank_at = [&](int i) { return values.rank_of(radix::value_bits_of(sorted(i))); };
  auto const first   = rank_at(0);
  using rank         = std::decay_t<decltype(first)>;
  rank differing     = 0;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += Threads)
  {
    differing |= rank_at(i) ^ first;
  }
  block::set_bits_of_warp(varying, differing);
  __syncthreads();
  return threadIdx.x == 0 ? block::lowest_set(varying) : 0;
}

/// Chooses the splitters of each segment of a level that is split. `previous` is the level before it, if there is one. The first level
/// also clears the counters and glances at the input, unless somebody has sorted it. If blocks try to go by values, notes in the first
/// level whether the comparator does, and the lowest bits that values have in common, in all how to guess buckets of numbers, and in the last one how far
/// apart keys are.
/// Grid: a block a segment. Block: splitter_choice's threads. Shared: choice_storage.
template <bool TriesValues, class Key, class Compare>
__global__ void __launch_bounds__(splitter_choice<Key, Compare>::threads)
  sample_splitters(Key const* keys,
                   split_level<Key> level,
                   split_level<Key> previous,
                   block::sort_verdict const* by_others,
                   Compare comp)
{
  using choice = splitter_choice<Key, Compare>;
  extern __shared__ uint4 shared_words[];
  auto& shared = *reinterpret_cast<choice_storage<Key, Compare>*>(shared_words);

  runtime::wait_for_previous_kernel();
  if (level.number == 0)
  {
    auto* const words = reinterpret_cast<std::uint32_t*>(level.all);
    for (unsigned i = threadIdx.x; i < sizeof(counters) / sizeof(std::uint32_t); i += choice::threads)
    {
      words[i] = 0;
    }
    if (threadIdx.x < 4)
    {
      shared.varying[threadIdx.x] = 0;
    }
    if (block::is_sorted_already(by_others))
    {
      __syncthreads();
      if (threadIdx.x == 0)
      {
        level.all->seen = merge::seen::no_descent;
      }
      return;
    }
  }
  else if (level.all->seen != merge::seen::both)
  {
    return; // and no segments are listed
  }
  bucket const own = level.segment(blockIdx.x);
  if (!level.splits(own))
  {
    if constexpr (TriesValues)
    {
      if (level.notes_spreads)
      {
        auto const none = [&](int) -> Key const& { return keys[0]; };
        hybrid::note_spreads<choice::threads, Key>(
          level.spreads_of(blockIdx.x), shared.places, radix::value_order::ascending, 0, 0, level.log2, none);
      }
    }
    return;
  }
  std::uint32_t which      = level.number == 0 ? radix::value_order::other : level.all->value_order; // known so far
  std::uint64_t const size = own.size();
  int const buckets        = buckets_for(size, level.wanted, level.log2);
  int const count          = samples_for(size, buckets, level.wanted, level.most, choice::most_samples);
  auto const samples       = choice::samples(shared.sample);
  if (level.number == 0)
  {
    std::uint64_t const stride = size / static_cast<std::uint64_t>(count);
    for (int i = static_cast<int>(threadIdx.x); i < count; i += choice::threads)
    {
      samples[i] = keys[sampled_place(static_cast<std::uint64_t>(i), stride)];
    }
  }
  else
  {
    hybrid::sample_runs(previous.tiles_of(blockIdx.x >> previous.log2),
                        blockIdx.x & ((1u << previous.log2) - 1),
                        size,
                        count,
                        keys,
                        samples);
  }
  __syncthreads();
  if (level.number == 0)
  {
    merge::order_seen const glanced = hybrid::glance_at_sample<choice::threads>(samples, count, comp);
    if (threadIdx.x == 0)
    {
      level.all->seen = glanced;
    }
  }
  choice::sort(shared.sample, count, comp);
  auto const of_buckets = static_cast<unsigned>(buckets);
  bool are_placed       = false; // splitters
  if constexpr (TriesValues)
  {
    auto const sorted = [&](int place) -> Key const& { return choice::sorted_at(shared.sample, place); };
    if (level.number == 0 && level.most_by_value > 0)
    {
      which            = radix::order_of_sorted<choice::threads, Key>(count, sorted, comp);
      int lowest_alike = 0;
      if (which != radix::value_order::other)
      {
        lowest_alike = hybrid::lowest_alike_of<choice::threads, Key>(shared.varying, which, count, sorted);
      }
      if (threadIdx.x == 0)
      {
        level.all->value_order  = which;
        level.all->lowest_alike = lowest_alike;
      }
    }
    if constexpr (radix::is_number_v<Key>)
    {
      if (level.cells != nullptr)
      {
        value_cells const cells =
          hybrid::place_evenly<choice::threads, Key>(shared.places, which, count, of_buckets, sorted);
        are_placed = cells.order != radix::value_order::other;
        if (threadIdx.x == 0)
        {
          level.cells[blockIdx.x] = cells;
        }
      }
    }
  }
  if (!are_placed)
  {
    block::place_splitters(shared.places, count, of_buckets);
  }
  __syncthreads();
  block::plant_splitters([&](int place) -> Key const& { return choice::sorted_at(shared.sample, place); },
                         shared.places,
                         of_buckets,
                         level.log2,
                         level.trees[blockIdx.x],
                         comp);
  if constexpr (TriesValues)
  {
    if (level.notes_spreads && which != radix::value_order::other)
    {
      hybrid::note_spreads<choice::threads, Key>(
        level.spreads_of(blockIdx.x),
        shared.places,
        which,
        count,
        of_buckets,
        level.log2,
        [&](int place) -> Key const& { return choice::sorted_at(shared.sample, place); });
    }
  }
}

template <class Key, class Value>
inline constexpr block_shape tile_shape_v = tile_shape_for(sizeof(Key), value_bytes_v<Value>);

/// How buckets are found.
template <class Key, class Value, class Compare>
using bucket_search = std::
  conditional_t<guesses_buckets_v<Key, Value, Compare>, guessing_search<Key, Compare>, splitter_search<Key, Compare>>;

template <class Key, class Value, class Compare>
using bucket_partition =
  block::partition<Key,
                   Value,
                   bucket_search<Key, Value, Compare>,
                   most_buckets,
                   tile_shape_v<Key, Value>.threads,
                   tile_shape_v<Key, Value>.items,
                   true,
                   false,
                   least_ranked_log2_for(sizeof(Key), value_bytes_v<Value>)>;

template <class Key, class Value>
using tile_source =
  block::run_source<Key,
                    Value,
                    tile_shape_v<Key, Value>.threads,
                    tile_shape_v<Key, Value>.threads * tile_shape_v<Key, Value>.items>;

/// A segment's splitters in order, with one more key at either end.
template <class Key>
struct guess_storage
{
  alignas(16) char splitters[sizeof(Key) * (most_buckets + 1)];
};
struct no_guesses
{};

template <class Key, class Value, class Compare>
struct order_storage
{
  typename bucket_partition<Key, Value, Compare>::shared_storage tile;
  typename tile_source<Key, Value>::shared_storage source;
  splitter_tree<Key> tree;
  std::conditional_t<guesses_buckets_v<Key, Value, Compare>, guess_storage<Key>, no_guesses> guesses;
};

/// Reads what a block needs to guess the buckets of a segment whose tree is for 2^log2. Returns the first of its splitters. Called by all
/// threads; a barrier has to follow.
template <int Threads, class Key>
__device__ Key const*
load_splitters(guess_storage<Key>& shared, splitter_tree<Key> const& tree, unsigned splitters, int log2)
{
  auto* const to = reinterpret_cast<Key*>(shared.splitters);
  for (unsigned i = threadIdx.x; i < splitters + 2; i += Threads)
  {
    unsigned const number = i > 0 && i <= splitters ? i - 1 : splitters - 1;
    to[i]                 = tree.keys()[node_of(number, log2)];
  }
  return to + 1;
}

/// Writes every tile of a level in the order of its buckets, and notes where they begin in it, and how many elements each
/// group of tiles has of each bucket. The elements of a tile lie in runs where the level before has left them. Each
/// element is classified here once, and no comparator is asked when elements are looked for: whatever it says, all are found.
/// Grid: a block a tile. Block: bucket_partition's threads. Shared: order_storage.
template <bool KeepsOrder, class Key, class Value, class Compare>
__global__ void
__launch_bounds__(tile_shape_v<Key, Value>.threads,
                  runtime::resident_blocks(tile_shape_v<Key, Value>.threads, tile_shape_v<Key, Value>.blocks))
  order_tiles(Key const* keys_in,
              Key* keys_out,
              Value const* values_in,
              Value* values_out,
              split_level<Key> level,
              split_level<Key> previous,
              Compare comp)
{
  using partition            = bucket_partition<Key, Value, Compare>;
  constexpr bool with_values = partition::with_values;
  extern __shared__ uint4 shared_words[];
  auto& shared = *reinterpret_cast<order_storage<Key, Value, Compare>*>(shared_words);

  runtime::wait_for_previous_kernel_only();
  if (level.all->seen != merge::seen::both)
  {
    return;
  }
  std::uint32_t const segment = level.segment_of(blockIdx.x);
  bucket const own            = level.segment(segment);
  std::uint32_t const tile    = blockIdx.x - level.first_tile(segment, own.begin); // of the segment
  std::uint64_t const skip    = static_cast<std::uint64_t>(tile) * level.tile;
  if (skip >= own.size())
  {
    return;
  }
  bool const splits        = level.splits(own);
  std::uint64_t const left = own.size() - skip;
  int const size           = left < static_cast<std::uint64_t>(level.tile) ? static_cast<int>(left) : level.tile;
  auto const& tree         = level.trees[segment];
  bool const has_repeats   = splits && tree.has_repeats;
  if (splits)
  {
    for (unsigned i = threadIdx.x; i < 1u << level.log2; i += partition::threads)
    {
      if (i > 0)
      {
        shared.tree.keys()[i] = tree.keys()[i];
      }
    }
    if (threadIdx.x < most_buckets / 32)
    {
      shared.tree.repeats[threadIdx.x] = tree.repeats[threadIdx.x];
    }
  }
  splitter_search<Key, Compare> const by_tree{shared.tree, level.log2, has_repeats, comp};
  auto const search = [&] {
    if constexpr (guesses_buckets_v<Key, Value, Compare>)
    {
      value_cells const cells = splits && level.cells != nullptr ? level.cells[segment] : value_cells{};
      bool const guesses      = cells.order != radix::value_order::other;
      Key const* splitters    = nullptr;
      if (guesses)
      {
        splitters = hybrid::load_splitters<partition::threads>(shared.guesses, tree, cells.cells, level.log2);
      }
      return guessing_search<Key, Compare>{by_tree, value_guess<Key>(cells), splitters, guesses};
    }
    else
    {
      return by_tree;
    }
  }();
  std::uint64_t const begin = own.begin + skip;
  // The input of a first level lies side by side, that of another in runs.
  bool const is_first   = level.number == 0;
  unsigned const number = is_first ? 0 : segment & ((1u << previous.log2) - 1);
  block::segment_tiles const tiles =
    is_first ? block::segment_tiles{nullptr, nullptr, begin, own.size(), 1, 1, level.tile}
             : previous.tiles_of(segment >> previous.log2);
  tile_source<Key, Value> source(shared.source, tiles, number, number + 1, is_first ? 0 : skip, keys_in, values_in);
  Key* const keys_of_tile     = keys_out + begin;
  Value* const values_of_tile = with_values ? values_out + begin : nullptr;
  block::bucket_place const place =
    splits ? partition::template order_tile<KeepsOrder>(
               shared.tile, search, source, size, keys_of_tile, values_of_tile, level.log2)
           : partition::copy_tile(shared.tile, source, size, keys_of_tile, values_of_tile);
  if (threadIdx.x < 1u << level.log2)
  {
    std::size_t const group = level.first_group(segment, own.begin) + tile / tiles_of_group;
    level.starts[(static_cast<std::size_t>(blockIdx.x) << level.log2) + threadIdx.x] =
      static_cast<std::uint16_t>(place.start);
    atomicAdd(&level.before[(group << level.log2) + threadIdx.x], static_cast<unsigned long long>(place.count));
  }
}

template <class Key, class Value>
inline constexpr block_shape sort_shape_v = sort_shape_for(sizeof(Key), value_bytes_v<Value>);

/// Elements that a block sorts by comparisons.
template <class Key, class Value>
inline constexpr int most_of_v = sort_shape_v<Key, Value>.threads * sort_shape_v<Key, Value>.items;

template <class Key, class Value>
inline constexpr block_shape value_sort_shape_v =
  value_sort_shape_for(sizeof(Key), value_bytes_v<Value>, !radix::is_number_v<Key>);

/// Elements that a block sorts by value, where blocks try that: more than those that merge, only if that is worth it.
template <class Key, class Value>
inline constexpr int most_by_value =
  sizeof(Key) <= 4 && value_bytes_v<Value> == 0
    ? most_of_v<Key, Value>
    : value_sort_shape_v<Key, Value>.threads * value_sort_shape_v<Key, Value>.items;

template <class Key, class Value, class Compare>
using bucket_sort =
  block::merge_sort<Key, Value, Compare, sort_shape_v<Key, Value>.threads, sort_shape_v<Key, Value>.items>;

template <class Key, class Value>
using bucket_source = block::run_source<Key, Value, sort_shape_v<Key, Value>.threads, most_of_v<Key, Value>>;

template <class Key, class Value, class Compare>
struct sort_storage
{
  typename bucket_sort<Key, Value, Compare>::shared_storage sorter;
  typename bucket_source<Key, Value>::shared_storage source;
  std::uint32_t next_work;
};

/// Blocks that merge what is left over, a multiprocessor.
template <class Key, class Value>
inline constexpr int leftover_blocks_v = leftover_blocks_for(sizeof(Key), value_bytes_v<Value>);

/// Elements of a part of what is too large for one block: a tile of those who merge it, if it fits one who sorts.
template <class Key, class Value>
inline constexpr int part_v =
  merge::tile_v<Key, Value> < most_of_v<Key, Value> ? merge::tile_v<Key, Value> : most_of_v<Key, Value>;

/// Lists what is to be merged, once its parts are sorted. Called by one thread.
template <class Key, class Value>
__device__ void leave_over(large_bucket const& where, leftover* leftovers, counters& all)
{
  constexpr auto part                      = static_cast<std::uint64_t>(part_v<Key, Value>);
  std::uint64_t const parts                = (where.size + part - 1) / part;
  auto const passes                        = static_cast<std::uint32_t>(merge::pass_schedule(parts).passes());
  unsigned long long const taken           = atomicAdd(&all.leftovers, (1ull << counters::parts_bits) | parts);
  leftovers[taken >> counters::parts_bits] = {where, taken & ((1ull << counters::parts_bits) - 1), passes, 0};
  atomicMax(&all.merge_passes, passes);
  if (passes % 2 != 0)
  {
    all.brings_home = 1;
  }
}

template <class Key>
struct close_storage
{
  bucket_spread<Key> spreads[most_buckets];
  block::warp_sums<std::uint64_t, most_buckets> sums;
  std::uint64_t begins[most_buckets + 1]; // of buckets
  std::uint16_t next[most_buckets]; // where the next work begins, if one begins here
  std::uint32_t alone[most_buckets / 32]; // a bit for each bucket that shares its work with no other
  std::uint32_t heads[most_buckets / 32]; // and for each where a work begins
  std::uint32_t first_work;
  bool is_moved;
};

/// Where lists of the last level are.
struct work_lists
{
  work* works; // or null: it is not the last level
  large_bucket* large; // or null: what is large is left over at once
  leftover* leftovers;
};

/// The first bucket from `from` on with a bit set, or `end`.
__device__ inline unsigned first_set(std::uint32_t const* bits, unsigned from, unsigned end)
{
  for (unsigned b = from; b < end; b = (b / 32 + 1) * 32)
  {
    std::uint32_t const word = bits[b / 32] >> b % 32;
    if (word != 0)
    {
      unsigned const found = b + static_cast<unsigned>(__ffs(static_cast<int>(word))) - 1;
      return found < end ? found : end;
    }
  }
  return end;
}

/// After a level has been ordered: finds out where its buckets begin, and what groups of tiles have of each before them. In
/// the last level, also lists the works: as many neighbours together as a block takes, with a mark on those that are not worth a try by value;
/// what is too large by itself.
/// Grid: a block a segment. Block: most_buckets. Shared: close_storage.
template <class Key, class Value>
__global__ void __launch_bounds__(most_buckets) close_level(split_level<Key> level, work_lists lists)
{
  extern __shared__ uint4 shared_words[];
  auto& shared = *reinterpret_cast<close_storage<Key>*>(shared_words);

  runtime::wait_for_previous_kernel();
  if (level.all->seen != merge::seen::both)
  {
    return;
  }
  std::uint32_t const segment      = blockIdx.x;
  unsigned const own               = threadIdx.x; // bucket
  unsigned const count             = 1u << level.log2;
  bucket const whole               = level.segment(segment);
  block::segment_tiles const tiles = level.tiles_of(segment);
  bool const splits                = level.splits(whole);
  std::uint64_t total              = 0;
  if (own < count)
  {
    constexpr std::uint32_t together = 32; // loads under way
    unsigned long long* const counts = level.before + (tiles.before - level.before) + own;
    std::uint32_t const groups       = whole.size() == 0 ? 0 : tiles.groups();
    for (std::uint32_t base = 0; base < groups; base += together)
    {
      unsigned long long held[together];
#pragma unroll
      for (std::uint32_t i = 0; i < together; ++i)
      {
        held[i] = base + i < groups ? counts[static_cast<std::size_t>(base + i) << level.log2] : 0;
      }
#pragma unroll
      for (std::uint32_t i = 0; i < together; ++i)
      {
        if (base + i < groups)
        {
          counts[static_cast<std::size_t>(base + i) << level.log2] = total;
        }
        total += held[i];
      }
    }
  }
  bool const by_value      = level.all->value_order != radix::value_order::other;
  bool const knows_spreads = level.notes_spreads && by_value;
  if (knows_spreads && own < count)
  {
    shared.spreads[own] = level.spreads_of(segment)[own];
  }
  __syncthreads(); // before any of the buckets is written
  std::uint64_t const begin = whole.begin + block::exclusive_sum<most_buckets>(shared.sums, total);
  bool const is_done        = splits ? level.trees[segment].is_of_equals(own) : whole.is_done();
  if (own < count)
  {
    level.buckets[(static_cast<std::size_t>(segment) << level.log2) + own] = {
      begin, total | (is_done ? bucket::done : std::uint64_t{0})};
  }
  if (lists.works == nullptr)
  {
    return;
  }
  bool const is_alone          = own < count && total > (by_value && !is_done ? level.most_by_value : level.most);
  std::uint64_t const together = by_value ? level.together_by_value : level.together;
  std::uint32_t const word     = __ballot_sync(block::all_lanes, is_alone);
  if (own % 32 == 0)
  {
    shared.alone[own / 32] = word;
    shared.heads[own / 32] = 0;
  }
  if (own < count)
  {
    shared.begins[own] = begin;
  }
  if (own == count - 1)
  {
    shared.begins[count] = begin + total;
  }
  __syncthreads();
  if (own < count)
  {
    unsigned next = own + 1;
    if (!is_alone)
    {
      unsigned behind = first_set(shared.alone, own, count); // of those that may be with it
      while (behind - next > 0)
      {
        unsigned const middle = next + (behind - next + 1) / 2;
        if (shared.begins[middle] - begin <= together)
        {
          next = middle;
        }
        else
        {
          behind = middle - 1;
        }
      }
    }
    shared.next[own] = static_cast<std::uint16_t>(next);
  }
  __syncthreads();
  if (own == 0)
  {
    for (unsigned b = 0; b < count; b = shared.next[b])
    {
      shared.heads[b / 32] |= 1u << b % 32;
    }
  }
  __syncthreads();
  std::uint64_t const size    = own < count ? shared.begins[shared.next[own]] - begin : 0;
  bool const is_head          = (shared.heads[own / 32] >> own % 32 & 1u) != 0 && !is_alone && size > 0;
  std::uint32_t const of_warp = __ballot_sync(block::all_lanes, is_head);
  std::uint32_t place         = 0;
  if (own % 32 == 0 && of_warp != 0)
  {
    place = atomicAdd(&level.all->works, static_cast<std::uint32_t>(__popc(of_warp)));
  }
  place = __shfl_sync(block::all_lanes, place, 0) + __popc(of_warp & ((1u << own % 32) - 1));
  if (is_head)
  {
    bool const is_sorted = is_done && shared.next[own] == own + 1;
    bool const is_close  = knows_spreads && !is_sorted && level.are_too_close(shared.spreads, own, shared.next[own]);
    lists.works[place]   = {
      is_close ? 1u : 0u, 0, is_sorted ? 1u : 0u, segment, static_cast<std::uint16_t>(own), shared.next[own]};
  }
  // What is by itself: all threads list it.
  for (unsigned b = first_set(shared.alone, 0, count); b < count; b = first_set(shared.alone, b + 1, count))
  {
    std::uint64_t const from = shared.begins[b];
    std::uint64_t const all  = shared.begins[b + 1] - from;
    if (own == b)
    {
      shared.is_moved = is_done;
    }
    __syncthreads();
    bool const is_moved      = shared.is_moved;
    std::uint64_t const part = is_moved ? level.most : part_v<Key, Value>;
    auto const parts         = static_cast<std::uint32_t>((all + part - 1) / part);
    if (own == b)
    {
      shared.first_work = atomicAdd(&level.all->works, parts);
      if (!is_done)
      {
        large_bucket const too_large{from, all};
        if (lists.large != nullptr)
        {
          lists.large[atomicAdd(&level.all->large_buckets, 1u)] = too_large;
        }
        else
        {
          leave_over<Key, Value>(too_large, lists.leftovers, *level.all);
        }
      }
    }
    __syncthreads();
    for (std::uint32_t i = own; i < parts; i += most_buckets)
    {
      lists.works[shared.first_work + i] = {
        i * part, 1, is_moved ? 1u : 0u, segment, static_cast<std::uint16_t>(b), static_cast<std::uint16_t>(b + 1)};
    }
    __syncthreads();
  }
}

/// Does what is listed, from the second pair of arrays into the caller's: sorts neighbouring buckets and parts of what is too large, and brings
/// home what is done: all of it, or what is left of it by `left`, if that has been tried by value. If the input has been seen to be reversed, that is
/// undone instead.
/// Grid: any. Block: bucket_sort's threads. Shared: sort_storage.
template <class Key, class Value, class Compare>
__global__ void
__launch_bounds__(sort_shape_v<Key, Value>.threads,
                  runtime::resident_blocks(sort_shape_v<Key, Value>.threads, sort_shape_v<Key, Value>.blocks))
  sort_buckets(buffers<Key, Value> at,
               std::size_t n,
               work const* works,
               std::uint32_t const* left,
               split_level<Key> level,
               Compare comp)
{
  using sorter               = bucket_sort<Key, Value, Compare>;
  constexpr int threads      = sort_shape_v<Key, Value>.threads;
  constexpr bool with_values = sorter::with_values;
  extern __shared__ uint4 shared_words[];
  auto& shared = *reinterpret_cast<sort_storage<Key, Value, Compare>*>(shared_words);

  runtime::wait_for_previous_kernel();
  if (level.all->seen != merge::seen::both)
  {
    merge::undo_reversal(level.all->seen, at.keys[0], at.values[0], n);
    return;
  }
  bool const were_tried =
    radix::tries_values_v<Key, Value, Compare> && level.all->value_order != radix::value_order::other;
  std::uint32_t const count = were_tried ? level.all->left : level.all->works;
  block::work_queue<std::uint32_t> queue(&level.all->works_taken, shared.next_work, gridDim.x);
  for (std::uint32_t w = blockIdx.x; w < count; w = queue.next())
  {
    work const own                   = works[were_tried ? left[w] : w];
    block::segment_tiles const tiles = level.tiles_of(own.segment);
    bucket const* const buckets      = level.buckets + (static_cast<std::size_t>(own.segment) << level.log2);
    bucket const last                = buckets[own.last - 1];
    std::uint64_t const begin        = own.skip + buckets[own.first].begin;
    std::uint64_t const size         = last.begin + last.size() - begin;
    std::uint64_t const most         = own.is_part != 0 && own.is_moved == 0 ? part_v<Key, Value> : sorter::tile;
    bucket_source<Key, Value> source(shared.source, tiles, own.first, own.last, own.skip, at.keys[1], at.values[1]);
    sorter::sort(shared.sorter,
                 source,
                 at.keys[0] + begin,
                 with_values ? at.values[0] + begin : nullptr,
                 static_cast<int>(size < most ? size : most),
                 own.is_moved != 0,
                 comp);
  }
}

/// The runs that a pass merges to the one that has element `place` of a leftover.
template <class Key, class Value>
struct leftover_group
{
  int log2_runs;
  merge::run_group runs;

  leftover_group() = default;
  __device__ leftover_group(leftover const& own, std::uint64_t place, std::uint32_t pass)
      : leftover_group(own, place, static_cast<int>(pass), merge::pass_schedule((own.where.size + part - 1) / part))
  {}

private:
  static constexpr auto part = static_cast<std::uint64_t>(part_v<Key, Value>);

  __device__ leftover_group(leftover const& own, std::uint64_t place, int pass, merge::pass_schedule const& schedule)
      : log2_runs(schedule.log2_of(pass))
      , runs(place, part << schedule.log2_run(pass), log2_runs, own.where.size)
  {}
};

/// A step of merge_leftovers, as its functions find it in shared memory: they are out of line, and arguments would take registers that merging
/// lacks, as would the loop over steps.
template <class Key, class Value>
struct leftover_step
{
  buffers<Key, Value> at; // in this pass, from the first pair of arrays to the second
  leftover* leftovers;
  std::uint32_t count;
  std::uint32_t pass;
  std::uint64_t part; // its number, or that of the first one
  std::uint64_t parts; // of all leftovers
  std::size_t* cuts;
  // Where a part is merged, or brought home:
  leftover* own;
  std::uint64_t place; // in the leftover
  leftover_group<Key, Value> group;

  /// The leftover that a part belongs to.
  __device__ leftover* owner_of(std::uint64_t number) const
  {
    std::uint32_t low = 0, high = count;
    while (high - low > 1)
    {
      std::uint32_t const middle                            = low + (high - low) / 2;
      (leftovers[middle].first_part <= number ? low : high) = middle;
    }
    return leftovers + low;
  }
};

/// The shared memory of merge_leftovers, one way or another.
template <class Key, class Value, class Compare>
struct leftover_storage
{
  union
  {
    merge::merge_storage<Key, Value, Compare> merging;
    Key probed[merge::merge_shape_v<Key, Value>.threads];
  };
  leftover_step<Key, Value> step;
  unsigned long long next_step;
};

/// Cuts runs where the parts from that of the step on begin, each by its own lanes. Called by all threads of a block.
template <class Key, class Value, class Compare>
__device__ __noinline__ void cut_leftover(Compare comp)
{
  auto& shared               = block::dynamic_shared<leftover_storage<Key, Value, Compare>>();
  auto const& step           = shared.step;
  std::uint64_t const wanted = step.part + threadIdx.x / static_cast<unsigned>(merge::cut_lanes);
  std::uint64_t const number = wanted < step.parts ? wanted : step.parts - 1;
  leftover const& own        = *step.owner_of(number);
  bool const is_merged       = own.is_merged_in(step.pass);
  std::uint64_t const place  = (number - own.first_part) * part_v<Key, Value>;
  leftover_group<Key, Value> const group(own, place, is_merged ? step.pass : 0);
  merge::cut_group<Key, Value>(
    shared.probed + threadIdx.x / 32 * 32,
    step.at.keys[0] + own.where.begin + group.runs.begin,
    group.runs,
    is_merged && wanted < step.parts ? place - group.runs.begin : 0,
    step.cuts + number * merge::most_runs,
    comp);
}

/// Merges what runs have of the part of the step. False, for all threads, if the comparator has contradicted itself. Called by all threads of a
/// block.
template <class Key, class Value, class Compare>
__device__ __noinline__ bool merge_leftover(Compare comp)
{
  constexpr bool with_values = value_bytes_v<Value> != 0;
  auto& shared               = block::dynamic_shared<leftover_storage<Key, Value, Compare>>();
  auto const& step           = shared.step;
  return merge::merge_place<part_v<Key, Value>>(
    shared.merging,
    step.group.runs,
    step.group.log2_runs,
    step.place,
    step.cuts + step.part * merge::most_runs,
    step.at.keys[0],
    step.at.keys[1],
    with_values ? step.at.values[0] : nullptr,
    with_values ? step.at.values[1] : nullptr,
    comp);
}

/// Brings the part of a step home, if its leftover has ended in the second arrays: after as many passes as it has, or in front of the one in which
/// the comparator contradicted itself. Called by all threads of a block.
template <int Threads, class Key, class Value>
__device__ void bring_leftover_home(leftover_step<Key, Value> const& step, buffers<Key, Value> const& at)
{
  leftover const& own       = *step.own;
  std::uint64_t const left  = own.where.size - step.place;
  std::uint64_t const begin = own.where.begin + step.place;
  int const size            = left < part_v<Key, Value> ? static_cast<int>(left) : part_v<Key, Value>;
  if ((own.failed != 0 ? own.failed - 1 : own.passes) % 2 != 0)
  {
    block::copy_slowly<Threads>(size, at.keys[1] + begin, at.keys[0] + begin);
    if constexpr (value_bytes_v<Value> != 0)
    {
      block::copy_slowly<Threads>(size, at.values[1] + begin, at.values[0] + begin);
    }
  }
}

/// Merges what is left over, into the caller's arrays: groups of runs, pass by pass. All is one sequence of steps, of which blocks take the next
/// one; a step waits until the phase before its own is done, whose steps blocks have taken that do not wait for it.
/// Where a comparator contradicts itself, what survives is the source of the pass that finds out: a permutation of the input.
/// Grid: any. Block: merge's threads. Shared: leftover_storage.
template <class Key, class Value, class Compare>
__global__ void
__launch_bounds__(merge::merge_shape_v<Key, Value>.threads,
                  runtime::resident_blocks(merge::merge_shape_v<Key, Value>.threads, leftover_blocks_v<Key, Value>))
  merge_leftovers(buffers<Key, Value> at, leftover* leftovers, counters* all, std::size_t* cuts, Compare comp)
{
  using counter              = ::cuda::atomic_ref<unsigned long long, ::cuda::thread_scope_device>;
  using flag                 = ::cuda::atomic_ref<std::uint32_t, ::cuda::thread_scope_device>;
  constexpr bool with_values = value_bytes_v<Value> != 0;
  constexpr int threads      = merge::merge_shape_v<Key, Value>.threads;
  constexpr auto cut_parts   = static_cast<std::uint64_t>(threads / merge::cut_lanes);
  auto& shared               = block::dynamic_shared<leftover_storage<Key, Value, Compare>>();

  runtime::wait_for_previous_kernel();
  unsigned long long const packed = all->leftovers;
  auto const count                = static_cast<std::uint32_t>(packed >> counters::parts_bits);
  if (count == 0)
  {
    return;
  }
  // Phases: in every pass, runs are cut where parts begin and then merged; what has not ended in the caller's arrays is brought home.
  std::uint64_t const parts     = packed & ((1ull << counters::parts_bits) - 1);
  std::uint32_t const passes    = all->merge_passes;
  std::uint64_t const cut_steps = (parts + cut_parts - 1) / cut_parts;
  std::uint64_t const of_pass   = cut_steps + parts;
  std::uint64_t const steps     = passes * of_pass + parts;
  counter const done(all->merge_steps_done);
  flag const brings_home(all->brings_home);
  block::work_queue<unsigned long long> queue(&all->merge_tickets, shared.next_step, 0);
  std::uint64_t reached = 0; // where the phase of the last step begins
  unsigned not_told     = 0; // steps of it that this block has done
  for (;;)
  {
    std::uint64_t const number = queue.next();
    if (number >= steps)
    {
      if (threadIdx.x == 0)
      {
        done.fetch_add(not_told, ::cuda::std::memory_order_release);
      }
      return;
    }
    auto const pass      = static_cast<std::uint32_t>(number / of_pass); // `passes`: the way home
    std::uint64_t phase  = pass * of_pass;
    bool const cuts_runs = pass < passes && number - phase < cut_steps;
    phase += pass < passes && !cuts_runs ? cut_steps : 0;
    if (threadIdx.x == 0)
    {
      auto& step          = shared.step;
      unsigned const from = pass % 2; // passes take turns between the arrays
      step.at             = {{at.keys[from], at.keys[1 - from]}, {at.values[from], at.values[1 - from]}};
      step.leftovers      = leftovers;
      step.count          = count;
      step.pass           = pass;
      step.part           = (number - phase) * (cuts_runs ? cut_parts : 1);
      step.parts          = parts;
      step.cuts           = cuts;
      if (!cuts_runs)
      {
        step.own                 = step.owner_of(step.part);
        std::uint64_t const skip = step.own->where.begin;
        step.place               = (step.part - step.own->first_part) * part_v<Key, Value>;
        if (pass < step.own->passes)
        {
          step.group = {*step.own, step.place, pass};
        }
        for (int i = 0; i < 2; ++i)
        {
          step.at.keys[i] += skip;
          step.at.values[i] += with_values ? skip : 0;
        }
      }
      if (phase != reached)
      {
        done.fetch_add(not_told, ::cuda::std::memory_order_release);
        while (done.load(::cuda::std::memory_order_acquire) < phase)
        {
          __nanosleep(100);
        }
      }
    }
    not_told = phase == reached ? not_told + 1 : 1;
    reached  = phase;
    __syncthreads();
    if (pass == passes)
    {
      if (brings_home.load(::cuda::std::memory_order_relaxed) == 0)
      {
        return; // as all will that take a later step
      }
      hybrid::bring_leftover_home<threads>(shared.step, at);
    }
    else if (cuts_runs)
    {
      hybrid::cut_leftover<Key, Value>(comp);
    }
    else if (shared.step.own->is_merged_in(pass) && !hybrid::merge_leftover<Key, Value>(comp))
    {
      flag(shared.step.own->failed).store(pass + 1, ::cuda::std::memory_order_relaxed);
      brings_home.store(1, ::cuda::std::memory_order_relaxed);
    }
  }
}

} // namespace gpusort::hybrid
