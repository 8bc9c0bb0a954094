// What a program says of its own types holds: operators for pairs of them, function objects specialised for them,
// assignments that throw, iterators that count in small numbers.
#include <gpusort/radix/key_order.h>
#include <gpusort/sort.h>
#include <gtest/gtest.h>

#include <cuda/std/functional>
#include <thrust/execution_policy.h>

#include <algorithm>
#if defined(__cpp_impl_three_way_comparison)
#  include <compare>
#endif
#include <cstddef>
#include <functional>
#include <iterator>
#include <numeric>
#include <random>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace own
{
enum class level
{
};
inline bool operator<(std::pair<level, int> const& a, std::pair<level, int> const& b)
{
  return a.second < b.second;
}
inline bool operator>(std::pair<int, level> const& a, std::pair<int, level> const& b)
{
  return a.first % 7 > b.first % 7;
}

enum class plain
{
};
enum class upside_down
{
};
enum class odd_first
{
};
enum class downwards
{
};
} // namespace own

template <>
struct std::less<own::upside_down>
{
  bool operator()(own::upside_down a, own::upside_down b) const
  {
    return static_cast<int>(a) > static_cast<int>(b);
  }
};
template <>
struct std::greater<own::odd_first>
{
  bool operator()(own::odd_first a, own::odd_first b) const
  {
    return static_cast<int>(a) % 2 > static_cast<int>(b) % 2;
  }
};
template <>
struct std::less<std::pair<own::downwards, int>>
{
  using pair = std::pair<own::downwards, int>;
  bool operator()(pair const& a, pair const& b) const
  {
    return a.second > b.second;
  }
};
template <>
struct cuda::std::less<own::downwards>
{
  bool operator()(own::downwards a, own::downwards b) const
  {
    return static_cast<int>(a) > static_cast<int>(b);
  }
};

