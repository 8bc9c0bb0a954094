// Where the elements of buckets lie once tiles are in the order of their buckets: a run in each tile of the segment; and how
// a block reads them as if they lay side by side.
#pragma once

#include <gpusort/block/prefix_sum.cuh>
#include <gpusort/block/warp.cuh>
#include <gpusort/hybrid/tuning.h>

#include <cstddef>
#include <cstdint>

namespace gpusort::hybrid
{

/// The tiles of a segment, in order. What is pointed to belongs to the segment's first tile, or group of tiles.
struct segment_tiles
{
  std::uint16_t const* starts; // tiles x buckets: where each begins in the tile; null: all elements are one run
  unsigned long long const* before; // groups x buckets: elements of each in the groups before
  std::uint64_t begin; // of the segment
  std::uint64_t size;
  int buckets;
  int tile; // elements

  __device__ std::uint32_t count() const
  {
    return starts == nullptr ? 1 : static_cast<std::uint32_t>((size + tile - 1) / tile);
  }

  __device__ std::uint32_t groups() const
  {
    return (count() + tiles_of_group - 1) / tiles_of_group;
  }

  /// Where buckets [first, last) begin in a tile, and in `end` where they end.
  __device__ std::uint32_t run(std::uint32_t number, unsigned first, unsigned last, std::uint32_t& end) const
  {
    std::uint16_t const* const row = starts + static_cast<std::size_t>(number) * buckets;
    std::uint64_t const left       = size - static_cast<std::uint64_t>(number) * tile;
    end = last < static_cast<unsigned>(buckets)             ? row[last]
        : left < static_cast<std::uint64_t>(tile) ? static_cast<std::uint32_t>(left)
                                                  : static_cast<std::uint32_t>(tile);
    return row[first];
  }
};

/// A source, as in block/tile.cuh, of elements that lie in runs: those of buckets [first, last) from number `skip` on. If skip
/// is not 0, `last` is first + 1. A table in shared memory says where the runs of up to `Threads` tiles lie; what takes more
/// is read part by part. Its functions are called by all threads of a block.
template <class Key, class Value, int Threads>
class run_source
{
public:
  struct shared_storage
  {
    std::uint64_t from[Threads]; // where a run lies, less its first number
    std::int32_t first[Threads]; // number among the elements of the source; less than 0 for what comes before
    std::int32_t runs; // that have elements, those of a table
    std::int32_t end; // number behind the last
    block::warp_sums<std::uint32_t, Threads> sums;
    block::warp_sums<std::uint32_t, Threads> run_sums;
  };

  __device__ run_source(
    shared_storage& shared,
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
    if (skip > 0 && tiles.starts != nullptr)
    {
      // The last group that does not begin behind it.
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
    else
    {
      first_tile_ = 0;
      offset_     = -static_cast<std::int32_t>(skip);
    }
  }

  template <int N, class Place>
  __device__ void load_keys(Key (&held)[N], int size, Place place)
  {
    load(keys_, held, size, place);
  }
  template <int N, class Place>
  __device__ void load_values(Value (&held)[N], int size, Place place)
  {
    load(values_, held, size, place);
  }

private:
  __device__ unsigned long long before(std::uint32_t group) const
  {
    return tiles_.before[static_cast<std::size_t>(group) * tiles_.buckets + first_];
  }

  /// Makes the table for the tiles from `tile` on, whose first element has the number `begin`.
  __device__ void list(std::uint32_t tile, std::int32_t begin)
  {
    std::uint32_t const own = tile + threadIdx.x;
    std::uint32_t start = 0, end = 0;
    if (own < tiles_.count())
    {
      if (tiles_.starts == nullptr)
      {
        end = static_cast<std::uint32_t>(tiles_.size);
      }
      else
      {
        start = tiles_.run(own, first_, last_, end);
      }
    }
    std::uint32_t const count = end - start;
    std::int32_t const number = begin + static_cast<std::int32_t>(block::exclusive_sum<Threads>(shared_.sums, count));
    std::uint32_t const run   = block::exclusive_sum<Threads>(shared_.run_sums, std::uint32_t{count > 0 ? 1u : 0u});
    if (count > 0)
    {
      shared_.first[run] = number;
      shared_.from[run]  = tiles_.begin + static_cast<std::uint64_t>(own) * tiles_.tile + start
                        - static_cast<std::uint64_t>(static_cast<std::int64_t>(number));
    }
    if (threadIdx.x == Threads - 1)
    {
      shared_.runs = static_cast<std::int32_t>(run) + (count > 0 ? 1 : 0);
      shared_.end  = number + static_cast<std::int32_t>(count);
    }
    __syncthreads();
  }

  template <class T, int N, class Place>
  __device__ void load(T const* from, T (&held)[N], int size, Place place)
  {
    std::uint32_t tile = first_tile_;
    std::int32_t begin = offset_;
    for (;;)
    {
      if (!listed_)
      {
        list(tile, begin);
      }
      std::int32_t const end  = shared_.end;
      std::int32_t const runs = shared_.runs;
      auto const lane         = static_cast<std::int32_t>(threadIdx.x % 32);
      // Of the runs that begin up to the warp's first place, the last one, or none. After that, those that begin in a row of
      // places tell which run each of the row belongs to: lanes look at one of the next runs each.
      std::int32_t const first = place(0) - lane;
      std::int32_t run         = -1;
#pragma unroll 1
      for (int step = 1 << bits_of(Threads); step > 0; step /= 2)
      {
        run += run + step < runs && shared_.first[run + step] <= first ? step : 0;
      }
#pragma unroll
      for (int i = 0; i < N; ++i)
      {
        std::int32_t const number = place(i);
        std::int32_t const row    = number - lane;
        std::int32_t const next   = run + 1 + lane;
        std::int32_t const begins = next < runs ? shared_.first[next] - row : 32;
        std::uint32_t const begun = block::or_of_warp(begins >= 0 && begins < 32 ? 1u << begins : 0u);
        std::int32_t const own    = run + __popc(begun << (31 - lane));
        run += __popc(begun);
        if (number < size && number >= begin && number < end)
        {
          held[i] = from[shared_.from[own] + static_cast<std::uint64_t>(static_cast<std::int64_t>(number))];
        }
      }
      if (end >= size)
      {
        listed_ = listed_ || tile == first_tile_;
        break;
      }
      tile += Threads;
      begin = end;
      __syncthreads(); // the table is done with
    }
  }

  __host__ __device__ static constexpr int bits_of(int count)
  {
    int bits = 0;
    while (1 << bits < count)
    {
      ++bits;
    }
    return bits;
  }

  shared_storage& shared_;
  segment_tiles const& tiles_;
  unsigned first_;
  unsigned last_;
  Key const* keys_;
  Value const* values_;
  std::uint32_t first_tile_;
  std::int32_t offset_; // number of its first element
  bool listed_ = false; // the table has all of the source
};

} // namespace gpusort::hybrid
