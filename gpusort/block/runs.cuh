// Where the elements of buckets lie once tiles are in the order of their buckets: a run in each tile of the segment; and how
// a block reads them as if they lay side by side.
#pragma once

#include <gpusort/block/prefix_sum.cuh>
#include <gpusort/block/runs.h>
#include <gpusort/block/tile.cuh>
#include <gpusort/block/warp.cuh>

#include <cstddef>
#include <cstdint>

namespace gpusort::block
{

/// The tiles of a segment, in order. What is pointed to belongs to the segment's first tile, or group of tiles.
struct segment_tiles
{
  std::uint16_t const* starts; // tiles x buckets: where each begins in the tile; null: all elements lie side by side
  unsigned long long const* before; // groups x buckets: elements of each in the groups before; null: nobody skips any
  std::uint64_t begin; // of the segment
  std::uint64_t size;
  std::uint32_t count;
  int buckets;
  int tile; // elements

  __device__ std::uint32_t groups() const
  {
    return (count + tiles_of_group - 1) / tiles_of_group;
  }

  /// Where buckets [first, last) begin in a tile, and in `end` where they end.
  __device__ std::uint32_t run(std::uint32_t number, unsigned first, unsigned last, std::uint32_t& end) const
  {
    std::uint16_t const* const row = starts + static_cast<std::size_t>(number) * buckets;
    std::uint64_t const left       = size - static_cast<std::uint64_t>(number) * tile;
    end                            = last < static_cast<unsigned>(buckets) ? row[last]
                                   : left < static_cast<std::uint64_t>(tile)
                                     ? static_cast<std::uint32_t>(left)
                                     : static_cast<std::uint32_t>(tile);
    return row[first];
  }
};

/// A source, as in block/tile.cuh, of up to `Most` elements that lie in runs: those of buckets [first, last) from number `skip`
/// on. If skip is not 0, `last` is first + 1. Tables in shared memory say where the runs of up to `Threads` tiles lie; what
/// takes more is read part by part. Its functions are called by all threads of a block.
template <class Key, class Value, int Threads, int Most>
class run_source
{
  /// 32 neighbouring elements.
  struct row
  {
    std::uint32_t begun; // bit i: element i is the first of a run
    std::int32_t runs_before; // listed ones that begin in rows before, or before the source's elements
  };
  static constexpr int rows = Most / 32;
  static_assert(Most % 32 == 0 && rows <= Threads);

public:
  struct shared_storage
  {
    row of[rows];
    // Of each run, the place of its first element behind the first listed tile, less that element's number: the place of any element
    // of the run is this and its own number.
    std::uint32_t from[Threads];
    std::int32_t end; // number behind the last
    warp_sums<std::uint64_t, Threads> sums;
  };

  __device__ run_source(shared_storage& shared,
                        segment_tiles const& tiles,
                        unsigned first,
                        unsigned last,
                        std::uint64_t skip,
                        Key const* keys,
                        Value const* values)
      : shared_(shared)
      , tiles_(tiles)
      , first_(first)
      , last_(last)
      , keys_(keys)
      , values_(values)
  {
    if (skip > 0)
    {
      // The last group of tiles that begins with element `skip` or before it.
      std::uint32_t const groups = tiles.groups();
      std::uint32_t begun        = 0;
      for (std::uint32_t base = 0; base < groups; base += Threads)
      {
        std::uint32_t const group = base + threadIdx.x;
        begun += static_cast<std::uint32_t>(__syncthreads_count(group < groups && before(group) <= skip));
      }
      first_tile_ = (begun - 1) * tiles_of_group;
      offset_     = static_cast<std::int32_t>(static_cast<std::int64_t>(before(begun - 1) - skip));
    }
  }

  /// Has to be called before a load that no barrier separates from the one before, whose tables may be overwritten. Not part of a
  /// load, where ptxas 13.0 has no predicates left for it.
  __device__ void finish_load() const
  {
    if (!listed_)
    {
      __syncthreads();
    }
  }

  /// With a step, of every Step-th row.
  template <int Step = 1, int N>
  __device__ void load_keys(Key (&held)[N], int size, int first_row)
  {
    load<Step>(keys_, held, size, first_row);
  }
  template <int Step = 1, int N>
  __device__ void load_values(Value (&held)[N], int size, int first_row)
  {
    load<Step>(values_, held, size, first_row);
  }

private:
  __device__ unsigned long long before(std::uint32_t group) const
  {
    return tiles_.before[static_cast<std::size_t>(group) * tiles_.buckets + first_];
  }

