// The multi-way partition pass: every element of a segment moves to its bucket, in input order, with one read and one
// write. What a bucket is, a classifier says; radix asks for a digit.
#pragma once

#include <gpusort/block/look_back.cuh>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::block
{

/// A stretch of the input that is partitioned on its own. Its tiles are numbered from first_tile on, one after the other
/// through all segments of a launch; longer stretches than look_back::max_count take several launches.
struct segment
{
  std::uint64_t begin;
  std::uint64_t size;
  std::uint32_t first_tile;
};

/// Where a launch finds its work, all in device memory.
struct partition_work
{
  segment const* segments; // in order of first_tile
  std::uint32_t segment_count;
  std::uint64_t const* bucket_begin; // segment_count x buckets: where each bucket's elements of this launch go
  std::uint64_t* bucket_next; // the same behind this launch's elements, for a launch that goes on; or null
  std::uint32_t* status; // look_back words: tiles x buckets
  std::uint32_t* ticket; // zero before the launch
  int epoch; // of the look_back words
};

/// Stands for the value array of a partition of keys alone.
struct no_values
{};

template <class T, int N>
struct registers
{
  T at[N];
};
template <int N>
struct registers<no_values, N>
{};

/// One block's part of a partition: `Threads` threads take tiles of `Threads` x `Items` elements. `Classifier` maps a key
/// to a bucket below `Buckets`: `unsigned operator()(Key) const`.
template <class Key, class Value, class Classifier, int Buckets, int Threads, int Items>
class partition
{
public:
  static constexpr int warps        = Threads / 32;
  static constexpr int tile         = Threads * Items;
  static constexpr bool with_values = !std::is_same_v<Value, no_values>;

  static_assert(Buckets == 256 && Threads >= Buckets && Threads % 32 == 0);

  struct shared_storage
  {
    // Counts are done with when the keys arrive, keys when the values do.
    union
    {
      struct
      {
        std::uint32_t of[warps][Buckets]; // elements of a warp in a bucket; then, where they begin in the tile
        std::uint32_t lanes[warps][Buckets]; // which lanes hold such elements just now
      } count;
      alignas(16) char keys[sizeof(Key) * tile];
      alignas(16) char values[sizeof(Value) * (with_values ? tile : 1)];
    };
    std::uint64_t output_of[Buckets]; // where a bucket's elements go, less their position in the tile
    std::uint32_t warp_totals[Buckets / 32];
    std::uint32_t ticket;
  };

  __device__ partition(shared_storage& shared, Classifier classify)
      : shared_(shared)
      , classify_(classify)
      , lane_(threadIdx.x % 32)
      , warp_(threadIdx.x / 32)
  {}

  /// Takes one tile from the launch and moves its elements. Called once by all threads of a block.
  /// Tiles are handed out by a ticket: a block only ever waits for tiles that running blocks hold.
  __device__ void
  move_tile(partition_work const& work, Key const* keys_in, Key* keys_out, Value const* values_in, Value* values_out)
  {
    if (threadIdx.x == 0)
    {
      shared_.ticket = atomicAdd(work.ticket, 1u);
    }
    clear_counts();
    __syncthreads();

    tile_place at;
    at.number              = shared_.ticket;
    at.segment             = segment_of(work, at.number);
    segment const& segment = work.segments[at.segment];
    at.first_of_segment    = segment.first_tile;
    auto const offset      = static_cast<std::uint64_t>(at.number - segment.first_tile) * tile;
    at.begin               = segment.begin + offset;
    at.is_last             = segment.size - offset <= tile;
    at.size                = at.is_last ? static_cast<int>(segment.size - offset) : tile;

    if (at.size == tile)
    {
      move<true>(work, at, keys_in, keys_out, values_in, values_out);
    }
    else
    {
      move<false>(work, at, keys_in, keys_out, values_in, values_out);
    }
  }

private:
  struct tile_place
  {
    std::uint32_t number;
    std::uint32_t segment;
    std::uint32_t first_of_segment; // tile
    std::uint64_t begin; // element
    int size;
    bool is_last; // of its segment
  };

  /// `Full`: the tile has no places past the end of its segment.
  template <bool Full>
  __device__ void move(partition_work const& work,
                       tile_place const& at,
                       Key const* keys_in,
                       Key* keys_out,
                       Value const* values_in,
                       Value* values_out)
  {
    int const size = at.size;
    Key keys[Items];
    std::uint32_t ranks[Items];
    load<Full>(keys_in + at.begin, size, keys);
    rank_in_warp<Full>(keys, size, ranks);
    __syncthreads();

    look_back const chain(work.status, Buckets, work.epoch);
    std::uint32_t count = 0, start = 0;
    if (threadIdx.x < Buckets)
    {
      count = sum_warps(size);
      chain.publish_count(at.number, threadIdx.x, count, at.number == at.first_of_segment);
    }
    start = scan_buckets(count);
    if (threadIdx.x < Buckets)
    {
      spread_to_warps(start);
    }
    __syncthreads();
    rank_in_tile<Full>(keys, size, ranks);
    __syncthreads();
    put<Key>(shared_.keys, keys, ranks);

    registers<Value, Items> values;
    if constexpr (with_values)
    {
      load<Full>(values_in + at.begin, size, values.at); // on its way while the look-back waits
    }
    if (threadIdx.x < Buckets)
    {
      finish_bucket(work, chain, at, count, start);
    }
    __syncthreads();

    std::uint64_t outputs[with_values ? Items : 1];
    Key const* const sorted_keys = reinterpret_cast<Key const*>(shared_.keys);
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      int const position = i * Threads + static_cast<int>(threadIdx.x);
      if (Full || position < size)
      {
        Key const key              = sorted_keys[position];
        std::uint64_t const output = shared_.output_of[classify_(key)] + static_cast<std::uint64_t>(position);
        keys_out[output]           = key;
        if constexpr (with_values)
        {
          outputs[i] = output;
        }
      }
    }
    if constexpr (with_values)
    {
      __syncthreads();
      put<Value>(shared_.values, values.at, ranks);
      __syncthreads();
      Value const* const sorted_values = reinterpret_cast<Value const*>(shared_.values);
#pragma unroll
      for (int i = 0; i < Items; ++i)
      {
        int const position = i * Threads + static_cast<int>(threadIdx.x);
        if (Full || position < size)
        {
          values_out[outputs[i]] = sorted_values[position];
        }
      }
    }
  }

  __device__ static std::uint32_t segment_of(partition_work const& work, std::uint32_t tile_number)
  {
    std::uint32_t low = 0, high = work.segment_count - 1;
    while (low < high)
    {
      std::uint32_t const middle = low + (high - low + 1) / 2;
      if (work.segments[middle].first_tile <= tile_number)
      {
        low = middle;
      }
      else
      {
        high = middle - 1;
      }
    }
    return low;
  }

  __device__ void clear_counts()
  {
    std::uint32_t* const words = reinterpret_cast<std::uint32_t*>(&shared_.count);
    for (int i = static_cast<int>(threadIdx.x); i < 2 * warps * Buckets; i += Threads)
    {
      words[i] = 0;
    }
  }

  // Element i of a lane is number i x 32 + lane of its warp's part of the tile.
  __device__ int element(int i) const
  {
    return (warp_ * Items + i) * 32 + lane_;
  }

  template <bool Full, class T>
  __device__ void load(T const* from, int size, T (&to)[Items]) const
  {
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      to[i] = Full || element(i) < size ? from[element(i)] : T{};
    }
  }

  // Places past the end of the input go into the last bucket: they rank behind all elements there, and are not counted.
  template <bool Full>
  __device__ unsigned bucket_of(Key const& key, int i, int size) const
  {
    return Full || element(i) < size ? classify_(key) : Buckets - 1u;
  }

  /// Counts the warp's elements by bucket and ranks each among those of its bucket and warp, in input order.
  /// The lanes of a bucket find each other through a mask in shared memory: eight ballots and their logic, or one
  /// match_any, cost more (docs/performance.md).
  template <bool Full>
  __device__ void rank_in_warp(Key const (&keys)[Items], int size, std::uint32_t (&ranks)[Items])
  {
    std::uint32_t* const counts    = shared_.count.of[warp_];
    std::uint32_t* const masks     = shared_.count.lanes[warp_];
    std::uint32_t const lower_lane = (std::uint32_t{1} << lane_) - 1;
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      unsigned const bucket = bucket_of<Full>(keys[i], i, size);
      atomicOr(masks + bucket, std::uint32_t{1} << lane_);
      __syncwarp();
      std::uint32_t const alike = masks[bucket];
      ranks[i]                  = counts[bucket] + __popc(alike & lower_lane);
      __syncwarp();
      if ((alike >> lane_) == 1u) // the highest of the lanes alike
      {
        counts[bucket] = ranks[i] + 1;
        masks[bucket]  = 0;
      }
      __syncwarp();
    }
  }

  /// The tile's count of the calling thread's bucket.
  __device__ std::uint32_t sum_warps(int size) const
  {
    std::uint32_t count = 0;
#pragma unroll
    for (int w = 0; w < warps; ++w)
    {
      count += shared_.count.of[w][threadIdx.x];
    }
    return threadIdx.x == Buckets - 1 ? count - static_cast<std::uint32_t>(tile - size) : count;
  }

  /// Exclusive prefix sum of the buckets' counts, one bucket a thread. Called by all threads.
  __device__ std::uint32_t scan_buckets(std::uint32_t count)
  {
    std::uint32_t inclusive = count;
#pragma unroll
    for (int step = 1; step < 32; step *= 2)
    {
      std::uint32_t const other = __shfl_up_sync(~0u, inclusive, step);
      inclusive += lane_ >= step ? other : 0;
    }
    if (threadIdx.x < Buckets && lane_ == 31)
    {
      shared_.warp_totals[warp_] = inclusive;
    }
    __syncthreads();
    std::uint32_t before = 0;
#pragma unroll
    for (int w = 0; w < Buckets / 32; ++w)
    {
      before += w < warp_ ? shared_.warp_totals[w] : 0;
    }
    return before + inclusive - count;
  }

  /// Replaces the counts of the thread's bucket by where each warp's elements of it begin in the tile.
  __device__ void spread_to_warps(std::uint32_t start)
  {
#pragma unroll
    for (int w = 0; w < warps; ++w)
    {
      std::uint32_t const count        = shared_.count.of[w][threadIdx.x];
      shared_.count.of[w][threadIdx.x] = start;
      start += count;
    }
  }

  template <bool Full>
  __device__ void rank_in_tile(Key const (&keys)[Items], int size, std::uint32_t (&ranks)[Items]) const
  {
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      ranks[i] += shared_.count.of[warp_][bucket_of<Full>(keys[i], i, size)];
    }
  }

  template <class T>
  __device__ void put(char* shared, T const (&from)[Items], std::uint32_t const (&ranks)[Items]) const
  {
    T* const to = reinterpret_cast<T*>(shared);
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      to[ranks[i]] = from[i];
    }
  }

  /// Finds where the tile's elements of the thread's bucket go.
  __device__ void finish_bucket(
    partition_work const& work, look_back const& chain, tile_place const& at, std::uint32_t count, std::uint32_t start)
  {
    int const bucket                  = static_cast<int>(threadIdx.x);
    std::size_t const row             = static_cast<std::size_t>(at.segment) * Buckets;
    std::uint64_t const bucket_output = work.bucket_begin[row + bucket];
    std::uint32_t const before =
      at.number == at.first_of_segment ? 0 : chain.exclusive_prefix(at.number, at.first_of_segment, bucket, count);
    shared_.output_of[bucket] = bucket_output + before - start;
    if (work.bucket_next != nullptr && at.is_last)
    {
      work.bucket_next[row + bucket] = bucket_output + before + count;
    }
  }

  shared_storage& shared_;
  Classifier classify_;
  int lane_;
  int warp_;
};

} // namespace gpusort::block
