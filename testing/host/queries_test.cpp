// The queries: what an algorithm promises, which keys have a radix order, what automatic would run. Mostly at compile
// time: this file compiling is the better part of the test.
#include <gpusort/algorithm.h>
#include <gpusort/sort.h>
#include <gtest/gtest.h>

#include <cuda/std/functional>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <thrust/execution_policy.h>
#include <thrust/functional.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

namespace gpusort::testing
{
namespace
{

// What each algorithm promises.
static_assert(is_stable_v<automatic_t> && is_stable_v<hybrid_sort_t> && is_stable_v<merge_sort_t>);
static_assert(is_stable_v<radix_sort_t> && !is_stable_v<quicksort_t>);
static_assert(std::is_same_v<std::remove_const_t<decltype(automatic)>, automatic_t>);
static_assert(std::is_same_v<std::remove_const_t<decltype(quicksort)>, quicksort_t>);
static_assert(std::is_same_v<std::remove_const_t<decltype(hybrid_sort)>, hybrid_sort_t>);
static_assert(std::is_same_v<std::remove_const_t<decltype(merge_sort)>, merge_sort_t>);
static_assert(std::is_same_v<std::remove_const_t<decltype(radix_sort)>, radix_sort_t>);
static_assert(std::is_empty_v<radix_sort_t> && std::is_empty_v<automatic_t>);

// Which comparators read a key's bits: less and greater of three namespaces, for the type itself or void.
template <class Key>
constexpr bool has_all_radix_orders =
  has_radix_order_v<Key, thrust::less<Key>> && has_radix_order_v<Key, thrust::less<>>
  && has_radix_order_v<Key, thrust::greater<Key>> && has_radix_order_v<Key, thrust::greater<>>
  && has_radix_order_v<Key, cuda::std::less<Key>> && has_radix_order_v<Key, cuda::std::less<>>
  && has_radix_order_v<Key, cuda::std::greater<Key>> && has_radix_order_v<Key, cuda::std::greater<>>
  && has_radix_order_v<Key, std::less<Key>> && has_radix_order_v<Key, std::less<>>
  && has_radix_order_v<Key, std::greater<Key>> && has_radix_order_v<Key, std::greater<>>;

template <class Key>
constexpr bool has_no_radix_order =
  !has_radix_order_v<Key, thrust::less<Key>> && !has_radix_order_v<Key, cuda::std::less<>>
  && !has_radix_order_v<Key, std::greater<Key>>;

enum plain_enum
{
  some
};
enum class byte_enum : std::uint8_t
{
};
enum class wide_enum : std::int64_t
{
};
struct record
{
  int key;
};

static_assert(has_all_radix_orders<std::uint8_t> && has_all_radix_orders<std::int8_t>);
static_assert(has_all_radix_orders<std::uint16_t> && has_all_radix_orders<std::int16_t>);
static_assert(has_all_radix_orders<std::uint32_t> && has_all_radix_orders<std::int32_t>);
static_assert(has_all_radix_orders<std::uint64_t> && has_all_radix_orders<std::int64_t>);
static_assert(has_all_radix_orders<unsigned long> && has_all_radix_orders<unsigned long long>);
static_assert(has_all_radix_orders<long> && has_all_radix_orders<long long>);
static_assert(has_all_radix_orders<__int128> && has_all_radix_orders<unsigned __int128>);
static_assert(has_all_radix_orders<bool> && has_all_radix_orders<char> && has_all_radix_orders<wchar_t>);
static_assert(has_all_radix_orders<char16_t> && has_all_radix_orders<char32_t>);
static_assert(has_all_radix_orders<float> && has_all_radix_orders<double>);
static_assert(has_all_radix_orders<__half> && has_all_radix_orders<__nv_bfloat16>);
static_assert(has_all_radix_orders<plain_enum> && has_all_radix_orders<byte_enum> && has_all_radix_orders<wide_enum>);
static_assert(has_no_radix_order<record> && has_no_radix_order<std::string> && has_no_radix_order<int*>);
static_assert(has_no_radix_order<long double>);

// Comparators that are not those.
struct derived_less : std::less<int>
{};
static_assert(!has_radix_order_v<int, thrust::less<float>> && !has_radix_order_v<int, thrust::greater<unsigned>>);
static_assert(!has_radix_order_v<int, std::less_equal<int>> && !has_radix_order_v<int, thrust::less_equal<int>>);
static_assert(!has_radix_order_v<int, derived_less> && !has_radix_order_v<int, bool (*)(int, int)>);

// What can be sorted how, and what automatic takes.
template <class Key, class Compare>
constexpr bool everything_but_radix =
  supports_v<automatic_t, Key, Compare> && supports_v<quicksort_t, Key, Compare>
  && supports_v<hybrid_sort_t, Key, Compare> && supports_v<merge_sort_t, Key, Compare>;

static_assert(everything_but_radix<int, std::less<>> && supports_v<radix_sort_t, int, std::less<>>);
static_assert(everything_but_radix<record, derived_less> && !supports_v<radix_sort_t, record, derived_less>);
static_assert(!supports_v<radix_sort_t, int, thrust::greater<float>>);
static_assert(std::is_same_v<selected_t<int, thrust::less<int>>, radix_sort_t>);
static_assert(std::is_same_v<selected_t<__half, std::greater<>>, radix_sort_t>);
static_assert(std::is_same_v<selected_t<int, thrust::greater<float>>, merge_sort_t>);
static_assert(std::is_same_v<selected_t<record, std::less<>>, merge_sort_t>);

// What that means on the GPU: merge sort for what may be compared elsewhere.
struct carrying
{
  int const* keys;

