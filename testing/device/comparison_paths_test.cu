// The ways through the sorts by comparisons. Hybrid sort and quicksort: one block, one level of buckets and two, buckets of
// equals, buckets that are too large. Merge sort: one block, a cluster, runs merged many at once in one pass and more, and
// few at a time; where two runs are cut.
#include <testing/support/cases.h>
#include <testing/support/device_memory.cuh>
#include <testing/support/splitting.cuh>

#include <gpusort/block/merge.cuh>
#include <gpusort/hybrid/device.cuh>
#include <gpusort/hybrid/guesses.cuh>
#include <gpusort/hybrid/tuning.h>
#include <gpusort/merge/choice.h>
#include <gpusort/merge/device.cuh>
#include <gpusort/merge/tuning.h>
#include <gpusort/sort.h>
#include <gpusort/workspace.h>
#include <gtest/gtest.h>
#include <thrust/copy.h>
#include <thrust/device_vector.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

namespace
{

namespace hybrid = gpusort::hybrid;
namespace merge  = gpusort::merge;
using gpusort::testing::guarded_array;
using gpusort::testing::in_a_hurry;
using gpusort::testing::mixed;

using gpusort::testing::most_in_block;
using gpusort::testing::quick_split;
using gpusort::testing::split;

struct less_than
{
  template <class Key>
  __host__ __device__ bool operator()(Key const& a, Key const& b) const
  {
    return a < b;
  }

  /// The key that is as many places behind 0 as `rank` says.
  template <class Key>
  static Key key_of(Key rank)
  {
    return rank;
  }
};

/// The halves of a word change places: not the order of values, so that blocks merge.
struct by_halves
{
  __host__ __device__ bool operator()(std::uint32_t a, std::uint32_t b) const
  {
    return key_of(a) < key_of(b);
  }

