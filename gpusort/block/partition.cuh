// The multi-way partition pass: every element of a segment moves to its bucket, in input order unless the caller can do
// without, with one read and one write. What a bucket is, a classifier says.
#pragma once

#include <gpusort/block/bucket_rank.cuh>
#include <gpusort/block/dynamic_shared.cuh>
#include <gpusort/block/look_back.cuh>
#include <gpusort/block/tile.cuh>
#include <gpusort/block/warp.cuh>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::block
{

/// A stretch of the input that is partitioned on its own. Its tiles are numbered from first_tile on, one after the other
/// through all segments of a pass. No bucket may have more elements than look_back::max_count in one launch.
struct segment
{
  std::uint64_t begin;
  std::uint64_t size;
  std::uint32_t first_tile;
};

/// Where the elements of a pass go. What is pointed to is device memory.
struct partition_work
{
  std::uint64_t const* bucket_begin; // where each bucket's elements go, all of a segment's in front of the next one's
  std::uint64_t*
    bucket_next; // the same behind this launch's elements, one entry after the other, for a pass that goes on; or null
  int bucket_stride; // entries of bucket_begin from one bucket to the next
  int buckets; // in use, of each segment
  std::uint32_t* status; // look_back words: tiles x buckets
  int epoch; // of the look_back words
};

/// A tile that a block has taken.
struct tile_place
{
  std::uint32_t number; // among those that a launch moves, as the next but one
  std::uint32_t segment;
  std::uint32_t first_of_segment; // tile
  std::uint64_t begin; // element
  int size;
  bool is_last; // of its segment
};

/// The place of tile `number` of the segment-th segment.
__device__ inline tile_place
place_in(segment const& whole, std::uint32_t segment_number, std::uint32_t number, int tile)
{
  auto const offset = static_cast<std::uint64_t>(number - whole.first_tile) * tile;
  auto const left   = whole.size - offset;
  return {number,
          segment_number,
          whole.first_tile,
          whole.begin + offset,
          left < static_cast<std::uint64_t>(tile) ? static_cast<int>(left) : tile,
          left <= static_cast<std::uint64_t>(tile)};
}

/// The place of tile `number` in the last of the segments that begins no later. Called by all lanes of a warp.
__device__ inline tile_place place_among(segment const* segments, std::uint32_t count, std::uint32_t number, int tile)
{
  std::uint32_t begun = 0;
  for (std::uint32_t base = 0; base < count; base += 32)
  {
    std::uint32_t const own = base + threadIdx.x % 32;
    begun += __popc(__ballot_sync(all_lanes, own < count && segments[own].first_tile <= number));
  }
  return place_in(segments[begun - 1], begun - 1, number, tile);
}

/// Where the elements of a tile go, once the tiles before it have published how many theirs are. A thread stands for the
/// bucket of its number.
template <int Buckets>
class places_by_look_back
{
public:
  __device__ places_by_look_back(partition_work const& work, tile_place const& at)
      : work_(work)
      , at_(at)
      , chain_(work.status, Buckets, work.epoch)
  {}

  /// Called by the threads that stand for a bucket, with the tile's count of it.
  __device__ void publish(std::uint32_t count) const
  {
    if (has_bucket())
    {
      chain_.publish_count(at_.number, bucket(), count, is_first());
    }
  }

  /// outputs[b] = where the elements of bucket b go, less their position in the tile; `start` is where the thread's bucket
  /// begins in the tile. Called by all threads of a block; a barrier has to follow.
  __device__ void note_outputs(std::uint64_t* outputs, std::uint32_t count, std::uint32_t start) const
  {
    if (has_bucket())
    {
      outputs[bucket()] = output(count) - start;
    }
  }

private:
  __device__ static int bucket()
  {
    return static_cast<int>(threadIdx.x);
  }

  __device__ bool has_bucket() const
  {
    return bucket() < work_.buckets;
  }

  __device__ bool is_first() const
  {
    return at_.number == at_.first_of_segment;
  }

  __device__ std::uint64_t output(std::uint32_t count) const
  {
    std::size_t const entry   = static_cast<std::size_t>(at_.segment) * work_.buckets + bucket();
    std::uint64_t const begin = work_.bucket_begin[entry * work_.bucket_stride];
    std::uint32_t const before =
      is_first() ? 0 : chain_.exclusive_prefix(at_.number, at_.first_of_segment, bucket(), count);
    if (work_.bucket_next != nullptr && at_.is_last)
    {
      work_.bucket_next[entry] = begin + before + count;
    }
    return begin + before;
  }

  partition_work const& work_;
  tile_place const& at_;
  look_back chain_;
};

/// What a bucket has of a tile.
struct bucket_place
{
  std::uint32_t count;
  std::uint32_t start;
};

/// Keys of a tile that are read when it is its turn. Another type may stand for them: it is told when the tile's keys are in shared memory
/// and the way out begins, and when half of them are on it, which is when there are registers for the keys of another tile.
template <class Key>
struct keys_in_memory
{
  Key const* from;

  template <class Rank, int Items>
  __device__ void load(Rank const& rank, Key (&keys)[Items]) const
  {
    rank.load(from, keys);
  }
  __device__ void begin_writing() const
  {}
  __device__ void halfway() const
  {}
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
/// faster, if they have code of their own (`FullApart`), smaller ones give a small input to more blocks. `Classifier` maps a
/// key to a bucket below `Buckets`: `unsigned operator()(Key) const`. `CountsFirst`: keys are counted first and ranked when it is known
/// where their buckets begin. So a tile's counts are told the earlier, and no rank is kept that has to be finished; but keys take
/// shared memory of their own. Full tiles are moved so, and others where keys come in any order. `LeastLog2`: as of bucket_rank.
template <class Key,
          class Value,
          class Classifier,
          int Buckets,
          int Threads,
          int Items,
          bool FullApart   = true,
          bool CountsFirst = false,
          int LeastLog2    = log2_of(Buckets)>
class partition
{
public:
  static constexpr int threads      = Threads;
  static constexpr int items        = Items;
  static constexpr int tile         = Threads * Items;
  static constexpr bool with_values = !std::is_same_v<Value, no_values>;

  struct shared_storage
  {
    // Counts are done with when the keys arrive, unless they go on; keys, when the values do.
    union
    {
      bucket_counts<Buckets, Threads> counts;
      alignas(16) char keys_over_counts[CountsFirst ? 1 : sizeof(Key) * tile];
      alignas(16) char values[sizeof(Value) * (with_values ? tile : 1)];
    };
    alignas(16) char keys_apart[CountsFirst ? sizeof(Key) * tile : 1];
    std::uint64_t output_of[Buckets]; // where a bucket's elements go, less their position in the tile
    std::uint32_t totals[Buckets / 32];
    std::uint32_t ticket;

    __device__ Key* keys()
    {
      return reinterpret_cast<Key*>(CountsFirst ? keys_apart : keys_over_counts);
    }
  };

  /// The number of the tile that this block is to move. Tiles are handed out by a ticket, zero before the pass, so that a
  /// block only ever waits for tiles that running blocks hold. Called by all threads of a block. In a loop over tiles the compiler keeps
  /// so many addresses that registers run out: move_keys_in_turn has one that does not.
  __device__ static std::uint32_t take_tile(shared_storage& shared, std::uint32_t* ticket)
  {
    if (threadIdx.x == 0)
    {
      shared.ticket = atomicAdd(ticket, 1u);
    }
    shared.counts.clear();
    __syncthreads();
    return shared.ticket;
  }

  /// Moves the elements of a tile that the block has taken: in every bucket, in the order of the input. Called by all
  /// threads of the block.
  __device__ static void move_tile(
    shared_storage& shared,
    Classifier const& classify,
    partition_work const& work,
    tile_place const& at,
    Key const* keys_in,
    Key* keys_out,
    Value const* values_in,
    Value* values_out)
  {
    if constexpr (with_values)
    {
      values_in += at.begin;
    }
    move_tile_from(
      keys_in_memory<Key>{keys_in + at.begin}, shared, classify, work, at, keys_out, values_in, values_out);
  }

  /// The same of the keys that `keys` gets.
  template <class Keys>
  __device__ static void move_tile_from(
    Keys const& keys,
    shared_storage& shared,
    Classifier const& classify,
    partition_work const& work,
    tile_place const& at,
    Key* keys_out,
    Value const* values_of_tile,
    Value* values_out)
  {
    places_by_look_back<Buckets> const places(work, at);
    if (FullApart && at.size == tile)
    {
      move<FullApart, rank_order::kept, CountsFirst>(
        shared, classify, places, at.size, keys, keys_out, values_of_tile, values_out);
    }
    else
    {
      move<false, rank_order::kept, false>(
        shared, classify, places, at.size, keys, keys_out, values_of_tile, values_out);
    }
  }

  /// Reads the keys of a tile, as move_tile does.
  __device__ static void load_tile(shared_storage& shared, tile_place const& at, Key const* keys_in, Key (&keys)[Items])
  {
    keys_in += at.begin;
    if (FullApart && at.size == tile)
    {
      bucket_rank<Buckets, Threads, Items, FullApart>(shared.counts, at.size).load(keys_in, keys);
    }
    else
    {
      bucket_rank<Buckets, Threads, Items, false>(shared.counts, at.size).load(keys_in, keys);
    }
  }

  /// The same for up to `tile` elements from keys_in and values_in on, which go where `places` says: like
  /// places_by_look_back. The counts have been cleared, a barrier since.
  template <class Places>
  __device__ static void
  move_to(shared_storage& shared,
          Classifier const& classify,
          Places const& places,
          int size,
          Key const* keys_in,
          Key* keys_out,
          Value const* values_in,
          Value* values_out)
  {
    move<false, rank_order::kept, false>(
      shared, classify, places, size, keys_in_memory<Key>{keys_in}, keys_out, values_in, values_out);
  }

  /// The same for keys alone that need not keep their order, which come in the one that is asked for: any_of_crowds where many neighbours belong to
  /// one bucket. They keep it nevertheless if the tile is not full, unless keys are counted first and it is to be `any`.
  __device__ static void move_tile_in_any_order(
    shared_storage& shared,
    Classifier const& classify,
    partition_work const& work,
    tile_place const& at,
    rank_order order,
    Key const* keys_in,
    Key* keys_out)
  {
    static_assert(!with_values);
    if (order == rank_order::any_of_crowds && at.size == tile)
    {
      move_crowds(shared_address(shared), classify, work, at, keys_in, keys_out);
      return;
    }
    places_by_look_back<Buckets> const places(work, at);
    keys_in_memory<Key> const keys{keys_in + at.begin};
    Value* const no_values = nullptr;
    if (order == rank_order::any && at.size == tile)
    {
      move<true, rank_order::any, CountsFirst>(shared, classify, places, at.size, keys, keys_out, no_values, no_values);
      return;
    }
    if constexpr (CountsFirst)
    {
      if (order == rank_order::any)
      {
        move<false, rank_order::any, true>(shared, classify, places, at.size, keys, keys_out, no_values, no_values);
        return;
      }
    }
    move<false, rank_order::kept, false>(shared, classify, places, at.size, keys, keys_out, no_values, no_values);
  }

  /// Reads the `size` elements of a tile from a source and writes them in the order of their buckets. Classifies each element
  /// once, all of a thread's together: `classify.all(keys, holds, buckets)` with `holds(i)` for those there are. The source is
  /// one as in tile.cuh, and may be where the outputs are.
  /// `KeepsOrder`: elements of a bucket stay in the order of the input; otherwise they come in any, unless some warp's first
  /// row is all in one bucket, as in input with stretches of neighbours. `log2`: of the buckets in use.
  /// Called by all threads of the block; the first `Buckets` get how many elements their bucket has, and where they begin.
  template <bool KeepsOrder, class Source>
  __device__ static bucket_place order_tile(
    shared_storage& shared,
    Classifier const& classify,
    Source& source,
    int size,
    Key* keys_out,
    Value* values_out,
    int log2 = log2_of(Buckets))
  {
    shared.counts.clear();
    __syncthreads();
    if (FullApart && size == tile)
    {
      return order_from<FullApart, KeepsOrder>(shared, classify, source, size, keys_out, values_out, log2);
    }
    return order_from<false, KeepsOrder>(shared, classify, source, size, keys_out, values_out, log2);
  }

  /// Writes the elements of a tile in the order in which the source has them, as if all were of the first bucket. The source is a run_source
  /// (block/runs.cuh), and not where the outputs are. Called by all threads of the block, and returns what order_tile does.
  template <class Source>
  __device__ static bucket_place
  copy_tile(shared_storage& shared, Source& source, int size, Key* keys_out, Value* values_out)
  {
    bucket_rank<Buckets, Threads, Items, false> const rank(shared.counts, size);
    int const first_row = rank.element(0) / 32;
    Key held[Items];
    source.load_keys(held, size, first_row);
    registers<Value, Items> held_values;
    if constexpr (with_values)
    {
      source.finish_load();
      source.load_values(held_values.at, size, first_row);
    }
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      if (rank.holds(i))
      {
        keys_out[rank.element(i)] = held[i];
        if constexpr (with_values)
        {
          values_out[rank.element(i)] = held_values.at[i];
        }
      }
    }
    auto const all = static_cast<std::uint32_t>(size);
    return threadIdx.x == 0 ? bucket_place{all, 0} : bucket_place{0, all};
  }

private:
  /// Moves the keys of a full tile in which many neighbours belong to one bucket. Out of line: among what others execute, it makes the first blocks of a
  /// launch wait 5 us longer for instructions (H200).
  __device__ static __noinline__ void move_crowds(
    shared_address shared,
    Classifier classify,
    partition_work const& work,
    tile_place at,
    Key const* keys_in,
    Key* keys_out)
  {
    Value* const no_values = nullptr;
    move<true, rank_order::any_of_crowds, CountsFirst>(
      shared.as<shared_storage>(),
      classify,
      places_by_look_back<Buckets>(work, at),
      at.size,
      keys_in_memory<Key>{keys_in + at.begin},
      keys_out,
      no_values,
      no_values);
  }

  /// Ranks keys by bucket, tells `publish` how many each has, and puts the keys into shared memory in the order of their buckets;
  /// a barrier has to follow. Returns where the thread's bucket begins, and in `count` how many it has.
  template <class Rank, class BucketOf, class Publish>
  __device__ static std::uint32_t
  order(shared_storage& shared,
        Rank& rank,
        BucketOf bucket_of,
        Publish publish,
        Key const (&keys)[Items],
        std::uint32_t (&ranks)[Items],
        std::uint32_t& count)
  {
    rank.count(bucket_of, ranks);
    __syncthreads();
    if (threadIdx.x < Buckets)
    {
      count = rank.total();
      publish(count);
    }
    std::uint32_t const start = rank.starts(shared.totals, count);
    if (threadIdx.x < Buckets)
    {
      rank.spread(start);
    }
    __syncthreads();
    rank.finish(ranks);
    __syncthreads();
    rank.put(keys, ranks, shared.keys());
    return start;
  }

  template <bool Full, bool KeepsOrder, class Source>
  __device__ static bucket_place order_from(
    shared_storage& shared,
    Classifier const& classify,
    Source& source,
    int size,
    Key* keys_out,
    Value* values_out,
    int log2)
  {
    bucket_rank<Buckets, Threads, Items, Full, rank_order::kept, LeastLog2, !Full> rank(shared.counts, size, log2);
    int const first_row = rank.element(0) / 32;
    Key held[Items];
    std::uint32_t ranks[Items];
    source.load_keys(held, size, first_row);
    classify.all(held, [&](int i) { return rank.holds(i); }, ranks);
    auto const bucket_of = [&](int i) { return ranks[i]; };
    auto const publish   = [](std::uint32_t) {};
    bucket_place own{0, 0};
    if constexpr (KeepsOrder)
    {
      own.start = order(shared, rank, bucket_of, publish, held, ranks, own.count);
    }
    else if (__syncthreads_or(all_alike(rank.holds(0) ? ranks[0] : static_cast<std::uint32_t>(Buckets))) != 0)
    {
      own.start = order(shared, rank, bucket_of, publish, held, ranks, own.count);
    }
    else
    {
      bucket_rank<Buckets, Threads, Items, Full, rank_order::any> rank_in_any_order(shared.counts, size);
      own.start = order(shared, rank_in_any_order, bucket_of, publish, held, ranks, own.count);
    }
    registers<Value, Items> held_values;
    if constexpr (with_values)
    {
      source.load_values(held_values.at, size, first_row);
    }
    __syncthreads();
    Key const* const sorted_keys = shared.keys();
    block::move_tile<Threads, Items>(size, [&](int place) { return sorted_keys[place]; }, keys_out);
    if constexpr (with_values)
    {
      __syncthreads();
      Value* const sorted_values = reinterpret_cast<Value*>(shared.values);
      if constexpr (KeepsOrder)
      {
        rank.put(held_values.at, ranks, sorted_values);
      }
      else
      {
        // Whichever has ranked keys, these are all that surely have a rank.
        bucket_rank<Buckets, Threads, Items, Full, rank_order::any>(shared.counts, size)
          .put(held_values.at, ranks, sorted_values);
      }
      __syncthreads();
      block::move_tile<Threads, Items>(size, [&](int place) { return sorted_values[place]; }, values_out);
    }
    return own;
  }

  /// The same by counting the keys first. Ranks are places in the tile, as those that `order` leaves.
  template <class Rank, class Publish>
  __device__ static std::uint32_t order_counting_first(
    shared_storage& shared,
    Rank& rank,
    Classifier const& classify,
    Publish publish,
    Key const (&keys)[Items],
    std::uint32_t (&ranks)[Items],
    std::uint32_t& count)
  {
    static_assert(sizeof(Key) == 4);
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      if (rank.holds(i))
      {
        rank.count_one(classify(keys[i]));
      }
    }
    __syncthreads();
    if (threadIdx.x < Buckets)
    {
      count = rank.counted();
      publish(count);
    }
    std::uint32_t const start = rank.starts(shared.totals, count);
    if (threadIdx.x < Buckets)
    {
      rank.spread(start);
    }
    __syncthreads();
    Key* const sorted_keys = shared.keys();
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      if (rank.holds(i))
      {
        // The compiler may not keep the bucket from above, for which there are no registers.
        Key key = keys[i];
        asm volatile("" : "+r"(key));
        ranks[i]              = rank.take_place(classify(key));
        sorted_keys[ranks[i]] = key;
      }
    }
    return start;
  }

  /// `Full`: the tile has all its places in use. `Counted`: keys are counted first.
  template <bool Full, rank_order Order, bool Counted, class Places, class Keys>
  __device__ static void
  move(shared_storage& shared,
       Classifier const& classify,
       Places const& places,
       int size,
       Keys const& from,
       Key* keys_out,
       Value const* values_in,
       Value* values_out)
  {
    bucket_rank<Buckets, Threads, Items, Full, Order> rank(shared.counts, size);

    Key keys[Items];
    std::uint32_t ranks[Items];
    from.load(rank, keys);
    std::uint32_t count = 0, start = 0;
    auto const publish = [&](std::uint32_t own) { places.publish(own); };
    if constexpr (Counted)
    {
      start = order_counting_first(shared, rank, classify, publish, keys, ranks, count);
    }
    else
    {
      start = order(shared, rank, [&](int i) { return classify(keys[i]); }, publish, keys, ranks, count);
    }
    Key* const sorted_keys = shared.keys();

    registers<Value, Items> values;
    if constexpr (with_values)
    {
      rank.load(values_in, values.at); // on its way while others publish
    }
    places.note_outputs(shared.output_of, count, start);
    __syncthreads();

    from.begin_writing();
    std::uint64_t outputs[with_values ? Items : 1];
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      if (i == Items / 2)
      {
        from.halfway();
      }
      int const position = i * Threads + static_cast<int>(threadIdx.x);
      if (Full || position < size)
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
        if (Full || position < size)
        {
          values_out[outputs[i]] = sorted_values[position];
        }
      }
    }
  }
};

} // namespace gpusort::block
