// Orders by fields: what has one, what the image of a key is, and that everybody who asks for the order gets the same.
#include <gpusort/order.h>
#include <gpusort/radix/tuning.h>
#include <gpusort/sort.h>
#include <gtest/gtest.h>

#include <cuda/std/tuple>
#include <cuda/std/utility>
#include <cuda_fp16.h>
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/tuple.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace gpusort::testing
{
namespace
{

enum class level : std::int16_t
{
};
enum class backwards
{
};
[[maybe_unused]] bool operator<(backwards a, backwards b)
{
  return static_cast<int>(b) < static_cast<int>(a);
}

struct base
{
  std::uint32_t inherited;
};

struct record : base
{
  bool flag;
  level rank;
  std::int8_t small;
  __int128 wide;
  float mass;
  double weight;
  __half half;
  std::uint64_t id;
  std::uint32_t position; // no order looks at it
  std::string name;
  backwards own;
};

// Projections of all kinds.
float mass_function(record const& r)
{
  return r.mass;
}
struct id_of
{
  std::uint64_t operator()(record const& r) const
  {
    return r.id;
  }
};
struct flag_and_rank
{
  thrust::tuple<bool, level> operator()(record const& r) const
  {
    return {r.flag, r.rank};
  }
};
struct mutable_projection
{
  int operator()(record const&)
  {
    return 0;
  }
};

// ---------------------------------------------------------------------------------------------------------------------
// What has a radix order

template <class Key, class Order>
constexpr int bits_of(Order const&)
{
  static_assert(has_radix_order_v<Key, Order> && supports_v<radix_sort_t, Key, Order>);
  static_assert(supports_v<merge_sort_t, Key, Order> && supports_v<quicksort_t, Key, Order>);
  static_assert(std::is_same_v<selected_t<Key, Order>, radix_sort_t>);
  return radix::image_of<Key, Order>::bits;
}
template <class Key, class Order>
constexpr bool has_none(Order const&)
{
  static_assert(supports_v<automatic_t, Key, Order> && !supports_v<radix_sort_t, Key, Order>);
  static_assert(std::is_same_v<selected_t<Key, Order>, merge_sort_t>);
  return !has_radix_order_v<Key, Order>;
}

static_assert(bits_of<record>(by(&record::flag)) == 1);
static_assert(bits_of<record>(by(&record::small)) == 8);
static_assert(bits_of<record>(by(&record::inherited)) == 32);
static_assert(bits_of<record>(by(&record::wide, &record::flag)) == 129);
static_assert(bits_of<record>(by(&mass_function, id_of{})) == 96);
static_assert(bits_of<record>(by(flag_and_rank{}, &record::half)) == 33);
static_assert(bits_of<record>(descending(&record::weight)) == 64);
static_assert(bits_of<record>(by(by(&record::rank), descending(by(&record::rank), descending(&record::rank)))) == 48);
static_assert(has_none<record>(by(&record::name)) && has_none<record>(by(&record::flag, &record::own)));
static_assert(has_none<record>(by(mutable_projection{})) && has_none<std::string>(by(&record::flag)));

static_assert(bits_of<thrust::tuple<int, float>>(thrust::less<>{}) == 64);
static_assert(bits_of<thrust::tuple<bool, thrust::pair<level, double>>>(std::greater<>{}) == 81);
static_assert(bits_of<cuda::std::pair<char, unsigned __int128>>(cuda::std::greater<>{}) == 136);
static_assert(bits_of<std::pair<short, short>>(std::less<std::pair<short, short>>{}) == 32);
static_assert(has_none<thrust::tuple<int, std::string>>(thrust::less<>{}) && has_none<thrust::tuple<>>(std::less<>{}));
static_assert(has_none<thrust::tuple<int, backwards>>(thrust::less<>{}));
static_assert(has_none<thrust::tuple<int, backwards>>(thrust::greater<>{})); // asks < of its elements
static_assert(has_none<thrust::tuple<int, int>>(thrust::less<thrust::tuple<int, float>>{}));
static_assert(has_none<std::tuple<int, int>>(std::less<>{}));

// ---------------------------------------------------------------------------------------------------------------------
// The order, written down again

template <class T>
int sign_of_difference(T a, T b)
{
  return a < b ? -1 : b < a ? 1 : 0;
}

/// -NaN, the numbers, +NaN; NaNs of one sign by what they carry.
template <class Float, class Bits>
int compare_floats(Float a, Float b)
{
  auto const side = [](Float x) { return !std::isnan(x) ? 0 : std::signbit(x) ? -1 : 1; };
  if (side(a) != side(b) || side(a) == 0)
  {
    return side(a) != side(b) ? sign_of_difference(side(a), side(b)) : sign_of_difference(a, b);
  }
  Bits x, y;
  std::memcpy(&x, &a, sizeof(x));
  std::memcpy(&y, &b, sizeof(y));
  return side(a) * sign_of_difference(x, y);
}
int compare(float a, float b)
{
  return compare_floats<float, std::uint32_t>(a, b);
}
int compare(double a, double b)
{
  return compare_floats<double, std::uint64_t>(a, b);
}
template <class T>
int compare(T a, T b)
{
  return sign_of_difference(a, b);
}

/// The first that is not 0.
template <class... Signs>
int first_of(Signs... signs)
{
  int result = 0;
  ((result = result != 0 ? result : signs), ...);
  return result;
}

template <class Float>
Float some_float(std::mt19937_64& random)
{
  constexpr Float infinity = std::numeric_limits<Float>::infinity();
  constexpr Float nan      = std::numeric_limits<Float>::quiet_NaN();
  Float const special[]    = {0, -Float{0}, infinity, -infinity, nan, std::copysign(nan, Float{-1}), 1, -1};
  if (random() % 2 == 0)
  {
    return special[random() % std::size(special)];
  }
  std::uint64_t const bits = random();
  Float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

std::vector<record> records(std::size_t n)
{
  std::mt19937_64 random(n);
  std::vector<record> all(n);
  for (std::size_t i = 0; i < n; ++i)
  {
    record& r   = all[i];
    r.inherited = static_cast<std::uint32_t>(random() % 4);
    r.flag      = random() % 2 == 0;
    r.rank      = static_cast<level>(static_cast<int>(random() % 5) - 2);
    r.small     = static_cast<std::int8_t>(random() % 3 * 100);
    r.wide      = static_cast<__int128>(static_cast<unsigned __int128>(random()) << (random() % 128));
    r.wide      = random() % 2 == 0 ? r.wide : static_cast<int>(random() % 3) - 1;
    r.mass      = some_float<float>(random);
    r.weight    = some_float<double>(random);
    r.half      = __float2half(static_cast<float>(random() % 5) - 2.5f);
    r.id        = random() % 2 == 0 ? random() : random() % 5;
    r.position  = static_cast<std::uint32_t>(i);
  }
  return all;
}

/// The image in words of 128 bits, the most significant first.
template <class Order>
std::vector<unsigned __int128> image(Order const& order, record const& r)
{
  std::vector<unsigned __int128> words;
  for (int low = (Order::template bits<record>() - 1) / 128 * 128; low >= 0; low -= 128)
  {
    words.push_back(order.template image<unsigned __int128>(r, low));
  }
  return words;
}

std::vector<std::uint32_t> positions(std::vector<record> const& all)
{
  std::vector<std::uint32_t> result;
  for (record const& r : all)
  {
    result.push_back(r.position);
  }
  return result;
}

/// `reference(a, b)` is negative, zero or positive.
template <class Order, class Reference>
void expect_order(Order order, Reference reference)
{
  static_assert(has_radix_order_v<record, Order>);
  std::vector<record> const all = records(300);
  std::size_t less              = 0;
  for (record const& a : all)
  {
    for (record const& b : all)
    {
      int const expected = reference(a, b);
      less += expected < 0 ? 1 : 0;
      ASSERT_EQ(order(a, b), expected < 0) << a.position << " and " << b.position;
      ASSERT_EQ(image(order, a) < image(order, b), expected < 0) << a.position << " and " << b.position;
      ASSERT_EQ(image(order, a) == image(order, b), expected == 0) << a.position << " and " << b.position;
    }
  }
  ASSERT_GT(less, 0u);

  // The windows of an image are parts of one number, wherever they begin.
  constexpr int bits = Order::template bits<record>();
  for (std::size_t i = 0; i < 20; ++i)
  {
    for (int low = 0; low <= bits; ++low)
    {
      unsigned __int128 const expected = order.template image<unsigned __int128>(all[i], low);
      ASSERT_EQ(order.template image<std::uint8_t>(all[i], low), static_cast<std::uint8_t>(expected)) << low;
      ASSERT_EQ(order.template image<std::uint16_t>(all[i], low), static_cast<std::uint16_t>(expected)) << low;
      ASSERT_EQ(order.template image<std::uint64_t>(all[i], low), static_cast<std::uint64_t>(expected)) << low;
      std::uint64_t const next = order.template image<std::uint64_t>(all[i], low + 64);
      ASSERT_EQ(next, static_cast<std::uint64_t>(expected >> 64)) << low;
    }
    ASSERT_EQ(order.template image<std::uint64_t>(all[i], bits), 0u) << "nothing lies above the image";
  }

  std::vector<record> const input = records(3000);
  std::vector<record> sorted      = input;
  std::stable_sort(sorted.begin(), sorted.end(), [&](record const& a, record const& b) { return reference(a, b) < 0; });
  std::vector<std::uint32_t> const expected = positions(sorted);
  auto const check                          = [&](char const* name, auto sort) {
    std::vector<record> keys = input;
    sort(keys);
    EXPECT_EQ(positions(keys), expected) << name;
  };
  check("radix", [&](auto& k) { gpusort::sort(gpusort::radix_sort(thrust::host), k.begin(), k.end(), order); });
  check("merge", [&](auto& k) { gpusort::sort(gpusort::merge_sort(thrust::seq), k.begin(), k.end(), order); });
  check("automatic", [&](auto& k) { gpusort::stable_sort(k.begin(), k.end(), order); });

  std::vector<record> keys = input;
  std::vector<std::uint32_t> values(input.size());
  std::iota(values.begin(), values.end(), 0u);
  gpusort::stable_sort_by_key(gpusort::radix_sort(thrust::seq), keys.begin(), keys.end(), values.begin(), order);
  EXPECT_EQ(values, expected);
  EXPECT_EQ(positions(keys), expected);
}

TEST(Order, ByOneFieldOfEachKind)
{
  using r = record;
  expect_order(by(&r::flag), [](r const& a, r const& b) { return compare(a.flag, b.flag); });
  expect_order(by(&r::rank), [](r const& a, r const& b) { return compare(a.rank, b.rank); });
  expect_order(by(&r::small), [](r const& a, r const& b) { return compare(a.small, b.small); });
  expect_order(by(&r::wide), [](r const& a, r const& b) { return compare(a.wide, b.wide); });
  expect_order(by(&r::mass), [](r const& a, r const& b) { return compare(a.mass, b.mass); });
  expect_order(by(&r::weight), [](r const& a, r const& b) { return compare(a.weight, b.weight); });
  expect_order(by(&r::half),
               [](r const& a, r const& b) { return compare(__half2float(a.half), __half2float(b.half)); });
  expect_order(by(&r::inherited), [](r const& a, r const& b) { return compare(a.inherited, b.inherited); });
}

TEST(Order, DescendingReversesEachKind)
{
  using r = record;
  expect_order(descending(&r::flag), [](r const& a, r const& b) { return compare(b.flag, a.flag); });
  expect_order(descending(&r::rank), [](r const& a, r const& b) { return compare(b.rank, a.rank); });
  expect_order(descending(&r::wide), [](r const& a, r const& b) { return compare(b.wide, a.wide); });
  expect_order(descending(&r::mass), [](r const& a, r const& b) { return compare(b.mass, a.mass); });
  expect_order(descending(&r::id), [](r const& a, r const& b) { return compare(b.id, a.id); });
}

TEST(Order, TheFirstFieldThatDiffersDecides)
{
  using r = record;
  expect_order(by(&r::rank, &r::mass, &r::flag), [](r const& a, r const& b) {
    return first_of(compare(a.rank, b.rank), compare(a.mass, b.mass), compare(a.flag, b.flag));
  });
  expect_order(by(&r::flag, descending(&r::rank, &r::mass), &r::small), [](r const& a, r const& b) {
    return first_of(
      compare(a.flag, b.flag), compare(b.rank, a.rank), compare(b.mass, a.mass), compare(a.small, b.small));
  });
}

TEST(Order, NestsFreely)
{
  using r = record;
  expect_order(descending(by(&r::flag, descending(&r::rank)), by(&r::small)), [](r const& a, r const& b) {
    return first_of(compare(b.flag, a.flag), compare(a.rank, b.rank), compare(b.small, a.small));
  });
  expect_order(descending(descending(&r::mass)), [](r const& a, r const& b) { return compare(a.mass, b.mass); });
  expect_order(by(by(by(&r::small)), descending(descending(descending(&r::inherited)))), [](r const& a, r const& b) {
    return first_of(compare(a.small, b.small), compare(b.inherited, a.inherited));
  });
}

TEST(Order, TakesProjectionsOfAllKinds)
{
  using r              = record;
  std::uint64_t modulo = 3;
  auto const remainder = [modulo](r const& x) { return x.id % modulo; };
  expect_order(by(remainder, &mass_function),
               [](r const& a, r const& b) { return first_of(compare(a.id % 3, b.id % 3), compare(a.mass, b.mass)); });
  expect_order(by(flag_and_rank{}, descending(id_of{})), [](r const& a, r const& b) {
    return first_of(compare(a.flag, b.flag), compare(a.rank, b.rank), compare(b.id, a.id));
  });
  expect_order(by(descending(flag_and_rank{}), &r::small), [](r const& a, r const& b) {
    return first_of(compare(b.flag, a.flag), compare(b.rank, a.rank), compare(a.small, b.small));
  });
}

TEST(Order, IsAComparatorForEveryAlgorithm)
{
  auto const order              = by(&record::flag, descending(&record::mass));
  std::vector<record> const all = records(5000);
  std::vector<record> expected = all, keys = all;
  std::stable_sort(expected.begin(), expected.end(), order);
  gpusort::stable_sort(gpusort::hybrid_sort(thrust::seq), keys.begin(), keys.end(), order);
  EXPECT_EQ(positions(keys), positions(expected));

  keys = all;
  gpusort::sort(gpusort::quicksort(thrust::host), keys.begin(), keys.end(), order);
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end(), order));
}

// 129, 161 and 282 bits: fields that lie across the words of the image.
TEST(Order, OfMoreThan128Bits)
{
  using r = record;
  expect_order(by(&r::flag, &r::wide),
               [](r const& a, r const& b) { return first_of(compare(a.flag, b.flag), compare(a.wide, b.wide)); });
  expect_order(by(&r::wide, descending(&r::mass), &r::flag), [](r const& a, r const& b) {
    return first_of(compare(a.wide, b.wide), compare(b.mass, a.mass), compare(a.flag, b.flag));
  });
  expect_order(by(&r::rank, descending(&r::small), &r::weight, &r::flag, descending(&r::wide), &r::flag, &r::id),
               [](r const& a, r const& b) {
                 return first_of(compare(a.rank, b.rank),
                                 compare(b.small, a.small),
                                 compare(a.weight, b.weight),
                                 compare(a.flag, b.flag),
                                 compare(b.wide, a.wide),
                                 compare(a.id, b.id));
               });
}

TEST(Order, ImageIsPackedWithTheFirstFieldInFront)
{
  record r{};
  r.flag  = true;
  r.small = -128;
  r.id    = 0x0123456789abcdefu;
  // 1, then -128 in 8 bits, then the number in 64, then false the other way round.
  auto const order = by(&record::flag, &record::small, &record::id, descending([](record const&) { return false; }));
  static_assert(decltype(order)::bits<record>() == 74);
  auto const expected =
    static_cast<unsigned __int128>(1) << 73 | static_cast<unsigned __int128>(0x0123456789abcdefu) << 1 | 1u;
  EXPECT_TRUE(order.image<unsigned __int128>(r) == expected);
}

// ---------------------------------------------------------------------------------------------------------------------
// Tuples, pairs, zip iterators

template <class Key>
struct make;
template <class... T>
struct make<thrust::tuple<T...>>
{
  static thrust::tuple<T...> from(std::mt19937& random)
  {
    return {static_cast<T>(static_cast<int>(random() % 7) - 3)...};
  }
};
template <class T, class U>
struct make<std::pair<T, U>>
{
  static std::pair<T, U> from(std::mt19937& random)
  {
    T const first = static_cast<T>(static_cast<int>(random() % 7) - 3);
    return {first, static_cast<U>(static_cast<int>(random() % 7) - 3)};
  }
};
template <class T, class U>
struct make<thrust::pair<T, U>>
{
  static thrust::pair<T, U> from(std::mt19937& random)
  {
    std::pair<T, U> const p = make<std::pair<T, U>>::from(random);
    return {p.first, p.second};
  }
};

/// Radix sort under a comparator gives what the C++ library gives under the same.
template <class Key, class Compare>
void expect_sorted_by_radix(Compare comp)
{
  static_assert(std::is_same_v<selected_t<Key, Compare>, radix_sort_t>);
  std::mt19937 random(5);
  std::vector<Key> keys;
  for (int i = 0; i < 2000; ++i)
  {
    keys.push_back(make<Key>::from(random));
  }
  std::vector<std::uint32_t> values(keys.size()), expected(keys.size());
  std::iota(values.begin(), values.end(), 0u);
  expected = values;
  std::stable_sort(expected.begin(), expected.end(), [&](std::uint32_t a, std::uint32_t b) {
    return comp(keys[a], keys[b]);
  });
  gpusort::sort_by_key(gpusort::radix_sort(thrust::host), keys.begin(), keys.end(), values.begin(), comp);
  EXPECT_EQ(values, expected);
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end(), comp));
}

