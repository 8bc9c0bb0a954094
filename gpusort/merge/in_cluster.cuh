// Merge sort of what one block cannot hold and the blocks of a cluster can: each sorts a tile, and then they merge runs in pairs,
// of which each block gets a part of its tile's size, in shared memory.
#pragma once

#include <gpusort/block/merge.cuh>
#include <gpusort/block/merge_sort.cuh>
#include <gpusort/block/tile.cuh>
#include <gpusort/merge/tuning.h>
#include <gpusort/runtime/cluster.cuh>
#include <gpusort/runtime/dependency.cuh>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::merge
{

template <class Key, class Value, class Compare>
struct cluster_storage
{
  static constexpr bool with_values = !std::is_empty_v<Value>;
  static constexpr many_way_shape shape =
    many_way_shape_for(sizeof(Key), with_values ? sizeof(Value) : 0, input_class::tiny);
  static constexpr int threads = shape.threads;
  static constexpr int items   = shape.sort_items;
  static constexpr int tile    = threads * items;
  using place                  = std::uint16_t; // in the input
  using sorter = block::merge_sort<Key, std::conditional_t<with_values, place, Value>, Compare, threads, items>;
  static_assert((tile & (tile - 1)) == 0 && tile * most_cluster_blocks <= 65536);

  // Rounds take turns: each reads what the one before has merged.
  typename sorter::shared_storage sorted[2];
  place origins[2][with_values ? tile : 1]; // of what is sorted
  place unsorted[with_values ? tile : 1];
  int cuts[2][2]; // of the first run, in front of the block's part and behind it
  bool is_lost; // some block of the cluster has seen the comparator contradict itself

  __device__ Key* keys(int turn)
  {
    return sorter::keys_of(sorted[turn]); // which move, and have no gaps between them
  }
};

/// Merges this block's part of two runs of up to `run` elements, from sorted[turn] of the blocks that have them to its own of the
/// next turn: `size` > 0 elements from place `begin` on of n. False, for all threads, if the comparator has contradicted itself:
/// those are then some of the elements. Called by all threads of a block; all blocks are done with their parts of the runs.
template <class Key, class Value, class Compare>
__device__ bool merge_part_in_cluster(
  cluster_storage<Key, Value, Compare>& shared, int turn, int run, int begin, int size, int n, Compare& comp)
{
  using storage         = cluster_storage<Key, Value, Compare>;
  constexpr int threads = storage::threads;
  constexpr int items   = storage::items;
  constexpr int tile    = storage::tile;
  int const next        = turn ^ 1;
  int const a_begin     = begin & -(2 * run);
  int const b_begin     = a_begin + run < n ? a_begin + run : n;
  int const b_size      = n - b_begin < run ? n - b_begin : run;
  auto const block_of   = [](int place) { return static_cast<unsigned>(place / tile); };
  auto const key_at     = [&](int place) -> Key const& {
    return runtime::in_block(shared.keys(turn), block_of(place))[place % tile];
  };

  int const warp = static_cast<int>(threadIdx.x) / 32;
  if (warp < 2)
  {
    int const cut = block::merge_path_of_warp(
      begin - a_begin + (warp == 0 ? 0 : size),
      [&](int number) { return key_at(a_begin + number); },
      b_begin - a_begin,
      [&](int number) { return key_at(b_begin + number); },
      b_size,
      comp);
    if (threadIdx.x % 32 == 0)
    {
      shared.cuts[next][warp] = cut;
    }
  }
  __syncthreads();
  int const a_first      = a_begin + shared.cuts[next][0];
  int const a_count      = shared.cuts[next][1] - shared.cuts[next][0];
  int const b_first      = b_begin + begin - a_first;
  bool const is_possible = a_count >= 0 && a_count <= size;
  auto const place_in    = [&](int place) {
    return !is_possible ? begin + place : place < a_count ? a_first + place : b_first + (place - a_count);
  };
  block::move_tile<threads, items>(size, [&](int place) { return key_at(place_in(place)); }, shared.keys(next));
  if (threadIdx.x == 0)
  {
    storage::sorter::fill_behind(shared.sorted[next], size);
  }
  if constexpr (storage::with_values)
  {
    block::move_tile<threads, items>(
      size,
      [&](int place) {
        int const from = place_in(place);
        return runtime::in_block(shared.origins[turn], block_of(from))[from % tile];
      },
      shared.unsorted);
  }
  __syncthreads();
  bool const is_merged =
    storage::sorter::sort_in_shared(shared.sorted[next], block::two_runs{is_possible ? a_count : 0, size}, comp);
  if constexpr (storage::with_values)
  {
    block::move_tile<threads, items>(
      size, [&](int place) { return shared.unsorted[shared.sorted[next].origin[place]]; }, shared.origins[next]);
  }
  return is_possible && is_merged;
}

/// Whether this block and the next one have cut runs differently between them, in the round that made sorted runs of `run`. All
/// threads may ask, and the first one is told.
template <class Key, class Value, class Compare>
__device__ bool is_cut_twice(cluster_storage<Key, Value, Compare> const& shared, int turn, int run, int begin, int n)
{
  constexpr int tile = cluster_storage<Key, Value, Compare>::tile;
  int const end      = begin + tile;
  return threadIdx.x == 0 && run > tile && end < n && end % run != 0
      && shared.cuts[turn][1] != runtime::in_block(shared.cuts[turn], static_cast<unsigned>(end / tile))[0];
}

/// Sorts n elements where they are. Stable. If the comparator contradicts itself, they are left as they are.
/// Grid: one cluster of 2^k > 1 blocks, with tile < n <= tile x blocks. Block: cluster_storage's threads. Shared:
/// cluster_storage.
template <class Key, class Value, class Compare>
__global__ void __launch_bounds__(cluster_storage<Key, Value, Compare>::threads)
  sort_in_cluster(Key* keys, Value* values, int n, Compare comp)
{
  using storage              = cluster_storage<Key, Value, Compare>;
  using place_in_input       = typename storage::place;
  constexpr int threads      = storage::threads;
  constexpr int items        = storage::items;
  constexpr int tile         = storage::tile;
  constexpr bool with_values = storage::with_values;
  extern __shared__ uint4 shared_words[];
  auto& shared = *reinterpret_cast<storage*>(shared_words);

  runtime::wait_for_previous_kernel();
  unsigned const own = runtime::block_of_cluster();
  int const begin    = static_cast<int>(own) * tile;
  int const size     = n < begin ? 0 : n - begin < tile ? n - begin : tile;
  if (threadIdx.x == 0)
  {
    shared.is_lost = false;
  }
  block::move_tile<threads, items>(size, [&](int place) { return keys[begin + place]; }, shared.keys(0));
  __syncthreads();
  bool is_lost = !storage::sorter::sort_in_shared(shared.sorted[0], block::runs_of_threads<items>{size}, comp);
  if constexpr (with_values)
  {
    block::move_tile<threads, items>(
      size,
      [&](int place) { return static_cast<place_in_input>(begin + shared.sorted[0].origin[place]); },
      shared.origins[0]);
  }
  int turn = 0;
  int run  = tile;
  for (; run < n; run *= 2, turn ^= 1)
  {
    runtime::sync_cluster();
    is_lost = is_lost || merge::is_cut_twice(shared, turn, run, begin, n);
    if (size > 0 && !merge::merge_part_in_cluster(shared, turn, run, begin, size, n, comp))
    {
      is_lost = true;
    }
  }
  runtime::sync_cluster();
  is_lost = is_lost || merge::is_cut_twice(shared, turn, run, begin, n);
  for (unsigned b = 0; is_lost && b < runtime::cluster_size(); ++b)
  {
    *runtime::in_block(&shared.is_lost, b) = true;
  }
  // All values are read before the first is written.
  Value held[with_values ? items : 1];
  if constexpr (with_values)
  {
    block::read_tile<threads>(held, size, [&](int place) { return values[shared.origins[turn][place]]; });
  }
  runtime::sync_cluster();
  if (!shared.is_lost)
  {
    block::move_tile<threads, items>(size, [&](int place) { return shared.keys(turn)[place]; }, keys + begin);
    if constexpr (with_values)
    {
      block::write_tile<threads>(held, size, values + begin);
    }
  }
}

} // namespace gpusort::merge
