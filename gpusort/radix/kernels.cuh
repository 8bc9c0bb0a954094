// The kernels of the radix sort: look at a segment's keys, move them to their buckets, sort what fits a block.
#pragma once

#include <gpusort/radix/job.cuh>
#include <gpusort/radix/look.cuh>
#include <gpusort/radix/split.cuh>
#include <gpusort/radix/tuning.h>
#include <gpusort/runtime/dependency.cuh>
#include <gpusort/runtime/phases.cuh>
#include <gpusort/runtime/residency.cuh>

#include <cstddef>
#include <cstdint>

namespace gpusort::radix
{

/// Makes the part-th of `parts` parts of `words` words zero. Called by all threads of a block.
__device__ inline void clear_words(void* first, std::size_t words, std::uint32_t part, std::uint32_t parts)
{
  auto* const all = static_cast<std::uint32_t*>(first);
  for (std::size_t i = static_cast<std::size_t>(part) * blockDim.x + threadIdx.x; i < words;
       i += static_cast<std::size_t>(parts) * blockDim.x)
  {
    all[i] = 0;
  }
}

/// Makes what the next looks at list 1 and its splits count zero.
template <class Job>
__device__ void clear_list(Job const& job, bool list_1, std::uint32_t part, std::uint32_t parts)
{
  clear_words(job.status, job.status_bytes / sizeof(std::uint32_t), part, parts);
  if (list_1)
  {
    clear_words(job.bins[1], static_cast<std::size_t>(job.max_segments) * radix_size * 2, part, parts);
  }
}

/// Looks at the segments of a list once, and decides what becomes of them.
/// Grid: any. Block: look_threads.
/// Before: what the list counts is zero. After: it is complete, and the look_back words are zero; from list 0, list 1 is
/// begun if there are two levels.
template <class Bits, bool IsFloat, class Value>
__global__ void __launch_bounds__(look_threads, runtime::resident_blocks(look_threads, look_blocks_per_sm))
  look_at_segments(sort_job<Bits, IsFloat, Value> job, int list)
{
  using looking = look<Bits, IsFloat, Value, look_threads>;
  __shared__ look_storage<Bits, look_threads> shared;
  runtime::wait_for_previous_kernel();
  clear_list(job, list == 0 && job.two_levels, blockIdx.x, gridDim.x);
  block::segment const whole{0, job.n, 0};
  looking::at_segments(
    job,
    list,
    list == 0 ? &whole : job.segments[1],
    list == 0 ? 1 : job.done->segments[1],
    list == 0 ? looking::tiles_of(job, job.n) : job.done->tiles[1],
    blockIdx.x,
    gridDim.x,
    shared);
}

/// Does what has been decided with the segments of a list.
/// Grid: at least a block a tile. Block: split_partition's threads. Shared: its shared_storage.
template <class Bits, bool IsFloat, class Value>
__global__ void
__launch_bounds__(shape_of<Bits, Value>().threads,
                  runtime::resident_blocks(shape_of<Bits, Value>().threads, shape_of<Bits, Value>().blocks))
  split_segments(sort_job<Bits, IsFloat, Value> job, int list)
{
  using splitting = splitter<Bits, IsFloat, Value, split_partition<Bits, IsFloat, Value>>;
  extern __shared__ uint4 shared_words[];
  runtime::wait_for_previous_kernel();
  splitting::template do_tile<true>(job, list, *reinterpret_cast<typename splitting::storage*>(shared_words));
}

/// Looks at and splits the segments that are still waiting, level by level, until none is left: outliers, on most inputs
/// none.
/// Grid: any. Block: waiting_threads. Shared: waiting_partition's shared_storage or look_storage, whichever is larger.
template <class Bits, bool IsFloat, class Value>
__global__ void __launch_bounds__(waiting_threads) split_waiting(sort_job<Bits, IsFloat, Value> job)
{
  using splitting = splitter<Bits, IsFloat, Value, waiting_partition<Bits, IsFloat, Value>>;
  using looking   = look<Bits, IsFloat, Value, splitting::threads>;
  extern __shared__ uint4 shared_words[];
  __shared__ runtime::phases::ticket shared_ticket;
  auto& for_looking   = *reinterpret_cast<typename looking::storage*>(shared_words);
  auto& for_splitting = *reinterpret_cast<typename splitting::storage*>(shared_words);

  // The phases of a level; as many tickets as there are blocks, but for tiles to split.
  constexpr std::uint32_t beginning = 0, clearing = 1, looking_at = 2, kinds = 4;

  runtime::wait_for_previous_kernel();
  progress volatile& now = *job.done;
  if (now.waiting == 0 && job.done->work.is_untouched())
  {
    return;
  }
  while (true)
  {
    if (threadIdx.x == 0)
    {
      shared_ticket = job.done->work.take();
    }
    __syncthreads();
    runtime::phases::ticket const own = shared_ticket;
    if (own.count == 0)
    {
      return;
    }
    std::uint32_t const kind = own.phase % kinds;
    if (kind == beginning)
    {
      looking::begin_waiting(job, for_looking);
    }
    else if (kind == clearing)
    {
      clear_list(job, true, own.number, own.count);
    }
    else if (kind == looking_at)
    {
      looking::at_segments(job, 1, job.segments[1], now.segments[1], now.tiles[1], own.number, own.count, for_looking);
    }
    else
    {
      splitting::template do_tile<false>(job, 1, for_splitting);
    }
    __syncthreads(); // all is done, and shared memory is free again
    if (threadIdx.x == 0 && job.done->work.finish(own))
    {
      if (kind == beginning && now.segments[1] == 0)
      {
        job.done->work.end();
      }
      else
      {
        job.done->work.begin(own, kind == looking_at ? now.tiles[1] : kind < looking_at ? gridDim.x : 1);
      }
    }
  }
}

/// Sorts the buckets that have been noted, into the caller's array, and calls those crowded that bins do not sort.
/// Grid: any. Block: bucket_sort's threads. Shared: its shared_storage.
template <class Bits, bool IsFloat, class Value, bool Small>
__global__ void __launch_bounds__(
  block_sort_shape(Small).threads,
  runtime::resident_blocks(block_sort_shape(Small).threads, block_sorts_per_sm(sizeof(Bits), value_bytes_v<Value>)))
  sort_buckets(sort_job<Bits, IsFloat, Value> job)
{
  using sorter = bucket_sort<Bits, IsFloat, Value, Small>;
  extern __shared__ uint4 shared_words[];

  runtime::wait_for_previous_kernel();
  std::uint32_t const count = job.done->buckets;
  for (std::uint32_t i = blockIdx.x; i < count; i += gridDim.x)
  {
    bucket own                = job.buckets[i];
    std::uint64_t const begin = own.begin();
    __syncthreads();
    bool const sorted = sorter::sort(
      *reinterpret_cast<typename sorter::shared_storage*>(shared_words),
      job.order,
      own.size(),
      (own.is_home() ? job.keys[0] : job.keys[1]) + begin,
      job.keys[0] + begin,
      (own.is_home() ? job.values[0] : job.values[1]) + begin,
      job.values[0] + begin);
    if (!sorted && threadIdx.x == 0)
    {
      own.call_crowded();
      job.buckets[i] = own;
      atomicAdd(&job.done->crowded, 1u);
    }
  }
}

/// Sorts the buckets that have been called crowded, on most inputs none.
/// Grid: any. Block: bucket_sort's threads. Shared: its digit_storage.
template <class Bits, bool IsFloat, class Value, bool Small>
__global__ void __launch_bounds__(block_sort_shape(Small).threads)
  sort_crowded_buckets(sort_job<Bits, IsFloat, Value> job)
{
  using sorter = bucket_sort<Bits, IsFloat, Value, Small>;
  extern __shared__ uint4 shared_words[];

  runtime::wait_for_previous_kernel();
  std::uint32_t const count = job.done->crowded == 0 ? 0 : job.done->buckets;
  for (std::uint32_t i = blockIdx.x; i < count; i += gridDim.x)
  {
    bucket const own = job.buckets[i];
    if (own.is_crowded())
    {
      std::uint64_t const begin = own.begin();
      __syncthreads();
      sorter::sort_by_digits(
        *reinterpret_cast<typename sorter::digit_storage*>(shared_words),
        job.order,
        own.size(),
        (own.is_home() ? job.keys[0] : job.keys[1]) + begin,
        job.keys[0] + begin,
        (own.is_home() ? job.values[0] : job.values[1]) + begin,
        job.values[0] + begin);
    }
  }
}

/// Sorts an input that fits a block. Grid: one block. Block: bucket_sort's threads.
/// Shared: its shared_storage or digit_storage, whichever is larger.
template <class Bits, bool IsFloat, class Value, bool Small>
__global__ void __launch_bounds__(block_sort_shape(Small).threads)
  sort_one_tile(Bits* keys, Value* values, int n, key_order<Bits, IsFloat> order)
{
  using sorter = bucket_sort<Bits, IsFloat, Value, Small>;
  extern __shared__ uint4 shared_words[];
  runtime::wait_for_previous_kernel();
  if (!sorter::sort(
        *reinterpret_cast<typename sorter::shared_storage*>(shared_words), order, n, keys, keys, values, values))
  {
    __syncthreads();
    sorter::sort_by_digits(
      *reinterpret_cast<typename sorter::digit_storage*>(shared_words), order, n, keys, keys, values, values);
  }
}

} // namespace gpusort::radix
