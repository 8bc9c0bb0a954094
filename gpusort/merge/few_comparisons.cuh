// Merge sort that asks its comparator little: for comparisons that take longer than anything else does. Each thread merges many elements, so
// that it has few places to search for, and merging by itself asks next to nothing that it need not.
// Source: Green, McColl, Bader, merge path; Satish, Harris and Garland, section IV.
#pragma once

#include <gpusort/block/merge.cuh>
#include <gpusort/merge/checks.cuh>
#include <gpusort/merge/kernels.cuh>
#include <gpusort/merge/natural_order.cuh>
#include <gpusort/merge/tuning.h>
#include <gpusort/runtime/dependency.cuh>
#include <gpusort/runtime/launch.cuh>
#include <gpusort/runtime/layout.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::merge
{

template <class Index>
inline constexpr int sparing_tile_size_v = sparing_tile_bytes / sizeof(Index);

/// Merges neighbouring runs in shared memory, by the threads of a block, each of which writes `Items` elements.
template <class Index, int Items>
struct sparing_tile
{
  static constexpr int size    = sparing_tile_size_v<Index>;
  static constexpr int threads = size / Items;

  struct shared_storage
  {
    Index at
      [2]
      [size
       + threads]; // a place is left behind what each thread writes, so that threads side by side write to different banks
    int taken[threads + 1];
  };

  /// A run that begins at `first`.
  struct run
  {
    Index const* at;
    int first;

    __device__ Index operator[](int i) const
    {
      return at[place(first + i)];
    }
  };

  __device__ static int place(int i)
  {
    return i + i / Items;
  }

  /// Merges runs in pairs: every `pair` elements among `count` begin with a first run of `first` elements, and the others are the second. Reads
  /// shared.at[from], writes shared.at[1 - from]. If the comparator contradicts itself, what was there is written. Called by all threads, which
  /// may read the result.
  template <class Compare>
  __device__ static void merge_pairs(shared_storage& shared, int from, int count, int pair, int first, Compare& comp)
  {
    int const own      = static_cast<int>(threadIdx.x) * Items;
    int const begin    = own / pair * pair;
    int const size     = own >= count ? 0 : count - begin < pair ? count - begin : pair;
    int const a_size   = first < size ? first : size;
    int const b_size   = size - a_size;
    int const diagonal = own - begin < size ? own - begin : size;
    int const behind   = diagonal + Items < size ? diagonal + Items : size;
    run const a{shared.at[from], begin};
    run const b{shared.at[from], begin + a_size};
    int const taken           = block::merge_path(diagonal, a, a_size, b, b_size, comp);
    shared.taken[threadIdx.x] = taken;
    __syncthreads();
    int const a_end   = behind < size ? shared.taken[threadIdx.x + 1] : a_size;
    bool const is_lie = a_end < taken || behind - a_end < diagonal - taken;
    Index* const to   = shared.at[1 - from];
    if (__syncthreads_or(is_lie) == 0)
    {
      merge_part(a, taken, a_end, b, diagonal - taken, behind - a_end, to, own, comp);
    }
    else
    {
      for (int i = 0; i < behind - diagonal; ++i)
      {
        to[place(own + i)] = shared.at[from][place(own + i)];
      }
    }
    __syncthreads();
  }

  /// Writes the stable merge of a[i, a_end) and b[j, b_end) to places from `out` on.
  template <class Compare>
  __device__ static void
  merge_part(run const& a, int i, int a_end, run const& b, int j, int b_end, Index* to, int out, Compare& comp)
  {
    if (i < a_end && j < b_end)
    {
      Index from_a = a[i];
      Index from_b = b[j];
      for (;;)
      {
        bool const takes_b = block::precedes(from_b, from_a, comp);
        to[place(out++)]   = takes_b ? from_b : from_a;
        (takes_b ? j : i) += 1;
        if (takes_b ? j == b_end : i == a_end)
        {
          break;
        }
        (takes_b ? from_b : from_a) = takes_b ? b[j] : a[i];
      }
    }
    for (; i < a_end; ++i)
    {
      to[place(out++)] = a[i];
    }
    for (; j < b_end; ++j)
    {
      to[place(out++)] = b[j];
    }
  }

  /// Sorts shared.at[0]'s first `count` elements; returns which of the two has the result. Called by all threads, which may read it.
  template <class Compare>
  __device__ static int sort(shared_storage& shared, int count, Compare& comp)
  {
    int from = 0;
    // Runs that lie in what a thread has.
    int const own = static_cast<int>(threadIdx.x) * Items;
    int const end = own + Items < count ? own + Items : count;
    for (int run_size = 1; run_size < Items; run_size *= 2, from = 1 - from)
    {
      for (int begin = own; begin < end; begin += 2 * run_size)
      {
        int const a_size = run_size < end - begin ? run_size : end - begin;
        int const b_size = run_size < end - begin - a_size ? run_size : end - begin - a_size;
        run const a{shared.at[from], begin};
        run const b{shared.at[from], begin + a_size};
        merge_part(a, 0, a_size, b, 0, b_size, shared.at[1 - from], begin, comp);
      }
    }
    __syncthreads();
    for (int run_size = Items; run_size < count; run_size *= 2, from = 1 - from)
    {
      merge_pairs(shared, from, count, 2 * run_size, run_size, comp);
    }
    return from;
  }
};

/// Sorts every tile on its own, and clears the `passes` words of `checks`. If the input has been seen to be reversed, undoes that instead, and if it
/// is in order, nothing.
/// Grid: a block a tile. Block: sparing_tile's threads. Shared: its storage. In and out may be the same arrays.
template <int Items, class Index, class Compare>
__global__ void __launch_bounds__(sparing_tile<Index, Items>::threads) sort_tiles_sparingly(
  Index* in, Index* out, std::size_t n, pass_check* checks, int passes, order_seen const* all, Compare comp)
{
  using tile = sparing_tile<Index, Items>;
  extern __shared__ uint4 shared_words[];
  auto& shared = *reinterpret_cast<typename tile::shared_storage*>(shared_words);

  runtime::wait_for_previous_kernel();
  if (blockIdx.x == 0 && static_cast<int>(threadIdx.x) < passes)
  {
    checks[threadIdx.x] = 0;
  }
  if (!is_to_be_sorted(all))
  {
    merge::undo_reversal(*all, in, static_cast<block::no_values*>(nullptr), n);
    return;
  }
  std::size_t const begin = static_cast<std::size_t>(blockIdx.x) * tile::size;
  int const count         = n - begin < tile::size ? static_cast<int>(n - begin) : tile::size;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += tile::threads)
  {
    shared.at[0][tile::place(i)] = in[begin + static_cast<std::size_t>(i)];
  }
  __syncthreads();
  int const sorted = tile::sort(shared, count, comp);
  for (int i = static_cast<int>(threadIdx.x); i < count; i += tile::threads)
  {
    out[begin + static_cast<std::size_t>(i)] = shared.at[sorted][tile::place(i)];
  }
}

