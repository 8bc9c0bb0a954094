// Hybrid sort on the GPU: split into buckets by sampled splitters, up to four times, then sort each bucket in a block; what is not
// worth that is merged. Numbers and short records that are not too many are tried by value in one wave of blocks first, and wide records by a number in
// them.
// Source: Sintorn and Assarsson, sections IV and V; a stable sample sort, so that any comparator will do.
#pragma once

#include <gpusort/block/verdict.h>
#include <gpusort/hybrid/by_number.cuh>
#include <gpusort/hybrid/by_value.cuh>
#include <gpusort/hybrid/kernels.cuh>
#include <gpusort/hybrid/tuning.h>
#include <gpusort/merge/choice.h>
#include <gpusort/merge/device.cuh>
#include <gpusort/merge/kernels.cuh>
#include <gpusort/merge/natural_order.cuh>
#include <gpusort/radix/value_order.cuh>
#include <gpusort/runtime/launch.cuh>
#include <gpusort/runtime/layout.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::hybrid
{

/// What sorts that split by sampled splitters share. `Form` says how one of them differs:
/// `static constexpr bool keeps_order`;
/// `static constexpr int log2_of_level`: the most buckets that a level makes of a segment, as a power of two, 3 to most_log2;
/// `merges_small_inputs`: whether inputs that are not worth a split are merged; without that, an input has to have more elements
/// than a block sorts;
/// `tries_numbers`: whether wide records are sorted by a number in them, if the comparator agrees to that; then also
/// `least_by_number(record_bytes)`: the least input of which that is tried;
/// `finishes_large`: whether `finish_large` looks at the buckets that are too large for a block, before what it leaves over is
/// merged.
template <class Form>
struct sample_sort
{
  template <class Value>
  using carried_t = std::conditional_t<std::is_empty_v<Value>, block::no_values, Value>;

  /// Bins of a block that sorts by value, as a power of two, if there are such blocks.
  template <class Key, class Value, bool TriesValues>
  static constexpr int bins_of()
  {
    if constexpr (TriesValues)
    {
      return value_sort<Key, Value>::most_bins_log2;
    }
    else
    {
      return 0;
    }
  }

  /// For more elements than a block sorts.
  template <class Key, class Value, class Compare>
  struct plan
  {
    static constexpr bool with_values          = value_bytes_v<Value> != 0;
    static constexpr bool tries_values         = radix::tries_values_v<Key, Value, Compare>;
    static constexpr std::size_t most          = most_of_v<Key, Value>; // that a block sorts by comparisons
    static constexpr std::size_t most_by_value = tries_values ? hybrid::most_by_value<Key, Value> : most;
    static constexpr int value_bins_log2       = bins_of<Key, Value, tries_values>();

    /// What a level has.
    struct level_plan
    {
      std::size_t segments = 0, tiles = 0, groups = 0; // at most
      std::size_t trees = 0, cells = 0, starts = 0, buckets = 0; // offsets
      bool guesses       = false;
      std::size_t counts = 0; // of all levels: the number of its first
    };

    split_depth depth;
    int tile = 0; // elements
    bool in_wave; // first, if all blocks can run at once
    level_plan levels[most_levels];
    std::size_t counts_of_groups = 0; // of all levels
    std::size_t keys = 0, values = 0, all = 0, counts = 0, works = 0, left = 0, large = 0, leftovers = 0, cuts = 0;
    std::size_t verdict = 0, wave = 0;
    runtime::layout layout;

    /// `has_arrays`: somebody else has the second pair of arrays.
    explicit plan(std::size_t n, bool tries_wave = false, bool has_arrays = false)
        : depth(split_depth_for(n, most, most_by_value, Form::log2_of_level))
        , in_wave(tries_wave)
    {
      constexpr block_shape shape = tile_shape_v<Key, Value>;
      tile = shape.threads * rows_for(n, depth, sizeof(Key) + value_bytes_v<Value>, shape.threads, shape.items);

      keys   = layout.add(has_arrays ? 0 : n, sizeof(Key), alignof(Key));
      values = layout.add(has_arrays || !with_values ? 0 : n, sizeof(Value), alignof(Value));
      all    = layout.add(1, sizeof(counters));

      std::size_t segments = 1;
      for (int number = 0; number < depth.levels; ++number)
      {
        level_plan& level = levels[number];
        int const log2    = depth.log2[number];
        level.segments    = segments;
        level.tiles       = n / static_cast<std::size_t>(tile) + segments + 1;
        level.groups      = level.tiles / tiles_of_group + segments + 1;
        level.trees       = layout.add(segments, sizeof(splitter_tree<Key>), alignof(splitter_tree<Key>));
        level.guesses     = guesses_buckets_v<Key, Value, Compare> && log2 >= least_guessed_log2;
        level.cells       = layout.add(level.guesses ? segments : 0, sizeof(value_cells), alignof(value_cells));
        level.starts      = layout.add(level.tiles << log2, sizeof(std::uint16_t));
        level.counts      = counts_of_groups;
        counts_of_groups += level.groups << log2;
        segments <<= log2;
        level.buckets = layout.add(segments, sizeof(bucket));
      }
      // Two works that follow one another have more elements than go together, but for the last one of a segment and those in
      // front of what is large. What is large has one in front of it, and as many as parts, of which one need not be whole.
      std::size_t const most_large = n / most;
      std::size_t const parts      = n / static_cast<std::size_t>(part_v<Key, Value>);
      std::size_t const together   = 2 * n / elements_together(n, most);
      std::size_t const of_large   = parts + 2 * most_large + 3; // fewer elements than n are no whole number of either
      std::size_t const most_works =
        std::min(segments + parts, std::max(together, of_large) + levels[depth.levels - 1].segments);
      counts = layout.add(counts_of_groups, sizeof(unsigned long long));
      // What blocks have tried in vain that is too large for others is listed once more: the buckets of a work, and the parts of those
      // that are large by themselves.
      std::size_t const all_works = most_works + (most_by_value > most ? segments + parts : 0);
      works                       = layout.add(all_works, sizeof(work));
      left                        = layout.add(tries_values ? all_works : 0, sizeof(std::uint32_t));

      // What is left over is listed when nobody asks for the tiles of a first level any more, if there is a second one.
      std::size_t const most_tiles = parts + most_large;
      runtime::layout lists;
      large     = lists.add(Form::finishes_large ? most_large : 0, sizeof(large_bucket));
      leftovers = lists.add(most_large, sizeof(leftover));
      cuts      = lists.add(most_tiles * merge::most_runs, sizeof(std::size_t));
      bool const has_room =
        depth.levels > 1 && lists.bytes() <= (levels[0].tiles << depth.log2[0]) * sizeof(std::uint16_t);
      std::size_t const at = has_room ? levels[0].starts : layout.add(1, lists.bytes());
      large += at;
      leftovers += at;
      cuts += at;
      if constexpr (merge::one_wave::can_sort<Key, Value, Compare> && Form::merges_small_inputs)
      {
        verdict = layout.add(in_wave ? 1 : 0, sizeof(block::sort_verdict));
        wave    = layout.add(1, in_wave ? merge::one_wave::plan<Key, Value>(n).layout.bytes() : 0);
      }
    }
  };

  template <class Key, class Value, class Compare>
  static std::size_t scratch_bytes(std::size_t n)
  {
    merge::choice const chosen = choice_for<Key, Value, Compare>(n);
    return chosen.by_number ? scratch_of<Key, Value, Compare>(n, chosen).layout.bytes()
                            : bytes_of_rest<Key, Value, Compare>(n, chosen);
  }

  template <class Key, class Value, class Compare>
  static void sort(cudaStream_t stream, void* scratch, Key* keys, Value* values, std::size_t n, Compare comp)
  {
    merge::choice const chosen   = choice_for<Key, Value, Compare>(n, runtime::shared_bytes_of_device());
    block::sort_verdict* verdict = nullptr;
    if (chosen.by_number)
    {
      auto const pieces = scratch_of<Key, Value, Compare>(n, chosen);
      void* const base  = pieces.layout.base(scratch);
      verdict           = runtime::at_offset<block::sort_verdict>(base, pieces.verdict);
      scratch           = runtime::at_offset<void>(base, pieces.sort);
      sort_by_number(stream, scratch, keys, values, n, verdict, comp);
    }
    if (chosen.rest == merge::way::split)
    {
      split(stream, scratch, keys, values, n, chosen.in_wave, verdict, comp);
    }
    else
    {
      merge::many_ways::sort<Key, Value, Compare>(stream, scratch, keys, values, n, chosen, comp, verdict);
    }
  }

  /// Splits n elements, more than a block sorts, unless somebody has sorted them, between two pairs of arrays, of which the first has them
  /// before and after. `tables`: as many bytes as table_bytes says.
  template <class Key, class Value, class Compare>
  static void split_between(cudaStream_t stream,
                            void* tables,
                            buffers<Key, Value> const& at,
                            std::size_t n,
                            block::sort_verdict const* by_others,
                            Compare comp)
  {
    plan<Key, Value, Compare> const plan(n, false, true);
    split_planned(stream, plan.layout.base(tables), plan, at, n, by_others, comp);
  }

  template <class Key, class Value, class Compare>
  static std::size_t table_bytes(std::size_t n)
  {
    return plan<Key, Value, Compare>(n, false, true).layout.bytes();
  }

private:
  /// How n elements are sorted, where a block may have so much shared memory.
  template <class Key, class Value, class Compare>
  static merge::choice choice_for(std::size_t n, std::size_t shared_bytes = runtime::least_shared_bytes)
  {
    using sorter         = by_number<Key, carried_t<Value>, Compare>;
    merge::input_kind of = merge::kind_of<Key, Value, Compare>(shared_bytes);
    of.has_split         = true;
    if constexpr (Form::tries_numbers && sorter::is_possible)
    {
      if (sorter::can_sort(n))
      {
        of.least_by_number = Form::least_by_number(sorter::record_bytes);
      }
    }
    merge::choice const chosen = merge::choice_for(n, of);
    return Form::merges_small_inputs ? chosen : merge::choice{chosen.by_number, false, merge::way::split};
  }

  /// Of what numbers leave.
  template <class Key, class Value, class Compare>
  static std::size_t bytes_of_rest(std::size_t n, merge::choice const& chosen)
  {
    return chosen.rest == merge::way::split
           ? plan<Key, carried_t<Value>, Compare>(n, chosen.in_wave).layout.bytes()
           : merge::many_ways::scratch_bytes<Key, Value, Compare>(n, chosen);
  }

  /// Where numbers are tried, which takes turns with what follows.
  struct scratch_pieces
  {
    std::size_t verdict = 0, sort = 0;
    runtime::layout layout;
  };

  template <class Key, class Value, class Compare>
  static scratch_pieces scratch_of(std::size_t n, merge::choice const& chosen)
  {
    using sorter = by_number<Key, carried_t<Value>, Compare>;
    scratch_pieces pieces;
    std::size_t bytes = bytes_of_rest<Key, Value, Compare>(n, chosen);
    if constexpr (Form::tries_numbers && sorter::is_possible)
    {
      bytes = std::max(bytes, sorter::scratch_bytes(n));
    }
    pieces.verdict = pieces.layout.add(1, sizeof(block::sort_verdict));
    pieces.sort    = pieces.layout.add(1, bytes);
    return pieces;
  }

  template <class Key, class Value, class Compare>
  static void sort_by_number(cudaStream_t stream,
                             void* scratch,
                             Key* keys,
                             Value* values,
                             std::size_t n,
                             block::sort_verdict* verdict,
                             Compare comp)
  {
    using carried = carried_t<Value>;
    using sorter  = by_number<Key, carried, Compare>;
    if constexpr (Form::tries_numbers && sorter::is_possible)
    {
      sorter::sort(stream, scratch, keys, reinterpret_cast<carried*>(values), n, verdict, comp);
    }
  }

  /// Splits more elements than a block sorts, unless a verdict says that they are sorted.
  template <class Key, class Value, class Compare>
  static void split(cudaStream_t stream,
                    void* scratch,
                    Key* keys,
                    Value* values,
                    std::size_t n,
                    bool tries_wave,
                    block::sort_verdict const* by_others,
                    Compare comp)
  {
    using carried              = carried_t<Value>;
    auto* const carried_values = reinterpret_cast<carried*>(values);
    plan<Key, carried, Compare> const plan(n, tries_wave);
    void* const base = plan.layout.base(scratch);
    buffers<Key, carried> const at{
      {keys, runtime::at_offset<Key>(base, plan.keys)},
      {carried_values, plan.with_values ? runtime::at_offset<carried>(base, plan.values) : nullptr}};
    if constexpr (merge::one_wave::can_sort<Key, carried, Compare> && Form::merges_small_inputs)
    {
      auto* const verdict = runtime::at_offset<block::sort_verdict>(base, plan.verdict);
      radix::buffers<Key, carried> const arrays{{at.keys[0], at.keys[1]}, {at.values[0], at.values[1]}};
      if (plan.in_wave
          && merge::one_wave::sort(stream, runtime::at_offset<void>(base, plan.wave), arrays, n, verdict, comp))
      {
        by_others = verdict;
      }
    }
    split_planned(stream, base, plan, at, n, by_others, comp);
  }

  /// The same as planned, with room for the plan's tables.
  template <class Key, class Value, class Compare>
  static void split_planned(cudaStream_t stream,
                            void* base,
                            plan<Key, Value, Compare> const& plan,
                            buffers<Key, Value> const& at,
                            std::size_t n,
                            block::sort_verdict const* by_others,
                            Compare comp)
  {
    auto* const all    = runtime::at_offset<counters>(base, plan.all);
    auto* const counts = runtime::at_offset<unsigned long long>(base, plan.counts);
    work_lists const lists{runtime::at_offset<work>(base, plan.works),
                           Form::finishes_large ? runtime::at_offset<large_bucket>(base, plan.large) : nullptr,
                           runtime::at_offset<leftover>(base, plan.leftovers)};
    // Where a block has too little shared memory for that, it is as if the comparator had another order.
    bool const tries_values = can_try_values<Key, Value, Compare>();
    split_level<Key> level{};
    for (int number = 0; number < plan.depth.levels; ++number)
    {
      auto const& planned             = plan.levels[number];
      bool const is_last              = number + 1 == plan.depth.levels;
      split_level<Key> const previous = level;
      std::size_t const even          = (n >> bits_of(plan.depth, number + 1)) + 1;
      level                           = {
        number,
        plan.depth.log2[number],
        static_cast<std::uint32_t>(planned.segments),
        n,
        previous.buckets,
        runtime::at_offset<splitter_tree<Key>>(base, planned.trees),
        planned.guesses ? runtime::at_offset<value_cells>(base, planned.cells) : nullptr,
        runtime::at_offset<std::uint16_t>(base, planned.starts),
        counts + planned.counts,
        runtime::at_offset<bucket>(base, planned.buckets),
        all,
        plan.tile,
        ~std::uint64_t{0} / static_cast<std::uint64_t>(plan.tile) + 1,
        plan.most,
        most_split_for(n, plan.depth),
        elements_together(n, plan.most),
        tries_values ? plan.most_by_value : 0,
        elements_together(n, plan.most_by_value),
        even,
        is_last && tries_values,
        plan.value_bins_log2};
      split_with(stream, at, level, previous, plan, is_last ? lists : work_lists{}, counts, by_others, comp);
    }
    auto* const left       = runtime::at_offset<std::uint32_t>(base, plan.left);
    auto const blocks_with = [&](block_shape shape) {
      return std::min(std::size_t{1} << plan.depth.bits(),
                      runtime::multiprocessors() * static_cast<std::size_t>(shape.blocks));
    };
    if constexpr (radix::tries_values_v<Key, Value, Compare>)
    {
      if (tries_values)
      {
        constexpr block_shape shape = value_sort_shape_v<Key, Value>;
        runtime::launch(
          sort_by_value<Key, Value, Compare>,
          {blocks_with(shape), shape.threads, sizeof(value_sort_storage<Key, Value>)},
          stream,
          at,
          lists.works,
          left,
          lists.leftovers,
          level,
          comp);
      }
    }
    constexpr block_shape shape = sort_shape_v<Key, Value>;
    runtime::launch(
      sort_buckets<Key, Value, Compare>,
      {blocks_with(shape), shape.threads, sizeof(sort_storage<Key, Value, Compare>)},
      stream,
      at,
      n,
      static_cast<work const*>(lists.works),
      static_cast<std::uint32_t const*>(left),
      level,
      comp);
    if constexpr (Form::finishes_large)
    {
      Form::finish_large(stream, at, static_cast<large_bucket const*>(lists.large), lists.leftovers, all, comp);
    }
    constexpr merge::tile_shape merging = merge::merge_shape_v<Key, Value>;
    runtime::launch(
      merge_leftovers<Key, Value, Compare>,
      {runtime::multiprocessors() * static_cast<std::size_t>(leftover_blocks_v<Key, Value>),
       merging.threads,
       sizeof(leftover_storage<Key, Value, Compare>)},
      stream,
      at,
      lists.leftovers,
      all,
      runtime::at_offset<std::size_t>(base, plan.cuts),
      comp);
  }

  template <class Key, class Value, class Compare>
  static bool can_try_values()
  {
    if constexpr (radix::tries_values_v<Key, Value, Compare>)
    {
      return sizeof(value_sort_storage<Key, Value>) <= runtime::shared_bytes_of_device();
    }
    return false;
  }

  /// Of the buckets that the first `levels` levels make of all.
  static constexpr int bits_of(split_depth const& depth, int levels)
  {
    int bits = 0;
    for (int level = 0; level < levels; ++level)
    {
      bits += depth.log2[level];
    }
    return bits;
  }

  /// One level. The last one writes to the second pair of arrays, and each of the others to where the next one does not. The first also
  /// looks for an order of the input, and clears all counts.
  template <class Key, class Value, class Compare>
  static void split_with(
    cudaStream_t stream,
    buffers<Key, Value> const& at,
    split_level<Key> const& level,
    split_level<Key> const& previous,
    plan<Key, Value, Compare> const& plan,
    work_lists const& lists,
    unsigned long long* counts,
    block::sort_verdict const* by_others,
    Compare comp)
  {
    int const to          = (plan.depth.levels - level.number) % 2;
    int const from        = level.number == 0 ? 0 : 1 - to;
    auto const& planned   = plan.levels[level.number];
    constexpr int threads = tile_shape_v<Key, Value>.threads;
    runtime::launch(sample_splitters<radix::tries_values_v<Key, Value, Compare>, Key, Compare>,
                    {planned.segments, splitter_choice<Key, Compare>::threads, sizeof(choice_storage<Key, Compare>)},
                    stream,
                    at.keys[from],
                    level,
                    previous,
                    by_others,
                    comp);
    if (level.number == 0)
    {
      merge::launch_look(
        stream, at.keys[from], level.n, &level.all->seen, counts, plan.counts_of_groups, by_others, comp);
    }
    runtime::launch(
      order_tiles<Form::keeps_order, Key, Value, Compare>,
      {planned.tiles, threads, sizeof(order_storage<Key, Value, Compare>)},
      stream,
      at.keys[from],
      at.keys[to],
      at.values[from],
      at.values[to],
      level,
      previous,
      comp);
    runtime::launch(
      close_level<Key, Value>, {planned.segments, most_buckets, sizeof(close_storage<Key>)}, stream, level, lists);
  }
};

/// Order is kept, and what is too large for a block is merged.
struct stable_form
{
  static constexpr bool keeps_order         = true;
  static constexpr int log2_of_level        = most_log2;
  static constexpr bool merges_small_inputs = true;
  static constexpr bool tries_numbers       = true;
  static constexpr bool finishes_large      = false;

  static constexpr std::size_t least_by_number(std::size_t record_bytes)
  {
    return merge::least_by_number_of(record_bytes);
  }
};

/// The `device_backend` of hybrid_sort. Stable; any comparator.
using device = sample_sort<stable_form>;

} // namespace gpusort::hybrid
