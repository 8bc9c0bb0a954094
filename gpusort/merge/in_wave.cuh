// Sorting in one wave of blocks by the values of keys, or a number in records, if the comparator agrees to that. Blocks hold what they have sorted
// until all of them have asked it; if it disagrees, nothing has been written, and the input is still to be sorted.
#pragma once

#include <gpusort/block/verdict.h>
#include <gpusort/merge/checks.cuh>
#include <gpusort/radix/findings.cuh>
#include <gpusort/radix/key_order.h>
#include <gpusort/radix/one_wave.cuh>
#include <gpusort/radix/tuning.h>
#include <gpusort/radix/value_order.cuh>
#include <gpusort/runtime/dependency.cuh>
#include <gpusort/runtime/launch.cuh>
#include <gpusort/runtime/layout.h>
#include <gpusort/runtime/residency.cuh>

#include <cuda/atomic>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::merge
{

/// The first and the last key of each bucket, for what comes before or behind it.
template <class Bits>
struct wave_edges
{
  Bits first[radix::radix_size];
  Bits last[radix::radix_size];
  std::uint32_t sizes[radix::radix_size];
};

/// Asks the comparator about a few neighbours, by which it is soon known if values have nothing to say: of numbers those of the block's tile; of
/// records, in which all blocks have to go by the same number, the same of all of the input.
template <class Key, class Compare>
struct asks_about_neighbours
{
  static constexpr bool asks = true;

  Compare comp;

  __device__ std::uint32_t
  operator()(radix::value_order_t<Key>& order, radix::wave_tiles const& tiles, radix::value_bits_t<Key> const* bits)
  {
    auto const* const keys = reinterpret_cast<Key const*>(bits);
    if constexpr (radix::is_number_v<Key>)
    {
      int const size = tiles.size(blockIdx.x);
      return size < 2 ? 0 : radix::seen_of_neighbours(keys + blockIdx.x * tiles.tile, size, comp);
    }
    else
    {
      std::uint32_t const found = radix::order_of_neighbours(keys, static_cast<int>(tiles.n), comp);
      if (found == radix::value_order::other)
      {
        return radix::seen::no_value_order;
      }
      order = radix::order_of_values<Key>(found);
      return radix::noted_order::note(found);
    }
  }
};

/// Reads what other blocks may just have written, not from a cache of the multiprocessor.
template <class Bits>
__device__ Bits load_fresh(Bits const& from)
{
  static_assert(sizeof(Bits) % 4 == 0);
  Bits to;
  auto const* const words = reinterpret_cast<std::uint32_t const*>(&from);
  auto* const words_to    = reinterpret_cast<std::uint32_t*>(&to);
#pragma unroll
  for (unsigned w = 0; w < sizeof(Bits) / 4; ++w)
  {
    words_to[w] = __ldcg(words + w);
  }
  return to;
}

/// Asks as asks_comparator does; then its block votes, and waits for what all decide.
template <class Key, class Compare>
struct wave_vote
{
  using bits                  = radix::value_bits_t<Key>;
  using questions             = radix::asks_comparator<Key, Compare>;
  using state                 = ::cuda::atomic_ref<block::sort_verdict, ::cuda::thread_scope_device>;
  static constexpr bool asks  = true;
  static constexpr bool mends = questions::mends;

  radix::wave_vote_storage& shared;
  questions neighbours;
  block::sort_verdict* all;
  wave_edges<bits>* edges;
  unsigned number; // of the bucket, in the order of the output

  template <class... CameFirst>
  __device__ bool operator()(bits const& before, bits const& own, CameFirst... came_first) const
  {
    return neighbours(before, own, came_first...);
  }

  __device__ void note(int at, int n, bits const& key) const
  {
    if (at == 0)
    {
      edges->first[number] = key;
    }
    if (at == n - 1)
    {
      edges->last[number] = key;
    }
  }

  __device__ bool all_agree(bool own) const
  {
    return vote(own, true);
  }

  /// Casts this block's vote. The last yes also checks the edges between buckets, and decides. If it `waits`, returns the decision. The
  /// wait is bounded: not all blocks need be running, and a waiting one may have the place of one that has yet to begin. Called by all
  /// threads.
  __device__ bool vote(bool agrees, bool waits) const
  {
    state const found(*all);
    agrees = __syncthreads_and(agrees) != 0; // and orders what is written to `edges` before the vote
    if (threadIdx.x == 0)
    {
      shared.answer = agrees && (found.fetch_add(1, ::cuda::std::memory_order_acq_rel) == radix::radix_size - 1);
      if (!agrees)
      {
        found.fetch_or(block::verdict::refused, ::cuda::std::memory_order_relaxed);
      }
    }
    __syncthreads();
    bool const is_last = shared.answer; // and nobody has refused
    if (is_last)
    {
      bool const fits = __syncthreads_and(agrees_about_edges()) != 0;
      if (threadIdx.x == 0)
      {
        decide(found, fits ? block::verdict::accepted : block::verdict::refused);
      }
    }
    if (!waits || !agrees)
    {
      return false;
    }
    __syncthreads();
    if (threadIdx.x == 0)
    {
      block::sort_verdict now = found.load(::cuda::std::memory_order_acquire);
      long long const end     = clock64() + most_clocks;
      while ((now & (block::verdict::accepted | block::verdict::refused)) == 0)
      {
        if (clock64() > end)
        {
          decide(found, block::verdict::refused);
        }
        __nanosleep(32);
        now = found.load(::cuda::std::memory_order_acquire);
      }
      shared.answer = (now & block::verdict::accepted) != 0;
    }
    __syncthreads();
    return shared.answer;
  }

private:
  static constexpr long long most_clocks = 200'000; // 0.1 ms at 2 GHz, several times what a wave takes

  /// Settles it, unless somebody has.
  __device__ static void decide(state const& found, block::sort_verdict answer)
  {
    block::sort_verdict now = found.load(::cuda::std::memory_order_relaxed);
    while ((now & (block::verdict::accepted | block::verdict::refused)) == 0
           && !found.compare_exchange_weak(now, now | answer, ::cuda::std::memory_order_acq_rel))
    {
    }
  }

  /// Whether the comparator agrees that the thread's bucket, if it has one, goes behind the last one before it that is not empty.
  /// Called by all threads of a block of wave_sort_threads.
  __device__ bool agrees_about_edges() const
  {
    static_assert(radix::radix_size <= radix::wave_sort_threads);
    unsigned const own                 = threadIdx.x;
    bool const has_elements            = own < radix::radix_size && __ldcg(&edges->sizes[own]) != 0;
    std::uint32_t const filled_of_warp = __ballot_sync(block::all_lanes, has_elements);
    if (own < radix::radix_size && own % 32 == 0)
    {
      shared.filled[own / 32] = filled_of_warp;
    }
    __syncthreads();
    if (!has_elements)
    {
      return true;
    }
    unsigned word         = own / 32;
    std::uint32_t earlier = filled_of_warp & ((std::uint32_t{1} << own % 32) - 1);
    while (earlier == 0 && word > 0)
    {
      earlier = shared.filled[--word];
    }
    if (earlier == 0)
    {
      return true; // it is the first
    }
    unsigned const before = word * 32 + 31 - static_cast<unsigned>(__clz(static_cast<int>(earlier)));
    bits const last       = load_fresh(edges->last[before]);
    bits const first      = load_fresh(edges->first[own]);
    if constexpr (mends)
    {
      return neighbours(last, first, false); // nobody knows which came first
    }
    else
    {
      return neighbours(last, first);
    }
  }
};

/// Sorts buckets from the second arrays into the first ones, all or none of them, by value, upwards or downwards, or by a number in records.
/// Grid: radix_size. Block: wave_sort_threads. Shared: wave_sort_storage.
template <class Key, class Value, class Compare>
__global__ void __launch_bounds__(radix::wave_sort_threads, runtime::resident_blocks(radix::wave_sort_threads, 2))
  sort_wave_by_value(radix::wave_tiles tiles,
                     block::sort_verdict* all,
                     wave_edges<radix::value_bits_t<Key>>* edges,
                     radix::buffers<radix::value_bits_t<Key>, Value> at,
                     Compare comp)
{
  using order              = radix::value_order_t<Key>;
  using bits               = radix::value_bits_t<Key>;
  constexpr int threads    = radix::wave_sort_threads;
  using storage            = radix::wave_sort_storage<bits, order, Value, threads>;
  constexpr bool is_number = radix::is_number_v<Key>;
  extern __shared__ uint4 shared_words[];
  auto& shared = *reinterpret_cast<storage*>(shared_words);

  // Those who merge what is left begin with few tiles.
  runtime::wait_for_previous_kernel_only();
  block::segment_tiles const runs = tiles.runs();
  unsigned bucket                 = blockIdx.x;
  radix::wave_bucket where        = radix::find_in_wave(shared.bucket, tiles, runs, bucket);
  // Keys alone are made anew from their ranks, which do not tell -0 from +0.
  bool const loses_zeros =
    is_number && std::is_same_v<Value, block::no_values> && (where.seen & radix::seen::twin) != 0;
  // Tiles of records that go by different numbers do not go together.
  bool const is_one_order = is_number || radix::noted_order::is_one(where.seen);
  if (!radix::may_be_sorted(where.seen) || loses_zeros || !is_one_order)
  {
    return; // no block votes, and the verdict stays what it is: not sorted
  }
  // Of records nothing is seen: those of one rank need not be alike.
  if (is_number && (where.seen & (radix::seen::ascent | radix::seen::descent | radix::seen::twin)) == 0)
  {
    if (blockIdx.x == 0 && threadIdx.x == 0)
    {
      *all = block::verdict::accepted; // all keys are the same: they are sorted
    }
    return;
  }
  // Records have buckets in the order that was found; numbers have them by value upwards, whatever it is.
  bool const is_upwards = !is_number || (where.seen & radix::seen::not_upwards) == 0;
  if (!is_upwards)
  {
    __syncthreads();
    bucket      = radix::radix_size - 1 - bucket;
    where       = radix::find_in_wave(shared.bucket, tiles, runs, bucket);
    where.begin = tiles.n - where.begin - where.size;
  }
  std::uint32_t const which =
    !is_number   ? radix::noted_order::which(where.seen)
    : is_upwards ? radix::value_order::ascending
                 : radix::value_order::descending;
  order const values = radix::order_of_values<Key>(which);
  wave_vote<Key, Compare> const agrees{shared.vote, {values, nullptr, comp}, all, edges, blockIdx.x};
  if (threadIdx.x == 0)
  {
    edges->sizes[blockIdx.x] = where.size;
  }
  if ((where.seen & radix::seen::splitters) != 0)
  {
    __syncthreads();
    radix::wave_bucket of_equals{};
    radix::part_of_equals const part = radix::list_equals<bits, order, Value, threads>(tiles, bucket, of_equals);
    if (part.count > 0)
    {
      of_equals.begin   = is_upwards ? of_equals.begin : tiles.n - of_equals.begin - of_equals.size;
      bool are_in_order = true;
      if (of_equals.size > 0)
      {
        bits const* const keys = at.keys[1];
        bits const first       = keys[shared.equals.place_of(0)];
        if constexpr (is_number)
        {
          // To the comparator, which has not been asked, zeros of both signs, which have one rank, may be unlike.
          are_in_order = (where.seen & radix::seen::twin) == 0 || values.rank_of(first) != values.rank_of(bits{0});
        }
        else
        {
          are_in_order =
            radix::are_equals_in_order<bits, order, Value, threads>(part, of_equals, keys, agrees.neighbours);
        }
        if (part.number == 0 && threadIdx.x == 0)
        {
          agrees.note(0, 2, first);
          agrees.note(1, 2, keys[shared.equals.place_of(of_equals.size - 1)]);
        }
      }
      if (agrees.vote(are_in_order, true))
      {
        radix::move_equals<bits, order, Value, threads>(part, of_equals, at);
      }
      return;
    }
  }
  bool is_sorted = false;
  if (where.size > 0 && where.size <= storage::most)
  {
    is_sorted = radix::sort_in_wave(shared, values, tiles, bucket, where, at, agrees);
  }
  if (!is_sorted)
  {
    // What has not been sorted has no vote yet: yes, if there is nothing to sort, and no, if bins do not sort it. A second no
    // changes nothing.
    agrees.vote(where.size == 0, false);
  }
}

/// One wave for comparators that may order numbers as their values are ordered, or short records by a number in them.
struct one_wave
{
  template <class Value>
  static constexpr std::size_t value_bytes = radix::value_bytes_v<typename radix::carried_value<Value>::type>;

  /// Elements, at the most.
  template <class Key, class Value>
  static constexpr std::size_t most = radix::most_in_wave(sizeof(Key), value_bytes<Value>, !radix::is_number_v<Key>);

  template <class Key, class Value>
  static constexpr int tile_for(std::size_t n)
  {
    return radix::wave_tile_for(n, sizeof(Key), value_bytes<Value>, !radix::is_number_v<Key>);
  }

  /// What it needs beside a second pair of arrays.
  template <class Key, class Value>
  struct plan
  {
    std::size_t starts = 0, seen = 0, repeats = 0, edges = 0;
    runtime::layout layout;

    explicit plan(std::size_t n)
    {
      auto const tiles = runtime::blocks_for(n, static_cast<std::size_t>(tile_for<Key, Value>(n)));
      starts           = layout.add(tiles * radix::radix_size, sizeof(std::uint16_t));
      seen             = layout.add(tiles, sizeof(std::uint32_t));
      repeats          = layout.add(radix::radix_size / 32, sizeof(std::uint32_t));
      edges            = layout.add(1, sizeof(wave_edges<radix::value_bits_t<Key>>));
    }
  };

  template <class Key, class Value, class Compare>
  static constexpr bool can_sort = radix::tries_values_v<Key, Value, Compare>;

  /// Sorts n elements, or leaves them as they are: `all` says which. Returns whether it has been tried. `base`: a plan's memory.
  template <class Key, class Value, class Compare>
  static bool sort(cudaStream_t stream,
                   void* base,
                   radix::buffers<Key, Value> const& at,
                   std::size_t n,
                   block::sort_verdict* all,
                   Compare comp)
  {
    using bits              = radix::value_bits_t<Key>;
    using order             = radix::value_order_t<Key>;
    using carried           = typename radix::carried_value<Value>::type;
    using tile_storage      = radix::tile_storage<bits, order, carried>;
    using sort_storage      = radix::wave_sort_storage<bits, order, carried, radix::wave_sort_threads>;
    auto* const sort_kernel = sort_wave_by_value<Key, carried, Compare>;
    runtime::launch_shape const sort_shape{
      radix::radix_size, radix::wave_sort_threads, sizeof(sort_storage), 0, 1, true};
    if (std::max(sizeof(tile_storage), sizeof(sort_storage)) > runtime::shared_bytes_of_device()
        || !runtime::can_run_together(sort_kernel, sort_shape))
    {
      return false;
    }
    plan<Key, Value> const plan(n);
    base           = plan.layout.base(base);
    int const tile = tile_for<Key, Value>(n);
    radix::wave_tiles const tiles{
      static_cast<std::uint32_t>(n),
      tile,
      static_cast<std::uint32_t>(runtime::blocks_for(n, static_cast<std::size_t>(tile))),
      runtime::at_offset<std::uint16_t>(base, plan.starts),
      runtime::at_offset<std::uint32_t>(base, plan.seen),
      runtime::at_offset<std::uint32_t>(base, plan.repeats)};
    radix::buffers<bits, carried> const arrays{
      {reinterpret_cast<bits*>(at.keys[0]), reinterpret_cast<bits*>(at.keys[1])},
      {reinterpret_cast<carried*>(at.values[0]), reinterpret_cast<carried*>(at.values[1])}};
    using ask = asks_about_neighbours<Key, Compare>;
    runtime::launch(
      radix::order_in_tiles<bits, order, carried, ask>,
      {tiles.count, radix::wave_threads, sizeof(tile_storage), 0, 1, true},
      stream,
      radix::values_upwards<Key>(),
      tiles,
      radix::wave_limits_for(tiles.n, sizeof(Key), value_bytes<Value>, !radix::is_number_v<Key>, true),
      radix::cleared_words{all, 1, nullptr},
      arrays,
      ask{comp});
    runtime::launch(sort_kernel,
                    sort_shape,
                    stream,
                    tiles,
                    all,
                    runtime::at_offset<wave_edges<bits>>(base, plan.edges),
                    arrays,
                    comp);
    return true;
  }
};

} // namespace gpusort::merge
