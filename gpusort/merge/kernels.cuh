// The kernels of the merge sort: sort tiles, merge runs pairwise, and, should the comparator have lied, put things back.
#pragma once

#include <gpusort/block/merge.cuh>
#include <gpusort/block/merge_sort.cuh>
#include <gpusort/block/tile.cuh>
#include <gpusort/merge/checks.cuh>
#include <gpusort/merge/tuning.h>
#include <gpusort/runtime/dependency.cuh>
#include <gpusort/runtime/residency.cuh>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::merge
{

template <class Key, class Value>
inline constexpr tile_shape tile_shape_v = tile_shape_for(sizeof(Key), std::is_empty_v<Value> ? 0 : sizeof(Value));

template <class Key, class Value, class Compare>
using tile_sort =
  block::merge_sort<Key, Value, Compare, tile_shape_v<Key, Value>.threads, tile_shape_v<Key, Value>.items>;

/// Sorts every tile on its own, and clears the `check_count` words of `checks`.
/// Grid: a block a tile. Block: the tile's threads. Shared: tile_sort's storage. In and out may be the same arrays.
template <class Key, class Value, class Compare>
__global__ void
__launch_bounds__(tile_shape_v<Key, Value>.threads,
                  runtime::resident_blocks(tile_shape_v<Key, Value>.threads, tile_shape_v<Key, Value>.blocks))
  sort_tiles(Key const* keys_in,
             Key* keys_out,
             Value const* values_in,
             Value* values_out,
             std::size_t n,
             pass_check* checks,
             int check_count,
             Compare comp)
{
  using sorter = tile_sort<Key, Value, Compare>;
  extern __shared__ uint4 shared_words[];
  auto& shared = *reinterpret_cast<typename sorter::shared_storage*>(shared_words);

  runtime::wait_for_previous_kernel();
  if (blockIdx.x == 0 && static_cast<int>(threadIdx.x) < check_count)
  {
    checks[threadIdx.x] = 0;
  }
  std::size_t const begin = static_cast<std::size_t>(blockIdx.x) * sorter::tile;
  int const size          = n - begin < sorter::tile ? static_cast<int>(n - begin) : sorter::tile;
  bool const with_values  = sorter::with_values;
  block::contiguous_source<Key, Value> source{keys_in + begin, with_values ? values_in + begin : nullptr};
  sorter::sort(shared, source, keys_out + begin, with_values ? values_out + begin : nullptr, size, false, comp);
}

template <class Key, class Value>
struct merge_storage
{
  static constexpr int tile    = tile_shape_v<Key, Value>.threads * tile_shape_v<Key, Value>.items;
  static constexpr int threads = tile_shape_v<Key, Value>.threads;
  union
  {
    alignas(16) char keys[sizeof(Key) * (tile + 1)]; // a merge may look one place too far
    alignas(16) char values[sizeof(Value) * (std::is_empty_v<Value> ? 1 : tile)];
  };
  int a_of_warp[threads / 32 + 1]; // where the first thread of each warp began in the first run
};

/// The two runs that are merged where a tile lies.
struct run_pair
{
  std::size_t begin;
  std::size_t a_size;
  std::size_t b_size;

  __device__ run_pair(std::size_t place, std::size_t run, std::size_t n)
      : begin(place / (2 * run) * (2 * run))
      , a_size(n - begin < run ? n - begin : run)
      , b_size(n - begin - a_size < run ? n - begin - a_size : run)
  {}
};

inline constexpr int cut_threads = 128;

/// cuts[t] = how many elements of its pair's first run lie before tile t in the merged order.
/// Grid: cut_threads threads a block, one thread a tile.
template <class Key, class Compare>
__global__ void __launch_bounds__(cut_threads)
  cut_runs(Key const* keys,
           std::size_t n,
           std::size_t run,
           std::size_t tile,
           std::size_t tiles,
           std::size_t* cuts,
           pass_check* checks,
           int pass,
           Compare comp)
{
  runtime::wait_for_previous_kernel();
  std::size_t const t = static_cast<std::size_t>(blockIdx.x) * cut_threads + threadIdx.x;
  if (t < tiles && !failed_before(checks, pass))
  {
    run_pair const pair(t * tile, run, n);
    Key const* const a = keys + pair.begin;
    cuts[t]            = block::merge_path(t * tile - pair.begin, a, pair.a_size, a + pair.a_size, pair.b_size, comp);
  }
}

/// Merges the part of two sorted runs that falls into one tile; false if the comparator contradicted itself.
/// keys: the a_count and then the b_count elements of the two runs, in shared memory; afterwards, merged. source: where
/// this thread's elements, from `diagonal` on, came from.
template <bool Full, class Key, class Value, class Compare, int Items>
__device__ bool merge_tile(
  merge_storage<Key, Value>& shared, int a_count, int size, int diagonal, std::uint16_t (&source)[Items], Compare& comp)
{
  constexpr int threads = merge_storage<Key, Value>::threads;
  Key* const keys       = reinterpret_cast<Key*>(shared.keys);
  int const lane        = static_cast<int>(threadIdx.x) % 32;
  int const warp        = static_cast<int>(threadIdx.x) / 32;
  int const own         = Full || size - diagonal > Items ? Items : size - diagonal;

  int a              = block::merge_path(diagonal, keys, a_count, keys + a_count, size - a_count, comp);
  int const began_at = a;
  Key merged[Items];
  block::serial_merge<Full>(keys, a, a_count, a_count + diagonal - a, size, own, merged, source, comp);

  if (lane == 0)
  {
    shared.a_of_warp[warp] = began_at;
  }
  if (threadIdx.x == 0)
  {
    shared.a_of_warp[threads / 32] = a_count;
  }
  int const next_lane = __shfl_down_sync(~0u, began_at, 1);
  __syncthreads();
#pragma unroll
  for (int i = 0; i < Items; ++i)
  {
    if (Full || i < own)
    {
      keys[diagonal + i] = merged[i];
    }
  }
  // The next thread began where this one ended, or elements are merged twice or not at all.
  return a == (lane < 31 ? next_lane : shared.a_of_warp[warp + 1]);
}

/// A tile of the merge of two runs: where its elements lie, of one run and of the other, and where it goes.
struct merged_tile
{
  std::size_t a_begin;
  std::size_t b_begin;
  std::size_t out;
  int a_count;
  int size;
};

/// Merges a tile. False, for some thread, if the comparator contradicted itself. Called by all threads of a block.
template <class Key, class Value, class Compare>
__device__ bool merge_place(merge_storage<Key, Value>& shared,
                            merged_tile const& at,
                            Key const* keys_in,
                            Key* keys_out,
                            Value const* values_in,
                            Value* values_out,
                            Compare& comp)
{
  constexpr int threads      = tile_shape_v<Key, Value>.threads;
  constexpr int items        = tile_shape_v<Key, Value>.items;
  constexpr int tile         = threads * items;
  constexpr bool with_values = !std::is_empty_v<Value>;

  Key* const keys  = reinterpret_cast<Key*>(shared.keys);
  int const thread = static_cast<int>(threadIdx.x);
  int const size   = at.size;
  auto place_in    = [&](int place) {
    return place < at.a_count ? at.a_begin + place : at.b_begin + (place - at.a_count);
  };

  block::move_tile<threads, items>(size, [&](int place) { return keys_in[place_in(place)]; }, keys);
  __syncthreads();

  int const diagonal = thread * items < size ? thread * items : size;
  std::uint16_t source[items];
  bool const consistent = size == tile ? merge::merge_tile<true>(shared, at.a_count, size, diagonal, source, comp)
                                       : merge::merge_tile<false>(shared, at.a_count, size, diagonal, source, comp);
  __syncthreads();
  block::move_tile<threads, items>(size, [&](int place) { return keys[place]; }, keys_out + at.out);

  if constexpr (with_values)
  {
    Value* const values = reinterpret_cast<Value*>(shared.values);
    Value moved[items];
    block::read_tile<threads>(moved, size, [&](int place) { return values_in[place_in(place)]; });
    __syncthreads();
    block::write_tile<threads>(moved, size, values);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < items; ++i)
    {
      moved[i] = values[diagonal + i < size ? source[i] : 0];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < items; ++i)
    {
      if (diagonal + i < size)
      {
        values[diagonal + i] = moved[i];
      }
    }
    __syncthreads();
    block::move_tile<threads, items>(size, [&](int place) { return values[place]; }, values_out + at.out);
  }
  return consistent;
}

