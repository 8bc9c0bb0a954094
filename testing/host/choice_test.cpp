// Which way an input is sorted by comparisons: where each begins, that all inputs have one, and that it can sort them.
#include <gpusort/merge/choice.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <ostream>
#include <vector>

namespace gpusort::merge
{
namespace
{

constexpr std::size_t all = ~std::size_t{0};

/// Numbers under a comparator that values may agree with, as hybrid sort has them.
constexpr input_kind numbers(std::size_t key_bytes, std::size_t value_bytes)
{
  input_kind of{key_bytes, value_bytes};
  of.most_in_block = most_in_block(block_class::many, key_bytes, value_bytes);
  of.least_in_wave = least_in_wave;
  of.most_in_wave  = radix::most_in_wave(key_bytes, value_bytes);
  of.has_cluster   = true;
  of.has_split     = true;
  return of;
}

/// What only the comparator can tell apart.
constexpr input_kind others(std::size_t key_bytes, std::size_t value_bytes)
{
  input_kind of{key_bytes, value_bytes};
  of.has_cluster = key_bytes <= 16;
  of.has_split   = true;
  return of;
}

constexpr input_kind records(std::size_t bytes)
{
  input_kind of    = others(bytes, 0);
  of.most_in_block = bytes <= 64 ? most_in_block(block_class::many, bytes, 0) : 0;
  if (bytes <= 16)
  {
    of.least_in_wave = least_records_in_wave;
    of.most_in_wave  = radix::most_in_wave(bytes, 0, true);
  }
  else
  {
    of.least_by_number = least_by_number_of(bytes);
  }
  return of;
}

constexpr input_kind unsplit(input_kind of)
{
  of.has_split = false;
  return of;
}

struct stretch
{
  way by;
  std::size_t last; // number of elements

