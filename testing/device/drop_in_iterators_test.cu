// What a drop-in keeps of Thrust: where the system comes from, which iterators may be sorted, which comparators.
#include <testing/support/device_memory.cuh>
#include <testing/support/inputs.h>
#include <testing/support/types.cuh>

#include <gpusort/order.h>
#include <gpusort/sort.h>
#include <gtest/gtest.h>

#include <thrust/device_ptr.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/host_vector.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/discard_iterator.h>
#include <thrust/iterator/permutation_iterator.h>
#include <thrust/iterator/reverse_iterator.h>
#include <thrust/iterator/transform_input_output_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/tuple.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <numeric>
#include <vector>

namespace gpusort::testing
{
namespace
{

constexpr std::size_t n = 30011;

// Few enough distinct keys that ties are everywhere.
std::vector<int> some_keys(std::size_t count = n)
{
  std::vector<int> keys(count);
  for (std::size_t i = 0; i < count; ++i)
  {
    keys[i] = static_cast<int>((i * 2654435761u >> 7) % 2003) - 1000;
  }
  return keys;
}

template <class T>
std::vector<T> to_host(thrust::device_vector<T> const& v)
{
  std::vector<T> copy(v.size());
  thrust::copy(v.begin(), v.end(), copy.begin());
  return copy;
}

std::vector<int> iota(std::size_t count = n)
{
  std::vector<int> positions(count);
  std::iota(positions.begin(), positions.end(), 0);
  return positions;
}

/// Positions in the order that a stable sort brings them to.
template <class T, class Compare>
std::vector<int> sorted_positions(std::vector<T> const& keys, Compare comp)
{
  std::vector<int> positions = iota(keys.size());
  std::stable_sort(positions.begin(), positions.end(), [&](int a, int b) {
    return comp(keys[static_cast<std::size_t>(a)], keys[static_cast<std::size_t>(b)]);
  });
  return positions;
}

template <class T>
std::vector<T> permuted(std::vector<T> const& from, std::vector<int> const& positions)
{
  std::vector<T> to;
  for (int const p : positions)
  {
    to.push_back(from[static_cast<std::size_t>(p)]);
  }
  return to;
}

TEST(SystemFromIterators, DeviceVectorMeansDevice)
{
  std::vector<int> const keys      = some_keys();
  std::vector<int> const positions = sorted_positions(keys, std::less<int>{});
  std::vector<int> const downwards = sorted_positions(keys, std::greater<int>{});

  thrust::device_vector<int> k = keys;
  gpusort::sort(k.begin(), k.end());
  EXPECT_EQ(to_host(k), permuted(keys, positions));

  k = keys;
  gpusort::stable_sort(k.begin(), k.end(), thrust::greater<int>{});
  EXPECT_EQ(to_host(k), permuted(keys, downwards));

  k                            = keys;
  thrust::device_vector<int> v = iota();
  gpusort::sort_by_key(k.begin(), k.end(), v.begin());
  EXPECT_EQ(to_host(k), permuted(keys, positions));
  EXPECT_EQ(to_host(v), positions);

  k = keys;
  v = iota();
  gpusort::stable_sort_by_key(k.begin(), k.end(), v.begin(), thrust::greater<int>{});
  EXPECT_EQ(to_host(k), permuted(keys, downwards));
  EXPECT_EQ(to_host(v), downwards);
}

TEST(SystemFromIterators, ATagAloneMeansDeviceToo)
{
  std::vector<int> const keys      = some_keys();
  std::vector<int> const positions = sorted_positions(keys, std::less<int>{});

  thrust::device_vector<int> k = keys, v = iota();
  gpusort::stable_sort_by_key(gpusort::radix_sort, k.begin(), k.end(), v.begin());
  EXPECT_EQ(to_host(k), permuted(keys, positions));
  EXPECT_EQ(to_host(v), positions);

  k = keys;
  gpusort::sort(gpusort::merge_sort, k.begin(), k.end(), thrust::less<int>{});
  EXPECT_EQ(to_host(k), permuted(keys, positions));

  k = keys;
  gpusort::stable_sort(gpusort::automatic, k.begin(), k.end());
  EXPECT_EQ(to_host(k), permuted(keys, positions));

  k = keys;
  v = iota();
  gpusort::sort_by_key(gpusort::automatic, k.begin(), k.end(), v.begin(), reverse_of_projection{});
  EXPECT_EQ(to_host(v), sorted_positions(keys, reverse_of_projection{}));
}

TEST(SystemFromIterators, DevicePointerMeansDevice)
{
  std::vector<int> const keys  = some_keys();
  thrust::device_vector<int> k = keys;
  gpusort::sort(k.data(), k.data() + n);
  EXPECT_EQ(to_host(k), permuted(keys, sorted_positions(keys, std::less<int>{})));

  k                               = keys;
  int* const raw                  = thrust::raw_pointer_cast(k.data());
  thrust::device_ptr<int> const p = thrust::device_pointer_cast(raw);
  gpusort::stable_sort(gpusort::merge_sort, p, p + n, thrust::greater<int>{});
  EXPECT_EQ(to_host(k), permuted(keys, sorted_positions(keys, std::greater<int>{})));
}

TEST(SystemFromIterators, RawPointersAndHostVectorsMeanHost)
{
  std::vector<int> const keys     = some_keys();
  std::vector<int> const expected = permuted(keys, sorted_positions(keys, std::less<int>{}));

  std::vector<int> k = keys;
  gpusort::sort(k.data(), k.data() + k.size());
  EXPECT_EQ(k, expected);

  k = keys;
  gpusort::sort(k.begin(), k.end());
  EXPECT_EQ(k, expected);

  thrust::host_vector<int> h(keys.begin(), keys.end());
  gpusort::stable_sort(gpusort::radix_sort, h.begin(), h.end());
  EXPECT_TRUE(std::equal(h.begin(), h.end(), expected.begin(), expected.end()));
}

TEST(SystemFromIterators, RawPointersUnderADevicePolicyMeanDevice)
{
  std::vector<int> const keys  = some_keys();
  thrust::device_vector<int> k = keys;
  int* const raw               = thrust::raw_pointer_cast(k.data());
  gpusort::sort(thrust::device, raw, raw + n);
  EXPECT_EQ(to_host(k), permuted(keys, sorted_positions(keys, std::less<int>{})));
}

/// Runs `ours` and `thrusts` on the same input, made anew for each, and compares what is left.
template <class Ours, class Thrusts>
void expect_same_as_thrust(Ours ours, Thrusts thrusts)
{
  std::vector<int> const keys  = some_keys();
  thrust::device_vector<int> k = keys, v = iota(), expected_k = keys, expected_v = iota();
  ours(k, v);
  thrusts(expected_k, expected_v);
  EXPECT_EQ(to_host(k), to_host(expected_k));
  EXPECT_EQ(to_host(v), to_host(expected_v));
}

using ints = thrust::device_vector<int>;

TEST(FancyIterators, ReverseKeysAndValues)
{
  expect_same_as_thrust([](ints& k, ints& v) { gpusort::stable_sort_by_key(k.rbegin(), k.rend(), v.rbegin()); },
                        [](ints& k, ints& v) { thrust::stable_sort_by_key(k.rbegin(), k.rend(), v.rbegin()); });

  std::vector<int> const keys = some_keys();
  ints k                      = keys;
  gpusort::sort(gpusort::radix_sort(thrust::device),
                thrust::make_reverse_iterator(k.end()),
                thrust::make_reverse_iterator(k.begin()));
  std::vector<int> const downwards = permuted(keys, sorted_positions(keys, std::greater<int>{}));
  EXPECT_EQ(to_host(k), downwards);
}

/// Every position once, in no order.
ints scattered_positions(std::size_t count)
{
  std::vector<int> positions(count);
  for (std::size_t i = 0; i < count; ++i)
  {
    positions[i] = static_cast<int>(i * 7919 % count); // 7919 is a prime that does not divide count
  }
  return positions;
}

TEST(FancyIterators, PermutedKeys)
{
  ints const where = scattered_positions(n);
  expect_same_as_thrust(
    [&](ints& k, ints& v) {
      auto const first = thrust::make_permutation_iterator(k.begin(), where.begin());
      gpusort::stable_sort_by_key(first, first + n, v.begin(), thrust::greater<int>{});
    },
    [&](ints& k, ints& v) {
      auto const first = thrust::make_permutation_iterator(k.begin(), where.begin());
      thrust::stable_sort_by_key(first, first + n, v.begin(), thrust::greater<int>{});
    });
}

TEST(FancyIterators, PermutedPartOfTheValues)
{
  // Only every position below n / 2 is visited; the others must stay as they are.
  std::size_t const half = n / 2;
  ints const where       = scattered_positions(half);
  expect_same_as_thrust(
    [&](ints& k, ints& v) {
      gpusort::sort_by_key(gpusort::merge_sort(thrust::device),
                           k.begin(),
                           k.begin() + half,
                           thrust::make_permutation_iterator(v.begin(), where.begin()));
    },
    [&](ints& k, ints& v) {
      thrust::stable_sort_by_key(
        thrust::device, k.begin(), k.begin() + half, thrust::make_permutation_iterator(v.begin(), where.begin()));
    });
}

struct second_then_first
{
  // Values and tuples of references meet here, as under Thrust.
  template <class A, class B>
  __host__ __device__ bool operator()(A const& a, B const& b) const
  {
    if (thrust::get<1>(a) != thrust::get<1>(b))
    {
      return thrust::get<1>(a) > thrust::get<1>(b);
    }
    return thrust::get<0>(a) < thrust::get<0>(b);
  }
};

TEST(FancyIterators, ZippedKeys)
{
  std::vector<int> const keys = some_keys();
  std::vector<float> others(n);
  for (std::size_t i = 0; i < n; ++i)
  {
    others[i] = static_cast<float>(i * 31 % 17);
  }
  thrust::device_vector<int> a = keys, v = iota();
  thrust::device_vector<float> b = others;
  auto const first               = thrust::make_zip_iterator(thrust::make_tuple(a.begin(), b.begin()));

  std::vector<int> const positions = [&] {
    std::vector<int> p = iota();
    std::stable_sort(p.begin(), p.end(), [&](int x, int y) {
      auto const i = static_cast<std::size_t>(x), j = static_cast<std::size_t>(y);
      return others[i] != others[j] ? others[i] > others[j] : keys[i] < keys[j];
    });
    return p;
  }();
  gpusort::stable_sort_by_key(thrust::device, first, first + n, v.begin(), second_then_first{});
  EXPECT_EQ(to_host(a), permuted(keys, positions));
  EXPECT_EQ(to_host(b), permuted(others, positions));
  EXPECT_EQ(to_host(v), positions);
}

struct point
{
  int x;
  int y;
};
struct x_of_any
{
  template <class A, class B>
  __device__ bool operator()(A const& a, B const& b) const
  {
    return a.x < b.x;
  }
};
struct x_of_any_point
{
  template <class Point>
  __host__ __device__ int operator()(Point const& p) const
  {
    return p.x;
  }
};
struct x_of_first_of_any
{
  template <class A, class B>
  __device__ bool operator()(A const& a, B const& b) const
  {
    return thrust::get<0>(a).x < thrust::get<0>(b).x;
  }
};

// What takes any type takes Thrust's references as well, of which there is nothing to be had.
TEST(FancyIterators, GenericComparatorsAndProjectionsSeeTheKeys)
{
  std::vector<int> const xs = some_keys();
  std::vector<point> points(n);
  for (std::size_t i = 0; i < n; ++i)
  {
    points[i] = {xs[i], static_cast<int>(i)};
  }
  std::vector<int> const positions = sorted_positions(xs, std::less<int>{});
  std::vector<int> const backwards = [&] {
    std::vector<int> p = iota();
    std::stable_sort(p.rbegin(), p.rend(), [&](int i, int j) {
      return xs[static_cast<std::size_t>(i)] < xs[static_cast<std::size_t>(j)];
    });
    return p;
  }();
  // Every point carries the position that it had.
  auto const expect =
    [&](thrust::device_vector<point> const& sorted, std::vector<int> const& expected, char const* what) {
      std::vector<int> at;
      for (point const& p : to_host(sorted))
      {
        at.push_back(p.y);
      }
      EXPECT_EQ(at, expected) << what;
    };

  thrust::device_vector<point> v = points;
  gpusort::stable_sort(v.rbegin(), v.rend(), x_of_any{});
  expect(v, backwards, "reversed");

  v                                = points;
  thrust::device_vector<int> where = iota();
  auto const permuted_first        = thrust::make_permutation_iterator(v.begin(), where.begin());
  gpusort::stable_sort(gpusort::merge_sort, permuted_first, permuted_first + n, x_of_any{});
  expect(v, positions, "permuted");

  v                                 = points;
  thrust::device_vector<int> others = iota(), values = iota();
  auto const zipped = thrust::make_zip_iterator(thrust::make_tuple(v.begin(), others.begin()));
  gpusort::stable_sort_by_key(zipped, zipped + n, values.begin(), x_of_first_of_any{});
  expect(v, positions, "zipped");
  EXPECT_EQ(to_host(others), positions);
  EXPECT_EQ(to_host(values), positions);

  v = points;
  gpusort::stable_sort(v.rbegin(), v.rend(), gpusort::by(x_of_any_point{}));
  expect(v, backwards, "reversed, by a projection");
}

TEST(FancyIterators, ZippedKeysByTheirOwnOrder)
{
  std::vector<int> const keys  = some_keys();
  std::vector<int> const other = iota();
  thrust::device_vector<int> a = keys, b = other;
  auto const first = thrust::make_zip_iterator(thrust::make_tuple(a.begin(), b.begin()));
  gpusort::sort(first, first + n);
  std::vector<int> const positions = sorted_positions(keys, std::less<int>{});
  EXPECT_EQ(to_host(a), permuted(keys, positions));
  EXPECT_EQ(to_host(b), positions);
}

TEST(FancyIterators, ZippedValues)
{
  std::vector<int> const keys  = some_keys();
  thrust::device_vector<int> k = keys, a = iota();
  std::vector<double> others(n);
  std::iota(others.begin(), others.end(), 0.5);
  thrust::device_vector<double> b = others;
  thrust::device_vector<short> c(n, 7);
  std::vector<int> const positions = sorted_positions(keys, std::less<int>{});
  gpusort::sort_by_key(
    k.begin(), k.end(), thrust::make_zip_iterator(thrust::make_tuple(a.begin(), b.begin(), c.begin())));
  EXPECT_EQ(to_host(k), permuted(keys, positions));
  EXPECT_EQ(to_host(a), positions);
  EXPECT_EQ(to_host(b), permuted(others, positions));
  EXPECT_EQ(to_host(c), std::vector<short>(n, 7));
}

TEST(FancyIterators, DiscardedValues)
{
  std::vector<int> const keys     = some_keys();
  std::vector<int> const expected = permuted(keys, sorted_positions(keys, std::less<int>{}));
  thrust::device_vector<int> k    = keys;
  gpusort::sort_by_key(k.begin(), k.end(), thrust::make_discard_iterator());
  EXPECT_EQ(to_host(k), expected);

  k = keys;
  gpusort::stable_sort_by_key(
    gpusort::merge_sort(thrust::device), k.begin(), k.end(), thrust::discard_iterator<>(), thrust::less<int>{});
  EXPECT_EQ(to_host(k), expected);
}

struct negated
{
  __host__ __device__ int operator()(int x) const
  {
    return -x;
  }
};

TEST(FancyIterators, ProxiesThatTransformBothWays)
{
  // Seen through the proxy every number is its negative: ascending there is descending in memory.
  std::vector<int> const keys      = some_keys();
  std::vector<int> const positions = sorted_positions(keys, std::greater<int>{});
  thrust::device_vector<int> k = keys, v = iota();
  auto const first = thrust::make_transform_input_output_iterator(k.begin(), negated{}, negated{});
  gpusort::stable_sort_by_key(thrust::device, first, first + n, v.begin());
  EXPECT_EQ(to_host(k), permuted(keys, positions));
  EXPECT_EQ(to_host(v), positions);
}

TEST(FancyIterators, ProxyValues)
{
  std::vector<int> const keys      = some_keys();
  std::vector<int> const positions = sorted_positions(keys, std::less<int>{});
  thrust::device_vector<int> k = keys, v = iota();
  gpusort::sort_by_key(gpusort::merge_sort,
                       k.begin(),
                       k.end(),
                       thrust::make_transform_input_output_iterator(v.begin(), negated{}, negated{}));
  EXPECT_EQ(to_host(k), permuted(keys, positions));
  EXPECT_EQ(to_host(v), positions);
}

TEST(Comparators, OfAnotherTypeThanTheKeys)
{
  // As float, neighbouring large integers are equal: their order must be kept, not decided by their bits.
  std::vector<int> keys(n);
  for (std::size_t i = 0; i < n; ++i)
  {
    keys[i] = 1'000'000'000 + static_cast<int>(i * 2654435761u % 5000);
  }
  std::vector<int> const positions = sorted_positions(keys, thrust::greater<float>{});
  ASSERT_NE(positions, sorted_positions(keys, thrust::greater<int>{}));

  thrust::device_vector<int> k = keys, v = iota();
  gpusort::sort_by_key(thrust::device, k.begin(), k.end(), v.begin(), thrust::greater<float>{});
  EXPECT_EQ(to_host(k), permuted(keys, positions));
  EXPECT_EQ(to_host(v), positions);

  k = keys;
  gpusort::sort(k.begin(), k.end(), thrust::greater<float>{});
  EXPECT_EQ(to_host(k), permuted(keys, positions));
}

namespace lookalike
{
template <class T>
struct less
{
  __host__ __device__ bool operator()(T const& a, T const& b) const
  {
    return a > b;
  }
};

/// Is a thrust::less<int>, and answers otherwise.
struct derived : thrust::less<int>
{
  __host__ __device__ bool operator()(int a, int b) const
  {
    return b < a;
  }
};
} // namespace lookalike

TEST(Comparators, ThatDifferFromLessOnlyInName)
{
  std::vector<int> const keys      = some_keys();
  std::vector<int> const downwards = permuted(keys, sorted_positions(keys, std::greater<int>{}));
  thrust::device_vector<int> k     = keys;
  gpusort::sort(k.begin(), k.end(), lookalike::less<int>{});
  EXPECT_EQ(to_host(k), downwards);

  k = keys;
  gpusort::stable_sort(thrust::device, k.begin(), k.end(), lookalike::derived{});
  EXPECT_EQ(to_host(k), downwards);

  static_assert(!has_radix_order_v<int, lookalike::less<int>>);
  static_assert(!has_radix_order_v<int, lookalike::derived>);
}

// Extended lambdas may not be written in the private member functions that TEST makes.
void sort_by_device_lambda(thrust::device_vector<int>& k, thrust::device_vector<int>& v)
{
  gpusort::stable_sort_by_key(thrust::device, k.begin(), k.end(), v.begin(), [] __device__(int a, int b) {
    return a % 100 < b % 100;
  });
}

void sort_by_capturing_lambda(thrust::device_vector<int>& k, int const* rank)
{
  gpusort::sort(gpusort::merge_sort, k.begin(), k.end(), [rank] __device__(int a, int b) {
    return rank[a + 1000] < rank[b + 1000];
  });
}

TEST(Comparators, DeviceOnlyLambda)
{
  std::vector<int> const keys      = some_keys();
  std::vector<int> const positions = sorted_positions(keys, [](int a, int b) { return a % 100 < b % 100; });
  thrust::device_vector<int> k = keys, v = iota();
  sort_by_device_lambda(k, v);
  EXPECT_EQ(to_host(k), permuted(keys, positions));
  EXPECT_EQ(to_host(v), positions);
}

TEST(Comparators, LambdaThatReadsDeviceMemory)
{
  std::vector<int> const keys = some_keys();
  std::vector<int> rank(2003);
  for (std::size_t i = 0; i < rank.size(); ++i)
  {
    rank[i] = static_cast<int>(i * 1009 % rank.size());
  }
  thrust::device_vector<int> const ranks = rank;
  thrust::device_vector<int> k           = keys;
  sort_by_capturing_lambda(k, thrust::raw_pointer_cast(ranks.data()));
  std::vector<int> const positions = sorted_positions(keys, [&](int a, int b) {
    return rank[static_cast<std::size_t>(a + 1000)] < rank[static_cast<std::size_t>(b + 1000)];
  });
  EXPECT_EQ(to_host(k), permuted(keys, positions));
}

TEST(Comparators, NansInfinitiesAndZerosAreOrderedAsByThrust)
{
  // Both zeros, infinities and NaNs of both signs, under the order that radix gives them.
  std::vector<float> keys;
  std::uint32_t const patterns[] = {
    0x00000000u,
    0x80000000u,
    0x7f800000u,
    0xff800000u,
    0x7fc00000u,
    0xffc00000u,
    0x7f800001u,
    0xff800001u,
    0x3f800000u,
    0xbf800000u,
    0x00000001u,
    0x80000001u};
  for (std::size_t i = 0; i < n; ++i)
  {
    std::uint32_t const bits = patterns[(i * 2654435761u >> 9) % std::size(patterns)];
    float key                = 0;
    std::memcpy(&key, &bits, sizeof(key));
    keys.push_back(key);
  }
  for (bool const ascending : {true, false})
  {
    guarded_array<float> k(n), expected_k(n);
    guarded_array<int> v(n), expected_v(n);
    std::vector<int> const positions = iota();
    float* const ours                = k.load(keys.data(), n, 1);
    int* const our_values            = v.load(positions.data(), n, 1);
    float* const thrusts             = expected_k.load(keys.data(), n, 1);
    int* const thrust_values         = expected_v.load(positions.data(), n, 1);
    if (ascending)
    {
      gpusort::sort_by_key(thrust::device, ours, ours + n, our_values);
      thrust::stable_sort_by_key(thrust::device, thrusts, thrusts + n, thrust_values);
    }
    else
    {
      gpusort::sort_by_key(thrust::device, ours, ours + n, our_values, thrust::greater<float>{});
      thrust::stable_sort_by_key(thrust::device, thrusts, thrusts + n, thrust_values, thrust::greater<float>{});
    }
    EXPECT_TRUE(k.holds(expected_k.read()));
    EXPECT_TRUE(v.holds(expected_v.read()));
  }
}

} // namespace
} // namespace gpusort::testing
