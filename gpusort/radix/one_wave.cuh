// Two kernels for inputs of a few tiles a multiprocessor: order_in_tiles puts each tile in the order of its buckets, within the
// tile's own place; sort_wave gathers one bucket a block from all tiles, and sorts it. No histogram pass, no look-back. Buckets are of
// equal width, or, where a sample says that those would be uneven, between splitters of a larger one.
// Source: Sintorn and Assarsson, section IV: a split into buckets that blocks can sort, which one sort each follows.
#pragma once

#include <gpusort/block/bin_sort.cuh>
#include <gpusort/block/dynamic_shared.cuh>
#include <gpusort/block/partition.cuh>
#include <gpusort/block/prefix_sum.cuh>
#include <gpusort/block/runs.cuh>
#include <gpusort/block/sort_by_bins.cuh>
#include <gpusort/block/span.cuh>
#include <gpusort/block/splitters.cuh>
#include <gpusort/block/token_sort.cuh>
#include <gpusort/block/warp.cuh>
#include <gpusort/radix/bucket_map.h>
#include <gpusort/radix/findings.cuh>
#include <gpusort/radix/key_order.h>
#include <gpusort/radix/tuning.h>
#include <gpusort/runtime/dependency.cuh>
#include <gpusort/runtime/residency.cuh>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::radix
{

/// The tiles of an input of one wave, in device memory.
struct wave_tiles
{
  std::uint32_t n; // elements
  int tile; // elements
  std::uint32_t count; // up to most_wave_tiles
  std::uint16_t* starts; // [count][radix_size]: where each bucket begins in the tile
  std::uint32_t* seen; // [count]: what is seen of a tile's keys, and of its last one and the next tile's first
  std::uint32_t* repeats; // [radix_size / 32]: of splitters, as splitter_tree has them; not set if there are none

  __device__ block::segment_tiles runs() const
  {
    return {starts, nullptr, 0, n, count, radix_size, tile};
  }

  __device__ int size(std::uint32_t number) const
  {
    std::uint32_t const left = n - number * static_cast<std::uint32_t>(tile);
    return left < static_cast<std::uint32_t>(tile) ? static_cast<int>(left) : tile;
  }
};

/// Rows of a tile that nobody asks whether they are in use, one by one. Small inputs have few rows: a wave takes so little time that what others would
/// take is to be skipped, and not even read from the memory of instructions.
inline constexpr int wave_rows_at_once = 4;

/// Reads the keys of a tile, and looks at each and the next one; not at records, of which it says nothing.
template <class Bits, class Order, class Value>
struct seen_source
{
  using rank_type = typename Order::rank;

  block::contiguous_source<Bits, Value> elements;
  Order const& order;
  bool is_last; // no key is behind the tile
  std::uint32_t seen = 0; // by this lane

  /// Rows of 32 keys that a warp has: fewer than it has room for, in tiles that are not full. As bucket_rank::rows.
  __device__ static int rows_of(int size)
  {
    return (size + wave_threads - 1) / wave_threads;
  }
  /// Where the warp's elements end.
  __device__ static int end_of(int size, int first_row)
  {
    return min(size, (first_row + rows_of(size)) * 32);
  }

  template <int N>
  __device__ void load_keys(Bits (&held)[N], int size, int first_row)
  {
    elements.load_keys(held, end_of(size, first_row), first_row);
    if constexpr (!Order::tells_keys)
    {
      return; // records of one rank need not be alike
    }
    int const lane = static_cast<int>(threadIdx.x) % 32;
    int const rows = rows_of(size);
    int const end  = (first_row + rows) * 32; // of the warp's
    Bits behind{};
    int const all = is_last ? size : size + 1; // that neighbours can be compared among
    if (lane == 31 && end < all)
    {
      behind = elements.keys[end];
    }
#pragma unroll
    for (int i = 0; i < N; ++i)
    {
      if (i % wave_rows_at_once == 0 && i >= rows)
      {
        break;
      }
      int const number     = (first_row + i) * 32 + lane;
      rank_type const rank = order.rank_of(held[i]);
      rank_type next       = block::from_lane_behind(lane == 0 ? order.rank_of(held[i + 1 < N ? i + 1 : i]) : rank);
      if (lane == 31 && i + 1 >= rows)
      {
        next = order.rank_of(behind);
      }
      if (i < rows && number < size)
      {
        seen |= order.loses(held[i]) ? seen::twin : 0;
        if (number + 1 < all)
        {
          seen |= rank < next ? seen::ascent : next < rank ? seen::descent : seen::alike;
        }
      }
    }
  }
  template <int N>
  __device__ void load_values(Value (&held)[N], int size, int first_row) const
  {
    elements.load_values(held, end_of(size, first_row), first_row);
  }
};

/// The order of ranks.
struct rank_less
{
  template <class Bits>
  __device__ bool operator()(Bits const& a, Bits const& b) const
  {
    return a < b;
  }
};

/// A key's bucket, of equal width.
template <class Bits, class Order>
struct wave_bucket_of
{
  Order const& order;
  typename map_of_order<Order>::type map;

  template <class Holds, int N>
  __device__ void all(Bits const (&keys)[N], Holds holds, std::uint32_t (&buckets)[N]) const
  {
#pragma unroll
    for (int i = 0; i < N; ++i)
    {
      if (i % wave_rows_at_once == 0 && !holds(i))
      {
        break; // nor any of those behind
      }
      buckets[i] = map(order, order.rank_of(keys[i]));
    }
  }
};

/// A key's bucket, between splitters of ranks.
template <class Bits, class Order>
struct wave_bucket_between
{
  using rank_type = typename Order::rank;

  Order const& order;
  block::splitter_tree<rank_type> const& tree; // in shared memory

  template <class Holds, int N>
  __device__ void all(Bits const (&keys)[N], Holds holds, std::uint32_t (&buckets)[N]) const
  {
    // A few at once: ranks of all take registers that keys and values need.
    constexpr int at_once = wave_rows_at_once;
    rank_less less;
    block::splitter_search<rank_type, rank_less> const search{tree, digit_bits, tree.has_repeats, less};
#pragma unroll
    for (int first = 0; first < N; first += at_once)
    {
      if (!holds(first))
      {
        break; // nor any of those behind
      }
      rank_type ranks[at_once];
      std::uint32_t found[at_once];
#pragma unroll
      for (int i = 0; i < at_once; ++i)
      {
        ranks[i] = order.rank_of(keys[first + i < N ? first + i : N - 1]);
      }
      search.all(ranks, [&](int i) { return first + i < N && holds(first + i); }, found);
#pragma unroll
      for (int i = 0; i < at_once && first + i < N; ++i)
      {
        buckets[first + i] = found[i];
      }
    }
  }
};

/// Elements of a bucket that a block of so many threads holds, at the most.
template <class Bits, class Order, class Value, int Threads = wave_sort_threads>
inline constexpr int most_in_wave_bucket_v =
  most_in_wave_bucket(sizeof(Bits), value_bytes_v<Value>, !Order::tells_keys, Threads);

template <class Bits, class Order, class Value>
struct tile_storage
{
  template <class BucketOf, bool FullApart>
  using partition_by =
    block::partition<Bits,
                     Value,
                     BucketOf,
                     radix_size,
                     wave_threads,
                     wave_items(sizeof(Bits), value_bytes_v<Value>, !Order::tells_keys),
                     FullApart>;
  using partition          = partition_by<wave_bucket_of<Bits, Order>, true>;
  using splitter_partition = partition_by<wave_bucket_between<Bits, Order>, false>;

  using rank_type   = typename Order::rank;
  using sample_sort = block::
    token_sort<rank_type, wave_threads, wave_threads * wave_splitter_items(most_in_wave_bucket_v<Bits, Order, Value>)>;
  // Runs of 128, so that most warps have one.
  using small_sample_sort = block::token_sort<rank_type, wave_threads, wave_threads * few_wave_splitter_items, 4>;

  union
  {
    typename partition::shared_storage tile;
    typename splitter_partition::shared_storage tile_to_split;
    typename sample_sort::room sample; // both have their ranks at the front
    typename small_sample_sort::room small_sample;
  };
  block::span_storage<rank_type, wave_threads> span;
  block::splitter_tree<rank_type> tree;
  std::uint16_t places[radix_size]; // of splitters in the sample
  std::uint32_t of_sample[radix_size];
  wave_sample of_warps[radix_size / 32];
  std::uint32_t seen;
};
static_assert(wave_buckets == radix_size && radix_size == block::most_buckets);

/// Words of scratch memory that a kernel clears in place of a memset; `set`, if not null, is one of them and becomes 1 instead.
struct cleared_words
{
  std::uint32_t* first;
  std::uint32_t count;
  std::uint32_t const* set;

  /// Called by all threads of the grid.
  __device__ void clear() const
  {
    for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    {
      first[i] = first + i == set ? 1 : 0;
    }
  }
};

/// Adds up what a sample's buckets have. Called by all threads, a barrier after they have counted.
template <class Storage>
__device__ wave_sample add_up_sample(Storage& shared)
{
  unsigned const warp = threadIdx.x / 32;
  if (warp < radix_size / 32)
  {
    std::uint32_t const own = shared.of_sample[threadIdx.x];
    wave_sample const of_warp{block::sum_of_warp(own),
                              block::sum_of_warp(own * own),
                              block::greatest_of_warp(own),
                              static_cast<std::uint32_t>(__popc(__ballot_sync(block::all_lanes, own > 0)))};
    if (threadIdx.x % 32 == 0)
    {
      shared.of_warps[warp] = of_warp;
    }
  }
  __syncthreads();
  wave_sample all{};
#pragma unroll
  for (wave_sample const& of_warp : shared.of_warps)
  {
    all.all += of_warp.all;
    all.squares += of_warp.squares;
    all.most = max(all.most, of_warp.most);
    all.filled += of_warp.filled;
  }
  return all;
}

/// Maps ranks to radix_size buckets of equal width by a sample, which is the same for every block: by rank, or else by value. Returns false if
/// they would not fit a block; then `sample` is what it says of the map that was tried and has a lesser share in its fullest bucket. Called by all threads, with
/// of_sample and `sample` zero, a barrier since.
template <class Bits, class Order, class Value>
__device__ bool map_wave(tile_storage<Bits, Order, Value>& shared,
                         Bits const* keys,
                         std::uint32_t n,
                         wave_limits const& limits,
                         wave_bucket_of<Bits, Order>& buckets,
                         wave_sample& sample)
{
  // Lanes side by side sample keys side by side: they share a sector of memory, so that more of them cost no more traffic. Blocks begin at different
  // places: otherwise all would ask for the same memory at the same time.
  constexpr std::uint32_t each = wave_samples;
  std::uint32_t const thread   = (threadIdx.x + blockIdx.x * 32) % wave_threads;
  bool const has_neighbour     = thread % each != 0; // in the lane before
  using rank_type              = typename Order::rank;
  Bits held[each];
#pragma unroll
  for (std::uint32_t i = 0; i < each; ++i)
  {
    held[i] = keys[wave_sample_begin(n, (thread + i * wave_threads) / each) + thread % each];
  }
  rank_type ranks[each];
  rank_type least = static_cast<rank_type>(~rank_type{0}), greatest = 0;
#pragma unroll
  for (std::uint32_t i = 0; i < each; ++i)
  {
    ranks[i] = buckets.order.rank_of(held[i]);
    least    = ranks[i] < least ? ranks[i] : least;
    greatest = greatest < ranks[i] ? ranks[i] : greatest;
  }
  block::span_of_block(shared.span, least, greatest);
  auto const fits = [&](auto const& map) {
    // A run of neighbours in one bucket counts once: neighbours are often alike where others are not.
    std::uint32_t before[each]; // in their buckets
    std::uint32_t counted = 0; // by the warp
#pragma unroll
    for (std::uint32_t i = 0; i < each; ++i)
    {
      std::uint32_t const bucket = map(buckets.order, ranks[i]);
      std::uint32_t const last   = __shfl_up_sync(block::all_lanes, bucket, 1);
      bool const counts          = !has_neighbour || bucket != last;
      before[i]                  = counts ? atomicAdd(&shared.of_sample[bucket], 1u) : 0;
      counted += static_cast<std::uint32_t>(__popc(__ballot_sync(block::all_lanes, counts)));
    }
    // Most inputs need no exact figures. All threads go by one limit, whichever of them has counted first, so that all blocks decide alike.
    bool fits_well = counted >= least_wave_samples * 32;
#pragma unroll
    for (std::uint32_t const of_bucket : before)
    {
      fits_well = fits_well && of_bucket < limits.most_of_sample;
    }
    if (__syncthreads_and(fits_well) != 0)
    {
      return true;
    }
    wave_sample const own = add_up_sample(shared);
    bool const is_better  = sample.all == 0 || own.most * sample.all < sample.most * own.all;
    sample                = is_better ? own : sample;
    return fits_wave(own, n, limits.capacity, limits.alike);
  };
  auto const ranks_map = bucket_map<rank_type>::over(least, greatest, digit_bits);
  buckets.map          = ranks_map;
  // Equal numbers are sorted; of records those of one rank need not be.
  if (fits(ranks_map) || (least == greatest && Order::tells_keys))
  {
    return true;
  }
  if constexpr (map_of_order<Order>::by_values)
  {
    auto const values = value_map<Bits>::over(buckets.order, least, greatest, digit_bits, 0);
    if (threadIdx.x < radix_size)
    {
      shared.of_sample[threadIdx.x] = 0;
    }
    __syncthreads();
    buckets.map = values;
    return values.exists() && fits(values);
  }
  return false;
}

/// Chooses splitters by a sample, which is the same for every block. Returns false if some bucket has so much of it that it would not fit a
/// block, unless all of it is one key, or `limits` bears overfull ones. Called by all threads. Not inlined, like all that few inputs need: where hot code is in one piece, its
/// instructions are fetched before they are needed.
template <class Bits, class Order, class Value>
__device__ __noinline__ bool split_wave(Bits const* keys, std::uint32_t n, Order order, wave_limits limits)
{
  using storage             = tile_storage<Bits, Order, Value>;
  auto& shared              = block::dynamic_shared<storage>();
  using rank_type           = typename Order::rank;
  constexpr unsigned splits = radix_size - 1;
  int const count           = limits.splitter_samples;
  int const of_bucket       = count / radix_size; // samples
  __syncthreads();
  // Blocks begin at different places: otherwise all would ask for the same memory at the same time.
  constexpr int apart        = 8;
  constexpr int at_once      = sizeof(Bits) <= 8 ? 8 : 4;
  std::uint32_t const stride = n / static_cast<std::uint32_t>(count);
  static_assert(wave_blocks * apart <= wave_threads * 3, "less than there are samples");
#pragma unroll 1
  for (int first = static_cast<int>(threadIdx.x); first < count; first += wave_threads * at_once)
  {
    Bits held[at_once];
    auto const number = [&](int i) {
      int const later = first + i * wave_threads + static_cast<int>(blockIdx.x % wave_blocks) * apart;
      return later < count ? later : later - count;
    };
#pragma unroll
    for (int i = 0; i < at_once; ++i)
    {
      if (first + i * wave_threads < count)
      {
        held[i] = keys[block::sampled_place(static_cast<std::uint64_t>(number(i)), stride)];
      }
    }
#pragma unroll
    for (int i = 0; i < at_once; ++i)
    {
      if (first + i * wave_threads < count)
      {
        shared.sample[static_cast<unsigned>(number(i))] = order.rank_of(held[i]);
      }
    }
  }
  if (count <= wave_threads * few_wave_splitter_items)
  {
    storage::small_sample_sort::sort(shared.small_sample, static_cast<unsigned>(count));
  }
  else
  {
    storage::sample_sort::sort(shared.sample, static_cast<unsigned>(count));
  }
  block::place_splitters(shared.places, count, radix_size);
  __syncthreads();
  auto const sorted = [&](int place) -> rank_type const& { return shared.sample[static_cast<unsigned>(place)]; };
  // How much of the sample is in front of a rank, or, `with_equals`, not behind it.
  auto const before = [&](rank_type rank, bool with_equals) {
    int low = 0;
#pragma unroll 1
    for (int high = count; low < high;)
    {
      int const middle      = (low + high) / 2;
      rank_type const other = sorted(middle);
      if (other < rank || (with_equals && other == rank))
      {
        low = middle + 1;
      }
      else
      {
        high = middle;
      }
    }
    return low;
  };
  auto const splitter = [&](unsigned s) { return sorted(shared.places[s]); };
  // A key that has a bucket's share of the sample, a heavy one, has to be two splitters, to get a bucket of its own. Where it is but one, it asks a
  // neighbour that is not heavy for its place: the one whose place leaves less of the key in other buckets.
  constexpr std::uint32_t is_heavy = 1, asks_next = 2, asks_last = 4;
  unsigned const own = threadIdx.x; // splitter
  if (own < splits)
  {
    rank_type const rank = splitter(own);
    int const in_front   = shared.places[own] - before(rank, false); // of its place, equal to it
    int const behind     = before(rank, true) - shared.places[own];
    bool const is_alone  = (own == 0 || splitter(own - 1) != rank) && (own + 1 == splits || splitter(own + 1) != rank);
    std::uint32_t const asks = !is_alone ? 0 : behind < in_front && own > 0 ? asks_last : asks_next;
    shared.of_sample[own]    = in_front + behind >= of_bucket ? is_heavy | asks : 0;
  }
  __syncthreads();
  if (own < splits && shared.of_sample[own] == 0)
  {
    // Nobody moves the places of those who ask. If both do, the first gets it, in all blocks.
    if (own > 0 && (shared.of_sample[own - 1] & asks_next) != 0)
    {
      shared.places[own] = shared.places[own - 1];
    }
    else if (own + 1 < splits && (shared.of_sample[own + 1] & asks_last) != 0)
    {
      shared.places[own] = shared.places[own + 1];
    }
  }
  __syncthreads();
  rank_less less;
  block::plant_splitters(sorted, shared.places, radix_size, digit_bits, shared.tree, less);
  __syncthreads();
  bool fits = true;
  if (own < radix_size && !shared.tree.is_of_equals(own))
  {
    bool const is_last = own == splits;
    int const begin    = own == 0 ? 0 : before(splitter(own - 1), true);
    int const end      = is_last ? count : before(splitter(own), !shared.tree.is_of_equals(own + 1));
    fits               = end - begin <= limits.most_between_splitters;
  }
  return __syncthreads_and(fits) != 0;
}

/// Whether what has been seen of some keys leaves it possible that one wave sorts all.
__device__ inline bool may_be_sorted(std::uint32_t seen)
{
  return (seen & seen::uneven) == 0 && (seen & seen::no_value_order) != seen::no_value_order;
}

/// For sorts that know the order of keys: nothing else is looked for in a tile.
struct sees_nothing_else
{
  static constexpr bool asks = false;

  template <class Order, class Bits>
  __device__ std::uint32_t operator()(Order&, wave_tiles const&, Bits const*) const
  {
    return 0;
  }
};

/// Puts a tile in the order of its buckets, into the second arrays, and notes where each begins, and what is seen. Called by all threads, with
/// shared.seen zero, as it is again a barrier later.
template <class Partition, class BucketOf, class Order, class Bits, class Value>
__device__ void order_tile_of_wave(
  tile_storage<Bits, Order, Value>& shared,
  typename Partition::shared_storage& room,
  BucketOf const& bucket_of,
  wave_tiles const& tiles,
  std::uint32_t number,
  buffers<Bits, Value> const& at,
  std::uint32_t seen)
{
  constexpr bool keeps_order = Partition::with_values || Order::may_lose;
  std::uint32_t const begin  = number * static_cast<std::uint32_t>(tiles.tile);
  int const size             = tiles.size(number);
  seen_source<Bits, Order, Value> source{
    {at.keys[0] + begin, at.values[0] + begin}, bucket_of.order, begin + static_cast<std::uint32_t>(size) == tiles.n};
  block::bucket_place const place = Partition::template order_tile<keeps_order>(
    room, bucket_of, source, size, at.keys[1] + begin, at.values[1] + begin);
  if (threadIdx.x < radix_size)
  {
    tiles.starts[number * radix_size + threadIdx.x] = static_cast<std::uint16_t>(place.start);
  }
  seen |= block::or_of_warp(source.seen);
  if (threadIdx.x % 32 == 0)
  {
    atomicOr(&shared.seen, seen);
  }
  __syncthreads();
  if (threadIdx.x == 0)
  {
    tiles.seen[number] = shared.seen;
    shared.seen        = 0;
  }
}

/// The same with buckets between the splitters that have been chosen, out of line.
template <class Bits, class Order, class Value>
__device__ __noinline__ void
order_tile_to_split(Order order, wave_tiles tiles, std::uint32_t number, buffers<Bits, Value> at, std::uint32_t seen)
{
  using storage = tile_storage<Bits, Order, Value>;
  auto& shared  = block::dynamic_shared<storage>();
  if (number == 0 && threadIdx.x < radix_size / 32)
  {
    tiles.repeats[threadIdx.x] = shared.tree.repeats[threadIdx.x];
  }
  wave_bucket_between<Bits, Order> const bucket_of{order, shared.tree};
  order_tile_of_wave<typename storage::splitter_partition>(
    shared, shared.tile_to_split, bucket_of, tiles, number, at, seen);
}

/// Puts each tile in the order of its buckets, into the second arrays, and looks whether the input is in order.
/// Grid: a block for each tile, of which those from number wave_blocks on leave theirs to others where equal width will not do. Block: wave_threads. Shared:
/// tile_storage.
/// `ask(order, tiles, keys)`, called by all threads with all keys, returns what else is seen of them, by all threads of the block together, and may find
/// the order: the same in all blocks. Ask::asks: whether that is anything.
/// After: `tiles` is complete, `tiles.repeats` if buckets are between splitters, and `cleared` is. If the sample is uneven, or the comparator does not follow the values, only
/// `tiles.seen` means anything, and nothing has been moved.
template <class Bits, class Order, class Value, class Ask>
__global__ void __launch_bounds__(wave_threads) order_in_tiles(
  Order order, wave_tiles tiles, wave_limits limits, cleared_words cleared, buffers<Bits, Value> at, Ask ask)
{
  using storage = tile_storage<Bits, Order, Value>;
  extern __shared__ uint4 shared_words[];
  auto& shared = *reinterpret_cast<storage*>(shared_words);

  if (threadIdx.x < radix_size)
  {
    shared.of_sample[threadIdx.x] = 0;
  }
  if (threadIdx.x == 0)
  {
    shared.seen = 0;
  }
  __syncthreads();
  runtime::wait_for_previous_kernel();
  cleared.clear();
  std::uint32_t seen = ask(order, tiles, at.keys[0]);
  wave_bucket_of<Bits, Order> bucket_of{order, {}};
  if ((seen & seen::no_value_order) != seen::no_value_order)
  {
    wave_sample sample{};
    if (!map_wave(shared, at.keys[0], tiles.n, limits, bucket_of, sample))
    {
      // Splitters take long to choose: who has chosen them also has the tile of a block that begins when others have ended.
      if (blockIdx.x >= wave_blocks)
      {
        return;
      }
      bool const is_worth_it =
        limits.splitter_samples > 0
        && is_worth_splitters(sample, tiles.n, limits.capacity, Ask::asks, limits.crowded_soon, !Order::tells_keys);
      if (is_worth_it && split_wave<Bits, Order, Value>(at.keys[0], tiles.n, order, limits))
      {
#pragma unroll 1
        for (std::uint32_t number = blockIdx.x; number < tiles.count; number += wave_blocks)
        {
          order_tile_to_split<Bits, Order, Value>(order, tiles, number, at, seen | seen::splitters);
          __syncthreads();
        }
        return;
      }
      seen |= seen::uneven;
    }
  }
  if (!may_be_sorted(seen))
  {
#pragma unroll 1
    for (std::uint32_t number = blockIdx.x; number < tiles.count; number += wave_blocks)
    {
      if (threadIdx.x == 0)
      {
        tiles.seen[number] = seen;
      }
      if (threadIdx.x < radix_size)
      {
        tiles.starts[number * radix_size + threadIdx.x] = 0; // find_in_wave reads them before it knows
      }
    }
    return;
  }
  order_tile_of_wave<typename storage::partition>(shared, shared.tile, bucket_of, tiles, blockIdx.x, at, seen);
}

/// How a block of `Threads` sorts a bucket of up to `Most` elements: of records by short tokens, as shared memory has no room for as many long ones.
template <class Bits, class Order, class Value, int Threads, int Most>
using wave_sort = std::conditional_t<
  is_staged_in_wave(sizeof(Bits), !Order::tells_keys),
  block::staged_bin_sort<Bits,
                         Value,
                         Order,
                         Threads,
                         Most,
                         block::full_bins::split,
                         Order::tells_keys ? block::token_width::as_needed : block::token_width::always_short>,
  block::sort_by_bins<Bits, Value, Order, Threads, Most / Threads, block::full_bins::split>>;

/// Where a bucket of a wave belongs, and what has been seen of all keys.
struct wave_bucket
{
  std::uint32_t begin; // in the sorted order
  std::uint32_t size;
  std::uint32_t seen;
};

struct wave_bucket_storage
{
  static constexpr int warps = most_wave_tiles / 32;

  std::uint32_t begins[warps];
  std::uint32_t sizes[warps];
  std::uint32_t seen[warps];
};

/// For kernels whose blocks sort together or not at all (merge/in_wave.cuh). Not static, because what is called out of line expects dynamic
/// shared memory at the same place in every kernel.
struct wave_vote_storage
{
  std::uint32_t filled[radix_size / 32]; // a bit for each bucket that is not empty
  bool answer;
};

/// Adds up what the tiles have of a bucket, and of those in front of it. Called by all threads of a block.
__device__ inline wave_bucket
find_in_wave(wave_bucket_storage& shared, wave_tiles const& tiles, block::segment_tiles const& runs, unsigned bucket)
{
  static_assert(most_wave_tiles <= wave_sort_threads);
  std::uint32_t begin = 0, end = 0, seen = 0;
  if (threadIdx.x < tiles.count)
  {
    begin = runs.run(threadIdx.x, bucket, bucket + 1, end);
    seen  = tiles.seen[threadIdx.x];
  }
  unsigned const warp               = threadIdx.x / 32;
  std::uint32_t const begin_of_warp = block::sum_of_warp(begin);
  std::uint32_t const size_of_warp  = block::sum_of_warp(end - begin);
  std::uint32_t const seen_by_warp  = block::or_of_warp(seen);
  if (warp < wave_bucket_storage::warps && threadIdx.x % 32 == 0)
  {
    shared.begins[warp] = begin_of_warp;
    shared.sizes[warp]  = size_of_warp;
    shared.seen[warp]   = seen_by_warp;
  }
  __syncthreads();
  wave_bucket all{};
  int const warps = static_cast<int>(tiles.count + 31) / 32;
#pragma unroll 4
  for (int w = 0; w < warps; ++w)
  {
    all.begin += shared.begins[w];
    all.size += shared.sizes[w];
    all.seen |= shared.seen[w];
  }
  return all;
}

/// The part that a block has of a bucket, of one key if there are several. A key that is k splitters leaves k - 1 buckets, of which the first has all of its elements
/// and the others none: their blocks share the elements.
struct part_of_equals
{
  unsigned first; // bucket: the one that has them
  unsigned number; // of the part
  unsigned count; // of parts; 0: the bucket is not such a one

  /// Of a bucket of `size` elements, the first of a part.
  __device__ std::uint32_t begin_of(unsigned number, std::uint32_t size) const
  {
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(size) * number / count);
  }
};

