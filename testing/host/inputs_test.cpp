// What each distribution promises, over key types of every kind.
#include <testing/support/inputs.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

namespace
{

using gpusort::testing::all_distributions;
using gpusort::testing::distribution;
using gpusort::testing::element;
using gpusort::testing::generate;
using gpusort::testing::name_of;
using gpusort::testing::parse_distribution;

using wide = unsigned __int128;

enum class colour : std::int8_t
{
};

struct named
{
  std::uint32_t number;
  std::uint32_t square;
};

template <class Key>
std::vector<Key> keys_of(distribution d, std::size_t n, std::uint64_t seed = 7)
{
  std::vector<Key> keys(n);
  generate(d, seed, keys.data(), n);
  return keys;
}

template <class Key>
double as_number(Key key)
{
  if constexpr (std::is_enum_v<Key>)
  {
    return static_cast<double>(static_cast<std::underlying_type_t<Key>>(key));
  }
  else if constexpr (std::is_same_v<Key, __half> || std::is_same_v<Key, __nv_bfloat16>)
  {
    return static_cast<double>(static_cast<float>(key));
  }
  else
  {
    return static_cast<double>(key);
  }
}

template <class Key>
std::size_t distinct(std::vector<Key> const& keys)
{
  return std::set<Key>(keys.begin(), keys.end()).size();
}

constexpr std::size_t sizes[] = {1, 2, 3, 31, 64, 1000, 4099};

} // namespace

template <>
struct gpusort::testing::key_from_bits<named>
{
  using fraction = std::uint64_t;
  static named make(fraction x)
  {
    auto const number = static_cast<std::uint32_t>(x >> 32);
    return {number, number * number};
  }
};

TEST(Names, GoBothWays)
{
  EXPECT_EQ(std::size(all_distributions), 24u);
  std::set<std::string> names;
  for (distribution const d : all_distributions)
  {
    EXPECT_EQ(parse_distribution(name_of(d)), d) << name_of(d);
    names.insert(name_of(d));
  }
  EXPECT_EQ(names.size(), std::size(all_distributions));
  EXPECT_FALSE(parse_distribution("unifrom").has_value());
  EXPECT_FALSE(parse_distribution("").has_value());
}

template <class Key>
class Keys : public ::testing::Test
{};

struct type_names
{
  template <class Key>
  static std::string GetName(int)
  {
    // clang-format off
    if (std::is_same_v<Key, bool>) return "bool";
    if (std::is_same_v<Key, colour>) return "enum";
    if (std::is_same_v<Key, __half>) return "f16";
    if (std::is_same_v<Key, __nv_bfloat16>) return "bf16";
    if (std::is_same_v<Key, wide>) return "u128";
    if (std::is_same_v<Key, __int128>) return "i128";
    // clang-format on
    std::string const kind = std::is_floating_point_v<Key> ? "f" : std::is_signed_v<Key> ? "i" : "u";
    return kind + std::to_string(8 * sizeof(Key));
  }
};

using key_types =
  ::testing::Types<std::uint8_t,
                   std::int8_t,
                   std::uint16_t,
                   std::int16_t,
                   std::uint32_t,
                   std::int32_t,
                   std::uint64_t,
                   std::int64_t,
                   wide,
                   __int128,
                   float,
                   double,
                   __half,
                   __nv_bfloat16,
                   bool,
                   colour>;
TYPED_TEST_SUITE(Keys, key_types, type_names);

template <class Number>
class Numbers : public ::testing::Test
{};
using number_types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Numbers, number_types, type_names);

TYPED_TEST(Numbers, AreEvenOrNormalByValue)
{
  constexpr std::size_t n = 20000;
  double sum_of_unit = 0, sum = 0, squares = 0;
  std::size_t below_a_quarter = 0;
  for (std::size_t i = 0; i < n; ++i)
  {
    auto const unit   = element<TypeParam>(distribution::unit, 5, i, n);
    auto const normal = element<TypeParam>(distribution::normal, 5, i, n);
    ASSERT_GE(unit, 0);
    ASSERT_LT(unit, 1);
    sum_of_unit += unit;
    below_a_quarter += unit < TypeParam{0.25} ? 1 : 0;
    sum += normal;
    squares += static_cast<double>(normal) * static_cast<double>(normal);
  }
  EXPECT_NEAR(sum_of_unit / n, 0.5, 0.01);
  EXPECT_NEAR(static_cast<double>(below_a_quarter) / n, 0.25, 0.02);
  EXPECT_NEAR(sum / n, 0.0, 0.03);
  EXPECT_NEAR(squares / n, 1.0, 0.05);
}

