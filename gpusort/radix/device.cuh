// Radix sort on the GPU: by the blocks of a cluster that search each other's shares, in one block, one cluster or one wave of blocks, if it fits; else keys of one or two bytes alone by
// counting, others by buckets of the most significant bits, or of equal shares of a sample, which blocks sort; or, where that cannot be or buckets would be
// too uneven, digit by digit, the least significant first, unless somebody else sorts what is uneven in many digits. Which of these, is decided on the device.
// Source: Satish, Harris and Garland, section III; one read and one write a digit after Adinets and Merrill's onesweep.
#pragma once

#include <gpusort/radix/by_buckets.cuh>
#include <gpusort/radix/by_counts.cuh>
#include <gpusort/radix/by_curve.cuh>
#include <gpusort/radix/by_digits.cuh>
#include <gpusort/radix/by_search.cuh>
#include <gpusort/radix/glance.cuh>
#include <gpusort/radix/key_order.h>
#include <gpusort/radix/moves.cuh>
#include <gpusort/radix/one_wave.cuh>
#include <gpusort/radix/tuning.h>
#include <gpusort/runtime/launch.cuh>
#include <gpusort/runtime/layout.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::radix
{

/// Nobody else sorts uneven keys.
struct no_uneven_keys
{
  template <class Key, class Value>
  static constexpr sizes_to_leave sizes{0, 0};
};

/// Radix sort, but for keys that it leaves to `Uneven`, which says of how many elements it takes them: as hybrid::uneven_keys does, which this
/// folder may not include. Stable.
template <class Uneven>
struct device_with
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

    // Whether keys are counted and written anew; otherwise they move.
    static constexpr bool counts = sizeof(bits) <= 2 && !with_values;
    // Whether one block counts what fits it, in place of sorting it by bins.
    static constexpr bool counts_in_block = counts && sizeof(bits) == 1;
    static constexpr bool can_have_long   = has_long_buckets(sizeof(bits), value_bytes_v<carried>);
    static constexpr bool can_be_counted  = has_counted_buckets(sizeof(bits), value_bytes_v<carried>); // long ones
    static constexpr bool may_be_wave     = has_wave(sizeof(bits), value_bytes_v<carried>);
    static constexpr bool lists           = lists_crowded(sizeof(bits), value_bytes_v<carried>);
    static constexpr bool may_be_curve    = has_curve(sizeof(bits));
    static constexpr bool may_leave       = Uneven::template sizes<Key, carried>.most != 0;

    // Elements of one launch: as many whole tiles as the look-back can count.
    static constexpr std::size_t part_elements = block::look_back::max_count / partition::tile * partition::tile;
    // A digit that all keys have alike is no pass, so no count is as large as the input.
    static constexpr std::size_t most_in_one_part = std::size_t{block::look_back::max_count} + 1;
    static constexpr std::size_t most_in_long     = most_in_long_buckets(sizeof(bits), value_bytes_v<carried>);
    static constexpr std::size_t mean_long        = mean_long_bucket(sizeof(bits), value_bytes_v<carried>);
    static_assert(most_in_long <= most_in_one_part, "levels of such buckets are one launch each");
    static_assert(!can_be_counted || can_have_long);
    static_assert(!can_be_counted || pass_shape_v<bits, carried>.bucket_blocks > 0,
                  "only moves to buckets alone come in parts");

    bool one_block; // on every device; no scratch, no other member means anything
    int buckets_log2      = 0; // 0: never by buckets
    int curve_log2        = 0; // of buckets by a curve; 0: there is none
    bool long_by_curve    = false; // those are for blocks that sort long ones
    bool only_long        = false; // buckets; otherwise others as well
    bool counts_buckets   = false; // which then are of no other kind
    bool in_wave          = false; // if blocks have room for it
    bool in_long_wave     = false; // that is a long one
    bool leaves           = false; // uneven keys, if blocks have room for buckets
    int tile              = 0; // elements, of a pass
    std::size_t part_size = 0; // elements of a launch
    std::size_t tiles     = 0; // of a launch
    std::size_t parts     = 0; // of the input: launches of a pass
    std::size_t spare     = 0; // tiles of a second level
    std::size_t keys = 0, values = 0;
    std::size_t sizes = 0, bins = 0, found = 0, tickets = 0; // from here to status, cleared before the sort
    std::size_t status = 0, next_bins = 0, begins = 0, listed = 0, stretches = 0, curve = 0;
    std::size_t starts = 0, seen_in_tiles = 0, repeats = 0; // of one wave
    // Or, where keys are counted:
    std::size_t value_counts = 0, rank_sums = 0, zero_sums = 0, zero_signs = 0; // cleared before the sort
    runtime::layout layout;

    explicit plan(std::size_t n)
        : one_block(n <= most_in_block())
    {
      if (one_block)
      {
        return;
      }
      if constexpr (counts)
      {
        add_counts(n);
      }
      else
      {
        add_moves(n);
      }
    }

    void add_counts(std::size_t n)
    {
      keys         = layout.add(n <= most_in_cluster(most_cluster_blocks) && !counts_in_block ? n : 0, sizeof(bits));
      value_counts = layout.add(count_words<bits>(n), sizeof(std::uint64_t));
      if constexpr (sizeof(bits) == 2)
      {
        rank_sums  = layout.add(1, sizeof(handed_on<rank_blocks<bits>>));
        zero_sums  = layout.add(is_float ? 1 : 0, sizeof(handed_on<zero_blocks>));
        zero_signs = layout.add(is_float ? (n + 31) / 32 : 0, sizeof(std::uint32_t));
        begins     = layout.add(rank_words<bits>(n), sizeof(std::uint64_t));
      }
    }

    void add_moves(std::size_t n)
    {
      bool by_buckets = has_buckets(sizeof(bits)) && n <= most_in_buckets;
      if constexpr (can_have_long)
      {
        only_long      = !by_buckets && n <= most_in_long;
        counts_buckets = can_be_counted && !by_buckets && !only_long && n <= most_in_counted_buckets;
        by_buckets     = by_buckets || only_long || counts_buckets;
      }
      in_wave          = may_be_wave && n <= most_in_long_wave(sizeof(bits), value_bytes_v<carried>);
      in_long_wave     = in_wave && n > most_in_wave(sizeof(bits), value_bytes_v<carried>);
      buckets_log2     = !by_buckets    ? 0
                       : counts_buckets ? most_buckets_log2
                                        : buckets_log2_for(n, only_long ? mean_long : mean_bucket);
      int const blocks = blocks_of_small_pass(sizeof(bits), value_bytes_v<carried>);
      tile      = partition::threads * rows_for(n, partition::threads, partition::tile / partition::threads, blocks);
      part_size = n <= most_in_one_part ? n : part_elements;
      tiles     = runtime::blocks_for(part_size, static_cast<std::size_t>(tile));
      parts     = runtime::blocks_for(n, part_size);
      spare     = buckets_log2 > digit_bits ? radix_size : 0;

      if constexpr (may_be_curve)
      {
        if (by_buckets && spare > 0) // as many levels
        {
          curve_log2    = std::max(buckets_log2, buckets_log2_for(n, mean_bucket_by_curve));
          long_by_curve = can_have_long && lists && !only_long && n >> curve_log2 > mean_bucket_by_curve;
        }
      }
      std::size_t const buckets = by_buckets ? std::size_t{1} << std::max(buckets_log2, curve_log2) : 0;
      std::size_t const words   = (tiles + spare) * radix_size;
      keys                      = layout.add(n, sizeof(bits));
      values                    = with_values ? layout.add(n, sizeof(carried)) : 0;
      sizes                     = layout.add(buckets, sizeof(std::uint32_t));
      bins                      = layout.add(digits * radix_size, sizeof(std::uint64_t));
      found                     = layout.add(1, sizeof(findings<bits>));
      tickets                   = layout.add(digits, sizeof(std::uint32_t));
      // The starts of a wave's tiles share room with look-back words, which are cleared when the wave is over.
      auto const wave_tile    = static_cast<std::size_t>(wave_tile_for(n, sizeof(bits), value_bytes_v<carried>));
      std::size_t const wave  = in_wave ? runtime::blocks_for(n, wave_tile) : 0;
      std::size_t const notes = wave * radix_size * sizeof(std::uint16_t);
      // So does what sorts keys that are left to it, which nothing has moved.
      std::size_t others = 0;
      if constexpr (may_leave)
      {
        constexpr sizes_to_leave sizes = Uneven::template sizes<Key, carried>;
        leaves                         = by_buckets && !in_wave && n >= sizes.least && n <= sizes.most;
        others                         = leaves ? Uneven::template scratch_bytes<Key, carried>(n) : 0;
      }
      status        = layout.add(1, std::max({words * sizeof(std::uint32_t), notes, others}));
      starts        = status;
      next_bins     = layout.add(2 * radix_size, sizeof(std::uint64_t));
      begins        = layout.add(buckets + 1, sizeof(std::uint64_t));
      listed        = layout.add(only_long || counts_buckets ? 0 : buckets, sizeof(std::uint32_t));
      stretches     = layout.add(spare, sizeof(block::segment));
      curve         = layout.add(curve_log2 != 0 ? curve_cells : 0, sizeof(curve_cell));
      seen_in_tiles = layout.add(wave, sizeof(std::uint32_t));
      repeats       = layout.add(in_wave ? radix_size / 32 : 0, sizeof(std::uint32_t));
    }

    /// Most elements that one block sorts on every device.
    static constexpr std::size_t most_in_block()
    {
      return counts_in_block ? most_bytes_in_block : tile_of(whole());
    }

    /// Blocks that sort whole inputs: medium ones, if every device has room for them.
    static constexpr sort_class whole()
    {
      return medium_bytes() <= runtime::least_shared_bytes ? sort_class::medium : sort_class::small;
    }

    static constexpr std::size_t tile_of(sort_class c)
    {
      return static_cast<std::size_t>(sort_tile_for(sizeof(bits), value_bytes_v<carried>, c));
    }

    /// Both pairs of arrays.
    buffers<bits, carried> with_spare(void* base, buffers<bits, carried> at) const
    {
      at.keys[1]   = runtime::at_offset<bits>(base, keys);
      at.values[1] = runtime::at_offset<carried>(base, values);
      return at;
    }

    /// Whether a device whose blocks can have `room` has those that sort long buckets.
    static constexpr bool sorts_long(std::size_t room)
    {
      return can_have_long && bytes_of<sort_class::long_bucket>() <= room;
    }

    static constexpr bool sorts_counted(std::size_t room)
    {
      return can_be_counted && bytes_of<sort_class::counted_bucket>() <= room;
    }

    /// Whether some buckets of this input may be long. Not if others are listed because they are crowded.
    bool has_long(std::size_t room) const
    {
      return sorts_long(room) && !counts_buckets && (only_long || !lists);
    }

    /// Whether it has what the buckets of this input take: crowded ones, too.
    bool sorts_buckets(std::size_t room) const
    {
      return buckets_log2 > 0
          && (counts_buckets ? sorts_counted(room)
              : only_long    ? sorts_long(room)
                             : bytes_of<sort_class::bucket>() <= room);
    }

    /// The most keys of a bucket that is not long, and of any.
    static constexpr int most_in_short_bucket()
    {
      return most_of<sort_class::bucket>();
    }
    static constexpr int most_in_bucket(bool with_long)
    {
      return with_long ? most_of<sort_class::long_bucket>() : most_of<sort_class::bucket>();
    }

    /// Shared memory of medium blocks.
    static constexpr std::size_t medium_bytes()
    {
      return sizeof(block_sort_storage<bits, is_float, carried, sort_class::medium>);
    }

  private:
    template <sort_class Class>
    static constexpr int most_of()
    {
      if constexpr (lists)
      {
        return static_cast<int>(tile_of(Class));
      }
      else
      {
        return bucket_sort<bits, is_float, Class, carried>::most;
      }
    }

    template <sort_class Class>
    static constexpr std::size_t bytes_of()
    {
      if constexpr ((Class == sort_class::long_bucket && !can_have_long)
                    || (Class == sort_class::counted_bucket && !can_be_counted))
      {
        return 0; // there are none
      }
      else if constexpr (lists && Class == sort_class::bucket)
      {
        return std::max(sizeof(block_sort_storage<bits, is_float, carried, Class>), medium_bytes());
      }
      else
      {
        return sizeof(typename bucket_sort<bits, is_float, Class, carried>::shared_storage);
      }
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
    std::size_t const others =
      sizeof(look_storage<Bits>) + (has_curve(sizeof(Bits)) ? sizeof(curve_cell) * curve_cells : 0);
    while (bytes + others + 64 > room && bytes > 1)
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

    plan_type const plan(n);
    auto const order = make_key_order<Key, Compare>();
    buffers<bits, carried> at{{reinterpret_cast<bits*>(keys)}, {reinterpret_cast<carried*>(values)}};
    std::size_t const room = plan.one_block ? runtime::least_shared_bytes : runtime::shared_bytes_of_device();
    void* const base       = plan.layout.base(scratch);
    if constexpr (plan_type::counts_in_block)
    {
      if (plan.one_block)
      {
        runtime::launch(
          sort_bytes_in_block<bits>, {1, count_threads, sizeof(bytes_in_block_storage)}, stream, at.keys[0], n, order);
        return;
      }
    }
    else if (sort_together(stream, order, plan, base, room, n, at))
    {
      return;
    }
    if constexpr (plan_type::counts)
    {
      count(stream, order, plan, base, room, n, at.keys[0]);
    }
    else
    {
      move(stream, order, plan, base, room, n, at);
      if constexpr (plan_type::may_leave)
      {
        if (plan.leaves && looks_for_buckets(plan, room))
        {
          auto const* const found = runtime::at_offset<findings<bits>>(base, plan.found);
          Uneven::template sort<Key, Compare>(
            stream, runtime::at_offset<void>(base, plan.status), plan.with_spare(base, at), n, &found->verdict);
        }
      }
    }
  }

private:
  /// Sorts what one block or one cluster can sort. Returns false if that is not all.
  template <class Plan, bool IsFloat, class Bits, class Value>
  static bool sort_together(cudaStream_t stream,
                            key_order<Bits, IsFloat> const& order,
                            Plan const& plan,
                            void* base,
                            std::size_t room,
                            std::size_t n,
                            buffers<Bits, Value> const& at)
  {
    if (search(stream, order, n, at))
    {
      return true;
    }
    findings<Bits>* const none = nullptr;
    if (n <= Plan::tile_of(Plan::whole()))
    {
      sort_blocks<IsFloat, Plan::whole()>(stream, order, 1, none, {}, n, 0, at);
      return true;
    }
    if (Plan::medium_bytes() > room)
    {
      return false;
    }
    if constexpr (Plan::whole() != sort_class::medium)
    {
      if (n <= Plan::tile_of(sort_class::medium))
      {
        sort_blocks<IsFloat, sort_class::medium>(stream, order, 1, none, {}, n, 0, at);
        return true;
      }
    }
    constexpr std::size_t before_wave = most_before_wave(sizeof(Bits));
    static_assert(!Plan::may_be_wave || before_wave <= most_in_cluster(runtime::portable_cluster));
    bool const has_wave = has_room_for_wave<IsFloat, Bits, Value>(plan, room);
    for (unsigned const cluster : cluster_blocks)
    {
      if (n <= (has_wave ? before_wave : most_in_cluster(cluster))
          && runtime::can_launch_cluster(sort_in_blocks<Bits, IsFloat, Value, sort_class::medium>,
                                         shape_of_sort<Bits, IsFloat, Value, sort_class::medium>(cluster, cluster),
                                         stream))
      {
        sort_blocks<IsFloat, sort_class::medium>(
          stream, order, cluster, none, {}, n, 0, plan.with_spare(base, at), cluster);
        return true;
      }
    }
    return false;
  }

  /// Sorts by the blocks of a cluster that search each other's shares. Returns false if there are too many elements, or no such clusters.
  template <bool IsFloat, class Bits, class Value>
  static bool
  search(cudaStream_t stream, key_order<Bits, IsFloat> const& order, std::size_t n, buffers<Bits, Value> const& at)
  {
    auto const kernel = sort_by_search<Bits, IsFloat, Value>;
    using storage     = search_storage<Bits>;
    if (n > std::size_t{most_cluster_blocks} * storage::threads)
    {
      return false;
    }
    std::size_t const room = std::min(sizeof(storage), runtime::shared_bytes_of_device());
    for (unsigned blocks = search_blocks_for(n); blocks != 0;
         blocks          = blocks > runtime::portable_cluster ? runtime::portable_cluster : 0)
    {
      std::size_t const share = runtime::blocks_for(n, blocks);
      if (share <= storage::threads)
      {
        int const threads = static_cast<int>((share + 31) / 32 * 32);
        runtime::launch_shape const shape{blocks, threads, storage::bytes_for(threads, blocks), room, blocks};
        if (runtime::can_launch_cluster(kernel, shape, stream))
        {
          runtime::launch(kernel, shape, stream, order, n, share, at.keys[0], at.values[0]);
          return true;
        }
      }
    }
    return false;
  }

  /// Counts keys and writes them anew.
  template <class Plan, bool IsFloat, class Bits>
  static void count(cudaStream_t stream,
                    key_order<Bits, IsFloat> const& order,
                    Plan const& plan,
                    void* base,
                    std::size_t room,
                    std::size_t n,
                    Bits* keys)
  {
    value_counts const counts{runtime::at_offset<std::uint64_t>(base, plan.value_counts), counts_in_halves(n)};
    std::size_t const cleared_end =
      sizeof(Bits) == 2 ? plan.begins : plan.value_counts + count_words<Bits>(n) * sizeof(std::uint64_t);
    runtime::check(cudaMemsetAsync(counts.words, 0, cleared_end - plan.value_counts, stream),
                   "gpusort: radix_sort: clear counts");

    std::size_t const vectors    = key_vectors<Bits>(keys, n).count();
    std::size_t const processors = runtime::multiprocessors();
    int const rows               = count_rows_for(vectors, processors);
    int const words_log2         = count_words_log2(room);
    std::size_t const chunks     = runtime::blocks_for(vectors, static_cast<std::size_t>(count_threads) * rows);
    constexpr bool bytes         = sizeof(Bits) == 1;
    runtime::launch(
      bytes || words_log2 == 15 ? count_keys<Bits, true> : count_keys<Bits, bytes>,
      {std::min(chunks, processors), count_threads, bytes ? byte_tally::bytes : std::size_t{4} << words_log2},
      stream,
      keys,
      n,
      rows,
      words_log2,
      counts);
    using writer              = rank_writer<Bits, IsFloat, write_threads, write_rows>;
    std::size_t const writers = std::min(writer::tiles_of({keys, n}), processors * write_blocks_per_sm);
    if constexpr (bytes)
    {
      runtime::launch(write_bytes<Bits>, {writers, write_threads}, stream, keys, n, order, counts);
    }
    else
    {
      rank_begins const begins{runtime::at_offset<void>(base, plan.begins), counts_in_halves(n)};
      zero_signs const signs{runtime::at_offset<std::uint32_t>(base, plan.zero_signs),
                             runtime::at_offset<handed_on<zero_blocks>>(base, plan.zero_sums)};
      runtime::launch(begin_ranks<Bits, IsFloat>,
                      {rank_blocks<Bits>, rank_threads},
                      stream,
                      order,
                      counts,
                      n,
                      begins,
                      runtime::at_offset<handed_on<rank_blocks<Bits>>>(base, plan.rank_sums));
      if constexpr (IsFloat)
      {
        runtime::launch(list_signs<Bits>, {zero_blocks, zero_threads}, stream, keys, n, order, begins, signs);
      }
      runtime::launch(write_ranked<Bits, IsFloat>, {writers, write_threads}, stream, keys, n, order, begins, signs);
    }
  }

  /// Whether the input may be sorted by buckets, if it is not sorted in a wave.
  template <class Plan>
  static bool looks_for_buckets(Plan const& plan, std::size_t room)
  {
    return plan.sorts_buckets(room) && look_bytes(plan.buckets_log2) <= most_look_bytes<typename Plan::bits>(room);
  }

  /// Moves keys and values, by buckets or digit by digit.
  template <class Plan, bool IsFloat, class Bits, class Value>
  static void move(cudaStream_t stream,
                   key_order<Bits, IsFloat> const& order,
                   Plan const& plan,
                   void* base,
                   std::size_t room,
                   std::size_t n,
                   buffers<Bits, Value> const& in)
  {
    using partition            = typename Plan::partition;
    constexpr bool with_values = Plan::with_values;
    constexpr int digits       = Plan::digits;

    buffers<Bits, Value> const at = plan.with_spare(base, in);
    bool const by_buckets         = looks_for_buckets(plan, room);
    bool const with_long          = plan.has_long(room); // buckets
    bool const leaves             = by_buckets && plan.leaves;
    int const most_passes         = leaves ? static_cast<int>(least_digits_to_leave) - 1 : digits; // by digits
    static_assert(!Plan::may_leave || least_digits_to_leave <= digits + 1);

    // Of the second level of buckets.
    int const stretch_launches = Plan::can_be_counted ? launches_of_stretches(plan.parts) : 1;

    auto* const sizes = runtime::at_offset<std::uint32_t>(base, plan.sizes);
    auto* const bins  = runtime::at_offset<std::uint64_t>(base, plan.bins);
    auto* const found = runtime::at_offset<findings<Bits>>(base, plan.found);
    // No more buckets than a look can count.
    bool const may_be_curve = by_buckets && look_bytes(plan.curve_log2) <= most_look_bytes<Bits>(room);
    curve_table const curve{may_be_curve ? plan.curve_log2 : 0,
                            plan.long_by_curve && Plan::sorts_long(room),
                            runtime::at_offset<curve_cell>(base, plan.curve)};
    bucket_table const table{
      plan.buckets_log2,
      sizes,
      runtime::at_offset<std::uint64_t>(base, plan.begins),
      runtime::at_offset<std::uint32_t>(base, plan.listed),
      runtime::at_offset<block::segment>(base, plan.stretches),
      static_cast<std::uint32_t>(radix_size / stretch_launches)};
    tiling const work{n,
                      plan.tile,
                      static_cast<std::uint32_t>(plan.tiles),
                      static_cast<std::uint32_t>(by_buckets ? plan.spare : 0),
                      runtime::at_offset<std::uint32_t>(base, plan.status)};
    std::size_t const processors = runtime::multiprocessors();

    bool const in_wave = has_room_for_wave<IsFloat, Bits, Value>(plan, room);
    if constexpr (Plan::may_be_wave)
    {
      static_assert(phases_finish(digits)); // so that the launch of all passes brings home what tiles have
      if (in_wave)
      {
        sort_in_wave(stream, order, plan, base, n, at);
      }
    }
    if (!in_wave)
    {
      runtime::check(cudaMemsetAsync(sizes, 0, plan.status - plan.sizes, stream),
                     "gpusort: radix_sort: clear counters");
    }
    if (n >= least_to_glance)
    {
      constexpr std::size_t step = glance_threads / 32 * glance_chunk<Bits>;
      runtime::launch(glance_at_order<Bits, IsFloat>,
                      {std::min(runtime::blocks_for(n, step), processors * glance_blocks_per_sm), glance_threads},
                      stream,
                      at.keys[0],
                      n,
                      order,
                      with_values,
                      found);
    }
    if constexpr (has_buckets(sizeof(Bits)))
    {
      if (by_buckets && !in_wave)
      {
        int const fits =
          plan.counts_buckets ? static_cast<int>(most_in_counted_bucket(n)) : Plan::most_in_bucket(with_long);
        int const listed_above   = with_long && !plan.only_long ? Plan::most_in_short_bucket() : fits;
        std::size_t const chunks = runtime::blocks_for(n, look_threads * look_items(sizeof(Bits)));
        std::size_t const expected =
          plan.counts_buckets ? most_expected_counted(n)
          : curve.log2 != 0   ? most_expected_or_curve(n, plan.buckets_log2, fits)
                              : most_expected(fits);
        bucket_limits const limits{static_cast<std::uint32_t>(fits),
                                   static_cast<std::uint32_t>(listed_above),
                                   most_in_sample(n, fits),
                                   with_long ? most_expected_evenly(n, plan.buckets_log2) : expected,
                                   expected};
        std::size_t const blocks = std::min(chunks, processors);
        runtime::launch(
          look_at_keys<Bits, IsFloat>,
          {blocks, look_threads, look_bytes(table.buckets_log2), most_look_bytes<Bits>(room)},
          stream,
          at.keys[0],
          order,
          with_values,
          limits,
          table,
          found,
          work);
        if constexpr (Plan::may_be_curve)
        {
          if (curve.log2 != 0)
          {
            int const most = Plan::most_in_bucket(with_long || curve.for_long);
            runtime::launch(
              look_by_curve<Bits, IsFloat>,
              {blocks, look_threads, look_bytes(curve.log2), most_look_bytes<Bits>(room)},
              stream,
              at.keys[0],
              order,
              with_values,
              bucket_limits{static_cast<std::uint32_t>(most),
                            static_cast<std::uint32_t>(curve.for_long ? most : listed_above),
                            most_in_sample(n, most),
                            most_expected_by_curve(most),
                            most_expected_by_curve(most)},
              table,
              curve,
              found,
              work);
            runtime::launch(
              move_by_curve<Bits, IsFloat, Value>,
              {std::min(runtime::blocks_for(n, plan.tile),
                        processors * static_cast<std::size_t>(pass_shape_v<Bits, Value>.blocks)),
               partition::threads,
               sizeof(curve_storage<Bits, IsFloat, Value>)},
              stream,
              order,
              found,
              table,
              curve,
              runtime::at_offset<std::uint32_t>(base, plan.tickets),
              input_part{0, n, 0, true, nullptr},
              work,
              at);
          }
        }
      }
    }

    constexpr bool splits_apart = pass_shape_v<Bits, Value>.bucket_blocks > 0;
    bool const together         = plan.tiles <= tiles_in_one_launch; // all passes by digits

    // The first of passes that are phases of one launch counts digits, too.
    int const phases           = together ? phases_for(most_passes, in_wave) : 1;
    bool const counts_apart    = phases == 1;
    int const counting_threads = counts_apart ? histogram_threads : partition::threads;
    int const rows             = rows_for(n, counting_threads, histogram_items(sizeof(Bits)));
    std::size_t const chunks   = runtime::blocks_for(n, static_cast<std::size_t>(counting_threads) * rows);
    std::size_t const counting_blocks =
      std::min(chunks, processors * (counts_apart ? resident_blocks_per_sm : pass_shape_v<Bits, Value>.blocks));
    digit_counting const counting{
      static_cast<std::uint32_t>(counting_blocks),
      rows,
      counts_apart ? histogram_copies_log2(digits) : copies_for_moves_log2<Bits, IsFloat, Value>(),
      with_values,
      splits_apart && by_buckets && !in_wave && !together && plan.parts == 1,
      leaves};
    if (counts_apart)
    {
      runtime::launch(
        count_digits<Bits, IsFloat>,
        {counting.blocks,
         histogram_threads,
         (std::size_t{digits} * radix_size * sizeof(std::uint32_t)) << counting.copies_log2},
        stream,
        at.keys[0],
        at.keys[1],
        order,
        counting,
        bins,
        found,
        work);
    }

    auto* const tickets        = runtime::at_offset<std::uint32_t>(base, plan.tickets);
    auto* const next           = runtime::at_offset<std::uint64_t>(base, plan.next_bins);
    auto const clear_look_back = [&] {
      runtime::check(cudaMemsetAsync(tickets, 0, plan.next_bins - plan.tickets, stream),
                     "gpusort: radix_sort: clear look-back");
    };
    auto const for_each_part = [&](int pass, auto const& launch) {
      for (std::size_t part = 0; part < plan.parts; ++part)
      {
        std::size_t const begin = part * plan.part_size;
        if (plan.parts > 1 && pass + part > 0)
        {
          clear_look_back();
        }
        launch(input_part{
          begin, std::min(n - begin, plan.part_size), static_cast<std::uint32_t>(part), part + 1 == plan.parts, next});
      }
    };
    auto const launch_move = [&](auto kernel, int first, int last, std::size_t spare, input_part const& part) {
      std::size_t const passes = static_cast<std::size_t>(std::max(last - first, 1));
      bool const counts        = !counts_apart && passes > 1;
      runtime::launch(
        kernel,
        {runtime::blocks_for(part.size, plan.tile) * passes + spare + (counts ? counting.blocks : 0),
         partition::threads,
         sizeof(move_storage<Bits, IsFloat, Value>)},
        stream,
        order,
        counts ? counting : digit_counting{},
        found,
        table,
        bins,
        tickets,
        static_cast<std::uint32_t>(first),
        static_cast<std::uint32_t>(last),
        part,
        work,
        at);
    };
    auto const launch_moves = [&](auto kernel, int first, int last, std::size_t spare) {
      for_each_part(first, [&](input_part const& part) { launch_move(kernel, first, last, spare, part); });
    };
    constexpr bool may_split = has_buckets(sizeof(Bits));
    constexpr moves passes =
      may_split && !pass_shape_v<Bits, Value>.has_special_code ? moves::either : moves::by_digits;
    int pass = 0; // by digits, of those that are still to be launched
    if constexpr (may_split)
    {
      if (by_buckets && !in_wave)
      {
        int const levels = table.levels();
        for (int level = 0; level < levels; ++level)
        {
          std::size_t const spare = level == 0 ? 0 : plan.spare;
          if constexpr (splits_apart)
          {
            constexpr auto kernel = move_keys<Bits, IsFloat, Value, moves::to_buckets>;
            if (level == 0 || stretch_launches == 1)
            {
              launch_moves(kernel, level, level, spare);
              continue;
            }
            for (int number = 0; number < stretch_launches; ++number)
            {
              clear_look_back();
              launch_move(kernel,
                          level,
                          level,
                          spare,
                          {0, plan.part_size / 4 * 3, static_cast<std::uint32_t>(number), true, next});
            }
          }
          else
          {
            // A pass by digits as well, or all of them; but no second time.
            int const last = together ? most_passes : level + 1;
            launch_moves(move_keys<Bits, IsFloat, Value, moves::either>, level, pass < last ? last : level, spare);
            pass = last;
          }
        }
        int const from = levels > 1 ? 0 : 1;
        if (!plan.only_long && !plan.counts_buckets)
        {
          sort_all_buckets<IsFloat>(stream, order, processors, found, table, n, from, at);
        }
        if constexpr (Plan::can_be_counted)
        {
          if (plan.counts_buckets)
          {
            sort_each_bucket<IsFloat, sort_class::counted_bucket>(
              stream, order, processors, found, table, which_buckets::all, from, at);
          }
        }
        if constexpr (Plan::can_have_long)
        {
          if (with_long || curve.for_long)
          {
            which_buckets const which =
              curve.for_long   ? which_buckets::by_curve
              : plan.only_long ? which_buckets::all
                               : which_buckets::listed;
            sort_each_bucket<IsFloat, sort_class::long_bucket>(
              stream, order, processors, found, table, which, from, at);
          }
        }
      }
    }
    for (; pass < most_passes; pass += phases)
    {
      constexpr int in_turn = pass_shape_v<Bits, Value>.passes_in_turn;
      if constexpr (in_turn > 0)
      {
        if (!together)
        {
          int const last = plan.parts > 1 ? pass + 1 : std::min(pass + in_turn, most_passes);
          for_each_part(pass, [&](input_part const& part) {
            runtime::launch(
              move_keys_in_turn<Bits, IsFloat>,
              {std::min(runtime::blocks_for(part.size, plan.tile),
                        processors * static_cast<std::size_t>(pass_shape_v<Bits, Value>.blocks)),
               partition::threads,
               sizeof(turn_storage<Bits, IsFloat>)},
              stream,
              order,
              found,
              static_cast<std::uint64_t const*>(bins),
              tickets,
              static_cast<std::uint32_t>(pass),
              static_cast<std::uint32_t>(last),
              part,
              work,
              at);
          });
          pass = last - 1;
          continue;
        }
      }
      launch_moves(move_keys<Bits, IsFloat, Value, passes>, pass, together ? phases : pass + 1, 0);
    }
    if (together && phases_finish(most_passes))
    {
      return;
    }
    std::size_t const steps = runtime::blocks_for(n, home_step<Bits, Value>);
    runtime::launch(finish_at_home<Bits, Value>,
                    {std::min(steps, processors * home_blocks_per_sm), home_threads},
                    stream,
                    static_cast<findings<Bits> const*>(found),
                    n,
                    at);
  }

  template <bool IsFloat, class Bits, class Value>
  using tile_storage_of = tile_storage<Bits, key_order<Bits, IsFloat>, Value>;

  /// Whether one wave sorts an input of this plan, where a block can have `room`.
  template <bool IsFloat, class Bits, class Value, class Plan>
  static bool has_room_for_wave(Plan const& plan, std::size_t room)
  {
    bool has = false;
    if constexpr (Plan::may_be_wave)
    {
      if (plan.in_wave)
      {
        with_wave_threads<Bits, Value>(plan, [&](auto threads) {
          using sorts = wave_sort_storage<Bits, key_order<Bits, IsFloat>, Value, threads>;
          has         = std::max(sizeof(tile_storage_of<IsFloat, Bits, Value>), sizeof(sorts)) <= room;
        });
      }
    }
    return has;
  }

  /// Calls f with how many threads the blocks have that sort buckets of this plan's wave: an integral constant.
  template <class Bits, class Value, class Plan, class F>
  static void with_wave_threads(Plan const& plan, F f)
  {
    if constexpr (has_long_wave(sizeof(Bits), value_bytes_v<Value>))
    {
      if (plan.in_long_wave)
      {
        f(std::integral_constant<int, long_wave_sort_threads>{});
        return;
      }
    }
    f(std::integral_constant<int, wave_sort_threads>{});
  }

  /// Sorts in one wave, or finds that keys are uneven, and leaves them to passes by digits. Clears what those need.
  template <class Plan, bool IsFloat, class Bits, class Value>
  static void sort_in_wave(cudaStream_t stream,
                           key_order<Bits, IsFloat> const& order,
                           Plan const& plan,
                           void* base,
                           std::size_t n,
                           buffers<Bits, Value> const& at)
  {
    int const tile = wave_tile_for(n, sizeof(Bits), value_bytes_v<Value>);
    wave_tiles const tiles{static_cast<std::uint32_t>(n),
                           tile,
                           static_cast<std::uint32_t>(runtime::blocks_for(n, static_cast<std::size_t>(tile))),
                           runtime::at_offset<std::uint16_t>(base, plan.starts),
                           runtime::at_offset<std::uint32_t>(base, plan.seen_in_tiles),
                           runtime::at_offset<std::uint32_t>(base, plan.repeats)};
    auto* const found = runtime::at_offset<findings<Bits>>(base, plan.found);
    auto* const first = runtime::at_offset<std::uint32_t>(base, plan.sizes);
    cleared_words const cleared{
      first, static_cast<std::uint32_t>((plan.status - plan.sizes) / sizeof(std::uint32_t)), &found->decided};
    runtime::launch(
      order_in_tiles<Bits, key_order<Bits, IsFloat>, Value, sees_nothing_else>,
      {tiles.count, wave_threads, sizeof(tile_storage_of<IsFloat, Bits, Value>), 0, 1, true},
      stream,
      order,
      tiles,
      wave_limits_for(tiles.n, sizeof(Bits), value_bytes_v<Value>),
      cleared,
      at,
      sees_nothing_else{});
    with_wave_threads<Bits, Value>(plan, [&](auto threads) {
      using storage = wave_sort_storage<Bits, key_order<Bits, IsFloat>, Value, threads>;
      runtime::launch(sort_wave<Bits, key_order<Bits, IsFloat>, Value, threads>,
                      {radix_size, threads, sizeof(storage), 0, 1, true},
                      stream,
                      order,
                      tiles,
                      found,
                      at);
    });
  }

  /// Sorts the buckets that the input is split into, if it is, but for long ones.
  template <bool IsFloat, class Bits, class Value>
  static void sort_all_buckets(
    cudaStream_t stream,
    key_order<Bits, IsFloat> const& order,
    std::size_t processors,
    findings<Bits>* found,
    bucket_table const& table,
    std::size_t n,
    int from,
    buffers<Bits, Value> const& at)
  {
    constexpr sort_class all = sort_class::bucket;
    if constexpr (!lists_crowded(sizeof(Bits), value_bytes_v<Value>))
    {
      sort_each_bucket<IsFloat, all>(stream, order, processors, found, table, which_buckets::all, from, at);
    }
    else
    {
      constexpr int per_processor = sort_blocks_per_sm(sizeof(Bits), value_bytes_v<Value>, all);
      std::size_t const blocks    = blocks_for_buckets(table, processors, per_processor);
      sort_blocks<IsFloat, all>(stream, order, blocks, found, table, n, from, at);
      sort_blocks<IsFloat, sort_class::medium>(stream, order, processors, found, table, n, from, at);
    }
  }

  static std::size_t blocks_for_buckets(bucket_table const& table, std::size_t processors, int per_processor)
  {
    return std::min(std::size_t{1} << table.buckets_log2, processors * static_cast<std::size_t>(per_processor));
  }

  /// Sorts buckets by blocks of a class that lists no crowded ones: those that are listed, or all that fit them.
  template <bool IsFloat, sort_class Class, class Bits, class Value>
  static void sort_each_bucket(
    cudaStream_t stream,
    key_order<Bits, IsFloat> const& order,
    std::size_t processors,
    findings<Bits>* found,
    bucket_table const& table,
    which_buckets which,
    int from,
    buffers<Bits, Value> const& at)
  {
    using sorter = bucket_sort<Bits, IsFloat, Class, Value>;
    runtime::launch(
      sort_buckets<Bits, IsFloat, Class, Value>,
      {blocks_for_buckets(table, processors, sorter::blocks), sorter::threads, sizeof(typename sorter::shared_storage)},
      stream,
      order,
      found,
      table,
      which,
      from,
      at);
  }

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

/// Sorts uneven keys itself, too.
using device = device_with<no_uneven_keys>;

} // namespace gpusort::radix