/// Whether `bucket` is part of one, as splitters say. Called by all threads, who get the same answer.
__device__ inline part_of_equals equals_in_wave(wave_tiles const& tiles, unsigned bucket)
{
  auto const is_of_equals = [&](unsigned b) {
    return b > 0 && b < radix_size && (tiles.repeats[(b - 1) / 32] >> (b - 1) % 32 & 1u) != 0;
  };
  if (!is_of_equals(bucket))
  {
    return {};
  }
  unsigned first = bucket, behind = bucket + 1;
  while (is_of_equals(first - 1))
  {
    --first;
  }
  while (is_of_equals(behind))
  {
    ++behind;
  }
  return {first, bucket - first, behind - first};
}

/// Where the elements of a bucket lie: those of a tile begin with number numbers[tile], and number i is from[tile] + i.
struct equals_storage
{
  std::uint32_t numbers[most_wave_tiles];
  std::uint32_t from[most_wave_tiles];
  block::warp_sums<std::uint32_t, most_wave_tiles> sums;

  /// Called by all threads of a block; a barrier has to follow.
  __device__ void list(wave_tiles const& tiles, block::segment_tiles const& runs, unsigned bucket)
  {
    std::uint32_t begin = 0, end = 0;
    if (threadIdx.x < tiles.count)
    {
      begin = runs.run(threadIdx.x, bucket, bucket + 1, end);
    }
    std::uint32_t const number = block::exclusive_sum<most_wave_tiles>(sums, end - begin);
    if (threadIdx.x < most_wave_tiles)
    {
      numbers[threadIdx.x] = number;
      from[threadIdx.x]    = threadIdx.x * static_cast<std::uint32_t>(tiles.tile) + begin - number;
    }
  }

