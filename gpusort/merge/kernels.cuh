// The kernels of the merge sort: sort tiles, merge a few runs at a time, and, should the comparator have lied, put things back.
#pragma once

#include <gpusort/block/merge.cuh>
#include <gpusort/block/merge_sort.cuh>
#include <gpusort/block/tile.cuh>
#include <gpusort/merge/checks.cuh>
#include <gpusort/merge/natural_order.cuh>
#include <gpusort/merge/runs_in_tile.cuh>
#include <gpusort/merge/tuning.h>
#include <gpusort/runtime/dependency.cuh>
#include <gpusort/runtime/launch.cuh>
#include <gpusort/runtime/residency.cuh>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::merge
{

using block::value_bytes_v;

/// The blocks that sort tiles, and those that merge runs.
template <class Key, class Value>
inline constexpr tile_shape sort_shape_v = sort_shape_for(sizeof(Key), value_bytes_v<Value>);
template <class Key, class Value>
inline constexpr tile_shape merge_shape_v = merge_shape_for(sizeof(Key), value_bytes_v<Value>);

template <class Key, class Value, class Compare>
using tile_sort =
  block::merge_sort<Key, Value, Compare, sort_shape_v<Key, Value>.threads, sort_shape_v<Key, Value>.items>;
template <class Key, class Value, class Compare>
using tile_merge =
  block::merge_sort<Key, Value, Compare, merge_shape_v<Key, Value>.threads, merge_shape_v<Key, Value>.items>;

/// Elements of a first run, which a block sorts, and of a tile, which a block merges.
template <class Key, class Value>
inline constexpr int first_run_v = first_run_for(sizeof(Key), value_bytes_v<Value>);
template <class Key, class Value>
inline constexpr int tile_v = 2 * first_run_v<Key, Value>;

/// Sorts every first run on its own. If the input has been seen to be reversed, undoes that instead, and if it is in order, nothing.
/// Grid: a block a first run. Block: sort_shape_v's threads. Shared: tile_sort's storage. In and out may be the same arrays.
template <class Key, class Value, class Compare>
__global__ void
__launch_bounds__(sort_shape_v<Key, Value>.threads,
                  runtime::resident_blocks(sort_shape_v<Key, Value>.threads, sort_shape_v<Key, Value>.blocks))
  sort_tiles(Key* keys_in,
             Key* keys_out,
             Value* values_in,
             Value* values_out,
             std::size_t n,
             order_seen const* all,
             Compare comp)
{
  using sorter = tile_sort<Key, Value, Compare>;
  extern __shared__ uint4 shared_words[];
  auto& shared = *reinterpret_cast<typename sorter::shared_storage*>(shared_words);

  runtime::wait_for_previous_kernel_only();
  if (!is_to_be_sorted(all))
  {
    merge::undo_reversal(*all, keys_in, values_in, n);
    return;
  }
  constexpr int run = first_run_v<Key, Value>;
  static_assert(run <= sorter::tile);
  std::size_t const begin = static_cast<std::size_t>(blockIdx.x) * run;
  int const size          = n - begin < run ? static_cast<int>(n - begin) : run;
  bool const with_values  = sorter::with_values;
  block::contiguous_source<Key, Value> source{keys_in + begin, with_values ? values_in + begin : nullptr};
  sorter::sort(shared, source, keys_out + begin, with_values ? values_out + begin : nullptr, size, false, comp);
}

/// A group of neighbouring sorted runs, of which 2^log2_runs are merged into one: the one that has element `place` of n.
struct run_group
{
  std::size_t run; // elements, but for the last one of all
  std::size_t begin;
  std::size_t size;

  run_group() = default;
  __device__ run_group(std::size_t place, std::size_t run_size, int log2_runs, std::size_t n)
      : run(run_size)
      , begin(place / (run_size << log2_runs) * (run_size << log2_runs))
      , size(n - begin < run_size << log2_runs ? n - begin : run_size << log2_runs)
  {}

  __device__ std::size_t size_of(std::size_t number) const
  {
    std::size_t const skipped = number * run < size ? number * run : size;
    return size - skipped < run ? size - skipped : run;
  }
};

/// Cuts the runs of a group where a tile begins: cuts[r] = how many elements of the r-th lie before the one with `rank` others before
/// it in the merged order. All lanes of a warp call it, of which cut_lanes neighbours cut together, with the same arguments: those
/// with rank 0 cut nothing. keys: the group's first. probed: room for a key of each lane, in shared memory.
template <class Key, class Value, class Compare>
__device__ void
cut_group(Key* probed, Key const* keys, run_group const& group, std::size_t rank, std::size_t* cuts, Compare& comp)
{
  unsigned const own     = threadIdx.x % cut_lanes / cut_probes; // run
  std::size_t const size = group.size_of(own);
  auto const cut         = [&](auto any) {
    using size_type = decltype(any);
    return static_cast<std::size_t>(block::merge_path_of_lanes<cut_probes, most_runs>(
      probed, static_cast<size_type>(rank), keys, group.run, static_cast<size_type>(size), comp));
  };
  bool const is_large     = !__all_sync(block::all_lanes, group.size <= ~std::uint32_t{0});
  std::size_t const taken = is_large ? cut(std::uint64_t{}) : cut(std::uint32_t{});
  if (rank > 0 && threadIdx.x % cut_probes == 0)
  {
    cuts[own] = taken;
  }
}

inline constexpr int cut_threads = 128;

/// The tiles that a block cuts for.
inline constexpr int cut_tiles = cut_threads / cut_lanes;

/// Cuts the runs of each tile's group where the tile begins: cuts[t x ways], and so on; if there is anything to sort.
/// Grid: a block for cut_tiles tiles. Block: cut_threads.
template <class Key, class Value, class Compare>
__global__ void __launch_bounds__(cut_threads)
  cut_runs(Key const* keys,
           std::size_t n,
           std::size_t run,
           int log2_runs,
           std::size_t tiles,
           std::size_t* cuts,
           pass_check* checks,
           int pass,
           order_seen const* all,
           Compare comp)
{
  constexpr int lanes = cut_lanes;
  __shared__ alignas(16) char probed[sizeof(Key) * cut_threads];
  runtime::wait_for_previous_kernel();
  if (!is_to_be_sorted(all) || failed_before(checks, pass))
  {
    return;
  }
  std::size_t const own   = (static_cast<std::size_t>(blockIdx.x) * cut_threads + threadIdx.x) / lanes;
  std::size_t const t     = own < tiles ? own : tiles - 1;
  std::size_t const place = t * tile_v<Key, Value>;
  run_group const group(place, run, log2_runs, n);
  merge::cut_group<Key, Value>(
    reinterpret_cast<Key*>(probed) + threadIdx.x / 32 * 32,
    keys + group.begin,
    group,
    own < tiles ? place - group.begin : 0,
    cuts + t * most_runs,
    comp);
}

template <class Key, class Value, class Compare>
struct merge_storage
{
  static constexpr tile_shape shape = merge_shape_v<Key, Value>;

  typename tile_merge<Key, Value, Compare>::shared_storage tile;
  runs_in_tile<Key, Value, shape.threads, shape.items, most_runs> runs;
  bool is_possible; // the cuts go together
};

/// Merges what a group has of the tile of `Tile` elements that begins at `place`; cuts: the tile's own, and those of the next one behind them.
/// False, for all threads, if the comparator contradicted itself; then nothing is written. Called by all threads of a block.
template <int Tile, class Key, class Value, class Compare>
__device__ bool merge_place(
  merge_storage<Key, Value, Compare>& shared,
  run_group const& group,
  int log2_runs,
  std::size_t place,
  std::size_t const* cuts,
  Key const* keys_in,
  Key* keys_out,
  Value const* values_in,
  Value* values_out,
  Compare& comp)
{
  using sorter        = tile_merge<Key, Value, Compare>;
  constexpr auto ways = static_cast<std::uint32_t>(most_runs);
  constexpr auto tile = static_cast<std::size_t>(Tile);
  static_assert(Tile <= tile_v<Key, Value>);
  bool const is_last       = group.size - (place - group.begin) <= tile; // of the group
  std::uint32_t const lane = threadIdx.x;
  if (lane < 32)
  {
    // A lane has a run.
    std::size_t const from = lane >= ways || place == group.begin ? 0 : cuts[lane];
    std::size_t const to   = lane >= ways ? 0 : is_last ? group.size_of(lane) : cuts[ways + lane];
    bool const are_cuts    = __all_sync(block::all_lanes, from <= to && to - from <= tile) != 0;
    bool const do_fit      = shared.runs.note(
      keys_in, values_in, group.begin + lane * group.run + from, are_cuts ? static_cast<std::uint32_t>(to - from) : 0);
    if (lane == 0)
    {
      shared.is_possible = are_cuts && do_fit;
    }
  }
  __syncthreads();
  if (!shared.is_possible)
  {
    return false;
  }
  auto const listed = shared.runs.listed(log2_runs);
  return sorter::template merge<true>(
    shared.tile,
    shared.runs,
    listed,
    keys_out + place,
    sorter::with_values ? values_out + place : nullptr,
    shared.runs.size(),
    comp,
    block::look_at_nothing{});
}

/// Merges groups of 2^log2_runs neighbouring sorted runs of `run` elements, which are whole tiles. What a tile has of one run alone is
/// only moved. Does nothing if there is nothing to sort.
/// Grid: a block a tile. Block: merge_shape_v's threads. Shared: merge_storage.
///
/// A comparator that contradicts itself (NaN under <, say) can make threads disagree about where the runs are cut, and
/// elements would be lost. Every cut is therefore checked, and a pass that fails sets checks[pass]. No later pass then
/// touches anything, so that the source of the failed pass survives: a permutation of the input.
template <class Key, class Value, class Compare>
__global__ void
__launch_bounds__(merge_shape_v<Key, Value>.threads,
                  runtime::resident_blocks(merge_shape_v<Key, Value>.threads, merge_shape_v<Key, Value>.blocks))
  merge_runs(Key const* keys_in,
             Key* keys_out,
             Value const* values_in,
             Value* values_out,
             std::size_t n,
             std::size_t run,
             int log2_runs,
             std::size_t const* cuts,
             pass_check* checks,
             int pass,
             order_seen const* all,
             Compare comp)
{
  extern __shared__ uint4 shared_words[];
  auto& shared = *reinterpret_cast<merge_storage<Key, Value, Compare>*>(shared_words);

  runtime::wait_for_previous_kernel_only();
  if (!is_to_be_sorted(all) || failed_before(checks, pass))
  {
    return;
  }
  std::size_t const place           = static_cast<std::size_t>(blockIdx.x) * tile_v<Key, Value>;
  std::size_t const* const own_cuts = cuts + static_cast<std::size_t>(blockIdx.x) * most_runs;
  run_group const group(place, run, log2_runs, n);
  bool const is_consistent = merge::merge_place<tile_v<Key, Value>>(
    shared, group, log2_runs, place, own_cuts, keys_in, keys_out, values_in, values_out, comp);
  if (!is_consistent && threadIdx.x == 0)
  {
    checks[pass] = 1;
  }
}

/// The blocks that recover, of which each takes so many elements, or more if there are most_recover_blocks.
inline constexpr int recover_threads             = 256;
inline constexpr std::size_t recover_items       = 4096;
inline constexpr std::size_t most_recover_blocks = 1024;

/// After the last pass: if a check failed, brings what survives, the source of the first failed pass, to where the
/// result belongs. Called by all threads of `blocks` blocks, of which this is number `own`.
template <class Key, class Value>
__device__ void bring_back(
  Key* keys,
  Key const* keys_alternate,
  Value* values,
  Value const* values_alternate,
  std::size_t n,
  pass_check const* checks,
  int passes,
  std::size_t own,
  std::size_t blocks)
{
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
  for (std::size_t i = own * blockDim.x + threadIdx.x; i < n; i += blocks * blockDim.x)
  {
    keys[i] = keys_alternate[i];
    if constexpr (!std::is_empty_v<Value>)
    {
      values[i] = values_alternate[i];
    }
  }
}

/// The same in a launch of its own. Grid, block: any.
template <class Key, class Value>
__global__ void recover(Key* keys,
                        Key const* keys_alternate,
                        Value* values,
                        Value const* values_alternate,
                        std::size_t n,
                        pass_check const* checks,
                        int passes)
{
  runtime::wait_for_previous_kernel();
  merge::bring_back(keys, keys_alternate, values, values_alternate, n, checks, passes, blockIdx.x, gridDim.x);
}

/// Launches `recover` after the last of `passes` passes, whose arrays are `keys` and `values`.
template <class Key, class Value>
void recover_after(cudaStream_t stream,
                   Key* const (&keys)[2],
                   Value* const (&values)[2],
                   std::size_t n,
                   pass_check const* checks,
                   int passes)
{
  std::size_t const blocks = runtime::blocks_for(n, recover_items);
  runtime::launch(
    recover<Key, Value>,
    {blocks < most_recover_blocks ? blocks : most_recover_blocks, recover_threads},
    stream,
    keys[0],
    keys[1],
    values[0],
    values[1],
    n,
    checks,
    passes);
}

} // namespace gpusort::merge
