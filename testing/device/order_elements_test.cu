// Tuples and pairs under less and greater, zipped arrays under these and under orders by projections, and elements of
// namespace std, whose functions kernels cannot call.
#include <testing/support/device_memory.cuh>
#include <testing/support/oracle.cuh>
#include <testing/support/types.cuh>

#include <gpusort/order.h>
#include <gpusort/sort.h>
#include <gtest/gtest.h>

#include <cuda/std/tuple>
#include <cuda/std/utility>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/host_vector.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/pair.h>
#include <thrust/tuple.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace gpusort::testing
{

using random_numbers = std::mt19937;

/// A number of which there are few.
template <class T>
T some(random_numbers& random)
{
  return static_cast<T>(static_cast<int>(random() % 41) - 20);
}

// clang-format off
template <class Key> struct make;
template <class... T> struct make<cuda::std::tuple<T...>>
{
  static cuda::std::tuple<T...> from(random_numbers& random) { return {some<T>(random)...}; }
};
template <class T, class U> struct make<cuda::std::pair<T, U>>
{
  static cuda::std::pair<T, U> from(random_numbers& random) { return {some<T>(random), some<U>(random)}; }
};
template <class T, class U> struct make<std::pair<T, U>>
{
  static std::pair<T, U> from(random_numbers& random) { return {some<T>(random), some<U>(random)}; }
};
// clang-format on

template <class Key>
host_array<Key> some_keys(std::size_t n)
{
  random_numbers random(static_cast<unsigned>(n));
  host_array<Key> keys(n);
  for (Key& key : keys)
  {
    key = make<Key>::from(random);
  }
  return keys;
}

/// Whether kernels can call the type's own operators.
template <class T>
constexpr bool has_device_operators = true;
template <class T, class U>
constexpr bool has_device_operators<std::pair<T, U>> = false;

template <class Key>
class composite_key : public ::testing::Test
{
public:
  template <class Value, class Compare>
  static void check(Compare comp)
  {
    static_assert(std::is_same_v<selected_t<Key, Compare>, radix_sort_t>);
    for (std::size_t const n : {2, 1000, 6145, 50021})
    {
      SCOPED_TRACE(n);
      expectation<Key, Value> const e(some_keys<Key>(n), comp);
      device_range<Key, Value> room(n);
      check_policy(room, e, thrust::device, comp, "automatic");
      check_policy(room, e, gpusort::radix_sort(thrust::device), comp, "radix_sort");
      if constexpr (has_device_operators<Key>)
      {
        check_policy(room, e, gpusort::merge_sort(thrust::device), comp, "merge_sort");
      }
    }
  }

private:
  template <class Value, class Policy, class Compare>
  static void check_policy(
    device_range<Key, Value>& room, expectation<Key, Value> const& e, Policy policy, Compare comp, char const* name)
  {
    EXPECT_TRUE(room.matches(
      e,
      1,
      [&](auto first, auto last) { gpusort::stable_sort(policy, first, last, comp); },
      [&](auto first, auto last, auto attached) { gpusort::stable_sort_by_key(policy, first, last, attached, comp); }))
      << name;
  }
};

// 16, 64, 96 and 256 bits; no padding, so that elements can be compared by their bytes.
using composite_keys =
  ::testing::Types<thrust::tuple<std::int8_t, std::uint8_t>,
                   thrust::tuple<std::int32_t, float>,
                   thrust::pair<float, std::uint32_t>,
                   std::pair<std::int32_t, float>,
                   thrust::tuple<std::int16_t, std::uint16_t, float, std::uint32_t>,
                   thrust::tuple<std::uint64_t, thrust::pair<std::int64_t, double>, std::uint64_t>>;

template <>
struct make<thrust::tuple<std::uint64_t, thrust::pair<std::int64_t, double>, std::uint64_t>>
{
  static thrust::tuple<std::uint64_t, thrust::pair<std::int64_t, double>, std::uint64_t> from(random_numbers& random)
  {
    return {
      some<std::uint64_t>(random), make<thrust::pair<std::int64_t, double>>::from(random), some<std::uint64_t>(random)};
  }
};

TYPED_TEST_SUITE(composite_key, composite_keys);

TYPED_TEST(composite_key, UnderLess)
{
  TestFixture::template check<no_value>(thrust::less<TypeParam>{});
  TestFixture::template check<std::uint32_t>(cuda::std::less<>{});
}

TYPED_TEST(composite_key, UnderGreater)
{
  TestFixture::template check<no_value>(thrust::greater<>{});
  TestFixture::template check<std::uint32_t>(std::greater<TypeParam>{});
}

// Orders by projections of tuples, which a zip_iterator's keys are.

struct first_element
{
  __host__ __device__ std::int32_t operator()(thrust::tuple<std::int32_t, float> const& key) const
  {
    return thrust::get<0>(key);
  }
};
struct second_element
{
  __host__ __device__ float operator()(thrust::tuple<std::int32_t, float> const& key) const
  {
    return thrust::get<1>(key);
  }
};

class zipped_keys : public ::testing::Test
{
public:
  static constexpr std::size_t n = 30011;

  zipped_keys()
      : a(n)
      , b(n)
      , positions(n)
  {
    random_numbers random(3);
    for (std::size_t i = 0; i < n; ++i)
    {
      a[i] = some<std::int32_t>(random);
      b[i] = some<float>(random);
    }
    std::iota(positions.begin(), positions.end(), 0u);
  }

  /// Sorts the arrays together by every algorithm, alone and with positions. `reference` compares two positions.
  template <class Reference, class Compare>
  void check(Reference reference, Compare comp)
  {
    static_assert(std::is_same_v<selected_t<thrust::tuple<std::int32_t, float>, Compare>, radix_sort_t>);
    std::vector<std::uint32_t> expected = positions;
    std::stable_sort(expected.begin(), expected.end(), reference);
    check_policy(expected, thrust::device, comp, "automatic");
    check_policy(expected, gpusort::radix_sort(thrust::device), comp, "radix_sort");
    check_policy(expected, gpusort::merge_sort(thrust::device), comp, "merge_sort");
  }

  std::vector<std::int32_t> a;
  std::vector<float> b;
  std::vector<std::uint32_t> positions;

private:
  template <class Policy, class Compare>
  void check_policy(std::vector<std::uint32_t> const& expected, Policy policy, Compare comp, char const* name)
  {
    for (bool const with_values : {false, true})
    {
      SCOPED_TRACE(::testing::Message() << name << (with_values ? ", with values" : ", keys alone"));
      thrust::device_vector<std::int32_t> x  = a;
      thrust::device_vector<float> y         = b;
      thrust::device_vector<std::uint32_t> v = positions;
      auto const first                       = thrust::make_zip_iterator(thrust::make_tuple(x.begin(), y.begin()));
      if (with_values)
      {
        gpusort::stable_sort_by_key(policy, first, first + n, v.begin(), comp);
        EXPECT_EQ(to_host(v), expected);
      }
      else
      {
        gpusort::stable_sort(policy, first, first + n, comp);
      }
      EXPECT_EQ(to_host(x), permuted(a, expected));
      EXPECT_EQ(to_host(y), permuted(b, expected));
    }
  }

  template <class T>
  static std::vector<T> to_host(thrust::device_vector<T> const& on_device)
  {
    std::vector<T> copy(on_device.size());
    thrust::copy(on_device.begin(), on_device.end(), copy.begin());
    return copy;
  }

  template <class T>
  static std::vector<T> permuted(std::vector<T> const& from, std::vector<std::uint32_t> const& order)
  {
    std::vector<T> to;
    for (std::uint32_t const i : order)
    {
      to.push_back(from[i]);
    }
    return to;
  }
};

TEST_F(zipped_keys, UnderLessAndGreater)
{
  check([&](std::uint32_t i, std::uint32_t j) { return std::tie(a[i], b[i]) < std::tie(a[j], b[j]); },
        thrust::less<thrust::tuple<std::int32_t, float>>{});
  check([&](std::uint32_t i, std::uint32_t j) { return std::tie(a[i], b[i]) > std::tie(a[j], b[j]); },
        thrust::greater<>{});
}

TEST_F(zipped_keys, ByProjections)
{
  check([&](std::uint32_t i, std::uint32_t j) { return b[i] != b[j] ? b[i] > b[j] : a[i] < a[j]; },
        by(descending(second_element{}), first_element{}));
  check([&](std::uint32_t i, std::uint32_t j) { return a[i] > a[j]; }, descending(first_element{}));
}

TEST(StagedStructs, AreSortedByTheirFields)
{
  using key           = three_words;
  std::size_t const n = 30011;
  std::vector<key> keys(n);
  random_numbers random(4);
  for (std::size_t i = 0; i < n; ++i)
  {
    keys[i] = {some<std::uint32_t>(random), static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i % 3)};
  }
  auto const order                 = by(&key::tail, descending(&key::key));
  thrust::device_vector<key> found = keys;
  gpusort::stable_sort(found.rbegin(), found.rend(), order);
  std::stable_sort(keys.rbegin(), keys.rend(), order);
  thrust::host_vector<key> const on_host = found;
  for (std::size_t i = 0; i < n; ++i)
  {
    ASSERT_EQ(on_host[i].position, keys[i].position) << i;
  }
}

