// Doing with a tile of a segment what has been decided: split, fill, copy or reverse.
#pragma once

#include <gpusort/radix/job.cuh>

#include <cstddef>
#include <cstdint>

namespace gpusort::radix
{

/// What a block does with the tiles of a list. `Partition`: how it moves them, on as many threads.
template <class Bits, bool IsFloat, class Value, class Partition>
struct splitter
{
  using job_type  = sort_job<Bits, IsFloat, Value>;
  using partition = Partition;
  using storage   = typename partition::shared_storage;

  static constexpr int threads = partition::threads;

  /// Does what has been decided with one tile. Returns false if none is left. `Fast`: with code of its own for full tiles,
  /// and for any order.
  template <bool Fast>
  __device__ static bool do_tile(job_type const& job, int list, storage& shared)
  {
    block::partition_work work;
    work.segments      = job.segments[list];
    work.segment_count = job.done->segments + list;
    work.tile_count    = job.done->tiles + list;
    work.bucket_begin  = job.bins[list];
    work.status        = job.status;
    work.ticket        = job.done->tickets + list;
    work.wide          = job.wide;
    work.tile          = job.tile;

    block::tile_place at;
    if (!partition::take_tile(shared, work, at))
    {
      return false;
    }
    segment_state<Bits> const& state = job.states[list][at.segment];
    switch (state.todo)
    {
      case action::none:
        break;
      case action::split:
        move<true, Fast && job_type::with_values>(job, work, at, state, shared);
        break;
      case action::split_in_any_order:
        if constexpr (!job_type::with_values)
        {
          move<!Fast, Fast>(job, work, at, state, shared);
        }
        break;
      case action::fill:
        if constexpr (!job_type::with_values)
        {
          fill(job, state.map.low, work.bucket_begin + static_cast<std::size_t>(at.segment) * radix_size, at, shared);
        }
        break;
      case action::copy:
        copy(job, at);
        break;
      case action::reverse:
        reverse(job, at);
        break;
    }
    return true;
  }

private:
  template <bool Ordered, bool Fast>
  __device__ static void move(job_type const& job,
                              block::partition_work const& work,
                              block::tile_place const& at,
                              segment_state<Bits> const& state,
                              storage& shared)
  {
    bool const from_home = state.array == 0;
    partition::template move_tile<Ordered, Fast>(
      shared,
      bucket_of_key<Bits, IsFloat>{job.order, state.map},
      work,
      at,
      from_home ? job.keys[0] : job.keys[1],
      from_home ? job.keys[1] : job.keys[0],
      from_home ? job.values[0] : job.values[1],
      from_home ? job.values[1] : job.values[0]);
  }

  /// Writes the keys that belong to the places of a tile, the buckets being those of the ranks from `low` on.
  __device__ static void
  fill(job_type const& job, Bits low, std::uint64_t const* bucket_begin, block::tile_place const& at, storage& shared)
  {
    for (int b = static_cast<int>(threadIdx.x); b < radix_size; b += threads)
    {
      shared.output_of[b] = bucket_begin[b];
    }
    __syncthreads();
    int b = -1;
    for (int i = static_cast<int>(threadIdx.x); i < at.size; i += threads)
    {
      std::uint64_t const place = at.begin + i;
      if (b < 0)
      {
        b = 0;
        for (int step = radix_size / 2; step > 0; step /= 2)
        {
          b += shared.output_of[b + step] <= place ? step : 0;
        }
      }
      while (b + 1 < radix_size && shared.output_of[b + 1] <= place)
      {
        ++b;
      }
      job.keys[0][place] = job.order.bits_of_rank(static_cast<Bits>(low + static_cast<Bits>(b)));
    }
  }

  __device__ static void copy(job_type const& job, block::tile_place const& at)
  {
    for (int begin = 0; begin < at.size; begin += threads * moved_at_once)
    {
      std::uint64_t const first = at.begin + begin;
      block::move_tile<threads, moved_at_once>(
        at.size - begin, [&](int place) { return job.keys[1][first + place]; }, job.keys[0] + first);
      if constexpr (job_type::with_values)
      {
        block::move_tile<threads, moved_at_once>(
          at.size - begin, [&](int place) { return job.values[1][first + place]; }, job.values[0] + first);
      }
    }
  }

  /// Swaps half a tile's elements with their mirror images: the tiles of the input are one and a half times too many.
  __device__ static void reverse(job_type const& job, block::tile_place const& at)
  {
    std::uint64_t const half = static_cast<std::uint64_t>(job.tile) / 2;
    std::uint64_t const from = at.number * half;
    std::uint64_t const end  = from + half < job.n / 2 ? from + half : job.n / 2;
    for (std::uint64_t begin = from; begin < end; begin += threads * moved_at_once)
    {
      swap_ends(job.keys[0], job.n, begin, end);
      if constexpr (job_type::with_values)
      {
        swap_ends(job.values[0], job.n, begin, end);
      }
    }
  }

  template <class T>
  __device__ static void swap_ends(T* elements, std::uint64_t n, std::uint64_t begin, std::uint64_t end)
  {
    constexpr int step = threads * moved_at_once;
    int const size     = end - begin < step ? static_cast<int>(end - begin) : step;
    T* const front     = elements + begin;
    T* const mirrored  = elements + (n - begin - size); // front's elements end up here, backwards
    T first[moved_at_once];
    T last[moved_at_once];
    block::read_tile<threads>(first, size, [&](int place) { return front[size - 1 - place]; });
    block::read_tile<threads>(last, size, [&](int place) { return mirrored[size - 1 - place]; });
    __syncthreads(); // everything is read before anything is written
    block::write_tile<threads>(first, size, mirrored);
    block::write_tile<threads>(last, size, front);
  }
};

} // namespace gpusort::radix
