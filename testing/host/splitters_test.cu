// What of the hybrid sort's splitting can be called on the host: the numbering of splitters, the sample's places, the plan.
#include <gpusort/block/splitters.cuh>
#include <gpusort/hybrid/device.cuh>
#include <gpusort/hybrid/tuning.h>
#include <gpusort/quicksort/kernels.cuh>
#include <gpusort/runtime/launch.cuh>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpusort::hybrid
{
namespace
{

TEST(SplitterTree, NodesAndSplittersAreEachOthersNumber)
{
  for (int log2 = 1; log2 <= most_log2; ++log2)
  {
    std::vector<bool> met(std::size_t{1} << log2);
    for (unsigned node = 1; node < 1u << log2; ++node)
    {
      unsigned const splitter = splitter_at(node, log2);
      ASSERT_LT(splitter, (1u << log2) - 1);
      EXPECT_EQ(node_of(splitter, log2), node);
      EXPECT_FALSE(met[splitter]);
      met[splitter] = true;
    }
  }
}

TEST(SplitterTree, ASearchEndsBehindTheSplittersThatItPassed)
{
  for (int log2 = 1; log2 <= most_log2; ++log2)
  {
    // Splitter s is the number s; the key k + 1/2 is behind splitters 0 to k.
    for (unsigned key = 0; key < 1u << log2; ++key)
    {
      unsigned node = 1;
      for (int level = 0; level < log2; ++level)
      {
        node = 2 * node + (splitter_at(node, log2) < key ? 1 : 0);
      }
      EXPECT_EQ(node - (1u << log2), key);
    }
  }
}

TEST(Sample, HasOnePlaceOfEachPart)
{
  for (std::uint64_t const stride : {1u, 2u, 7u, 1000u, 4'000'000'000u})
  {
    for (std::uint64_t i = 0; i < 6000; ++i)
    {
      EXPECT_EQ(sampled_place(i, stride) / stride, i);
    }
  }
}

struct any_order
{
  template <class Key>
  __device__ bool operator()(Key const&, Key const&) const
  {
    return false;
  }
};

template <class Key, class Value>
void check_plan(std::size_t n)
{
  using plan = device::plan<Key, Value, any_order>;
  SCOPED_TRACE(n);
  if (n <= plan::most)
  {
    return;
  }
  plan const p(n);
  ASSERT_TRUE(p.depth.levels >= 1 && p.depth.levels <= most_levels);
  std::size_t segments = 1;
  for (int number = 0; number < p.depth.levels; ++number)
  {
    EXPECT_GE(p.depth.log2[number], 2);
    EXPECT_LE(p.depth.log2[number], most_log2);
    EXPECT_EQ(p.levels[number].segments, segments);
    // The tiles of every segment begin where no other's are, wherever the segment begins.
    EXPECT_GE(p.levels[number].tiles, (n - 1) / static_cast<std::size_t>(p.tile) + segments);
    EXPECT_GE(p.levels[number].groups, (p.levels[number].tiles - 1) / tiles_of_group + segments);
    segments <<= p.depth.log2[number];
  }
  // Even buckets leave room for what chance adds, in blocks that sort them by value, if they can.
  EXPECT_LE(n / segments, plan::most_by_value * 3 / 5);
}

TEST(Plan, HasRoomForAllBuckets)
{
  for (int log2 = 1; log2 < 36; ++log2)
  {
    for (int off = -1; off <= 1; ++off)
    {
      std::size_t const n = (std::size_t{1} << log2) + static_cast<std::size_t>(off);
      check_plan<std::uint8_t, block::no_values>(n);
      check_plan<std::uint32_t, block::no_values>(n);
      check_plan<std::uint32_t, std::uint32_t>(n);
      check_plan<std::uint64_t, std::uint64_t>(n);
      check_plan<uint4, std::uint32_t>(n);
    }
  }
}

TEST(Plan, ScratchIsOneAlternateBufferAndThreeInAHundred)
{
  for (int log2 = 20; log2 < 32; ++log2)
  {
    for (std::size_t const n : {std::size_t{1} << log2, (std::size_t{5} << log2) / 4, (std::size_t{3} << log2) / 2})
    {
      SCOPED_TRACE(n);
      auto const most = [n](std::size_t element) { return n * element * 103 / 100; };
      EXPECT_LE((device::scratch_bytes<std::uint32_t, block::no_values, any_order>(n)), most(4));
      EXPECT_LE((device::scratch_bytes<std::uint32_t, std::uint32_t, any_order>(n)), most(8));
      EXPECT_LE((device::scratch_bytes<std::uint64_t, block::no_values, any_order>(n)), most(8));
      EXPECT_LE((device::scratch_bytes<std::uint64_t, std::uint64_t, any_order>(n)), most(16));
      EXPECT_LE((device::scratch_bytes<uint4, block::no_values, any_order>(n)), most(16));
    }
  }
}

template <std::size_t Bytes, std::size_t Alignment = (Bytes < 16 ? Bytes : 16)>
struct alignas(Alignment) element
{
  unsigned char bytes[Bytes];
};

template <class Key, class Value>
constexpr bool fits_every_device()
{
  return sizeof(choice_storage<Key, any_order>) <= runtime::least_shared_bytes
      && sizeof(order_storage<Key, Value, any_order>) <= runtime::least_shared_bytes
      && sizeof(sort_storage<Key, Value, any_order>) <= runtime::least_shared_bytes
      && sizeof(leftover_storage<Key, Value, any_order>) <= runtime::least_shared_bytes
      && sizeof(quick::segment_storage<Key, Value, any_order>) <= runtime::least_shared_bytes;
}

template <class Key>
constexpr bool fits_with_all_values()
{
  return fits_every_device<Key, block::no_values>() && fits_every_device<Key, element<1>>()
      && fits_every_device<Key, element<4>>() && fits_every_device<Key, element<8>>()
      && fits_every_device<Key, element<16>>();
}

static_assert(fits_with_all_values<element<1>>() && fits_with_all_values<element<2>>());
static_assert(fits_with_all_values<element<4>>() && fits_with_all_values<element<8>>());
static_assert(fits_with_all_values<element<16>>() && fits_with_all_values<element<32>>());
static_assert(fits_with_all_values<element<64>>() && fits_with_all_values<element<96>>());
// With gaps between them.
static_assert(fits_with_all_values<element<32, 8>>() && fits_with_all_values<element<32, 1>>());
static_assert(fits_with_all_values<element<64, 8>>() && fits_with_all_values<element<64, 1>>());
static_assert(fits_with_all_values<element<96, 8>>() && fits_with_all_values<element<96, 1>>());
static_assert(block::staged_stride<element<64, 8>> == 72 && block::staged_stride<element<64, 1>> == 68);
static_assert(block::staged_stride<element<64>> == 64 && block::staged_stride<element<33, 1>> == 33);
static_assert(block::staged_stride<element<16, 4>> == 16 && block::staged_stride<element<36, 4>> == 36);

} // namespace
} // namespace gpusort::hybrid