  __host__ __device__ static std::uint32_t key_of(std::uint32_t rank)
  {
    return rank << 16 | rank >> 16;
  }
};

/// Only the lowest byte counts: most elements are equivalent to others.
struct by_lowest_byte
{
  template <class Key>
  __host__ __device__ bool operator()(Key const& a, Key const& b) const
  {
    return (a & 0xff) < (b & 0xff);
  }
};

/// The keys of a range, after a sort that carried their positions: they have to be those that came in, each beside its own.
template <class Key, class Value>
std::vector<Key>
keys_of(guarded_array<Key> const& keys, guarded_array<Value> const& values, std::vector<Key> const& input)
{
  std::size_t const n = input.size();
  std::vector<Key> out(n);
  std::vector<Value> from(n);
  gpusort::testing::require(cudaMemcpy(out.data(), keys.begin(), n * sizeof(Key), cudaMemcpyDeviceToHost), "keys");
  gpusort::testing::require(cudaMemcpy(from.data(), values.begin(), n * sizeof(Value), cudaMemcpyDeviceToHost),
                            "values");
  EXPECT_TRUE(keys.holds(out.data()) && values.holds(from.data()));
  std::vector<bool> met(n);
  for (std::size_t i = 0; i < n; ++i)
  {
    auto const position = static_cast<std::size_t>(from[i]);
    if (position >= n || met[position] || out[i] != input[position])
    {
      ADD_FAILURE() << "element " << i << " is none that came in, or one a second time";
      break;
    }
    met[position] = true;
  }
  return out;
}

/// Calls `sort` with what splits, in order or in any, if one block does not hold the n elements, and with what merges otherwise.
template <class Key, class Value, class Sort>
void with_split(std::size_t n, Sort sort)
{
  if (n > most_in_block<Key, Value>)
  {
    sort(split(thrust::device));
  }
  else
  {
    sort(gpusort::hybrid_sort(thrust::device));
  }
}
template <class Key, class Value, class Sort>
void with_quick_split(std::size_t n, Sort sort)
{
  if (n > most_in_block<Key, Value>)
  {
    sort(quick_split(thrust::device));
  }
  else
  {
    sort(gpusort::quicksort(thrust::device));
  }
}

/// Sorts keys alone and with their positions as values, and compares with the C++ library's stable sort; what quicksort
/// makes of equivalent keys is not said.
template <class Value, class Key, class Compare>
void check(std::vector<Key> const& keys, Compare comp)
{
  std::size_t const n = keys.size();
  gpusort::testing::stable_result<Key, Value> const expected(keys, comp);
  guarded_array<Key> room(n);
  guarded_array<Value> values(n);
  auto const alone = [&](auto algorithm) {
    Key* const first = room.load(keys.data(), n, 1);
    gpusort::stable_sort(algorithm, first, first + n, comp);
    EXPECT_TRUE(room.holds(expected.keys.data())) << "keys alone";
  };
  auto const with_values = [&](auto algorithm) {
    Key* const first     = room.load(keys.data(), n, 3);
    Value* const carried = values.load(expected.positions.data(), n, 1);
    gpusort::stable_sort_by_key(algorithm, first, first + n, carried, comp);
    EXPECT_TRUE(room.holds(expected.keys.data())) << "keys with values";
    EXPECT_TRUE(values.holds(expected.sorted_positions.data())) << "values";
  };
  {
    SCOPED_TRACE("hybrid_sort");
    with_split<Key, gpusort::block::no_values>(n, alone);
    with_split<Key, Value>(n, with_values);
  }
  {
    SCOPED_TRACE("merge_sort");
    alone(gpusort::merge_sort(thrust::device));
    with_values(gpusort::merge_sort(thrust::device));
  }

  Key* first            = room.load(keys.data(), n, 1);
  Value* const by_quick = values.load(expected.positions.data(), n, 3);
  with_quick_split<Key, Value>(n, [&](auto algorithm) {
    gpusort::sort_by_key(algorithm, first, first + n, by_quick, comp);
  });
  std::vector<Key> out = keys_of(room, values, keys);
  EXPECT_TRUE(std::is_sorted(out.begin(), out.end(), comp)) << "quicksort with values";
  first = room.load(keys.data(), n, 3);
  with_quick_split<Key, gpusort::block::no_values>(n, [&](auto algorithm) {
    gpusort::sort(algorithm, first, first + n, comp);
  });
  gpusort::testing::require(cudaMemcpy(out.data(), first, n * sizeof(Key), cudaMemcpyDeviceToHost), "keys");
  EXPECT_TRUE(std::is_sorted(out.begin(), out.end(), comp)) << "quicksort";
  std::sort(out.begin(), out.end());
  std::vector<Key> sorted = expected.keys;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_TRUE(out == sorted) << "quicksort: other keys";
}

/// What a block of a class sorts, and the largest input of such blocks that is merged in one pass.
template <class Key, class Value, merge::input_class Class>
constexpr merge::many_way_shape shape_of_class = merge::many_way_traits<Key, Value, Class>::shape;
template <class Key, class Value, merge::input_class Class = merge::input_class::small>
constexpr std::size_t most_in_tile = merge::tile_of(shape_of_class<Key, Value, Class>);
template <class Key, class Value, merge::input_class Class = merge::input_class::small>
constexpr std::size_t most_in_one_pass =
  most_in_tile<Key, Value, Class> * merge::most_ways(shape_of_class<Key, Value, Class>);

/// What one block takes, the least that is split, a few buckets, many, and two levels; of merge sort, one tile of either class, what
/// a cluster has, in blocks that all have something and in others, one pass of either class and two, and few runs at a time. In a hurry
/// few, and two levels of the usual width only if asked for: ManyLevels has narrow ones.
template <class Key, class Value>
std::vector<std::size_t> sizes(bool with_two_levels = false)
{
  constexpr std::size_t alone = most_in_block<Key, gpusort::block::no_values>;
  constexpr std::size_t with  = most_in_block<Key, Value>;
  constexpr auto one_pass     = most_in_one_pass<Key, Value>;
  if (in_a_hurry())
  {
    return {with + 1, 5 * alone, one_pass + 1, sizeof(Key) == 4 && with_two_levels ? 160 * alone : 7 * alone};
  }
  constexpr auto tile         = most_in_tile<Key, Value>;
  constexpr auto tiny         = most_in_tile<Key, Value, merge::input_class::tiny>;
  constexpr auto of_cluster   = tiny * merge::most_cluster_blocks;
  constexpr auto of_tiny_pass = most_in_one_pass<Key, Value, merge::input_class::tiny>;
  return {
    2,
    33,
    tiny - 1,
    tiny,
    tiny + 1,
    with - 1,
    with,
    with + 1,
    alone - 1,
    alone,
    alone + 1,
    3 * alone,
    tile - 1,
    tile,
    tile + 1,
    3 * tiny + 1,
    4 * tiny,
    4 * tiny + 1,
    of_cluster - tiny,
    of_cluster,
    of_cluster + 1,
    of_tiny_pass,
    of_tiny_pass + 1,
    100'003,
    one_pass - 1,
    one_pass,
    one_pass + 1,
    merge::most_for_many_ways,
    merge::most_for_many_ways + 1,
    130 * alone,
    160 * alone};
}

template <class Params, class Make>
void check_all_sizes(Make make, bool with_two_levels = false)
{
  using key   = typename Params::key;
  using value = typename Params::value;
  using order = typename Params::order;
  for (std::size_t const n : sizes<key, value>(with_two_levels))
  {
    SCOPED_TRACE(n);
    std::vector<key> keys(n);
    for (std::size_t i = 0; i < n; ++i)
    {
      keys[i] = order::key_of(static_cast<key>(make(i, n)));
    }
    check<value>(keys, order{});
    if (::testing::Test::HasFailure())
    {
      return;
    }
  }
}

template <class Pair>
class ComparisonPaths : public ::testing::Test
{};

template <class Key, class Value, class Order>
struct pair_of
{
  using key   = Key;
  using value = Value;
  using order = Order;
};

using pairs = ::testing::Types<pair_of<std::uint32_t, std::uint32_t, by_halves>,
                               pair_of<std::uint64_t, std::uint64_t, less_than>,
                               pair_of<unsigned __int128, std::uint32_t, less_than>>;
TYPED_TEST_SUITE(ComparisonPaths, pairs);

TYPED_TEST(ComparisonPaths, Uniform)
{
  check_all_sizes<TypeParam>([](std::size_t i, std::size_t) { return mixed(i); }, true);
}

TYPED_TEST(ComparisonPaths, SortedAndReversed)
{
  check_all_sizes<TypeParam>([](std::size_t i, std::size_t) { return i; });
  check_all_sizes<TypeParam>([](std::size_t i, std::size_t n) { return (n - i) / 3; });
}

TYPED_TEST(ComparisonPaths, AllSamplesEqual)
{
  check_all_sizes<TypeParam>([](std::size_t, std::size_t) { return 5; });
  // All but one, at either end.
  check_all_sizes<TypeParam>([](std::size_t i, std::size_t n) { return i == n / 2 ? 4 : 5; });
  check_all_sizes<TypeParam>([](std::size_t i, std::size_t n) { return i == n / 2 ? 6 : 5; });
}

TYPED_TEST(ComparisonPaths, FewValues)
{
  for (std::uint64_t const values : {2, 7, 300})
  {
    SCOPED_TRACE(values);
    check_all_sizes<TypeParam>([=](std::size_t i, std::size_t) { return mixed(i) % values; });
  }
}

// Most keys are one, and the others so rare that what lies between two splitters comes from more tiles of the first level than a block lists at once.
TYPED_TEST(ComparisonPaths, RareAmongMillionsAlike)
{
  using order = typename TypeParam::order;
  std::vector<typename TypeParam::key> keys(std::size_t{1} << 22);
  for (std::size_t i = 0; i < keys.size(); ++i)
  {
    keys[i] = order::key_of(static_cast<typename TypeParam::key>(mixed(i) % 1000 == 0 ? mixed(~i) : 0));
  }
  check<typename TypeParam::value>(keys, order{});
}

// Every run of a merge sort has the same keys, or each has its own, or each end of a run meets the middle of the next.
TYPED_TEST(ComparisonPaths, RunsThatAreAlikeAndRunsThatAreNot)
{
  struct tile
  {
    static std::size_t of(std::size_t n)
    {
      using gpusort::block::value_bytes_v;
      return merge::many_way_plan_of(n, sizeof(typename TypeParam::key), value_bytes_v<typename TypeParam::value>).tile;
    }
  };
  check_all_sizes<TypeParam>([](std::size_t i, std::size_t n) { return mixed(i % tile::of(n)); });
  check_all_sizes<TypeParam>([](std::size_t i, std::size_t n) {
    std::size_t const all = tile::of(n);
    return (n - i) / all * all + mixed(i) % all;
  });
  check_all_sizes<TypeParam>([](std::size_t i, std::size_t n) {
    std::size_t const all = tile::of(n);
    return i / all * (all / 2) + i % all;
  });
  check_all_sizes<TypeParam>([](std::size_t i, std::size_t n) { return i < n / 2 ? i : n - i; });
}

TYPED_TEST(ComparisonPaths, HalfOfOneValue)
{
  check_all_sizes<TypeParam>([](std::size_t i, std::size_t) { return mixed(i) % 2 == 0 ? 1'000'000'007u : mixed(~i); });
}

// Half of what is in any part of the range lies so close together that no bins of equal width tell it apart, and is not alike.
TYPED_TEST(ComparisonPaths, HalfCloseTogether)
{
  constexpr int bits = sizeof(typename TypeParam::key) == 4 ? 32 : 64;
  check_all_sizes<TypeParam>(
    [](std::size_t i, std::size_t) {
      std::uint64_t const any   = mixed(i);
      std::uint64_t const part  = any % 1021 << (bits - 10);
      std::uint64_t const below = any >> 32;
      return part + (any >> 20 & 1 ? below & 15 : (below << (bits - 32)) % (std::uint64_t{1} << (bits - 10)));
    },
    true);
}

/// Keys of which the sample of a first level sees only what is spread evenly, and of which all others lie between two samples.
template <class Key, class Form = hybrid::stable_form>
std::vector<Key> misleading(std::size_t n, std::uint64_t others = 1'000'000)
{
  std::vector<Key> keys(n);
  for (std::size_t i = 0; i < n; ++i)
  {
    keys[i] = static_cast<Key>(0x8000'0000u + mixed(i) % others);
  }
  using none = gpusort::block::no_values;
  if (n <= most_in_block<Key, none>)
  {
    return keys;
  }
  std::size_t const samples   = gpusort::testing::sampled_of<Key, none, less_than, Form>(n);
  std::size_t const stride    = n / samples;
  std::uint64_t const spacing = 0xffff'ffffu / samples;
  for (std::size_t i = 0; i < samples; ++i)
  {
    keys[hybrid::sampled_place(i, stride)] = static_cast<Key>(i * spacing);
  }
  return keys;
}

TYPED_TEST(ComparisonPaths, ASampleThatMisleads)
{
  using key          = typename TypeParam::key;
  using value        = typename TypeParam::value;
  using order        = typename TypeParam::order;
  auto const to_keys = [](std::vector<key> ranks) {
    std::transform(ranks.begin(), ranks.end(), ranks.begin(), [](key rank) { return order::key_of(rank); });
    return ranks;
  };
  for (std::size_t const n : sizes<key, value>())
  {
    SCOPED_TRACE(n);
    check<value>(to_keys(misleading<key>(n)), order{});
  }
  // What one block partitions, with many equivalent keys in it.
  for (std::size_t const n : {2 * most_in_block<key, value>, 3 * most_in_block<key, gpusort::block::no_values>})
  {
    for (std::uint64_t const others : {1, 2, 5, 100})
    {
      SCOPED_TRACE(::testing::Message() << n << ", all but the sample of " << others << " values");
      check<value>(to_keys(misleading<key>(n, others)), order{});
    }
  }
}

/// The least n that is split in so many levels of up to eight buckets, and half as many more.
template <class Key, class Value, class Compare>
std::size_t size_of_levels(int levels)
{
  using plan    = typename hybrid::sample_sort<gpusort::testing::deep_form>::template plan<Key, Value, Compare>;
  std::size_t n = hybrid::largest_bucket_size_for(plan::most_by_value) << (3 * (levels - 1));
  n += n / 2;
  EXPECT_EQ(plan(n).depth.levels, levels);
  return n;
}

// Inputs that take three levels or four of the usual width are too large for most tests.
TYPED_TEST(ComparisonPaths, ManyLevels)
{
  using key         = typename TypeParam::key;
  using value       = typename TypeParam::value;
  using order       = typename TypeParam::order;
  using none        = gpusort::block::no_values;
  auto const deeply = [](std::vector<key> keys, bool with_values) {
    std::size_t const n = keys.size();
    std::transform(keys.begin(), keys.end(), keys.begin(), [](key rank) { return order::key_of(rank); });
    gpusort::testing::stable_result<key, value> const expected(keys, order{});
    guarded_array<key> room(n);
    guarded_array<value> values(n);
    key* first = room.load(keys.data(), n, 1);
    if (with_values)
    {
      value* const carried = values.load(expected.positions.data(), n, 3);
      gpusort::stable_sort_by_key(gpusort::testing::deep_split(thrust::device), first, first + n, carried, order{});
      EXPECT_TRUE(room.holds(expected.keys.data())) << "keys with values";
      EXPECT_TRUE(values.holds(expected.sorted_positions.data())) << "values";
      return;
    }
    gpusort::stable_sort(gpusort::testing::deep_split(thrust::device), first, first + n, order{});
    EXPECT_TRUE(room.holds(expected.keys.data())) << "keys alone";
    first = room.load(keys.data(), n, 3);
    gpusort::sort(gpusort::testing::deep_quick_split(thrust::device), first, first + n, order{});
    EXPECT_TRUE(room.holds(expected.keys.data())) << "quicksort"; // equivalent keys are equal here
  };
  for (int levels = 2; levels <= (in_a_hurry() ? 3 : hybrid::most_levels); ++levels)
  {
    SCOPED_TRACE(levels);
    for (bool const with_values : {false, true})
    {
      std::size_t const n =
        with_values ? size_of_levels<key, value, order>(levels) : size_of_levels<key, none, order>(levels);
      std::vector<key> keys(n);
      for (std::uint64_t const distinct : {~std::uint64_t{0}, std::uint64_t{300}})
      {
        for (std::size_t i = 0; i < n; ++i)
        {
          keys[i] = static_cast<key>(mixed(i) % distinct);
        }
        deeply(keys, with_values);
      }
      deeply(misleading<key, gpusort::testing::deep_form>(n), with_values);
    }
  }
}

TEST(ComparisonPathsOfWords, StableWithManyEquivalents)
{
  for (std::size_t const n : sizes<std::uint32_t, std::uint32_t>())
  {
    SCOPED_TRACE(n);
    std::vector<std::uint32_t> keys(n);
    for (std::size_t i = 0; i < n; ++i)
    {
      keys[i] = static_cast<std::uint32_t>(mixed(i));
    }
    check<std::uint32_t>(keys, by_lowest_byte{});
  }
}

/// Answers at random, and not the same twice.
struct coin
{
  __device__ bool operator()(std::uint32_t a, std::uint32_t b) const
  {
    auto const now = static_cast<std::uint32_t>(clock64());
    return (((a ^ b ^ now) * 0x9e3779b9u) >> 31) != 0;
  }
};
struct not_greater
{
  __device__ bool operator()(std::uint32_t a, std::uint32_t b) const
  {
    return a <= b;
  }
};
struct always
{
  __device__ bool operator()(std::uint32_t, std::uint32_t) const
  {
    return true;
  }
};

/// Honest about what a sample meets, and a liar among the keys that all come to one bucket: two of them come one before the
/// other, and so do those of any circle.
struct liar_in_one_bucket
{
  __device__ static bool is_in_bucket(std::uint32_t key)
  {
    return key - 0x8000'0000u < 1'000'000;
  }
  __device__ bool operator()(std::uint32_t a, std::uint32_t b) const
  {
    return is_in_bucket(a) && is_in_bucket(b) ? ((a - b) * 0x9e3779b1u) >> 31 != 0 : a < b;
  }
};

/// The elements are those that came in, each value beside its key, and the guards are whole.
template <class Compare>
void check_liar(std::vector<std::uint32_t> const& keys)
{
  std::size_t const n = keys.size();
  SCOPED_TRACE(n);
  std::vector<std::uint32_t> positions(n);
  std::iota(positions.begin(), positions.end(), 0u);
  guarded_array<std::uint32_t> room(n), values(n);
  auto const with_values = [&](auto algorithm) {
    std::uint32_t* const first   = room.load(keys.data(), n, 1);
    std::uint32_t* const carried = values.load(positions.data(), n, 1);
    gpusort::sort_by_key(algorithm, first, first + n, carried, Compare{});
    keys_of(room, values, keys);
  };
  auto const alone = [&](auto algorithm) {
    std::uint32_t* const first = room.load(keys.data(), n, 1);
    gpusort::sort(algorithm, first, first + n, Compare{});
    std::vector<std::uint32_t> out(n), in = keys;
    gpusort::testing::require(cudaMemcpy(out.data(), first, n * sizeof(out[0]), cudaMemcpyDeviceToHost), "keys");
    EXPECT_TRUE(room.holds(out.data()));
    std::sort(out.begin(), out.end());
    std::sort(in.begin(), in.end());
    EXPECT_TRUE(out == in) << "other keys";
  };
  with_split<std::uint32_t, std::uint32_t>(n, with_values);
  with_split<std::uint32_t, gpusort::block::no_values>(n, alone);
  with_quick_split<std::uint32_t, std::uint32_t>(n, with_values);
  with_quick_split<std::uint32_t, gpusort::block::no_values>(n, alone);
  with_values(gpusort::merge_sort(thrust::device));
  alone(gpusort::merge_sort(thrust::device));
}

TEST(ComparisonPathsOfWords, ComparatorsThatLie)
{
  for (std::size_t const n : sizes<std::uint32_t, std::uint32_t>())
  {
    std::vector<std::uint32_t> keys(n);
    for (std::size_t i = 0; i < n; ++i)
    {
      keys[i] = static_cast<std::uint32_t>(mixed(i));
    }
    check_liar<coin>(keys);
    check_liar<not_greater>(keys);
    check_liar<always>(keys);
  }
  // What is left over is merged in passes, of which any may be the first to find out.
  constexpr std::size_t tile = most_in_block<std::uint32_t, gpusort::block::no_values>;
  for (std::size_t const n : {2 * tile, 3 * tile, 5 * tile, 12 * tile, 40 * tile, 90 * tile, 160 * tile, 300 * tile})
  {
    check_liar<liar_in_one_bucket>(misleading<std::uint32_t>(n));
  }
}

/// Wrong once in many times, so that any pass may be the first to find out.
struct seldom_wrong
{
  __device__ bool operator()(std::uint32_t a, std::uint32_t b) const
  {
    auto const now = static_cast<std::uint32_t>(clock64());
    return ((now * 0x9e3779b9u) >> 14) == 0 ? b < a : a < b;
  }
};

TEST(ComparisonPathsOfWords, ComparatorsThatAreSeldomWrong)
{
  for (std::size_t const n : {3'000u, 8'000u, 20'000u, 60'000u, 70'000u, 140'000u, 300'000u, 1'000'000u})
  {
    if (in_a_hurry() && n > 140'000)
    {
      break;
    }
    std::vector<std::uint32_t> keys(n);
    for (std::size_t i = 0; i < n; ++i)
    {
      keys[i] = static_cast<std::uint32_t>(mixed(i));
    }
    for (int repeat = 0; repeat < (in_a_hurry() ? 1 : 5); ++repeat)
    {
      check_liar<seldom_wrong>(keys);
    }
  }
}

/// A record that is too wide to be moved about in a block: the key, and where it was in the input.
struct wide_record
{
  std::uint64_t key;
  std::uint64_t rest[6];
  std::uint64_t position;
};
struct by_key
{
  __host__ __device__ bool operator()(wide_record const& a, wide_record const& b) const
  {
    return a.key < b.key;
  }
};

TEST(ComparisonPathsOfRecords, WideOnesStayWholeAndInOrder)
{
  constexpr std::size_t tile = most_in_tile<wide_record, gpusort::block::no_values>;
  std::vector<std::size_t> sizes{100, tile, tile + 1, 10 * tile + 3, 40 * tile, 120'011};
  if (in_a_hurry())
  {
    sizes = {3 * tile + 1};
  }
  for (std::size_t const n : sizes)
  {
    SCOPED_TRACE(n);
    std::vector<wide_record> in(n);
    for (std::size_t i = 0; i < n; ++i)
    {
      in[i] = {mixed(i) % (n / 3 + 1), {i, ~i, i * 3, i * 5, i * 7, i * 9}, i};
    }
    std::vector<wide_record> expected = in;
    std::stable_sort(expected.begin(), expected.end(), by_key{});
    guarded_array<wide_record> room(n);
    auto const with = [&](auto algorithm, char const* name) {
      wide_record* const first = room.load(in.data(), n, 1);
      gpusort::stable_sort(algorithm, first, first + n, by_key{});
      EXPECT_TRUE(room.holds(expected.data())) << name;
    };
    with(gpusort::merge_sort(thrust::device), "merge_sort");
    with_split<wide_record, gpusort::block::no_values>(n, [&](auto algorithm) { with(algorithm, "hybrid_sort"); });
  }
}

/// Wrong once in `Times`, about records that have come through whole.
template <unsigned Times>
struct wrong_about_records
{
  __device__ bool operator()(wide_record const& a, wide_record const& b) const
  {
    bool const are_whole = a.rest[0] == a.position && b.rest[0] == b.position;
    auto const now       = static_cast<std::uint32_t>(clock64()) * 0x9e3779b9u;
    return !are_whole || (now >> 8) % Times == 0 ? b.key < a.key : a.key < b.key;
  }
};

/// Every record is there once, whole, with the value that came with it.
template <class Compare>
void check_wide_liar(std::size_t n)
{
  SCOPED_TRACE(n);
  std::vector<wide_record> in(n), out(n);
  std::vector<std::uint32_t> positions(n), from(n);
  for (std::size_t i = 0; i < n; ++i)
  {
    in[i]        = {mixed(i) % (n / 3 + 1), {i, ~i, i * 3, i * 5, i * 7, i * 9}, i};
    positions[i] = static_cast<std::uint32_t>(i);
  }
  guarded_array<wide_record> room(n);
  guarded_array<std::uint32_t> values(n);
  auto const with = [&](auto algorithm) {
    wide_record* const first     = room.load(in.data(), n, 1);
    std::uint32_t* const carried = values.load(positions.data(), n, 1);
    gpusort::sort_by_key(algorithm, first, first + n, carried, Compare{});
    gpusort::testing::require(cudaMemcpy(out.data(), first, n * sizeof(out[0]), cudaMemcpyDeviceToHost), "records");
    gpusort::testing::require(cudaMemcpy(from.data(), carried, n * sizeof(from[0]), cudaMemcpyDeviceToHost), "values");
    EXPECT_TRUE(room.holds(out.data()) && values.holds(from.data()));
    std::vector<bool> met(n);
    for (std::size_t i = 0; i < n; ++i)
    {
      std::size_t const position = from[i];
      if (position >= n || met[position] || out[i].position != position || out[i].key != in[position].key
          || out[i].rest[5] != position * 9)
      {
        ADD_FAILURE() << "record " << i << " is none that came in, or one a second time";
        break;
      }
      met[position] = true;
    }
  };
  with(gpusort::merge_sort(thrust::device));
  with_split<wide_record, std::uint32_t>(n, with);
}

TEST(ComparisonPathsOfRecords, ComparatorsThatLie)
{
  constexpr std::size_t tile = most_in_tile<wide_record, std::uint32_t>;
  std::vector<std::size_t> sizes{100, tile, 10 * tile + 3, 40 * tile, 65'536};
  if (in_a_hurry())
  {
    sizes = {3 * tile + 1};
  }
  for (std::size_t const n : sizes)
  {
    check_wide_liar<wrong_about_records<2>>(n);
    check_wide_liar<wrong_about_records<30'000>>(n);
  }
}

/// merge_path of all diagonals by one warp, beside those of one thread each.
__global__ void
cut_all(std::uint32_t const* a, int a_size, std::uint32_t const* b, int b_size, int* by_warp, int* alone)
{
  less_than comp;
  for (int diagonal = 0; diagonal <= a_size + b_size; ++diagonal)
  {
    int const cut = gpusort::block::merge_path_of_warp(
      diagonal, [&](int i) { return a[i]; }, a_size, [&](int i) { return b[i]; }, b_size, comp);
    if (threadIdx.x == 0)
    {
      by_warp[diagonal] = cut;
      alone[diagonal]   = gpusort::block::merge_path(diagonal, a, a_size, b, b_size, comp);
    }
  }
}

TEST(MergePathOfWarp, IsThatOfAThread)
{
  constexpr std::pair<int, int> sizes[] = {
    {0, 5}, {5, 0}, {1, 1}, {32, 33}, {33, 33}, {66, 1}, {100, 1100}, {1089, 1090}};
  for (auto const& [a_size, b_size] : sizes)
  {
    for (std::uint64_t const values : {1, 20, 1'000'000})
    {
      SCOPED_TRACE(::testing::Message() << a_size << " and " << b_size << " of " << values << " values");
      auto const run = [&](int size, std::uint64_t seed) {
        std::vector<std::uint32_t> keys(static_cast<std::size_t>(size));
        for (std::size_t i = 0; i < keys.size(); ++i)
        {
          keys[i] = static_cast<std::uint32_t>(mixed(i + seed) % values);
        }
        std::sort(keys.begin(), keys.end());
        return keys;
      };
      thrust::device_vector<std::uint32_t> const a = run(a_size, 0), b = run(b_size, 1'000'000);
      thrust::device_vector<int> by_warp(static_cast<std::size_t>(a_size + b_size + 1), -1), alone(by_warp.size(), -2);
      cut_all<<<1, 32>>>(thrust::raw_pointer_cast(a.data()),
                         a_size,
                         thrust::raw_pointer_cast(b.data()),
                         b_size,
                         thrust::raw_pointer_cast(by_warp.data()),
                         thrust::raw_pointer_cast(alone.data()));
      gpusort::testing::require(cudaGetLastError(), "launch");
      gpusort::testing::require(cudaDeviceSynchronize(), "cuts");
      std::vector<int> of_warp(by_warp.size()), of_thread(by_warp.size());
      thrust::copy(by_warp.begin(), by_warp.end(), of_warp.begin());
      thrust::copy(alone.begin(), alone.end(), of_thread.begin());
      EXPECT_EQ(of_warp, of_thread);
    }
  }
}

// What a cluster sorts, alone: racecheck takes half a minute for each launch.
TEST(ComparisonPathsOfWords, OfAClusterStaysInOrder)
{
  std::size_t const n = 7'500;
  std::vector<std::uint32_t> keys(n), positions(n);
  for (std::size_t i = 0; i < n; ++i)
  {
    keys[i] = static_cast<std::uint32_t>(mixed(i) % 3'000);
  }
  std::iota(positions.begin(), positions.end(), 0u);
  std::vector<std::uint32_t> expected = positions;
  std::stable_sort(expected.begin(), expected.end(), [&](std::uint32_t a, std::uint32_t b) {
    return keys[a] < keys[b];
  });
  guarded_array<std::uint32_t> room(n), values(n);
  std::uint32_t* const first   = room.load(keys.data(), n, 1);
  std::uint32_t* const carried = values.load(positions.data(), n, 1);
  gpusort::stable_sort_by_key(gpusort::merge_sort(thrust::device), first, first + n, carried, less_than{});
  std::sort(keys.begin(), keys.end());
  EXPECT_TRUE(room.holds(keys.data()) && values.holds(expected.data()));
}

/// Where hybrid sort and quicksort begin to split, by their own tags.
template <class Key, class Value>
void check_where_splits_begin(std::size_t most)
{
  for (std::size_t const n : {most, most + 1, 4 * most + 7}) // with last tiles of every kind
  {
    SCOPED_TRACE(n);
    std::vector<Key> keys(n);
    for (std::size_t i = 0; i < n; ++i)
    {
      keys[i] = static_cast<Key>(mixed(i) % (n / 2));
    }
    std::vector<Value> positions(n);
    std::iota(positions.begin(), positions.end(), Value{0});
    std::vector<Value> expected = positions;
    std::stable_sort(expected.begin(), expected.end(), [&](Value a, Value b) { return keys[a] < keys[b]; });
    std::vector<Key> sorted = keys;
    std::sort(sorted.begin(), sorted.end());
    guarded_array<Key> room(n);
    guarded_array<Value> values(n);
    auto const with = [&](auto algorithm, bool is_stable) {
      Key* const first     = room.load(keys.data(), n, 1);
      Value* const carried = values.load(positions.data(), n, 1);
      gpusort::sort_by_key(algorithm, first, first + n, carried, less_than{});
      EXPECT_TRUE(room.holds(sorted.data()));
      EXPECT_TRUE(!is_stable || values.holds(expected.data()));
      keys_of(room, values, keys);
    };
    with(gpusort::hybrid_sort(thrust::device), true);
    with(gpusort::automatic(thrust::device), true);
    with(gpusort::quicksort(thrust::device), false);
  }
}

TEST(ComparisonPathsOfWords, WhereSplitsBegin)
{
  static_assert(!merge::is_worth_splitting(17 << 16, 8) && merge::is_worth_splitting((17 << 16) + 1, 8));
  static_assert(!merge::is_worth_splitting(17 << 15, 16) && merge::is_worth_splitting((17 << 15) + 1, 16));
  if (in_a_hurry())
  {
    return;
  }
  check_where_splits_begin<std::uint32_t, std::uint32_t>(17 << 16);
  check_where_splits_begin<std::uint64_t, std::uint64_t>(17 << 15);
}

TEST(ComparisonPathsOfWords, ScratchIsOneMoreArrayAndLittle)
{
  std::uint32_t* const none = nullptr;
  std::size_t const alone   = most_in_tile<std::uint32_t, gpusort::block::no_values>;
  EXPECT_EQ(gpusort::workspace_bytes(gpusort::hybrid_sort(thrust::device), none, none + alone, less_than{}), 0u);
  // What one block sorts by value.
  std::size_t const in_block = merge::most_in_block(merge::block_class::many, sizeof(std::uint32_t), 0);
  ASSERT_GT(in_block, alone);
  for (std::size_t const more : {std::size_t{0}, std::size_t{1}})
  {
    std::uint32_t* const end = none + in_block + more;
    EXPECT_EQ(gpusort::workspace_bytes(gpusort::hybrid_sort(thrust::device), none, end, less_than{}) > 0, more > 0);
    EXPECT_EQ(gpusort::workspace_bytes(gpusort::merge_sort(thrust::device), none, end, less_than{}) > 0, more > 0);
    EXPECT_EQ(gpusort::workspace_bytes(gpusort::quicksort(thrust::device), none, end, less_than{}) > 0, more > 0);
  }
  for (int log2 = 22; log2 <= 34; ++log2)
  {
    std::size_t const n = std::size_t{1} << log2;
    std::size_t const bytes =
      gpusort::workspace_bytes(gpusort::hybrid_sort(thrust::device), none, none + n, less_than{});
    EXPECT_GT(bytes, n * 4);
    EXPECT_LT(static_cast<double>(bytes), 1.04 * static_cast<double>(n) * 4) << "2^" << log2;
  }
}

} // namespace