/// Merges neighbouring sorted runs of `run` elements pairwise. `run` is a multiple of the tile.
/// Grid: a block a tile. Block: the tile's threads. Shared: merge_storage.
///
/// A comparator that contradicts itself (NaN under <, say) can make threads disagree about where the runs are cut, and
/// elements would be lost. Every cut is therefore checked, and a pass that fails sets checks[pass]. No later pass then
/// touches anything, so that the source of the failed pass survives: a permutation of the input.
template <class Key, class Value, class Compare>
__global__ void
__launch_bounds__(tile_shape_v<Key, Value>.threads,
                  runtime::resident_blocks(tile_shape_v<Key, Value>.threads, tile_shape_v<Key, Value>.blocks))
  merge_runs(Key const* keys_in,
             Key* keys_out,
             Value const* values_in,
             Value* values_out,
             std::size_t n,
             std::size_t run,
             std::size_t const* cuts,
             pass_check* checks,
             int pass,
             Compare comp)
{
  constexpr int tile = merge_storage<Key, Value>::tile;

  extern __shared__ uint4 shared_words[];
  auto& shared = *reinterpret_cast<merge_storage<Key, Value>*>(shared_words);

  runtime::wait_for_previous_kernel();
  if (failed_before(checks, pass))
  {
    return;
  }

  std::size_t const tile_begin = static_cast<std::size_t>(blockIdx.x) * tile;
  run_pair const pair(tile_begin, run, n);
  std::size_t const total  = pair.a_size + pair.b_size;
  std::size_t const from   = tile_begin - pair.begin;
  std::size_t const to     = from + tile < total ? from + tile : total;
  std::size_t const a_from = from == 0 ? 0 : cuts[blockIdx.x];
  std::size_t const a_to   = to == total ? pair.a_size : cuts[blockIdx.x + std::size_t{1}];
  std::size_t const b_from = from - a_from;
  if (a_to < a_from || to - a_to < b_from)
  {
    if (threadIdx.x == 0)
    {
      checks[pass] = 1;
    }
    return;
  }
  bool const consistent = merge::merge_place(
    shared,
    {pair.begin + a_from,
     pair.begin + pair.a_size + b_from,
     tile_begin,
     static_cast<int>(a_to - a_from),
     static_cast<int>(to - from)},
    keys_in,
    keys_out,
    values_in,
    values_out,
    comp);
  if (!consistent)
  {
    checks[pass] = 1;
  }
}

