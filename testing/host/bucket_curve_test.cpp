// Buckets by a curve, by host code alone: in order, in range, never of no width, and of about as many keys each whatever their distribution, if that is smooth.
#include <gpusort/radix/bucket_curve.h>
#include <gpusort/radix/bucket_map.h>
#include <gpusort/radix/key_order.h>
#include <gpusort/radix/tuning.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

namespace gpusort::radix
{
namespace
{

using cells_of_curve = std::array<curve_cell, curve_cells>;

/// The cells of samples at such positions, as the blocks of a look make them.
cells_of_curve cells_of(std::vector<std::uint32_t> const& positions)
{
  std::array<std::uint32_t, curve_cells> up_to{};
  for (std::uint32_t const position : positions)
  {
    ++up_to[cell_of(position)];
  }
  std::partial_sum(up_to.begin(), up_to.end(), up_to.begin());
  std::array<std::uint32_t, curve_cells> shares{};
  std::uint64_t all = 0;
  for (int cell = 0; cell < curve_cells; ++cell)
  {
    shares[cell] = share_of_cell(cell, static_cast<std::uint32_t>(positions.size()), [&](int i) { return up_to[i]; });
    all += shares[cell];
  }
  cells_of_curve cells{};
  std::uint64_t below = 0;
  for (int cell = 0; cell < curve_cells; ++cell)
  {
    cells[cell] = cell_of_share(below, shares[cell], all);
    below += shares[cell];
  }
  return cells;
}

/// Positions as they are.
struct same_positions
{
  struct order
  {};