// Elements that only host functions can make are moved by their bytes, whatever sorts them.

struct by_second
{
  __host__ __device__ bool operator()(std::pair<std::int32_t, float> const& a,
                                      std::pair<std::int32_t, float> const& b) const
  {
    return a.second < b.second;
  }
};

TEST(StandardPairs, UnderAComparator)
{
  using key           = std::pair<std::int32_t, float>;
  std::size_t const n = 20011;
  expectation<key, std::uint32_t> const e(some_keys<key>(n), by_second{});
  device_range<key, std::uint32_t> room(n);
  EXPECT_TRUE(room.matches(
    e,
    1,
    [](auto...) {},
    [](auto first, auto last, auto values) {
      gpusort::sort_by_key(thrust::device, first, last, values, by_second{});
    }));
}

template <class Value>
void expect_values_beside_their_keys()
{
  std::size_t const n = 20011;
  random_numbers random(5);
  std::vector<std::uint32_t> keys(n), expected(n);
  host_array<Value> values(n), sorted(n);
  for (std::size_t i = 0; i < n; ++i)
  {
    keys[i]     = static_cast<std::uint32_t>(random() % 1000);
    expected[i] = static_cast<std::uint32_t>(i);
    values[i]   = Value(static_cast<std::int32_t>(i), static_cast<float>(i) / 2);
  }
  std::stable_sort(expected.begin(), expected.end(), [&](std::uint32_t a, std::uint32_t b) {
    return keys[a] < keys[b];
  });
  for (std::size_t i = 0; i < n; ++i)
  {
    sorted[i] = values[expected[i]];
  }
  guarded_array<Value> v(n);
  thrust::device_vector<std::uint32_t> k = keys;
  gpusort::stable_sort_by_key(thrust::device, k.data(), k.data() + n, v.load(values));
  EXPECT_TRUE(v.holds(sorted));
}

TEST(StandardPairs, AndTuplesAsValues)
{
  expect_values_beside_their_keys<std::pair<std::int32_t, float>>();
  expect_values_beside_their_keys<std::tuple<std::int32_t, float>>();
}

} // namespace gpusort::testing
