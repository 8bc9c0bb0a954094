// The maps from ranks to buckets, by rank and by value, by host code alone: in order, in range, and even over what the sample spans.
#include <gpusort/radix/bucket_map.h>
#include <gpusort/radix/tuning.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace gpusort::radix
{
namespace
{

template <class Bits>
Bits random_bits(std::mt19937_64& random)
{
  Bits bits = static_cast<Bits>(random());
  if constexpr (sizeof(Bits) > 8)
  {
    bits = bits << 64 | random();
  }
  // All magnitudes.
  return static_cast<Bits>(bits >> random() % (sizeof(Bits) * 8));
}

template <class Bits>
class BucketMap : public ::testing::Test
{
protected:
  static constexpr Bits greatest_rank = static_cast<Bits>(~Bits{0});
  static constexpr int width          = static_cast<int>(sizeof(Bits)) * 8;
  static constexpr int most_log2      = width < 16 ? width : 16;

  static bucket_map<Bits> over(Bits least, Bits greatest, int log2)
  {
    return bucket_map<Bits>::over(least, greatest, log2);
  }
};

using widths = ::testing::Types<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, unsigned __int128>;
TYPED_TEST_SUITE(BucketMap, widths, );

TYPED_TEST(BucketMap, KeepsTheOrderAndTheRange)
{
  using bits = TypeParam;
  std::mt19937_64 random(1);
  for (int round = 0; round < 3000; ++round)
  {
    bits least = random_bits<bits>(random), greatest = random_bits<bits>(random);
    if (greatest < least)
    {
      std::swap(least, greatest);
    }
    int const log2 = 8 + static_cast<int>(random() % (this->most_log2 - 7));
    auto const map = this->over(least, greatest, log2);
    std::vector<bits> ranks{0, least, greatest, this->greatest_rank, static_cast<bits>(least + (greatest - least) / 2)};
    for (int i = 0; i < 20; ++i)
    {
      ranks.push_back(random_bits<bits>(random));
      ranks.push_back(
        static_cast<bits>(least + random_bits<bits>(random) % (greatest - least + 1 == 0 ? 1 : greatest - least + 1)));
    }
    std::sort(ranks.begin(), ranks.end());
    std::uint32_t before = 0;
    for (bits const rank : ranks)
    {
      std::uint32_t const bucket = map(rank);
      ASSERT_LT(bucket, std::uint32_t{1} << log2);
      ASSERT_LE(before, bucket);
      before = bucket;
    }
  }
}

TYPED_TEST(BucketMap, OfAllRanksIsTheirHighestBits)
{
  using bits = TypeParam;
  std::mt19937_64 random(2);
  for (int const log2 : {8, 11, 16})
  {
    if (log2 > this->most_log2)
    {
      continue;
    }
    auto const map = this->over(0, this->greatest_rank, log2);
    for (int i = 0; i < 1000; ++i)
    {
      bits const rank = random_bits<bits>(random);
      ASSERT_EQ(map(rank), static_cast<std::uint32_t>(rank >> (sizeof(bits) * 8 - log2)));
    }
  }
}

TYPED_TEST(BucketMap, HasTheScaleOfADivision)
{
  using bits = TypeParam;
  std::mt19937_64 random(5);
  for (int round = 0; round < 20000; ++round)
  {
    bits least = random_bits<bits>(random), greatest = random_bits<bits>(random);
    if (round % 4 == 0)
    {
      greatest = static_cast<bits>(least + (random_bits<bits>(random) >> random() % this->width)); // or close to it
    }
    if (greatest < least)
    {
      std::swap(least, greatest);
    }
    int const log2  = 8 + static_cast<int>(random() % (this->most_log2 - 7));
    auto const map  = this->over(least, greatest, log2);
    bits const span = static_cast<bits>(greatest - least);
    if (span <= static_cast<bits>((bits{1} << log2) - 1))
    {
      ASSERT_EQ(map.scale, 0u);
      continue;
    }
    // What the buckets are over, in steps: from `low`, with an edge above the greatest.
    bits edge = 1;
    while (static_cast<bits>(span / edge) >= 128)
    {
      edge = static_cast<bits>(edge * 2);
    }
    bits const high  = static_cast<bits>(greatest | static_cast<bits>(edge - 1));
    auto const steps = static_cast<std::uint64_t>(static_cast<bits>(static_cast<bits>(high - map.low) >> map.shift));
    ASSERT_LT(steps, std::uint64_t{1} << 32);
    ASSERT_EQ(map.scale, (std::uint64_t{1} << (32 + log2)) / (steps + 1)) << log2;
  }
}

TYPED_TEST(BucketMap, GivesFewRanksABucketEach)
{
  using bits = TypeParam;
  for (int const log2 : {8, 16})
  {
    if (log2 >= this->width)
    {
      continue; // all ranks have a bucket each
    }
    bits const buckets = static_cast<bits>(bits{1} << log2);
    for (bits const least :
         {bits{0}, bits{1}, static_cast<bits>(1000), static_cast<bits>(this->greatest_rank - buckets + 1)})
    {
      for (bits const span : {bits{0}, bits{1}, bits{100}, static_cast<bits>(buckets - 1)})
      {
        auto const map = this->over(least, static_cast<bits>(least + span), log2);
        for (bits step = 0; step < span; ++step)
        {
          ASSERT_EQ(map(static_cast<bits>(least + step)) + 1, map(static_cast<bits>(least + step + 1)));
        }
      }
    }
  }
}

TYPED_TEST(BucketMap, IsEvenOverTheSpanOfTheSample)
{
  using bits = TypeParam;
  if constexpr (sizeof(bits) < 4)
  {
    GTEST_SKIP() << "spans of more than 2^20 ranks";
  }
  else
  {
    std::mt19937_64 random(3);
    for (int round = 0; round < 200; ++round)
    {
      int const log2   = 8 + static_cast<int>(random() % 9);
      bits const span  = static_cast<bits>((bits{1} << 20) + random_bits<bits>(random) / 4);
      bits const least = static_cast<bits>(random_bits<bits>(random) / 2);
      auto const map   = this->over(least, static_cast<bits>(least + span), log2);
      // Rounding may take an edge of a 64th of the span at either end.
      std::uint32_t const buckets = std::uint32_t{1} << log2;
      std::uint32_t const first = map(least), last = map(static_cast<bits>(least + span));
      EXPECT_LE(first, buckets / 30);
      EXPECT_GE(last + 1, buckets - buckets / 30);
      bits const middle = static_cast<bits>(least + span / 2);
      EXPECT_NEAR(map(middle), (first + last) / 2.0, 2.0);
    }
  }
}

template <class Number>
class ValueMap : public ::testing::Test
{};
using numbers = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ValueMap, numbers);

/// The ranks of a few numbers to take for the ends of a sample, and of all kinds of numbers to look for, in order.
template <class Number>
std::vector<Number> many_numbers()
{
  using limits = std::numeric_limits<Number>;
  std::vector<Number> all{
    -limits::quiet_NaN(), -limits::infinity(), -limits::max(), limits::max(), limits::infinity(), limits::quiet_NaN()};
  all.push_back(0);
  all.push_back(-Number{0});
  all.push_back(limits::denorm_min());
  all.push_back(-limits::min());
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> unit(-1, 1);
  for (int i = 0; i < 3000; ++i)
  {
    all.push_back(static_cast<Number>(std::ldexp(unit(random), static_cast<int>(random() % 60) - 50)));
  }
  return all;
}

TYPED_TEST(ValueMap, KeepsTheOrderOfRanks)
{
  using bits             = bits_t<TypeParam>;
  constexpr bits signs[] = {0, static_cast<bits>(~bits{0})};
  for (bits const flip : signs)
  {
    key_order<bits, true> const order{flip};
    std::vector<bits> ranks;
    for (TypeParam const number : many_numbers<TypeParam>())
    {
      ranks.push_back(order.rank_of(bits_of(number)));
    }
    std::sort(ranks.begin(), ranks.end());
    std::mt19937_64 random(11);
    int maps = 0;
    for (int round = 0; round < 300; ++round)
    {
      bits const a = ranks[random() % ranks.size()], b = ranks[random() % ranks.size()];
      int const log2 = 8 + static_cast<int>(random() % 9);
      auto const map = value_map<bits>::over(order, std::min(a, b), std::max(a, b), log2, round % 2 == 0 ? 0 : 0.125);
      if (!map.exists())
      {
        continue;
      }
      ++maps;
      EXPECT_EQ(map.last, (1u << log2) - 1);
      std::uint32_t before = 0;
      for (bits const rank : ranks)
      {
        std::uint32_t const bucket = map(order, rank);
        ASSERT_LE(before, bucket);
        ASSERT_LE(bucket, map.last);
        before = bucket;
      }
      EXPECT_EQ(map(order, bits{0}), 0u);
      EXPECT_EQ(map(order, static_cast<bits>(~bits{0})), map.last);
    }
    EXPECT_GT(maps, 200);
  }
}

TYPED_TEST(ValueMap, IsEvenByValue)
{
  using bits = bits_t<TypeParam>;
  for (bits const flip : {bits{0}, static_cast<bits>(~bits{0})})
  {
    key_order<bits, true> const order{flip};
    auto const rank_of = [&](double number) { return order.rank_of(bits_of(static_cast<TypeParam>(number))); };
    bits const a = rank_of(0.0003), b = rank_of(0.9998);
    // Rounded outwards to all from 0 to 1.
    auto const map = value_map<bits>::over(order, std::min(a, b), std::max(a, b), 16, 0);
    ASSERT_TRUE(map.exists());
    for (double number = 0.001; number < 1; number += 0.013)
    {
      double const expected = 65536 * (flip == 0 ? number : 1 - number);
      EXPECT_NEAR(map(order, rank_of(number)), expected, 2) << number;
    }
  }
}

TYPED_TEST(ValueMap, IsThereOnlyBetweenFiniteNumbers)
{
  using bits   = bits_t<TypeParam>;
  using limits = std::numeric_limits<TypeParam>;
  key_order<bits, true> const order{0};
  auto const exists = [&](TypeParam least, TypeParam greatest) {
    return value_map<bits>::over(order, order.rank_of(bits_of(least)), order.rank_of(bits_of(greatest)), 10, 0)
      .exists();
  };
  EXPECT_TRUE(exists(-1, 1));
  EXPECT_FALSE(exists(1, 1));
  EXPECT_FALSE(exists(-TypeParam{0}, 0));
  EXPECT_FALSE(exists(0, limits::infinity()));
  EXPECT_FALSE(exists(-limits::infinity(), 0));
  EXPECT_FALSE(exists(0, limits::quiet_NaN()));
  // Their distance has to be a double.
  EXPECT_EQ(exists(-limits::max(), limits::max()), sizeof(TypeParam) == 4);
  EXPECT_FALSE(exists(0, limits::denorm_min()));
}

TYPED_TEST(ValueMap, SharesItsPlaceWithOneOfRanks)
{
  using bits = bits_t<TypeParam>;
  key_order<bits, true> const order{0};
  auto const ranks =
    bucket_map<bits>::over(order.rank_of(bits_of(TypeParam{-3})), order.rank_of(bits_of(TypeParam{5})), 12);
  auto const values =
    value_map<bits>::over(order, order.rank_of(bits_of(TypeParam{-3})), order.rank_of(bits_of(TypeParam{5})), 12, 0);
  rank_or_value_map<bits> const by_rank(ranks), by_value(values);
  auto const again = static_cast<bucket_map<bits>>(by_rank);
  EXPECT_EQ(again.low, ranks.low);
  EXPECT_EQ(again.scale, ranks.scale);
  EXPECT_EQ(again.shift, ranks.shift);
  EXPECT_EQ(again.last, ranks.last);
  for (TypeParam const number : many_numbers<TypeParam>())
  {
    bits const rank = order.rank_of(bits_of(number));
    ASSERT_EQ(by_rank(order, rank), ranks(rank));
    ASSERT_EQ(by_value(order, rank), values(order, rank));
  }
}

// Keys of an even input that is taken for uneven are sorted, but take their time. A bucket's part of the sample is a number
// of rare events, so that the chance that any has too much is known.
TEST(MostInSample, IsMoreThanEvenBucketsEverHave)
{
  constexpr double samples = look_threads * samples_per_thread;
  constexpr int tile       = sort_tile_for(4, 0, sort_class::bucket);
  for (double log2 = 16.01; log2 < 28.08; log2 += 0.05)
  {
    auto const n             = static_cast<std::size_t>(std::exp2(log2));
    double const buckets     = std::exp2(buckets_log2_for(n));
    double const mean        = samples / buckets;
    std::uint32_t const most = most_in_sample(n, tile);
    double chance            = 0;
    for (std::uint32_t met = most + 1; met < most + 100; ++met)
    {
      chance += std::exp(met * std::log(mean) - mean - std::lgamma(met + 1.0));
    }
    EXPECT_LT(chance * buckets, 1e-4) << n << " keys, " << most << " of the sample";
  }
}

} // namespace
} // namespace gpusort::radix
