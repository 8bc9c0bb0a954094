// The kernels of the hybrid sort: choose splitters, order tiles by bucket, move them, sort the buckets that fit a block, merge
// what is left.
#pragma once

#include <gpusort/block/look_back.cuh>
#include <gpusort/block/merge.cuh>
#include <gpusort/block/merge_sort.cuh>
#include <gpusort/block/partition.cuh>
#include <gpusort/block/prefix_sum.cuh>
#include <gpusort/block/tile.cuh>
#include <gpusort/block/warp.cuh>
#include <gpusort/hybrid/splitters.cuh>
#include <gpusort/hybrid/tuning.h>
#include <gpusort/merge/kernels.cuh>
#include <gpusort/runtime/dependency.cuh>
#include <gpusort/runtime/residency.cuh>

#include <cuda/atomic>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::hybrid
{

template <class Value>
inline constexpr std::size_t value_bytes_v = std::is_same_v<Value, block::no_values> ? 0 : sizeof(Value);

/// What becomes of a segment.
enum class fate : std::uint32_t
{
  is_split,
  is_one_bucket, // it fits a block, or is longer than a chain may be
  is_done // it has nothing but equivalent keys
};

/// A bucket of the last level.
struct bucket
{
  std::uint64_t begin;
  std::uint64_t size_and_done;

  static constexpr std::uint64_t done = std::uint64_t{1} << 63;

  __device__ std::uint64_t size() const
  {
    return size_and_done & ~done;
  }
  __device__ bool is_done() const
  {
    return (size_and_done & done) != 0;
  }
};

/// A bucket that is too large for a block.
struct large_bucket
{
  std::uint64_t begin;
  std::uint64_t size;
  std::uint32_t from; // number of the arrays that it is in
};

/// What is merged in the end.
struct leftover
{
  large_bucket where;
  std::uint64_t first_tile; // of all tiles of leftovers
  std::uint32_t passes; // of merging
  std::uint32_t failed; // the first pass in which the comparator contradicted itself, from 1 on; or 0
};

/// How an element and the next one of the input compare.
namespace seen
{
inline constexpr std::uint32_t descent    = 1; // the next one goes before it
inline constexpr std::uint32_t no_descent = 2;
inline constexpr std::uint32_t both       = descent | no_descent;
} // namespace seen

/// What blocks tell each other; zero before the sort.
struct counters
{
  std::uint32_t seen; // in the input
  std::uint32_t tickets[2]; // of either level
  std::uint32_t tiles[2]; // of either level
  std::uint32_t large_buckets; // that somebody looks at before they are left over
  unsigned long long leftovers; // their number, and in the lower bits, of the number of tiles_bits, their tiles
  std::uint32_t merge_passes; // the most that a leftover takes
  alignas(128) unsigned long long merge_tickets;
  alignas(128) unsigned long long merge_steps_done; // on a line of its own, because blocks wait for it

  static constexpr int tiles_bits = 44;
};

/// A level of the split, in device memory. The first has one segment, all of the input, and may look back through it part by
/// part; those of the second are the first one's buckets.
template <class Key>
struct split_level
{
  int number;
  int log2; // of the buckets of a segment
  std::uint32_t segments;
  std::uint32_t chain_count;
  block::segment* chains; // what is looked back through: parts of the one segment, or each segment
  fate* fates; // of each segment
  splitter_tree<Key>* trees; // of each segment
  std::uint32_t* status; // look-back words, tiles x row
  int row; // words of a tile: as many as a segment has buckets, in the level where it has more
  counters* all;
  int tile;

  __device__ std::uint32_t segment_of(std::uint32_t chain) const
  {
    return segments == 1 ? 0 : chain;
  }

  /// The chains of a segment: the first, and how many.
  __device__ std::uint32_t first_chain(std::uint32_t segment) const
  {
    return segments == 1 ? 0 : segment;
  }
  __device__ std::uint32_t chains_of_segment() const
  {
    return segments == 1 ? chain_count : 1;
  }

  /// How many elements of a chain's tiles up to this one are in a bucket, once the level is ordered.
  __device__ std::uint32_t counted(std::uint32_t tile_number, unsigned bucket_number) const
  {
    return status[static_cast<std::size_t>(tile_number) * row + bucket_number] & block::look_back::max_count;
  }

  /// How many of the elements of `chains_from` to before `chains_to` are in a bucket.
  __device__ std::uint64_t counted_in(std::uint32_t chains_from, std::uint32_t chains_to, unsigned bucket_number) const
  {
    std::uint64_t sum = 0;
    for (std::uint32_t c = chains_from; c < chains_to; ++c)
    {
      block::segment const chain = chains[c];
      if (chain.size > 0)
      {
        sum += counted(chain.first_tile + tiles_of(chain.size) - 1, bucket_number);
      }
    }
    return sum;
  }

  __host__ __device__ std::uint32_t tiles_of(std::uint64_t size) const
  {
    return static_cast<std::uint32_t>((size + static_cast<std::uint64_t>(tile) - 1) / static_cast<std::uint64_t>(tile));
  }
};

/// The arrays between which keys and values move; the first pair is the caller's.
template <class Key, class Value>
struct buffers
{
  Key* keys[2];
  Value* values[2];
};

/// Sizes that decide how segments are split.
struct split_sizes
{
  std::uint64_t n;
  std::uint64_t most; // that a block sorts
  std::uint64_t bucket; // what a bucket should have
  std::uint64_t chain; // the most that a chain has
};

template <class Key, class Compare>
struct choice_storage
{
  typename splitter_choice<Key, Compare>::shared_storage sample;
  block::warp_sums<std::uint64_t, most_buckets> sums;
  block::warp_sums<std::uint32_t, most_buckets> tile_sums;
  block::segment own;
};

/// Looks whether the input is sorted, or each element goes before the one in front of it; warps stop looking as soon as
/// neither can be. Also makes the first `words` look-back words empty, and the `spare` ones behind them what a first level
/// leaves behind.
/// Grid: any. Block: look_threads.
template <class Key, class Compare>
__global__ void __launch_bounds__(look_threads)
  look_at_input(Key const* keys,
                std::size_t n,
                std::uint32_t* status,
                std::size_t words,
                std::size_t spare,
                counters* all,
                Compare comp)
{
  runtime::wait_for_previous_kernel();
  std::size_t const begin = static_cast<std::size_t>(blockIdx.x) * look_threads + threadIdx.x;
  std::size_t const step  = static_cast<std::size_t>(gridDim.x) * look_threads;
  for (std::size_t i = begin; i < words + spare; i += step)
  {
    status[i] = i < words ? 0 : block::look_back::left_behind;
  }
  // All lanes of a warp take part in every round.
  std::size_t const rounds = (n - 1 + step - 1) / step;
  std::uint32_t known      = 0;
  for (std::size_t round = 0; round < rounds && known != seen::both; round += look_rows)
  {
    std::uint32_t const by_all = *const_cast<std::uint32_t volatile*>(&all->seen);
    std::uint32_t own          = 0;
#pragma unroll
    for (int r = 0; r < look_rows; ++r)
    {
      std::size_t const i = begin + (round + static_cast<std::size_t>(r)) * step;
      if (i + 1 < n)
      {
        own |= block::precedes(keys[i + 1], keys[i], comp) ? seen::descent : seen::no_descent;
      }
    }
    std::uint32_t const by_warp = block::or_of_warp(own);
    known                       = block::or_of_warp(by_all) | by_warp;
    if (threadIdx.x % 32 == 0 && (by_warp & ~by_all) != 0)
    {
      atomicOr(&all->seen, by_warp);
    }
  }
}

/// Chooses the splitters of each segment of a level, after the level before, if there is one, has been moved; decides what
/// becomes of each segment, lists the chains, and, of segments that are not split, the buckets.
/// Grid: a block a segment. Block: splitter_choice's threads. Shared: choice_storage.
template <class Key, class Compare>
__global__ void __launch_bounds__(splitter_choice<Key, Compare>::threads) sample_splitters(
  Key const* keys, split_level<Key> level, split_level<Key> previous, split_sizes sizes, bucket* buckets, Compare comp)
{
  using choice = splitter_choice<Key, Compare>;
  extern __shared__ uint4 shared_words[];
  auto& shared = *reinterpret_cast<choice_storage<Key, Compare>*>(shared_words);

  runtime::wait_for_previous_kernel();
  if (level.all->seen != seen::both)
  {
    return;
  }
  unsigned const thread = threadIdx.x;
  fate own_fate         = fate::is_split;
  if (level.number == 0)
  {
    for (std::uint32_t c = thread; c < level.chain_count; c += choice::threads)
    {
      std::uint64_t const begin = c * sizes.chain;
      std::uint64_t const left  = sizes.n - begin;
      level.chains[c]           = {begin, left < sizes.chain ? left : sizes.chain, level.tiles_of(begin)};
    }
    if (thread == 0)
    {
      shared.own          = {0, sizes.n, 0};
      level.all->tiles[0] = level.tiles_of(sizes.n);
    }
  }
  else
  {
    bool const is_segment     = thread < level.segments;
    std::uint64_t const size  = is_segment ? previous.counted_in(0, previous.chain_count, thread) : 0;
    std::uint32_t const tiles = is_segment ? level.tiles_of(size) : 0;
    block::segment const mine{block::exclusive_sum<most_buckets>(shared.sums, size),
                              size,
                              block::exclusive_sum<most_buckets>(shared.tile_sums, tiles)};
    if (thread == blockIdx.x)
    {
      shared.own               = mine;
      level.chains[blockIdx.x] = mine;
    }
    if (blockIdx.x == 0 && thread == level.segments - 1)
    {
      level.all->tiles[level.number] = mine.first_tile + tiles;
    }
  }
  __syncthreads();
  block::segment const own = shared.own;
  if (level.number > 0)
  {
    own_fate = previous.trees[0].is_of_equals(blockIdx.x) ? fate::is_done
             : own.size <= sizes.most || own.size > sizes.chain
               ? fate::is_one_bucket
               : fate::is_split;
  }
  if (thread == 0)
  {
    level.fates[blockIdx.x] = own_fate;
  }
  unsigned const most = 1u << level.log2;
  if (own_fate != fate::is_split)
  {
    if (thread < most)
    {
      bucket const all{own.begin, own.size | (own_fate == fate::is_done ? bucket::done : 0)};
      buckets[blockIdx.x * most + thread] = thread == 0 ? all : bucket{own.begin + own.size, 0};
    }
    return;
  }
  std::uint64_t const wanted = own.size / sizes.bucket + 1;
  choice::choose(shared.sample,
                 keys + own.begin,
                 own.size,
                 wanted < 2      ? 2
                 : wanted < most ? static_cast<unsigned>(wanted)
                                 : most,
                 level.log2,
                 level.trees[blockIdx.x],
                 comp);
}

template <class Key, class Value>
__host__ __device__ constexpr block_shape tile_shape_of()
{
  return tile_shape_for(sizeof(Key), value_bytes_v<Value>);
}

template <class Key, class Value, class Compare>
using bucket_partition =
  block::partition<Key,
                   Value,
                   splitter_search<Key, Compare>,
                   most_buckets,
                   tile_shape_of<Key, Value>().threads,
                   tile_shape_of<Key, Value>().items>;

/// The look-back of a tile that nobody waits for: the next kernel reads what it leaves behind.
class counted_tile
{
public:
  template <class Key>
  __device__ counted_tile(split_level<Key> const& level, block::tile_place const& at)
      : chain_(level.status, level.row, level.number)
      , at_(at)
      , row_(level.row)
  {}

  __device__ void publish(std::uint32_t count) const
  {
    if (bucket() < row_)
    {
      chain_.publish_count(at_.number, bucket(), count, at_.number == at_.first_of_segment);
    }
  }

  /// A second level takes all words of the first for empty: all have to be left behind, of unused buckets too.
  __device__ void complete(std::uint32_t count) const
  {
    if (bucket() < row_ && at_.number != at_.first_of_segment)
    {
      chain_.exclusive_prefix(at_.number, at_.first_of_segment, bucket(), count);
    }
  }

private:
  __device__ static int bucket()
  {
    return static_cast<int>(threadIdx.x);
  }

  block::look_back chain_;
  block::tile_place const& at_;
  int row_;
};

template <class Key, class Value, class Compare>
struct order_storage
{
  typename bucket_partition<Key, Value, Compare>::shared_storage tile;
  splitter_tree<Key> tree;
};

/// Puts the elements of every tile of a level in the order of their buckets, and leaves in the look-back words how many of
/// each bucket a chain's tiles up to each one have. A comparator is asked here, once for each element, and not again when
/// elements move: whatever it says, they all do, and to where there is room for them.
/// Grid: at least a block a tile. Block: bucket_partition's threads. Shared: order_storage.
template <bool KeepsOrder, class Key, class Value, class Compare>
__global__ void
__launch_bounds__(tile_shape_of<Key, Value>().threads,
                  runtime::resident_blocks(tile_shape_of<Key, Value>().threads, tile_shape_of<Key, Value>().blocks))
  order_tiles(Key* keys, Value* values, split_level<Key> level, Compare comp)
{
  using partition = bucket_partition<Key, Value, Compare>;
  extern __shared__ uint4 shared_words[];
  auto& shared = *reinterpret_cast<order_storage<Key, Value, Compare>*>(shared_words);

  runtime::wait_for_previous_kernel();
  std::uint32_t const tile = partition::take_tile(shared.tile, &level.all->tickets[level.number]);
  if (tile >= level.all->tiles[level.number])
  {
    return;
  }
  block::tile_place const place = block::place_among(level.chains, level.chain_count, tile, level.tile);
  std::uint32_t const segment   = level.segment_of(place.segment);
  if (level.fates[segment] != fate::is_split)
  {
    return;
  }
  auto const& tree = level.trees[segment];
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
  __syncthreads();
  partition::template order_tile<KeepsOrder>(
    shared.tile,
    splitter_search<Key, Compare>{shared.tree, level.log2, comp},
    counted_tile(level, place),
    place.size,
    keys + place.begin,
    partition::with_values ? values + place.begin : nullptr);
}

struct move_storage
{
  block::warp_sums<std::uint32_t, most_buckets> tile_sums;
  block::warp_sums<std::uint64_t, most_buckets> sums;
  std::uint64_t outputs[most_buckets]; // where a bucket's elements go, less their position in the tile
  std::uint32_t starts[most_buckets]; // of buckets in the tile
};

/// Moves ordered tiles from number `level.number` of the arrays to the other, every element to its bucket, in input order;
/// and lists the buckets of segments that are split, if there is a list.
/// Grid: at least a block a tile. Block: tile_shape_of's threads. Shared: move_storage.
template <class Key, class Value>
__global__ void
__launch_bounds__(tile_shape_of<Key, Value>().threads,
                  runtime::resident_blocks(tile_shape_of<Key, Value>().threads, tile_shape_of<Key, Value>().blocks))
  move_tiles(split_level<Key> level, buffers<Key, Value> at, bucket* buckets)
{
  constexpr int threads      = tile_shape_of<Key, Value>().threads;
  constexpr int items        = tile_shape_of<Key, Value>().items;
  constexpr int together     = sizeof(Key) <= 8 ? 6 : 3; // elements that a thread has under way
  constexpr bool with_values = value_bytes_v<Value> != 0;
  extern __shared__ uint4 shared_words[];
  auto& shared = *reinterpret_cast<move_storage*>(shared_words);

  runtime::wait_for_previous_kernel();
  std::uint32_t const tile = blockIdx.x;
  if (tile >= level.all->tiles[level.number])
  {
    return;
  }
  block::tile_place const place = block::place_among(level.chains, level.chain_count, tile, level.tile);
  std::uint32_t const segment   = level.segment_of(place.segment);
  bool const is_split           = level.fates[segment] == fate::is_split;
  unsigned const own            = threadIdx.x; // bucket
  unsigned const most           = 1u << level.log2;
  if (is_split)
  {
    std::uint32_t before_tile = 0, count = 0;
    std::uint64_t total = 0, in_chains_before = 0;
    if (own < most)
    {
      std::uint32_t const first = level.first_chain(segment);
      bool const first_of_chain = tile == place.first_of_segment;
      before_tile               = first_of_chain ? 0 : level.counted(tile - 1, own);
      count                     = level.counted(tile, own) - before_tile;
      in_chains_before          = level.counted_in(first, place.segment, own);
      total = in_chains_before + level.counted_in(place.segment, first + level.chains_of_segment(), own);
    }
    std::uint32_t const start = block::exclusive_sum<most_buckets>(shared.tile_sums, count);
    std::uint64_t const begin =
      level.chains[level.first_chain(segment)].begin + block::exclusive_sum<most_buckets>(shared.sums, total);
    if (own < most)
    {
      shared.starts[own]  = start;
      shared.outputs[own] = begin + in_chains_before + before_tile - start;
      if (buckets != nullptr && tile == level.chains[level.first_chain(segment)].first_tile)
      {
        buckets[segment * most + own] = {
          begin, total | (level.trees[segment].is_of_equals(own) ? bucket::done : std::uint64_t{0})};
      }
    }
    __syncthreads();
  }
  auto const output_of = [&](int position) {
    if (!is_split)
    {
      return place.begin + static_cast<std::uint64_t>(position);
    }
    unsigned found = 0;
    for (unsigned step = most / 2; step > 0; step /= 2)
    {
      found += shared.starts[found + step] <= static_cast<std::uint32_t>(position) ? step : 0;
    }
    return shared.outputs[found] + static_cast<std::uint64_t>(position);
  };
  bool const from_home         = level.number % 2 == 0;
  Key const* const keys_in     = (from_home ? at.keys[0] : at.keys[1]) + place.begin;
  Key* const keys_out          = from_home ? at.keys[1] : at.keys[0];
  Value const* const values_in = (from_home ? at.values[0] : at.values[1]) + (with_values ? place.begin : 0);
  Value* const values_out      = from_home ? at.values[1] : at.values[0];
#pragma unroll 1
  for (int row = 0; row < items; row += together)
  {
    Key keys[together];
    block::registers<Value, together> values;
    int const first = row * threads;
    int const left  = place.size - first < together * threads ? place.size - first : together * threads;
    if (left <= 0)
    {
      break;
    }
    block::read_tile<threads>(keys, left, [&](int i) { return keys_in[first + i]; });
    if constexpr (with_values)
    {
      block::read_tile<threads>(values.at, left, [&](int i) { return values_in[first + i]; });
    }
#pragma unroll
    for (int i = 0; i < together; ++i)
    {
      int const position = first + i * threads + static_cast<int>(threadIdx.x);
      if (position < place.size)
      {
        std::uint64_t const output = output_of(position);
        keys_out[output]           = keys[i];
        if constexpr (with_values)
        {
          values_out[output] = values.at[i];
        }
      }
    }
  }
}

template <class Key, class Value>
__host__ __device__ constexpr block_shape sort_shape_of()
{
  return sort_shape_for(sizeof(Key), value_bytes_v<Value>);
}

template <class Key, class Value, class Compare>
using bucket_sort =
  block::merge_sort<Key, Value, Compare, sort_shape_of<Key, Value>().threads, sort_shape_of<Key, Value>().items>;

template <class Key, class Value, class Compare>
struct sort_storage
{
  typename bucket_sort<Key, Value, Compare>::shared_storage sorter;
  std::uint32_t done[most_buckets / 32];
};

/// Passes that merge `tiles` sorted tiles.
__host__ __device__ constexpr std::uint32_t passes_for(std::uint64_t tiles)
{
  std::uint32_t passes = 0;
  while (std::uint64_t{1} << passes < tiles)
  {
    ++passes;
  }
  return passes;
}

/// Lists what is to be merged. Called by one thread.
template <class Key, class Value>
__device__ void leave_over(large_bucket const& where, leftover* leftovers, counters& all)
{
  constexpr auto tile                      = static_cast<std::uint64_t>(merge::merge_storage<Key, Value>::tile);
  std::uint64_t const tiles                = (where.size + tile - 1) / tile;
  std::uint32_t const passes               = passes_for(tiles);
  unsigned long long const taken           = atomicAdd(&all.leftovers, (1ull << counters::tiles_bits) | tiles);
  leftovers[taken >> counters::tiles_bits] = {where, taken & ((1ull << counters::tiles_bits) - 1), passes, 0};
  atomicMax(&all.merge_passes, passes);
}

template <class T>
__device__ void swap_places(T* elements, std::size_t a, std::size_t b)
{
  T const held = elements[a];
  elements[a]  = elements[b];
  elements[b]  = held;
}

/// Sorts every bucket from number `from` of the arrays into the caller's, and lists those that are too large for a block: in
/// `large`, if there is such a list, or as leftovers.
/// Without a list of buckets, all n elements are one. If the input has been seen to be reversed, that is undone instead.
/// Grid: any. Block: bucket_sort's threads. Shared: sort_storage.
template <class Key, class Value, class Compare>
__global__ void
__launch_bounds__(sort_shape_of<Key, Value>().threads,
                  runtime::resident_blocks(sort_shape_of<Key, Value>().threads, sort_shape_of<Key, Value>().blocks))
  sort_buckets(buffers<Key, Value> at,
               int from,
               std::size_t n,
               bucket const* buckets,
               std::uint32_t count,
               large_bucket* large,
               leftover* leftovers,
               counters* all,
               Compare comp)
{
  using sorter          = bucket_sort<Key, Value, Compare>;
  constexpr int threads = sort_shape_of<Key, Value>().threads;
  extern __shared__ uint4 shared_words[];
  auto& shared = *reinterpret_cast<sort_storage<Key, Value, Compare>*>(shared_words);

  runtime::wait_for_previous_kernel();
  if (buckets != nullptr && all->seen != seen::both)
  {
    if (all->seen == seen::descent)
    {
      for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * threads + threadIdx.x; i < n / 2;
           i += static_cast<std::size_t>(gridDim.x) * threads)
      {
        swap_places(at.keys[0], i, n - 1 - i);
        if constexpr (sorter::with_values)
        {
          swap_places(at.values[0], i, n - 1 - i);
        }
      }
    }
    return;
  }
  Key const* const keys_in     = from == 0 ? at.keys[0] : at.keys[1];
  Value const* const values_in = from == 0 ? at.values[0] : at.values[1];
  for (std::uint32_t b = blockIdx.x; b < count; b += gridDim.x)
  {
    bucket const own         = buckets == nullptr ? bucket{0, n} : buckets[b];
    std::uint64_t const size = own.size();
    if (size == 0 || own.is_done())
    {
      continue;
    }
    if (size > sorter::tile)
    {
      if (threadIdx.x == 0)
      {
        large_bucket const too_large{own.begin, size, static_cast<std::uint32_t>(from)};
        if (large != nullptr)
        {
          large[atomicAdd(&all->large_buckets, 1u)] = too_large;
        }
        else
        {
          leave_over<Key, Value>(too_large, leftovers, *all);
        }
      }
      continue;
    }
    __syncthreads();
    bool constexpr with_values = sorter::with_values;
    sorter::sort(shared.sorter,
                 keys_in + own.begin,
                 at.keys[0] + own.begin,
                 with_values ? values_in + own.begin : nullptr,
                 with_values ? at.values[0] + own.begin : nullptr,
                 static_cast<int>(size),
                 comp);
  }
  if (from == 0)
  {
    return;
  }
  // After one level, of up to most_buckets, what is done has not come home: it may be nearly all there is, so that all blocks
  // take a share of each.
  unsigned const thread = threadIdx.x;
  bool const is_done    = thread < count && buckets[thread].is_done() && buckets[thread].size() > 0;
  if (__syncthreads_or(is_done) == 0)
  {
    return;
  }
  static_assert(threads >= most_buckets);
  std::uint32_t const word = __ballot_sync(block::all_lanes, is_done);
  if (thread < most_buckets && thread % 32 == 0)
  {
    shared.done[thread / 32] = word;
  }
  __syncthreads();
  for (std::uint32_t b = 0; b < count; ++b)
  {
    if ((shared.done[b / 32] >> b % 32 & 1u) != 0)
    {
      bucket const own = buckets[b];
      for (std::uint64_t i = own.begin + static_cast<std::uint64_t>(blockIdx.x) * threads + thread;
           i < own.begin + own.size();
           i += static_cast<std::uint64_t>(gridDim.x) * threads)
      {
        at.keys[0][i] = at.keys[1][i];
        if constexpr (sorter::with_values)
        {
          at.values[0][i] = at.values[1][i];
        }
      }
    }
  }
}

