// By buckets, the most significant bits first: one kernel looks, one moves keys to buckets, one sorts each bucket.
#pragma once

#include <gpusort/block/bin_sort.cuh>
#include <gpusort/block/count_sort.cuh>
#include <gpusort/block/digit_sort.cuh>
#include <gpusort/block/dynamic_shared.cuh>
#include <gpusort/block/partition.cuh>
#include <gpusort/block/rereading_bin_sort.cuh>
#include <gpusort/block/span.cuh>
#include <gpusort/block/staged_bin_sort.cuh>
#include <gpusort/block/warp.cuh>
#include <gpusort/block/work_queue.cuh>
#include <gpusort/radix/bucket_curve.h>
#include <gpusort/radix/findings.cuh>
#include <gpusort/radix/in_cluster.cuh>
#include <gpusort/radix/key_order.h>
#include <gpusort/radix/tuning.h>
#include <gpusort/runtime/cluster.cuh>
#include <gpusort/runtime/dependency.cuh>
#include <gpusort/runtime/residency.cuh>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::radix
{

/// Tiles of a level that one launch moves.
struct tiles_of_launch
{
  std::uint32_t first;
  std::uint32_t count;
};

/// The buckets of an input, in device memory. The first level splits into radix_size stretches of neighbouring buckets; a
/// second, if a stretch has more than one bucket, splits each of them.
struct bucket_table
{
  int buckets_log2;
  std::uint32_t* sizes; // zero before the sort
  std::uint64_t* begins; // of each bucket, and where the last one ends
  std::uint32_t*
    listed; // buckets that bins do not sort, where lists_crowded, until these are sorted; of others, the long ones among short ones; null where all are long
  block::segment* stretches; // of a second level, radix_size
  std::uint32_t launch_stretches; // that a launch of the second level splits

  __host__ __device__ int stretch_log2() const
  {
    return buckets_log2 - digit_bits;
  }

  __host__ __device__ int levels() const
  {
    return stretch_log2() > 0 ? 2 : 1;
  }

  /// Of the second level, which has so many in all, those of the launch with this number.
  __device__ tiles_of_launch tiles_of(std::uint32_t launch, std::uint32_t all) const
  {
    std::uint32_t const behind = (launch + 1) * launch_stretches; // stretch
    std::uint32_t const first  = stretches[launch * launch_stretches].first_tile;
    return {first, (behind < radix_size ? stretches[behind].first_tile : all) - first};
  }
};

/// The curve by which keys are mapped to buckets, if they are, in device memory, and their buckets.
struct curve_table
{
  int log2; // buckets; 0: there is no curve
  bool for_long; // blocks; otherwise those that sort buckets of equal width sort them
  curve_cell* cells; // curve_cells
};

/// The same and what a block has of it.
struct own_curve
{
  curve_table table;
  curve_cell const* cells;
};

/// What buckets may hold.
struct bucket_limits
{
  std::uint32_t size; // of any: what a block sorts, or is to count
  std::uint32_t listed_above; // this size, for blocks that sort more than others
  std::uint32_t in_sample; // of any, of the keys of a sample
  std::uint64_t
    expected_evenly; // of the bucket of a key; with more, keys may be rare towards the ends, and lie beyond those of a sample
  std::uint64_t expected; // at the most
};

template <class Bits, bool IsFloat, class Value, sort_class Class>
struct sort_in_registers
{
  using type =
    block::bin_sort<Bits,
                    Value,
                    key_order<Bits, IsFloat>,
                    sort_shape_for(sizeof(Bits), value_bytes_v<Value>, Class).threads,
                    sort_shape_for(sizeof(Bits), value_bytes_v<Value>, Class).items,
                    full_bins_of(Class)>;
};
template <class Bits, bool IsFloat, class Value, sort_class Class>
struct sort_staged
{
  using type =
    block::staged_bin_sort<Bits,
                           Value,
                           key_order<Bits, IsFloat>,
                           sort_shape_for(sizeof(Bits), value_bytes_v<Value>, Class).threads,
                           sort_tile_for(sizeof(Bits), value_bytes_v<Value>, Class),
                           full_bins_of(Class),
                           Class == sort_class::long_bucket && sizeof(Bits) <= 4 ? block::token_width::short_or_fail
                                                                                 : block::token_width::as_needed>;
};

/// Blocks that sort what fits them.
template <class Bits, bool IsFloat, class Value, sort_class Class>
using block_sort =
  typename std::conditional_t<is_staged(sizeof(Bits), value_bytes_v<Value>, Class),
                              sort_staged<Bits, IsFloat, Value, Class>,
                              sort_in_registers<Bits, IsFloat, Value, Class>>::type;

/// How the blocks of a cluster share out what only all of them can sort.
template <class Bits, bool IsFloat, class Value>
using split_of_cluster =
  cluster_split<Bits,
                IsFloat,
                Value,
                sort_shape_for(sizeof(Bits), value_bytes_v<Value>, sort_class::medium).threads,
                cluster_items,
                sort_tile_for(sizeof(Bits), value_bytes_v<Value>, sort_class::medium)>;

/// Nothing, where blocks leave to others what bins do not sort.
template <class Sorter, bool SortsAll>
struct binless_storage_of
{
  using type = typename Sorter::binless_storage;
};
template <class Sorter>
struct binless_storage_of<Sorter, false>
{
  using type = char;
};

/// The shared memory of sort_in_blocks, one way or another. Blocks that sort all buckets leave to others what bins do not
/// sort.
template <class Bits, bool IsFloat, class Value, sort_class Class>
struct block_sort_storage
{
  using sorter = block_sort<Bits, IsFloat, Value, Class>;
  using split  = split_of_cluster<Bits, IsFloat, Value>;
  union
  {
    typename sorter::shared_storage by_bins;
    typename binless_storage_of<sorter, Class != sort_class::bucket>::type crowded;
    std::conditional_t<Class == sort_class::medium, typename split::shared_storage, char> in_cluster;
  };
  std::uint32_t next_bucket;
};

/// What the threads of a look share beside the counts.
template <class Bits>
struct look_storage
{
  static constexpr int warps = look_threads / 32;

  block::span_storage<Bits, look_threads> span;
  std::uint32_t varying[block::words_of_v<Bits>]; // bits of a sample
  std::uint64_t sums[warps];
  bool goes_on;
};

/// The sum of the warps' values, and of those of the warps before. Called by all threads of a look.
template <class Bits>
__device__ std::uint64_t
sum_of_block(look_storage<Bits>& shared, std::uint64_t sum_of_warp, std::uint64_t* before_warp = nullptr)
{
  static_assert(look_storage<Bits>::warps == 32);
  int const warp = static_cast<int>(threadIdx.x) / 32;
  __syncthreads();
  if (threadIdx.x % 32 == 0)
  {
    shared.sums[warp] = sum_of_warp;
  }
  __syncthreads();
  std::uint64_t const inclusive = block::inclusive_sum_of_warp(shared.sums[threadIdx.x % 32]);
  if (before_warp != nullptr)
  {
    *before_warp = __shfl_sync(block::all_lanes, inclusive, warp) - sum_of_warp;
  }
  return __shfl_sync(block::all_lanes, inclusive, 31);
}

/// How evenly the keys of a sample fill buckets.
struct spread
{
  std::uint64_t expected; // about as many keys, times `scale`, the bucket of a key has
  bool too_full; // a bucket has too much of the sample
  bool too_crowded; // one has a great part of the sample, so that a curve will hardly do

  static constexpr std::uint64_t samples = std::uint64_t{look_threads} * samples_per_thread;
  static constexpr std::uint64_t scale   = samples * (samples - 1) / 2; // pairs

  /// Whether buckets would fit blocks.
  __device__ bool fits(bucket_limits const& limits) const
  {
    return !too_full && expected <= limits.expected * scale;
  }
  /// If not, keys may be rare towards the ends, and lie beyond those of the sample.
  __device__ bool is_even(bucket_limits const& limits) const
  {
    return !too_full && expected <= limits.expected_evenly * scale;
  }
};

/// Up to samples_per_thread keys that a thread has of a sample, as ranks.
template <class Bits>
struct sample_ranks
{
  Bits at[samples_per_thread];

  /// Sample 0 or 1, of different keys if there are twice as many. The same for all blocks.
  template <bool IsFloat>
  __device__ sample_ranks(Bits const* keys, std::size_t n, key_order<Bits, IsFloat> const& order, int number)
  {
    std::uint64_t const stride = n / spread::samples; // at least 1
#pragma unroll
    for (int i = 0; i < samples_per_thread; ++i)
    {
      std::uint64_t const sample = static_cast<std::uint64_t>(i) * look_threads + threadIdx.x;
      // Not always the first of a stride, so that periods in the input do not hide from it.
      at[i] = keys[sample * stride + (sample * 61 + static_cast<unsigned>(number) * (stride / 2)) % stride];
    }
#pragma unroll
    for (Bits& rank : at)
    {
      rank = order.rank_of(rank);
    }
  }

  /// The least and the greatest of all threads. Called by all of them.
  __device__ void span(look_storage<Bits>& shared, Bits& least, Bits& greatest) const
  {
    least    = static_cast<Bits>(~Bits{0});
    greatest = 0;
#pragma unroll
    for (Bits const rank : at)
    {
      least    = rank < least ? rank : least;
      greatest = greatest < rank ? rank : greatest;
    }
    block::span_of_block(shared.span, least, greatest);
  }
};

/// The spread of the ranks of a look's sample: pairs of keys meet in a bucket more often than of even ones. Called by all threads with counts
/// that are zero, which they are again afterwards.
template <class Bits, class Order, class Map>
__device__ spread spread_of(sample_ranks<Bits> const& sample,
                            std::size_t n,
                            Order const& order,
                            Map const& map,
                            bucket_limits const& limits,
                            bucket_tally const& counts,
                            look_storage<Bits>& shared)
{
  std::uint32_t meetings = 0, most = 0; // pairs in one bucket, and the fullest but for one
#pragma unroll
  for (Bits const rank : sample.at)
  {
    std::uint32_t const others = counts.count(map(order, rank));
    meetings += others;
    most = others < most ? most : others;
  }
  std::uint64_t const all = sum_of_block(shared, block::sum_of_warp(meetings));
  bool const too_full     = __syncthreads_or(most >= limits.in_sample) != 0;
  bool const too_crowded  = has_curve(sizeof(Bits)) && __syncthreads_or(most >= spread::samples / 64) != 0;
#pragma unroll
  for (Bits const rank : sample.at)
  {
    counts.words[map(order, rank) / 2] = 0;
  }
  __syncthreads();
  return {all * n, too_full, too_crowded};
}

/// Whether numbers on either side of zero may lie between two ranks.
template <class Bits>
__device__ bool meet_zero(key_order<Bits, true> const& order, Bits least, Bits greatest)
{
  Bits const zero = order.rank_of(Bits{0});
  return least < zero && zero < greatest;
}

/// Maps ranks to buckets by a sample, which is the same for every block. Returns false if the sample says that buckets would not fit a block, or
/// that one digit varies, or few. If all of the sample is alike, so may all keys be, and a look finds that out. Notes how many digits vary if
/// buckets would not fit. Called by all threads with counts and `varying` that are zero; the counts are so again afterwards.
template <class Bits, bool IsFloat>
__device__ bool map_by_sample(
  Bits const* keys,
  std::size_t n,
  key_order<Bits, IsFloat> const& order,
  int buckets_log2,
  bool with_values,
  bucket_limits const& limits,
  bucket_tally const& counts,
  look_storage<Bits>& shared,
  findings<Bits>* found,
  key_map_t<Bits, IsFloat>& map)
{
  sample_ranks<Bits> const sample(keys, n, order, 0);
  Bits least, greatest;
  sample.span(shared, least, greatest);

  Bits different = 0;
#pragma unroll
  for (Bits const rank : sample.at)
  {
    different = static_cast<Bits>(different | (rank ^ least));
  }
  block::set_bits_of_warp(shared.varying, different);
  bucket_map<Bits> const of_sample = bucket_map<Bits>::over(least, greatest, buckets_log2);
  map                              = of_sample;
  spread const by_rank             = spread_of(sample, n, order, of_sample, limits, counts, shared);
  int digits = 0, bits = 0; // that vary
#pragma unroll
  for (int w = 0; w < block::words_of_v<Bits>; ++w)
  {
    std::uint32_t const word = shared.varying[w];
    bits += __popc(word);
    digits += __popc(__vcmpne4(word, 0) & 0x01010101u);
  }
  if (digits <= 1)
  {
    return digits == 0;
  }
  int const lowest = block::lowest_set(shared.varying);
  if (blockIdx.x == 0 && threadIdx.x == 0)
  {
    found->lowest_alike = lowest;
  }
  [[maybe_unused]] bool by_value_may = false; // a curve
  if constexpr (has_value_map_v<Bits, IsFloat>)
  {
    if (!by_rank.is_even(limits) && goes_by_value(n, sizeof(Bits), with_values, meet_zero(order, least, greatest)))
    {
      auto const values = value_map<Bits>::over(order, least, greatest, buckets_log2, 0);
      if (values.exists())
      {
        spread const by_value = spread_of(sample, n, order, values, limits, counts, shared);
        if (by_value.fits(limits) && by_value.expected < by_rank.expected)
        {
          map = by_value.is_even(limits)
                ? values
                : value_map<Bits>::over(order, least, greatest, buckets_log2, margin_of_rare_keys);
          return true;
        }
        by_value_may = has_curve(sizeof(Bits)) && !by_value.too_crowded;
      }
    }
  }
  if (!by_rank.is_even(limits))
  {
    map = bucket_map<Bits>::with_margins(least, greatest, buckets_log2);
  }
  int const bits_in_bucket = block::bit_width(static_cast<Bits>(greatest - least)) - buckets_log2;
  // Where a range is about a multiple of a power of two, more bits than that vary.
  int const width            = bits_in_bucket + buckets_log2;
  bool const have_few_values = radix::have_few_values(n, with_values, digits, bits < width ? bits : width);
  if (!by_rank.fits(limits))
  {
    bool may_be_curve = false;
    if constexpr (has_curve(sizeof(Bits)))
    {
      // In three digits or fewer, each value may occur so often that bins are crowded.
      may_be_curve = digits > 3 && !have_few_values && (!by_rank.too_crowded || by_value_may);
    }
    if (blockIdx.x == 0 && threadIdx.x == 0)
    {
      found->uneven_digits = static_cast<std::uint32_t>(digits);
      found->may_be_curve  = may_be_curve ? 1 : 0;
    }
    return false;
  }
  return !have_few_digits(n, with_values || sizeof(Bits) > 8, bits_in_bucket, digits, bits, lowest) && !have_few_values;
}

/// Decides what is done with an input whose buckets have been counted, and lists what the splits and sorts need to know. `curve`: null, or that
/// whose positions `map` says.
/// Called by all threads of the last block of a look.
template <class Bits, class Map>
__device__ void decide_by_sizes(
  bool with_values,
  bucket_limits const& limits,
  bucket_table const& table,
  Map const& map,
  own_curve const* curve,
  findings<Bits>& found,
  tiling const& work,
  look_storage<Bits>& shared)
{
  // A warp takes a stretch of the buckets, four a lane and step.
  int const warp    = static_cast<int>(threadIdx.x) / 32;
  int const lane    = static_cast<int>(threadIdx.x) % 32;
  int const quads   = (1 << table.buckets_log2) / 4 / look_storage<Bits>::warps;
  auto const* sizes = reinterpret_cast<uint4 const*>(table.sizes) + warp * quads;
  std::uint32_t sum = 0, most = 0;
  for (int q = lane; q < quads; q += 32)
  {
    uint4 const four = __ldcg(sizes + q);
    sum += four.x + four.y + four.z + four.w;
    most = max(max(most, max(four.x, four.y)), max(four.z, four.w));
  }
  std::uint64_t before = 0;
  sum_of_block(shared, block::sum_of_warp(sum), &before);
  bool const too_large = __syncthreads_or(most > limits.size) != 0;
  if (threadIdx.x == 0)
  {
    findings<Bits> volatile const& now = found;
    bool const tells_equal             = with_values || (now.seen & seen::twin) != 0;
    for (int level = 0; level < 2; ++level)
    {
      found.order_of_level[level] =
        tells_equal ? block::rank_order::kept
        : now.in_crowds[level] > work.n / 8
          ? block::rank_order::any_of_crowds
          : block::rank_order::any;
    }
    shared.goes_on = !note_order(found, tells_equal) && !too_large && now.lost == 0;
  }
  __syncthreads();
  if (!shared.goes_on)
  {
    return;
  }
  for (int first = 0; first < quads; first += 32)
  {
    int const q                   = first + lane;
    uint4 const four              = q < quads ? __ldcg(sizes + q) : uint4{0, 0, 0, 0};
    std::uint32_t const own       = four.x + four.y + four.z + four.w;
    std::uint32_t const inclusive = block::inclusive_sum_of_warp(own);
    if (q < quads)
    {
      std::uint32_t const size[4] = {four.x, four.y, four.z, four.w};
      std::uint64_t begin         = before + inclusive - own;
      auto const bucket           = static_cast<std::uint32_t>(warp * quads + q) * 4;
#pragma unroll
      for (std::uint32_t i = 0; i < 4; ++i)
      {
        table.begins[bucket + i] = begin;
        begin += size[i];
        if (size[i] > limits.listed_above)
        {
          table.listed[atomicAdd(&found.listed, 1u)] = bucket + i;
        }
      }
    }
    before += __shfl_sync(block::all_lanes, inclusive, 31);
  }
  if (threadIdx.x == 0)
  {
    table.begins[std::size_t{1} << table.buckets_log2] = work.n;
  }
  __syncthreads();
  if (table.stretch_log2() > 0)
  {
    block::segment own{};
    std::uint32_t tiles = 0;
    if (threadIdx.x < radix_size)
    {
      own.begin = table.begins[threadIdx.x << table.stretch_log2()];
      own.size  = table.begins[(threadIdx.x + 1) << table.stretch_log2()] - own.begin;
      tiles     = work.tiles_of(own.size);
    }
    std::uint32_t const inclusive = block::inclusive_sum_of_warp(tiles);
    std::uint64_t others          = 0;
    std::uint64_t const all       = sum_of_block(shared, __shfl_sync(block::all_lanes, inclusive, 31), &others);
    own.first_tile                = static_cast<std::uint32_t>(others) + inclusive - tiles;
    if (threadIdx.x < radix_size)
    {
      table.stretches[threadIdx.x] = own;
    }
    if (threadIdx.x == 0)
    {
      found.split_tiles = static_cast<std::uint32_t>(all);
    }
  }
  if (curve != nullptr && threadIdx.x < curve_cells)
  {
    curve->table.cells[threadIdx.x] = curve->cells[threadIdx.x];
  }
  if (threadIdx.x == 0)
  {
    found.map     = map;
    found.splits  = curve == nullptr ? 1 : 0;
    found.decided = 1;
    if (curve != nullptr)
    {
      found.by_curve = 1;
    }
    found.buckets[curve != nullptr && curve->table.for_long ? 1 : 0] = std::uint32_t{1} << table.buckets_log2;
  }
}

/// Whether a warp's keys, which are in order or reversed, are all in one bucket: as the first and the last of them.
template <class BucketOf, class Bits, int Items>
__device__ bool is_one_bucket(BucketOf const& bucket_of, warp_ranks<Bits, Items> const& ranks)
{
  std::uint32_t const first = __shfl_sync(block::all_lanes, bucket_of(ranks.at[0]), 0);
  std::uint32_t const last  = __shfl_sync(block::all_lanes, bucket_of(ranks.at[Items - 1]), 31);
  return first == last;
}

/// What a thread of a look has seen of its keys.
struct keys_counted
{
  std::uint32_t seen;
  std::uint32_t keys;
  // Rounds in which most of the warp's first row was in one bucket and, in the upper half, in one stretch. Of 2^34 keys 64 blocks have no more than 2^15.
  std::uint32_t crowds;

  static constexpr std::uint32_t in_bucket  = 1;
  static constexpr std::uint32_t in_stretch = 1 << 16;
};

/// Counts this block's part of n keys by their buckets, and looks how neighbours compare. Called by all threads.
template <class Bits, bool IsFloat, class Map>
__device__ __forceinline__ keys_counted count_buckets(
  Bits const* keys,
  std::size_t n,
  key_order<Bits, IsFloat> const& order,
  Map const& map,
  int stretch_log2,
  bucket_tally const& counts)
{
  constexpr int items  = look_items(sizeof(Bits));
  auto const bucket_of = [&](Bits rank) { return map(order, rank); };
  auto const crowd_of  = [=](std::uint32_t bucket) -> std::uint32_t {
    if (!block::crowd(bucket >> stretch_log2).is_large())
    {
      return 0;
    }
    return block::crowd(bucket).is_large()
            ? keys_counted::in_bucket | keys_counted::in_stretch
            : keys_counted::in_stretch;
  };
  std::uint32_t all_seen = 0, own_keys = 0, crowds = 0;
  std::size_t const chunk = static_cast<std::size_t>(items) * look_threads;
  std::size_t const step  = static_cast<std::size_t>(gridDim.x) * chunk;
  std::size_t const own   = threadIdx.x / 32 * items * 32;
  // The next keys are under way while these are counted. A warp stops looking at neighbours once it has met both directions:
  // on most inputs, at once.
  bool compares = true;
  warp_ranks<Bits, items> next;
  next.read(keys, blockIdx.x * chunk + own, items, n, compares);
  for (std::size_t begin = blockIdx.x * chunk; begin < n; begin += step)
  {
    warp_ranks<Bits, items> ranks = next;
    bool const has_behind         = compares;
    compares                      = (all_seen & seen::no_longer) != seen::no_longer;
    next.read(keys, begin + step + own, items, n, compares);
    all_seen |= ranks.rank(order);
    std::uint32_t const seen_here = has_behind ? ranks.compare_neighbours(items) : seen::no_longer;
    all_seen |= seen_here;
    if (n - begin < chunk)
    {
#pragma unroll
      for (int i = 0; i < items; ++i)
      {
        if (ranks.holds(i, items))
        {
          counts.count(bucket_of(ranks.at[i]));
          ++own_keys;
        }
      }
    }
    else if ((seen_here & seen::no_longer) != seen::no_longer && is_one_bucket(bucket_of, ranks))
    {
      // One counts for the whole warp: so input in order, which is all like this, is read as fast as memory is.
      if (threadIdx.x % 32 == 0)
      {
        counts.count(bucket_of(ranks.at[0]), items * 32);
      }
      own_keys += items;
      crowds += keys_counted::in_bucket | keys_counted::in_stretch;
    }
    else if (std::uint32_t const crowd = crowd_of(bucket_of(ranks.at[0])); (crowd & keys_counted::in_bucket) != 0)
    {
      // Neighbours that are alike would wait for each other: one counts for all.
#pragma unroll
      for (int i = 0; i < items; ++i)
      {
        counts.count_crowd(bucket_of(ranks.at[i]));
      }
      own_keys += items;
      crowds += crowd;
    }
    else
    {
      crowds += crowd;
#pragma unroll
      for (int i = 0; i < items; ++i)
      {
        counts.count(bucket_of(ranks.at[i]));
      }
      own_keys += items;
    }
  }
  return {all_seen, own_keys, crowds};
}

/// Adds what a block has counted to the table, and decides, in the last block that has; `curve`: null, or that whose positions `map` says. Called by
/// all threads of a look.
template <class Bits, class Map>
__device__ __forceinline__ void finish_look(
  keys_counted const& own,
  bool with_values,
  bucket_limits const& limits,
  bucket_table const& table,
  Map const& map,
  own_curve const* curve,
  findings<Bits>& found,
  tiling const& work,
  bucket_tally const& counts,
  look_storage<Bits>& shared)
{
  note_seen(found, block::or_of_warp(own.seen));
  __syncthreads();

  auto* const pairs       = reinterpret_cast<unsigned long long*>(table.sizes); // of neighbours' sizes
  int const words         = 1 << (table.buckets_log2 - 1);
  std::uint32_t not_found = own.keys;
  for (int i = static_cast<int>(threadIdx.x); i < words; i += look_threads)
  {
    // Blocks begin at different places, so that they meet on few.
    int const at             = (i + static_cast<int>(blockIdx.x) * 32) & (words - 1);
    std::uint32_t const word = counts.words[at];
    if (word != 0)
    {
      not_found -= (word & 0xffff) + (word >> 16);
      atomicAdd(pairs + at,
                static_cast<unsigned long long>(word & 0xffff) | static_cast<unsigned long long>(word >> 16) << 32);
    }
  }
  bool const lost = static_cast<std::uint32_t>(sum_of_block(shared, block::sum_of_warp(not_found))) != 0;
  // The lanes of a warp have seen the same crowds; rounds of the block in which they are in buckets, and in the upper half in stretches.
  std::uint64_t const crowds = sum_of_block(shared, (own.crowds & 0xffff) | std::uint64_t{own.crowds >> 16} << 32);
  if (threadIdx.x == 0)
  {
    if (lost)
    {
      found.lost = 1;
    }
    if (crowds != 0)
    {
      constexpr unsigned long long round = look_items(sizeof(Bits)) * 32; // keys
      atomicAdd(&found.in_crowds[0], (crowds >> 32) * round);
      atomicAdd(&found.in_crowds[1], (crowds & 0xffffffff) * round);
    }
  }
  if (is_last_block(found.bucket_blocks, gridDim.x))
  {
    decide_by_sizes(with_values, limits, table, map, curve, found, work, shared);
  }
}

/// Looks at all keys, and decides whether they are sorted by buckets: counts them, and finds out whether they are in order
/// or reversed. Leaves the decision to those who count digits if a sample says that buckets would be uneven, or if a bucket turns
/// out to be too large. Does nothing if a glance has decided.
/// Grid: any. Block: look_threads. Shared: half a word a bucket.
/// After: if it has decided, the look-back words are empty and `found` is complete; if the keys are to be split, so
/// is `table`.
template <class Bits, bool IsFloat>
__global__ void __launch_bounds__(look_threads)
  look_at_keys(Bits const* keys,
               key_order<Bits, IsFloat> order,
               bool with_values,
               bucket_limits limits,
               bucket_table table,
               findings<Bits>* found,
               tiling work)
{
  extern __shared__ std::uint32_t shared_counts[];
  __shared__ look_storage<Bits> shared;
  bucket_tally const counts{shared_counts};

  counts.clear(table.buckets_log2);
  if (threadIdx.x < block::words_of_v<Bits>)
  {
    shared.varying[threadIdx.x] = 0;
  }
  runtime::wait_for_previous_kernel();
  __syncthreads();
  if (found->decided != 0)
  {
    return;
  }
  std::size_t const n = work.n;
  key_map_t<Bits, IsFloat> map;
  if (!map_by_sample(keys, n, order, table.buckets_log2, with_values, limits, counts, shared, found, map))
  {
    return;
  }
  clear_status(work, blockIdx.x, gridDim.x);

  keys_counted const own = count_buckets(keys, n, order, map, table.stretch_log2(), counts);
  finish_look(own, with_values, limits, table, map, nullptr, *found, work, counts, shared);
}

/// Which part of its bucket's number a level splits by.
template <class Bits, bool IsFloat, class Map>
struct bucket_of_key
{
  key_order<Bits, IsFloat> order;
  Map map;
  int shift;
  unsigned mask;

  __device__ unsigned operator()(Bits key) const
  {
    return map(order, order.rank_of(key)) >> shift & mask;
  }
};

template <class Bits, bool IsFloat, class Value, class Map>
using bucket_partition = pass_by<Bits, Value, bucket_of_key<Bits, IsFloat, Map>>;

/// Shared memory of a block that moves a tile to buckets. Where its keys go is asked for once, by few threads: of keys alone no other keeps it.
/// Measured on an H200, us, with that in registers and here: u32 2^28 3,575, 3,543; u64 2^27 3,143, 3,105; but pairs of u64 2^27 5,349, 5,415.
template <class Bits, bool IsFloat, class Value, class Map>
struct bucket_storage
{
  typename bucket_partition<Bits, IsFloat, Value, Map>::shared_storage partition;
  block::partition_work to;
};

/// Moves keys and values of the tile that this block takes to the stretch of their bucket, from the first arrays to the second,
/// or at level 1 back again and to the bucket itself; or, at level 0, to where the first digit that counts belongs, if the input is
/// not split into buckets: `bins` as of count_part. Equal keys keep their order where they can be told apart. `part`: of the input; at level 1 of one of
/// several, its number says which stretches this launch splits. `map_of()`: that of `found`. Called by all threads, once one of the two is known.
/// Returns false if there was no tile left; shared memory may be used again after a barrier.
/// Before: the ticket is zero; the look-back words are empty, or, at level 1 of an input of one part, left behind by level 0.
template <class Bits, bool IsFloat, class Value, class Map, class MapOf>
__device__ bool move_to_buckets(
  bucket_storage<Bits, IsFloat, Value, Map>& shared,
  key_order<Bits, IsFloat> const& order,
  MapOf const& map_of,
  findings<Bits>* found,
  bucket_table const& table,
  std::uint64_t const* bins,
  std::uint32_t* ticket,
  int level,
  input_part const& part,
  tiling const& work,
  buffers<Bits, Value> const& at)
{
  using partition             = bucket_partition<Bits, IsFloat, Value, Map>;
  bool const first            = level == 0;
  bool const by_digit         = !is_curve_v<Map> && found->splits == 0;
  int const digit             = by_digit ? found->digit_of_pass[0] : 0;
  int const stretch_log2      = by_digit ? 0 : table.stretch_log2(); // a stretch of one bucket
  int const buckets           = first ? radix_size : 1 << stretch_log2;
  bool const in_parts         = has_counted_buckets(sizeof(Bits), value_bytes_v<Value>) && part.size != work.n;
  auto const tiles_of_part    = [&] { return in_parts ? work.tiles_of(part.size) : work.tiles; };
  tiles_of_launch const tiles = in_parts && !first ? table.tiles_of(part.number, found->split_tiles)
                                                   : tiles_of_launch{0, first ? tiles_of_part() : found->split_tiles};
  block::partition_work held{};
  block::partition_work& to = partition::with_values ? held : shared.to;
  if (partition::with_values || threadIdx.x == partition::threads - 1) // not the one that draws the ticket, and waits
  {
    bool const goes_on = in_parts && first && part.number > 0;
    to                 = {by_digit  ? bins + digit * radix_size
                          : goes_on ? part.begins()
                                    : table.begins,
          in_parts && first ? part.begins_behind() : nullptr,
          first && !goes_on ? 1 << stretch_log2 : 1,
          buckets,
          work.status,
          first || in_parts ? 0 : 1};
  }
  bucket_of_key<Bits, IsFloat, Map> const bucket_of{
    order,
    map_of(),
    by_digit ? digit * digit_bits
    : first  ? stretch_log2
             : 0,
    static_cast<unsigned>(buckets) - 1};
  Bits const* const keys_in    = first ? at.keys[0] : at.keys[1];
  Bits* const keys_out         = first ? at.keys[1] : at.keys[0];
  Value const* const values_in = first ? at.values[0] : at.values[1];
  Value* const values_out      = first ? at.values[1] : at.values[0];
  std::uint32_t const tile     = partition::take_tile(shared.partition, ticket);
  if (tile >= tiles.count)
  {
    return false;
  }
  auto const place_of = [&](std::uint32_t number) {
    return first ? block::place_in({part.begin, part.size, 0}, 0, number, work.tile)
                 : block::place_among(table.stretches, radix_size, tiles.first + number, work.tile);
  };
  if constexpr (partition::with_values)
  {
    block::tile_place place = place_of(tile);
    place.number -= tiles.first;
    place.first_of_segment -= tiles.first;
    partition::move_tile(shared.partition, bucket_of, to, place, keys_in, keys_out, values_in, values_out);
  }
  else
  {
    // One tile of an input may not be full, and what moves it is not at hand: it waits for instructions. So it is the first, if order does not matter, when
    // others wait as well.
    block::rank_order const in_order = found->order_of_level[level];
    bool const last_is_first         = first && in_order == block::rank_order::any;
    block::tile_place place          = place_of(last_is_first ? (tile == 0 ? tiles.count : tile) - 1 : tile);
    if (last_is_first)
    {
      place.number  = tile;
      place.is_last = tile + 1 == tiles.count;
    }
    place.number -= tiles.first;
    place.first_of_segment -= tiles.first;
    partition::move_tile_in_any_order(shared.partition, bucket_of, to, place, in_order, keys_in, keys_out);
  }
  return true;
}

/// Splits an input among the blocks of a cluster of the class `medium`, as cluster_split does: out of line, because blocks that sort alone have no
/// use for it. Called by all threads of the kernel below.
template <class Bits, bool IsFloat, class Value>
__device__ __noinline__ element_range
split_in_cluster(key_order<Bits, IsFloat> order, std::size_t n, buffers<Bits, Value> at)
{
  using storage = block_sort_storage<Bits, IsFloat, Value, sort_class::medium>;
  return split_of_cluster<Bits, IsFloat, Value>::split(block::dynamic_shared<storage>().in_cluster, order, n, at);
}

/// The mark of a listed bucket that the bins of a medium block do not sort either. Nobody reads the list after it.
inline constexpr std::uint32_t left_by_bins = std::uint32_t{1} << 31;
static_assert(most_buckets_log2 < 31);

/// Sorts into the caller's arrays, from arrays number `from`: blocks of the class `bucket`, all buckets, listing those that
/// bins do not sort; others, the buckets on that list, or, without findings, a whole input: one block, if it fits it, or the
/// blocks of a cluster of the class `medium`, if it fits them together.
/// Grid: any; one cluster for a whole input. Block: block_sort's threads. Shared: block_sort_storage.
template <class Bits, bool IsFloat, class Value, sort_class Class>
__global__ void
__launch_bounds__(sort_shape_for(sizeof(Bits), value_bytes_v<Value>, Class).threads,
                  runtime::resident_blocks(sort_shape_for(sizeof(Bits), value_bytes_v<Value>, Class).threads,
                                           sort_blocks_per_sm(sizeof(Bits), value_bytes_v<Value>, Class)))
  sort_in_blocks(key_order<Bits, IsFloat> order,
                 findings<Bits>* found,
                 bucket_table table,
                 std::size_t n,
                 int from,
                 buffers<Bits, Value> at)
{
  using sorter               = block_sort<Bits, IsFloat, Value, Class>;
  constexpr bool all_buckets = Class == sort_class::bucket;
  extern __shared__ uint4 shared_words[];
  auto& shared = *reinterpret_cast<block_sort_storage<Bits, IsFloat, Value, Class>*>(shared_words);

  runtime::wait_for_previous_kernel();
  bool const whole    = !all_buckets && found == nullptr;
  std::uint32_t count = gridDim.x;
  element_range share{0, n};
  int const likely_alike = all_buckets ? found->lowest_alike : 0;
  if (!whole)
  {
    count = all_buckets ? found->buckets[0] : found->listed;
  }
  else if constexpr (Class == sort_class::medium)
  {
    if (runtime::cluster_size() > 1)
    {
      share = split_in_cluster<Bits, IsFloat, Value>(order, n, at);
      from  = 1;
    }
  }
  block::work_queue<std::uint32_t> queue(
    all_buckets ? &found->buckets_taken[0] : nullptr, shared.next_bucket, gridDim.x);
  auto const number_after = [&](std::uint32_t i) {
    if constexpr (all_buckets)
    {
      return queue.next();
    }
    else
    {
      return i + gridDim.x;
    }
  };
  // Where the elements are that a number stands for.
  auto const range_of = [&](std::uint32_t bucket) {
    return whole ? share : element_range{table.begins[bucket], table.begins[bucket + 1] - table.begins[bucket]};
  };
  auto const source_of = [&](std::uint64_t begin) {
    return block::contiguous_source<Bits, Value>{(from == 0 ? at.keys[0] : at.keys[1]) + begin,
                                                 (from == 0 ? at.values[0] : at.values[1]) + begin};
  };
  bool leaves = false;
  for (std::uint32_t i = blockIdx.x; i < count; i = number_after(i))
  {
    if constexpr (all_buckets)
    {
      queue.look_ahead();
    }
    std::uint32_t const bucket = whole ? 0 : all_buckets ? i : table.listed[i];
    element_range const range  = range_of(bucket);
    if (range.size == 0)
    {
      continue;
    }
    if constexpr (!all_buckets)
    {
      __syncthreads();
    }
    auto const elements = source_of(range.begin);
    if (!sorter::sort(shared.by_bins,
                      order,
                      static_cast<int>(range.size),
                      elements,
                      at.keys[0] + range.begin,
                      at.values[0] + range.begin,
                      likely_alike))
    {
      leaves = true;
      if (!whole && threadIdx.x == 0)
      {
        if constexpr (all_buckets)
        {
          table.listed[atomicAdd(&found->listed, 1u)] = bucket;
        }
        else
        {
          table.listed[i] = bucket | left_by_bins;
        }
      }
    }
  }
  if constexpr (!all_buckets)
  {
    // Apart from the above: what that keeps from bucket to bucket would go to memory for the call.
    if (!leaves)
    {
      return;
    }
#pragma unroll 1
    for (std::uint32_t i = blockIdx.x; i < count; i += gridDim.x)
    {
      __syncthreads();
      std::uint32_t const bucket = whole ? left_by_bins : table.listed[i];
      if ((bucket & left_by_bins) != 0)
      {
        element_range const range = range_of(bucket & ~left_by_bins);
        sorter::sort_without_bins(
          block::shared_address(shared.crowded),
          order,
          static_cast<int>(range.size),
          source_of(range.begin),
          at.keys[0] + range.begin,
          at.values[0] + range.begin);
      }
    }
  }
}

/// How blocks sort buckets, but for those that this leaves to a sort by digits: keys are read again, counted, or held like those of other blocks.
template <class Bits, bool IsFloat, class Value, sort_class Class>
struct buckets_from_memory
{
  static constexpr rereading_shape shape = rereading_shape_for(sizeof(Bits), Class);
  static constexpr int threads           = shape.threads;
  static constexpr int blocks            = shape.blocks; // a multiprocessor
  static constexpr int most              = shape.most; // elements

  using sorter = block::rereading_bin_sort<Bits, key_order<Bits, IsFloat>, threads, most>;
};
template <class Bits, bool IsFloat, class Value, sort_class Class>
struct buckets_like_others
{
  static constexpr int threads = sort_shape_for(sizeof(Bits), value_bytes_v<Value>, Class).threads;
  static constexpr int blocks  = sort_blocks_per_sm(sizeof(Bits), value_bytes_v<Value>, Class);
  static constexpr int most    = sort_tile_for(sizeof(Bits), value_bytes_v<Value>, Class);

  using sorter = block_sort<Bits, IsFloat, Value, Class>;
};
template <class Bits, bool IsFloat, class Value, sort_class>
struct buckets_by_counts
{
  static constexpr int threads = 1024;
  static constexpr int blocks  = 1;

  using sorter              = block::count_sort<Bits, key_order<Bits, IsFloat>, threads>;
  static constexpr int most = sorter::most;
};

template <class Bits, bool IsFloat, class Value, sort_class Class>
using way_of_buckets =
  std::conditional_t<Class == sort_class::counted_bucket,
                     buckets_by_counts<Bits, IsFloat, Value, Class>,
                     std::conditional_t<rereads(sizeof(Bits), value_bytes_v<Value>, Class),
                                        buckets_from_memory<Bits, IsFloat, Value, Class>,
                                        buckets_like_others<Bits, IsFloat, Value, Class>>>;

template <class Bits, bool IsFloat, sort_class Class, class Value = block::no_values>
struct bucket_sort : way_of_buckets<Bits, IsFloat, Value, Class>
{
  using way       = way_of_buckets<Bits, IsFloat, Value, Class>;
  using by_bins   = typename way::sorter; // or by counts
  using by_digits = block::digit_sort<Bits, Value, key_order<Bits, IsFloat>, way::threads>;

  struct shared_storage
  {
    union
    {
      typename by_bins::shared_storage bins;
      typename by_digits::shared_storage digits;
    };
    std::uint32_t next_bucket;
  };
};

/// Which buckets blocks sort, of those that the input is split into.
enum class which_buckets
{
  all, // but those too large for these blocks, which are listed, and those by a curve, if they are for others
  by_curve,
  listed
};

/// Sorts such buckets, of which no crowded ones are listed, into the caller's arrays, from arrays number `from`. Stable where elements can be told
/// apart.
/// Grid: any. Block: bucket_sort's threads. Shared: its storage.
template <class Bits, bool IsFloat, sort_class Class, class Value>
__global__ void __launch_bounds__(bucket_sort<Bits, IsFloat, Class, Value>::threads,
                                  runtime::resident_blocks(bucket_sort<Bits, IsFloat, Class, Value>::threads,
                                                           bucket_sort<Bits, IsFloat, Class, Value>::blocks))
  sort_buckets(key_order<Bits, IsFloat> order,
               findings<Bits>* found,
               bucket_table table,
               which_buckets which,
               int from,
               buffers<Bits, Value> at)
{
  using sorter   = bucket_sort<Bits, IsFloat, Class, Value>;
  using elements = typename sorter::by_digits::elements;
  extern __shared__ uint4 shared_words[];
  auto& shared = *reinterpret_cast<typename sorter::shared_storage*>(shared_words);

  runtime::wait_for_previous_kernel();
  bool const listed         = which == which_buckets::listed;
  std::uint32_t const count = listed ? found->listed : found->buckets[which == which_buckets::by_curve ? 1 : 0];
  int const likely_alike    = found->lowest_alike;
  block::work_queue<std::uint32_t> queue(&found->buckets_taken[listed ? 1 : 0], shared.next_bucket, gridDim.x);
  for (std::uint32_t i = blockIdx.x; i < count; i = queue.next())
  {
    queue.look_ahead();
    std::uint32_t const bucket = listed ? table.listed[i] : i;
    std::uint64_t const begin  = table.begins[bucket];
    int const size             = static_cast<int>(table.begins[bucket + 1] - begin);
    if (size == 0 || size > sorter::most)
    {
      continue;
    }
    elements const home{at.keys[0] + begin, at.values[0] + begin};
    elements const other{at.keys[1] + begin, at.values[1] + begin};
    elements const in = from == 0 ? home : other;
    block::contiguous_source<Bits, Value> const source{in.keys, in.values};
    if (!sorter::by_bins::sort(shared.bins, order, size, source, home.keys, home.values, likely_alike))
    {
      __syncthreads();
      sorter::by_digits::sort(shared.digits, order, size, in, from == 0 ? other : home, home);
    }
  }
}

} // namespace gpusort::radix
