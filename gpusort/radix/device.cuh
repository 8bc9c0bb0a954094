// Radix sort on the GPU: in one block or one cluster, if it fits; else by buckets of the most significant bits, which blocks
// sort; or, where these would be too uneven, digit by digit, the least significant first. Which of these two, is decided on
// the device.
// Source: Satish, Harris and Garland, section III; one read and one write a digit after Adinets and Merrill's onesweep.
#pragma once

#include <gpusort/radix/by_buckets.cuh>
#include <gpusort/radix/by_digits.cuh>
#include <gpusort/radix/key_order.h>
#include <gpusort/radix/tuning.h>
#include <gpusort/runtime/launch.cuh>
#include <gpusort/runtime/layout.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::radix
{

/// Values move as the unsigned integer of their size where there is one, so that fewer kernels are compiled.
template <class Value, class = void>
struct carried_value
{
  using type = Value;
};
template <class Value>
struct carried_value<Value, std::enable_if_t<std::is_empty_v<Value>>>
{
  using type = block::no_values; // nothing to move
};
template <class Value>
struct carried_value<
  Value,
  std::enable_if_t<!std::is_empty_v<Value> && alignof(Value) == sizeof(Value) && sizeof(Value) <= 16>>
{
  using type = typename unsigned_of_size<sizeof(Value)>::type;
};

/// The `device_backend` of radix_sort. Stable.
struct device
{
  template <class Key, class Value>
  struct plan
  {
    using bits                        = bits_t<Key>;
    using carried                     = typename carried_value<Value>::type;
    static constexpr bool is_float    = kind_of<Key>() == key_kind::floating_point;
    static constexpr bool with_values = !std::is_same_v<carried, block::no_values>;
    static constexpr int digits       = key_order<bits, is_float>::digits;

    using partition = digit_partition<bits, is_float, carried>;

    // Elements of one launch: as many whole tiles as the look-back can count.
    static constexpr std::size_t part_elements = block::look_back::max_count / partition::tile * partition::tile;

    bool one_block; // on every device; no scratch, no other member means anything
    int buckets_log2  = 0; // 0: never by buckets
    int tile          = 0; // elements, of a pass
    std::size_t tiles = 0; // of a launch
    std::size_t parts = 0; // of the input: launches of a pass
    std::size_t spare = 0; // tiles of a second level
    std::size_t keys = 0, values = 0;
    std::size_t sizes = 0, bins = 0, found = 0, tickets = 0; // from here to status, cleared before the sort
    std::size_t status = 0, next_bins = 0, begins = 0, crowded = 0, stretches = 0;
    runtime::layout layout;

    explicit plan(std::size_t n)
    {
      constexpr bool large_everywhere = large_bytes() <= runtime::least_shared_bytes;
      one_block                       = n <= tile_of(large_everywhere ? sort_class::large : sort_class::small);
      if (one_block)
      {
        return;
      }
      bool const by_buckets = has_buckets(sizeof(bits)) && n <= most_in_buckets(sizeof(bits), value_bytes_v<carried>);
      buckets_log2          = by_buckets ? buckets_log2_for(n) : 0;
      tile  = partition::threads * rows_for(n, partition::threads, partition::tile / partition::threads);
      tiles = runtime::blocks_for(n < part_elements ? n : part_elements, static_cast<std::size_t>(tile));
      parts = runtime::blocks_for(n, part_elements);
      spare = buckets_log2 > digit_bits ? radix_size : 0;

      std::size_t const buckets = by_buckets ? std::size_t{1} << buckets_log2 : 0;
      std::size_t const words   = (tiles + spare) * radix_size;
      keys                      = layout.add(n, sizeof(bits));
      values                    = with_values ? layout.add(n, sizeof(carried)) : 0;
      sizes                     = layout.add(buckets, sizeof(std::uint32_t));
      bins                      = layout.add(digits * radix_size, sizeof(std::uint64_t));
      found                     = layout.add(1, sizeof(findings<bits>));
      tickets                   = layout.add(digits, sizeof(std::uint32_t));
      status                    = layout.add(words, sizeof(std::uint32_t));
      next_bins                 = layout.add(2 * radix_size, sizeof(std::uint64_t));
      begins                    = layout.add(buckets + 1, sizeof(std::uint64_t));
      crowded                   = layout.add(buckets, sizeof(std::uint32_t));
      stretches                 = layout.add(spare, sizeof(block::segment));
    }

    static constexpr std::size_t tile_of(sort_class c)
    {
      return static_cast<std::size_t>(sort_tile_for(sizeof(bits), value_bytes_v<carried>, c));
    }

    /// Shared memory of a large block.
    static constexpr std::size_t large_bytes()
    {
      return sizeof(block_sort_storage<bits, is_float, carried, sort_class::large>);
    }
  };

  /// Shared memory of a look: half a word a bucket.
  static constexpr std::size_t look_bytes(int buckets_log2)
  {
    return std::size_t{2} << buckets_log2;
  }

  /// The most that looks take where a block can have `room`, beside what they declare.
  template <class Bits>
  static constexpr std::size_t most_look_bytes(std::size_t room)
  {
    std::size_t bytes = look_bytes(most_buckets_log2);
    while (bytes + sizeof(look_storage<Bits>) + 64 > room && bytes > 1)
    {
      bytes /= 2;
    }
    return bytes;
  }

  template <class Key, class Value, class Compare>
  static std::size_t scratch_bytes(std::size_t n)
  {
    return plan<Key, Value>(n).layout.bytes();
  }

  template <class Key, class Value, class Compare>
  static void sort(cudaStream_t stream, void* scratch, Key* keys, Value* values, std::size_t n, Compare)
  {
    using plan_type = plan<Key, Value>;
    using bits      = typename plan_type::bits;
    using carried   = typename plan_type::carried;
    using partition = typename plan_type::partition;

    constexpr bool is_float    = plan_type::is_float;
    constexpr bool with_values = plan_type::with_values;
    constexpr int digits       = plan_type::digits;

    plan_type const plan(n);
    auto const order = make_key_order<Key, Compare>();
    buffers<bits, carried> at{{reinterpret_cast<bits*>(keys)}, {reinterpret_cast<carried*>(values)}};
    findings<bits>* const none = nullptr;
    if (n <= plan_type::tile_of(sort_class::small))
    {
      sort_blocks<is_float, sort_class::small>(stream, order, 1, none, {}, n, 0, at);
      return;
    }
    std::size_t const room = plan.one_block ? runtime::least_shared_bytes : runtime::shared_bytes_of_device();
    bool const sorts_large = plan_type::large_bytes() <= room;
    if (sorts_large && n <= plan_type::tile_of(sort_class::large))
    {
      sort_blocks<is_float, sort_class::large>(stream, order, 1, none, {}, n, 0, at);
      return;
    }
    void* const base = plan.layout.base(scratch);
    at.keys[1]       = runtime::at_offset<bits>(base, plan.keys);
    at.values[1]     = runtime::at_offset<carried>(base, plan.values);
    if (sorts_large)
    {
      for (unsigned const cluster : cluster_for(n).blocks)
      {
        if (n <= most_in_cluster(cluster)
            && runtime::can_launch_cluster(sort_in_blocks<bits, is_float, carried, sort_class::large>,
                                           shape_of_sort<bits, is_float, carried, sort_class::large>(cluster, cluster),
                                           stream))
        {
          sort_blocks<is_float, sort_class::large>(stream, order, cluster, none, {}, n, 0, at, cluster);
          return;
        }
      }
    }

    bool const by_buckets =
      plan.buckets_log2 > 0 && sorts_large && look_bytes(plan.buckets_log2) <= most_look_bytes<bits>(room);

    auto* const sizes = runtime::at_offset<std::uint32_t>(base, plan.sizes);
    auto* const bins  = runtime::at_offset<std::uint64_t>(base, plan.bins);
    auto* const found = runtime::at_offset<findings<bits>>(base, plan.found);
    bucket_table const table{plan.buckets_log2,
                             sizes,
                             runtime::at_offset<std::uint64_t>(base, plan.begins),
                             runtime::at_offset<std::uint32_t>(base, plan.crowded),
                             runtime::at_offset<block::segment>(base, plan.stretches)};
    tiling const work{n,
                      plan.tile,
                      static_cast<std::uint32_t>(plan.tiles),
                      static_cast<std::uint32_t>(by_buckets ? plan.spare : 0),
                      runtime::at_offset<std::uint32_t>(base, plan.status)};
    std::size_t const processors       = runtime::multiprocessors();
    constexpr std::size_t moving_bytes = sizeof(typename partition::shared_storage);

    runtime::check(cudaMemsetAsync(sizes, 0, plan.status - plan.sizes, stream), "gpusort: radix_sort: clear counters");
    if constexpr (has_buckets(sizeof(bits)))
    {
      if (by_buckets)
      {
        constexpr int fits       = static_cast<int>(plan_type::tile_of(sort_class::bucket));
        std::size_t const chunks = runtime::blocks_for(n, look_threads * look_items(sizeof(bits)));
        runtime::launch(
          look_at_keys<bits, is_float>,
          {std::min(chunks, processors), look_threads, look_bytes(plan.buckets_log2), most_look_bytes<bits>(room)},
          stream,
          at.keys[0],
          order,
          with_values,
          bucket_limits{static_cast<std::uint32_t>(fits), most_in_sample(n, fits), most_expected(fits)},
          table,
          found,
          work);
      }
    }

    int const rows           = rows_for(n, histogram_threads, histogram_items(sizeof(bits)));
    int const copies_log2    = histogram_copies_log2(digits);
    std::size_t const chunks = runtime::blocks_for(n, static_cast<std::size_t>(histogram_threads) * rows);
    runtime::launch(
      count_digits<bits, is_float>,
      {std::min(chunks, processors * resident_blocks_per_sm),
       histogram_threads,
       (std::size_t{digits} * radix_size * sizeof(std::uint32_t)) << copies_log2},
      stream,
      at.keys[0],
      order,
      with_values,
      rows,
      copies_log2,
      bins,
      found,
      work);

    if constexpr (has_buckets(sizeof(bits)))
    {
      if (by_buckets)
      {
        bool const two_levels = table.stretch_log2() > 0;
        for (int level = 0; level <= (two_levels ? 1 : 0); ++level)
        {
          runtime::launch(
            move_to_buckets<bits, is_float, carried>,
            {plan.tiles + (level == 0 ? 0 : plan.spare), partition::threads, moving_bytes},
            stream,
            order,
            found,
            table,
            level,
            work,
            at);
        }
        std::size_t const buckets = std::size_t{1} << plan.buckets_log2;
        int const from            = two_levels ? 0 : 1;
        constexpr auto per_sm =
          static_cast<std::size_t>(sort_blocks_per_sm(sizeof(bits), value_bytes_v<carried>, sort_class::bucket));
        sort_blocks<is_float, sort_class::bucket>(
          stream, order, std::min(buckets, processors * per_sm), found, table, n, from, at);
        sort_blocks<is_float, sort_class::large>(stream, order, processors, found, table, n, from, at);
      }
    }
    auto* const tickets = runtime::at_offset<std::uint32_t>(base, plan.tickets);
    auto* const next    = runtime::at_offset<std::uint64_t>(base, plan.next_bins);
    int const together  = plan.tiles <= tiles_in_one_launch ? digits : 1; // passes of a launch
    for (int pass = 0; pass < digits; pass += together)
    {
      for (std::size_t part = 0; part < plan.parts; ++part)
      {
        std::size_t const begin = part * plan_type::part_elements;
        std::size_t const size  = std::min(n - begin, plan_type::part_elements);
        if (plan.parts > 1 && pass + part > 0)
        {
          runtime::check(cudaMemsetAsync(tickets, 0, plan.next_bins - plan.tickets, stream),
                         "gpusort: radix_sort: clear look-back");
        }
        runtime::launch(
          move_by_digits<bits, is_float, carried>,
          {runtime::blocks_for(size, plan.tile) * static_cast<std::size_t>(together), partition::threads, moving_bytes},
          stream,
          order,
          found,
          static_cast<std::uint64_t const*>(bins),
          tickets,
          static_cast<std::uint32_t>(pass),
          static_cast<std::uint32_t>(pass + together),
          input_part{begin, size, static_cast<std::uint32_t>(part), part + 1 == plan.parts, next},
          work,
          at);
      }
    }
    std::size_t const steps = runtime::blocks_for(n, home_threads * moved_at_once);
    runtime::launch(finish_at_home<bits, carried>,
                    {std::min(steps, processors * resident_blocks_per_sm), home_threads},
                    stream,
                    static_cast<findings<bits> const*>(found),
                    n,
                    at);
  }

private:
  template <class Bits, bool IsFloat, class Value, sort_class Class>
  static constexpr runtime::launch_shape shape_of_sort(std::size_t blocks, unsigned cluster)
  {
    return {blocks,
            sort_shape_for(sizeof(Bits), value_bytes_v<Value>, Class).threads,
            sizeof(block_sort_storage<Bits, IsFloat, Value, Class>),
            0,
            cluster};
  }

  template <bool IsFloat, sort_class Class, class Bits, class Value>
  static void sort_blocks(
    cudaStream_t stream,
    key_order<Bits, IsFloat> const& order,
    std::size_t blocks,
    findings<Bits>* found,
    bucket_table const& table,
    std::size_t n,
    int from,
    buffers<Bits, Value> const& at,
    unsigned cluster = 1)
  {
    runtime::launch(
      sort_in_blocks<Bits, IsFloat, Value, Class>,
      shape_of_sort<Bits, IsFloat, Value, Class>(blocks, cluster),
      stream,
      order,
      found,
      table,
      n,
      from,
      at);
  }
};

} // namespace gpusort::radix