  __device__ std::uint32_t place_of(std::uint32_t number) const
  {
    unsigned tile = 0; // the last that begins with that number or before it
#pragma unroll
    for (unsigned step = most_wave_tiles / 2; step > 0; step /= 2)
    {
      tile += numbers[tile + step] <= number ? step : 0;
    }
    return from[tile] + number;
  }
};

/// How a block sorts what bins do not, if it can: records are left to others.
template <class Bits, class Order, class Value, int Threads, int Items, bool Sorts = Order::tells_keys>
struct crowded_in_wave
{
  using sorter  = block::bin_sort<Bits, Value, Order, Threads, Items, block::full_bins::split>;
  using storage = typename sorter::binless_storage;
};
template <class Bits, class Order, class Value, int Threads, int Items>
struct crowded_in_wave<Bits, Order, Value, Threads, Items, false>
{
  struct storage
  {};
};

/// The second of two sorted neighbours, while they are merged, and where its keys go.
template <class Bits, int Most>
struct neighbour_storage
{
  Bits keys[Most];
  std::uint16_t places[Most];
};
template <class Bits>
struct neighbour_storage<Bits, 0>
{};

template <class Bits, class Order, class Value, int Threads>
struct wave_sort_storage
{
  static constexpr int most = most_in_wave_bucket_v<Bits, Order, Value, Threads>;
  static constexpr int most_short =
    Order::tells_keys ? Threads * short_wave_sort_items(sizeof(Bits), value_bytes_v<Value>) : most;
  static constexpr int most_too_many = most_too_many_in_wave(most, value_bytes_v<Value>, !Order::tells_keys);
  static_assert(most + most_too_many < 1 << 16, "places have 16 bits");

