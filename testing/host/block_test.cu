// Parts of the kernels that can be called on the host: where runs are cut, how keys are read, the sizes of things.
#include <gpusort/algorithm.h>
#include <gpusort/block/merge.cuh>
#include <gpusort/dispatch/elements.h>
#include <gpusort/merge/in_cluster.cuh>
#include <gpusort/merge/kernels.cuh>
#include <gpusort/merge/many_ways.cuh>
#include <gpusort/merge/tuning.h>
#include <gpusort/radix/by_buckets.cuh>
#include <gpusort/radix/by_digits.cuh>
#include <gpusort/radix/device.cuh>
#include <gpusort/radix/key_order.h>
#include <gpusort/radix/tuning.h>
#include <gpusort/runtime/layout.h>
#include <gtest/gtest.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <new>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

namespace gpusort
{
namespace
{

// ---------------------------------------------------------------------------------------------------------------------
// merge_path

/// A run that fails the test when it is read outside of its elements.
struct checked_run
{
  std::vector<int> const& elements;

  template <class Size>
  int operator[](Size i) const
  {
    if (static_cast<std::size_t>(i) >= elements.size())
    {
      ADD_FAILURE() << "element " << i << " of " << elements.size() << " was read";
      return 0;
    }
    return elements[static_cast<std::size_t>(i)];
  }
};

/// All non-decreasing sequences of up to `longest` of the numbers 0, 1 and 2.
std::vector<std::vector<int>> all_runs(int longest)
{
  std::vector<std::vector<int>> runs;
  for (int zeros = 0; zeros <= longest; ++zeros)
  {
    for (int ones = 0; zeros + ones <= longest; ++ones)
    {
      for (int twos = 0; zeros + ones + twos <= longest; ++twos)
      {
        std::vector<int> run(static_cast<std::size_t>(zeros), 0);
        run.insert(run.end(), static_cast<std::size_t>(ones), 1);
        run.insert(run.end(), static_cast<std::size_t>(twos), 2);
        runs.push_back(run);
      }
    }
  }
  return runs;
}

/// How many of the first `diagonal` elements of the merge come from a, which comes first among equals.
std::size_t taken_from_a(std::size_t diagonal, std::vector<int> const& a, std::vector<int> const& b)
{
  std::size_t i = 0, j = 0;
  while (i + j < diagonal)
  {
    bool const from_a = j == b.size() || (i < a.size() && a[i] <= b[j]);
    from_a ? ++i : ++j;
  }
  return i;
}

template <class Size>
void expect_paths_of_brute_force()
{
  auto less = [](int x, int y) { return x < y; };
  for (std::vector<int> const& a : all_runs(5))
  {
    for (std::vector<int> const& b : all_runs(5))
    {
      for (std::size_t diagonal = 0; diagonal <= a.size() + b.size(); ++diagonal)
      {
        Size const cut = block::merge_path(
          static_cast<Size>(diagonal),
          checked_run{a},
          static_cast<Size>(a.size()),
          checked_run{b},
          static_cast<Size>(b.size()),
          less);
        ASSERT_EQ(static_cast<std::size_t>(cut), taken_from_a(diagonal, a, b))
          << "diagonal " << diagonal << " of " << ::testing::PrintToString(a) << " and " << ::testing::PrintToString(b);
      }
    }
  }
}

TEST(MergePath, IsThatOfAStableMerge)
{
  expect_paths_of_brute_force<int>();
  expect_paths_of_brute_force<std::size_t>();
}

TEST(MergePath, StaysInBoundsWhateverTheComparatorAnswers)
{
  std::mt19937 random(1);
  auto always = [](int, int) { return true; };
  auto never  = [](int, int) { return false; };
  auto coin   = [&](int, int) { return random() % 2 == 0; };
  auto check  = [](std::size_t diagonal, std::vector<int> const& a, std::vector<int> const& b, auto& comp) {
    std::size_t const cut = block::merge_path(diagonal, checked_run{a}, a.size(), checked_run{b}, b.size(), comp);
    EXPECT_LE(cut, std::min(diagonal, a.size()));
    EXPECT_LE(diagonal - cut, b.size());
  };
  for (std::size_t a_size = 0; a_size < 20; ++a_size)
  {
    for (std::size_t b_size = 0; b_size < 20; ++b_size)
    {
      std::vector<int> const a(a_size, 1), b(b_size, 1);
      for (std::size_t diagonal = 0; diagonal <= a_size + b_size; ++diagonal)
      {
        check(diagonal, a, b, always);
        check(diagonal, a, b, never);
        check(diagonal, a, b, coin);
      }
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// what one wave of blocks takes

TEST(OneWave, TilesAreFewAndFull)
{
  for (auto const& [key_bytes, value_bytes] : {std::pair<std::size_t, std::size_t>{4, 0}, {8, 0}, {8, 8}, {16, 0}})
  {
    auto const most = static_cast<std::size_t>(radix::wave_threads * radix::wave_items(key_bytes, value_bytes));
    for (std::size_t n = radix::most_before_wave(key_bytes); n <= radix::most_in_long_wave(key_bytes, value_bytes);
         n += n < 100'000 ? 511 : 20'011)
    {
      auto const tile    = static_cast<std::size_t>(radix::wave_tile_for(n, key_bytes, value_bytes));
      bool const is_long = radix::wave_sort_threads_for(n, key_bytes, value_bytes) == radix::long_wave_sort_threads;
      EXPECT_EQ(is_long, n > radix::most_in_wave(key_bytes, value_bytes)) << n;
      std::size_t const tiles = is_long ? radix::most_wave_tiles : radix::wave_blocks;
      EXPECT_EQ(tile % radix::wave_threads, 0u) << n;
      EXPECT_LE(tile, most) << n;
      EXPECT_LE((n + tile - 1) / tile, tiles) << n;
      // One row less would not do, but for the least of tiles and the largest.
      std::size_t const less = tile - radix::wave_threads;
      EXPECT_TRUE(tile == std::size_t{radix::wave_threads} * radix::least_wave_items || tile == most
                  || less * tiles < n)
        << n;
    }
  }
}

/// A sample of `count` keys, of which each is in bucket `bucket_of()`.
template <class BucketOf>
radix::wave_sample wave_sample_of(std::uint32_t count, BucketOf bucket_of)
{
  std::uint32_t has[radix::wave_buckets] = {};
  for (std::uint32_t i = 0; i < count; ++i)
  {
    ++has[bucket_of()];
  }
  radix::wave_sample sample{};
  for (std::uint32_t const own : has)
  {
    sample.all += own;
    sample.squares += own * own;
    sample.most = std::max(sample.most, own);
    sample.filled += own > 0 ? 1 : 0;
  }
  return sample;
}

/// What blocks of a wave sort.
struct wave_kind
{
  int most;
  int most_alike;
  std::uint32_t most_in_all;
  bool of_records;
  std::size_t key_bytes, value_bytes;
};

constexpr wave_kind limits_of(std::size_t key_bytes, std::size_t value_bytes, bool is_record = false)
{
  return {radix::most_in_wave_bucket(key_bytes, value_bytes, is_record),
          radix::most_alike_in_wave_bucket(key_bytes, value_bytes, is_record),
          static_cast<std::uint32_t>(radix::most_in_wave(key_bytes, value_bytes, is_record)),
          is_record,
          key_bytes,
          value_bytes};
}
constexpr wave_kind limits_of_long(std::size_t key_bytes)
{
  constexpr int threads = radix::long_wave_sort_threads;
  return {radix::most_in_wave_bucket(key_bytes, 0, false, threads),
          radix::most_alike_in_wave_bucket(key_bytes, 0, false, threads),
          static_cast<std::uint32_t>(radix::most_in_long_wave(key_bytes, 0)),
          false,
          key_bytes,
          0};
}

constexpr wave_kind all_wave_kinds[] = {
  limits_of(4, 0),
  limits_of(8, 0),
  limits_of(16, 0),
  limits_of(4, 4),
  limits_of(8, 8),
  limits_of(16, 0, true),
  limits_of_long(4),
  limits_of_long(8)};

TEST(OneWave, EvenKeysPassForEven)
{
  std::mt19937 random(7);
  for (wave_kind const& limits : all_wave_kinds)
  {
    int const capacity = limits.most;
    int const alike    = limits.most_alike;
    for (std::uint32_t const n :
         {1u << 14, 1u << 17, 1u << 19, std::min(1u << 20, limits.most_in_all), limits.most_in_all})
    {
      // All of a sample, or its neighbours always alike.
      for (std::uint32_t const count : {2048u, 512u})
      {
        int uneven = 0;
        for (int i = 0; i < 400; ++i)
        {
          uneven += radix::fits_wave(wave_sample_of(count, [&] { return random() % 256; }), n, capacity, alike) ? 0 : 1;
        }
        EXPECT_LE(uneven, count < 2048 ? 12 : 4) << n << ' ' << capacity << ' ' << count;
      }
    }
  }
}

TEST(OneWave, BucketsThatAreTooLargePassForUneven)
{
  std::mt19937 random(7);
  for (wave_kind const& limits : all_wave_kinds)
  {
    int const capacity = limits.most;
    int const alike    = limits.most_alike;
    for (std::uint32_t const n : {1u << 17, 1u << 19, std::min(1u << 20, limits.most_in_all), limits.most_in_all})
    {
      // An eighth of all buckets has a half more than they hold, or, if that is all, one has three times as much.
      double const large    = 1.5 * capacity * 32 < 0.9 * n ? 32 : 1;
      double const of_large = std::min(0.95, (large > 1 ? 1.5 : 3.0) * capacity * large / n);
      int even              = 0;
      for (int i = 0; i < 400; ++i)
      {
        auto const bucket_of = [&] {
          auto const few = static_cast<std::uint32_t>(large);
          return random() < of_large * 0x1p32 ? random() % few : few + random() % (256 - few);
        };
        even += radix::fits_wave(wave_sample_of(2048, bucket_of), n, capacity, alike) ? 1 : 0;
      }
      EXPECT_LE(even, 8) << n << ' ' << capacity;
    }
  }
}

TEST(OneWave, AKeyOfWhichThereAreManyPassesIfABlockSortsIt)
{
  std::mt19937 random(7);
  for (wave_kind const& limits : all_wave_kinds)
  {
    int const capacity = limits.most;
    int const alike    = limits.most_alike;
    for (std::uint32_t const n : {1u << 16, 1u << 17, 1u << 18})
    {
      auto const passes = [&](double of_key) {
        int all = 0;
        for (int i = 0; i < 400; ++i)
        {
          auto const bucket_of = [&] { return random() < of_key / n * 0x1p32 ? 17u : random() % 256; };
          all += radix::fits_wave(wave_sample_of(2048, bucket_of), n, capacity, alike) ? 1 : 0;
        }
        return all;
      };
      EXPECT_GE(passes(0.5 * alike), 390) << n << ' ' << capacity;
      EXPECT_LE(passes(1.5 * alike), 8) << n << ' ' << capacity;
    }
  }
}

TEST(OneWave, SplittersLeaveRoomForChance)
{
  // The chance that a bucket of as many samples as all have by splitters is longer than a block holds: that a Poisson variable, what a full bucket
  // has, is less than that.
  for (wave_kind const& limits : all_wave_kinds)
  {
    int const capacity = limits.most;
    for (std::uint32_t n = 1u << 14; n <= limits.most_in_all; n += n / 40)
    {
      int const samples = radix::splitter_samples_for(n, capacity);
      EXPECT_LE(static_cast<std::uint32_t>(samples), n);
      auto const of_bucket = static_cast<std::uint32_t>(samples / radix::wave_buckets);
      bool const is_worth_it =
        radix::is_worth_splitters(radix::wave_sample{}, n, capacity, limits.of_records, false, limits.of_records);
      if (!is_worth_it || radix::most_in_splitter_sample(n, capacity, samples) < of_bucket)
      {
        continue; // it is not tried
      }
      double const full = static_cast<double>(capacity) * samples / n;
      double term = std::exp(-full), less = 0;
      for (std::uint32_t i = 0; i < of_bucket; ++i)
      {
        less += term;
        term *= full / (i + 1);
      }
      EXPECT_LT(less * radix::wave_buckets, 0.3) << n << ' ' << capacity;
    }
  }
}

TEST(OneWave, LimitsAreThoseOfTheSize)
{
  for (wave_kind const& kind : all_wave_kinds)
  {
    for (bool const asks : {false, true})
    {
      for (std::uint32_t n = 1u << 14; n <= kind.most_in_all; n += n / 40)
      {
        radix::wave_limits const limits =
          radix::wave_limits_for(n, kind.key_bytes, kind.value_bytes, kind.of_records, asks);
        int const threads  = radix::wave_sort_threads_for(n, kind.key_bytes, kind.value_bytes, kind.of_records);
        int const capacity = radix::most_in_wave_bucket(kind.key_bytes, kind.value_bytes, kind.of_records, threads);
        EXPECT_EQ(limits.capacity, capacity) << n;
        EXPECT_FALSE(limits.crowded_soon && asks) << n;
        // What passes at a glance would pass by exact figures.
        radix::wave_sample sample{};
        sample.all                    = radix::least_wave_samples * radix::wave_threads;
        sample.most                   = limits.most_of_sample;
        std::uint32_t const of_bucket = radix::of_full_bucket(sample.all, n, limits.alike);
        EXPECT_TRUE(radix::fits_wave(sample, n, limits.capacity, limits.alike)) << n;
        EXPECT_EQ(sample.most, radix::most_well_below(of_bucket)) << n;
        // Splitters are tried if they leave something to chance.
        int const samples = radix::splitter_samples_for(n, capacity);
        auto const most   = static_cast<int>(radix::most_in_splitter_sample(n, capacity, samples));
        EXPECT_EQ(limits.splitter_samples, most < samples / radix::wave_buckets ? 0 : samples) << n;
        EXPECT_GE(limits.most_between_splitters, most) << n;
        EXPECT_TRUE(limits.most_between_splitters == most || limits.crowded_soon) << n;
      }
    }
  }
}

TEST(OneWave, SplittersAreTriedWhereTheyPay)
{
  std::mt19937 random(7);
  auto const is_worth = [&](auto bucket_of, wave_kind const& limits, std::uint32_t n, bool asks) {
    bool const crowded_soon = radix::sorts_crowded_soon(n, limits.key_bytes, limits.value_bytes, limits.most);
    return radix::is_worth_splitters(wave_sample_of(2048, bucket_of), n, limits.most, asks, crowded_soon);
  };
  wave_kind const keys = limits_of(8, 0), pairs = limits_of(8, 8), short_pairs = limits_of(4, 4);
  auto const half_alike = [&] { return random() % 2 == 0 ? 17u : static_cast<std::uint32_t>(random() % 256); };
  auto const crowds = [&] { return random() % 3 == 0 ? 17u : static_cast<std::uint32_t>(random() % 256) / 16 * 16; };
  auto const values = [&](unsigned count) { return [&, count] { return random() % count * (256 / count); }; };
  for (std::uint32_t const n : {1u << 16, 1u << 17, 1u << 20})
  {
    bool const is_small = n < 1u << 20;
    // A bucket that has much, in small inputs, and where all others are even and samples small.
    EXPECT_TRUE(is_worth(half_alike, keys, n, false)) << n;
    EXPECT_EQ(is_worth(half_alike, pairs, n, false), is_small) << n;
    EXPECT_FALSE(is_worth(half_alike, keys, n, true)) << n;
    // Several that have much, or about a dozen values; a handful never.
    EXPECT_EQ(is_worth(values(12), keys, n, false), is_small) << n;
    EXPECT_FALSE(is_worth(values(5), keys, n, false)) << n;
    EXPECT_EQ(is_worth(crowds, keys, n, false), is_small) << n;
  }
  // One that has a tenth, among others that are not even; as many, where blocks take long over crowds, and as few values.
  auto const tenth = [&] { return random() % 10 == 0 ? 17u : static_cast<std::uint32_t>(random() % 256) / 4 * 4; };
  EXPECT_TRUE(is_worth(tenth, keys, 1u << 20, false));
  EXPECT_FALSE(is_worth(tenth, keys, 1u << 20, true));
  EXPECT_FALSE(is_worth(tenth, keys, keys.most_in_all, false));
  EXPECT_TRUE(is_worth(tenth, pairs, 1u << 19, false));
  EXPECT_FALSE(is_worth(tenth, short_pairs, 1u << 19, false));
  EXPECT_TRUE(is_worth(tenth, limits_of(4, 0), 900'000, false));
  EXPECT_FALSE(is_worth(tenth, limits_of(4, 0), 1u << 20, false));
  EXPECT_FALSE(is_worth(tenth, limits_of_long(8), 1u << 21, false));
  EXPECT_FALSE(is_worth(values(16), keys, 1u << 20, false));
}

// ---------------------------------------------------------------------------------------------------------------------
// rows_for

TEST(Bins, WhatSharesOneIsAlikeIfItIsSaidToBe)
{
  for (int bins_log2 = 1; bins_log2 <= 6; ++bins_log2)
  {
    for (int width = 0; width <= 10; ++width)
    {
      for (int alike = 0; alike == 0 || alike < width; ++alike)
      {
        block::bin_split const split = block::split_into_bins(width, bins_log2, alike);
        std::uint32_t last           = 0;
        bool shared                  = false; // a bin by tokens that differ
        for (std::uint32_t token = 0; token >> width == 0; token += 1u << alike)
        {
          std::uint32_t const bin = token >> split.shift;
          EXPECT_LT(bin, 1u << bins_log2);
          EXPECT_GE(bin, last);
          shared = shared || (token > 0 && bin == last);
          last   = bin;
        }
        EXPECT_TRUE(!split.are_alike || !shared) << width << " bits, " << alike << " alike, 2^" << bins_log2 << " bins";
        // What is not asked for would change nothing.
        block::bin_split const without = block::split_into_bins(width, bins_log2, 0);
        EXPECT_EQ(block::is_worth_leaving_out(alike, width, bins_log2, false), split.are_alike && !without.are_alike);
      }
    }
  }
}

TEST(Bits, BelowTheLowestThatIsSet)
{
  EXPECT_EQ(block::trailing_zeros(std::uint32_t{0}), 32);
  EXPECT_EQ(block::trailing_zeros(std::uint64_t{0}), 64);
  EXPECT_EQ(block::trailing_zeros(std::uint16_t{0x8000}), 15);
  using wide = unsigned __int128;
  for (int at = 0; at < 128; ++at)
  {
    EXPECT_EQ(block::trailing_zeros(static_cast<wide>(~wide{0} << at)), at);
    std::uint32_t words[4] = {0, 0, 0, 0x80000000u};
    words[at / 32] |= 1u << at % 32;
    EXPECT_EQ(block::lowest_set(words), at);
  }
  EXPECT_EQ(block::lowest_set({0u, 0u}), 0);
}

TEST(RowsFor, IsWithinBoundsAndEnoughForTheBlocks)
{
  constexpr std::pair<int, int> passes[] = {
    {256, radix::blocks_for_small_inputs},
    {384, radix::blocks_of_small_pass(4, 0)},
    {384, radix::blocks_of_small_pass(8, 0)},
    {512, radix::blocks_of_small_pass(4, 4)}};
  for (std::pair<int, int> const& pass : passes)
  {
    int const threads = pass.first;
    int const blocks  = pass.second;
    for (int const items : {3, 6, 7, 14, 24})
    {
      SCOPED_TRACE(::testing::Message() << blocks << " blocks of " << threads << " threads, " << items << " items");
      std::size_t const a_row = static_cast<std::size_t>(blocks) * static_cast<std::size_t>(threads);
      int const least         = std::min(radix::least_rows, items);
      EXPECT_EQ(radix::rows_for(0, threads, items, blocks), least);
      EXPECT_EQ(radix::rows_for(std::size_t{1} << 40, threads, items, blocks), items);

      int before = least;
      for (std::size_t n = 1; n < 30 * a_row; n += 997)
      {
        int const rows = radix::rows_for(n, threads, items, blocks);
        ASSERT_GE(rows, before) << n;
        ASSERT_LE(rows, items) << n;
        // Unless tiles are as large as they get, no more of them than there are blocks to share them.
        if (rows < items)
        {
          ASSERT_LE(n, static_cast<std::size_t>(rows) * a_row);
        }
        before = rows;
      }
      // A row more begins right behind a multiple.
      for (int rows = least; rows < items; ++rows)
      {
        std::size_t const n = static_cast<std::size_t>(rows) * a_row;
        EXPECT_EQ(radix::rows_for(n, threads, items, blocks), rows);
        EXPECT_EQ(radix::rows_for(n + 1, threads, items, blocks), rows + 1);
      }
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// key_order

template <class Key>
Key from_bits(radix::bits_t<Key> bits)
{
  Key key;
  std::memcpy(static_cast<void*>(&key), &bits, sizeof(key));
  return key;
}

/// The keys have to be given in ascending order; `alike` says which of them are one key to the sort.
template <class Key, class Alike>
void expect_order(std::vector<Key> const& ascending, Alike alike)
{
  using bits           = radix::bits_t<Key>;
  constexpr int digits = static_cast<int>(sizeof(Key));
  auto const up        = radix::make_key_order<Key, thrust::less<Key>>();
  auto const down      = radix::make_key_order<Key, thrust::greater<Key>>();
  static_assert(decltype(up)::digits == digits);
  for (std::size_t i = 0; i < ascending.size(); ++i)
  {
    bits const key = radix::bits_of(ascending[i]);
    for (std::size_t j = 0; j < ascending.size(); ++j)
    {
      bits const other = radix::bits_of(ascending[j]);
      bool const less  = i < j && !alike(i, j);
      EXPECT_EQ(up.rank_of(key) < up.rank_of(other), less) << i << " and " << j << ", less";
      EXPECT_EQ(down.rank_of(other) < down.rank_of(key), less) << i << " and " << j << ", greater";
    }
    for (auto const& order : {up, down})
    {
      bits together = 0;
      for (int d = digits - 1; d >= 0; --d)
      {
        EXPECT_LT(order.digit(key, d), 256u);
        // In two steps, because a byte cannot be shifted by eight bits.
        together = static_cast<bits>(static_cast<bits>(together << 4) << 4 | order.digit(key, d));
      }
      EXPECT_TRUE(together == order.rank_of(key)) << i << ": the digits are not those of the rank";
    }
  }
}

template <class Key>
void expect_integer_order()
{
  using bits = radix::bits_t<Key>;
  std::vector<Key> keys;
  for (int shift = 0; shift < static_cast<int>(sizeof(Key)) * 8; ++shift)
  {
    bits const power = static_cast<bits>(bits{1} << shift);
    for (bits const b : {power, static_cast<bits>(power - 1), static_cast<bits>(~power), static_cast<bits>(0 - power)})
    {
      keys.push_back(from_bits<Key>(b));
    }
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  expect_order(keys, [](std::size_t, std::size_t) { return false; });
}

enum class level : std::int16_t
{
};
enum class flag : std::uint8_t
{
};

TEST(KeyOrder, OfIntegers)
{
  expect_integer_order<std::uint8_t>();
  expect_integer_order<std::int8_t>();
  expect_integer_order<char>();
  expect_integer_order<std::uint16_t>();
  expect_integer_order<std::int16_t>();
  expect_integer_order<char16_t>();
  expect_integer_order<std::uint32_t>();
  expect_integer_order<std::int32_t>();
  expect_integer_order<std::uint64_t>();
  expect_integer_order<std::int64_t>();
  expect_integer_order<long long>();
  expect_integer_order<unsigned __int128>();
  expect_integer_order<__int128>();
  expect_integer_order<level>();
  expect_integer_order<flag>();
  auto const of_bool = radix::make_key_order<bool, thrust::less<bool>>();
  EXPECT_LT(of_bool.rank_of(radix::bits_of(false)), of_bool.rank_of(radix::bits_of(true)));
}

template <class Key>
double number(Key key)
{
  if constexpr (std::is_same_v<Key, double>)
  {
    return key;
  }
  else
  {
    return static_cast<float>(key);
  }
}

/// NaNs outside of the infinities, by sign; both zeros as one.
template <class Key>
void expect_float_order(radix::bits_t<Key> infinity)
{
  using bits            = radix::bits_t<Key>;
  bits const sign       = static_cast<bits>(bits{1} << (8 * sizeof(Key) - 1));
  bits const middle     = static_cast<bits>(infinity / 2); // of the range
  bits const quiet      = static_cast<bits>(~sign); // the NaN with all bits
  bits const positive[] = {
    0,
    1, // the least number that is not normal
    2,
    middle,
    static_cast<bits>(middle + 1),
    static_cast<bits>(infinity - 1), // the greatest number
    infinity,
    static_cast<bits>(infinity + 1),
    quiet};
  std::vector<Key> ascending;
  for (auto b = std::rbegin(positive); b != std::rend(positive); ++b)
  {
    ascending.push_back(from_bits<Key>(static_cast<bits>(*b | sign)));
  }
  std::size_t const minus_zero = ascending.size() - 1;
  for (bits const b : positive)
  {
    ascending.push_back(from_bits<Key>(b));
  }
  // The list itself is in order, as far as numbers go.
  for (std::size_t i = 3; i + 3 < ascending.size(); ++i)
  {
    ASSERT_LE(number(ascending[i - 1]), number(ascending[i]));
  }
  ASSERT_TRUE(std::isinf(number(ascending[2])));
  ASSERT_TRUE(std::isnan(number(ascending[1])));
  expect_order(ascending, [=](std::size_t i, std::size_t j) { return i == minus_zero && j == minus_zero + 1; });
}

/// An enum whose order is not that of its numbers.
enum class backwards : std::uint8_t
{
};
[[maybe_unused]] constexpr bool operator<(backwards a, backwards b)
{
  return static_cast<int>(b) < static_cast<int>(a);
}

// For host and device compilers alike: they have to choose the same algorithm.
static_assert(radix::has_key_order_v<level, thrust::less<level>>);
static_assert(radix::has_key_order_v<level, thrust::greater<level>>);
static_assert(!radix::has_key_order_v<backwards, thrust::less<backwards>>);
static_assert(radix::has_key_order_v<backwards, thrust::greater<backwards>>);

TEST(KeyOrder, OfFloats)
{
  expect_float_order<float>(0x7f800000u);
  expect_float_order<double>(0x7ff0000000000000u);
  expect_float_order<__half>(0x7c00u);
  expect_float_order<__nv_bfloat16>(0x7f80u);
}

// ---------------------------------------------------------------------------------------------------------------------
// layout

TEST(Layout, OfNothingIsNothing)
{
  EXPECT_EQ(runtime::layout{}.bytes(), 0u);
}

TEST(Layout, OfMoreThanThereAreAddressesForIsRefused)
{
  runtime::layout layout;
  EXPECT_THROW(layout.add(std::size_t{1} << 61, 8), std::bad_alloc);
  EXPECT_THROW(layout.add(std::size_t{1} << 62, 8), std::bad_alloc);
  layout.add(std::size_t{1} << 59, 8);
  layout.add(std::size_t{1} << 58, 8);
  EXPECT_THROW(layout.add(std::size_t{1} << 58, 8), std::bad_alloc);
  EXPECT_EQ(layout.bytes(), (std::size_t{3} << 61) + runtime::scratch_alignment);
}

TEST(Layout, PiecesAreAlignedAndApartAtAnyAddress)
{
  struct piece
  {
    std::size_t offset, bytes, alignment;
  };
  std::mt19937_64 random(3);
  for (int round = 0; round < 300; ++round)
  {
    SCOPED_TRACE(round);
    runtime::layout layout;
    std::vector<piece> pieces;
    for (std::size_t p = 0; p < 1 + random() % 8; ++p)
    {
      std::size_t const count     = 1 + random() % 1000;
      std::size_t const bytes     = 1 + random() % 40;
      std::size_t const alignment = std::size_t{1} << random() % 13;
      pieces.push_back({layout.add(count, bytes, alignment), count * bytes, alignment});
    }
    std::size_t end = 0;
    for (piece const& p : pieces)
    {
      EXPECT_GE(p.offset, end);
      end = p.offset + p.bytes;
    }
    for (std::size_t const address : {std::size_t{256}, std::size_t{1}, std::size_t{4095}, random() % (1u << 30)})
    {
      auto const base = reinterpret_cast<std::size_t>(layout.base(reinterpret_cast<void*>(address)));
      EXPECT_GE(base, address);
      EXPECT_LE(base + end, address + layout.bytes()) << "the last piece is not in the allocation at " << address;
      for (piece const& p : pieces)
      {
        EXPECT_EQ((base + p.offset) % p.alignment, 0u);
        EXPECT_EQ((base + p.offset) % runtime::scratch_alignment, 0u);
      }
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Shared memory: 64 KB is what every device has that we compile for.

constexpr std::size_t most_shared_bytes = 64 * 1024;

template <std::size_t Bytes>
struct record
{
  char bytes[Bytes];
};

template <class... T>
struct types
{
  template <class F>
  static void for_each(F f)
  {
    (f(static_cast<T*>(nullptr)), ...);
  }
};

// Numbers, and records up to the size that kernels hold in registers.
using numbers       = types<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, unsigned __int128>;
using value_records = types<record<3>, record<5>, record<12>, record<16>>;
using key_records =
  types<record<3>, record<5>, record<12>, record<17>, record<32>, record<33>, record<64>, record<65>, record<96>>;
static_assert(dispatch::moves_directly_v<record<16>> && !dispatch::moves_directly_v<record<17>>);
static_assert(dispatch::sorts_directly_v<record<96>> && !dispatch::sorts_directly_v<record<97>>);

template <class Bits, class Value>
void expect_that_radix_fits()
{
  SCOPED_TRACE(::testing::Message() << "keys of " << sizeof(Bits) << " bytes, values of " << sizeof(Value));
  using pass   = radix::digit_partition<Bits, false, Value>;
  using split  = radix::bucket_partition<Bits, false, Value, radix::bucket_map<Bits>>;
  using small  = radix::block_sort_storage<Bits, false, Value, radix::sort_class::small>;
  using medium = radix::block_sort_storage<Bits, false, Value, radix::sort_class::medium>;
  EXPECT_LE(sizeof(typename pass::shared_storage), most_shared_bytes);
  EXPECT_LE(sizeof(typename split::shared_storage), most_shared_bytes);
  EXPECT_LE(sizeof(small), most_shared_bytes);
  if constexpr (radix::lists_crowded(sizeof(Bits), radix::value_bytes_v<Value>))
  {
    // Blocks that sort buckets, whose crowded ones medium blocks sort, fit as many to a multiprocessor as there are registers for.
    using bucket = radix::block_sort_storage<Bits, false, Value, radix::sort_class::bucket>;
    constexpr int blocks =
      radix::sort_blocks_per_sm(sizeof(Bits), radix::value_bytes_v<Value>, radix::sort_class::bucket);
    EXPECT_LE((sizeof(bucket) + 1024) * blocks, std::size_t{228} * 1024);
    EXPECT_LE(bucket::sorter::tile, medium::sorter::tile);
    EXPECT_LT(small::sorter::tile, bucket::sorter::tile);
  }
  if (sizeof(Bits) <= 8 && radix::value_bytes_v<Value> <= 8)
  {
    EXPECT_LE(sizeof(medium), most_shared_bytes);
  }
  EXPECT_LE(sizeof(medium), std::size_t{99} * 1024) << "what every device has from compute capability 8.6 on";
}

template <class Bits, radix::sort_class Class, class Value = block::no_values>
void expect_that_buckets_fit()
{
  SCOPED_TRACE(::testing::Message() << "keys of " << sizeof(Bits) << " bytes");
  using sorter = radix::bucket_sort<Bits, false, Class, Value>;
  EXPECT_LE((sizeof(typename sorter::shared_storage) + 1024) * sorter::blocks, std::size_t{228} * 1024)
    << "as many to a multiprocessor of an H200 as there are registers for";
  if (Class == radix::sort_class::bucket)
  {
    EXPECT_LE(sizeof(typename sorter::shared_storage), most_shared_bytes);
  }
  if (Class == radix::sort_class::counted_bucket)
  {
    return; // takes any number of keys
  }
  std::size_t const mean =
    Class == radix::sort_class::bucket
      ? radix::mean_bucket
      : radix::mean_long_bucket(sizeof(Bits), radix::value_bytes_v<Value>);
  EXPECT_LE(mean + mean / 16, static_cast<std::size_t>(sorter::most)) << "room for chance";
}

TEST(SharedMemory, OfBucketsThatAreNotListed)
{
  expect_that_buckets_fit<std::uint32_t, radix::sort_class::bucket>();
  expect_that_buckets_fit<std::uint64_t, radix::sort_class::bucket>();
  expect_that_buckets_fit<std::uint32_t, radix::sort_class::long_bucket>();
  expect_that_buckets_fit<std::uint64_t, radix::sort_class::long_bucket>();
  expect_that_buckets_fit<std::uint32_t, radix::sort_class::long_bucket, std::uint32_t>();
  expect_that_buckets_fit<std::uint64_t, radix::sort_class::long_bucket, std::uint32_t>();
  expect_that_buckets_fit<std::uint64_t, radix::sort_class::long_bucket, std::uint64_t>();
  expect_that_buckets_fit<std::uint32_t, radix::sort_class::counted_bucket>();
}

TEST(CountedBuckets, LaunchesOfTheSecondLevelHaveNoMoreThanThreeQuartersOfAPart)
{
  using plan = radix::device::plan<std::uint32_t, block::no_values>;
  for (std::size_t const n :
       {radix::most_in_long_buckets(4, 0) + 1,
        radix::most_in_long_buckets(4, 0) * 3 / 2,
        std::size_t{1} << 31,
        std::size_t{1} << 33,
        radix::most_in_counted_buckets})
  {
    plan const p(n);
    ASSERT_TRUE(p.counts_buckets) << n;
    ASSERT_GT(p.parts, 1u) << n;
    auto const launches = static_cast<std::size_t>(radix::launches_of_stretches(p.parts));
    ASSERT_EQ(radix::radix_size % launches, 0u) << n;
    std::size_t const most = (radix::most_in_counted_bucket(n) << p.buckets_log2) / launches; // keys
    EXPECT_LE(most, p.part_size / 4 * 3) << n;
    // One tile a stretch may not be full.
    EXPECT_LE(most / static_cast<std::size_t>(p.tile) + radix::radix_size / launches, p.tiles) << n;
  }
  EXPECT_FALSE(plan(radix::most_in_long_buckets(4, 0)).counts_buckets);
  EXPECT_FALSE(plan(radix::most_in_counted_buckets + 1).counts_buckets);
}

TEST(SharedMemory, SharesLeaveRoomForSoManyBlocksAndNoMore)
{
  constexpr std::size_t reserved = 1024, unit = 128;
  for (std::size_t const kilobytes : {64u, 100u, 164u, 228u})
  {
    std::size_t const all = kilobytes * 1024;
    for (std::size_t blocks = 1; blocks <= 16; ++blocks)
    {
      std::size_t const share = gpusort::runtime::share_of_multiprocessor(all, reserved, blocks);
      ASSERT_GT(share, 0u) << blocks;
      std::size_t const taken = (share + reserved + unit - 1) / unit * unit;
      EXPECT_EQ(all / taken, blocks) << kilobytes << " KB";
    }
    EXPECT_EQ(gpusort::runtime::share_of_multiprocessor(all, reserved, 1000), 0u);
  }
}

TEST(SharedMemory, OfMovesToBuckets)
{
  using split = radix::bucket_partition<std::uint32_t, false, block::no_values, radix::bucket_map<std::uint32_t>>;
  EXPECT_LE((sizeof(typename split::shared_storage) + 1024) * radix::pass_shape_for(4, 0).bucket_blocks,
            std::size_t{228} * 1024)
    << "as many to a multiprocessor of an H200 as there are registers for";
}

TEST(SharedMemory, OfRadixFitsEveryDevice)
{
  numbers::for_each([](auto* bits) {
    using key = std::remove_pointer_t<decltype(bits)>;
    expect_that_radix_fits<key, block::no_values>();
    auto with = [](auto* value) { expect_that_radix_fits<key, std::remove_pointer_t<decltype(value)>>(); };
    numbers::for_each(with);
    value_records::for_each(with);

    constexpr int digits = static_cast<int>(sizeof(key));
    EXPECT_LE(std::size_t{digits} * radix::radix_size * sizeof(std::uint32_t) << radix::histogram_copies_log2(digits),
              most_shared_bytes)
      << "the counting, keys of " << sizeof(key) << " bytes";
  });
}

template <class Key, class Value, merge::input_class Class>
void expect_that_many_ways_fit()
{
  using less   = thrust::less<Key>;
  using sorter = merge::many_way_tile_sort<Key, Value, less, Class>;
  EXPECT_LE(sizeof(typename sorter::shared_storage), most_shared_bytes);
  EXPECT_LE(sizeof(merge::many_way_storage<Key, Value, less, Class>), most_shared_bytes);
}

template <class Key, class Value>
void expect_that_merge_fits()
{
  SCOPED_TRACE(::testing::Message() << "keys of " << sizeof(Key) << " bytes, values of " << sizeof(Value));
  using sorter = merge::tile_sort<Key, Value, thrust::less<Key>>;
  EXPECT_LE(sizeof(typename sorter::shared_storage), most_shared_bytes);
  EXPECT_LE(sizeof(merge::merge_storage<Key, Value, thrust::less<Key>>), most_shared_bytes);
  expect_that_many_ways_fit<Key, Value, merge::input_class::tiny>();
  expect_that_many_ways_fit<Key, Value, merge::input_class::small>();
  expect_that_many_ways_fit<Key, Value, merge::input_class::medium>();
  if constexpr (sizeof(Key) <= block::widest_moved_key)
  {
    EXPECT_LE(sizeof(merge::cluster_storage<Key, Value, thrust::less<Key>>), most_shared_bytes);
  }
}

TEST(SharedMemory, OfMergeFitsEveryDevice)
{
  auto with_all_values = [](auto* keys) {
    using key = std::remove_pointer_t<decltype(keys)>;
    expect_that_merge_fits<key, no_value>();
    auto with = [](auto* value) { expect_that_merge_fits<key, std::remove_pointer_t<decltype(value)>>(); };
    numbers::for_each(with);
    value_records::for_each(with);
  };
  numbers::for_each(with_all_values);
  key_records::for_each(with_all_values);
}

} // namespace
} // namespace gpusort