/// A pair of neighbouring sorted runs, and the tile of their merge that begins at `place` among n elements.
struct pair_of_runs
{
  std::size_t begin;
  std::size_t a_size;
  std::size_t b_size;
  std::size_t diagonal; // elements in front of the tile

  __device__ pair_of_runs(std::size_t place, std::size_t run, std::size_t n)
      : begin(place / (2 * run) * (2 * run))
      , a_size(run < n - begin ? run : n - begin)
      , b_size(run < n - begin - a_size ? run : n - begin - a_size)
      , diagonal(place - begin)
  {}
};

/// taken[t] = how many elements of the first run of its pair go before tile t. Grid: a thread for each of `tiles`. Block: sparing_cut_threads.
template <class Index, class Compare>
__global__ void __launch_bounds__(sparing_cut_threads)
  cut_pairs(Index const* from,
            std::size_t n,
            std::size_t run,
            std::size_t tiles,
            std::size_t* taken,
            pass_check* checks,
            int pass,
            order_seen const* all,
            Compare comp)
{
  runtime::wait_for_previous_kernel();
  if (!is_to_be_sorted(all) || failed_before(checks, pass))
  {
    return;
  }
  std::size_t const t = static_cast<std::size_t>(blockIdx.x) * sparing_cut_threads + threadIdx.x;
  if (t < tiles)
  {
    pair_of_runs const pair(t * sparing_tile_size_v<Index>, run, n);
    Index const* const a = from + pair.begin;
    taken[t]             = block::merge_path(pair.diagonal, a, pair.a_size, a + pair.a_size, pair.b_size, comp);
  }
}

/// Merges sorted runs of `run` elements, which are whole tiles, in pairs, if there is anything to sort. A comparator that contradicts itself
/// can cut them in a way that is none: then checks[pass] is set, and the source survives. (In a tile the block sees it, and writes what it has.)
/// Grid: a block a tile. Block: sparing_tile's threads. Shared: its storage.
template <int Items, class Index, class Compare>
__global__ void __launch_bounds__(sparing_tile<Index, Items>::threads) merge_pairs_sparingly(
  Index const* from,
  Index* to,
  std::size_t n,
  std::size_t run,
  std::size_t const* taken,
  pass_check* checks,
  int pass,
  order_seen const* all,
  Compare comp)
{
  using tile         = sparing_tile<Index, Items>;
  constexpr int size = tile::size;
  extern __shared__ uint4 shared_words[];
  auto& shared = *reinterpret_cast<typename tile::shared_storage*>(shared_words);

  runtime::wait_for_previous_kernel();
  if (!is_to_be_sorted(all) || failed_before(checks, pass))
  {
    return;
  }
  std::size_t const place = static_cast<std::size_t>(blockIdx.x) * size;
  pair_of_runs const pair(place, run, n);
  std::size_t const left   = pair.a_size + pair.b_size - pair.diagonal;
  std::size_t const count  = left < size ? left : size;
  std::size_t const a      = taken[blockIdx.x];
  std::size_t const a_end  = left > size ? taken[blockIdx.x + 1] : pair.a_size;
  std::size_t const a_part = a_end - a;
  if (a_end < a || a_part > count)
  {
    if (threadIdx.x == 0)
    {
      checks[pass] = 1;
    }
    return;
  }
  Index const* const in_a = from + pair.begin + a;
  Index const* const in_b = from + pair.begin + pair.a_size + (pair.diagonal - a) - a_part; // behind what tile has of a
  for (std::size_t i = threadIdx.x; i < count; i += tile::threads)
  {
    shared.at[0][tile::place(static_cast<int>(i))] = i < a_part ? in_a[i] : in_b[i];
  }
  __syncthreads();
  tile::merge_pairs(shared, 0, static_cast<int>(count), size, static_cast<int>(a_part), comp);
  for (std::size_t i = threadIdx.x; i < count; i += tile::threads)
  {
    to[place + i] = shared.at[1][tile::place(static_cast<int>(i))];
  }
}

