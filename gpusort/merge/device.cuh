// Merge sort on the GPU: sort tiles inside blocks, then merge runs pairwise until one is left.
// Source: Satish, Harris and Garland, section IV.
#pragma once

#include <gpusort/merge/kernels.cuh>
#include <gpusort/merge/tuning.h>
#include <gpusort/runtime/launch.cuh>
#include <gpusort/runtime/layout.h>

#include <cstddef>
#include <type_traits>

namespace gpusort::merge
{

/// The `device_backend` of merge_sort. Stable; any comparator.
struct device
{
  template <class Key, class Value, class Compare>
  struct plan
  {
    static constexpr int tile         = tile_sort<Key, Value, Compare>::tile;
    static constexpr bool with_values = !std::is_empty_v<Value>;

    int passes       = 0;
    std::size_t keys = 0, values = 0, cuts = 0, checks = 0;
    runtime::layout layout;

    explicit plan(std::size_t n)
    {
      for (std::size_t run = tile; run < n; run *= 2)
      {
        ++passes;
      }
      if (passes > 0)
      {
        keys   = layout.add(n, sizeof(Key), alignof(Key));
        values = with_values ? layout.add(n, sizeof(Value), alignof(Value)) : 0;
        cuts   = layout.add(runtime::blocks_for(n, tile), sizeof(std::size_t));
        checks = layout.add(static_cast<std::size_t>(passes), sizeof(unsigned));
      }
    }
  };

  template <class Key, class Value, class Compare>
  static std::size_t scratch_bytes(std::size_t n)
  {
    return plan<Key, Value, Compare>(n).layout.bytes();
  }

  template <class Key, class Value, class Compare>
  static void sort(cudaStream_t stream, void* scratch, Key* keys, Value* values, std::size_t n, Compare comp)
  {
    using sorter            = tile_sort<Key, Value, Compare>;
    constexpr int threads   = shape_of<Key, Value>().threads;
    std::size_t const tiles = runtime::blocks_for(n, sorter::tile);

    plan<Key, Value, Compare> const plan(n);
    int const passes    = plan.passes;
    void* const base    = plan.layout.base(scratch);
    Key* keys_at[2]     = {keys, runtime::at_offset<Key>(base, plan.keys)};
    Value* values_at[2] = {values, runtime::at_offset<Value>(base, plan.values)};
    auto* const cuts    = runtime::at_offset<std::size_t>(base, plan.cuts);
    auto* const checks  = runtime::at_offset<unsigned>(base, plan.checks);

    // Passes take turns between the two buffers; the first one begins where the last one ends in the caller's.
    int at = passes % 2;
    runtime::launch(
      sort_tiles<Key, Value, Compare>,
      {tiles, threads, sizeof(typename sorter::shared_storage)},
      stream,
      keys_at[0],
      keys_at[at],
      values_at[0],
      values_at[at],
      n,
      checks,
      passes,
      comp);
    std::size_t run = sorter::tile;
    for (int pass = 0; pass < passes; ++pass, run *= 2, at = 1 - at)
    {
      runtime::launch(
        cut_runs<Key, Compare>,
        {runtime::blocks_for(tiles, cut_threads), cut_threads},
        stream,
        keys_at[at],
        n,
        run,
        std::size_t{sorter::tile},
        tiles,
        cuts,
        checks,
        pass,
        comp);
      runtime::launch(
        merge_runs<Key, Value, Compare>,
        {tiles, threads, sizeof(merge_storage<Key, Value>)},
        stream,
        keys_at[at],
        keys_at[1 - at],
        values_at[at],
        values_at[1 - at],
        n,
        run,
        cuts,
        checks,
        pass,
        comp);
    }
    if (passes > 0)
    {
      runtime::launch(
        recover<Key, Value>,
        {tiles < 1024 ? tiles : 1024, 256},
        stream,
        keys_at[0],
        keys_at[1],
        values_at[0],
        values_at[1],
        n,
        checks,
        passes);
    }
  }
};

} // namespace gpusort::merge