  /// Makes the tables for the tiles from `tile` on, whose first element has the number `begin`: less than 0 for what comes
  /// before the elements of the source.
  __device__ void list(std::uint32_t tile, std::int32_t begin)
  {
    auto const thread       = static_cast<int>(threadIdx.x);
    std::uint32_t const own = tile + threadIdx.x;
    std::uint32_t start = 0, end = 0;
    if (own < tiles_.count)
    {
      start = tiles_.run(own, first_, last_, end);
    }
    if (thread < rows)
    {
      shared_.of[thread].begun = 0;
    }
    // The elements of the tiles before this one, and above them how many of those tiles have any.
    std::uint64_t const own_run = end > start ? std::uint64_t{1} << 32 : 0;
    std::uint64_t const before  = exclusive_sum<Threads>(shared_.sums, own_run | (end - start));
    auto const run              = static_cast<std::int32_t>(before >> 32);
    std::int32_t const number   = begin + static_cast<std::int32_t>(static_cast<std::uint32_t>(before));
    std::int32_t const behind   = number + static_cast<std::int32_t>(end - start);
    // Those that are among the elements of the source.
    std::int32_t const first = number > 0 ? number : 0;
    std::int32_t const last  = behind < Most ? behind : Most;
    if (first < last)
    {
      shared_.from[run] =
        threadIdx.x * static_cast<std::uint32_t>(tiles_.tile) + start - static_cast<std::uint32_t>(number);
      atomicOr(&shared_.of[first / 32].begun, 1u << first % 32);
      // A run tells rows whose first element it has how many begin before them; the first run listed, the row that it begins in, too.
      std::int32_t const own_row = first / 32;
      if (first % 32 == 0 || number == begin)
      {
        shared_.of[own_row].runs_before = run;
      }
      std::int32_t const last_row = (last - 1) / 32;
#pragma unroll 4
      for (std::int32_t other = own_row + 1; other <= last_row; ++other)
      {
        shared_.of[other].runs_before = run + 1;
      }
    }
    if (thread == Threads - 1)
    {
      shared_.end = behind;
    }
    __syncthreads();
  }

  template <int Step, class T, int N>
  __device__ void load(T const* from, T (&held)[N], int size, int first_row)
  {
    auto const lane = static_cast<int>(threadIdx.x) % 32;
    if (tiles_.starts == nullptr)
    {
      block::load_rows<Step>(from + tiles_.begin, held, size, first_row);
      return;
    }
    std::uint32_t tile = first_tile_;
    std::int32_t begin = offset_;
    for (;;)
    {
      if (!listed_)
      {
        list(tile, begin);
      }
      std::int32_t const end = shared_.end < size ? shared_.end : size;
      T const* tiles         = from + tiles_.begin + static_cast<std::uint64_t>(tile) * tiles_.tile;
      std::int32_t first     = first_row * 32 + lane;
      // Hides from the compiler what is the same in every round: it would keep all addresses that follow from it in registers.
      asm volatile("" : "+r"(first), "+l"(tiles));
      row const* const rows_of_warp = shared_.of + first / 32;
#pragma unroll
      for (int i = 0; i < N; ++i)
      {
        int const number = first + i * Step * 32;
        if (i > 0 && i % 4 == 0 && number - lane >= end)
        {
          break; // rather than ask about each row that is not in use
        }
        if (number < end && number >= begin)
        {
          row const own = rows_of_warp[i * Step];
          int const run = own.runs_before + __popc(own.begun << (31 - lane)) - 1;
          held[i]       = tiles[shared_.from[run] + static_cast<std::uint32_t>(number)];
        }
      }
      if (end == size)
      {
        listed_ = listed_ || tile == first_tile_;
        break;
      }
      tile += Threads;
      begin = end;
      __syncthreads(); // the tables are done with
    }
  }

  shared_storage& shared_;
  segment_tiles const& tiles_;
  unsigned first_;
  unsigned last_;
  Key const* keys_;
  Value const* values_;
  std::uint32_t first_tile_ = 0;
  std::int32_t offset_      = 0; // number of its first element
  bool listed_              = false; // the tables have all of the source
};

} // namespace gpusort::block
