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

template <class Value, int Threads, int Items>
using partition_of = block::partition<key, Value, hash_bucket, buckets, Threads, Items>;

template <class Value, int Threads, int Items>
__global__ void __launch_bounds__(Threads)
  move_tiles(block::partition_work work, key const* keys_in, key* keys_out, Value const* values_in, Value* values_out)
{
  using partition = partition_of<Value, Threads, Items>;
  extern __shared__ uint4 shared_words[];
  auto& shared = *reinterpret_cast<typename partition::shared_storage*>(shared_words);
  partition::move_tile(shared, hash_bucket{}, work, keys_in, keys_out, values_in, values_out);
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
  host_array<std::uint64_t> bucket_begin, bucket_next;

  expected_partition(layout_of_segments const& layout, std::vector<key> const& keys)
      : keys_in(layout.elements)
      , keys_out(layout.elements)
      , values_in(layout.elements)
      , values_out(layout.elements)
      , bucket_begin(layout.segments.size() * buckets)
      , bucket_next(layout.segments.size() * buckets)
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
      std::uint64_t* const next  = bucket_next.data() + s * buckets;
      std::exclusive_scan(counts.begin(), counts.end(), first, begin);
      std::copy(first, first + buckets, next);
      for (std::uint64_t i = begin; i < end; ++i)
      {
        std::uint64_t const to = next[hash_bucket{}(keys[i])]++;
        keys_out[to]           = keys[i];
        values_out[to]         = values_in[i];
      }
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
  last_bucket // where the places past the end of the input are counted, too
};

std::vector<key> keys_like(input kind, std::size_t n, std::mt19937& random)
{
  // Multiplying by the inverse of the hash's factor undoes it: these are keys of a chosen bucket.
  constexpr key inverse = 244002641u;
  static_assert(inverse * 2654435761u == 1u);
  std::vector<key> keys(n);
  for (key& k : keys)
  {
    key const any      = static_cast<key>(random());
    unsigned const few = any % 3 * 127; // buckets 0, 127 and 254
    k                  = kind == input::uniform     ? any
                       : kind == input::few_buckets ? ((few << 24) | (any >> 8)) * inverse
                                                    : ((255u << 24) | (any >> 8)) * inverse;
  }
  return keys;
}

/// Partitions pieces several times with the same look-back words, which only the first launch finds cleared.
template <class Value, int Threads, int Items>
void check(std::vector<piece> const& pieces, int rows, input kind)
{
  SCOPED_TRACE(
    ::testing::Message() << pieces.size() << " segments, " << rows << " rows, input " << static_cast<int>(kind));
  using partition            = partition_of<Value, Threads, Items>;
  constexpr bool with_values = partition::with_values;
  constexpr auto kernel      = &move_tiles<Value, Threads, Items>;
  int const tile             = Threads * rows;
  layout_of_segments const layout(pieces, static_cast<std::size_t>(tile));

  guarded_array<key> keys_in(layout.elements), keys_out(layout.elements);
  guarded_array<std::uint32_t> values_in(layout.elements), values_out(layout.elements);
  guarded_array<std::uint64_t> bucket_begin(layout.segments.size() * buckets);
  guarded_array<std::uint64_t> bucket_next(layout.segments.size() * buckets);
  guarded_array<block::segment> segments(layout.segments.size());
  guarded_array<std::uint32_t> status(std::size_t{layout.tiles} * buckets), ticket(1);
  segments.load(layout.segments.data(), layout.segments.size());
  status.load(filled(std::size_t{layout.tiles} * buckets, 0u));

  constexpr int shared_bytes = static_cast<int>(sizeof(typename partition::shared_storage));
  require(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes), "shared memory");

  std::mt19937 random(2026);
  for (int launch = 0; launch < 4; ++launch)
  {
    SCOPED_TRACE(::testing::Message() << "launch " << launch);
    // The first two of them say where they have come to.
    bool const goes_on           = launch < 2;
    std::uint64_t const no_place = ~std::uint64_t{0};
    expected_partition const e(layout, keys_like(kind, layout.elements, random));
    keys_in.load(e.keys_in);
    keys_out.load(filled(layout.elements, expected_partition::untouched));
    values_in.load(e.values_in);
    values_out.load(filled(layout.elements, expected_partition::untouched));
    bucket_begin.load(e.bucket_begin);
    bucket_next.load(filled(e.bucket_next.size(), no_place));
    ticket.load(filled(1, 0u));

    block::partition_work work{};
    work.segments      = segments.begin();
    work.segment_count = static_cast<std::uint32_t>(layout.segments.size());
    work.bucket_begin  = bucket_begin.begin();
    work.bucket_next   = goes_on ? bucket_next.begin() : nullptr;
    work.status        = status.begin();
    work.ticket        = ticket.begin();
    work.epoch         = launch % 2;
    work.tile          = tile;
    if constexpr (with_values)
    {
      kernel<<<layout.tiles, Threads, shared_bytes>>>(
        work, keys_in.begin(), keys_out.begin(), values_in.begin(), values_out.begin());
    }
    else
    {
      kernel<<<layout.tiles, Threads, shared_bytes>>>(work, keys_in.begin(), keys_out.begin(), nullptr, nullptr);
    }
    require(cudaGetLastError(), "launch of the partition");
    require(cudaDeviceSynchronize(), "partition");

    EXPECT_TRUE(keys_out.holds(e.keys_out));
    EXPECT_TRUE(values_out.holds(with_values ? e.values_out : filled(layout.elements, expected_partition::untouched)));
    EXPECT_TRUE(bucket_next.holds(goes_on ? e.bucket_next : filled(e.bucket_next.size(), no_place)));
    EXPECT_TRUE(keys_in.holds(e.keys_in));
    EXPECT_TRUE(values_in.holds(e.values_in));
    EXPECT_TRUE(bucket_begin.holds(e.bucket_begin));
    EXPECT_TRUE(ticket.holds(filled(1, static_cast<std::uint32_t>(layout.tiles))));
    EXPECT_TRUE(status.holds(status.read())) << "beyond the look-back words";
    if (::testing::Test::HasFailure())
    {
      return;
    }
  }
}

/// The kind of block that partitions.
template <class Value, int Threads, int Items>
struct shape
{
  /// Makes segments for tiles of different numbers of rows, and partitions them.
  template <class Pieces>
  static void check_all(Pieces pieces_of)
  {
    bool const in_a_hurry = std::getenv("GPUSORT_TEST_STEP") != nullptr; // under a sanitizer everything takes long
    for (int const rows : {Items, 1, Items / 2})
    {
      for (input const kind : {input::uniform, input::few_buckets, input::last_bucket})
      {
        if (!in_a_hurry || rows == Items || kind == input::uniform)
        {
          check<Value, Threads, Items>(pieces_of(static_cast<std::size_t>(Threads * rows)), rows, kind);
        }
      }
    }
  }
};

template <class Shape>
class partition_pass : public ::testing::Test
{};

// Keys alone with as many threads as buckets, values with more.
using shapes = ::testing::Types<shape<block::no_values, 256, 8>, shape<std::uint32_t, 384, 5>>;
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