  std::uint32_t operator()(order, std::uint32_t rank) const
  {
    return rank;
  }
};

constexpr std::uint32_t positions = std::uint32_t{1} << position_bits;
constexpr std::size_t samples     = look_threads * samples_per_thread;

TEST(BucketCurve, KeepsTheOrderAndTheRange)
{
  std::mt19937_64 random(5);
  for (int round = 0; round < 200; ++round)
  {
    // All in one position, in few, or spread over part of them or all.
    std::uint32_t const width = std::uint32_t{1} << random() % (position_bits + 1);
    std::uint32_t const from  = static_cast<std::uint32_t>(random() % (positions - width + 1));
    std::vector<std::uint32_t> sample(samples);
    std::generate(sample.begin(), sample.end(), [&] { return from + static_cast<std::uint32_t>(random() % width); });
    cells_of_curve const cells = cells_of(sample);
    ASSERT_EQ(cells[0].below, 0u);
    std::uint64_t below = 0;
    for (curve_cell const& cell : cells)
    {
      ASSERT_EQ(cell.below, below);
      ASSERT_GT(cell.own, std::uint64_t{1} << 32 >> (curve_cells_log2 + 8))
        << "keys where the sample has none have buckets, too";
      below += cell.own;
    }
    ASSERT_EQ(below, std::uint64_t{1} << 32);

    int const log2 = 8 + static_cast<int>(random() % 9);
    curve_map<same_positions> const map{{}, cells.data(), 32 - log2};
    std::uint32_t before = 0;
    for (std::uint32_t position = 0; position < positions; position += 1 + static_cast<std::uint32_t>(random() % 5000))
    {
      std::uint32_t const bucket = map(same_positions::order{}, position);
      ASSERT_LE(before, bucket);
      before = bucket;
    }
    EXPECT_EQ(map(same_positions::order{}, 0u), 0u);
    EXPECT_EQ(map(same_positions::order{}, positions - 1), (1u << log2) - 1);
  }
}

// By rank: whatever a sample spans, from one rank to all of them, and at either end of what there is.
TEST(BucketCurve, HasPositionsOfAllRanks)
{
  std::mt19937_64 random(11);
  for (int round = 0; round < 2000; ++round)
  {
    std::uint64_t const span  = random() >> random() % 64;
    std::uint64_t const rest  = ~std::uint64_t{0} - span;
    std::uint64_t const least = round % 3 == 0 ? 0 : round % 3 == 1 ? rest : rest == 0 ? 0 : random() % rest;
    auto const map = bucket_map<std::uint64_t>::with_margins(least, least + span, position_bits, margin_of_curve_log2);
    std::vector<std::uint64_t> ranks = {0, least, least + span, ~std::uint64_t{0}};
    for (int i = 0; i < 50; ++i)
    {
      ranks.push_back(random() >> random() % 64);
      ranks.push_back(least + (span == ~std::uint64_t{0} ? random() : random() % (span + 1)));
    }
    std::sort(ranks.begin(), ranks.end());
    std::uint32_t before = 0;
    for (std::uint64_t const rank : ranks)
    {
      std::uint32_t const position = map(rank);
      ASSERT_LE(before, position);
      ASSERT_LT(position, positions);
      before = position;
    }
    // A sample has at least a quarter of the positions, or one for each rank.
    EXPECT_GE(map(least + span) - map(least) + 1, std::min<std::uint64_t>(span, positions / 4));
  }
}

/// The share of the fullest bucket of 2^log2 in a mean one, of keys whose sample makes the curve.
double fullest(int log2, std::function<double(std::mt19937_64&)> const& number)
{
  using bits = std::uint64_t;
  key_order<bits, true> const order{0};
  std::mt19937_64 random(7);
  auto const next = [&] {
    double const key = number(random);
    bits own;
    std::memcpy(&own, &key, sizeof key);
    return order.rank_of(own);
  };
  std::vector<bits> sample(samples);
  std::generate(sample.begin(), sample.end(), next);
  auto const [least, greatest] = std::minmax_element(sample.begin(), sample.end());
  auto const to_positions      = value_map<bits>::over(order, *least, *greatest, position_bits, margin_of_curve);
  EXPECT_TRUE(to_positions.exists());
  std::vector<std::uint32_t> at;
  for (bits const rank : sample)
  {
    at.push_back(to_positions(order, rank));
  }
  cells_of_curve const cells = cells_of(at);
  curve_map<value_map<bits>> const map{to_positions, cells.data(), 32 - log2};

  std::size_t const mean = 1000;
  std::vector<std::size_t> counts(std::size_t{1} << log2);
  for (std::size_t i = 0; i < mean << log2; ++i)
  {
    ++counts[map(order, next())];
  }
  return static_cast<double>(*std::max_element(counts.begin(), counts.end())) / mean;
}

// Buckets by a curve hold 4608 keys or more, and 2048 on average where n is a power of two. 2^11 buckets, as a billion keys would take long.
TEST(BucketCurve, MakesSmoothDistributionsEven)
{
  constexpr int log2 = 11;
  std::normal_distribution<double> normal;
  std::exponential_distribution<double> exponential;
  auto const even = [](std::mt19937_64& random) { return std::uniform_real_distribution<double>{}(random); };
  EXPECT_LT(fullest(log2, even), 2.2);
  EXPECT_LT(fullest(log2, normal), 2.2);
  EXPECT_LT(fullest(log2, exponential), 2.2);
  EXPECT_LT(fullest(log2, [&](std::mt19937_64& random) { return even(random) + even(random); }), 2.2);
  EXPECT_LT(fullest(log2, [&](std::mt19937_64& random) { return even(random) * even(random); }), 4);
  EXPECT_LT(
    fullest(log2,
            [&](std::mt19937_64& random) { return even(random) < 0.3 ? normal(random) : 6 + normal(random) / 5; }),
    2.2);
  // What has many of one key it cannot.
  EXPECT_GT(fullest(log2, [&](std::mt19937_64& random) { return even(random) < 0.1 ? 0.5 : even(random); }), 100);
}

// Even keys go to buckets of equal width, which takes less, whatever the sample.
TEST(BucketCurve, IsNotForEvenKeys)
{
  std::mt19937_64 random(3);
  for (int log2 = 9; log2 <= 16; ++log2)
  {
    std::size_t const n    = mean_bucket << log2;
    std::size_t const most = most_expected_or_curve(n, log2, sort_tile_for(8, 4, sort_class::bucket));
    for (int round = 0; round < 100; ++round)
    {
      std::vector<std::uint32_t> counts(std::size_t{1} << log2);
      std::size_t meetings = 0;
      for (std::size_t i = 0; i < samples; ++i)
      {
        meetings += counts[random() >> (64 - log2)]++;
      }
      ASSERT_LE(meetings * n, most * (samples * (samples - 1) / 2)) << log2;
    }
    EXPECT_LT(most, log2 <= 13 ? mean_bucket * 5 / 4 : mean_bucket * 7 / 5) << "uneven ones are told";
  }
}

} // namespace
} // namespace gpusort::radix