TYPED_TEST(Keys, AreAFunctionOfSeedAndIndex)
{
  for (distribution const d : all_distributions)
  {
    std::size_t const n = 1000;
    std::vector<unsigned char> twice[2];
    for (auto& bytes : twice)
    {
      TypeParam keys[n];
      generate(d, 3, keys, n);
      bytes.resize(sizeof(keys));
      std::memcpy(bytes.data(), keys, sizeof(keys));
    }
    EXPECT_EQ(twice[0], twice[1]) << name_of(d);

    for (std::size_t i = 0; i < n; i += 37)
    {
      TypeParam const key = element<TypeParam>(d, 3, i, n);
      EXPECT_EQ(std::memcmp(&key, twice[0].data() + i * sizeof(key), sizeof(key)), 0) << name_of(d) << " at " << i;
    }
  }
}

TYPED_TEST(Keys, KeepTheOrderOfFractions)
{
  using make     = gpusort::testing::key_from_bits<TypeParam>;
  using fraction = typename make::fraction;

  double last              = as_number(make::make(0));
  std::size_t const points = 100000;
  std::set<double> seen;
  for (std::size_t i = 0; i <= points; ++i)
  {
    double const key = as_number(make::make(i == points ? ~fraction{0} : ~fraction{0} / points * i));
    ASSERT_TRUE(std::isfinite(key)) << i;
    ASSERT_LE(last, key) << i;
    last = key;
    seen.insert(key);
  }
  constexpr bool is_bool = std::is_same_v<TypeParam, bool>;
  bool const is_signed   = static_cast<TypeParam>(-1) < static_cast<TypeParam>(0);
  EXPECT_EQ(as_number(make::make(0)) < 0, is_signed);
  EXPECT_GT(last, 0);
  std::size_t const many = sizeof(TypeParam) > 2 ? points : sizeof(TypeParam) == 2 ? 60000 : is_bool ? 2 : 256;
  EXPECT_GE(seen.size(), many);
}

TYPED_TEST(Keys, AreInTheOrderThatTheNameSays)
{
  for (std::size_t const n : sizes)
  {
    auto const at = [n](distribution d, std::size_t i) { return as_number(element<TypeParam>(d, 11, i, n)); };
    std::size_t const length = gpusort::testing::inputs::run_length(n);
    for (std::size_t i = 1; i < n; ++i)
    {
      ASSERT_LE(at(distribution::sorted, i - 1), at(distribution::sorted, i)) << i << " of " << n;
      ASSERT_GE(at(distribution::reversed, i - 1), at(distribution::reversed, i)) << i << " of " << n;
      ASSERT_EQ(at(distribution::zero, i - 1), at(distribution::zero, i)) << i << " of " << n;
      if (i % length != 0)
      {
        ASSERT_LE(at(distribution::runs, i - 1), at(distribution::runs, i)) << i << " of " << n;
      }
      if (i < (n + 1) / 2)
      {
        ASSERT_LE(at(distribution::organ_pipe, i - 1), at(distribution::organ_pipe, i)) << i << " of " << n;
      }
      if (i > (n + 1) / 2)
      {
        ASSERT_GE(at(distribution::organ_pipe, i - 1), at(distribution::organ_pipe, i)) << i << " of " << n;
      }
    }
  }
}

