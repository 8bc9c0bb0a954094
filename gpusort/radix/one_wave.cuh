// Two kernels for inputs of at most one tile a multiprocessor: order_in_tiles puts each tile in the order of its buckets, within the
// tile's own place; sort_wave gathers one bucket a block from all tiles, and sorts it. No histogram pass, no look-back.
// Source: Sintorn and Assarsson, section IV: a split into buckets that blocks can sort, which one sort each follows.
#pragma once

#include <gpusort/block/bin_sort.cuh>
#include <gpusort/block/partition.cuh>
#include <gpusort/block/runs.cuh>
#include <gpusort/block/sort_by_bins.cuh>
#include <gpusort/block/span.cuh>
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

/// Reads the keys of a tile, and looks at each and the next one.
template <class Bits, bool IsFloat, class Value>
struct seen_source
{
  block::contiguous_source<Bits, Value> elements;
  key_order<Bits, IsFloat> const& order;
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
      int const number = (first_row + i) * 32 + lane;
      Bits const rank  = order.rank_of(held[i]);
      Bits next        = block::from_lane_behind(lane == 0 ? order.rank_of(held[i + 1 < N ? i + 1 : i]) : rank);
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

/// A key's bucket.
template <class Bits, bool IsFloat>
struct mapped_bucket
{
  key_order<Bits, IsFloat> const& order;
  key_map_t<Bits, IsFloat> map;

  template <class Holds, int N>
  __device__ void all(Bits const (&keys)[N], Holds, std::uint32_t (&buckets)[N]) const
  {
#pragma unroll
    for (int i = 0; i < N; ++i)
    {
      buckets[i] = map(order, order.rank_of(keys[i]));
    }
  }
};

template <class Bits, bool IsFloat, class Value>
struct tile_storage
{
  using partition = block::partition<Bits, Value, mapped_bucket<Bits, IsFloat>, radix_size, wave_threads, wave_items>;

