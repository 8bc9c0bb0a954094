// Which bucket a rank belongs to: never out of order, evenly shared out, and right at both ends of the type.
#include <gpusort/radix/bucket_map.h>
#include <gpusort/radix/key_order.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace gpusort::radix
{
namespace
{

template <class Bits>
inline constexpr Bits greatest_of = static_cast<Bits>(~Bits{0});

template <class Bits>
inline constexpr int width_of = static_cast<int>(sizeof(Bits)) * 8;

template <class Bits>
std::string text(Bits rank)
{
  auto const wide = static_cast<unsigned __int128>(rank);
  std::ostringstream out;
  out << std::hex << "0x" << static_cast<std::uint64_t>(wide >> 64) << "'" << static_cast<std::uint64_t>(wide);
  return out.str();
}

template <class Bits>
std::string text(bucket_map<Bits> const& map)
{
  return "low " + text(map.low) + ", scale " + std::to_string(map.scale) + ", shift " + std::to_string(map.shift);
}

/// Of any magnitude: a uniform one would hardly ever be small.
template <class Bits>
Bits random_rank(std::mt19937_64& random)
{
  unsigned __int128 const all = static_cast<unsigned __int128>(random()) << 64 | random();
  return static_cast<Bits>(static_cast<Bits>(all) >> random() % static_cast<unsigned>(width_of<Bits>));
}

/// `rank` + `by`, or the end of the type that lies in that direction.
template <class Bits>
Bits moved(Bits rank, std::int64_t by)
{
  auto const distance = static_cast<std::uint64_t>(by < 0 ? -by : by);
  Bits const room     = by < 0 ? rank : static_cast<Bits>(greatest_of<Bits> - rank);
  if (room < distance)
  {
    return by < 0 ? Bits{0} : greatest_of<Bits>;
  }
  return by < 0 ? static_cast<Bits>(rank - static_cast<Bits>(distance))
                : static_cast<Bits>(rank + static_cast<Bits>(distance));
}

/// Ranks where a mistake would show: the ends of the type, of the sample and of the map, and any.
template <class Bits>
std::vector<Bits> telling_ranks(bucket_map<Bits> const& map, Bits least, Bits greatest, std::mt19937_64& random)
{
  std::vector<Bits> ranks;
  for (Bits const around : {Bits{0}, greatest_of<Bits>, least, greatest, map.low})
  {
    for (std::int64_t by = -3; by <= 3; ++by)
    {
      ranks.push_back(moved(around, by));
    }
  }
  for (std::int64_t by = 0; by <= 300; ++by)
  {
    ranks.push_back(moved(map.low, by));
    // About where buckets begin.
    Bits const begin = static_cast<Bits>(least + static_cast<Bits>(static_cast<Bits>(greatest - least) / 256 * by));
    ranks.push_back(begin);
    ranks.push_back(moved(begin, -1));
  }
  for (int bit = 0; bit < width_of<Bits>; ++bit)
  {
    ranks.push_back(static_cast<Bits>(Bits{1} << bit));
    ranks.push_back(static_cast<Bits>(map.low + static_cast<Bits>(Bits{1} << bit)));
  }
  for (int i = 0; i < 300; ++i)
  {
    ranks.push_back(random_rank<Bits>(random));
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

template <class Bits>
void expect_monotone(bucket_map<Bits> const& map, Bits least, Bits greatest, std::mt19937_64& random)
{
  unsigned before = 0;
  for (Bits const rank : telling_ranks(map, least, greatest, random))
  {
    unsigned const bucket = map(rank);
    ASSERT_LT(bucket, 256u) << text(rank) << " with " << text(map);
    ASSERT_GE(bucket, before) << text(rank) << " with " << text(map);
    before = bucket;
  }
}

/// The least and the greatest rank of samples: of any width anywhere, and those around the two ends of the type.
template <class Bits>
std::vector<std::pair<Bits, Bits>> samples(std::mt19937_64& random)
{
  std::vector<std::pair<Bits, Bits>> all{{Bits{0}, greatest_of<Bits>}};
  for (std::int64_t const span : {0, 1, 2, 100, 127, 128, 253, 254, 255, 256, 257, 511, 512, 1000, 65534, 65535, 65536})
  {
    for (std::int64_t const from_end : {0, 1, 2, 63, 127, 128, 129, 254, 255, 256, 300})
    {
      Bits const low  = moved(Bits{0}, from_end);
      Bits const high = moved(greatest_of<Bits>, -from_end);
      all.emplace_back(low, moved(low, span));
      all.emplace_back(moved(high, -span), high);
    }
    Bits const any = random_rank<Bits>(random);
    all.emplace_back(any, moved(any, span));
  }
  for (int i = 0; i < 300; ++i)
  {
    Bits const a = random_rank<Bits>(random);
    Bits const b = i % 2 == 0 ? random_rank<Bits>(random) : static_cast<Bits>(a ^ random_rank<Bits>(random));
    all.emplace_back(std::min(a, b), std::max(a, b));
  }
  return all;
}

template <class Bits>
class bucket_map_of : public ::testing::Test
{};

using rank_types = ::testing::Types<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, unsigned __int128>;
TYPED_TEST_SUITE(bucket_map_of, rank_types, );

TYPED_TEST(bucket_map_of, OverASampleInvertsNoTwoRanks)
{
  using bits = TypeParam;
  std::mt19937_64 random(1);
  for (auto const& [least, greatest] : samples<bits>(random))
  {
    expect_monotone(bucket_map<bits>::over(least, greatest), least, greatest, random);
    if (this->HasFatalFailure())
    {
      return;
    }
  }
}

TYPED_TEST(bucket_map_of, OverASampleTellsItsEndsApart)
{
  using bits = TypeParam;
  std::mt19937_64 random(2);
  for (auto const& [least, greatest] : samples<bits>(random))
  {
    auto const map = bucket_map<bits>::over(least, greatest);
    if (least != greatest)
    {
      ASSERT_LT(map(least), map(greatest)) << text(least) << " to " << text(greatest) << ", " << text(map);
    }
    if (static_cast<bits>(greatest - least) > bits{255})
    {
      // Rounding outwards takes no more than a 64th at either end.
      ASSERT_GE(map(greatest) - map(least), 240u) << text(least) << " to " << text(greatest) << ", " << text(map);
    }
  }
}

TYPED_TEST(bucket_map_of, ANarrowSampleIsToldApartRankByRank)
{
  using bits = TypeParam;
  std::mt19937_64 random(3);
  for (auto const& [least, greatest] : samples<bits>(random))
  {
    auto const map = bucket_map<bits>::over(least, greatest);
    SCOPED_TRACE(text(least) + " to " + text(greatest) + ", " + text(map));
    ASSERT_EQ(map.tells_ranks_apart(), static_cast<bits>(greatest - least) <= bits{255});
    if (!map.tells_ranks_apart())
    {
      continue;
    }
    ASSERT_FALSE(map.is_outside(least));
    ASSERT_FALSE(map.is_outside(greatest));

    // All ranks of a small type; otherwise those of a window, the ends of the type, and some.
    std::vector<bits> ranks;
    if (width_of<bits> <= 16)
    {
      for (unsigned rank = 0; rank <= static_cast<unsigned>(greatest_of<bits>); ++rank)
      {
        ranks.push_back(static_cast<bits>(rank));
      }
    }
    else
    {
      for (std::int64_t by = -600; by <= 900; ++by)
      {
        ranks.push_back(moved(map.low, by));
        ranks.push_back(by < 0 ? moved(greatest_of<bits>, by) : moved(bits{0}, by));
      }
      for (int i = 0; i < 300; ++i)
      {
        ranks.push_back(random_rank<bits>(random));
      }
      ranks.push_back(greatest_of<bits>);
      std::sort(ranks.begin(), ranks.end());
      ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    }
    unsigned inside = 0;
    for (bits const rank : ranks)
    {
      if (!map.is_outside(rank))
      {
        // The next bucket is its own.
        ASSERT_EQ(map(rank), inside) << text(rank);
        ++inside;
      }
      else
      {
        ASSERT_EQ(map(rank), inside == 0 ? 0u : 255u) << text(rank);
        ASSERT_TRUE(inside == 0 || inside == 256) << text(rank);
      }
    }
    ASSERT_EQ(inside, 256u) << "no bucket is left over, and none is shared";
  }
}

TYPED_TEST(bucket_map_of, ASampleAllAlikeSharesItsBucketWithNoOtherRank)
{
  using bits = TypeParam;
  std::mt19937_64 random(4);
  for (auto const& [rank, unused] : samples<bits>(random))
  {
    auto const map = bucket_map<bits>::over(rank, rank);
    std::vector<bits> others{0, greatest_of<bits>};
    for (std::int64_t by = -300; by <= 300; ++by)
    {
      others.push_back(moved(rank, by));
    }
    for (int i = 0; i < 100; ++i)
    {
      others.push_back(random_rank<bits>(random));
    }
    for (bits const other : others)
    {
      if (other != rank)
      {
        ASSERT_EQ(map(other) < map(rank), other < rank) << text(other) << " beside " << text(rank) << ", " << text(map);
        ASSERT_EQ(map(rank) < map(other), rank < other) << text(other) << " beside " << text(rank) << ", " << text(map);
      }
    }
  }
}

TYPED_TEST(bucket_map_of, RangesBetweenMultiplesOfPowersOfTwoAreSharedOutEvenly)
{
  using bits = TypeParam;
  std::mt19937_64 random(5);
  // A type of one byte has one such range: all of it.
  for (int m = width_of<bits> == 8 ? 8 : 9; m <= width_of<bits>; ++m)
  {
    for (int round = 0; round < 20; ++round)
    {
      // In two steps, because no integer can be shifted by its width.
      bits const begin =
        static_cast<bits>(static_cast<bits>(random_rank<bits>(random) >> (m - 1) >> 1) << (m - 1) << 1);
      bits const end = static_cast<bits>(begin + static_cast<bits>(greatest_of<bits> >> (width_of<bits> - m)));
      // The ends of the sample, as close to those of the range as a sample of a thousand or two comes.
      int const free_bits = m > 8 ? m - 7 : 0;
      auto const distance = [&] { return static_cast<bits>(random_rank<bits>(random) & ((bits{1} << free_bits) - 1)); };
      bool const is_exact = round == 0;
      bits const least    = static_cast<bits>(begin + (is_exact ? bits{0} : distance()));
      bits const greatest = static_cast<bits>(end - (is_exact ? bits{0} : distance()));
      auto const map      = bucket_map<bits>::over(least, greatest);
      for (unsigned b = 0; b < 256; ++b)
      {
        bits const first = static_cast<bits>(begin + static_cast<bits>(static_cast<bits>(b) << (m - 8)));
        bits const last  = static_cast<bits>(first + static_cast<bits>((bits{1} << (m - 8)) - 1));
        ASSERT_EQ(map(first), b) << m << " bits from " << text(begin) << ", " << text(map);
        ASSERT_EQ(map(last), b) << m << " bits from " << text(begin) << ", " << text(map);
      }
    }
  }
}

TYPED_TEST(bucket_map_of, ByDigitIsTheDigitOfRanksWithTheSameHigherDigits)
{
  using bits = TypeParam;
  constexpr key_order<bits, false> as_it_is{0};
  std::mt19937_64 random(6);
  for (int d = 0; d < as_it_is.digits; ++d)
  {
    for (int round = 0; round < 200; ++round)
    {
      bits const rank = random_rank<bits>(random);
      auto const map  = bucket_map<bits>::by_digit(rank, d);
      SCOPED_TRACE("digit " + std::to_string(d) + " of " + text(rank) + ", " + text(map));
      ASSERT_EQ(map.tells_ranks_apart(), d == 0);
      expect_monotone(map, rank, rank, random);
      ASSERT_FALSE(this->HasFatalFailure());

      bits const lower = static_cast<bits>(greatest_of<bits> >> (width_of<bits> - digit_bits * (d + 1)));
      for (int i = 0; i < 50; ++i)
      {
        bits const any = random_rank<bits>(random);
        bits const kin = static_cast<bits>((rank & static_cast<bits>(~lower)) | (any & lower));
        ASSERT_EQ(map(kin), as_it_is.digit(kin, d)) << text(kin);
        ASSERT_TRUE(d != 0 || !map.is_outside(kin)) << text(kin);
        if ((any | lower) != (rank | lower))
        {
          ASSERT_EQ(map(any), any < rank ? 0u : 255u) << text(any);
          ASSERT_TRUE(d != 0 || map.is_outside(any)) << text(any);
        }
      }
    }
  }
}

} // namespace
} // namespace gpusort::radix
