// The partition pass by itself: several segments a launch, and buckets that are no digits.
#include <testing/support/device_memory.cuh>
#include <testing/support/types.cuh>

#include <gpusort/block/partition.cuh>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

namespace gpusort::testing
{
namespace
{

using key = std::uint32_t;

constexpr int buckets = 256;

/// Scatters neighbouring keys: no bucket is a range of keys.
struct hash_bucket
{
  __host__ __device__ unsigned operator()(key k) const
  {
    return k * 2654435761u >> 24;
  }
};

template <class Value, int Threads, int Items, bool CountsFirst>
using partition_of = block::partition<key, Value, hash_bucket, buckets, Threads, Items, true, CountsFirst>;

/// What a launch works on.
struct pass
{
  block::partition_work work;
  block::segment const* segments;
  std::uint32_t segment_count;
  std::uint32_t tiles;
  int tile;
  std::uint32_t* ticket;
  block::rank_order order; // of a partition that could do with any
};

template <class Value, int Threads, int Items, bool Ordered, bool CountsFirst>
__global__ void __launch_bounds__(Threads)
  move_tiles(pass all, key const* keys_in, key* keys_out, Value const* values_in, Value* values_out)
{
  using partition = partition_of<Value, Threads, Items, CountsFirst>;
  extern __shared__ uint4 shared_words[];
  auto& shared               = *reinterpret_cast<typename partition::shared_storage*>(shared_words);
  std::uint32_t const number = partition::take_tile(shared, all.ticket);
  if (number < all.tiles)
  {
    auto const at = block::place_among(all.segments, all.segment_count, number, all.tile);
    if constexpr (Ordered)
    {
      partition::move_tile(shared, hash_bucket{}, all.work, at, keys_in, keys_out, values_in, values_out);
    }
    else
    {
      partition::move_tile_in_any_order(shared, hash_bucket{}, all.work, at, all.order, keys_in, keys_out);
    }
  }
}

/// A segment and the elements that belong to none before it.
struct piece
{
  std::size_t gap;
  std::size_t size;
};

struct layout_of_segments
{
  std::vector<block::segment> segments;
  std::size_t elements = 0; // with the gaps, one behind the last segment among them
  unsigned tiles       = 0;

  layout_of_segments(std::vector<piece> const& pieces, std::size_t tile)
  {
    for (piece const& p : pieces)
    {
      segments.push_back({elements + p.gap, p.size, tiles});
      elements += p.gap + p.size;
      tiles += static_cast<unsigned>((p.size + tile - 1) / tile);
    }
    elements += 9;
  }
};

/// What a partition takes and gives.
struct expected_partition
{
  host_array<key> keys_in, keys_out;
  host_array<std::uint32_t> values_in, values_out;
  host_array<std::uint64_t> bucket_begin, bucket_end;

  expected_partition(layout_of_segments const& layout, std::vector<key> const& keys)
      : keys_in(layout.elements)
      , keys_out(layout.elements)
      , values_in(layout.elements)
      , values_out(layout.elements)
      , bucket_begin(layout.segments.size() * buckets)
      , bucket_end(layout.segments.size() * buckets)
  {
    for (std::size_t i = 0; i < layout.elements; ++i)
    {
      keys_in[i]    = keys[i];
      values_in[i]  = static_cast<std::uint32_t>(i * 2654435761u);
      keys_out[i]   = untouched;
      values_out[i] = untouched;
    }
    for (std::size_t s = 0; s < layout.segments.size(); ++s)
    {
      std::uint64_t const begin = layout.segments[s].begin;
      std::uint64_t const end   = begin + layout.segments[s].size;
      std::vector<std::uint64_t> counts(buckets, 0);
      for (std::uint64_t i = begin; i < end; ++i)
      {
        ++counts[hash_bucket{}(keys[i])];
      }
      std::uint64_t* const first = bucket_begin.data() + s * buckets;
      std::exclusive_scan(counts.begin(), counts.end(), first, begin);
      std::vector<std::uint64_t> next(first, first + buckets);
      for (std::uint64_t i = begin; i < end; ++i)
      {
        std::uint64_t const to = next[hash_bucket{}(keys[i])]++;
        keys_out[to]           = keys[i];
        values_out[to]         = values_in[i];
      }
      std::copy(next.begin(), next.end(), bucket_end.data() + s * buckets);
    }
  }