  using sorter       = wave_sort<Bits, Order, Value, Threads, most>;
  using short_sorter = wave_sort<Bits, Order, Value, Threads, most_short>;
  using source       = block::run_source<Bits, Value, Threads, most>;
  using without_bins = crowded_in_wave<Bits, Order, Value, Threads, most / Threads>;

  union
  {
    typename sorter::shared_storage sort;
    typename short_sorter::shared_storage sort_short;
    typename without_bins::storage crowded;
    equals_storage equals;
    neighbour_storage<Bits, most_too_many> neighbour;
  };
  typename source::shared_storage runs;
  Bits first_key;
  wave_bucket_storage bucket;
  wave_vote_storage vote;
};

/// Finds out whether `bucket` is one of those that a repeated splitter leaves; if so, lists the elements of the first of them, and `where` says where
/// they belong. Called by all threads of a block, a barrier since.
template <class Bits, class Order, class Value, int Threads>
__device__ __noinline__ part_of_equals list_equals(wave_tiles tiles, unsigned bucket, wave_bucket& where)
{
  part_of_equals const part = equals_in_wave(tiles, bucket);
  if (part.count > 0)
  {
    auto& shared                    = block::dynamic_shared<wave_sort_storage<Bits, Order, Value, Threads>>();
    block::segment_tiles const runs = tiles.runs();
    where                           = find_in_wave(shared.bucket, tiles, runs, part.first);
    shared.equals.list(tiles, runs, part.first);
    __syncthreads();
  }
  return part;
}