  typename partition::shared_storage tile;
  block::span_storage<Bits, wave_threads> span;
  std::uint32_t of_sample[radix_size];
  std::uint32_t seen;
};

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

/// Maps ranks to radix_size buckets of equal width by a sample, which is the same for every block: by rank, or else by value. Returns false if the
/// sample says that buckets would not fit a block: one has too much of it. Called by all threads, with of_sample zero, a barrier since.
template <class Bits, bool IsFloat, class Value>
__device__ bool map_wave(
  tile_storage<Bits, IsFloat, Value>& shared, Bits const* keys, std::uint32_t n, mapped_bucket<Bits, IsFloat>& buckets)
{
  // Each thread samples keys side by side: they share a sector of memory, so that more of them cost no more traffic.
  constexpr std::uint32_t each = wave_samples;
  std::uint32_t const stride   = n / wave_threads - each; // at least 1
  std::uint32_t const first    = threadIdx.x * (stride + each) + threadIdx.x * 61 % stride; // as in map_by_sample
  Bits ranks[each];
#pragma unroll
  for (std::uint32_t i = 0; i < each; ++i)
  {
    ranks[i] = keys[first + i];
  }
  Bits least = static_cast<Bits>(~Bits{0}), greatest = 0;
#pragma unroll
  for (std::uint32_t i = 0; i < each; ++i)
  {
    ranks[i] = buckets.order.rank_of(ranks[i]);
    least    = ranks[i] < least ? ranks[i] : least;
    greatest = greatest < ranks[i] ? ranks[i] : greatest;
  }
  block::span_of_block(shared.span, least, greatest);
  auto const fits = [&](auto const& map) {
    std::uint32_t most = 0; // in one bucket, less one
    std::uint32_t last = radix_size;
#pragma unroll
    for (std::uint32_t i = 0; i < each; ++i)
    {
      // A run of neighbours in one bucket counts once: neighbours are often alike where others are not.
      std::uint32_t const bucket = map(buckets.order, ranks[i]);
      std::uint32_t const others = bucket != last ? atomicAdd(&shared.of_sample[bucket], 1u) : 0;
      most                       = most < others ? others : most;
      last                       = bucket;
    }
    return __syncthreads_or(most >= most_in_wave_sample(n)) == 0;
  };
  auto const ranks_map = bucket_map<Bits>::over(least, greatest, digit_bits);
  buckets.map          = ranks_map;
  if (fits(ranks_map) || least == greatest)
  {
    return true;
  }
  if constexpr (has_value_map_v<Bits, IsFloat>)
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

/// Whether what has been seen of some keys leaves it possible that one wave sorts all.
__device__ inline bool may_be_sorted(std::uint32_t seen)
{
  return (seen & seen::uneven) == 0 && (seen & seen::no_value_order) != seen::no_value_order;
}

/// For sorts that know the order of keys: nothing else is looked for in a tile.
struct sees_nothing_else
{
  template <class Bits>
  __device__ std::uint32_t operator()(Bits const*, int) const
  {
    return 0;
  }
};

/// Puts each tile in the order of its buckets, into the second arrays, and looks whether the input is in order.
/// Grid: a block for each tile. Block: wave_threads. Shared: tile_storage.
/// `ask(keys, size)`, called by all threads with the keys of the tile, returns what else is seen of them, by all threads together.
/// After: `tiles` is complete, and `cleared` is. If the sample is uneven, or the comparator does not follow the values, only
/// `tiles.seen` means anything, and nothing has been moved.
template <class Bits, bool IsFloat, class Value, class Ask>
__global__ void __launch_bounds__(wave_threads) order_in_tiles(
  key_order<Bits, IsFloat> order, wave_tiles tiles, cleared_words cleared, buffers<Bits, Value> at, Ask ask)
{
  using storage              = tile_storage<Bits, IsFloat, Value>;
  using partition            = typename storage::partition;
  constexpr bool with_values = partition::with_values;
  constexpr bool keeps_order = with_values || IsFloat;
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
  std::uint32_t const begin = blockIdx.x * static_cast<std::uint32_t>(tiles.tile);
  int const size            = tiles.size(blockIdx.x);
  std::uint32_t seen        = ask(at.keys[0] + begin, size);
  mapped_bucket<Bits, IsFloat> bucket_of{order, {}};
  if ((seen & seen::no_value_order) != seen::no_value_order && !map_wave(shared, at.keys[0], tiles.n, bucket_of))
  {
    seen |= seen::uneven;
  }
  if (!may_be_sorted(seen))
  {
    if (threadIdx.x == 0)
    {
      tiles.seen[blockIdx.x] = seen;
    }
    if (threadIdx.x < radix_size)
    {
      tiles.starts[blockIdx.x * radix_size + threadIdx.x] = 0; // find_in_wave reads them before it knows
    }
    return;
  }
  seen_source<Bits, IsFloat, Value> source{
    {at.keys[0] + begin, at.values[0] + begin}, order, begin + static_cast<std::uint32_t>(size) == tiles.n};
  block::bucket_place const place = partition::template order_tile<keeps_order>(
    shared.tile, bucket_of, source, size, at.keys[1] + begin, at.values[1] + begin);
  if (threadIdx.x < radix_size)
  {
    tiles.starts[blockIdx.x * radix_size + threadIdx.x] = static_cast<std::uint16_t>(place.start);
  }
  seen |= block::or_of_warp(source.seen);
  if (threadIdx.x % 32 == 0)
  {
    atomicOr(&shared.seen, seen);
  }
  __syncthreads();
  if (threadIdx.x == 0)
  {
    tiles.seen[blockIdx.x] = shared.seen;
  }
}

/// How a block sorts a bucket.
template <class Bits, bool IsFloat, class Value>
using wave_sort = block::sort_by_bins<Bits, Value, key_order<Bits, IsFloat>, wave_sort_threads, wave_sort_items, true>;

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
#pragma unroll
  for (int w = 0; w < wave_bucket_storage::warps; ++w)
  {
    all.begin += shared.begins[w];
    all.size += shared.sizes[w];
    all.seen |= shared.seen[w];
  }
  return all;
}

template <class Bits, bool IsFloat, class Value>
struct wave_sort_storage
{
  using sorter    = wave_sort<Bits, IsFloat, Value>;
  using source    = block::run_source<Bits, Value, wave_sort_threads, most_in_wave_bucket>;
  using by_digits = block::bin_sort<Bits, Value, key_order<Bits, IsFloat>, wave_sort_threads, wave_sort_items, true>;