namespace gpusort::testing
{
namespace
{

constexpr std::size_t n = 3000;

template <class Key, class Make>
std::vector<Key> some(Make make)
{
  std::mt19937 random(5);
  std::vector<Key> keys;
  for (std::size_t i = 0; i < n; ++i)
  {
    int const first = static_cast<int>(random() % 50);
    keys.push_back(make(first, static_cast<int>(random() % 50)));
  }
  return keys;
}
template <class Enum>
std::vector<Enum> some_enums()
{
  return some<Enum>([](int i, int) { return static_cast<Enum>(i); });
}

/// Every stable algorithm that takes keys in this order puts them where the C++ library does, which calls the comparator.
template <class Key, class Compare>
void check(std::vector<Key> const& keys, Compare comp)
{
  auto const expect = [&](auto policy) {
    std::vector<Key> expected = keys, sorted = keys;
    std::stable_sort(expected.begin(), expected.end(), comp);
    gpusort::stable_sort(policy, sorted.begin(), sorted.end(), comp);
    EXPECT_TRUE(std::equal(sorted.begin(), sorted.end(), expected.begin()));
  };
  expect(thrust::host);
  expect(thrust::seq);
  expect(gpusort::merge_sort(thrust::host));
  expect(gpusort::hybrid_sort(thrust::seq));
  if constexpr (has_radix_order_v<Key, Compare>)
  {
    expect(gpusort::radix_sort(thrust::host));
  }
}

TEST(OwnTypes, OperatorsForPairs)
{
  using by_second = std::pair<own::level, int>;
  using by_rest   = std::pair<int, own::level>;
  using library   = std::pair<int, own::plain>;
  static_assert(!has_radix_order_v<by_second, std::less<by_second>>);
  static_assert(!has_radix_order_v<by_second, std::less<>>);
  static_assert(!has_radix_order_v<std::tuple<int, by_second>, std::less<>>);
  static_assert(!has_radix_order_v<by_rest, std::greater<by_rest>>);
  static_assert(has_radix_order_v<by_rest, std::less<by_rest>>);
  static_assert(has_radix_order_v<library, std::less<>> && has_radix_order_v<library, std::greater<>>);

  auto const left  = some<by_second>([](int i, int j) { return by_second(static_cast<own::level>(i), j); });
  auto const right = some<by_rest>([](int i, int j) { return by_rest(i, static_cast<own::level>(j)); });
  check(left, [](by_second const& a, by_second const& b) { return a < b; });
  check(right, [](by_rest const& a, by_rest const& b) { return a > b; });
  check(right, std::less<by_rest>{});
  auto const sorted = [&](auto keys, auto comp, auto same) {
    auto expected = keys;
    gpusort::stable_sort(thrust::host, keys.begin(), keys.end(), comp);
    std::stable_sort(expected.begin(), expected.end(), same);
    return keys == expected;
  };
  EXPECT_TRUE(sorted(left, std::less<>{}, [](auto const& a, auto const& b) { return a.second < b.second; }));
  EXPECT_TRUE(
    sorted(right, std::greater<by_rest>{}, [](auto const& a, auto const& b) { return a.first % 7 > b.first % 7; }));
}

#if defined(__cpp_impl_three_way_comparison)
// clang-format off: it writes C++17, where the operator is two
enum class rotated {};
inline std::strong_ordering operator<=>(rotated a, rotated b) { return static_cast<int>(b) <=> static_cast<int>(a); }
// clang-format on

// Pairs ask it of their elements; alone, an enum has a `<` of its own that does not.
TEST(OwnTypes, ThreeWayComparisonOfEnums)
{
  using pair = std::pair<rotated, int>;
  static_assert(!has_radix_order_v<pair, std::less<pair>> && !has_radix_order_v<pair, std::greater<>>);
  static_assert(has_radix_order_v<std::pair<own::plain, int>, std::less<>>);
  auto const pairs = some<pair>([](int i, int j) { return pair(static_cast<rotated>(i), j); });
  check(pairs, std::less<pair>{});
  check(pairs, std::greater<pair>{});
  check(some_enums<rotated>(), std::less<rotated>{});
}
#endif

TEST(OwnTypes, SpecialisedFunctionObjects)
{
  static_assert(has_radix_order_v<own::plain, std::less<own::plain>> && has_radix_order_v<int, ::cuda::std::less<int>>);
  static_assert(!has_radix_order_v<own::upside_down, std::less<own::upside_down>>);
  static_assert(has_radix_order_v<own::upside_down, std::greater<own::upside_down>>);
  static_assert(has_radix_order_v<own::upside_down, std::less<>>);
  static_assert(!has_radix_order_v<own::odd_first, std::greater<own::odd_first>>);
  static_assert(!has_radix_order_v<own::downwards, ::cuda::std::less<own::downwards>>);
  check(some_enums<own::plain>(), std::less<own::plain>{});
  check(some_enums<own::upside_down>(), std::less<own::upside_down>{});
  check(some_enums<own::upside_down>(), std::greater<own::upside_down>{});
  check(some_enums<own::odd_first>(), std::greater<own::odd_first>{});
  check(some_enums<own::downwards>(), ::cuda::std::less<own::downwards>{});

  using pair = std::pair<own::downwards, int>;
  check(some<pair>([](int i, int j) { return pair(static_cast<own::downwards>(i), j); }), std::less<pair>{});

  // What a call without a comparator asks.
  std::vector<own::downwards> keys = some_enums<own::downwards>();
  gpusort::sort(keys.begin(), keys.end());
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end(), ::cuda::std::less<own::downwards>{}));
}

/// Runs out of assignments.
struct reluctant
{
  static inline int left = 0;

  int value = 0;

  reluctant() = default;
  explicit reluctant(int v)
      : value(v)
  {}
  reluctant(reluctant const&) = default;
  reluctant& operator=(reluctant const& other)
  {
    if (--left == 0)
    {
      throw std::runtime_error("no assignments left");
    }
    value = other.value;
    return *this;
  }
};