  bool operator==(stretch const& other) const
  {
    return by == other.by && last == other.last;
  }
};

std::ostream& operator<<(std::ostream& out, stretch const& s)
{
  return out << "way " << static_cast<int>(s.by) << " up to " << s.last;
}

/// The ways of 2 elements and more, one after the other.
std::vector<stretch> ways_of(input_kind const& of)
{
  constexpr std::size_t most = most_for_many_ways + 2;
  std::vector<stretch> found;
  for (std::size_t n = 2; n <= most; ++n)
  {
    way const by = choice_for(n, of).rest;
    if (found.empty() || found.back().by != by)
    {
      found.push_back({by, n});
    }
    found.back().last = n;
  }
  found.back().last = all;
  return found;
}

TEST(Choice, WhereWaysBegin)
{
  using stretches = std::vector<stretch>;
  EXPECT_EQ(ways_of(numbers(4, 0)),
            (stretches{{way::few_in_block, 1024},
                       {way::many_in_block, 4608},
                       {way::in_cluster, 8192},
                       {way::many_ways, 17 << 16},
                       {way::split, all}}));
  EXPECT_EQ(ways_of(numbers(8, 8)),
            (stretches{{way::few_in_block, 1024},
                       {way::many_in_block, 2560},
                       {way::in_cluster, 8192},
                       {way::many_ways, 17 << 15},
                       {way::split, all}}));
  EXPECT_EQ(ways_of(others(16, 0)),
            (stretches{{way::one_tile, 2560}, {way::in_cluster, 8192}, {way::many_ways, 17 << 15}, {way::split, all}}));
  // Records that values may tell apart, and values that are wider than keys.
  EXPECT_EQ(ways_of(records(12)),
            (stretches{{way::few_in_block, 1024},
                       {way::many_in_block, 2560},
                       {way::in_cluster, 8192},
                       {way::many_ways, (17 << 19) / 12},
                       {way::split, all}}));
  EXPECT_EQ(ways_of(records(32)).at(0), (stretch{way::few_in_block, 1024}));
  EXPECT_EQ(ways_of(records(32)).at(1), (stretch{way::many_in_block, 2560}));
  EXPECT_EQ(ways_of(records(64)).at(0), (stretch{way::few_in_block, 512}));
  EXPECT_EQ(ways_of(records(64)).at(1), (stretch{way::many_in_block, 2048}));
  EXPECT_EQ(ways_of(numbers(8, 0)).at(1), (stretch{way::many_in_block, 4608}));
  EXPECT_EQ(ways_of(others(4, 32)).at(1), (stretch{way::in_cluster, 4096}));
  EXPECT_EQ(ways_of(unsplit(numbers(4, 4))),
            (stretches{{way::few_in_block, 1024},
                       {way::many_in_block, 2560},
                       {way::in_cluster, 8192},
                       {way::many_ways, 17 << 16},
                       {way::few_ways, all}}));
}

// Blocks hold few samples of wide elements, and are as many as can be merged before a split is worth it.
TEST(Choice, WideElements)
{
  for (std::size_t const bytes : {24, 32, 64, 96})
  {
    std::vector<stretch> const found = ways_of(others(bytes, 0));
    ASSERT_EQ(found.size(), 3u) << bytes;
    EXPECT_EQ(found[0].by, way::one_tile);
    EXPECT_EQ(found[1].by, way::many_ways);
    EXPECT_EQ(found[2].by, way::split);
    EXPECT_FALSE(is_worth_splitting(found[1].last, bytes));
    EXPECT_TRUE(is_worth_splitting(found[1].last + 1, bytes)
                || !many_way_plan_of(found[1].last + 1, bytes, 0).is_possible);
  }
}

// What a device has no room for is as if there were no such way.
TEST(Choice, LessRoom)
{
  input_kind of    = numbers(8, 0);
  of.most_in_block = most_in_block(block_class::few, 8, 0);
  EXPECT_EQ(choice_for(1024, of).rest, way::few_in_block);
  EXPECT_EQ(choice_for(1025, of).rest, way::one_tile);
  EXPECT_EQ(choice_for(8192, of).rest, way::in_cluster);
  // Scratch memory is that of the least room: what takes none there takes none anywhere.
  for (std::size_t n = 2; n <= 8192; ++n)
  {
    EXPECT_TRUE(choice_for(n, of).rest >= way::one_tile || choice_for(n, numbers(8, 0)).rest < way::one_tile) << n;
  }
  of.has_cluster = false;
  EXPECT_EQ(choice_for(8192, of).rest, way::many_ways);
}

TEST(Choice, WhatIsTriedFirst)
{
  input_kind const keys = numbers(4, 0);
  EXPECT_FALSE(choice_for(1 << 16, keys).in_wave);
  EXPECT_TRUE(choice_for((1 << 16) + 1, keys).in_wave);
  EXPECT_TRUE(choice_for(17 << 16, keys).in_wave);
  EXPECT_FALSE(choice_for((17 << 16) + 1, keys).in_wave);
  EXPECT_FALSE(choice_for(1 << 20, others(4, 0)).in_wave);
  EXPECT_EQ(choice_for(600'000, numbers(8, 8)).rest, way::split);
  EXPECT_TRUE(choice_for(600'000, numbers(8, 8)).in_wave);
  EXPECT_TRUE(choice_for(1 << 20, numbers(8, 8)).in_wave);
  EXPECT_FALSE(choice_for((1 << 20) + 1, numbers(8, 8)).in_wave);

  EXPECT_FALSE(choice_for((1 << 17) - 1, records(16)).in_wave);
  EXPECT_TRUE(choice_for(1 << 17, records(16)).in_wave);
  EXPECT_TRUE(choice_for(1 << 20, records(8)).in_wave);
  EXPECT_FALSE(choice_for((1 << 20) + 1, records(8)).in_wave);
  EXPECT_FALSE(choice_for(1 << 17, records(20)).in_wave);

  EXPECT_FALSE(choice_for((1 << 18) - 1, records(64)).by_number);
  EXPECT_TRUE(choice_for(1 << 18, records(64)).by_number);
  EXPECT_TRUE(choice_for(1 << 17, records(65)).by_number);
  EXPECT_FALSE(choice_for(std::size_t{1} << 40, others(64, 0)).by_number);
}

// Merge sort has the same ways as hybrid sort as far as that merges, and merges what is left a few at a time.
TEST(Choice, MergeSortNeverSplits)
{
  for (input_kind const& of : {numbers(4, 0), numbers(8, 8), others(16, 16), others(64, 0)})
  {
    for (std::size_t n = 2; n < std::size_t{1} << 40; n += n / 7 + 1)
    {
      way const split = choice_for(n, of).rest;
      way const whole = choice_for(n, unsplit(of)).rest;
      EXPECT_NE(split, way::few_ways) << n;
      EXPECT_NE(whole, way::split) << n;
      EXPECT_TRUE(split == way::split || split == whole) << n;
    }
  }
}

// Whatever a tile of this size is merged by can be done; no size goes back to an earlier way.
TEST(Choice, EveryInputHasAWay)
{
  for (std::size_t key_bytes = 1; key_bytes <= 96; ++key_bytes)
  {
    for (std::size_t const value_bytes : {0, 4, 8, 16, 64})
    {
      input_kind const of = others(key_bytes, value_bytes);
      way last            = way::few_in_block;
      for (std::size_t n = 2; n < std::size_t{1} << 33; n += n / 50 + 1)
      {
        SCOPED_TRACE(::testing::Message() << key_bytes << " and " << value_bytes << " bytes, n = " << n);
        way const by = choice_for(n, of).rest;
        ASSERT_GE(by, last);
        ASSERT_LE(by, way::split);
        last = by;
        if (by < way::split)
        {
          many_way_plan const merged = many_way_plan_of(n, key_bytes, value_bytes);
          ASSERT_TRUE(merged.is_possible);
          ASSERT_EQ(by == way::one_tile, merged.passes == 0);
          std::size_t const tile = tile_of(many_way_shape_for(key_bytes, value_bytes, input_class::tiny));
          ASSERT_TRUE(by != way::in_cluster || (n > tile && n <= tile * most_cluster_blocks));
        }
      }
    }
  }
}

} // namespace
} // namespace gpusort::merge
