// The multi-way partition pass: every element of a segment moves to its bucket, in input order, with one read and one
// write. What a bucket is, a classifier says; radix asks for a digit.
#pragma once

#include <gpusort/block/bucket_rank.cuh>
#include <gpusort/block/look_back.cuh>
#include <gpusort/block/tile.cuh>

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
  int tile; // elements of a tile: a multiple of the block's threads, up to partition::tile
};

template <class T, int N>
struct registers
{
  T at[N];
};
template <int N>
struct registers<no_values, N>
{};

/// One block's part of a partition: `Threads` threads take tiles of up to `Threads` x `Items` elements; full tiles are
/// faster, smaller ones give a small input to more blocks. `Classifier` maps a key
/// to a bucket below `Buckets`: `unsigned operator()(Key) const`.
template <class Key, class Value, class Classifier, int Buckets, int Threads, int Items>
class partition
{
public:
  static constexpr int threads      = Threads;
  static constexpr int tile         = Threads * Items;
  static constexpr bool with_values = !std::is_same_v<Value, no_values>;

  struct shared_storage
  {
    // Counts are done with when the keys arrive, keys when the values do.
    union
    {
      bucket_counts<Buckets, Threads> counts;
      alignas(16) char keys[sizeof(Key) * tile];
      alignas(16) char values[sizeof(Value) * (with_values ? tile : 1)];
    };
    std::uint64_t output_of[Buckets]; // where a bucket's elements go, less their position in the tile
    std::uint32_t totals[Buckets / 32];
    std::uint32_t ticket;
  };

  /// Takes one tile from the launch and moves its elements. Called once by all threads of a block.
  /// Tiles are handed out by a ticket: a block only ever waits for tiles that running blocks hold.
  __device__ static void move_tile(
    shared_storage& shared,
    Classifier classify,
    partition_work const& work,
    Key const* keys_in,
    Key* keys_out,
    Value const* values_in,
    Value* values_out)
  {
    if (threadIdx.x == 0)
    {
      shared.ticket = atomicAdd(work.ticket, 1u);
    }
    shared.counts.clear();
    __syncthreads();

    tile_place at;
    at.number              = shared.ticket;
    at.segment             = segment_of(work, at.number);
    segment const& segment = work.segments[at.segment];
    at.first_of_segment    = segment.first_tile;
    auto const offset      = static_cast<std::uint64_t>(at.number - segment.first_tile) * work.tile;
    at.begin               = segment.begin + offset;
    at.is_last             = segment.size - offset <= static_cast<std::uint64_t>(work.tile);
    at.size                = at.is_last ? static_cast<int>(segment.size - offset) : work.tile;

    if (at.size == tile)
    {
      move<true>(shared, classify, work, at, keys_in, keys_out, values_in, values_out);
    }
    else
    {
      move<false>(shared, classify, work, at, keys_in, keys_out, values_in, values_out);
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

  /// `Full`: the tile has all its places in use.
  template <bool Full>
  __device__ static void
  move(shared_storage& shared,
       Classifier classify,
       partition_work const& work,
       tile_place const& at,
       Key const* keys_in,
       Key* keys_out,
       Value const* values_in,
       Value* values_out)
  {
    bucket_rank<Buckets, Threads, Items, Full> rank(shared.counts, at.size);

    Key keys[Items];
    std::uint32_t ranks[Items];
    rank.load(keys_in + at.begin, keys);
    auto const bucket_of = [&](int i) { return classify(keys[i]); };
    rank.count(bucket_of, ranks);
    __syncthreads();

    look_back const chain(work.status, Buckets, work.epoch);
    bool const has_bucket = threadIdx.x < Buckets;
    std::uint32_t count   = 0;
    if (has_bucket)
    {
      count = rank.total();
      chain.publish_count(at.number, threadIdx.x, count, at.number == at.first_of_segment);
    }
    std::uint32_t const start = rank.starts(shared.totals, count);
    if (has_bucket)
    {
      rank.spread(start);
    }
    __syncthreads();
    rank.finish(bucket_of, ranks);
    __syncthreads();
    Key* const sorted_keys = reinterpret_cast<Key*>(shared.keys);
    rank.put(keys, ranks, sorted_keys);

    registers<Value, Items> values;
    if constexpr (with_values)
    {
      rank.load(values_in + at.begin, values.at); // on its way while the look-back waits
    }
    if (has_bucket)
    {
      shared.output_of[threadIdx.x] = output_of_bucket(work, chain, at, count) - start;
    }
    __syncthreads();

    std::uint64_t outputs[with_values ? Items : 1];
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      int const position = i * Threads + static_cast<int>(threadIdx.x);
      if (Full || position < at.size)
      {
        Key const key              = sorted_keys[position];
        std::uint64_t const output = shared.output_of[classify(key)] + static_cast<std::uint64_t>(position);
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
      Value* const sorted_values = reinterpret_cast<Value*>(shared.values);
      rank.put(values.at, ranks, sorted_values);
      __syncthreads();
#pragma unroll
      for (int i = 0; i < Items; ++i)
      {
        int const position = i * Threads + static_cast<int>(threadIdx.x);
        if (Full || position < at.size)
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

  /// Where the tile's elements of the thread's bucket go, once the tiles before it have published theirs.
  __device__ static std::uint64_t
  output_of_bucket(partition_work const& work, look_back const& chain, tile_place const& at, std::uint32_t count)
  {
    int const bucket           = static_cast<int>(threadIdx.x);
    std::size_t const row      = static_cast<std::size_t>(at.segment) * Buckets;
    std::uint64_t const output = work.bucket_begin[row + bucket];
    std::uint32_t const before =
      at.number == at.first_of_segment ? 0 : chain.exclusive_prefix(at.number, at.first_of_segment, bucket, count);
    if (work.bucket_next != nullptr && at.is_last)
    {
      work.bucket_next[row + bucket] = output + before + count;
    }
    return output + before;
  }
};

} // namespace gpusort::block
