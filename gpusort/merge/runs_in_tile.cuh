// What several sorted runs have of a tile: where it lies, and how a block reads it to merge it.
#pragma once

#include <gpusort/block/merge_sort.cuh>
#include <gpusort/block/warp.cuh>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::merge
{

/// What a run has of a tile; of a run that has nothing, any element.
template <class Key>
struct alignas(16) run_part
{
  Key const* keys; // at its first place
  int first, last; // places
};

/// A source, as in block/tile.cuh, of the parts that up to `Most` sorted runs have of a tile, in shared memory. Each begins where a
/// thread's places do. Places that no run has get any elements.
template <class Key, class Value, int Threads, int Items, int Most>
struct runs_in_tile
{
  run_part<Key> parts[Most];
  Value const* values[Most];
  int threads_before[Most + 1];
  int sizes_before[Most + 1];
  std::uint8_t run_of_thread[Threads];

  static_assert(Most <= 32);

  /// The elements of all runs.
  __device__ int size() const
  {
    return sizes_before[Most];
  }

  /// Notes what the runs have: of that with the lane's number, `taken` elements from `from` on; of others than the first `Most`, 0.
  /// Called by all lanes of one warp. Returns whether the block has enough threads for them; if not, they are not to be read.
  __device__ bool note(Key const* all_keys, Value const* all_values, std::size_t from, std::uint32_t taken)
  {
    std::uint32_t const lane    = threadIdx.x % 32;
    std::uint32_t const threads = (taken + Items - 1) / Items;
    std::uint32_t const ending  = block::inclusive_sum_of_warp(taken);
    std::uint32_t const last    = block::inclusive_sum_of_warp(threads);
    if (lane == 0)
    {
      threads_before[0] = 0;
      sizes_before[0]   = 0;
    }
    if (lane < Most)
    {
      auto const first         = static_cast<int>(last - threads) * Items;
      std::size_t const begin  = taken > 0 ? from : 0;
      parts[lane]              = {all_keys + begin, first, taken > 0 ? first + static_cast<int>(taken) - 1 : first};
      threads_before[lane + 1] = static_cast<int>(last);
      sizes_before[lane + 1]   = static_cast<int>(ending);
      if constexpr (!std::is_empty_v<Value>)
      {
        values[lane] = all_values + begin;
      }
    }
    return __shfl_sync(block::all_lanes, last, 31) <= static_cast<std::uint32_t>(Threads);
  }

  /// The 2^log2 runs that have been noted, for block::merge_sort. Called by all threads of a block, after a barrier.
  __device__ block::listed_runs<Items> listed(int log2)
  {
    int run = 0; // the last one that begins where the thread does, or before
    for (int step = 1 << log2 >> 1; step > 0; step /= 2)
    {
      run += threads_before[run + step] <= static_cast<int>(threadIdx.x) ? step : 0;
    }
    run_of_thread[threadIdx.x] = static_cast<std::uint8_t>(run);
    int const some =
      __syncthreads_count(threadIdx.x < Most && sizes_before[threadIdx.x] < sizes_before[threadIdx.x + 1]);
    return {threads_before, sizes_before, run_of_thread, log2, some < 2 ? 0 : log2};
  }

  /// As in block/tile.cuh, but that rows are read as a whole.
  template <int N>
  __device__ void load_keys(Key (&held)[N], int extent, int first_row) const
  {
    load<false>(held, extent, first_row, [&](int run) { return parts[run].keys; });
  }
  template <int N>
  __device__ void load_values(Value (&held)[N], int extent, int first_row) const
  {
    load<false>(held, extent, first_row, [&](int run) { return values[run]; });
  }
  /// Reads something for every place of the tile.
  template <int N>
  __device__ void fill_keys(Key (&held)[N], int first_row) const
  {
    load<true>(held, 0, first_row, [&](int run) { return parts[run].keys; });
  }
  template <int N>
  __device__ void fill_values(Value (&held)[N], int first_row) const
  {
    load<true>(held, 0, first_row, [&](int run) { return values[run]; });
  }

private:
  template <bool Fills, class T, int N, class ElementsOf>
  __device__ void load(T (&held)[N], int extent, int first_row, ElementsOf elements_of) const
  {
    unsigned const lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < N; ++i)
    {
      // No branch that lanes could take apart, and none at all where all is read: then all is under way at once.
      int const row = (first_row + i) * 32;
      if (Fills || row < extent)
      {
        unsigned const place     = static_cast<unsigned>(row) + lane;
        int const run            = run_of_thread[place / Items];
        run_part<Key> const part = parts[run];
        int const last           = static_cast<int>(place) < part.last ? static_cast<int>(place) : part.last;
        held[i]                  = elements_of(run)[last - part.first];
      }
    }
  }
};

} // namespace gpusort::merge