  static constexpr std::uint32_t untouched = 0xdeadbeef;
};

template <class T>
host_array<T> filled(std::size_t n, T with)
{
  host_array<T> all(n);
  std::fill(all.begin(), all.end(), with);
  return all;
}

enum class input
{
  uniform,
  few_buckets,
  neighbours, // in one bucket, but for some
  last_bucket // where the places past the end of the input are counted, too
};

std::vector<key> keys_like(input kind, std::size_t n, std::mt19937& random)
{
  // Multiplying by the inverse of the hash's factor undoes it: these are keys of a chosen bucket.
  constexpr key inverse = 244002641u;
  static_assert(inverse * 2654435761u == 1u);
  std::vector<key> keys(n);
  for (std::size_t i = 0; i < n; ++i)
  {
    key const any      = static_cast<key>(random());
    auto const next    = static_cast<unsigned>(i / 200 % buckets);
    unsigned const few = any % 3 * 127; // buckets 0, 127 and 254
    unsigned const here =
      kind == input::few_buckets   ? few
      : kind == input::last_bucket ? 255u
      : any % 50 == 0              ? any % 256
                                   : next;
    keys[i] = kind == input::uniform ? any : ((here << 24) | (any >> 8)) * inverse;
  }
  return keys;
}

/// The keys with those of every bucket in ascending order, and the others as they are.
host_array<key> in_order_by_bucket(host_array<key> keys, layout_of_segments const& layout, expected_partition const& e)
{
  for (std::size_t s = 0; s < layout.segments.size(); ++s)
  {
    for (std::size_t b = 0; b < buckets; ++b)
    {
      std::size_t const bucket = s * buckets + b;
      std::size_t const end =
        b + 1 < buckets ? e.bucket_begin[bucket + 1] : layout.segments[s].begin + layout.segments[s].size;
      std::sort(keys.begin() + e.bucket_begin[bucket], keys.begin() + end);
    }
  }
  return keys;
}

/// Partitions pieces in both epochs of the look-back words, one after the other, and with more blocks than there are tiles; and in each order, if it
/// need not be kept.
template <class Value, int Threads, int Items, bool Ordered, bool CountsFirst>
void check(std::vector<piece> const& pieces, int rows, input kind)
{
  SCOPED_TRACE(
    ::testing::Message() << pieces.size() << " segments, " << rows << " rows, input " << static_cast<int>(kind));
  using partition            = partition_of<Value, Threads, Items, CountsFirst>;
  constexpr bool with_values = partition::with_values;
  constexpr auto kernel      = &move_tiles<Value, Threads, Items, Ordered, CountsFirst>;
  int const tile             = Threads * rows;
  layout_of_segments const layout(pieces, static_cast<std::size_t>(tile));

  guarded_array<key> keys_in(layout.elements), keys_out(layout.elements);
  guarded_array<std::uint32_t> values_in(layout.elements), values_out(layout.elements);
  guarded_array<std::uint64_t> bucket_begin(layout.segments.size() * buckets);
  guarded_array<std::uint64_t> bucket_next(layout.segments.size() * buckets);
  guarded_array<block::segment> segments(layout.segments.size());
  std::size_t const words = std::size_t{layout.tiles} * buckets;
  guarded_array<std::uint32_t> status(words);
  guarded_array<std::uint32_t> ticket(1);
  segments.load(layout.segments.data(), layout.segments.size());

  constexpr int shared_bytes = static_cast<int>(sizeof(typename partition::shared_storage));
  require(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes), "shared memory");