  union
  {
    typename sorter::shared_storage sort;
    typename by_digits::digit_storage digits;
  };
  typename source::shared_storage runs;
  Bits first_key;
  wave_bucket_storage bucket;
};

/// Sorts a bucket of up to most_in_wave_bucket elements from the second arrays to where it belongs in the first ones. Returns false, with
/// nothing written, if bins do not sort it, or `agrees` does not. Called by all threads of a block.
template <class Bits, bool IsFloat, class Value, class Agrees>
__device__ bool sort_in_wave(
  wave_sort_storage<Bits, IsFloat, Value>& shared,
  key_order<Bits, IsFloat> const& order,
  block::segment_tiles const& runs,
  unsigned bucket,
  wave_bucket const& where,
  buffers<Bits, Value> const& at,
  Agrees const& agrees)
{
  using storage = wave_sort_storage<Bits, IsFloat, Value>;
  using source  = typename storage::source;
  source elements(shared.runs, runs, bucket, bucket + 1, 0, at.keys[1], at.values[1]);
  constexpr bool with_values = !std::is_same_v<Value, block::no_values>;
  return block::sort_runs_by_bins<typename storage::sorter>(
    shared.sort,
    shared.first_key,
    order,
    static_cast<int>(where.size),
    elements,
    at.keys[0] + where.begin,
    with_values ? at.values[0] + where.begin : nullptr,
    agrees);
}

/// The same for what bins have not sorted: puts the elements together where they belong, and sorts them there digit by digit. Called by
/// all threads of a block, a barrier since.
template <class Bits, bool IsFloat, class Value>
__device__ void sort_slowly_in_wave(
  wave_sort_storage<Bits, IsFloat, Value>& shared,
  key_order<Bits, IsFloat> const& order,
  block::segment_tiles const& runs,
  unsigned bucket,
  wave_bucket const& where,
  buffers<Bits, Value> const& at)
{
  using source = typename wave_sort_storage<Bits, IsFloat, Value>::source;
  source elements(shared.runs, runs, bucket, bucket + 1, 0, at.keys[1], at.values[1]);
  int const size          = static_cast<int>(where.size);
  constexpr int at_once   = 4;
  auto const put_together = [&](auto* to, auto load) {
#pragma unroll 1
    for (int first = 0; first < size; first += wave_sort_threads * at_once)
    {
      std::remove_pointer_t<decltype(to)> held[at_once];
      elements.finish_load();
      load(held, (first + static_cast<int>(threadIdx.x)) / 32);
      block::write_tile<wave_sort_threads>(held, size - first, to + first);
    }
  };
  constexpr int warps = wave_sort_threads / 32;
  put_together(at.keys[0] + where.begin,
               [&](auto& held, int row) { elements.template load_keys<warps>(held, size, row); });
  if constexpr (!std::is_same_v<Value, block::no_values>)
  {
    put_together(at.values[0] + where.begin,
                 [&](auto& held, int row) { elements.template load_values<warps>(held, size, row); });
  }
  __syncthreads();
  Bits* const keys    = at.keys[0] + where.begin;
  Value* const values = at.values[0] + where.begin;
  wave_sort_storage<Bits, IsFloat, Value>::by_digits::sort_by_digits(
    shared.digits, order, static_cast<int>(where.size), {keys, values}, keys, values);
}

/// Sorts the bucket of the block's number from the second arrays into the first ones.
/// Grid: radix_size. Block: wave_sort_threads. Shared: wave_sort_storage.
template <class Bits, bool IsFloat, class Value>
__global__ void __launch_bounds__(wave_sort_threads, runtime::resident_blocks(wave_sort_threads, 2))
  sort_wave(key_order<Bits, IsFloat> order, wave_tiles tiles, findings<Bits>* found, buffers<Bits, Value> at)
{
  constexpr bool with_values = !std::is_same_v<Value, block::no_values>;
  extern __shared__ uint4 shared_words[];
  auto& shared = *reinterpret_cast<wave_sort_storage<Bits, IsFloat, Value>*>(shared_words);

  runtime::wait_for_previous_kernel();
  block::segment_tiles const runs = tiles.runs();
  wave_bucket const where         = find_in_wave(shared.bucket, tiles, runs, blockIdx.x);
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
  if (where.size > most_in_wave_bucket)
  {
    if (threadIdx.x == 0)
    {
      // All are sorted by digits, whatever other blocks do.
      found->in_tiles = 1;
      found->decided  = 0;
    }
    return;
  }
  if (where.size > 0 && !sort_in_wave(shared, order, runs, blockIdx.x, where, at, block::trusts_ranks{}))
  {
    __syncthreads();
    sort_slowly_in_wave(shared, order, runs, blockIdx.x, where, at);
  }
}

} // namespace gpusort::radix
