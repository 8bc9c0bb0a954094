// Merging many sorted runs at once: by splitters from a sorted sample of the runs, each block gets a part of the merged order that
// fits it, and merges what the runs have of it in shared memory.
// Source: Satish, Harris and Garland, section IV, who cut two runs by splitters; regular samples of many, as Shi and Schaeffer.
#pragma once

#include <gpusort/block/merge_sort.cuh>
#include <gpusort/block/verdict.h>
#include <gpusort/block/warp.cuh>
#include <gpusort/merge/checks.cuh>
#include <gpusort/merge/kernels.cuh>
#include <gpusort/merge/runs_in_tile.cuh>
#include <gpusort/merge/tuning.h>
#include <gpusort/runtime/dependency.cuh>
#include <gpusort/runtime/residency.cuh>

#include <cuda/atomic>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::merge
{

template <class Key, class Value, input_class Class>
struct many_way_traits
{
  static constexpr many_way_shape shape =
    many_way_shape_for(sizeof(Key), std::is_empty_v<Value> ? 0 : sizeof(Value), Class);
  static constexpr int threads = shape.threads;
  static constexpr int items   = shape.merge_items;
  static constexpr int samples = threads * shape.sample_items;
  static constexpr int pivots  = threads / 64; // of each of two searches for splitters
};

/// How blocks find the keys that have a given rank in sorted lists.
template <int Pivots>
struct rank_search_storage
{
  // Of the pivots that a round tries, for each of two searches; rounds take turns.
  std::uint32_t ranks[2][2][Pivots];
  std::uint32_t lists[2][2][Pivots]; // that they come from
  std::uint32_t before[2][2][Pivots][32]; // how many of each list go before them
  // Of the keys that were found.
  std::uint32_t list_of[2];
  std::uint32_t found[2][32];
};

/// Finds, in up to 32 sorted lists, the key that has `rank` others before it in their stable merge. Half of the block's warps do
/// that for one rank, the others for another. Each warp tries a pivot a round, and each of its lanes searches a list: that of
/// its number, of `size` keys from keys[begin] on; sizes may be 0.
/// Writes how many of each list go before the key, and the list that it comes from, to shared.found and shared.list_of; nothing
/// if it is not wanted. Called by all threads, which may read that afterwards. False, for all of them, if the comparator has
/// contradicted itself.
template <int Pivots, class Key, class Compare>
__device__ bool find_by_rank(
  rank_search_storage<Pivots>& shared,
  Key const* keys,
  std::uint32_t begin,
  std::uint32_t size,
  std::uint32_t rank,
  bool is_wanted,
  Compare& comp)
{
  std::uint32_t const lane  = threadIdx.x % 32;
  std::uint32_t const half  = threadIdx.x / 32 / Pivots;
  std::uint32_t const pivot = threadIdx.x / 32 % Pivots;
  std::uint32_t const lists = static_cast<std::uint32_t>(__popc(__ballot_sync(block::all_lanes, size > 0)));
  std::uint32_t low = 0, high = size; // as many of the list may go before the key
  bool is_open = is_wanted;
  bool is_lost = false;
  for (unsigned turn = 0;; turn ^= 1)
  {
    std::uint32_t const with_keys = __ballot_sync(block::all_lanes, low < high);
    if (is_open && with_keys == 0)
    {
      is_open = false;
      is_lost = true;
    }
    if (is_open)
    {
      // Pivots are spread over the keys, whether all lists have the same, or each its own.
      constexpr std::uint32_t parts = 2 * Pivots;
      std::uint32_t const share     = 2 * pivot + 1;
      std::uint32_t const wanted    = with_keys & (~std::uint32_t{0} << share * lists / parts);
      int const list                = __ffs(static_cast<int>(wanted != 0 ? wanted : with_keys)) - 1;
      std::uint32_t const number    = __shfl_sync(block::all_lanes, low + share * (high - low) / parts, list);
      Key const key                 = keys[__shfl_sync(block::all_lanes, begin, list) + number];
      bool const is_in_front        = static_cast<int>(lane) < list; // then equivalent keys go before it
      bool const is_own             = static_cast<int>(lane) == list;
      std::uint32_t before          = is_own ? number : low;
      std::uint32_t open            = is_own ? 0 : high - low;
      while (open > 0)
      {
        std::uint32_t const more = before + open - open / 2;
        Key const other          = keys[begin + more - 1];
        bool const is_before     = is_in_front ? !block::precedes(key, other, comp) : block::precedes(other, key, comp);
        before                   = is_before ? more : before;
        open /= 2;
      }
      shared.before[turn][half][pivot][lane] = before;
      std::uint32_t const rank_of_pivot      = block::sum_of_warp(before);
      if (lane == 0)
      {
        shared.ranks[turn][half][pivot] = rank_of_pivot;
        shared.lists[turn][half][pivot] = static_cast<std::uint32_t>(list);
      }
    }
    if (__syncthreads_or(is_open) == 0)
    {
      return __syncthreads_or(is_lost) == 0;
    }
    if (is_open)
    {
      // The nearest pivots on either side. A lane looks at one.
      std::uint32_t const of_pivot = lane < Pivots ? shared.ranks[turn][half][lane] : rank;
      std::uint32_t const named    = of_pivot * 32 + lane;
      std::uint32_t const nearest  = block::greatest_of_warp<std::uint32_t>(of_pivot < rank ? named + 1 : 0);
      std::uint32_t const farther  = block::least_word_of_warp(of_pivot > rank ? named : ~std::uint32_t{0});
      std::uint32_t const met      = __ballot_sync(block::all_lanes, lane < Pivots && of_pivot == rank);
      if (nearest != 0)
      {
        std::uint32_t const p      = (nearest - 1) % 32;
        std::uint32_t const behind = shared.before[turn][half][p][lane] + (lane == shared.lists[turn][half][p] ? 1 : 0);
        low                        = low < behind ? behind : low;
      }
      if (farther != ~std::uint32_t{0})
      {
        std::uint32_t const before = shared.before[turn][half][farther % 32][lane];
        high                       = before < high ? before : high;
      }
      if (met != 0)
      {
        auto const p = static_cast<std::uint32_t>(__ffs(static_cast<int>(met)) - 1);
        is_open      = false;
        if (pivot == 0)
        {
          shared.found[half][lane] = shared.before[turn][half][p][lane];
          shared.list_of[half]     = shared.lists[turn][half][p];
        }
      }
      low = low < high ? low : high;
    }
  }
}

template <class Key, class Value, class Compare, input_class Class>
struct many_way_storage
{
  using traits = many_way_traits<Key, Value, Class>;
  using sorter = block::merge_sort<Key, Value, Compare, traits::threads, traits::items>;

  union
  {
    typename sorter::shared_storage tile;
    alignas(16) char samples[sizeof(Key) * (traits::samples + 32)]; // each list may be one longer
  };
  rank_search_storage<traits::pivots> splitters;
  runs_in_tile<Key, Value, traits::threads, traits::items, 32> runs;
  std::uint32_t cuts[2][32]; // where each run is cut, in front of the tile and behind it
  std::uint32_t out; // where the tile begins in the merged run
  bool is_possible; // the cuts go together
  std::uint32_t number; // of the block
  bool is_last; // block of a pass to end
};

/// Where a splitter cuts a sorted run, of which `low` to `high` keys go before it: how many do. It comes from a run `order` runs
/// behind this one. The lanes of a search do that together, and all lanes of a warp call it.
template <class Key, class Compare>
__device__ std::uint32_t
cut_by(Key const& splitter, Key const* keys, std::uint32_t low, std::uint32_t high, int order, Compare& comp)
{
  constexpr auto lanes      = static_cast<std::uint32_t>(lanes_of_search);
  std::uint32_t const own   = threadIdx.x % lanes;
  std::uint32_t const first = threadIdx.x % 32 - own;
  while (__any_sync(block::all_lanes, low < high))
  {
    std::uint32_t const width = (high - low + lanes) / (lanes + 1);
    std::uint32_t const place = low + (own + 1) * width - 1;
    bool is_before            = false;
    if (low < high && place < high)
    {
      is_before =
        order > 0 ? !block::precedes(splitter, keys[place], comp) : block::precedes(keys[place], splitter, comp);
    }
    std::uint32_t const votes  = __ballot_sync(block::all_lanes, is_before) >> first & ((1u << lanes) - 1);
    auto const count           = static_cast<std::uint32_t>(__popc(votes));
    std::uint32_t const behind = low + (count + 1) * width - 1;
    bool const is_closer       = low < high && count < lanes && behind < high;
    low += count * width;
    high = is_closer ? behind : high;
    low  = low < high ? low : high;
  }
  return low;
}

/// One number for where a boundary between blocks cuts a run; those of all runs are added up.
__device__ inline unsigned long long fingerprint(std::uint32_t boundary, std::uint32_t run, std::uint32_t cut)
{
  unsigned long long mixed =
    (static_cast<unsigned long long>(boundary) << 37 ^ static_cast<unsigned long long>(run) << 32) + cut
    + 0x9e3779b97f4a7c15u;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
  return mixed ^ (mixed >> 31);
}

/// Where the samples go that a pass over `run` elements will want: every step-th of each run.
template <class Key>
struct sample_list
{
  Key* samples; // or null: there is no such pass
  std::uint32_t run;
  std::uint32_t step;
  std::uint32_t of_run; // samples

  /// Notes those among `size` sorted keys that lie from place `begin` on, in one run. Called by all threads of a block.
  template <class KeyAt>
  __device__ void note(KeyAt key_at, std::uint32_t begin, std::uint32_t size) const
  {
    if (samples == nullptr)
    {
      return;
    }
    std::uint32_t const number = begin / run;
    std::uint32_t const from   = begin - number * run; // in the run
    std::uint32_t const first  = (from + step - 1) / step;
    for (std::uint32_t i = first + threadIdx.x; i * step < from + size; i += blockDim.x)
    {
      samples[number * of_run + i] = key_at(static_cast<int>(i * step - from));
    }
  }
};

template <class Key, class Value, class Compare, input_class Class>
using many_way_tile_sort =
  block::merge_sort<Key,
                    Value,
                    Compare,
                    many_way_traits<Key, Value, Class>::threads,
                    many_way_traits<Key, Value, Class>::shape.sort_items>;

/// What the blocks of passes that are one launch tell each other, all 0 before it.
struct pass_progress
{
  std::uint32_t begun; // blocks, which get their numbers by that, so that they wait for none that has yet to begin
  std::uint32_t done[most_many_way_passes]; // blocks of each pass

  /// A number that is less than those of all blocks that begin later. Called by all threads of a block.
  __device__ std::uint32_t begin(std::uint32_t& shared)
  {
    if (threadIdx.x == 0)
    {
      shared = atomicAdd(&begun, 1u);
    }
    __syncthreads();
    return shared;
  }

  /// Waits for all `blocks` of a pass, whose writes are visible then. Called by all threads of a block.
  __device__ void wait_for(int pass, std::uint32_t blocks)
  {
    if (threadIdx.x == 0)
    {
      word_ref const done_by(done[pass]);
      while (done_by.load(::cuda::std::memory_order_acquire) != blocks)
      {
        __nanosleep(64);
      }
    }
    __syncthreads();
  }

  /// Says that a block has done its part of a pass of so many blocks. Returns whether it is the last, to which the writes of all are visible. Called by all
  /// threads of the block.
  __device__ bool tell(int pass, std::uint32_t blocks, bool& shared)
  {
    __syncthreads();
    if (threadIdx.x == 0)
    {
      shared = word_ref(done[pass]).fetch_add(1, ::cuda::std::memory_order_acq_rel) + 1 == blocks;
    }
    __syncthreads();
    return shared;
  }

private:
  using word_ref = ::cuda::atomic_ref<std::uint32_t, ::cuda::thread_scope_device>;
};

/// Passes that follow one another, and what they need in device memory.
template <class Key>
struct many_way_merge
{
  many_way_plan steps;
  Key* samples[2]; // passes take turns
  pass_check* checks; // of each pass
  pass_progress* progress;
  bool brings_back; // what survives a comparator that lies; or else a launch behind the passes does

  /// Where the samples of a pass are; of the one behind the last, nowhere.
  __host__ __device__ sample_list<Key> samples_of(int pass) const
  {
    many_way_pass const& of = steps.pass[pass < steps.passes ? pass : 0];
    return {pass < steps.passes ? samples[pass % 2] : nullptr, of.run, of.step, of.of_run};
  }
};

/// Sorts every tile of `tile` elements on its own, and clears what the passes of `merging` note.
/// Grid: a block a tile. Block: many_way_tile_sort's threads. Shared: its storage. In and out may be the same arrays.
template <input_class Class, class Key, class Value, class Compare>
__global__ void __launch_bounds__(many_way_traits<Key, Value, Class>::threads,
                                  runtime::resident_blocks(many_way_traits<Key, Value, Class>::threads,
                                                           many_way_traits<Key, Value, Class>::shape.blocks))
  sort_for_many_ways(Key const* keys_in,
                     Key* keys_out,
                     Value const* values_in,
                     Value* values_out,
                     std::size_t n,
                     many_way_merge<Key> merging,
                     block::sort_verdict const* by_others,
                     Compare comp)
{
  using sorter = many_way_tile_sort<Key, Value, Compare, Class>;
  extern __shared__ uint4 shared_words[];
  auto& shared = *reinterpret_cast<typename sorter::shared_storage*>(shared_words);

  runtime::wait_for_previous_kernel();
  if (block::is_sorted_already(by_others))
  {
    return;
  }
  if (blockIdx.x == 0)
  {
    if (static_cast<int>(threadIdx.x) < merging.steps.passes)
    {
      merging.checks[threadIdx.x] = 0;
    }
    if (threadIdx.x == 0 && merging.steps.passes > 0)
    {
      *merging.progress = {};
    }
  }
  std::uint32_t const tile    = merging.steps.tile;
  sample_list<Key> const next = merging.samples_of(0);
  std::size_t const begin     = static_cast<std::size_t>(blockIdx.x) * tile;
  int const size              = static_cast<int>(n - begin < tile ? n - begin : tile);
  bool const with_values      = sorter::with_values;
  block::contiguous_source<Key, Value> source{keys_in + begin, with_values ? values_in + begin : nullptr};
  sorter::sort(
    shared, source, keys_out + begin, with_values ? values_out + begin : nullptr, size, false, comp, [&](auto key_at) {
      next.note(key_at, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(size));
    });
}

/// Merges a part of a group of neighbouring sorted runs, of which there are pass.blocks for each group, and this is number `part` of all. Stable.
/// all_samples: those of all runs, as sample_list has noted them. Called by all threads of a block.
///
/// Every pass.step-th element of a run is in the sample, and every pass.samples-th of those is a splitter: between two of them
/// are less than (samples + ways) x step elements, whatever the keys are. Each of two neighbouring blocks finds the cut between
/// them by itself. Comparators that contradict themselves can make them disagree: `checks[number]` gets the sum of what all
/// blocks cut in front, less what all cut behind, which is 0 if they agree.
template <input_class Class, class Key, class Value, class Compare>
__device__ void merge_part(
  many_way_storage<Key, Value, Compare, Class>& shared,
  std::uint32_t part,
  Key const* keys_in,
  Key* keys_out,
  Value const* values_in,
  Value* values_out,
  std::uint32_t n,
  many_way_pass const& pass,
  Key const* all_samples,
  sample_list<Key> const& next,
  pass_check* checks,
  int number,
  Compare& comp)
{
  using storage                 = many_way_storage<Key, Value, Compare, Class>;
  using traits                  = typename storage::traits;
  using sorter                  = typename storage::sorter;
  constexpr bool with_values    = sorter::with_values;
  std::uint32_t const group     = part / pass.blocks;
  std::uint32_t const own       = part % pass.blocks; // of the group
  std::uint32_t const begin     = group * pass.ways * pass.run; // of the group
  std::uint32_t const size      = n - begin < pass.ways * pass.run ? n - begin : pass.ways * pass.run;
  std::uint32_t const runs      = (size + pass.run - 1) / pass.run;
  std::uint32_t const of_run    = pass.of_run; // samples
  std::uint32_t const last_size = size - (runs - 1) * pass.run;
  std::uint32_t const count     = (runs - 1) * of_run + (last_size + pass.step - 1) / pass.step;
  std::uint32_t const first  = own * pass.samples; // sample; it is the block's first splitter, but for the first block
  std::uint32_t const behind = first + pass.samples; // its second one, but for the last
  if (first >= count || failed_before(checks, number))
  {
    return;
  }
  keys_in += begin;
  Value const* const values_of_group = with_values ? values_in + begin : nullptr;
  auto const size_of = [&](std::uint32_t run) { return run + 1 < runs ? pass.run : run + 1 == runs ? last_size : 0; };

  Key* const samples = reinterpret_cast<Key*>(shared.samples);
  Key held[traits::shape.sample_items];
  block::read_tile<traits::threads>(held, static_cast<int>(count), [&](int i) {
    return all_samples[group * pass.ways * of_run + static_cast<std::uint32_t>(i)];
  });
  // Lists begin an odd number of keys apart, so that lanes that search them meet different banks.
  std::uint32_t const stride = of_run | 1;
#pragma unroll
  for (int i = 0; i < traits::shape.sample_items; ++i)
  {
    std::uint32_t const place = static_cast<std::uint32_t>(i * traits::threads) + threadIdx.x;
    if (place < count)
    {
      std::uint32_t const run                        = __umulhi(place, pass.inverse_of_run);
      samples[run * stride + (place - run * of_run)] = held[i];
    }
  }
  __syncthreads();

  std::uint32_t const lane  = threadIdx.x % 32;
  bool const is_second      = threadIdx.x >= traits::threads / 2;
  bool const are_consistent = merge::find_by_rank(
    shared.splitters,
    samples,
    lane * stride,
    (size_of(lane) + pass.step - 1) / pass.step,
    is_second ? behind : first,
    is_second ? behind < count : own > 0,
    comp);

  // A search for each end of the tile and each run.
  auto const search       = threadIdx.x / static_cast<std::uint32_t>(lanes_of_search);
  unsigned const end      = search % 2;
  std::uint32_t const run = search / 2;
  bool const is_cut       = are_consistent && (end == 1 ? behind < count : own > 0);
  std::uint32_t low       = 0;
  std::uint32_t high      = end == 1 ? size_of(run) : 0;
  std::uint32_t list      = 0;
  Key splitter            = samples[0];
  if (is_cut && run < 32)
  {
    list                       = shared.splitters.list_of[end];
    splitter                   = samples[list * stride + shared.splitters.found[end][list]];
    std::uint32_t const before = shared.splitters.found[end][run];
    std::uint32_t const next   = before * pass.step;
    high                       = next < size_of(run) ? next : size_of(run);
    low                        = run == list || before == 0 ? high : next - pass.step + 1;
  }
  else
  {
    low = high;
  }
  std::uint32_t const cut =
    merge::cut_by(splitter, keys_in + run * pass.run, low, high, static_cast<int>(list) - static_cast<int>(run), comp);
  if (lane % lanes_of_search == 0 && run < 32)
  {
    shared.cuts[end][run] = cut;
  }
  __syncthreads();
  if (threadIdx.x < 32)
  {
    // A lane has a run.
    bool const is_run          = lane < runs;
    std::uint32_t const from   = is_run ? shared.cuts[0][lane] : 0;
    std::uint32_t const to     = is_run ? shared.cuts[1][lane] : 0;
    std::uint32_t const taken  = from < to ? to - from : 0;
    std::uint32_t const before = block::sum_of_warp(from);
    bool const do_fit          = shared.runs.note(keys_in, values_of_group, lane * pass.run + from, taken);
    bool const is_possible     = are_consistent && do_fit && __all_sync(block::all_lanes, from <= to);
    if (lane == 0)
    {
      shared.out         = begin + before;
      shared.is_possible = is_possible;
      if (!is_possible)
      {
        atomicAdd(&checks[number], 1);
      }
    }
  }
  else if (threadIdx.x < 64 && are_consistent)
  {
    unsigned long long difference = 0;
    if (lane < runs)
    {
      difference = (own > 0 ? merge::fingerprint(part, lane, shared.cuts[0][lane]) : 0)
                 - (behind < count ? merge::fingerprint(part + 1, lane, shared.cuts[1][lane]) : 0);
    }
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
    {
      difference += __shfl_xor_sync(block::all_lanes, difference, step);
    }
    if (lane == 0)
    {
      atomicAdd(&checks[number], difference);
    }
  }
  __syncthreads();
  if (!shared.is_possible)
  {
    return;
  }
  auto const listed = shared.runs.listed(pass.log2_ways);
  int const merged  = shared.runs.size();
  if (!sorter::template merge<false>(
        shared.tile,
        shared.runs,
        listed,
        keys_out + shared.out,
        with_values ? values_out + shared.out : nullptr,
        merged,
        comp,
        [&](auto key_at) { next.note(key_at, shared.out, static_cast<std::uint32_t>(merged)); })
      && threadIdx.x == 0)
  {
    atomicAdd(&checks[number], 1);
  }
}

/// Merges sorted tiles pass by pass, which take turns between the two arrays; the last one writes to the first ones. Then, should the comparator have lied, the last
/// block brings back what survives, if that is asked for. Stable.
/// One launch for all of that: each takes the host 4 us, and often finds that a wave has sorted all by value, of which 2^18 keys take an H200 15.
/// Grid: the blocks of all passes. If there are several, those of a later one are set up where others end: multiprocessors have room for no more than their
/// share, or they would crowd on a few. Block: many_way_traits' threads. Shared: many_way_storage.
template <input_class Class, class Key, class Value, class Compare>
__global__ void __launch_bounds__(many_way_traits<Key, Value, Class>::threads,
                                  runtime::resident_blocks(many_way_traits<Key, Value, Class>::threads,
                                                           many_way_traits<Key, Value, Class>::shape.blocks))
  merge_many(Key* keys,
             Key* keys_alternate,
             Value* values,
             Value* values_alternate,
             std::uint32_t n,
             many_way_merge<Key> merging,
             block::sort_verdict const* by_others,
             Compare comp)
{
  using storage = many_way_storage<Key, Value, Compare, Class>;
  extern __shared__ uint4 shared_words[];
  auto& shared = *reinterpret_cast<storage*>(shared_words);

  runtime::wait_for_previous_kernel();
  if (block::is_sorted_already(by_others))
  {
    return;
  }
  int const passes     = merging.steps.passes;
  std::uint32_t number = passes > 1 ? merging.progress->begin(shared.number) : blockIdx.x; // in the pass
  std::uint32_t blocks = merging.steps.pass[0].blocks_of(n);
  int pass             = 0;
  while (number >= blocks)
  {
    number -= blocks;
    std::uint32_t const before = blocks;
    blocks                     = merging.steps.pass[++pass].blocks_of(n);
    if (number < blocks)
    {
      merging.progress->wait_for(pass - 1, before);
    }
  }
  bool const is_from_first = (passes - pass) % 2 == 0;
  merge::merge_part<Class>(
    shared,
    number,
    is_from_first ? keys : keys_alternate,
    is_from_first ? keys_alternate : keys,
    is_from_first ? values : values_alternate,
    is_from_first ? values_alternate : values,
    n,
    merging.steps.pass[pass],
    merging.samples_of(pass).samples,
    merging.samples_of(pass + 1),
    merging.checks,
    pass,
    comp);
  if (pass + 1 == passes && !merging.brings_back)
  {
    return;
  }
  if (merging.progress->tell(pass, blocks, shared.is_last) && pass + 1 == passes)
  {
    merge::bring_back(keys, keys_alternate, values, values_alternate, n, merging.checks, passes, 0, 1);
  }
}

} // namespace gpusort::merge