TEST(Uniform, DependsOnTheSeedAndFillsEveryDigit)
{
  EXPECT_NE(keys_of<std::uint32_t>(distribution::uniform, 100, 1),
            keys_of<std::uint32_t>(distribution::uniform, 100, 2));

  std::size_t const n = 1 << 16;
  auto const keys     = keys_of<wide>(distribution::uniform, n);
  for (int digit = 0; digit < 16; ++digit)
  {
    std::size_t count[256] = {};
    for (wide const key : keys)
    {
      ++count[static_cast<unsigned>(key >> (8 * digit)) & 255];
    }
    // 256 expected in each, 16 the standard deviation.
    EXPECT_GT(*std::min_element(count, count + 256), 256u - 6 * 16) << digit;
    EXPECT_LT(*std::max_element(count, count + 256), 256u + 6 * 16) << digit;
  }
}

TEST(Sorted, FillsTheLowDigitsOfWideKeys)
{
  std::set<std::uint64_t> low;
  for (wide const key : keys_of<wide>(distribution::sorted, 1 << 12))
  {
    low.insert(static_cast<std::uint64_t>(key));
  }
  EXPECT_GT(low.size(), 4000u);
}

TEST(Sorted, CoversTheRange)
{
  auto const keys = keys_of<std::uint8_t>(distribution::sorted, 1000);
  EXPECT_EQ(distinct(keys), 256u);
}

TEST(NearlySorted, HasAboutOneElementInAHundredOutOfPlace)
{
  std::size_t const n   = 100000;
  auto const keys       = keys_of<std::uint64_t>(distribution::nearly_sorted, n);
  auto const sorted     = keys_of<std::uint64_t>(distribution::sorted, n);
  std::size_t elsewhere = 0;
  for (std::size_t i = 0; i < n; ++i)
  {
    elsewhere += keys[i] != sorted[i];
  }
  EXPECT_GT(elsewhere, 800u);
  EXPECT_LT(elsewhere, 1200u);
}

TEST(Zero, IsDrawnAtRandom)
{
  std::set<std::uint32_t> seen;
  for (std::uint64_t seed = 0; seed < 10; ++seed)
  {
    seen.insert(keys_of<std::uint32_t>(distribution::zero, 5, seed).front());
  }
  EXPECT_EQ(seen.size(), 10u);
}

TEST(Bucket, HasASectionForEachPartOfTheRangeInEachBlock)
{
  std::size_t const p = 128, section = 3, n = p * p * section;
  auto const keys = keys_of<std::uint32_t>(distribution::bucket, n);
  for (std::size_t i = 0; i < n; ++i)
  {
    ASSERT_EQ(keys[i] >> 25, i / section % p) << i;
  }
}

TEST(Gaussian, HasTheMomentsOfAMeanOfFour)
{
  std::size_t const n = 100000;
  double sum = 0, squares = 0;
  for (std::uint64_t const key : keys_of<std::uint64_t>(distribution::gaussian, n))
  {
    double const x = std::ldexp(static_cast<double>(key), -64) - 0.5;
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / n, 0, 0.003);
  EXPECT_NEAR(squares / n, 1.0 / 48, 0.001);
}

TEST(Staggered, GivesEachBlockOnePartOfTheRange)
{
  std::size_t const p = 128, block = 5, n = p * block;
  auto const keys = keys_of<std::uint32_t>(distribution::staggered, n);
  std::set<std::uint32_t> parts;
  for (std::size_t i = 0; i < n; ++i)
  {
    std::size_t const b = i / block;
    ASSERT_EQ(keys[i] >> 25, b < p / 2 ? 2 * b + 1 : 2 * b - p) << i;
    parts.insert(keys[i] >> 25);
  }
  EXPECT_EQ(parts.size(), p);
}

TEST(FewDistinct, HasSixteenValuesInEveryTypeThatHoldsThem)
{
  EXPECT_EQ(distinct(keys_of<std::uint8_t>(distribution::few_distinct, 1000)), 16u);
  EXPECT_EQ(distinct(keys_of<std::int64_t>(distribution::few_distinct, 1000)), 16u);
  EXPECT_EQ(distinct(keys_of<float>(distribution::few_distinct, 1000)), 16u);
  EXPECT_EQ(distinct(keys_of<wide>(distribution::few_distinct, 1000)), 16u);
}

