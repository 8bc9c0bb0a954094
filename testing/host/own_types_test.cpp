// What a program says of its own types holds: operators for pairs of them, function objects specialised for them,
// assignments that throw, classes derived from tuples, iterators that count in small numbers.
#include <gpusort/dispatch/elements.h>
#include <gpusort/order.h>
#include <gpusort/radix/key_order.h>
#include <gpusort/sort.h>
#include <gtest/gtest.h>

#include <cuda/std/functional>
#include <thrust/execution_policy.h>
#include <thrust/tuple.h>

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
enum class hidden
{
};
struct late
{
  int number;
  friend bool operator==(late a, late b)
  {
    return a.number == b.number;
  }
};

} // namespace own

namespace whatever
{
enum class level
{
};
/// Has a `<` for whatever the argument-dependent lookup finds it for, which compiles for some of that only.
struct numbered
{
  int number;
  int id() const
  {
    return number;
  }
  friend bool operator==(numbered a, numbered b)
  {
    return a.number == b.number;
  }
};
template <class T>
auto operator<(T const& a, T const& b)
{
  return a.id() < b.id();
}
} // namespace whatever

namespace all_pairs
{
enum class level
{
};
// As good as the C++ library's, so that it can be called from C++20 on only, where that has none.
template <class T, class U>
bool operator<(std::pair<T, U> const& a, std::pair<T, U> const& b)
{
  return a.second < b.second;
}
} // namespace all_pairs

// Under any comparator but the function objects for a type, those are not looked at.
static_assert(!gpusort::has_radix_order_v<own::late, bool (*)(own::late, own::late)>);
template <>
struct std::less<own::late>
{
  bool operator()(own::late a, own::late b) const
  {
    return a.number > b.number;
  }
};
template <class T>
struct arguments_of
{};
template <>
struct std::less<own::hidden> : private arguments_of<own::hidden>
{
  bool operator()(own::hidden a, own::hidden b) const
  {
    return static_cast<int>(a) > static_cast<int>(b);
  }
};

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