/// Whether `agrees` that a part of the elements of a bucket that has nothing but one rank are in order as they are, when they have been listed: as far
/// as this thread is asked. Called by all threads of a block.
template <class Bits, class Order, class Value, int Threads, class Agrees>
__device__ __noinline__ bool
are_equals_in_order(part_of_equals part, wave_bucket where, Bits const* keys, Agrees agrees)
{
  equals_storage const& listed = block::dynamic_shared<wave_sort_storage<Bits, Order, Value, Threads>>().equals;
  bool are                     = true;
  std::uint32_t const end      = part.begin_of(part.number + 1, where.size);
#pragma unroll 2
  for (std::uint32_t i = part.begin_of(part.number, where.size) + threadIdx.x; i < end; i += Threads)
  {
    are = are && (i == 0 || agrees(keys[listed.place_of(i - 1)], keys[listed.place_of(i)], true));
  }
  return are;
}

/// Brings home a part of the elements of a bucket, when they have been listed: in the order that they are in.
/// Called by all threads of a block.
template <class Bits, class Order, class Value, int Threads>
__device__ __noinline__ void move_equals(part_of_equals part, wave_bucket where, buffers<Bits, Value> at)
{
  equals_storage const& listed = block::dynamic_shared<wave_sort_storage<Bits, Order, Value, Threads>>().equals;
  std::uint32_t const end      = part.begin_of(part.number + 1, where.size);
#pragma unroll 4
  for (std::uint32_t i = part.begin_of(part.number, where.size) + threadIdx.x; i < end; i += Threads)
  {
    std::uint32_t const place   = listed.place_of(i);
    at.keys[0][where.begin + i] = at.keys[1][place];
    if constexpr (!std::is_same_v<Value, block::no_values>)
    {
      at.values[0][where.begin + i] = at.values[1][place];
    }
  }
}