TEST(TwoValues, AreTwoAndAboutAsOften)
{
  std::size_t const n = 10000;
  auto const keys     = keys_of<std::uint64_t>(distribution::two_values, n);
  EXPECT_EQ(distinct(keys), 2u);
  auto const first = std::count(keys.begin(), keys.end(), keys[0]);
  EXPECT_NEAR(static_cast<double>(first), n / 2.0, 300);
}

/// The bits in which any of the keys differs from another.
template <class Key>
Key varying_bits(std::vector<Key> const& keys)
{
  Key bits = 0;
  for (Key const key : keys)
  {
    bits |= key ^ keys[0];
  }
  return bits;
}

TEST(Coarse, LeavesTheLowBitsOut)
{
  EXPECT_EQ(varying_bits(keys_of<std::uint32_t>(distribution::coarse, 10000)), 0xffffff00u);
  EXPECT_EQ(varying_bits(keys_of<std::uint64_t>(distribution::coarse, 10000)), 0xffffff0000000000u);
  EXPECT_EQ(varying_bits(keys_of<wide>(distribution::coarse, 10000)), wide{0xffffff} << 104);
  EXPECT_EQ(keys_of<std::uint16_t>(distribution::coarse, 100), keys_of<std::uint16_t>(distribution::uniform, 100));
}

TEST(EightBits, AreTheOnesThatVary)
{
  EXPECT_EQ(varying_bits(keys_of<std::uint32_t>(distribution::eight_bits, 10000)), 0xff00u);
  EXPECT_EQ(varying_bits(keys_of<std::uint64_t>(distribution::eight_bits, 10000)), 0xff0000000000u);
  EXPECT_EQ(varying_bits(keys_of<wide>(distribution::eight_bits, 10000)), wide{0xff} << 104);
  EXPECT_EQ(varying_bits(keys_of<std::uint16_t>(distribution::eight_bits, 10000)), 0u);
}

TEST(CommonPrefix, IsOfFortyEightBits)
{
  EXPECT_EQ(varying_bits(keys_of<std::uint64_t>(distribution::common_prefix, 10000)), 0xffffu);
  EXPECT_EQ(varying_bits(keys_of<wide>(distribution::common_prefix, 10000)), ~wide{0} >> 48);
  EXPECT_EQ(varying_bits(keys_of<std::uint32_t>(distribution::common_prefix, 10000)), 0u);
}

TEST(HalfAlike, IsHalfACommonPrefixAndHalfUniform)
{
  std::size_t const n        = 10000;
  auto const keys            = keys_of<std::uint64_t>(distribution::half_alike, n);
  std::uint64_t const prefix = keys_of<std::uint64_t>(distribution::common_prefix, 1)[0] >> 16;
  std::vector<std::uint64_t> others;
  for (std::uint64_t const key : keys)
  {
    if (key >> 16 != prefix)
    {
      others.push_back(key);
    }
  }
  EXPECT_NEAR(static_cast<double>(others.size()), n / 2.0, 300);
  EXPECT_EQ(distinct(others), others.size());
  EXPECT_EQ(varying_bits(others), ~std::uint64_t{0});
}

TEST(Zipf, HalvesFromOctaveToOctave)
{
  std::size_t const n = 240000;
  std::map<std::uint64_t, std::size_t> count;
  for (std::uint64_t const key : keys_of<std::uint64_t>(distribution::zipf, n))
  {
    ++count[key];
  }
  std::vector<std::size_t> ranked;
  for (auto const& entry : count)
  {
    ranked.push_back(entry.second);
  }
  std::sort(ranked.rbegin(), ranked.rend());
  EXPECT_NEAR(static_cast<double>(ranked[0]), 10000, 600);
  EXPECT_NEAR(static_cast<double>(ranked[1]), 5000, 500);
  EXPECT_NEAR(static_cast<double>(ranked[2]), 5000, 500);
  EXPECT_NEAR(static_cast<double>(ranked[3]), 2500, 300);
  EXPECT_NEAR(static_cast<double>(ranked[6]), 2500, 300);
  EXPECT_GT(ranked.size(), 50000u);
}