  std::mt19937 random(2026);
  for (block::rank_order const order :
       {block::rank_order::any, block::rank_order::kept, block::rank_order::any_of_crowds})
  {
    int const epoch = order == block::rank_order::kept ? 1 : 0;
    if (Ordered && order == block::rank_order::any_of_crowds)
    {
      continue; // as the first
    }
    SCOPED_TRACE(::testing::Message() << "epoch " << epoch << ", order " << static_cast<unsigned>(order));
    unsigned const blocks = layout.tiles + (epoch == 0 ? 0 : 3);
    expected_partition const e(layout, keys_like(kind, layout.elements, random));
    keys_in.load(e.keys_in);
    keys_out.load(filled(layout.elements, expected_partition::untouched));
    values_in.load(e.values_in);
    values_out.load(filled(layout.elements, expected_partition::untouched));
    bucket_begin.load(e.bucket_begin);
    bucket_next.load(filled(layout.segments.size() * buckets, std::uint64_t{0}));
    ticket.load(filled(1, 0u));
    if (epoch == 0)
    {
      status.load(filled(words, 0u));
    }

    pass all{};
    all.work          = {bucket_begin.begin(), bucket_next.begin(), 1, buckets, status.begin(), epoch};
    all.segments      = segments.begin();
    all.segment_count = static_cast<std::uint32_t>(layout.segments.size());
    all.tiles         = layout.tiles;
    all.tile          = tile;
    all.ticket        = ticket.begin();
    all.order         = order;
    if constexpr (with_values)
    {
      kernel<<<blocks, Threads, shared_bytes>>>(
        all, keys_in.begin(), keys_out.begin(), values_in.begin(), values_out.begin());
    }
    else
    {
      kernel<<<blocks, Threads, shared_bytes>>>(all, keys_in.begin(), keys_out.begin(), nullptr, nullptr);
    }
    require(cudaGetLastError(), "launch of the partition");
    require(cudaDeviceSynchronize(), "partition");

    if (Ordered || order == block::rank_order::kept)
    {
      EXPECT_TRUE(keys_out.holds(e.keys_out));
    }
    else
    {
      host_array<key> const out      = keys_out.read();
      host_array<key> const actual   = in_order_by_bucket(out, layout, e);
      host_array<key> const expected = in_order_by_bucket(e.keys_out, layout, e);
      std::size_t wrong              = 0;
      for (std::size_t i = 0; i < layout.elements; ++i)
      {
        wrong += actual[i] != expected[i];
      }
      EXPECT_EQ(wrong, 0u) << "of " << layout.elements << " keys in order by bucket";
      EXPECT_TRUE(keys_out.holds(out)) << "beyond the keys";
    }
    EXPECT_TRUE(values_out.holds(with_values ? e.values_out : filled(layout.elements, expected_partition::untouched)));
    EXPECT_TRUE(keys_in.holds(e.keys_in));
    EXPECT_TRUE(values_in.holds(e.values_in));
    EXPECT_TRUE(bucket_begin.holds(e.bucket_begin));
    EXPECT_TRUE(bucket_next.holds(e.bucket_end));
    EXPECT_TRUE(ticket.holds(filled(1, blocks)));
    EXPECT_TRUE(status.holds(status.read())) << "beyond the look-back words";
    if (::testing::Test::HasFailure())
    {
      return;
    }
  }
}

/// The kind of block that partitions, whether elements of a bucket keep their order, and whether they are counted first.
template <class Value, int Threads, int Items, bool Ordered, bool CountsFirst>
struct shape
{
  /// Makes segments for tiles of different numbers of rows, and partitions them.
  template <class Pieces>
  static void check_all(Pieces pieces_of)
  {
    bool const in_a_hurry = std::getenv("GPUSORT_TEST_STEP") != nullptr; // under a sanitizer everything takes long
    for (int const rows : {Items, 1, Items / 2})
    {
      for (input const kind : {input::uniform, input::few_buckets, input::neighbours, input::last_bucket})
      {
        if (!in_a_hurry || rows == Items || kind == input::uniform)
        {
          check<Value, Threads, Items, Ordered, CountsFirst>(
            pieces_of(static_cast<std::size_t>(Threads * rows)), rows, kind);
        }
      }
    }
  }
};

template <class Shape>
class partition_pass : public ::testing::Test
{};

// Keys alone with as many threads as buckets, values with more; any order is for keys alone.
using shapes =
  ::testing::Types<shape<block::no_values, 256, 8, true, false>,
                   shape<std::uint32_t, 384, 5, true, false>,
                   shape<block::no_values, 256, 8, false, false>,
                   shape<block::no_values, 384, 24, false, false>,
                   shape<block::no_values, 384, 24, true, true>,
                   shape<std::uint32_t, 256, 8, true, true>,
                   shape<block::no_values, 384, 24, false, true>>;
TYPED_TEST_SUITE(partition_pass, shapes, );

TYPED_TEST(partition_pass, OneSegmentBehindTheBeginning)
{
  TypeParam::check_all([](std::size_t tile) { return std::vector<piece>{{5, 4 * tile + 1}}; });
}

TYPED_TEST(partition_pass, AdjacentSegmentsOfSizesAroundATile)
{
  TypeParam::check_all([](std::size_t tile) {
    return std::vector<piece>{
      {0, 1}, {0, tile - 1}, {0, tile}, {0, tile + 1}, {0, 1}, {0, 5 * tile + 7}, {0, 2 * tile}, {0, 2}};
  });
}

TYPED_TEST(partition_pass, SegmentsWithGapsBetween)
{
  TypeParam::check_all([](std::size_t tile) {
    return std::vector<piece>{
      {3, tile + 1}, {1, 1}, {tile, 3 * tile}, {5, 2}, {2, tile - 1}, {31, tile}, {2 * tile + 1, 2 * tile - 1}};
  });
}

TYPED_TEST(partition_pass, ALongChainBetweenShortOnes)
{
  TypeParam::check_all([](std::size_t tile) {
    return std::vector<piece>{{0, 7}, {0, 2 * tile + 3}, {0, 30 * tile + 11}, {4, tile}};
  });
}

TYPED_TEST(partition_pass, ManySegments)
{
  TypeParam::check_all([](std::size_t tile) {
    std::mt19937 random(7);
    std::vector<piece> pieces(75);
    for (piece& p : pieces)
    {
      p.gap  = random() % 4;
      p.size = random() % 3 == 0 ? 1 + random() % 3 : 1 + random() % (2 * tile + tile / 2);
    }
    return pieces;
  });
}

TYPED_TEST(partition_pass, SegmentsOfOneElement)
{
  TypeParam::check_all([](std::size_t) { return std::vector<piece>(300, piece{0, 1}); });
}

} // namespace
} // namespace gpusort::testing