/// Sorts a bucket of up to as many elements as `Sorter` takes from the second arrays to where it belongs in the first ones. As sort_in_wave.
template <class Sorter, class Bits, class Order, class Value, int Threads, class Agrees>
__device__ bool sort_in_wave_by(
  wave_sort_storage<Bits, Order, Value, Threads>& shared,
  typename Sorter::shared_storage& room,
  Order const& order,
  wave_tiles const& tiles,
  unsigned bucket,
  wave_bucket const& where,
  buffers<Bits, Value> const& at,
  Agrees const& agrees)
{
  using source                    = typename wave_sort_storage<Bits, Order, Value, Threads>::source;
  block::segment_tiles const runs = tiles.runs();
  source elements(shared.runs, runs, bucket, bucket + 1, 0, at.keys[1], at.values[1]);
  return block::sort_runs_by_bins<Sorter>(
    room,
    shared.first_key,
    order,
    static_cast<int>(where.size),
    elements,
    at.keys[0] + where.begin,
    std::is_same_v<Value, block::no_values> ? nullptr : at.values[0] + where.begin,
    0,
    agrees);
}

/// The same of a long bucket, out of line.
template <class Bits, class Order, class Value, int Threads, class Agrees>
__device__ __noinline__ bool sort_long_in_wave(
  Order order, wave_tiles tiles, unsigned bucket, wave_bucket where, buffers<Bits, Value> at, Agrees agrees)
{
  using storage = wave_sort_storage<Bits, Order, Value, Threads>;
  auto& shared  = block::dynamic_shared<storage>();
  return sort_in_wave_by<typename storage::sorter>(shared, shared.sort, order, tiles, bucket, where, at, agrees);
}

