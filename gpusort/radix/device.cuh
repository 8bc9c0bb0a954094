// Radix sort on the GPU, least significant digit first: one kernel counts, one a digit moves.
// Source: Satish, Harris and Garland, section III; one read and one write a digit after Adinets and Merrill's onesweep.
#pragma once

#include <gpusort/block/partition.cuh>
#include <gpusort/radix/kernels.cuh>
#include <gpusort/radix/key_order.h>
#include <gpusort/radix/tuning.h>
#include <gpusort/runtime/launch.cuh>
#include <gpusort/runtime/layout.h>

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
    static constexpr std::size_t launch_elements = block::look_back::max_count / partition::tile * partition::tile;

    bool one_tile; // no scratch, no other member means anything
    int tile                 = 0; // elements of a tile
    std::size_t launches     = 0; // a digit
    std::size_t status_words = 0;
    std::size_t keys = 0, values = 0, bins = 0, found = 0, tickets = 0, next_bins = 0, status = 0;
    runtime::layout layout;

    explicit plan(std::size_t n)
        : one_tile(n <= tile_sort<bits, is_float, carried, false>::tile)
    {
      if (one_tile)
      {
        return;
      }
      std::size_t const elements = n < launch_elements ? n : launch_elements;
      tile         = partition::threads * rows_for(n, partition::threads, partition::tile / partition::threads);
      launches     = runtime::blocks_for(n, launch_elements);
      status_words = runtime::blocks_for(elements, tile) * radix_size;

      keys   = layout.add(n, sizeof(bits));
      values = with_values ? layout.add(n, sizeof(carried)) : 0;
      bins  = layout.add(digits * radix_size, sizeof(std::uint64_t)); // from here to next_bins, cleared before the sort
      found = layout.add(1, sizeof(findings));
      tickets   = layout.add(launches * digits, sizeof(std::uint32_t));
      next_bins = layout.add(2 * radix_size, sizeof(std::uint64_t));
      status    = layout.add(status_words, sizeof(std::uint32_t));
    }
  };

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

    constexpr bool is_float = plan_type::is_float;
    constexpr int digits    = plan_type::digits;

    plan_type const plan(n);
    auto const order = make_key_order<Key, Compare>();
    if (plan.one_tile)
    {
      constexpr bool small = true;
      n <= tile_sort<bits, is_float, carried, small>::tile
        ? sort_in_one_block<is_float, small>(
            stream, order, reinterpret_cast<bits*>(keys), reinterpret_cast<carried*>(values), n)
        : sort_in_one_block<is_float, !small>(
            stream, order, reinterpret_cast<bits*>(keys), reinterpret_cast<carried*>(values), n);
      return;
    }

    void* const base    = plan.layout.base(scratch);
    auto* const bins    = runtime::at_offset<std::uint64_t>(base, plan.bins);
    auto* const found   = runtime::at_offset<findings>(base, plan.found);
    auto* const tickets = runtime::at_offset<std::uint32_t>(base, plan.tickets);
    auto* const next    = runtime::at_offset<std::uint64_t>(base, plan.next_bins);
    auto* const status  = runtime::at_offset<std::uint32_t>(base, plan.status);
    buffers<bits, carried> const at{
      {reinterpret_cast<bits*>(keys), runtime::at_offset<bits>(base, plan.keys)},
      {reinterpret_cast<carried*>(values), runtime::at_offset<carried>(base, plan.values)}};

    runtime::check(cudaMemsetAsync(bins, 0, plan.next_bins - plan.bins, stream), "gpusort: radix_sort: clear counters");

    int const rows        = rows_for(n, histogram_threads, histogram_items(sizeof(bits)));
    int const copies_log2 = histogram_copies_log2(digits);
    runtime::launch(
      count_digits<bits, is_float>,
      {resident_blocks(n, histogram_threads * rows),
       histogram_threads,
       (std::size_t{digits} * radix_size * sizeof(std::uint32_t)) << copies_log2},
      stream,
      at.keys[0],
      n,
      order,
      plan_type::with_values,
      rows,
      copies_log2,
      bins,
      found,
      status,
      plan.status_words);

    std::size_t launch = 0;
    for (int d = 0; d < digits; ++d)
    {
      for (std::size_t part = 0; part < plan.launches; ++part, ++launch)
      {
        std::size_t const begin = part * plan_type::launch_elements;
        std::size_t const size  = n - begin < plan_type::launch_elements ? n - begin : plan_type::launch_elements;

        block::partition_work work{};
        work.segment_count = 1;
        work.bucket_begin  = part == 0 ? bins + d * radix_size : next + part % 2 * radix_size;
        work.bucket_next   = part + 1 < plan.launches ? next + (part + 1) % 2 * radix_size : nullptr;
        work.status        = status;
        work.ticket        = tickets + launch;
        work.tile          = plan.tile;
        if (plan.launches > 1 && launch > 0)
        {
          runtime::check(cudaMemsetAsync(status, 0, plan.status_words * sizeof(std::uint32_t), stream),
                         "gpusort: radix_sort: clear look-back");
        }
        runtime::launch(
          scatter_digits<bits, is_float, carried>,
          {runtime::blocks_for(size, plan.tile), partition::threads, sizeof(typename partition::shared_storage)},
          stream,
          digit_of<bits, is_float>{order, d},
          static_cast<findings const*>(found),
          work,
          block::segment{begin, size, 0},
          n,
          at);
      }
    }
    runtime::launch(bring_home<bits, carried>,
                    {resident_blocks(n, home_threads * moved_at_once), home_threads},
                    stream,
                    static_cast<findings const*>(found),
                    n,
                    at);
  }

private:
  template <bool IsFloat, bool Small, class Bits, class Value>
  static void sort_in_one_block(
    cudaStream_t stream, key_order<Bits, IsFloat> const& order, Bits* keys, Value* values, std::size_t n)
  {
    using sorter = tile_sort<Bits, IsFloat, Value, Small>;
    runtime::launch(sort_one_tile<Bits, IsFloat, Value, Small>,
                    {1, sorter::threads, sizeof(tile_storage<Bits, IsFloat, Value, Small>)},
                    stream,
                    keys,
                    values,
                    static_cast<int>(n),
                    order);
  }

  /// Blocks for a kernel whose blocks go on until nothing is left: enough to fill the device, no more than there is work.
  static std::size_t resident_blocks(std::size_t n, std::size_t per_block)
  {
    int device = 0, processors = 0;
    runtime::check(cudaGetDevice(&device), "gpusort: current device");
    runtime::check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
                   "gpusort: processor count");
    std::size_t const full = static_cast<std::size_t>(processors) * resident_blocks_per_sm;
    std::size_t const work = runtime::blocks_for(n, per_block);
    return work < full ? work : full;
  }
};

} // namespace gpusort::radix