/// The shared memory of merge_leftovers, one way or another.
template <class Key, class Value, class Compare>
struct leftover_storage
{
  union
  {
    typename merge::tile_sort<Key, Value, Compare>::shared_storage sorter;
    merge::merge_storage<Key, Value> merging;
  };
  unsigned long long step;
};

/// The leftover that a tile belongs to, of those that `tile` may belong to.
__device__ inline std::uint32_t leftover_of(leftover const* leftovers, std::uint32_t count, std::uint64_t tile)
{
  std::uint32_t low = 0, high = count;
  while (high - low > 1)
  {
    std::uint32_t const middle                          = low + (high - low) / 2;
    (leftovers[middle].first_tile <= tile ? low : high) = middle;
  }
  return low;
}

/// Merge-sorts what is left over, into the caller's arrays: its tiles, then pairs of runs, pass by pass. All is one sequence of steps, of which blocks take the next one; a step waits until the
/// phase before its own is done, whose steps blocks have taken that do not wait for it.
/// Where a comparator contradicts itself, what survives is the source of the pass that finds out: a permutation of the input.
/// Grid: any. Block: merge's threads. Shared: leftover_storage.
template <class Key, class Value, class Compare>
__global__ void __launch_bounds__(merge::shape_of<Key, Value>().threads,
                                  runtime::resident_blocks(merge::shape_of<Key, Value>().threads, leftover_blocks))
  merge_leftovers(buffers<Key, Value> at, leftover* leftovers, counters* all, std::uint64_t* cuts, Compare comp)
{
  using sorter               = merge::tile_sort<Key, Value, Compare>;
  using counter              = ::cuda::atomic_ref<unsigned long long, ::cuda::thread_scope_device>;
  using flag                 = ::cuda::atomic_ref<std::uint32_t, ::cuda::thread_scope_device>;
  constexpr auto tile        = static_cast<std::uint64_t>(sorter::tile);
  constexpr int threads      = merge::shape_of<Key, Value>().threads;
  constexpr bool with_values = sorter::with_values;
  extern __shared__ uint4 shared_words[];
  auto& shared = *reinterpret_cast<leftover_storage<Key, Value, Compare>*>(shared_words);

  runtime::wait_for_previous_kernel();
  unsigned long long const packed = all->leftovers;
  auto const count                = static_cast<std::uint32_t>(packed >> counters::tiles_bits);
  if (count == 0)
  {
    return;
  }
  // Phases: tiles are sorted; in every pass, runs are cut and then merged; what a failed pass has left is brought home.
  std::uint64_t const tiles     = packed & ((1ull << counters::tiles_bits) - 1);
  std::uint32_t const passes    = all->merge_passes;
  std::uint64_t const cut_steps = (tiles + threads - 1) / threads;
  std::uint64_t const of_pass   = cut_steps + tiles;
  std::uint64_t const steps     = tiles + passes * of_pass + tiles;
  counter const done(all->merge_steps_done);
  for (;;)
  {
    __syncthreads();
    if (threadIdx.x == 0)
    {
      shared.step = atomicAdd(&all->merge_tickets, 1ull);
    }
    __syncthreads();
    std::uint64_t const step = shared.step;
    if (step >= steps)
    {
      return;
    }
    bool const sorts         = step < tiles;
    std::uint64_t const pass = sorts ? 0 : (step - tiles) / of_pass; // `passes`: the way home
    std::uint64_t phase      = sorts ? 0 : tiles + pass * of_pass;
    bool const cuts_runs     = !sorts && pass < passes && step - phase < cut_steps;
    if (!sorts && pass < passes && !cuts_runs)
    {
      phase += cut_steps;
    }
    if (threadIdx.x == 0)
    {
      while (done.load(::cuda::std::memory_order_acquire) < phase)
      {
        __nanosleep(100);
      }
    }
    __syncthreads();

    std::uint64_t const t = cuts_runs ? (step - phase) * threads + threadIdx.x : step - phase;
    if (t < tiles)
    {
      leftover& own            = leftovers[leftover_of(leftovers, count, t)];
      large_bucket const where = own.where;
      flag const failure(own.failed);
      std::uint64_t const place = (t - own.first_tile) * tile;
      auto const size           = static_cast<int>(where.size - place < tile ? where.size - place : tile);
      // Of a pass before this one, which all blocks see; or of this one, which makes no difference.
      std::uint32_t const failed = failure.load(::cuda::std::memory_order_relaxed);
      // Passes take turns between the arrays, and the last one of each leftover ends in the caller's.
      bool const in_second       = (own.passes - static_cast<std::uint32_t>(pass)) % 2 != 0;
      Key* const keys            = (in_second ? at.keys[1] : at.keys[0]) + where.begin;
      Key* const others          = (in_second ? at.keys[0] : at.keys[1]) + where.begin;
      Value* const values        = with_values ? (in_second ? at.values[1] : at.values[0]) + where.begin : nullptr;
      Value* const others_values = with_values ? (in_second ? at.values[0] : at.values[1]) + where.begin : nullptr;
      if (sorts)
      {
        Key const* const keys_in = (where.from == 0 ? at.keys[0] : at.keys[1]) + where.begin;
        Value const* const values_in =
          with_values ? (where.from == 0 ? at.values[0] : at.values[1]) + where.begin : nullptr;
        sorter::sort(shared.sorter,
                     keys_in + place,
                     keys + place,
                     with_values ? values_in + place : nullptr,
                     with_values ? values + place : nullptr,
                     size,
                     comp);
      }
      else if (pass == passes)
      {
        if (failed != 0 && (own.passes - (failed - 1)) % 2 != 0)
        {
          block::copy_slowly<threads>(size, at.keys[1] + where.begin + place, at.keys[0] + where.begin + place);
          if constexpr (with_values)
          {
            block::copy_slowly<threads>(size, at.values[1] + where.begin + place, at.values[0] + where.begin + place);
          }
        }
      }
      else if (pass < own.passes && (failed == 0 || failed > pass))
      {
        std::uint64_t const run = tile << pass;
        merge::run_pair const pair(place, run, where.size);
        std::uint64_t const begin = place - pair.begin;
        if (cuts_runs)
        {
          Key const* const a = keys + pair.begin;
          cuts[t] = block::merge_path<std::size_t>(begin, a, pair.a_size, a + pair.a_size, pair.b_size, comp);
        }
        else
        {
          std::uint64_t const total  = pair.a_size + pair.b_size;
          std::uint64_t const end    = begin + static_cast<std::uint64_t>(size);
          std::uint64_t const a_from = begin == 0 ? 0 : cuts[t];
          std::uint64_t const a_to   = end == total ? pair.a_size : cuts[t + 1];
          std::uint64_t const b_from = begin - a_from;
          bool const possible        = a_from <= a_to && b_from <= end - a_to;
          if (!possible
              || !merge::merge_place(
                shared.merging,
                {pair.begin + a_from, pair.begin + pair.a_size + b_from, place, static_cast<int>(a_to - a_from), size},
                keys,
                others,
                values,
                others_values,
                comp))
          {
            failure.store(static_cast<std::uint32_t>(pass) + 1, ::cuda::std::memory_order_relaxed);
          }
        }
      }
    }
    __syncthreads(); // all of the step is written
    if (threadIdx.x == 0)
    {
      done.fetch_add(1, ::cuda::std::memory_order_release);
    }
  }
}

} // namespace gpusort::hybrid