TEST(OwnTypes, OperatorsForWhatever)
{
  using pair = std::pair<whatever::numbered, int>;
  static_assert(!has_radix_order_v<pair, std::less<pair>>);
  auto const pairs     = some<pair>([](int i, int j) { return pair(whatever::numbered{i}, j); });
  auto const by_number = [](pair const& a, pair const& b) { return a.first.id() < b.first.id(); };
  check(pairs, by_number);
  using library_pair = std::pair<whatever::level, int>;
  static_assert(has_radix_order_v<whatever::level, std::less<>> && has_radix_order_v<library_pair, std::less<>>);
  check(some_enums<whatever::level>(), std::less<whatever::level>{});
  check(some<library_pair>([](int i, int j) { return library_pair(static_cast<whatever::level>(i), j); }),
        std::less<library_pair>{});
#if defined(__cpp_lib_three_way_comparison)
  using levels = std::pair<all_pairs::level, int>;
  static_assert(!has_radix_order_v<levels, std::less<levels>> && has_radix_order_v<std::pair<int, int>, std::less<>>);
  auto keys = some<levels>([](int i, int j) { return levels(static_cast<all_pairs::level>(i), j); });
  gpusort::sort(thrust::host, keys.begin(), keys.end(), std::less<levels>{});
  EXPECT_TRUE(
    std::is_sorted(keys.begin(), keys.end(), [](levels const& a, levels const& b) { return a.second < b.second; }));
#endif
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

  // A base that nobody else may see does not matter.
  static_assert(!has_radix_order_v<own::hidden, std::less<own::hidden>>);
  check(some_enums<own::hidden>(), std::less<own::hidden>{});
  check(some<own::late>([](int i, int) { return own::late{i}; }), std::less<own::late>{});

  // Pairs and fields ask the operator, and std::less does, which cuda::std::less stands for in kernels.
  struct holder
  {
    own::downwards field;
  };
  auto const by_field = gpusort::by(&holder::field);
  static_assert(has_radix_order_v<std::pair<int, own::downwards>, std::less<>>);
  check(some<std::pair<int, own::downwards>>([](int i, int j) {
          return std::pair<int, own::downwards>(i, static_cast<own::downwards>(j));
        }),
        std::less<>{});
  check(some_enums<own::downwards>(), std::less<own::downwards>{});
  EXPECT_TRUE(by_field(holder{own::downwards{1}}, holder{own::downwards{2}}));
  static_assert(std::is_same_v<dispatch::device_compare_t<std::less<own::downwards>>, ::cuda::std::less<void>>);
  static_assert(std::is_same_v<dispatch::device_compare_t<std::less<own::plain>>, ::cuda::std::less<own::plain>>);
  static_assert(std::is_same_v<dispatch::device_compare_t<std::less<own::upside_down>>, std::less<own::upside_down>>);

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

/// What a tuple has, and more, which only its own assignment takes along.
struct extended : thrust::tuple<int, int>
{
  int more = 0;

  extended(int a, int b)
      : thrust::tuple<int, int>(a, b)
      , more(31 * a + b)
  {}
};
struct extended_in_private : private thrust::tuple<int, int>
{
  int key;

  extended_in_private(int a, int b)
      : thrust::tuple<int, int>(a, b)
      , key(a)
  {}
  bool is_whole() const
  {
    return thrust::get<0>(static_cast<thrust::tuple<int, int> const&>(*this)) == key;
  }
};
/// Is made from anything, and copied from a variable, where that is asked for by a constructor's call.
struct taker
{
  int key;

  taker(int a, int)
      : key(a)
  {}
  taker(taker const&)            = default;
  taker& operator=(taker const&) = default;
  template <class T>
  explicit taker(T&& any)
      : key(static_cast<int>(sizeof(any)))
  {}
};

template <class Element, class Compare>
void sort_by_all(std::vector<Element> const& elements, Compare comp)
{
  auto const sorted = [&](auto policy) {
    std::vector<Element> sorted_elements = elements;
    gpusort::sort(policy, sorted_elements.begin(), sorted_elements.end(), comp);
    EXPECT_TRUE(std::is_sorted(sorted_elements.begin(), sorted_elements.end(), comp));
    if constexpr (std::is_same_v<Element, extended>)
    {
      for (extended const& element : sorted_elements)
      {
        ASSERT_EQ(element.more, 31 * thrust::get<0>(element) + thrust::get<1>(element));
      }
    }
    if constexpr (std::is_same_v<Element, extended_in_private>)
    {
      EXPECT_TRUE(std::all_of(sorted_elements.begin(), sorted_elements.end(), [](extended_in_private const& element) {
        return element.is_whole();
      }));
    }
    if constexpr (std::is_same_v<Element, bool>)
    {
      EXPECT_EQ(std::count(sorted_elements.begin(), sorted_elements.end(), true),
                std::count(elements.begin(), elements.end(), true));
    }
  };
  sorted(thrust::seq);
  sorted(thrust::host);
  sorted(gpusort::quicksort(thrust::seq));
  sorted(gpusort::merge_sort(thrust::host));
  sorted(gpusort::hybrid_sort(thrust::host));
}

TEST(OwnTypes, ElementsWithMoreThanMeetsTheEye)
{
  sort_by_all(some<extended>([](int i, int j) { return extended(i, j); }),
              [](extended const& a, extended const& b) { return thrust::get<0>(a) < thrust::get<0>(b); });
  sort_by_all(some<extended_in_private>([](int i, int j) { return extended_in_private(i, j); }),
              [](extended_in_private const& a, extended_in_private const& b) { return a.key < b.key; });

  std::vector<int> keys = some<int>([](int i, int) { return i; });
  auto const takers_of  = [](std::vector<int> const& of) {
    std::vector<taker> made;
    for (int const key : of)
    {
      made.emplace_back(key, 0);
    }
    return made;
  };
  std::vector<taker> takers = takers_of(keys);
  gpusort::sort(gpusort::quicksort(thrust::host), takers.begin(), takers.end(), [](taker const& a, taker const& b) {
    return a.key < b.key;
  });
  std::sort(keys.begin(), keys.end());
  EXPECT_TRUE(
    std::equal(takers.begin(), takers.end(), keys.begin(), [](taker const& a, int key) { return a.key == key; }));
}

TEST(OwnTypes, BitsOfAVector)
{
  sort_by_all(some<bool>([](int i, int) { return i % 3 == 0; }), [](bool a, bool b) { return a < b; });
  sort_by_all(some<bool>([](int i, int) { return i % 3 == 0; }), std::less<bool>{});
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