template <class Policy>
void expect_the_exception(Policy policy)
{
  for (int const assignments : {1, 2, 17, 200, 1000})
  {
    std::vector<int> keys(500);
    std::iota(keys.rbegin(), keys.rend(), 0);
    std::vector<reluctant> values(keys.size());
    reluctant::left = assignments;
    EXPECT_THROW(
      gpusort::sort_by_key(policy, keys.begin(), keys.end(), values.begin(), [](int a, int b) { return a < b; }),
      std::runtime_error);
    std::iota(keys.rbegin(), keys.rend(), 0);
    reluctant::left = assignments;
    EXPECT_THROW(gpusort::sort_by_key(policy, keys.begin(), keys.end(), values.begin()), std::runtime_error);
  }
}

TEST(OwnTypes, AssignmentsThatThrowBesideKeys)
{
  expect_the_exception(thrust::host);
  expect_the_exception(thrust::seq);
  expect_the_exception(gpusort::merge_sort(thrust::host));
  expect_the_exception(gpusort::hybrid_sort(thrust::host));
  expect_the_exception(gpusort::quicksort(thrust::host));
}

/// As its distances are short, arithmetic on them gives other types.
struct short_iterator
{
  using value_type        = int;
  using reference         = int&;
  using pointer           = int*;
  using difference_type   = short;
  using iterator_category = std::random_access_iterator_tag;

  int* at = nullptr;

  // clang-format off
  reference operator*() const { return *at; }
  reference operator[](short i) const { return at[i]; }
  pointer operator->() const { return at; }
  short_iterator& operator++() { ++at; return *this; }
  short_iterator& operator--() { --at; return *this; }
  short_iterator operator++(int) { short_iterator const old = *this; ++at; return old; }
  short_iterator operator--(int) { short_iterator const old = *this; --at; return old; }
  short_iterator& operator+=(short i) { at += i; return *this; }
  short_iterator& operator-=(short i) { at -= i; return *this; }
  friend short_iterator operator+(short_iterator a, short i) { return a += i; }
  friend short_iterator operator+(short i, short_iterator a) { return a += i; }
  friend short_iterator operator-(short_iterator a, short i) { return a -= i; }
  friend short operator-(short_iterator a, short_iterator b) { return static_cast<short>(a.at - b.at); }
  friend bool operator==(short_iterator a, short_iterator b) { return a.at == b.at; }
  friend bool operator!=(short_iterator a, short_iterator b) { return a.at != b.at; }
  friend bool operator<(short_iterator a, short_iterator b) { return a.at < b.at; }
  friend bool operator>(short_iterator a, short_iterator b) { return a.at > b.at; }
  friend bool operator<=(short_iterator a, short_iterator b) { return a.at <= b.at; }
  friend bool operator>=(short_iterator a, short_iterator b) { return a.at >= b.at; }
  friend void operator,(std::ptrdiff_t, short_iterator) = delete;
  // clang-format on
};

TEST(OwnTypes, IteratorsThatCountInSmallNumbers)
{
  auto const input  = some<int>([](int i, int j) { return 50 * i + j; });
  auto const expect = [&](auto policy, auto comp) {
    std::vector<int> keys = input;
    short_iterator const first{keys.data()};
    short_iterator const last{keys.data() + n};
    gpusort::sort(policy, first, last, comp);
    EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end(), comp));
    keys                    = input;
    std::vector<int> values = input;
    gpusort::sort_by_key(policy, first, last, short_iterator{values.data()}, comp);
    EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end(), comp));
    EXPECT_EQ(values, keys);
  };
  auto const backwards = [](int a, int b) { return a > b; };
  expect(thrust::host, std::less<int>{});
  expect(thrust::host, backwards);
  expect(thrust::seq, backwards);
  expect(gpusort::quicksort(thrust::host), backwards);
  expect(gpusort::hybrid_sort(thrust::host), backwards);
  expect(gpusort::merge_sort(thrust::host), backwards);
}

} // namespace
} // namespace gpusort::testing
