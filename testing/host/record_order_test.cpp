// Numbers inside records as integers that sort like them.
#include <gpusort/radix/record_order.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace gpusort::radix
{
namespace
{

struct record
{
  std::uint64_t wide;
  std::int32_t narrow;
  float real;
};
static_assert(has_words_v<record>);

struct short_record
{
  std::uint32_t a;
  double b;
} __attribute__((packed, aligned(4)));
static_assert(has_words_v<short_record>);

struct odd
{
  std::uint32_t a;
  std::uint16_t b;
} __attribute__((packed));
static_assert(!has_words_v<odd>);
struct long_record
{
  double of[3];
};
static_assert(!has_words_v<long_record>);

template <class Record>
record_words_t<Record> words_of(Record const& one)
{
  record_words_t<Record> words;
  std::memcpy(&words, &one, sizeof words);
  return words;
}

using order = record_order<record_words_t<record>>;

/// The fields that order pairs of records as `precedes` does.
template <class Precedes>
std::vector<unsigned> fields_like(std::vector<record> const& all, bool descends, Precedes precedes)
{
  std::vector<unsigned> found;
  for (unsigned field = 0; field < order::fields; ++field)
  {
    order const by = order::of(field, descends);
    bool is_like   = true;
    for (std::size_t i = 0; i + 1 < all.size(); ++i)
    {
      record const& a = all[i];
      record const& b = all[i + 1];
      is_like         = is_like && precedes(a, b) == (by.rank_of(words_of(a)) < by.rank_of(words_of(b)))
             && precedes(b, a) == (by.rank_of(words_of(b)) < by.rank_of(words_of(a)));
    }
    if (is_like)
    {
      found.push_back(field);
    }
  }
  return found;
}

std::vector<record> many_records()
{
  std::mt19937_64 random(3);
  std::vector<record> all;
  for (int i = 0; i < 5000; ++i)
  {
    record one{random(), static_cast<std::int32_t>(random()), 0};
    // Few values, so that some neighbours are alike; both zeros.
    float const reals[] = {0.0f, -0.0f, 1.5f, -1.5f, std::numeric_limits<float>::infinity(), 1e-42f, -1e-42f, -3e38f};
    one.real            = reals[random() % 8];
    one.narrow          = random() % 3 == 0 ? one.narrow : static_cast<std::int32_t>(random() % 5) - 2;
    one.wide            = random() % 3 == 0 ? one.wide : ~std::uint64_t{0} - random() % 5;
    all.push_back(one);
  }
  return all;
}

// Wide fields come first, then words; each as unsigned, signed, and floating-point.
TEST(RecordOrder, IsThatOfOneField)
{
  auto const all         = many_records();
  auto const signed_wide = [](record const& r) { return static_cast<std::int64_t>(r.wide); };
  for (bool const descends : {false, true})
  {
    auto const like = [&](auto of) {
      return fields_like(all, descends, [&](record const& a, record const& b) {
        return descends ? of(b) < of(a) : of(a) < of(b);
      });
    };
    EXPECT_EQ(like([](record const& r) { return r.wide; }), std::vector<unsigned>{0});
    EXPECT_EQ(like(signed_wide), std::vector<unsigned>{1});
    EXPECT_EQ(like([](record const& r) { return r.narrow; }), std::vector<unsigned>{6 + 3 * 2 + 1});
    EXPECT_EQ(like([](record const& r) { return r.real; }), std::vector<unsigned>{6 + 3 * 3 + 2});
    EXPECT_TRUE(like([](record const& r) { return r.wide * 3; }).empty());
  }
}

TEST(RecordOrder, OfWideNumbersThatAreReal)
{
  struct pair
  {
    double a, b;
  };
  std::vector<double> const numbers = {
    -std::numeric_limits<double>::infinity(),
    -1e300,
    -1.0,
    -5e-324,
    -0.0,
    0.0,
    5e-324,
    1.0,
    1e300,
    std::numeric_limits<double>::infinity()};
  using real_order = record_order<record_words_t<pair>>;
  auto const up    = real_order::of(3 + 2, false); // the second, as a floating-point number
  auto const down  = real_order::of(3 + 2, true);
  for (double const a : numbers)
  {
    for (double const b : numbers)
    {
      auto const first = words_of(pair{3, a}), second = words_of(pair{-3, b});
      EXPECT_EQ(up.rank_of(first) < up.rank_of(second), a < b) << a << " " << b;
      EXPECT_EQ(down.rank_of(first) < down.rank_of(second), b < a) << a << " " << b;
    }
  }
}

TEST(RecordOrder, WordsAlone)
{
  using words = record_words_t<short_record>;
  EXPECT_EQ(record_order<words>::wide, 0u);
  EXPECT_EQ(record_order<words>::fields, 9u);
  EXPECT_EQ(sizeof(words), 12u);
  EXPECT_EQ(alignof(words), 4u);
}

} // namespace
} // namespace gpusort::radix
