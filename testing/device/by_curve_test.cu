// Keys that are not even, in buckets by a curve: that they go there, or not, and that they are sorted.
#include <testing/support/cases.h>
#include <testing/support/device_memory.cuh>

#include <gpusort/algorithm.h>
#include <gpusort/radix/device.cuh>
#include <gpusort/radix/findings.cuh>
#include <gpusort/radix/key_order.h>
#include <gpusort/radix/tuning.h>

#include <gtest/gtest.h>

#include <thrust/device_vector.h>
#include <thrust/functional.h>
#include <thrust/host_vector.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

namespace gpusort::radix
{
namespace
{

using testing::in_a_hurry;
using testing::keys_from;
using testing::mixed;

/// Above 0, up to 1.
double unit(std::uint64_t i)
{
  return static_cast<double>((mixed(i) >> 11) + 1) * 0x1p-53;
}

/// Most of which are near 0.
std::uint64_t product(std::uint64_t i)
{
  return (mixed(i) >> 32) * (mixed(~i) >> 32);
}

double exponential(std::uint64_t i)
{
  return -std::log(unit(i));
}

/// The same as whole numbers, of which hardly any are alike.
std::uint64_t whole_exponential(std::uint64_t i)
{
  return static_cast<std::uint64_t>(exponential(i) * 0x1p57);
}

/// Four in five of which are in a sixth of what there is: too many for long buckets of equal width, too few for a bucket to look hopeless.
std::uint64_t mostly_narrow(std::uint64_t i)
{
  return i % 5 == 0 ? mixed(i) : (std::uint64_t{1} << 63) + mixed(i) / 6;
}

/// Which of n keys the two samples of looks have.
std::vector<bool> sampled(std::size_t n)
{
  std::vector<bool> is(n);
  std::size_t const stride = n / spread::samples;
  for (std::size_t sample = 0; sample < spread::samples; ++sample)
  {
    for (std::size_t const aside : {std::size_t{0}, stride / 2})
    {
      is[sample * stride + (sample * 61 + aside) % stride] = true;
    }
  }
  return is;
}

/// Puts `other(i)` in places that samples do not have, one in so many.
template <class Key, class Other>
void put_where_not_sampled(std::vector<Key>& keys, std::size_t one_in, Other other)
{
  std::vector<bool> const is = sampled(keys.size());
  for (std::size_t i = one_in / 2; i < keys.size(); i += one_in)
  {
    if (!is[i])
    {
      keys[i] = other(i);
    }
  }
}

/// What has been found out about an input that has been sorted.
struct outcome
{
  bool by_curve;
  bool splits; // into buckets of equal width
  bool lists; // buckets
};

/// Sorts by a radix sort that leaves no keys to others, checks the result against a stable sort by rank, bit for bit, and tells how it came about.
/// Values, if there are any, are positions.
template <class Key, class Value, class Compare>
outcome sort_and_check(std::vector<Key> const& keys)
{
  using bits                 = bits_t<Key>;
  constexpr bool with_values = !std::is_same_v<Value, no_value>;
  std::size_t const n        = keys.size();
  auto const order           = make_key_order<Key, Compare>();
  auto const rank            = [&](std::uint32_t i) {
    bits own;
    std::memcpy(&own, &keys[i], sizeof(Key));
    return order.rank_of(own);
  };
  std::vector<std::uint32_t> sources(n);
  std::iota(sources.begin(), sources.end(), 0u);
  std::stable_sort(sources.begin(), sources.end(), [&](std::uint32_t a, std::uint32_t b) { return rank(a) < rank(b); });

  thrust::device_vector<Key> sorted(keys.begin(), keys.end());
  std::vector<std::conditional_t<with_values, Value, char>> positions(with_values ? n : 0);
  std::iota(positions.begin(), positions.end(), 0);
  thrust::device_vector<std::conditional_t<with_values, Value, char>> values(positions.begin(), positions.end());
  thrust::device_vector<char> scratch(device::scratch_bytes<Key, Value, Compare>(n));
  void* const memory = thrust::raw_pointer_cast(scratch.data());
  Value* own_values  = nullptr;
  if constexpr (with_values)
  {
    own_values = thrust::raw_pointer_cast(values.data());
  }
  device::sort(nullptr, memory, thrust::raw_pointer_cast(sorted.data()), own_values, n, Compare{});
  device::plan<Key, Value> const plan(n);
  findings<bits> found;
  testing::require(cudaMemcpy(&found,
                              runtime::at_offset<findings<bits>>(plan.layout.base(memory), plan.found),
                              sizeof found,
                              cudaMemcpyDeviceToHost),
                   "findings");

  thrust::host_vector<Key> const result = sorted;
  std::size_t wrong = 0, wrong_values = 0;
  for (std::size_t i = 0; i < n; ++i)
  {
    wrong += std::memcmp(&result[i], &keys[sources[i]], sizeof(Key)) != 0;
  }
  EXPECT_EQ(wrong, 0u) << "keys";
  if constexpr (with_values)
  {
    thrust::host_vector<Value> const from = values;
    for (std::size_t i = 0; i < n; ++i)
    {
      wrong_values += from[i] != static_cast<Value>(sources[i]);
    }
  }
  EXPECT_EQ(wrong_values, 0u);
  return {found.by_curve != 0, found.splits != 0, found.listed != 0};
}

/// Both ways, or, in a hurry, by turns; expects that a curve is taken.
template <class Key, class Value>
void expect_curve(std::vector<Key> const& keys)
{
  static bool ascends = false;
  for (int turn = 0; turn < (in_a_hurry() ? 1 : 2); ++turn)
  {
    ascends = !ascends;
    SCOPED_TRACE(ascends ? "less" : "greater");
    outcome const found = ascends ? sort_and_check<Key, Value, thrust::less<Key>>(keys)
                                  : sort_and_check<Key, Value, thrust::greater<Key>>(keys);
    EXPECT_TRUE(found.by_curve);
    EXPECT_FALSE(found.splits);
  }
}

/// One way, and not by a curve.
template <class Key, class Value>
outcome expect_no_curve(std::vector<Key> const& keys)
{
  outcome const found = sort_and_check<Key, Value, thrust::less<Key>>(keys);
  EXPECT_FALSE(found.by_curve);
  return found;
}

// So many that no wave sorts them.
std::size_t some()
{
  constexpr std::size_t least = 2'300'007;
  static_assert(least > most_in_long_wave(4, 0) && least > most_in_long_wave(8, 0));
  return in_a_hurry() ? least : (std::size_t{1} << 22) + 12'345;
}

TEST(ByCurve, IntegersWithValues)
{
  std::size_t const n = some();
  expect_curve<std::uint64_t, std::uint32_t>(keys_from<std::uint64_t>(n, product));
  if (!in_a_hurry())
  {
    expect_curve<std::int64_t, std::uint64_t>(keys_from<std::int64_t>(n, [](std::size_t i) {
      return static_cast<std::int64_t>(mixed(3 * i) / 4 + mixed(3 * i + 1) / 4)
           - static_cast<std::int64_t>(product(i) / 2);
    }));
  }
}

TEST(ByCurve, NumbersOfBothSignsAndOthers)
{
  // Exponentially distributed, but for a few that samples do not have: zeros of both signs, which keep their order, infinite numbers and NaNs.
  std::size_t const n      = in_a_hurry() ? some() : std::size_t{1} << 24;
  std::vector<double> keys = keys_from<double>(n, exponential);
  put_where_not_sampled(keys, 9001, [](std::size_t i) {
    using limits          = std::numeric_limits<double>;
    double const others[] = {
      0.0, -0.0, limits::infinity(), -limits::infinity(), limits::quiet_NaN(), -limits::quiet_NaN(), -3.5};
    return others[i % 7];
  });
  expect_curve<double, std::uint32_t>(keys);
  if (!in_a_hurry())
  {
    expect_curve<double, no_value>(keys);
  }
}

TEST(ByCurve, KeysAlone)
{
  std::size_t const n = in_a_hurry() ? some() : std::size_t{1} << 22;
  expect_curve<std::uint64_t, no_value>(keys_from<std::uint64_t>(n, mostly_narrow));
  // In order but for a key in a hundred: neighbours crowd in buckets.
  std::vector<std::uint64_t> keys = keys_from<std::uint64_t>(n, mostly_narrow);
  std::sort(keys.begin(), keys.end());
  for (std::size_t i = 7; i < n; i += 100)
  {
    keys[i] = mostly_narrow(n + i);
  }
  expect_curve<std::uint64_t, no_value>(keys);
}

TEST(ByCurve, BucketsThatAreLongByAccident)
{
  // A stretch of one key, of which samples have few: keys alone have long buckets, others go by digits, after a count.
  std::size_t const n       = std::size_t{1} << 22;
  std::size_t const stretch = 7000;
  auto const keys           = keys_from<std::uint64_t>(n, [=](std::size_t i) {
    return i / stretch == 3 ? whole_exponential(12'345) : whole_exponential(i);
  });
  if (!in_a_hurry())
  {
    outcome const alone = sort_and_check<std::uint64_t, no_value, thrust::less<std::uint64_t>>(keys);
    EXPECT_TRUE(alone.by_curve);
    EXPECT_TRUE(alone.lists);
    expect_no_curve<std::uint64_t, std::uint32_t>(keys);
  }
  // All alike but what samples have.
  std::vector<std::uint64_t> misleading = keys_from<std::uint64_t>(some(), product);
  put_where_not_sampled(misleading, 1, [](std::size_t) { return std::uint64_t{1} << 60; });
  expect_no_curve<std::uint64_t, std::uint32_t>(misleading);
}

TEST(ByCurve, NotForOthers)
{
  std::size_t const n = some();
  // Even ones, and what a curve does not make even.
  EXPECT_TRUE((expect_no_curve<std::uint64_t, std::uint32_t>(keys_from<std::uint64_t>(n, mixed)).splits));
  EXPECT_FALSE((expect_no_curve<std::uint64_t, std::uint32_t>(
                  keys_from<std::uint64_t>(n, [](std::size_t i) { return mixed(i) & mixed(~i) & mixed(i * i); }))
                  .splits));
  if (in_a_hurry())
  {
    return;
  }
  EXPECT_FALSE((expect_no_curve<std::uint64_t, std::uint32_t>(
                  keys_from<std::uint64_t>(n, [](std::size_t i) { return i % 20 == 0 ? product(7) : product(i); }))
                  .splits));
  // Few values.
  expect_no_curve<std::uint64_t, std::uint32_t>(
    keys_from<std::uint64_t>(n, [](std::size_t i) { return static_cast<std::uint64_t>(1e5 * exponential(i)); }));
  // In order and reversed, with and without values.
  std::vector<std::uint64_t> keys = keys_from<std::uint64_t>(n, product);
  std::sort(keys.begin(), keys.end());
  expect_no_curve<std::uint64_t, std::uint32_t>(keys);
  expect_no_curve<std::uint64_t, no_value>(keys);
  std::reverse(keys.begin(), keys.end());
  expect_no_curve<std::uint64_t, std::uint32_t>(keys);
  expect_no_curve<std::uint64_t, no_value>(keys);
}

} // namespace
} // namespace gpusort::radix
