// Radix sort on the GPU, most significant bits first: keys are split by the value of their rank, one read and one write a
// level, until the buckets fit a block, which sorts them.
// Source: Satish, Harris and Garland, section III; the splits after Merrill and Garland, and Adinets and Merrill's onesweep.
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
    using bits                     = bits_t<Key>;
    using carried                  = typename carried_value<Value>::type;
    static constexpr bool is_float = kind_of<Key>() == key_kind::floating_point;
    using job                      = sort_job<bits, is_float, carried>;
    using partition                = split_partition<bits, is_float, carried>;

    bool small; // the blocks that sort
    bool one_block; // no scratch, no other member means anything
    int tile                 = 0; // elements, of a split
    bool wide                = false;
    bool two_levels          = false;
    std::size_t tiles        = 0; // of the input
    std::size_t max_segments = 0;
    std::size_t keys = 0, values = 0;
    std::size_t done = 0, states[2] = {}, bins[2] = {}; // from done to bins[0], cleared before the sort
    std::size_t segments[2] = {}, status = 0, status_bytes = 0, waiting = 0, buckets = 0;
    runtime::layout layout;

    explicit plan(std::size_t n)
        : small(!has_room<bits, is_float, carried, false>())
        , one_block(n <= static_cast<std::size_t>(block_sort_tile(small)))
    {
      if (one_block)
      {
        return;
      }
      tile         = partition::threads * rows_for(n, partition::threads, partition::tile / partition::threads);
      wide         = n > block::look_back<std::uint32_t>::max_count;
      two_levels   = n > one_level_elements(small);
      tiles        = runtime::blocks_for(n, tile);
      max_segments = max_segments_for(n, two_levels);
      status_bytes = (tiles + max_segments) * radix_size * (wide ? sizeof(std::uint64_t) : sizeof(std::uint32_t));

      // Segments that wait are disjoint and fill more than a block.
      std::size_t const most_waiting = n / static_cast<std::size_t>(block_sort_tile(small)) + 1;
      // Of buckets that are noted together or alone, two that follow each other fill a share, but for those at the edges
      // of segments.
      constexpr std::size_t levels   = sampled_levels + key_order<bits, is_float>::digits;
      std::size_t const most_buckets = 2 * (n >> share_log2_for(n, small)) + 3 * levels * most_waiting;

      keys        = layout.add(n, sizeof(bits));
      values      = job::with_values ? layout.add(n, sizeof(carried)) : 0;
      done        = layout.add(1, sizeof(progress));
      states[0]   = layout.add(1, sizeof(segment_state<bits>));
      bins[0]     = layout.add(radix_size, sizeof(std::uint64_t));
      segments[0] = layout.add(1, sizeof(block::segment));
      states[1]   = layout.add(max_segments, sizeof(segment_state<bits>));
      bins[1]     = layout.add(max_segments * radix_size, sizeof(std::uint64_t));
      segments[1] = layout.add(max_segments, sizeof(block::segment));
      status      = layout.add(status_bytes, 1);
      waiting     = layout.add(most_waiting, sizeof(waiting_segment));
      buckets     = layout.add(most_buckets, sizeof(bucket));
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

    constexpr bool is_float = plan_type::is_float;

    plan_type const plan(n);
    auto const order = make_key_order<Key, Compare>();
    if (plan.one_block)
    {
      auto* const key_bits = reinterpret_cast<bits*>(keys);
      auto* const moved    = reinterpret_cast<carried*>(values);
      with_shape<bits, is_float, carried>(plan.small, [&](auto small) {
        runtime::launch(
          sort_one_tile<bits, is_float, carried, decltype(small)::value>,
          {1, block_sort_shape(small).threads, sort_room<bits, is_float, carried, decltype(small)::value>()},
          stream,
          key_bits,
          moved,
          static_cast<int>(n),
          order);
      });
      return;
    }

    void* const base = plan.layout.base(scratch);
    typename plan_type::job job{};
    job.keys[0]      = reinterpret_cast<bits*>(keys);
    job.keys[1]      = runtime::at_offset<bits>(base, plan.keys);
    job.values[0]    = reinterpret_cast<carried*>(values);
    job.values[1]    = runtime::at_offset<carried>(base, plan.values);
    job.n            = n;
    job.order        = order;
    job.tile         = plan.tile;
    job.wide         = plan.wide;
    job.two_levels   = plan.two_levels;
    job.largest      = static_cast<unsigned>(block_sort_tile(plan.small));
    job.share_log2   = share_log2_for(n, plan.small);
    job.max_segments = static_cast<std::uint32_t>(plan.max_segments);
    job.done         = runtime::at_offset<progress>(base, plan.done);
    for (int list = 0; list < 2; ++list)
    {
      job.segments[list] = runtime::at_offset<block::segment>(base, plan.segments[list]);
      job.states[list]   = runtime::at_offset<segment_state<bits>>(base, plan.states[list]);
      job.bins[list]     = runtime::at_offset<std::uint64_t>(base, plan.bins[list]);
    }
    job.status       = runtime::at_offset<void>(base, plan.status);
    job.status_bytes = plan.status_bytes;
    job.waiting      = runtime::at_offset<waiting_segment>(base, plan.waiting);
    job.buckets      = runtime::at_offset<bucket>(base, plan.buckets);

    runtime::check(cudaMemsetAsync(job.done, 0, plan.segments[0] - plan.done, stream),
                   "gpusort: radix_sort: clear counters");
    sort_by_buckets(stream, job, plan.tiles, plan.small);
  }

