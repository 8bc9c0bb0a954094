// To buckets of about as many keys each, where those of equal width would not fit blocks: a sample says how keys are spread. One kernel looks, one moves keys;
// blocks that sort other buckets sort these, too.
#pragma once

#include <gpusort/block/dynamic_shared.cuh>
#include <gpusort/block/warp.cuh>
#include <gpusort/radix/bucket_curve.h>
#include <gpusort/radix/by_buckets.cuh>
#include <gpusort/radix/findings.cuh>
#include <gpusort/radix/key_order.h>
#include <gpusort/radix/tuning.h>
#include <gpusort/runtime/dependency.cuh>
#include <gpusort/runtime/residency.cuh>

#include <cuda/atomic>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::radix
{

/// Makes the cells of a curve of where a sample lies. Called by all threads of a look.
template <class Bits, class Order, class Positions>
__device__ void make_curve(sample_ranks<Bits> const& sample,
                           Order const& order,
                           Positions const& positions,
                           curve_cell* cells,
                           look_storage<Bits>& shared)
{
  static_assert(curve_cells <= look_threads);
  auto const cell     = static_cast<int>(threadIdx.x);
  bool const has_cell = cell < curve_cells;
  // What a cell has of the sample, and then what it has with all before it.
  if (has_cell)
  {
    cells[cell] = {0, 0};
  }
  __syncthreads();
#pragma unroll
  for (Bits const rank : sample.at)
  {
    atomicAdd(&cells[cell_of(positions(order, rank))].own, 1u);
  }
  __syncthreads();
  std::uint64_t before    = 0;
  std::uint32_t const own = has_cell ? cells[cell].own : 0;
  sum_of_block(shared, block::sum_of_warp(own), &before);
  std::uint32_t const up_to = static_cast<std::uint32_t>(before) + block::inclusive_sum_of_warp(own);
  if (has_cell)
  {
    cells[cell].below = up_to;
  }
  __syncthreads();
  constexpr auto samples        = static_cast<std::uint32_t>(spread::samples);
  std::uint32_t const share     = has_cell ? share_of_cell(cell, samples, [&](int i) { return cells[i].below; }) : 0;
  std::uint64_t const inclusive = block::inclusive_sum_of_warp(std::uint64_t{share});
  std::uint64_t const all       = sum_of_block(shared, __shfl_sync(block::all_lanes, inclusive, 31), &before);
  if (has_cell)
  {
    cells[cell] = cell_of_share(before + inclusive - share, share, all); // all threads have read those of others
  }
  __syncthreads();
}

/// Maps ranks to positions so that a curve of a sample, whose cells it makes, makes buckets even enough for blocks; another sample says whether it does.
/// Returns false if none is found. Called by all threads with counts that are zero, which they are again afterwards.
template <class Bits, bool IsFloat>
__device__ bool map_by_curve(
  Bits const* keys,
  std::size_t n,
  key_order<Bits, IsFloat> const& order,
  bool with_values,
  bucket_limits const& limits,
  bucket_table const& table,
  curve_table const& curve,
  bucket_tally const& counts,
  curve_cell* cells,
  look_storage<Bits>& shared,
  key_map_t<Bits, IsFloat>& positions)
{
  sample_ranks<Bits> const sample(keys, n, order, 0), other(keys, n, order, 1);
  Bits least, greatest;
  sample.span(shared, least, greatest);
  auto const fits = [&] {
    make_curve(other, order, positions, cells, shared);
    curve_map<key_map_t<Bits, IsFloat>> const map{positions, cells, 32 - curve.log2};
    return spread_of(sample, n, order, map, limits, counts, shared).fits(limits);
  };
  if constexpr (has_value_map_v<Bits, IsFloat>)
  {
    // What is in a bucket with zero depends on how many keys that has, as if there were more of them.
    std::size_t const as_many = n << (curve.log2 - table.buckets_log2);
    bool const about_zero     = meet_zero(order, least, greatest);
    if (!goes_by_value(as_many, sizeof(Bits), with_values, about_zero))
    {
      if (about_zero)
      {
        return false; // by rank, nearly all cells would lie about zero
      }
    }
    else
    {
      auto const values = value_map<Bits>::over(order, least, greatest, position_bits, margin_of_curve);
      positions         = values;
      if (values.exists() && fits())
      {
        return true;
      }
    }
  }
  positions = bucket_map<Bits>::with_margins(least, greatest, position_bits, margin_of_curve_log2);
  return fits();
}

/// Looks at all keys, and decides whether they are sorted by buckets by a curve, if another look has found that those of equal width would not fit, and that
/// it may be worth while. Like look_at_keys otherwise.
/// Grid: any. Block: look_threads. Shared: half a word a bucket.
template <class Bits, bool IsFloat>
__global__ void __launch_bounds__(look_threads)
  look_by_curve(Bits const* keys,
                key_order<Bits, IsFloat> order,
                bool with_values,
                bucket_limits limits,
                bucket_table table,
                curve_table curve,
                findings<Bits>* found,
                tiling work)
{
  extern __shared__ std::uint32_t shared_counts[];
  __shared__ look_storage<Bits> shared;
  __shared__ curve_cell cells[curve_cells];
  bucket_tally const counts{shared_counts};

  runtime::wait_for_previous_kernel();
  if (found->may_be_curve == 0)
  {
    return;
  }
  counts.clear(curve.log2);
  __syncthreads();
  std::size_t const n = work.n;
  key_map_t<Bits, IsFloat> positions;
  if (!map_by_curve(keys, n, order, with_values, limits, table, curve, counts, cells, shared, positions))
  {
    return;
  }
  clear_status(work, blockIdx.x, gridDim.x);
  table.buckets_log2 = curve.log2;
  curve_map<key_map_t<Bits, IsFloat>> const map{positions, cells, 32 - curve.log2};
  keys_counted const counted = count_buckets(keys, n, order, map, table.stretch_log2(), counts);
  own_curve const own{curve, cells};
  finish_look(counted, with_values, limits, table, positions, &own, *found, work, counts, shared);
}

/// Shared memory of a block that moves tiles to buckets by a curve.
template <class Bits, bool IsFloat, class Value>
struct curve_storage
{
  bucket_storage<Bits, IsFloat, Value, curve_map<key_map_t<Bits, IsFloat>>> to_buckets;
  curve_cell cells[curve_cells];
};

/// Moves keys and values to buckets by a curve, if there is one: both levels, of which the second begins when the last tile of the first is there. Few
/// blocks move all tiles, so that the launch takes little if it has nothing to do.
/// Grid: any; as many blocks as there is room for are fastest. Block: pass_shape_v's threads. Shared: curve_storage.
/// Before: tickets and tiles_done are zero; the look-back words are empty.
template <class Bits, bool IsFloat, class Value>
__global__ void
__launch_bounds__(pass_shape_v<Bits, Value>.threads,
                  runtime::resident_blocks(pass_shape_v<Bits, Value>.threads, pass_shape_v<Bits, Value>.blocks))
  move_by_curve(key_order<Bits, IsFloat> order,
                findings<Bits>* found,
                bucket_table table,
                curve_table curve,
                std::uint32_t* tickets,
                input_part part,
                tiling work,
                buffers<Bits, Value> at)
{
  using counter = ::cuda::atomic_ref<std::uint32_t, ::cuda::thread_scope_device>;
  auto& shared  = block::dynamic_shared<curve_storage<Bits, IsFloat, Value>>();

  runtime::wait_for_previous_kernel();
  if (found->by_curve == 0)
  {
    return;
  }
  accept_decided(found);
  for (int i = static_cast<int>(threadIdx.x); i < curve_cells; i += static_cast<int>(blockDim.x))
  {
    shared.cells[i] = curve.cells[i]; // there is a barrier before they are asked
  }
  table.buckets_log2 = curve.log2;
  curve_map<key_map_t<Bits, IsFloat>> const map{
    static_cast<key_map_t<Bits, IsFloat>>(found->map), shared.cells, 32 - curve.log2};
  counter done(found->tiles_done);
  for (int level = 0; level < 2; ++level)
  {
    std::uint32_t moved = 0;
    while (move_to_buckets(
      shared.to_buckets, order, [=] { return map; }, found, table, nullptr, tickets + level, level, part, work, at))
    {
      ++moved;
      __syncthreads();
    }
    __syncthreads(); // all have seen that no tile is left
    if (threadIdx.x == 0 && level == 0)
    {
      done.fetch_add(moved, ::cuda::std::memory_order_release);
      while (done.load(::cuda::std::memory_order_acquire) < work.tiles)
      {
      }
    }
    __syncthreads();
  }
}

} // namespace gpusort::radix