template <class Key>
void expect_sorted_by_radix_both_ways()
{
  expect_sorted_by_radix<Key>(thrust::less<Key>{});
  expect_sorted_by_radix<Key>(thrust::greater<>{});
  expect_sorted_by_radix<Key>(std::less<>{});
  expect_sorted_by_radix<Key>(std::greater<Key>{});
}

TEST(Elements, AreComparedOneAfterTheOther)
{
  expect_sorted_by_radix_both_ways<thrust::tuple<int>>();
  expect_sorted_by_radix_both_ways<thrust::tuple<float, bool, short>>();
  expect_sorted_by_radix_both_ways<thrust::tuple<__int128, std::int64_t, char>>();
  expect_sorted_by_radix_both_ways<thrust::pair<double, int>>();
  expect_sorted_by_radix_both_ways<std::pair<signed char, float>>();
}

TEST(Elements, OfElements)
{
  using inner = thrust::pair<short, float>;
  using outer = thrust::tuple<bool, inner>;
  std::mt19937 random(6);
  std::vector<outer> keys;
  for (int i = 0; i < 500; ++i)
  {
    keys.emplace_back(random() % 2 == 0, make<inner>::from(random));
  }
  std::vector<outer> expected = keys;
  std::stable_sort(expected.begin(), expected.end());
  gpusort::sort(gpusort::radix_sort(thrust::host), keys.begin(), keys.end());
  EXPECT_TRUE(keys == expected);
}

