// The kernels of the radix sort: look at a segment's keys, move them to their buckets, sort what fits a block.
//
// A segment is a stretch of an array whose keys have still to be sorted. Looking at it maps the ranks of its keys to 256
// buckets and counts them; splitting it moves the keys there. Buckets that fit a block are noted for `sort_buckets`, small
// neighbours together; larger ones are segments of the next level. All lists are in device memory.
#pragma once

#include <gpusort/block/bin_sort.cuh>
#include <gpusort/block/partition.cuh>
#include <gpusort/block/tile.cuh>
#include <gpusort/block/warp.cuh>
#include <gpusort/radix/bucket_map.h>
#include <gpusort/radix/key_order.h>
#include <gpusort/radix/tuning.h>
#include <gpusort/runtime/dependency.cuh>
#include <gpusort/runtime/residency.cuh>

#include <cooperative_groups.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::radix
{

// ---------------------------------------------------------------------------------------------------------------------
// What lies in device memory between the kernels

/// What a look has seen.
namespace seen
{
// How a key and the next compare.
inline constexpr std::uint32_t ascent  = 1;
inline constexpr std::uint32_t alike   = 2;
inline constexpr std::uint32_t descent = 4;
inline constexpr std::uint32_t outside = 8; // a rank that the map was not made for
inline constexpr std::uint32_t twin    = 16; // a key that differs from another of its rank: -0
} // namespace seen

enum class action : std::uint32_t
{
  none, // the segment is sorted, and in the caller's array
  split, // to its buckets, in the other array
  split_in_any_order, // the same, where equal keys are alike
  fill, // each bucket with its key, in the caller's array
  copy, // to the caller's array
  reverse // in place
};

/// What becomes of a segment.
template <class Bits>
struct segment_state
{
  std::uint32_t array; // that holds it: 0, the caller's, or 1
  std::uint32_t level; // how often its keys have been split
  bool is_sorted; // only in the wrong array
  std::uint32_t seen;
  std::uint32_t looked_at; // tiles
  action todo;
  bucket_map<Bits> map;
};

/// A segment that no level has room for yet.
struct waiting_segment
{
  std::uint64_t begin;
  std::uint64_t size;
  std::uint32_t array;
  std::uint32_t level;
  bool is_sorted;
};

/// Neighbouring elements that one block sorts: where they begin, how many they are, and which array holds them.
class bucket
{
public:
  bucket() = default;
  __device__ bucket(std::uint64_t begin, std::uint64_t size, std::uint32_t array)
      : packed_(begin << 16 | size << 1 | array)
  {}

  __device__ std::uint64_t begin() const
  {
    return (packed_ & ~crowded) >> 16;
  }
  __device__ int size() const
  {
    return static_cast<int>(packed_ >> 1 & 0x7fff);
  }
  __device__ bool is_home() const
  {
    return packed_ % 2 == 0;
  }

  /// Bins do not sort it.
  __device__ void call_crowded()
  {
    packed_ |= crowded;
  }
  __device__ bool is_crowded() const
  {
    return (packed_ & crowded) != 0;
  }

private:
  static constexpr std::uint64_t crowded = std::uint64_t{1} << 63;

  std::uint64_t packed_;
};
static_assert(block_sort_tile(false) < 1 << 15);

/// How far the sort is; zero before it.
struct progress
{
  std::uint32_t segments[2]; // of the level
  std::uint32_t tiles[2];
  std::uint32_t tickets[2];
  std::uint32_t waiting;
  std::uint32_t buckets;
  std::uint32_t crowded; // of them
};

/// Everything a sort works with. Levels alternate neither with arrays nor with lists: list 0 holds the input, which is the
/// only segment of the first level; list 1 those of the level at work later.
template <class Bits, bool IsFloat, class Value>
struct sort_job
{
  static constexpr bool with_values = !std::is_same_v<Value, block::no_values>;

  Bits* keys[2]; // the caller's, and as many more
  Value* values[2];
  std::size_t n;
  key_order<Bits, IsFloat> order;

  int tile; // elements, of a split
  bool wide; // see partition_work
  bool two_levels; // the first level hands its large buckets to list 1, not to the waiting segments
  unsigned largest; // bucket that a block sorts
  int share_log2; // elements that a block at least sorts if there are neighbours, as a power of two
  std::uint32_t max_segments; // of list 1

  progress* done;
  block::segment* segments[2];
  segment_state<Bits>* states[2];
  std::uint64_t* bins[2]; // segments x radix_size: counts, then where buckets begin
  void* status; // look_back words
  std::size_t status_bytes;
  waiting_segment* waiting;
  bucket* buckets;
};

// ---------------------------------------------------------------------------------------------------------------------
// Shapes

template <class Value>
inline constexpr std::size_t value_bytes_v = std::is_same_v<Value, block::no_values> ? 0 : sizeof(Value);

/// The shape of a split of keys and values of these types.
template <class Bits, class Value>
__host__ __device__ constexpr pass_shape shape_of()
{
  return pass_shape_for(sizeof(Bits), value_bytes_v<Value>);
}

/// The bucket of a key in a split.
template <class Bits, bool IsFloat>
struct bucket_of_key
{
  key_order<Bits, IsFloat> order;
  bucket_map<Bits> map;

  __device__ unsigned operator()(Bits key) const
  {
    return map(order.rank_of(key));
  }
};

template <class Bits, bool IsFloat, class Value>
using split_partition =
  block::partition<Bits,
                   Value,
                   bucket_of_key<Bits, IsFloat>,
                   radix_size,
                   shape_of<Bits, Value>().threads,
                   shape_of<Bits, Value>().items>;

template <class Bits, bool IsFloat, class Value, bool Small>
using bucket_sort = block::bin_sort<Bits,
                                    Value,
                                    key_order<Bits, IsFloat>,
                                    block_sort_shape(Small).threads,
                                    block_sort_shape(Small).items>;

// ---------------------------------------------------------------------------------------------------------------------
// Looking

/// Shared memory of a look by `Threads` threads.
template <class Bits, int Threads>
struct look_storage
{
  static constexpr int copies = 16; // of each count, so that lanes that meet on a bucket wait less often

  std::uint32_t counts[radix_size * copies];
  Bits least[Threads / 32];
  Bits greatest[Threads / 32];
  std::uint64_t sums[radix_size / 32];
  std::uint64_t begins[radix_size + 1];
  std::uint32_t in_use[radix_size / 32]; // bit masks of buckets
  std::uint32_t breaks[radix_size / 32];
  bool is_last;
};

/// What a look of `Threads` threads at the segments of a list consists of.
template <class Bits, bool IsFloat, class Value, int Threads>
struct look
{
  using job_type = sort_job<Bits, IsFloat, Value>;
  using storage  = look_storage<Bits, Threads>;

  static constexpr int items  = look_items(sizeof(Bits));
  static constexpr int copies = storage::copies;
  static_assert(Threads >= radix_size);

  /// Looks at this block's part of the tiles of a list. The last block to look at a segment decides what becomes of it.
  __device__ static void at_segments(
    job_type const& job,
    int list,
    block::segment const* segments,
    std::uint32_t segment_count,
    std::uint32_t tile_count,
    storage& shared)
  {
    std::uint32_t const share = (tile_count + gridDim.x - 1) / gridDim.x;
    std::uint32_t tile        = blockIdx.x * share;
    std::uint32_t const last  = tile + share < tile_count ? tile + share : tile_count;
    if (tile >= last)
    {
      return;
    }
    std::uint32_t number = block::segment_of(segments, segment_count, tile);
    for (; tile < last; ++number)
    {
      block::segment const segment = segments[number];
      std::uint32_t const tiles = tiles_of(job, segment.size);
      std::uint32_t const end = segment.first_tile + tiles < last ? segment.first_tile + tiles : last;
      at_tiles(job, list, number, segment, tile - segment.first_tile, end - segment.first_tile, tiles, shared);
      tile = end;
    }
  }

  /// Makes list 1 of the segments that are waiting, or of as many as it takes. Called by all threads of one block.
  __device__ static void begin_waiting(job_type const& job, storage& shared)
  {
    std::uint32_t const waiting = job.done->waiting;
    std::uint32_t const taken   = waiting < job.max_segments ? waiting : job.max_segments;
    std::uint64_t tiles         = 0;
    for (std::uint32_t first = 0; first < taken; first += radix_size)
    {
      std::uint32_t const number = first + threadIdx.x;
      bool const has_one         = threadIdx.x < radix_size && number < taken;
      waiting_segment next{};
      if (has_one)
      {
        next = job.waiting[waiting - taken + number];
      }
      std::uint64_t const own    = tiles_of(job, next.size);
      std::uint64_t const before = tiles + sum_before(own, shared.sums);
      if (has_one)
      {
        begin_segment(job, number, static_cast<std::uint32_t>(before), next);
      }
      if (threadIdx.x == radix_size - 1)
      {
        shared.begins[0] = before + own;
      }
      __syncthreads();
      tiles = shared.begins[0];
    }
    if (threadIdx.x == 0)
    {
      job.done->waiting     = waiting - taken;
      job.done->segments[1] = taken;
      job.done->tiles[1]    = static_cast<std::uint32_t>(tiles);
      job.done->tickets[1]  = 0;
    }
  }

  __device__ static std::uint32_t tiles_of(job_type const& job, std::uint64_t size)
  {
    return static_cast<std::uint32_t>((size + job.tile - 1) / static_cast<unsigned>(job.tile));
  }

private:
  __device__ static void at_tiles(
    job_type const& job,
    int list,
    std::uint32_t number,
    block::segment const& segment,
    std::uint32_t first,
    std::uint32_t last,
    std::uint32_t tiles,
    storage& shared)
  {
    segment_state<Bits>& state = job.states[list][number];
    Bits const* const keys     = job.keys[state.array] + segment.begin;
    if (state.is_sorted)
    {
      if (threadIdx.x == 0)
      {
        state.todo = action::copy;
      }
      return;
    }
    for (int i = static_cast<int>(threadIdx.x); i < radix_size * copies; i += Threads)
    {
      shared.counts[i] = 0;
    }
    auto const map = map_of_sample(job, state.level, keys, segment.size, shared); // a barrier is in there
    auto const begin = static_cast<std::uint64_t>(first) * job.tile;
    auto const end   = static_cast<std::uint64_t>(last) * job.tile;
    std::uint32_t const seen =
      count(job.order, map, keys, segment.size, begin, end < segment.size ? end : segment.size, state.level == 0, shared);
    __syncthreads();

    std::uint64_t* const bins = job.bins[list] + static_cast<std::size_t>(number) * radix_size;
    for (int b = static_cast<int>(threadIdx.x); b < radix_size; b += Threads)
    {
      std::uint32_t sum = 0;
      for (int c = 0; c < copies; ++c)
      {
        sum += shared.counts[b * copies + (c + b) % copies];
      }
      if (sum != 0)
      {
        atomicAdd(reinterpret_cast<unsigned long long*>(bins + b), static_cast<unsigned long long>(sum));
      }
    }
    if (threadIdx.x % 32 == 0 && (*const_cast<std::uint32_t volatile*>(&state.seen) & seen) != seen)
    {
      atomicOr(&state.seen, seen);
    }
    // The last block to get here sees what all have counted.
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
    {
      shared.is_last = atomicAdd(&state.looked_at, last - first) + (last - first) == tiles;
    }
    __syncthreads();
    if (shared.is_last)
    {
      __threadfence();
      decide(job, list, segment, state, map, bins, shared);
    }
    __syncthreads();
  }

  /// Every block that looks at a segment takes the same sample, and so makes the same map. A sample can mislead: levels
  /// deeper than any honest input needs go digit by digit, and so come to an end.
  __device__ static bucket_map<Bits>
  map_of_sample(job_type const& job, std::uint32_t level, Bits const* keys, std::uint64_t size, storage& shared)
  {
    if (level >= sampled_levels)
    {
      __syncthreads();
      return bucket_map<Bits>::by_digit(
        job.order.rank_of(keys[0]), key_order<Bits, IsFloat>::digits - 1 - static_cast<int>(level - sampled_levels));
    }
    Bits held[samples_per_thread];
    std::uint64_t const stride = size / (Threads * samples_per_thread);
#pragma unroll
    for (int i = 0; i < samples_per_thread; ++i)
    {
      std::uint64_t const place = static_cast<std::uint64_t>(i * Threads + static_cast<int>(threadIdx.x));
      // A stride that grows by and by, so that periods in the input do not hide from it.
      held[i] = keys[stride == 0 ? place % size : place * stride + place * 61 % stride];
    }
    Bits least    = static_cast<Bits>(~Bits{0});
    Bits greatest = 0;
#pragma unroll
    for (int i = 0; i < samples_per_thread; ++i)
    {
      Bits const rank = job.order.rank_of(held[i]);
      least           = rank < least ? rank : least;
      greatest        = greatest < rank ? rank : greatest;
    }
    least    = block::least_of_warp(least);
    greatest = block::greatest_of_warp(greatest);
    if (threadIdx.x % 32 == 0)
    {
      shared.least[threadIdx.x / 32]    = least;
      shared.greatest[threadIdx.x / 32] = greatest;
    }
    __syncthreads();
    int const other = static_cast<int>(threadIdx.x) % (Threads / 32);
    return bucket_map<Bits>::over(block::least_of_warp(shared.least[other]),
                                  block::greatest_of_warp(shared.greatest[other]));
  }

  /// Counts the buckets of keys[begin, end) and returns what the warp has seen. Neighbours are compared only if `in_order`
  /// is asked for, beyond `end` as well.
  __device__ static std::uint32_t count(
    key_order<Bits, IsFloat> const& order,
    bucket_map<Bits> const& map,
    Bits const* keys,
    std::uint64_t size,
    std::uint64_t begin,
    std::uint64_t end,
    bool in_order,
    storage& shared)
  {
    int const copy = static_cast<int>(threadIdx.x) % copies;
    tally own{0, 0, 0};
    std::uint64_t chunk = begin;
    for (; end - chunk >= Threads * items; chunk += Threads * items)
    {
      count_chunk<true>(order, map, keys, size, chunk, end, in_order, shared.counts + copy, own);
    }
    if (chunk < end)
    {
      count_chunk<false>(order, map, keys, size, chunk, end, in_order, shared.counts + copy, own);
    }
    atomicAdd(&shared.counts[own.bucket * copies + copy], own.length);
    return block::or_of_warp(own.seen);
  }

  /// What a thread knows while it counts. Neighbouring keys of a thread are often alike in inputs that are in some order:
  /// they are counted together.
  struct tally
  {
    std::uint32_t seen;
    unsigned bucket;
    unsigned length;
  };

  /// `Full`: every thread has all its items.
  template <bool Full>
  __device__ static void count_chunk(
    key_order<Bits, IsFloat> const& order,
    bucket_map<Bits> const& map,
    Bits const* keys,
    std::uint64_t size,
    std::uint64_t chunk,
    std::uint64_t end,
    bool in_order,
    std::uint32_t* counts,
    tally& own)
  {
    constexpr std::uint32_t no_longer = seen::ascent | seen::descent; // neither sorted nor reversed

    std::uint64_t const first = chunk + threadIdx.x;
    auto const holds          = [&](int i) { return Full || first + i * Threads < end; };

    Bits ranks[items];
#pragma unroll
    for (int i = 0; i < items; ++i)
    {
      ranks[i] = holds(i) ? keys[first + i * Threads] : Bits{};
    }
#pragma unroll
    for (int i = 0; i < items; ++i)
    {
      own.seen |= order.loses(ranks[i]) ? seen::twin : 0;
      ranks[i] = order.rank_of(ranks[i]);
    }
    // A warp stops looking at neighbours once it has met both directions: on most inputs, at once.
    if (in_order && (own.seen & no_longer) != no_longer)
    {
#pragma unroll
      for (int i = 0; i < items; ++i)
      {
        std::uint64_t const next_place = first + i * Threads + 1;
        Bits next                      = block::from_next_lane(ranks[i]);
        if (holds(i) && next_place < size)
        {
          if (threadIdx.x % 32 == 31)
          {
            next = order.rank_of(keys[next_place]);
          }
          own.seen |= ranks[i] < next ? seen::ascent : next < ranks[i] ? seen::descent : seen::alike;
        }
      }
      own.seen = block::or_of_warp(own.seen);
    }
    if (map.tells_ranks_apart())
    {
#pragma unroll
      for (int i = 0; i < items; ++i)
      {
        own.seen |= holds(i) && map.is_outside(ranks[i]) ? seen::outside : 0;
      }
    }
#pragma unroll
    for (int i = 0; i < items; ++i)
    {
      if (holds(i))
      {
        unsigned const bucket = map(ranks[i]);
        if (bucket != own.bucket)
        {
          atomicAdd(&counts[own.bucket * copies], own.length);
          own.bucket = bucket;
          own.length = 0;
        }
        ++own.length;
      }
    }
  }

  /// Exclusive prefix sum over the first radix_size threads. Called by all threads.
  __device__ static std::uint64_t sum_before(std::uint64_t value, std::uint64_t (&sums)[radix_size / 32])
  {
    int const warp                = static_cast<int>(threadIdx.x) / 32;
    std::uint64_t const inclusive = block::inclusive_sum_of_warp(value);
    __syncthreads();
    if (threadIdx.x < radix_size && threadIdx.x % 32 == 31)
    {
      sums[warp] = inclusive;
    }
    __syncthreads();
    std::uint64_t before = inclusive - value;
#pragma unroll
    for (int w = 0; w < radix_size / 32; ++w)
    {
      before += w < warp ? sums[w] : 0;
    }
    return before;
  }

  /// Decides what becomes of a segment whose buckets have been counted, and hands on its buckets.
  __device__ static void decide(
    job_type const& job,
    int list,
    block::segment const& segment,
    segment_state<Bits>& state,
    bucket_map<Bits> const& map,
    std::uint64_t* bins,
    storage& shared)
  {
    bool const has_bucket     = threadIdx.x < radix_size;
    std::uint64_t const size  = has_bucket ? __ldcg(reinterpret_cast<unsigned long long const*>(bins + threadIdx.x)) : 0;
    std::uint64_t const begin = sum_before(size, shared.sums);
    bool const one_bucket     = __syncthreads_or(size == segment.size) != 0;
    bool const one_is_large   = __syncthreads_or(size > segment.size / crowded_share) != 0;

    std::uint32_t const found     = *const_cast<std::uint32_t volatile*>(&state.seen);
    bool const equal_in_bucket    = map.tells_ranks_apart() && (found & seen::outside) == 0;
    // Equal keys may differ: by value, or as -0 and +0.
    bool const tells_equal    = job_type::with_values || (found & seen::twin) != 0;
    std::uint32_t const other = tells_equal ? seen::ascent | seen::alike : seen::ascent;
    bool const whole_input        = state.level == 0;

    action todo = action::split;
    if ((whole_input && (found & seen::descent) == 0) || (one_bucket && equal_in_bucket))
    {
      todo = state.array == 0 ? action::none : action::copy;
    }
    else if (whole_input && (found & other) == 0)
    {
      todo = action::reverse;
    }
    else if (equal_in_bucket && !tells_equal)
    {
      todo = action::fill;
    }
    else if (!tells_equal && !one_is_large)
    {
      todo = action::split_in_any_order;
    }
    if (has_bucket)
    {
      bins[threadIdx.x] = segment.begin + begin;
    }
    if (threadIdx.x == 0)
    {
      state.todo = todo;
      state.map  = map;
    }
    std::uint32_t const array = 1 - state.array;
    bool const splits         = todo == action::split || todo == action::split_in_any_order;
    if (splits && !equal_in_bucket)
    {
      note_buckets(job, segment, begin, size, array, shared);
    }
    std::uint64_t const largest = job.largest;
    // Buckets of equal keys only have to be brought to the caller's array, all at once.
    bool const all_sorted = splits && equal_in_bucket && array == 1 && threadIdx.x == 0;
    bool const too_large  = splits && !equal_in_bucket && size > largest;
    waiting_segment const next{segment.begin + (all_sorted ? 0 : begin),
                               all_sorted ? segment.size : size,
                               array,
                               state.level + 1,
                               all_sorted};
    hand_on(job, list, all_sorted || too_large, next, shared);
  }

  /// Puts the threads' segments, of those that have one, on the list that they are to be on.
  __device__ static void
  hand_on(job_type const& job, int list, bool has_one, waiting_segment const& next, storage& shared)
  {
    if (list != 0 || !job.two_levels)
    {
      if (has_one)
      {
        job.waiting[atomicAdd(&job.done->waiting, 1u)] = next;
      }
    }
    else
    {
      std::uint64_t const tiles = has_one ? tiles_of(job, next.size) : 0;
      // Counts segments in the upper half and tiles in the lower.
      std::uint64_t const own    = (std::uint64_t{has_one} << 32) + tiles;
      std::uint64_t const before = sum_before(own, shared.sums);
      if (has_one)
      {
        begin_segment(job, static_cast<std::uint32_t>(before >> 32), static_cast<std::uint32_t>(before), next);
      }
      if (threadIdx.x == radix_size - 1)
      {
        job.done->segments[1] = static_cast<std::uint32_t>((before + own) >> 32);
        job.done->tiles[1]    = static_cast<std::uint32_t>(before + own);
      }
    }
    if (list == 0 && threadIdx.x == 0)
    {
      job.done->segments[0] = 1;
      job.done->tiles[0]    = tiles_of(job, job.n);
      job.segments[0][0]    = {0, job.n, 0};
    }
  }

  /// Notes the buckets that fit a block: larger ones by themselves; of the small ones, those that begin in the same share
  /// of the segment together. Called by all threads, of which the first radix_size have a bucket.
  __device__ static void note_buckets(
    job_type const& job,
    block::segment const& segment,
    std::uint64_t begin,
    std::uint64_t size,
    std::uint32_t array,
    storage& shared)
  {
    int const b          = static_cast<int>(threadIdx.x);
    bool const has       = b < radix_size;
    bool const is_small  = size <= std::uint64_t{1} << job.share_log2;
    std::uint32_t in_use = __ballot_sync(block::all_lanes, has && size != 0);
    if (has)
    {
      // The highest bit marks buckets that are not small.
      shared.begins[b] = begin >> job.share_log2 | (is_small ? 0 : std::uint64_t{1} << 63);
      if (b % 32 == 0)
      {
        shared.in_use[b / 32] = in_use;
      }
    }
    __syncthreads();
    bool breaks = false; // a new run of buckets begins here
    if (has && size != 0)
    {
      int word = b / 32;
      in_use   = shared.in_use[word] & ((1u << (b % 32)) - 1);
      while (in_use == 0 && word > 0)
      {
        in_use = shared.in_use[--word];
      }
      breaks = in_use == 0 || !is_small || shared.begins[word * 32 + 31 - __clz(static_cast<int>(in_use))] != shared.begins[b];
    }
    __syncthreads();
    std::uint32_t const mask = __ballot_sync(block::all_lanes, breaks);
    if (has)
    {
      shared.begins[b] = begin;
      if (b % 32 == 0)
      {
        shared.breaks[b / 32] = mask;
      }
    }
    __syncthreads();
    if (breaks && size <= job.largest)
    {
      int word           = b / 32;
      std::uint32_t next = shared.breaks[word] & ~((2u << (b % 32)) - 1);
      while (next == 0 && word + 1 < radix_size / 32)
      {
        next = shared.breaks[++word];
      }
      std::uint64_t const end = next == 0 ? segment.size : shared.begins[word * 32 + __ffs(static_cast<int>(next)) - 1];
      job.buckets[atomicAdd(&job.done->buckets, 1u)] = bucket(segment.begin + begin, end - begin, array);
    }
  }

  /// Makes a waiting segment the `number`-th of list 1.
  __device__ static void
  begin_segment(job_type const& job, std::uint32_t number, std::uint32_t first_tile, waiting_segment const& next)
  {
    job.segments[1][number] = {next.begin, next.size, first_tile};
    segment_state<Bits> state{};
    state.array           = next.array;
    state.level           = next.level;
    state.is_sorted       = next.is_sorted;
    job.states[1][number] = state;
  }
};

/// Makes `words` words from `first` on zero, with all threads of the grid.
__device__ inline void clear_words(std::uint32_t* first, std::size_t words)
{
  std::size_t const threads = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < words; i += threads)
  {
    first[i] = 0;
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
  __shared__ look_storage<Bits, look_threads> shared;
  runtime::wait_for_previous_kernel();
  clear_words(static_cast<std::uint32_t*>(job.status), job.status_bytes / sizeof(std::uint32_t));
  if (list == 0 && job.two_levels)
  {
    clear_words(reinterpret_cast<std::uint32_t*>(job.bins[1]), radix_size * radix_size * 2);
  }
  using looking = look<Bits, IsFloat, Value, look_threads>;
  if (list == 0)
  {
    block::segment const whole{0, job.n, 0};
    looking::at_segments(job, 0, &whole, 1, looking::tiles_of(job, job.n), shared);
  }
  else
  {
    looking::at_segments(job, 1, job.segments[1], job.done->segments[1], job.done->tiles[1], shared);
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Splitting

/// What a block of a split's shape does with the tiles of a list.
template <class Bits, bool IsFloat, class Value>
struct splitter
{
  using job_type  = sort_job<Bits, IsFloat, Value>;
  using partition = split_partition<Bits, IsFloat, Value>;
  using storage   = typename partition::shared_storage;

  static constexpr int threads = partition::threads;

  /// Does what has been decided with one tile. Returns false if none is left.
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
      case action::none: break;
      case action::split: move<true>(job, work, at, state, shared); break;
      case action::split_in_any_order:
        if constexpr (!job_type::with_values)
        {
          move<false>(job, work, at, state, shared);
        }
        break;
      case action::fill:
        if constexpr (!job_type::with_values)
        {
          fill(job, state.map.low, work.bucket_begin + static_cast<std::size_t>(at.segment) * radix_size, at, shared);
        }
        break;
      case action::copy: copy(job, at); break;
      case action::reverse: reverse(job, at); break;
    }
    return true;
  }

private:
  template <bool Ordered>
  __device__ static void move(
    job_type const& job,
    block::partition_work const& work,
    block::tile_place const& at,
    segment_state<Bits> const& state,
    storage& shared)
  {
    bool const from_home = state.array == 0;
    partition::template move_tile<Ordered>(
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
  __device__ static void fill(
    job_type const& job, Bits low, std::uint64_t const* bucket_begin, block::tile_place const& at, storage& shared)
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
    constexpr int step   = threads * moved_at_once;
    int const size       = end - begin < step ? static_cast<int>(end - begin) : step;
    T* const front       = elements + begin;
    T* const mirrored    = elements + (n - begin - size); // front's elements end up here, backwards
    T first[moved_at_once];
    T last[moved_at_once];
    block::read_tile<threads>(first, size, [&](int place) { return front[size - 1 - place]; });
    block::read_tile<threads>(last, size, [&](int place) { return mirrored[size - 1 - place]; });
    __syncthreads(); // everything is read before anything is written
    block::write_tile<threads>(first, size, mirrored);
    block::write_tile<threads>(last, size, front);
  }
};

/// Does what has been decided with the segments of a list.
/// Grid: at least a block a tile. Block: split_partition's threads. Shared: its shared_storage.
template <class Bits, bool IsFloat, class Value>
__global__ void
__launch_bounds__(shape_of<Bits, Value>().threads,
                  runtime::resident_blocks(shape_of<Bits, Value>().threads, shape_of<Bits, Value>().blocks))
  split_segments(sort_job<Bits, IsFloat, Value> job, int list)
{
  using splitting = splitter<Bits, IsFloat, Value>;
  extern __shared__ uint4 shared_words[];
  runtime::wait_for_previous_kernel();
  splitting::do_tile(job, list, *reinterpret_cast<typename splitting::storage*>(shared_words));
}

/// Splits the segments that are still waiting, level by level, until none is left: outliers, on most inputs none.
/// Grid: as many blocks as the device can hold, launched together. Block: split_partition's threads.
/// Shared: its shared_storage or look_storage, whichever is larger.
template <class Bits, bool IsFloat, class Value>
__global__ void
__launch_bounds__(shape_of<Bits, Value>().threads,
                  runtime::resident_blocks(shape_of<Bits, Value>().threads, shape_of<Bits, Value>().blocks))
  split_waiting(sort_job<Bits, IsFloat, Value> job)
{
  using splitting = splitter<Bits, IsFloat, Value>;
  using looking   = look<Bits, IsFloat, Value, splitting::threads>;
  extern __shared__ uint4 shared_words[];
  runtime::wait_for_previous_kernel();

  auto const grid        = cooperative_groups::this_grid();
  progress volatile& now = *job.done;
  while (now.waiting != 0)
  {
    grid.sync(); // every block has seen that there is work
    if (blockIdx.x == 0)
    {
      looking::begin_waiting(job, *reinterpret_cast<typename looking::storage*>(shared_words));
    }
    clear_words(static_cast<std::uint32_t*>(job.status), job.status_bytes / sizeof(std::uint32_t));
    clear_words(reinterpret_cast<std::uint32_t*>(job.bins[1]),
                static_cast<std::size_t>(job.max_segments) * radix_size * 2);
    grid.sync();
    looking::at_segments(job,
                         1,
                         job.segments[1],
                         now.segments[1],
                         now.tiles[1],
                         *reinterpret_cast<typename looking::storage*>(shared_words));
    grid.sync();
    do
    {
      __syncthreads(); // shared memory is free again
    } while (splitting::do_tile(job, 1, *reinterpret_cast<typename splitting::storage*>(shared_words)));
    grid.sync();
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Sorting inside a block

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
      sorter::sort_by_digits(*reinterpret_cast<typename sorter::digit_storage*>(shared_words),
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