  bool operator()(std::uint64_t a, std::uint64_t b) const
  {
    return keys[a] < keys[b];
  }
};
struct by_threshold // which is no address
{
  int threshold;

  bool operator()(unsigned a, unsigned b) const
  {
    return static_cast<int>(a) < threshold && static_cast<int>(b) >= threshold;
  }
};
template <class Key, class Compare>
using on_gpu = dispatch::device_algorithm_t<automatic_t, Key, Compare>;
static_assert(std::is_same_v<on_gpu<unsigned, carrying>, merge_sort_t>);
static_assert(std::is_same_v<on_gpu<std::int64_t, carrying>, merge_sort_t>);
static_assert(std::is_same_v<on_gpu<record*, derived_less>, merge_sort_t>);
static_assert(std::is_same_v<on_gpu<record*, thrust::less<record*>>, hybrid_sort_t>);
static_assert(std::is_same_v<on_gpu<record const*, std::greater<>>, hybrid_sort_t>);
static_assert(std::is_same_v<on_gpu<std::uint16_t, carrying>, hybrid_sort_t>);
static_assert(std::is_same_v<on_gpu<float, carrying>, hybrid_sort_t>);
static_assert(std::is_same_v<on_gpu<unsigned, derived_less>, hybrid_sort_t>);
static_assert(std::is_same_v<on_gpu<unsigned, by_threshold>, hybrid_sort_t>);
static_assert(std::is_same_v<on_gpu<unsigned, bool (*)(unsigned, unsigned)>, hybrid_sort_t>);
static_assert(std::is_same_v<on_gpu<unsigned, std::less<>>, radix_sort_t>);
static_assert(std::is_same_v<dispatch::device_algorithm_t<hybrid_sort_t, unsigned, carrying>, hybrid_sort_t>);

// What is marked as taking long sorts as it did.
static_assert(is_expensive_v<decltype(expensive(carrying{}))> && !is_expensive_v<carrying>);

TEST(Queries, ExpensiveComparatorsOnTheHost)
{
  std::vector<int> const keys{3, 1, 2, 0, 1};
  std::vector<int> const sorted{3, 1, 4, 2, 0};
  auto const order = expensive(carrying{keys.data()});
  auto const check = [&](auto algorithm) {
    std::vector<int> indices{0, 1, 2, 3, 4};
    gpusort::sort(algorithm, indices.begin(), indices.end(), order);
    EXPECT_EQ(indices, sorted);
  };
  check(automatic);
  check(hybrid_sort);
  check(merge_sort);

  // One that takes references to what it might change.
  auto const by_reference  = [](int& a, int& b) { return a < b; };
  std::vector<int> changed = keys;
  gpusort::stable_sort(thrust::seq, changed.begin(), changed.end(), expensive(by_reference));
  EXPECT_EQ(changed, (std::vector<int>{0, 1, 1, 2, 3}));

  // One that may not be called when it is const.
  int asked            = 0;
  auto const counting  = [&asked](int a, int b) mutable { return ++asked, a < b; };
  std::vector<int> own = keys;
  gpusort::stable_sort(own.begin(), own.end(), expensive(counting));
  EXPECT_EQ(own, (std::vector<int>{0, 1, 1, 2, 3}));
  EXPECT_GE(asked, 4);
}

/// The order of two keys, as radix sort sees it.
template <class Key, class Compare>
bool goes_before(Key a, Key b)
{
  auto const order = radix::make_key_order<Key, Compare>();
  return order.rank_of(radix::bits_of(a)) < order.rank_of(radix::bits_of(b));
}

TEST(RadixOrder, IsTheOrderOfTheKeys)
{
  for (int a = -128; a < 128; ++a)
  {
    for (int b = -128; b < 128; ++b)
    {
      auto const x = static_cast<std::int8_t>(a), y = static_cast<std::int8_t>(b);
      ASSERT_EQ((goes_before<std::int8_t, std::less<>>(x, y)), a < b);
      ASSERT_EQ((goes_before<std::int8_t, thrust::greater<std::int8_t>>(x, y)), a > b);
      auto const u = static_cast<std::uint8_t>(a), v = static_cast<std::uint8_t>(b);
      ASSERT_EQ((goes_before<byte_enum, std::less<>>(byte_enum{u}, byte_enum{v})), u < v);
      auto const s = static_cast<__int128>(a) << 100, t = static_cast<__int128>(b) << 100;
      ASSERT_EQ((goes_before<__int128, std::greater<>>(s, t)), a > b);
      auto const f = static_cast<float>(a), g = static_cast<float>(b);
      ASSERT_EQ((goes_before<float, thrust::less<>>(f, g)), f < g);
      ASSERT_EQ((goes_before<double, std::greater<double>>(f, g)), f > g);
    }
  }
}

// Enums compare as the language compares them, or by operators of their own, which radix cannot read.
enum class backwards
{
  a,
  b
};
bool operator<(backwards l, backwards r)
{
  return static_cast<int>(r) < static_cast<int>(l);
}
static_assert(!gpusort::has_radix_order_v<backwards, thrust::less<backwards>>);
static_assert(gpusort::has_radix_order_v<backwards, thrust::greater<backwards>>);
static_assert(std::is_same_v<gpusort::selected_t<backwards, std::less<>>, gpusort::merge_sort_t>);

TEST(Queries, EnumsWithOperatorsOfTheirOwnAreSortedByThem)
{
  std::vector<backwards> keys{backwards::a, backwards::b};
  gpusort::sort(keys.begin(), keys.end());
  EXPECT_EQ(keys.front(), backwards::b);
}

TEST(RadixOrder, HoldsBothZerosEqualAndPutsNansAtTheEnds)
{
  EXPECT_FALSE((goes_before<float, std::less<>>(-0.0f, 0.0f)));
  EXPECT_FALSE((goes_before<float, std::less<>>(0.0f, -0.0f)));
  EXPECT_FALSE((goes_before<double, std::greater<>>(-0.0, 0.0)));
  EXPECT_FALSE((goes_before<double, std::greater<>>(0.0, -0.0)));
  float const infinity = __builtin_inff(), nan = __builtin_nanf("");
  EXPECT_TRUE((goes_before<float, std::less<>>(infinity, nan)));
  EXPECT_TRUE((goes_before<float, std::less<>>(-nan, -infinity)));
  EXPECT_TRUE((goes_before<float, std::less<>>(-infinity, -3.4e38f)));
  EXPECT_TRUE((goes_before<float, std::greater<>>(nan, infinity)));
}

} // namespace
} // namespace gpusort::testing