private:
  /// Shared memory that a block needs to sort.
  template <class Bits, bool IsFloat, class Value, bool Small>
  static constexpr std::size_t sort_room()
  {
    using sorter = bucket_sort<Bits, IsFloat, Value, Small>;
    return sizeof(typename sorter::shared_storage) > sizeof(typename sorter::digit_storage)
           ? sizeof(typename sorter::shared_storage)
           : sizeof(typename sorter::digit_storage);
  }

  /// Whether the device has it. All devices have some.
  template <class Bits, bool IsFloat, class Value, bool Small>
  static bool has_room()
  {
    constexpr std::size_t needed = sort_room<Bits, IsFloat, Value, Small>();
    if constexpr (needed <= runtime::least_shared_bytes)
    {
      return true;
    }
    int device = 0, most = 0;
    runtime::check(cudaGetDevice(&device), "gpusort: current device");
    runtime::check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
                   "gpusort: shared memory of the device");
    return static_cast<std::size_t>(most) >= needed;
  }

  /// Calls f with the shape that the device has room for, as a constant; most types compile one only.
  template <class Bits, bool IsFloat, class Value, class F>
  static void with_shape(bool small, F f)
  {
    if constexpr (sort_room<Bits, IsFloat, Value, false>() > runtime::least_shared_bytes)
    {
      if (small)
      {
        f(std::true_type{});
        return;
      }
    }
    f(std::false_type{});
  }

  template <class Bits, bool IsFloat, class Value>
  static void
  sort_by_buckets(cudaStream_t stream, sort_job<Bits, IsFloat, Value> const& job, std::size_t tiles, bool small)
  {
    using partition = split_partition<Bits, IsFloat, Value>;

    constexpr std::size_t split_bytes   = sizeof(typename partition::shared_storage);
    constexpr std::size_t waiting_bytes = sizeof(typename waiting_partition<Bits, IsFloat, Value>::shared_storage);
    constexpr std::size_t look_bytes    = sizeof(look_storage<Bits, waiting_threads>);

    std::size_t const processors = multiprocessors();
    std::size_t const looking    = processors * look_blocks_per_sm;
    for (int list = 0; list <= (job.two_levels ? 1 : 0); ++list)
    {
      std::size_t const most_tiles = list == 0 ? tiles : tiles + radix_size;
      runtime::launch(look_at_segments<Bits, IsFloat, Value>,
                      {most_tiles < looking ? most_tiles : looking, look_threads},
                      stream,
                      job,
                      list);
      runtime::launch(
        split_segments<Bits, IsFloat, Value>, {most_tiles, partition::threads, split_bytes}, stream, job, list);
    }
    runtime::launch(split_waiting<Bits, IsFloat, Value>,
                    {processors, waiting_threads, waiting_bytes > look_bytes ? waiting_bytes : look_bytes},
                    stream,
                    job);

    std::size_t const sorting = processors * block_sorts_per_sm(sizeof(Bits), value_bytes_v<Value>);
    std::size_t const shares  = (job.n >> job.share_log2) + radix_size;
    std::size_t const blocks  = shares < sorting ? shares : sorting;
    with_shape<Bits, IsFloat, Value>(small, [&](auto small) {
      using sorter = bucket_sort<Bits, IsFloat, Value, decltype(small)::value>;
      runtime::launch(sort_buckets<Bits, IsFloat, Value, decltype(small)::value>,
                      {blocks, sorter::threads, sizeof(typename sorter::shared_storage)},
                      stream,
                      job);
      runtime::launch(sort_crowded_buckets<Bits, IsFloat, Value, decltype(small)::value>,
                      {blocks, sorter::threads, sizeof(typename sorter::digit_storage)},
                      stream,
                      job);
    });
  }

  static std::size_t multiprocessors()
  {
    int device = 0, processors = 0;
    runtime::check(cudaGetDevice(&device), "gpusort: current device");
    runtime::check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
                   "gpusort: processor count");
    return static_cast<std::size_t>(processors);
  }
};

} // namespace gpusort::radix