struct second_of_tuple
{
  float operator()(thrust::tuple<int, float> const& t) const
  {
    return thrust::get<1>(t);
  }
};
struct first_of_tuple
{
  template <class Tuple> // of values or of references
  int operator()(Tuple const& t) const
  {
    return thrust::get<0>(t);
  }
};

TEST(ZippedKeys, AreSortedByTheirElementsAndByProjections)
{
  std::size_t const n = 3000;
  std::mt19937 random(7);
  std::vector<int> a(n);
  std::vector<float> b(n);
  for (std::size_t i = 0; i < n; ++i)
  {
    a[i] = static_cast<int>(random() % 21) - 10;
    b[i] = static_cast<float>(random() % 11) - 5;
  }
  auto const check = [&](auto reference, auto sort) {
    std::vector<std::uint32_t> expected(n), values(n);
    std::iota(expected.begin(), expected.end(), 0u);
    values = expected;
    std::stable_sort(expected.begin(), expected.end(), reference);
    std::vector<int> x   = a;
    std::vector<float> y = b;
    auto const first     = thrust::make_zip_iterator(thrust::make_tuple(x.begin(), y.begin()));
    sort(first, first + static_cast<std::ptrdiff_t>(n), values.begin());
    EXPECT_EQ(values, expected);
    for (std::size_t i = 0; i < n; ++i)
    {
      ASSERT_EQ(x[i], a[expected[i]]);
      ASSERT_EQ(y[i], b[expected[i]]);
    }
  };
  auto const ascending = [&](std::uint32_t i, std::uint32_t j) { return std::tie(a[i], b[i]) < std::tie(a[j], b[j]); };
  auto const mixed     = [&](std::uint32_t i, std::uint32_t j) { return b[i] != b[j] ? b[i] > b[j] : a[i] < a[j]; };
  auto const order     = by(descending(second_of_tuple{}), first_of_tuple{});
  check(ascending, [](auto first, auto last, auto values) {
    gpusort::stable_sort_by_key(gpusort::radix_sort(thrust::host), first, last, values);
  });
  check(mixed, [&](auto first, auto last, auto values) {
    gpusort::stable_sort_by_key(gpusort::radix_sort(thrust::host), first, last, values, order);
  });
  check(mixed, [&](auto first, auto last, auto values) {
    gpusort::stable_sort_by_key(gpusort::merge_sort(thrust::host), first, last, values, order);
  });
  check(mixed, [&](auto first, auto last, auto values) { gpusort::stable_sort_by_key(first, last, values, order); });
}

} // namespace
} // namespace gpusort::testing
