// Looking at segments: a sample makes the map from ranks to buckets, all keys are counted, and the last block to look at a
// segment decides what becomes of it.
#pragma once

#include <gpusort/block/warp.cuh>
#include <gpusort/radix/job.cuh>

#include <cstddef>
#include <cstdint>

namespace gpusort::radix
{

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

  /// Looks at the part-th of `parts` parts of the tiles of a list. The last block to look at a segment decides what becomes of it.
  __device__ static void at_segments(
    job_type const& job,
    int list,
    block::segment const* segments,
    std::uint32_t segment_count,
    std::uint32_t tile_count,
    std::uint32_t part,
    std::uint32_t parts,
    storage& shared)
  {
    std::uint32_t const share = (tile_count + parts - 1) / parts;
    std::uint32_t tile        = part * share;
    std::uint32_t const last  = tile + share < tile_count ? tile + share : tile_count;
    if (tile >= last)
    {
      return;
    }
    std::uint32_t number = block::segment_of(segments, segment_count, tile);
    for (; tile < last; ++number)
    {
      block::segment const segment = segments[number];
      std::uint32_t const tiles    = tiles_of(job, segment.size);
      std::uint32_t const end      = segment.first_tile + tiles < last ? segment.first_tile + tiles : last;
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
    auto const map           = map_of_sample(job, state.level, keys, segment.size, shared); // a barrier is in there
    auto const begin         = static_cast<std::uint64_t>(first) * job.tile;
    auto const end           = static_cast<std::uint64_t>(last) * job.tile;
    std::uint32_t const seen = count(
      job.order, map, keys, segment.size, begin, end < segment.size ? end : segment.size, state.level == 0, shared);
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
  __device__ static std::uint32_t
  count(key_order<Bits, IsFloat> const& order,
        bucket_map<Bits> const& map,
        Bits const* keys,
        std::uint64_t size,
        std::uint64_t begin,
        std::uint64_t end,
        bool in_order,
        storage& shared)
  {
    std::uint32_t* const counts = shared.counts + threadIdx.x % copies;
    tally own{0, 0, 0};
    for (std::uint64_t chunk = begin; chunk < end; chunk += Threads * items)
    {
      count_chunk(order, map, keys, size, chunk, end, in_order, counts, own);
    }
    atomicAdd(&counts[own.bucket * copies], own.length);
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
    int const left            = end - chunk < Threads * items ? static_cast<int>(end - chunk) : Threads * items;
    auto const holds          = [&](int i) { return i * Threads + static_cast<int>(threadIdx.x) < left; };

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
  __device__ static void
  decide(job_type const& job,
         int list,
         block::segment const& segment,
         segment_state<Bits>& state,
         bucket_map<Bits> const& map,
         std::uint64_t* bins,
         storage& shared)
  {
    bool const has_bucket    = threadIdx.x < radix_size;
    std::uint64_t const size = has_bucket ? __ldcg(reinterpret_cast<unsigned long long const*>(bins + threadIdx.x)) : 0;
    std::uint64_t const begin = sum_before(size, shared.sums);
    bool const one_bucket     = __syncthreads_or(size == segment.size) != 0;
    bool const one_is_large   = __syncthreads_or(size > segment.size / crowded_share) != 0;

    std::uint32_t const found  = *const_cast<std::uint32_t volatile*>(&state.seen);
    bool const equal_in_bucket = map.tells_ranks_apart() && (found & seen::outside) == 0;
    // Equal keys may differ: by value, or as -0 and +0.
    bool const tells_equal    = job_type::with_values || (found & seen::twin) != 0;
    std::uint32_t const other = tells_equal ? seen::ascent | seen::alike : seen::ascent;
    bool const whole_input    = state.level == 0;

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
    waiting_segment const next{
      segment.begin + (all_sorted ? 0 : begin), all_sorted ? segment.size : size, array, state.level + 1, all_sorted};
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
      breaks =
        in_use == 0 || !is_small || shared.begins[word * 32 + 31 - __clz(static_cast<int>(in_use))] != shared.begins[b];
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

} // namespace gpusort::radix
