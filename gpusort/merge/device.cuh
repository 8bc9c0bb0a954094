// Merge sort on the GPU: sort tiles inside blocks, then merge runs until one is left: in one cluster, or many at once, where the
// input is not too large for that, a few at a time otherwise. What is not too much is tried by value first: numbers, and records by a number
// in them, in one block, or, unless these are wide, in one wave of blocks.
// Source: Satish, Harris and Garland, section IV.
#pragma once

#include <gpusort/block/verdict.h>
#include <gpusort/merge/choice.h>
#include <gpusort/merge/in_block.cuh>
#include <gpusort/merge/in_cluster.cuh>
#include <gpusort/merge/in_wave.cuh>
#include <gpusort/merge/kernels.cuh>
#include <gpusort/merge/many_ways.cuh>
#include <gpusort/merge/natural_order.cuh>
#include <gpusort/merge/tuning.h>
#include <gpusort/radix/value_order.cuh>
#include <gpusort/runtime/launch.cuh>
#include <gpusort/runtime/layout.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::merge
{

/// What the choice goes by, of elements and comparator, where a block may have so much shared memory; without a way to split, or numbers in
/// records.
template <class Key, class Value, class Compare>
input_kind kind_of(std::size_t shared_bytes = runtime::least_shared_bytes)
{
  input_kind of{sizeof(Key), block::value_bytes_v<Value>};
  if constexpr (one_wave::can_sort<Key, Value, Compare>)
  {
    of.least_in_wave = radix::is_number_v<Key> ? least_in_wave : least_records_in_wave;
    of.most_in_wave  = one_wave::most<Key, Value>;
  }
  of.has_cluster = sizeof(Key) <= block::widest_moved_key;
  if constexpr (radix::tries_values_in_block_v<Key, Value, Compare>)
  {
    using few  = one_block_storage<Key, Value, Compare, block_class::few>;
    using many = one_block_storage<Key, Value, Compare, block_class::many>;
    static_assert(sizeof(few) <= runtime::least_shared_bytes);
    of.most_in_block =
      static_cast<std::size_t>(sizeof(many) <= shared_bytes ? many::by_value::most : few::by_value::most);
  }
  return of;
}

/// Merge sort of inputs that are not too large: by value in one block or one wave of blocks, if the comparator agrees to that, or in one
/// cluster, or many runs at once. Stable; any comparator.
struct many_ways
{
  template <class Key, class Value, class Compare>
  struct plan
  {
    input_class blocks;
    many_way_plan steps;
    bool in_wave; // first, if blocks have room for it
    std::size_t keys = 0, values = 0, verdict = 0;
    std::size_t wave   = 0; // and afterwards:
    std::size_t checks = 0, progress = 0;
    std::size_t samples[2] = {}; // passes take turns
    runtime::layout layout;

    plan(std::size_t n, many_way_plan const& merging_of_all, bool tries_wave)
        : blocks(class_of(n, sizeof(Key), block::value_bytes_v<Value>))
        , steps(merging_of_all)
        , in_wave(tries_wave)
    {
      if (!steps.is_possible || steps.passes == 0)
      {
        return;
      }
      keys   = layout.add(n, sizeof(Key), alignof(Key));
      values = std::is_empty_v<Value> ? 0 : layout.add(n, sizeof(Value), alignof(Value));
      runtime::layout merging;
      checks   = merging.add(static_cast<std::size_t>(steps.passes), sizeof(pass_check));
      progress = merging.add(1, sizeof(pass_progress));
      for (int parity = 0; parity < 2; ++parity)
      {
        samples[parity] = merging.add(samples_of(steps, n, parity), sizeof(Key), alignof(Key));
      }
      std::size_t bytes = merging.bytes();
      if constexpr (one_wave::can_sort<Key, Value, Compare>)
      {
        verdict = layout.add(in_wave ? 1 : 0, sizeof(block::sort_verdict));
        bytes   = in_wave ? std::max(bytes, one_wave::plan<Key, Value>(n).layout.bytes()) : bytes;
      }
      wave = layout.add(1, bytes, alignof(Key));
      checks += wave;
      progress += wave;
      samples[0] += wave;
      samples[1] += wave;
    }
  };

  template <class Key, class Value, class Compare>
  static std::size_t scratch_bytes(std::size_t n, choice const& chosen)
  {
    return chosen.rest < way::one_tile ? 0
                                       : plan<Key, Value, Compare>(n, chosen.merging, chosen.in_wave).layout.bytes();
  }

  /// In one of the ways up to many_ways. `by_others`: a verdict that says whether they are sorted already, or null.
  template <class Key, class Value, class Compare>
  static void sort(cudaStream_t stream,
                   void* scratch,
                   Key* keys,
                   Value* values,
                   std::size_t n,
                   choice const& chosen,
                   Compare comp,
                   block::sort_verdict const* by_others = nullptr)
  {
    if (chosen.rest < way::one_tile)
    {
      sort_in_one_block(stream, keys, values, n, chosen.rest, comp);
    }
    else if (chosen.rest != way::in_cluster || !sort_in_one_cluster(stream, keys, values, n, comp))
    {
      sort_many_ways(stream, scratch, keys, values, n, chosen, by_others, comp);
    }
  }

private:
  /// Sorts what a block tries by value.
  template <class Key, class Value, class Compare>
  static void sort_in_one_block([[maybe_unused]] cudaStream_t stream,
                                [[maybe_unused]] Key* keys,
                                [[maybe_unused]] Value* values,
                                [[maybe_unused]] std::size_t n,
                                [[maybe_unused]] way by,
                                [[maybe_unused]] Compare comp)
  {
    if constexpr (radix::tries_values_in_block_v<Key, Value, Compare>)
    {
      if (by == way::few_in_block)
      {
        sort_in_block_of<block_class::few>(stream, keys, values, n, comp);
      }
      else
      {
        sort_in_block_of<block_class::many>(stream, keys, values, n, comp);
      }
    }
  }
  template <block_class Class, class Key, class Value, class Compare>
  static void sort_in_block_of(cudaStream_t stream, Key* keys, Value* values, std::size_t n, Compare comp)
  {
    using storage = one_block_storage<Key, Value, Compare, Class>;
    runtime::launch(sort_in_block<Class, Key, Value, Compare>,
                    {1, storage::by_value::shape.threads, sizeof(storage)},
                    stream,
                    keys,
                    values,
                    static_cast<int>(n),
                    comp);
  }

  /// Sorts what is for a cluster, if the device has room for it: whether that is so.
  template <class Key, class Value, class Compare>
  static bool sort_in_one_cluster(cudaStream_t stream, Key* keys, Value* values, std::size_t n, Compare comp)
  {
    static_assert(most_cluster_blocks <= runtime::portable_cluster);
    // Wide keys stay where they are, and blocks would have to compare those of others.
    if constexpr (sizeof(Key) <= block::widest_moved_key)
    {
      using storage   = cluster_storage<Key, Value, Compare>;
      unsigned blocks = 2;
      while (blocks < most_cluster_blocks && std::size_t{storage::tile} * blocks < n)
      {
        blocks *= 2;
      }
      auto* const kernel = sort_in_cluster<Key, Value, Compare>;
      runtime::launch_shape const shape{blocks, storage::threads, sizeof(storage), sizeof(storage), blocks};
      if (runtime::can_launch_cluster(kernel, shape, stream))
      {
        runtime::launch(kernel, shape, stream, keys, values, static_cast<int>(n), comp);
        return true;
      }
    }
    return false;
  }

  template <class Key, class Value, class Compare>
  static void sort_many_ways(
    cudaStream_t stream,
    void* scratch,
    Key* keys,
    Value* values,
    std::size_t n,
    choice const& chosen,
    block::sort_verdict const* by_others,
    Compare comp)
  {
    constexpr bool are_alike =
      many_way_traits<Key, Value, input_class::small>::shape == many_way_traits<Key, Value, input_class::medium>::shape;
    constexpr input_class medium = are_alike ? input_class::small : input_class::medium;
    plan<Key, Value, Compare> const plan(n, chosen.merging, chosen.in_wave);
    if constexpr (one_wave::can_sort<Key, Value, Compare>)
    {
      void* const base    = plan.layout.base(scratch);
      auto* const verdict = runtime::at_offset<block::sort_verdict>(base, plan.verdict);
      radix::buffers<Key, Value> const at{{keys, runtime::at_offset<Key>(base, plan.keys)},
                                          {values, runtime::at_offset<Value>(base, plan.values)}};
      if (plan.in_wave && one_wave::sort(stream, runtime::at_offset<void>(base, plan.wave), at, n, verdict, comp))
      {
        by_others = verdict;
      }
    }
    if (plan.blocks == input_class::tiny)
    {
      sort_in<input_class::tiny>(stream, plan, scratch, keys, values, n, by_others, comp);
    }
    else if (plan.blocks == input_class::small)
    {
      sort_in<input_class::small>(stream, plan, scratch, keys, values, n, by_others, comp);
    }
    else
    {
      sort_in<medium>(stream, plan, scratch, keys, values, n, by_others, comp);
    }
  }

  template <input_class Class, class Key, class Value, class Compare>
  static void sort_in(cudaStream_t stream,
                      plan<Key, Value, Compare> const& plan,
                      void* scratch,
                      Key* keys,
                      Value* values,
                      std::size_t n,
                      block::sort_verdict const* by_others,
                      Compare comp)
  {
    using traits        = many_way_traits<Key, Value, Class>;
    auto const& steps   = plan.steps;
    void* const base    = plan.layout.base(scratch);
    Key* keys_at[2]     = {keys, runtime::at_offset<Key>(base, plan.keys)};
    Value* values_at[2] = {values, runtime::at_offset<Value>(base, plan.values)};
    many_way_merge<Key> const merging{
      steps,
      {runtime::at_offset<Key>(base, plan.samples[0]), runtime::at_offset<Key>(base, plan.samples[1])},
      runtime::at_offset<pass_check>(base, plan.checks),
      runtime::at_offset<pass_progress>(base, plan.progress),
      // What is merged in one pass takes longer than another launch, and blocks that say when they are done longer still: 2^16 of u32 26.8 us in place of 26.2.
      by_others != nullptr || steps.passes > 1};
    // Passes take turns between the two buffers; the first one begins where the last one ends in the caller's.
    int const at = steps.passes % 2;
    runtime::launch(
      sort_for_many_ways<Class, Key, Value, Compare>,
      {runtime::blocks_for(n, steps.tile),
       traits::threads,
       sizeof(typename many_way_tile_sort<Key, Value, Compare, Class>::shared_storage)},
      stream,
      keys_at[0],
      keys_at[at],
      values_at[0],
      values_at[at],
      n,
      merging,
      by_others,
      comp);
    if (steps.passes == 0)
    {
      return;
    }
    using storage       = many_way_storage<Key, Value, Compare, Class>;
    auto const count    = static_cast<std::uint32_t>(n);
    std::size_t at_once = 0;
    for (int pass = 0; pass < steps.passes; ++pass)
    {
      at_once = std::max<std::size_t>(at_once, steps.pass[pass].blocks_of(count));
    }
    std::size_t const share = runtime::blocks_for(at_once, runtime::multiprocessors());
    std::size_t const bytes =
      steps.passes > 1 ? std::max(sizeof(storage), runtime::share_of_multiprocessor(share)) : sizeof(storage);
    runtime::launch(
      merge_many<Class, Key, Value, Compare>,
      {steps.blocks_of(count), traits::threads, bytes, runtime::shared_bytes_of_device()},
      stream,
      keys_at[0],
      keys_at[1],
      values_at[0],
      values_at[1],
      count,
      merging,
      by_others,
      comp);
    if (!merging.brings_back)
    {
      merge::recover_after(stream, keys_at, values_at, n, merging.checks, steps.passes);
    }
  }
};

/// Merge sort of inputs of any size: a few runs at a time, unless the input is in order or reversed. Stable; any comparator.
struct few_ways
{
  template <class Key, class Value, class Compare>
  struct plan
  {
    static constexpr auto first_run   = static_cast<std::size_t>(first_run_v<Key, Value>);
    static constexpr bool with_values = !std::is_empty_v<Value>;

    std::size_t runs; // in the beginning
    std::size_t tiles;
    pass_schedule schedule;
    std::size_t keys = 0, values = 0, cuts = 0, checks = 0, seen = 0;
    runtime::layout layout;

    explicit plan(std::size_t n)
        : runs(runtime::blocks_for(n, first_run))
        , tiles(runtime::blocks_for(n, tile_v<Key, Value>))
        , schedule(runs)
    {
      if (int const passes = schedule.passes(); passes > 0)
      {
        keys   = layout.add(n, sizeof(Key), alignof(Key));
        values = with_values ? layout.add(n, sizeof(Value), alignof(Value)) : 0;
        cuts   = layout.add(tiles * most_runs, sizeof(std::size_t));
        checks = layout.add(static_cast<std::size_t>(passes), sizeof(pass_check));
        seen   = layout.add(1, sizeof(order_seen));
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
    plan<Key, Value, Compare> const plan(n);
    int const passes    = plan.schedule.passes();
    void* const base    = plan.layout.base(scratch);
    Key* keys_at[2]     = {keys, runtime::at_offset<Key>(base, plan.keys)};
    Value* values_at[2] = {values, runtime::at_offset<Value>(base, plan.values)};
    auto* const cuts    = runtime::at_offset<std::size_t>(base, plan.cuts);
    auto* const checks  = runtime::at_offset<pass_check>(base, plan.checks);
    // What one block sorts need not be looked at.
    auto* const seen = passes > 0 ? runtime::at_offset<order_seen>(base, plan.seen) : nullptr;
    if (seen != nullptr)
    {
      runtime::launch(glance_at_input<Key, Compare>, {1, look_threads}, stream, keys, n, seen, comp);
      merge::launch_look(stream, keys, n, seen, checks, static_cast<std::size_t>(passes), nullptr, comp);
    }

    // Passes take turns between the two buffers; the first one begins where the last one ends in the caller's.
    int at = passes % 2;
    runtime::launch(
      sort_tiles<Key, Value, Compare>,
      {plan.runs, sort_shape_v<Key, Value>.threads, sizeof(typename tile_sort<Key, Value, Compare>::shared_storage)},
      stream,
      keys_at[0],
      keys_at[at],
      values_at[0],
      values_at[at],
      n,
      seen,
      comp);
    for (int pass = 0; pass < passes; ++pass, at = 1 - at)
    {
      std::size_t const run = plan.first_run << plan.schedule.log2_run(pass);
      int const log2_runs   = plan.schedule.log2_of(pass);
      runtime::launch(
        cut_runs<Key, Value, Compare>,
        {runtime::blocks_for(plan.tiles, cut_tiles), cut_threads},
        stream,
        keys_at[at],
        n,
        run,
        log2_runs,
        plan.tiles,
        cuts,
        checks,
        pass,
        seen,
        comp);
      runtime::launch(
        merge_runs<Key, Value, Compare>,
        {plan.tiles, merge_shape_v<Key, Value>.threads, sizeof(merge_storage<Key, Value, Compare>)},
        stream,
        keys_at[at],
        keys_at[1 - at],
        values_at[at],
        values_at[1 - at],
        n,
        run,
        log2_runs,
        cuts,
        checks,
        pass,
        seen,
        comp);
    }
    if (passes > 0)
    {
      merge::recover_after(stream, keys_at, values_at, n, checks, passes);
    }
  }
};

/// The `device_backend` of merge_sort. Stable; any comparator.
struct device
{
  template <class Key, class Value, class Compare>
  static std::size_t scratch_bytes(std::size_t n)
  {
    choice const chosen = choice_for(n, kind_of<Key, Value, Compare>());
    return chosen.rest == way::few_ways ? few_ways::scratch_bytes<Key, Value, Compare>(n)
                                        : many_ways::scratch_bytes<Key, Value, Compare>(n, chosen);
  }

  template <class Key, class Value, class Compare>
  static void sort(cudaStream_t stream, void* scratch, Key* keys, Value* values, std::size_t n, Compare comp)
  {
    choice const chosen = choice_for(n, kind_of<Key, Value, Compare>(runtime::shared_bytes_of_device()));
    if (chosen.rest == way::few_ways)
    {
      few_ways::sort<Key, Value, Compare>(stream, scratch, keys, values, n, comp);
    }
    else
    {
      many_ways::sort<Key, Value, Compare>(stream, scratch, keys, values, n, chosen, comp);
    }
  }
};

} // namespace gpusort::merge