/// Sorts indices by a comparator that takes long. Stable; any comparator. At most 1.1 n log2 n comparisons, for n up to 2^32: docs/performance.md,
/// "Few comparisons".
struct few_comparisons
{
  template <class Index>
  struct plan
  {
    std::size_t tiles;
    int passes            = 0;
    std::size_t alternate = 0, taken = 0, checks = 0, seen = 0;
    runtime::layout layout;

    explicit plan(std::size_t n)
        : tiles(runtime::blocks_for(n, sparing_tile_size_v<Index>))
    {
      for (std::size_t merged = 1; merged < tiles; merged *= 2)
      {
        ++passes;
      }
      if (passes > 0)
      {
        alternate = layout.add(n, sizeof(Index));
        taken     = layout.add(tiles, sizeof(std::size_t));
        checks    = layout.add(static_cast<std::size_t>(passes), sizeof(pass_check));
        seen      = layout.add(n >= least_to_look_sparingly ? 1 : 0, sizeof(order_seen));
      }
    }
  };

  template <class Index, class Value, class Compare>
  static std::size_t scratch_bytes(std::size_t n)
  {
    return plan<Index>(n).layout.bytes();
  }

  template <class Index, class Value, class Compare>
  static void sort(cudaStream_t stream, void* scratch, Index* indices, Value*, std::size_t n, Compare comp)
  {
    static_assert(std::is_integral_v<Index> && std::is_empty_v<Value>);
    plan<Index> const plan(n);
    void* const base   = plan.layout.base(scratch);
    Index* const at[2] = {indices, runtime::at_offset<Index>(base, plan.alternate)};
    auto* const taken  = runtime::at_offset<std::size_t>(base, plan.taken);
    auto* const checks = runtime::at_offset<pass_check>(base, plan.checks);
    // Of a small input a glance would ask too much.
    auto* const seen = n >= least_to_look_sparingly ? runtime::at_offset<order_seen>(base, plan.seen) : nullptr;
    if (seen != nullptr)
    {
      runtime::launch(glance_at_input<Index, Compare>, {1, look_threads}, stream, indices, n, seen, comp);
      merge::launch_look(stream, indices, n, seen, checks, 0, nullptr, comp);
    }
    // Passes take turns between the two buffers; the first one begins where the last one ends in the caller's.
    int from             = plan.passes % 2;
    auto const sort_with = [&](auto items) {
      using tile = sparing_tile<Index, decltype(items)::value>;
      runtime::launch(
        sort_tiles_sparingly<decltype(items)::value, Index, Compare>,
        {plan.tiles, tile::threads, sizeof(typename tile::shared_storage)},
        stream,
        indices,
        at[from],
        n,
        checks,
        plan.passes,
        seen,
        comp);
    };
    if (n <= most_for_short_parts)
    {
      sort_with(std::integral_constant<int, sparing_items / 2>{});
    }
    else
    {
      sort_with(std::integral_constant<int, sparing_items>{});
    }
    std::size_t run = sparing_tile_size_v<Index>;
    for (int pass = 0; pass < plan.passes; ++pass, from = 1 - from, run *= 2)
    {
      using tile = sparing_tile<Index, sparing_items>;
      runtime::launch(
        cut_pairs<Index, Compare>,
        {runtime::blocks_for(plan.tiles, sparing_cut_threads), sparing_cut_threads},
        stream,
        at[from],
        n,
        run,
        plan.tiles,
        taken,
        checks,
        pass,
        seen,
        comp);
      runtime::launch(
        merge_pairs_sparingly<sparing_items, Index, Compare>,
        {plan.tiles, tile::threads, sizeof(typename tile::shared_storage)},
        stream,
        at[from],
        at[1 - from],
        n,
        run,
        taken,
        checks,
        pass,
        seen,
        comp);
    }
    if (plan.passes > 0)
    {
      block::no_values* const none[2] = {};
      merge::recover_after(stream, at, none, n, checks, plan.passes);
    }
  }
};

} // namespace gpusort::merge
