// Buckets and small inputs that are sorted by the values of their keys, because an unknown comparator sorts a sample so: upwards and
// downwards, integers and floats, and comparators that a sample does not know, of which each has to be believed more than the values.
#include <testing/support/device_memory.cuh>
#include <testing/support/sorted_alike.cuh>
#include <testing/support/splitting.cuh>
#include <testing/support/times_asked.cuh>

#include <gpusort/hybrid/tuning.h>
#include <gpusort/merge/choice.h>
#include <gpusort/merge/in_block.cuh>
#include <gpusort/merge/in_wave.cuh>
#include <gpusort/radix/tuning.h>
#include <gpusort/sort.h>
#include <gtest/gtest.h>
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

namespace
{

using gpusort::testing::check;
using gpusort::testing::check_stable;
using gpusort::testing::guarded_array;
using gpusort::testing::in_a_hurry;
using gpusort::testing::mixed;
using gpusort::testing::most_in_block;
using gpusort::testing::quick_split;
using gpusort::testing::split;
using gpusort::testing::times_asked;

struct upwards
{
  template <class Key>
  __host__ __device__ bool operator()(Key a, Key b) const
  {
    return a < b;
  }
};
struct downwards
{
  template <class Key>
  __host__ __device__ bool operator()(Key a, Key b) const
  {
    return a > b;
  }
};

/// Even keys by value; of two that differ in the lowest bit alone, the odd one first.
struct odd_ones_first
{
  template <class Key>
  __host__ __device__ bool operator()(Key a, Key b) const
  {
    return (a ^ 1) < (b ^ 1);
  }
};
/// Two keys that differ in the lowest bit alone are equivalent.
struct without_lowest_bit
{
  template <class Key>
  __host__ __device__ bool operator()(Key a, Key b) const
  {
    return (a >> 1) < (b >> 1);
  }
};
/// The greatest key comes first.
struct greatest_first
{
  template <class Key>
  __host__ __device__ bool operator()(Key a, Key b) const
  {
    return static_cast<Key>(a + 1) < static_cast<Key>(b + 1);
  }
};

/// One level of buckets, of several in a block and of as few as there can be, and two.
template <class Key, class Value>
std::vector<std::size_t> sizes()
{
  constexpr std::size_t most = most_in_block<Key, gpusort::block::no_values>;
  if (in_a_hurry())
  {
    return {most + 1, 5 * most};
  }
  return {most + 1, 2 * most + 77, 5 * most, 50'000, 130 * most, 1'000'003, 3'000'000};
}

template <class Key>
Key from_bits(std::uint64_t bits)
{
  Key key{};
  std::memcpy(&key, &bits, sizeof key);
  return key;
}

/// Any key but NaN.
template <class Key>
Key any_key(std::uint64_t i)
{
  if constexpr (std::is_floating_point_v<Key>)
  {
    Key const key = from_bits<Key>(mixed(i));
    return key == key ? key : static_cast<Key>(static_cast<double>(i));
  }
  else
  {
    return static_cast<Key>(mixed(i));
  }
}

template <class Key, class Make>
std::vector<Key> make_keys(std::size_t n, Make make)
{
  std::vector<Key> keys(n);
  for (std::size_t i = 0; i < n; ++i)
  {
    keys[i] = make(i);
  }
  return keys;
}

template <class Key, class Value>
struct pair_of
{
  using key   = Key;
  using value = Value;
};

template <class Pair>
class ValueOrder : public ::testing::Test
{};
using pairs =
  ::testing::Types<pair_of<std::uint32_t, std::uint32_t>,
                   pair_of<std::int32_t, std::uint64_t>,
                   pair_of<float, std::uint32_t>,
                   pair_of<std::int64_t, std::uint64_t>,
                   pair_of<double, std::uint32_t>>;
TYPED_TEST_SUITE(ValueOrder, pairs);

TYPED_TEST(ValueOrder, UpwardsAndDownwards)
{
  using key   = typename TypeParam::key;
  using value = typename TypeParam::value;
  for (std::size_t const n : sizes<key, value>())
  {
    auto const keys = make_keys<key>(n, any_key<key>);
    check<value>(keys, upwards{});
    check<value>(keys, downwards{});
  }
}

// A bucket of many equal keys, and close ones, which bins leave to the merge sort.
TYPED_TEST(ValueOrder, EqualKeysAndCloseOnes)
{
  using key   = typename TypeParam::key;
  using value = typename TypeParam::value;
  for (std::size_t const n : sizes<key, value>())
  {
    check<value>(make_keys<key>(n, [](std::size_t i) { return static_cast<key>(mixed(i) % 5); }), upwards{});
    check<value>(make_keys<key>(n, [](std::size_t i) { return static_cast<key>(mixed(i) % 3000); }), downwards{});
    check<value>(
      make_keys<key>(n, [](std::size_t i) { return i % 50 == 0 ? any_key<key>(i) : static_cast<key>(mixed(i) % 900); }),
      upwards{});
    // Many of each, far apart: too many for a bin, where they have values.
    check<value>(make_keys<key>(n, [n](std::size_t i) { return any_key<key>(i % (n / 128 + 1)); }), upwards{});
  }
}

/// What one block sorts, of either class, and one element more.
template <class Key, class Value>
std::vector<std::size_t> sizes_of_one_block()
{
  using gpusort::block::no_values;
  using gpusort::merge::block_class;
  constexpr std::size_t few        = gpusort::merge::value_block<Key, Value, block_class::few>::most;
  constexpr std::size_t many       = gpusort::merge::value_block<Key, Value, block_class::many>::most;
  constexpr std::size_t many_alone = gpusort::merge::value_block<Key, no_values, block_class::many>::most;
  return {2, 3, 31, 33, 500, few - 1, few, few + 1, many - 1, many, many + 1, many_alone, many_alone + 1};
}

TYPED_TEST(ValueOrder, InOneBlock)
{
  using key   = typename TypeParam::key;
  using value = typename TypeParam::value;
  for (std::size_t const n : sizes_of_one_block<key, value>())
  {
    SCOPED_TRACE(n);
    auto const any  = make_keys<key>(n, any_key<key>);
    auto const few  = make_keys<key>(n, [](std::size_t i) { return static_cast<key>(mixed(i) % 7); });
    auto const same = make_keys<key>(n, [](std::size_t) { return static_cast<key>(5); });
    // Too many close ones for bins.
    auto const close = make_keys<key>(n, [](std::size_t i) {
      return i == 0 ? std::numeric_limits<key>::max() : static_cast<key>(mixed(i) % 1000);
    });
    for (auto const& keys : {any, few, same, close})
    {
      check_stable<value>(keys, upwards{}, gpusort::merge_sort);
      check_stable<value>(keys, downwards{}, gpusort::merge_sort);
    }
  }
}

// Neighbours in the input agree with values, others do not; and the same of equivalent keys.
TEST(ValueOrderDenied, InOneBlock)
{
  for (std::size_t const n : sizes_of_one_block<std::uint32_t, std::uint32_t>())
  {
    SCOPED_TRACE(n);
    auto const keys = make_keys<std::uint32_t>(n, [=](std::size_t i) {
      return static_cast<std::uint32_t>(i % 2 * 1'000'000 + mixed(i) % (n / 2 + 2));
    });
    check_stable<std::uint32_t>(keys, odd_ones_first{}, gpusort::merge_sort);
    check_stable<std::uint32_t>(keys, without_lowest_bit{}, gpusort::merge_sort);
    check_stable<std::uint32_t>(
      make_keys<std::uint32_t>(n, any_key<std::uint32_t>), odd_ones_first{}, gpusort::merge_sort);
    check_stable<std::uint32_t>(keys, greatest_first{}, gpusort::merge_sort);
  }
}

/// What one wave of blocks tries, of tiles of either kind, and one element less and more.
std::vector<std::size_t> sizes_of_one_wave()
{
  constexpr std::size_t least = gpusort::merge::least_in_wave;
  constexpr std::size_t most  = gpusort::radix::most_in_wave(8, 0);
  if (in_a_hurry())
  {
    return {least + 77};
  }
  return {least - 1, least, 2 * least - 2, 2 * least + 7, 300'007, most - 1, most, most + 1};
}

TYPED_TEST(ValueOrder, InOneWave)
{
  using key   = typename TypeParam::key;
  using value = typename TypeParam::value;
  for (std::size_t const n : sizes_of_one_wave())
  {
    SCOPED_TRACE(n);
    auto const any  = make_keys<key>(n, any_key<key>);
    auto const few  = make_keys<key>(n, [](std::size_t i) { return static_cast<key>(mixed(i) % 7); });
    auto const same = make_keys<key>(n, [](std::size_t) { return static_cast<key>(5); });
    check_stable<value>(any, upwards{}, gpusort::merge_sort);
    check_stable<value>(few, downwards{}, gpusort::merge_sort);
    check_stable<value>(same, upwards{}, gpusort::merge_sort);
    if (in_a_hurry())
    {
      continue; // blocks that wait for each other take long where one is run after the other
    }
    auto const even  = make_keys<key>(n, [](std::size_t i) { return static_cast<key>(mixed(i) % 100'000'000); });
    auto const up    = make_keys<key>(n, [](std::size_t i) { return static_cast<key>(i / 3); });
    auto const down  = make_keys<key>(n, [n](std::size_t i) { return static_cast<key>((n - i) / 3); });
    auto const times = make_keys<key>(n, [n](std::size_t i) { return static_cast<key>(mixed(i) % (n / 9) * 1000); });
    // Too many close ones for bins.
    auto const close =
      make_keys<key>(n, [](std::size_t i) { return static_cast<key>(mixed(i) % 200 * 1'000'000 + mixed(~i) % 16); });
    for (auto const& keys : {any, even, same, up, down, few, times, close})
    {
      check_stable<value>(keys, upwards{}, gpusort::merge_sort);
      check_stable<value>(keys, downwards{}, gpusort::hybrid_sort);
    }
  }
}

// Between splitters, as keys are denser in places; one of them has a bucket of its own, of several blocks, unless the sample has none.
TYPED_TEST(ValueOrder, InOneWaveOfAMillionKeysBetweenSplitters)
{
  using key             = typename TypeParam::key;
  using value           = typename TypeParam::value;
  constexpr double most = static_cast<double>(std::uint64_t{1} << (sizeof(key) * 8 - 2));
  auto const denser     = [=](std::size_t i) {
    double const even = static_cast<double>(mixed(i) >> 11) * 0x1p-53;
    return static_cast<key>(even * even * most);
  };
  for (std::size_t const n : sizes_of_one_wave())
  {
    SCOPED_TRACE(n);
    auto const uneven = make_keys<key>(n, denser);
    check_stable<value>(uneven, upwards{}, gpusort::merge_sort);
    if (in_a_hurry())
    {
      continue;
    }
    check_stable<value>(uneven, downwards{}, gpusort::hybrid_sort);
    for (std::size_t const one_in : {std::size_t{20}, std::size_t{200}})
    {
      auto const with_one =
        make_keys<key>(n, [&](std::size_t i) { return mixed(~i) % one_in == 0 ? denser(17) : denser(i); });
      check_stable<value>(with_one, upwards{}, gpusort::hybrid_sort);
      check_stable<value>(with_one, downwards{}, gpusort::merge_sort);
    }
  }
}

/// Numbers of 32 bits as if they were signed: values go up within either half.
struct upper_half_first
{
  __host__ __device__ bool operator()(std::uint32_t a, std::uint32_t b) const
  {
    return (a ^ 0x80000000u) < (b ^ 0x80000000u);
  }
};
/// The same the other way round.
struct lower_half_last_downwards
{
  __host__ __device__ bool operator()(std::uint32_t a, std::uint32_t b) const
  {
    return upper_half_first{}(b, a);
  }
};
/// An order of which values say nothing.
struct scrambled
{
  template <class Key>
  __host__ __device__ bool operator()(Key a, Key b) const
  {
    return static_cast<Key>(a * Key{0x9e3779b1u}) < static_cast<Key>(b * Key{0x9e3779b1u});
  }
};

// The blocks of a wave agree about all they see, but for one neighbour, or for the edge of a bucket.
TEST(ValueOrderDenied, InOneWave)
{
  using key = std::uint32_t;
  for (std::size_t const n : sizes_of_one_wave())
  {
    SCOPED_TRACE(n);
    auto even = make_keys<key>(n, [](std::size_t i) { return static_cast<key>(mixed(i)) & ~1u; });
    check_stable<key>(even, odd_ones_first{}, gpusort::merge_sort); // accepted
    even[n - 3] = even[5] + 1;
    check_stable<key>(even, odd_ones_first{}, gpusort::merge_sort);
    if (in_a_hurry())
    {
      continue;
    }
    check_stable<key>(even, without_lowest_bit{}, gpusort::merge_sort);
    even[n - 3] = ~0u;
    check_stable<key>(even, greatest_first{}, gpusort::merge_sort);
    // Halves of the input, between two tiles, are those of all values, and those of the buckets.
    std::size_t const tile  = static_cast<std::size_t>(gpusort::radix::wave_tile_for(n, 4, 0));
    std::size_t const lower = n / 2 / tile * tile;
    auto const halves       = make_keys<key>(n, [=](std::size_t i) {
      return static_cast<key>(mixed(i) >> 33) | (i < lower ? 0u : 0x80000000u);
    });
    check_stable<key>(halves, upper_half_first{}, gpusort::merge_sort);
    check_stable<key>(halves, lower_half_last_downwards{}, gpusort::merge_sort);
    check_stable<key>(even, scrambled{}, gpusort::merge_sort);
    check_stable<std::uint64_t>(make_keys<std::uint64_t>(n, mixed), scrambled{}, gpusort::merge_sort);
  }
}

// Elements of 16 bytes of which some inputs of a wave are split and not merged, if it has not sorted them.
TEST(ValueOrderDenied, InOneWaveThatIsSplitThen)
{
  using key           = std::uint64_t;
  std::size_t const n = (std::size_t{17} << 15) + 77;
  ASSERT_TRUE(gpusort::merge::is_worth_splitting(n, 2 * sizeof(key)));
  ASSERT_LE(n, gpusort::radix::most_in_wave(8, 8));
  auto const keys = make_keys<key>(n, mixed);
  check_stable<key>(keys, upwards{}, gpusort::hybrid_sort);
  check_stable<key>(keys, scrambled{}, gpusort::hybrid_sort);
  check_stable<key>(make_keys<key>(n, [](std::size_t i) { return mixed(i) % 3; }), downwards{}, gpusort::hybrid_sort);
  // Refused when buckets have been sorted.
  auto even   = make_keys<key>(n, [](std::size_t i) { return mixed(i) & ~key{1}; });
  even[n - 3] = even[5] + 1;
  check_stable<key>(even, odd_ones_first{}, gpusort::hybrid_sort);
  thrust::device_vector<key> quick(even);
  gpusort::sort(gpusort::quicksort, quick.begin(), quick.end(), odd_ones_first{});
  std::sort(even.begin(), even.end(), odd_ones_first{});
  std::vector<key> out(n);
  thrust::copy(quick.begin(), quick.end(), out.begin());
  EXPECT_TRUE(out == even) << "quicksort";
}

TEST(ValueOrderAccepted, AWaveAsksOncePerKey)
{
  if (gpusort::runtime::multiprocessors() * 2 < gpusort::radix::radix_size)
  {
    GTEST_SKIP() << "this device cannot run all blocks of a wave at once";
  }
  std::size_t const n = 300'007;
  // Each neighbour in the end, and a few of each tile in the beginning.
  unsigned long long const most =
    n - 1 + gpusort::radix::wave_blocks * gpusort::radix::wave_threads + gpusort::radix::radix_size;
  std::vector<std::uint64_t> const input = make_keys<std::uint64_t>(n, mixed);
  // Blocks do not wait for each other as long as other programs, or a sanitizer, may make them take; then all is merged.
  unsigned long long least = ~0ull;
  for (int i = 0; i < (in_a_hurry() ? 1 : 10) && least > most; ++i)
  {
    thrust::device_vector<std::uint64_t> keys(input);
    unsigned long long const count =
      times_asked<upwards>([&](auto comp) { gpusort::sort(gpusort::merge_sort, keys.begin(), keys.end(), comp); });
    EXPECT_GE(count, n - 1);
    least = std::min(least, count);
  }
  if (!in_a_hurry())
  {
    EXPECT_LE(least, most);
  }
}

template <class Pair>
class ValueOrderOfFloats : public ::testing::Test
{};
using float_pairs = ::testing::Types<pair_of<float, std::uint32_t>, pair_of<double, std::uint64_t>>;
TYPED_TEST_SUITE(ValueOrderOfFloats, float_pairs);

// They are equivalent, but not the same: they stay as they were.
TYPED_TEST(ValueOrderOfFloats, ZerosOfBothSigns)
{
  using key   = typename TypeParam::key;
  using value = typename TypeParam::value;
  for (std::size_t const n : sizes<key, value>())
  {
    auto const with_zeros = [](std::size_t one_in) {
      return [=](std::size_t i) {
        return mixed(i) % one_in == 0 ? (mixed(~i) % 2 == 0 ? key{0} : -key{0}) : any_key<key>(i);
      };
    };
    check<value>(make_keys<key>(n, with_zeros(1000)), upwards{});
    check<value>(make_keys<key>(n, with_zeros(3)), downwards{});
    check_stable<value>(make_keys<key>(n % 1000 + 20, with_zeros(9)), upwards{}, gpusort::merge_sort);
    check_stable<value>(make_keys<key>(n % 1000 + 1500, with_zeros(2)), downwards{}, gpusort::merge_sort);
  }
  for (std::size_t const n : sizes_of_one_wave())
  {
    auto const zero_in = [](std::size_t one_in) {
      return [=](std::size_t i) {
        return mixed(i) % one_in == 0 ? (mixed(~i) % 2 == 0 ? key{0} : -key{0}) : static_cast<key>(mixed(i) % 99'991);
      };
    };
    check_stable<value>(make_keys<key>(n, zero_in(1000)), upwards{}, gpusort::merge_sort);
    check_stable<value>(make_keys<key>(n, zero_in(1)), downwards{}, gpusort::merge_sort);
  }
}

/// -0 goes before +0.
struct tells_zeros
{
  template <class Key>
  __host__ __device__ bool operator()(Key a, Key b) const
  {
    return a < b || (a == b && is_negative(a) && !is_negative(b));
  }

private:
  template <class Key>
  __host__ __device__ static bool is_negative(Key zero)
  {
    unsigned char bytes[sizeof(Key)];
    std::memcpy(bytes, &zero, sizeof(Key));
    return bytes[sizeof(Key) - 1] != 0; // of a zero, the sign is all that there is
  }
};

// As many of them as make them splitters, among keys that are uneven by rank and by value: their bucket is one that nobody sorts.
TYPED_TEST(ValueOrderOfFloats, ZerosToldApartInOneWaveOfAMillion)
{
  using key             = typename TypeParam::key;
  using value           = typename TypeParam::value;
  auto const about_zero = [](std::size_t i) {
    double sum = 0;
    for (std::size_t k = 0; k < 12; ++k)
    {
      sum += static_cast<double>(mixed(12 * i + k) >> 11) * 0x1p-53 - 0.5;
    }
    return static_cast<key>(sum * sum * sum);
  };
  for (std::size_t const n : sizes_of_one_wave())
  {
    SCOPED_TRACE(n);
    for (std::size_t const one_in : {std::size_t{60}, std::size_t{150}})
    {
      auto const keys = make_keys<key>(n, [&](std::size_t i) {
        return mixed(~i) % one_in != 0 ? about_zero(i) : mixed(i) % 2 == 0 ? key{0} : -key{0};
      });
      check_stable<value>(keys, tells_zeros{}, gpusort::merge_sort);
      check_stable<value>(keys, downwards{}, gpusort::hybrid_sort);
    }
  }
}

// A comparator by < makes no order of them, but all has to be there in the end.
TYPED_TEST(ValueOrderOfFloats, NaNsStay)
{
  using key  = typename TypeParam::key;
  using bits = std::conditional_t<sizeof(key) == 4, std::uint32_t, std::uint64_t>;
  for (std::size_t const n : sizes<key, typename TypeParam::value>())
  {
    SCOPED_TRACE(n);
    for (std::size_t const one_in : {n / 2, std::size_t{100}, std::size_t{2}})
    {
      auto const keys = make_keys<key>(n, [=](std::size_t i) {
        return i % one_in == 1 ? std::numeric_limits<key>::quiet_NaN() : any_key<key>(i);
      });
      guarded_array<key> room(n);
      key* const first = room.load(keys.data(), n, 1);
      gpusort::sort(split(thrust::device), first, first + n, upwards{});
      std::vector<key> out(n);
      gpusort::testing::require(cudaMemcpy(out.data(), first, n * sizeof(key), cudaMemcpyDeviceToHost), "keys");
      EXPECT_TRUE(room.holds(out.data())) << "guards";
      std::vector<bits> before(n), after(n);
      std::memcpy(before.data(), keys.data(), n * sizeof(key));
      std::memcpy(after.data(), out.data(), n * sizeof(key));
      std::sort(before.begin(), before.end());
      std::sort(after.begin(), after.end());
      EXPECT_TRUE(before == after) << "one key in " << one_in << " is NaN";
    }
  }
}

/// Keys of which the sample that splitters are chosen by has even ones, far apart, and which are otherwise as `make` says.
template <class Key, class Value, class Make>
std::vector<Key> misleading(std::size_t n, Make make)
{
  std::size_t const samples = gpusort::testing::sampled_of<Key, Value, upwards>(n);
  auto keys                 = make_keys<Key>(n, make);
  for (std::size_t i = 0; i < samples; ++i)
  {
    keys[gpusort::hybrid::sampled_place(i, n / samples)] = static_cast<Key>((mixed(i) % samples) * 1000 + 1000);
  }
  return keys;
}

template <class Key, class Value, class Compare>
void check_misleading(Compare comp)
{
  for (std::size_t const n : sizes<Key, Value>())
  {
    auto const range = static_cast<Key>(n);
    // All disagree with values; a few; one bucket.
    check<Value>(misleading<Key, Value>(n, [=](std::size_t i) { return static_cast<Key>(mixed(i)) % range; }), comp);
    check<Value>(
      misleading<Key, Value>(
        n, [=](std::size_t i) { return static_cast<Key>(i % 97 == 0 ? mixed(i) : mixed(i) & ~1ull) % (range * 1000); }),
      comp);
    check<Value>(
      misleading<Key, Value>(n,
                             [=](std::size_t i) {
                               return static_cast<Key>(i % 211 == 0 ? 500'000 + mixed(i) % 64 : mixed(i) & ~1ull)
                                    % (range * 1000);
                             }),
      comp);
  }
  // One bucket is too much for blocks that merge, but not for those that sort by value.
  constexpr std::size_t crowd =
    (gpusort::hybrid::most_of_v<Key, Value> + gpusort::hybrid::most_by_value<Key, Value>) / 2;
  check<Value>(
    misleading<Key, Value>(
      3 * crowd,
      [](std::size_t i) { return static_cast<Key>(i % 3 == 0 ? 50'100 + mixed(i) % 800 : mixed(i) % 100 * 1000); }),
    comp);
}

TEST(ValueOrderDenied, OddOnesFirst)
{
  check_misleading<std::uint32_t, std::uint32_t>(odd_ones_first{});
  check_misleading<std::uint64_t, std::uint64_t>(odd_ones_first{});
}

// Stable: what is equivalent stays as it was, though values differ.
TEST(ValueOrderDenied, EquivalentThoughNotEqual)
{
  check_misleading<std::uint32_t, std::uint32_t>(without_lowest_bit{});
  check_misleading<std::uint64_t, std::uint32_t>(without_lowest_bit{});
}

// A single key is out of order, in whichever work it is.
TEST(ValueOrderDenied, OneKeyOfAll)
{
  for (std::size_t const n : sizes<std::uint32_t, std::uint32_t>())
  {
    for (std::size_t const at : {std::size_t{3}, n / 2 + 1, n - 2})
    {
      check<std::uint32_t>(
        misleading<std::uint32_t, std::uint32_t>(
          n, [=](std::size_t i) { return i == at ? ~0u : static_cast<std::uint32_t>(mixed(i) >> 33); }),
        greatest_first{});
    }
  }
}

// A work that is read in parts, of a segment with more tiles than a table lists: all keys that the first sample does not see are one
// value, but a few just below it.
TEST(ValueOrderAccepted, ABucketOfManyTiles)
{
  using key       = std::uint64_t;
  auto const keys = misleading<key, key>(3'000'000, [](std::size_t i) {
    return i % 700 == 1 ? 500'001 + mixed(i) % 800 : key{500'900};
  });
  check_stable<key>(keys, upwards{}, split);
}

/// How often a comparator is asked for each of n keys.
template <class Order>
double asked_for_each(std::vector<std::uint32_t> const& keys)
{
  thrust::device_vector<std::uint32_t> on_device(keys.begin(), keys.end());
  unsigned long long const asked = times_asked<Order>([&](auto comp) {
    gpusort::sort(split(thrust::device), on_device.begin(), on_device.end(), comp);
  });
  return static_cast<double>(asked) / static_cast<double>(keys.size());
}

// Splitting takes two comparisons a key where values say which bucket it is in, and as many as a bucket's number has bits where keys are
// uneven; then one says that values are in order, where merging takes one for each round and more.
TEST(ValueOrderAccepted, AsksOncePerKeyInABucket)
{
  std::size_t const n = 200'000;
  auto const even     = make_keys<std::uint32_t>(n, any_key<std::uint32_t>);
  auto const uneven   = make_keys<std::uint32_t>(n, [](std::size_t i) {
    std::uint64_t const root = mixed(i) >> 43;
    return static_cast<std::uint32_t>(root * root * root >> 31);
  });
  double const other  = asked_for_each<odd_ones_first>(misleading<std::uint32_t, gpusort::block::no_values>(
    n, [](std::size_t i) { return static_cast<std::uint32_t>(mixed(i)) % 200'000; }));
  EXPECT_LT(asked_for_each<upwards>(even), 3.5);
  EXPECT_LT(asked_for_each<downwards>(even), 3.5);
  EXPECT_LT(asked_for_each<upwards>(uneven), 9);
  EXPECT_GT(other, 20);
}

} // namespace