/// Sorts a bucket of up to most_in_wave_bucket_v elements from the second arrays to where it belongs in the first ones. Returns false, with
/// nothing written, if bins do not sort it, or `agrees` does not. Called by all threads of a block.
template <class Bits, class Order, class Value, int Threads, class Agrees>
__device__ bool sort_in_wave(
  wave_sort_storage<Bits, Order, Value, Threads>& shared,
  Order const& order,
  wave_tiles const& tiles,
  unsigned bucket,
  wave_bucket const& where,
  buffers<Bits, Value> const& at,
  Agrees const& agrees)
{
  using storage = wave_sort_storage<Bits, Order, Value, Threads>;
  if constexpr (storage::most_short < storage::most)
  {
    if (where.size > storage::most_short)
    {
      return sort_long_in_wave<Bits, Order, Value, Threads>(order, tiles, bucket, where, at, agrees);
    }
  }
  return sort_in_wave_by<typename storage::short_sorter>(
    shared, shared.sort_short, order, tiles, bucket, where, at, agrees);
}

/// Merges `first` sorted keys and up to most_too_many sorted ones behind them, in place. Stable. Called by all threads of a block, a barrier since.
template <class Bits, class Order, class Value, int Threads>
__device__ __noinline__ void merge_neighbours(Order order, Bits* keys, std::uint32_t first, std::uint32_t second)
{
  auto& shared = block::dynamic_shared<wave_sort_storage<Bits, Order, Value, Threads>>().neighbour;
  // How many of the sorted keys from `begin` on go before a rank.
  auto const count_before = [&](Bits const* begin, std::uint32_t count, auto goes_before) {
    std::uint32_t low = 0;
#pragma unroll 1
    for (std::uint32_t open = count; open > 0;)
    {
      std::uint32_t const half = open / 2;
      bool const is_before     = goes_before(order.rank_of(begin[low + half]));
      low += is_before ? half + 1 : 0;
      open = is_before ? open - half - 1 : half;
    }
    return low;
  };
#pragma unroll 1
  for (std::uint32_t i = threadIdx.x; i < second; i += Threads)
  {
    Bits const key  = keys[first + i];
    auto const rank = order.rank_of(key);
    shared.keys[i]  = key;
    shared.places[i] =
      static_cast<std::uint16_t>(i + count_before(keys, first, [&](auto other) { return other <= rank; }));
  }
  __syncthreads();
  // The last come first: what they are written over has been read.
  constexpr std::uint32_t at_once = 4;
  std::uint32_t const stays       = second > 0 ? shared.places[0] : first; // all before that
#pragma unroll 1
  for (std::uint32_t end = first; end > stays;)
  {
    std::uint32_t const begin = end - stays > Threads * at_once ? end - Threads * at_once : stays;
    Bits held[at_once];
#pragma unroll
    for (std::uint32_t i = 0; i < at_once; ++i)
    {
      std::uint32_t const place = begin + i * Threads + threadIdx.x;
      held[i]                   = place < end ? keys[place] : Bits{0};
    }
    __syncthreads();
#pragma unroll
    for (std::uint32_t i = 0; i < at_once; ++i)
    {
      std::uint32_t const place = begin + i * Threads + threadIdx.x;
      if (place < end)
      {
        auto const rank = order.rank_of(held[i]);
        keys[place + count_before(shared.keys, second, [&](auto other) { return other < rank; })] = held[i];
      }
    }
    end = begin;
  }
#pragma unroll 1
  for (std::uint32_t i = threadIdx.x; i < second; i += Threads)
  {
    keys[shared.places[i]] = shared.keys[i];
  }
}