/// The blocks that recover, of which each takes so many elements, or more if there are most_recover_blocks.
inline constexpr int recover_threads             = 256;
inline constexpr std::size_t recover_items       = 4096;
inline constexpr std::size_t most_recover_blocks = 1024;

/// After the last pass: if a check failed, brings what survives, the source of the first failed pass, to where the
/// result belongs; unless a wave has sorted all before. Grid, block: any.
template <class Key, class Value>
__global__ void
recover(Key* keys,
        Key const* keys_alternate,
        Value* values,
        Value const* values_alternate,
        std::size_t n,
        pass_check const* checks,
        int passes,
        wave_verdict const* wave)
{
  runtime::wait_for_previous_kernel();
  if (is_sorted_by_wave(wave))
  {
    return;
  }
  int failed = 0;
  while (failed < passes && checks[failed] == 0)
  {
    ++failed;
  }
  // The last pass writes to `keys`, and passes take turns: this tells where a pass reads.
  bool const survives_in_alternate = (passes - failed) % 2 != 0;
  if (failed == passes || !survives_in_alternate)
  {
    return;
  }
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += static_cast<std::size_t>(gridDim.x) * blockDim.x)
  {
    keys[i] = keys_alternate[i];
    if constexpr (!std::is_empty_v<Value>)
    {
      values[i] = values_alternate[i];
    }
  }
}

} // namespace gpusort::merge
