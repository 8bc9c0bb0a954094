// Radix sort on the GPU, least significant digit first: one kernel counts, one a digit moves.
// Source: Satish, Harris and Garland, section IV; one read and one write a digit after Adinets and Merrill's onesweep.
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

    std::size_t launches; // a digit
    std::size_t status_words;
    std::size_t tickets;
    std::size_t keys, values, bins, next_bins, counters, status;
    runtime::layout layout;

    explicit plan(std::size_t n)
    {
      std::size_t const elements = n < launch_elements ? n : launch_elements;
      launches                   = runtime::blocks_for(n, launch_elements);
      status_words               = runtime::blocks_for(elements, partition::tile) * radix_size;
      tickets                    = launches * digits;

      keys      = layout.add(n, sizeof(bits));
      values    = with_values ? layout.add(n, sizeof(carried)) : 0;
      bins      = layout.add(digits * radix_size, sizeof(std::uint64_t));
      counters  = layout.add(tickets + 1, sizeof(std::uint32_t)); // the first counts finished blocks
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
    void* const base    = plan.layout.base(scratch);
    auto const order    = make_key_order<Key, Compare>();
    auto* const bins    = runtime::at_offset<std::uint64_t>(base, plan.bins);
    auto* const next    = runtime::at_offset<std::uint64_t>(base, plan.next_bins);
    auto* const counter = runtime::at_offset<std::uint32_t>(base, plan.counters);
    auto* const status  = runtime::at_offset<std::uint32_t>(base, plan.status);

    bits* keys_at[2]      = {reinterpret_cast<bits*>(keys), runtime::at_offset<bits>(base, plan.keys)};
    carried* values_at[2] = {reinterpret_cast<carried*>(values), runtime::at_offset<carried>(base, plan.values)};

    runtime::check(cudaMemsetAsync(bins, 0, plan.next_bins - plan.bins, stream), "gpusort: radix_sort: clear counters");

    int const copies_log2 = histogram_copies_log2(digits);
    runtime::launch(
      count_digits<bits, is_float>,
      {histogram_blocks(n),
       histogram_threads,
       (std::size_t{digits} * radix_size * sizeof(std::uint32_t)) << copies_log2},
      stream,
      keys_at[0],
      n,
      order,
      copies_log2,
      bins,
      counter,
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
        work.ticket        = counter + 1 + launch;
        // Launches over the same tiles take turns with the look-back's states; after one over other tiles the words
        // are cleared.
        work.epoch = plan.launches == 1 ? d % 2 : 0;
        if (plan.launches > 1 && launch > 0)
        {
          runtime::check(cudaMemsetAsync(status, 0, plan.status_words * sizeof(std::uint32_t), stream),
                         "gpusort: radix_sort: clear look-back");
        }
        runtime::launch(
          scatter_digits<bits, is_float, carried>,
          {runtime::blocks_for(size, partition::tile),
           partition::warps * 32,
           sizeof(typename partition::shared_storage)},
          stream,
          digit_of<bits, is_float>{order, d},
          work,
          block::segment{begin, size, 0},
          keys_at[d % 2],
          keys_at[(d + 1) % 2],
          values_at[d % 2],
          values_at[(d + 1) % 2]);
      }
    }
    if (digits % 2 != 0)
    {
      runtime::check(cudaMemcpyAsync(keys_at[0], keys_at[1], n * sizeof(bits), cudaMemcpyDeviceToDevice, stream),
                     "gpusort: radix_sort: copy of the keys");
      if constexpr (plan_type::with_values)
      {
        runtime::check(
          cudaMemcpyAsync(values_at[0], values_at[1], n * sizeof(carried), cudaMemcpyDeviceToDevice, stream),
          "gpusort: radix_sort: copy of the values");
      }
    }
  }

private:
  /// Enough blocks to fill the device, no more than there is work for.
  static std::size_t histogram_blocks(std::size_t n)
  {
    int device = 0, processors = 0;
    runtime::check(cudaGetDevice(&device), "gpusort: current device");
    runtime::check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
                   "gpusort: processor count");
    std::size_t const full = static_cast<std::size_t>(processors) * histogram_blocks_per_sm;
    std::size_t const work = runtime::blocks_for(n, histogram_threads * histogram_items);
    return work < full ? work : full;
  }
};

} // namespace gpusort::radix