/// As sort_in_wave, for what bins do not sort: puts the elements together where they belong, and sorts them there. Of keys alone up to most_too_many more than
/// a block holds, which are sorted apart and merged. Called by all threads of a block, a barrier since.
template <class Bits, class Order, class Value, int Threads>
__device__ __noinline__ void
sort_slowly_in_wave(Order order, wave_tiles tiles, unsigned bucket, wave_bucket where, buffers<Bits, Value> at)
{
  using storage = wave_sort_storage<Bits, Order, Value, Threads>;
  auto& shared  = block::dynamic_shared<storage>();
  shared.equals.list(tiles, tiles.runs(), bucket);
  __syncthreads();
  move_equals<Bits, Order, Value, Threads>({bucket, 0, 1}, where, at);
  __syncthreads();
  Bits* const keys    = at.keys[0] + where.begin;
  Value* const values = at.values[0] + where.begin;
  auto const sort     = [&](std::uint32_t first, std::uint32_t size) {
    storage::without_bins::sorter::sort_without_bins(
      block::shared_address(shared.crowded),
      order,
      static_cast<int>(size),
      {keys + first, values + first},
      keys + first,
      values + first);
  };
  if constexpr (storage::most_too_many > 0)
  {
    constexpr std::uint32_t most = storage::most;
    if (where.size > most)
    {
      sort(most, where.size - most);
      __syncthreads();
      sort(0, most);
      __syncthreads();
      merge_neighbours<Bits, Order, Value, Threads>(order, keys, most, where.size - most);
      return;
    }
  }
  sort(0, where.size);
}

/// Sorts the bucket of the block's number from the second arrays into the first ones.
/// Grid: radix_size. Block: Threads. Shared: wave_sort_storage.
template <class Bits, class Order, class Value, int Threads>
__global__ void __launch_bounds__(Threads, runtime::resident_blocks(Threads, 2 * wave_sort_threads / Threads))
  sort_wave(Order order, wave_tiles tiles, findings<Bits>* found, buffers<Bits, Value> at)
{
  constexpr bool with_values = !std::is_same_v<Value, block::no_values>;
  extern __shared__ uint4 shared_words[];
  auto& shared = *reinterpret_cast<wave_sort_storage<Bits, Order, Value, Threads>*>(shared_words);

  runtime::wait_for_previous_kernel();
  block::segment_tiles const runs = tiles.runs();
  wave_bucket where               = find_in_wave(shared.bucket, tiles, runs, blockIdx.x);
  bool const is_uneven            = (where.seen & seen::uneven) != 0;
  input_order const order_of_input =
    is_uneven ? input_order::none : order_of_seen(where.seen, with_values || (where.seen & seen::twin) != 0);
  if (is_uneven || order_of_input != input_order::none)
  {
    if (blockIdx.x == 0 && threadIdx.x == 0)
    {
      found->decided  = is_uneven ? 0 : 1;
      found->reverses = order_of_input == input_order::reversed ? 1 : 0;
    }
    return;
  }
  if ((where.seen & seen::splitters) != 0)
  {
    __syncthreads();
    wave_bucket of_equals{};
    part_of_equals const part = list_equals<Bits, Order, Value, Threads>(tiles, blockIdx.x, of_equals);
    if (part.count > 0)
    {
      move_equals<Bits, Order, Value, Threads>(part, of_equals, at);
      return;
    }
  }
  constexpr std::uint32_t most = most_in_wave_bucket_v<Bits, Order, Value, Threads>;
  if (where.size > most)
  {
    if (where.size <= most + wave_sort_storage<Bits, Order, Value, Threads>::most_too_many)
    {
      __syncthreads();
      sort_slowly_in_wave<Bits, Order, Value, Threads>(order, tiles, blockIdx.x, where, at);
      return;
    }
    if (threadIdx.x == 0)
    {
      // All are sorted by digits, whatever other blocks do.
      found->in_tiles = 1;
      found->decided  = 0;
    }
    return;
  }
  if (where.size > 0 && !sort_in_wave(shared, order, tiles, blockIdx.x, where, at, block::trusts_ranks{}))
  {
    __syncthreads();
    sort_slowly_in_wave<Bits, Order, Value, Threads>(order, tiles, blockIdx.x, where, at);
  }
}

} // namespace gpusort::radix
