// The sort by bins that blocks use, whether there are values or not, of elements that lie in runs too.
#pragma once

#include <gpusort/block/bin_sort.cuh>
#include <gpusort/block/staged_bin_sort.cuh>
#include <gpusort/block/tile.cuh>

#include <type_traits>

namespace gpusort::block
{

/// Keys alone are held in registers, if their ranks tell them; others, and keys with values, are staged in shared memory.
template <class Bits, class Value, class Order, int Threads, int Items, full_bins Full>
using sort_by_bins =
  std::conditional_t<std::is_empty_v<Value> && Order::tells_keys,
                     bin_sort<Bits, no_values, Order, Threads, Items, Full>,
                     staged_bin_sort<Bits, Value, Order, Threads, Threads * Items, Full>>;

/// What bin_sort wants of its keys, which lie in runs.
template <class Bits, class Source>
struct keys_in_runs
{
  Source& source;
  Bits& first; // in shared memory

  template <int Threads, int N>
  __device__ void read_keys(Bits (&held)[N], int n)
  {
    auto const thread = static_cast<int>(threadIdx.x);
    held[0]           = 0;
    source.template load_keys<Threads / 32>(held, n, thread / 32);
    if (thread == 0)
    {
      first = held[0];
    }
    if (n < Threads)
    {
      __syncthreads();
      held[0] = thread < n ? held[0] : first;
    }
#pragma unroll
    for (int i = 1; i < N; ++i)
    {
      held[i] = i * Threads + thread < n ? held[i] : held[0];
    }
  }

  /// They are all alike.
  template <int Threads, int Items>
  __device__ void move(int n, Bits* keys_out, no_values*) const
  {
#pragma unroll 1
    for (int at = static_cast<int>(threadIdx.x); at < n; at += Threads)
    {
      keys_out[at] = first;
    }
  }
};

/// Sorts the n elements of a run_source by bins, as `Sorter::sort` does. `first` is room in shared memory.
template <class Sorter, class Bits, class Value, class Order, class Source, class Agrees>
__device__ bool sort_runs_by_bins(
  typename Sorter::shared_storage& shared,
  Bits& first,
  Order const& order,
  int n,
  Source& source,
  Bits* keys_out,
  Value* values_out,
  int likely_alike,
  Agrees const& agrees)
{
  if constexpr (!Sorter::is_staged)
  {
    keys_in_runs<Bits, Source> keys{source, first};
    return Sorter::sort(shared, order, n, keys, keys_out, values_out, likely_alike, agrees);
  }
  else
  {
    return Sorter::sort(shared, order, n, source, keys_out, values_out, likely_alike, agrees);
  }
}

} // namespace gpusort::block
