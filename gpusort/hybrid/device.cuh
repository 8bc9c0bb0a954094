// Hybrid sort on the GPU: split into buckets by sampled splitters, once or twice, then sort each bucket in a block.
// Source: Sintorn and Assarsson, sections IV and V; a stable sample sort, so that any comparator will do.
#pragma once

#include <gpusort/hybrid/kernels.cuh>
#include <gpusort/hybrid/tuning.h>
#include <gpusort/merge/kernels.cuh>
#include <gpusort/runtime/check.h>
#include <gpusort/runtime/launch.cuh>
#include <gpusort/runtime/layout.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::hybrid
{

/// What sorts that split by sampled splitters share. `Form` says how one of them differs:
/// `static constexpr bool keeps_order`; `finishes_large`: whether `finish_large` looks at the buckets that are too large for a
/// block, before what it leaves over is merged.
template <class Form>
struct sample_sort
{
  template <class Value>
  using carried_t = std::conditional_t<std::is_empty_v<Value>, block::no_values, Value>;

  template <class Key, class Value>
  struct plan
  {
    static constexpr std::size_t most =
      static_cast<std::size_t>(sort_shape_of<Key, Value>().threads) * sort_shape_of<Key, Value>().items;
    static constexpr bool with_values = value_bytes_v<Value> != 0;

    split_depth depth;
    int tile             = 0; // elements, of a split
    std::size_t tiles    = 0; // of a first level
    std::size_t segments = 0; // of a second level, which may have so many tiles more
    int row              = 0; // look-back words of a tile
    std::size_t parts    = 0; // of a first level
    std::size_t chain    = 0; // elements, of each part but the last
    std::size_t buckets  = 0; // of the last level
    std::size_t keys = 0, values = 0;
    std::size_t all = 0, chains = 0, fates = 0, trees = 0, table = 0, status = 0, large = 0, leftovers = 0, cuts = 0;
    std::size_t status_words = 0, spare_words = 0; // of a first level's look-back, and spare ones of a second level
    runtime::layout layout;

    explicit plan(std::size_t n)
        : depth(split_depth_for(n, most))
    {
      if (depth.levels == 0)
      {
        return;
      }
      constexpr block_shape shape = tile_shape_of<Key, Value>();
      int const log2              = std::max(depth.log2[0], depth.log2[1]);
      row                         = 1 << log2;
      tile     = shape.threads * rows_for(n, log2, sizeof(Key) + value_bytes_v<Value>, shape.threads, shape.items);
      tiles    = runtime::blocks_for(n, static_cast<std::size_t>(tile));
      chain    = most_in_chain / static_cast<std::size_t>(tile) * static_cast<std::size_t>(tile);
      parts    = runtime::blocks_for(n, chain);
      segments = depth.levels == 1 ? 0 : std::size_t{1} << depth.log2[0];
      buckets  = std::size_t{1} << (depth.log2[0] + depth.log2[1]);

      keys   = layout.add(n, sizeof(Key), alignof(Key));
      values = with_values ? layout.add(n, sizeof(Value), alignof(Value)) : 0;
      all    = layout.add(1, sizeof(counters));
      chains = layout.add(parts + segments, sizeof(block::segment));
      fates  = layout.add(1 + segments, sizeof(fate));
      trees  = layout.add(1 + segments, sizeof(splitter_tree<Key>), alignof(splitter_tree<Key>));
      table  = layout.add(buckets, sizeof(bucket));

      // When buckets are sorted, the look-back words are done with: what leftovers take has the same room.
      std::size_t const most_large = n / most; // they have more each
      std::size_t const most_tiles = runtime::blocks_for(n, merge::merge_storage<Key, Value>::tile) + most_large;
      runtime::layout of_leftovers;
      std::size_t const large_list = of_leftovers.add(Form::finishes_large ? most_large : 0, sizeof(large_bucket));
      std::size_t const list       = of_leftovers.add(most_large, sizeof(leftover));
      std::size_t const list_cuts  = of_leftovers.add(most_tiles, sizeof(std::uint64_t));
      status_words                 = tiles * static_cast<std::size_t>(row);
      spare_words                  = segments * static_cast<std::size_t>(row);
      status    = layout.add(1, std::max((status_words + spare_words) * sizeof(std::uint32_t), of_leftovers.bytes()));
      large     = status + large_list;
      leftovers = status + list;
      cuts      = status + list_cuts;
    }
  };

  template <class Key, class Value, class Compare>
  static std::size_t scratch_bytes(std::size_t n)
  {
    return plan<Key, carried_t<Value>>(n).layout.bytes();
  }

  template <class Key, class Value, class Compare>
  static void sort(cudaStream_t stream, void* scratch, Key* keys, Value* values, std::size_t n, Compare comp)
  {
    using carried   = carried_t<Value>;
    using plan_type = plan<Key, carried>;
    plan_type const plan(n);
    auto* const carried_values = reinterpret_cast<carried*>(values);
    if (plan.depth.levels == 0)
    {
      sort_all_buckets<Key, carried>(
        stream, {{keys, nullptr}, {carried_values, nullptr}}, 0, n, nullptr, 1, nullptr, nullptr, nullptr, comp);
      return;
    }
    void* const base = plan.layout.base(scratch);
    buffers<Key, carried> const at{
      {keys, runtime::at_offset<Key>(base, plan.keys)},
      {carried_values, plan.with_values ? runtime::at_offset<carried>(base, plan.values) : nullptr}};
    auto* const all    = runtime::at_offset<counters>(base, plan.all);
    auto* const table  = runtime::at_offset<bucket>(base, plan.table);
    auto* const chains = runtime::at_offset<block::segment>(base, plan.chains);
    auto* const fates  = runtime::at_offset<fate>(base, plan.fates);
    auto* const trees  = runtime::at_offset<splitter_tree<Key>>(base, plan.trees);
    auto* const status = runtime::at_offset<std::uint32_t>(base, plan.status);
    runtime::check(cudaMemsetAsync(all, 0, sizeof(counters), stream), "gpusort: hybrid_sort: clear counters");
    runtime::launch(
      look_at_input<Key, Compare>,
      {std::min(runtime::blocks_for(n, look_threads), runtime::multiprocessors() * look_blocks_per_sm), look_threads},
      stream,
      keys,
      n,
      status,
      plan.status_words,
      plan.spare_words,
      all,
      comp);
    split_level<Key> level{};
    split_level<Key> previous{};
    for (int number = 0; number < plan.depth.levels; ++number)
    {
      bool const first     = number == 0;
      std::size_t const of = first ? 1 : plan.segments;
      level                = {number,
                              plan.depth.log2[number],
                              static_cast<std::uint32_t>(of),
                              static_cast<std::uint32_t>(first ? plan.parts : of),
               first ? chains : chains + plan.parts,
               first ? fates : fates + 1,
               first ? trees : trees + 1,
                              status,
                              plan.row,
                              all,
                              plan.tile};
      split_with<Key, carried>(
        stream, at, level, previous, plan, n, number + 1 == plan.depth.levels ? table : nullptr, table, comp);
      previous = level;
    }
    auto* const leftovers = runtime::at_offset<leftover>(base, plan.leftovers);
    auto* const large     = Form::finishes_large ? runtime::at_offset<large_bucket>(base, plan.large) : nullptr;
    sort_all_buckets<Key, carried>(
      stream,
      at,
      plan.depth.levels % 2,
      n,
      table,
      static_cast<std::uint32_t>(plan.buckets),
      large,
      leftovers,
      all,
      comp);
    if constexpr (Form::finishes_large)
    {
      Form::finish_large(stream, at, static_cast<large_bucket const*>(large), leftovers, all, comp);
    }
    constexpr merge::tile_shape shape = merge::shape_of<Key, carried>();
    runtime::launch(
      merge_leftovers<Key, carried, Compare>,
      {runtime::multiprocessors() * static_cast<std::size_t>(leftover_blocks),
       shape.threads,
       sizeof(leftover_storage<Key, carried, Compare>)},
      stream,
      at,
      leftovers,
      all,
      runtime::at_offset<std::uint64_t>(base, plan.cuts),
      comp);
  }

private:
  /// One level: `to` is where its buckets are listed, or null; `table`, where those of segments that are not split are.
  template <class Key, class Value, class Compare>
  static void split_with(
    cudaStream_t stream,
    buffers<Key, Value> const& at,
    split_level<Key> const& level,
    split_level<Key> const& previous,
    plan<Key, Value> const& plan,
    std::size_t n,
    bucket* to,
    bucket* table,
    Compare comp)
  {
    int const from          = level.number % 2;
    std::size_t const tiles = plan.tiles + (level.number == 0 ? 0 : plan.segments);
    constexpr int threads   = tile_shape_of<Key, Value>().threads;
    runtime::launch(
      sample_splitters<Key, Compare>,
      {level.segments, splitter_choice<Key, Compare>::threads, sizeof(choice_storage<Key, Compare>)},
      stream,
      at.keys[from],
      level,
      previous,
      split_sizes{n, plan.most, bucket_size_for(plan.most), plan.chain},
      table,
      comp);
    runtime::launch(order_tiles<Form::keeps_order, Key, Value, Compare>,
                    {tiles, threads, sizeof(order_storage<Key, Value, Compare>)},
                    stream,
                    at.keys[from],
                    at.values[from],
                    level,
                    comp);
    runtime::launch(move_tiles<Key, Value>, {tiles, threads, sizeof(move_storage)}, stream, level, at, to);
  }

  template <class Key, class Value, class Compare>
  static void sort_all_buckets(
    cudaStream_t stream,
    buffers<Key, Value> const& at,
    int from,
    std::size_t n,
    bucket const* table,
    std::uint32_t buckets,
    large_bucket* large,
    leftover* leftovers,
    counters* all,
    Compare comp)
  {
    constexpr block_shape shape = sort_shape_of<Key, Value>();
    std::size_t const blocks = buckets == 1 ? 1 : runtime::multiprocessors() * static_cast<std::size_t>(shape.blocks);
    runtime::launch(
      sort_buckets<Key, Value, Compare>,
      {std::min<std::size_t>(buckets, blocks), shape.threads, sizeof(sort_storage<Key, Value, Compare>)},
      stream,
      at,
      from,
      n,
      table,
      buckets,
      large,
      leftovers,
      all,
      comp);
  }
};

/// Order is kept, and what is too large for a block is merged.
struct stable_form
{
  static constexpr bool keeps_order    = true;
  static constexpr bool finishes_large = false;
};

/// The `device_backend` of hybrid_sort. Stable; any comparator.
using device = sample_sort<stable_form>;

} // namespace gpusort::hybrid