TEST(Entropy, SetsABitWithTheProbabilityOfAllSamplesHavingIt)
{
  std::size_t const n = 100000;
  for (int samples = 1; samples <= 5; ++samples)
  {
    auto const d    = parse_distribution("entropy_" + std::to_string(samples));
    auto const keys = keys_of<std::uint32_t>(d.value(), n);
    for (int bit = 0; bit < 32; ++bit)
    {
      std::size_t set = 0;
      for (std::uint32_t const key : keys)
      {
        set += key >> bit & 1;
      }
      double const expected = std::ldexp(1.0, -samples);
      EXPECT_NEAR(static_cast<double>(set) / n, expected, 5 * std::sqrt(expected / n)) << samples << ", bit " << bit;
    }
  }
  EXPECT_EQ(keys_of<int>(distribution::entropy_1, 100), keys_of<int>(distribution::uniform, 100));
}

TEST(Runs, EachCoverTheRange)
{
  std::size_t const n = 1 << 14, length = 128;
  EXPECT_EQ(gpusort::testing::inputs::run_length(n), length);
  auto const keys = keys_of<std::uint32_t>(distribution::runs, n);
  for (std::size_t i = 0; i < n; ++i)
  {
    ASSERT_EQ(keys[i] >> 25, i % length) << i;
  }
}

TEST(OrganPipe, GoesUpAndDownThroughAllParts)
{
  for (std::size_t const n : {4u, 5u, 1024u})
  {
    auto keys = keys_of<std::uint64_t>(distribution::organ_pipe, n);
    EXPECT_EQ(distinct(keys), n);
    std::size_t const top = static_cast<std::size_t>(std::max_element(keys.begin(), keys.end()) - keys.begin());
    EXPECT_EQ(top, n / 2) << n;
  }
}

TEST(Floats, HaveBothSignsAndBothZeros)
{
  std::size_t negative = 0, zeros[2] = {};
  std::size_t const n = 1 << 20;
  for (__half const key : keys_of<__half>(distribution::uniform, n))
  {
    float const value = static_cast<float>(key);
    negative += std::signbit(value);
    if (value == 0)
    {
      ++zeros[std::signbit(value)];
    }
  }
  EXPECT_NEAR(static_cast<double>(negative) / n, 0.5, 0.01);
  EXPECT_GT(zeros[0], 0u);
  EXPECT_GT(zeros[1], 0u);
}

TEST(Floats, ReachFromTheLeastToTheGreatestFiniteValue)
{
  using float_key  = gpusort::testing::key_from_bits<float>;
  using double_key = gpusort::testing::key_from_bits<double>;
  EXPECT_EQ(float_key::make(0), std::numeric_limits<float>::lowest());
  EXPECT_EQ(float_key::make(~std::uint64_t{0}), std::numeric_limits<float>::max());
  EXPECT_EQ(double_key::make(0), std::numeric_limits<double>::lowest());
  EXPECT_EQ(double_key::make(~std::uint64_t{0}), std::numeric_limits<double>::max());
}

TEST(Scale, OfWideFractionsMatchesLongMultiplication)
{
  using gpusort::testing::inputs::scale;
  wide const top = ~wide{0};
  EXPECT_TRUE(scale(top, top) == top - 1);
  EXPECT_TRUE(scale(wide{1} << 127, top) == top >> 1);
  EXPECT_TRUE(scale(wide{1} << 64, wide{1} << 64) == 1);
  EXPECT_TRUE(scale((wide{1} << 64) - 1, (wide{1} << 64) - 1) == 0);
  EXPECT_TRUE(scale(top, (wide{1} << 64) + 5) == (wide{1} << 64) + 4);
}

TEST(CustomKeys, ComeThroughASpecialisation)
{
  auto const keys = keys_of<named>(distribution::sorted, 100);
  for (std::size_t i = 0; i < keys.size(); ++i)
  {
    EXPECT_EQ(keys[i].square, keys[i].number * keys[i].number);
    EXPECT_TRUE(i == 0 || keys[i - 1].number <= keys[i].number);
  }
}
