// The ways through the radix sort: one block or many, one level or many, samples that mislead, bits that never vary, input
// that is in order or reversed.
#include <testing/support/inputs.h>

#include <gpusort/radix/bucket_map.h>
#include <gpusort/radix/key_order.h>
#include <gpusort/radix/tuning.h>
#include <gpusort/sort.h>
#include <gpusort/workspace.h>

#include <gtest/gtest.h>

#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/host_vector.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace
{

using gpusort::radix::bits_of;
using gpusort::radix::make_key_order;

/// Sorts keys alone and with their positions as values, both ways, and compares bit for bit with a stable sort by rank.
template <class Key, class Compare, class Value = std::uint32_t>
void check_order(std::vector<Key> const& keys)
{
  auto const order    = make_key_order<Key, Compare>();
  std::size_t const n = keys.size();
  // Equal ranks in the order of their positions.
  std::vector<std::pair<gpusort::radix::bits_t<Key>, std::uint32_t>> expected(n);
  for (std::size_t i = 0; i < n; ++i)
  {
    expected[i] = {order.rank_of(bits_of(keys[i])), static_cast<std::uint32_t>(i)};
  }
  std::sort(expected.begin(), expected.end());

  thrust::device_vector<Key> alone(keys.begin(), keys.end());
  gpusort::sort(gpusort::radix_sort, alone.begin(), alone.end(), Compare{});
  thrust::device_vector<Key> with(keys.begin(), keys.end());
  std::vector<std::uint32_t> positions(n);
  std::iota(positions.begin(), positions.end(), 0u);
  thrust::device_vector<Value> values(positions.begin(), positions.end());
  gpusort::stable_sort_by_key(gpusort::radix_sort, with.begin(), with.end(), values.begin(), Compare{});

  thrust::host_vector<Key> const sorted        = alone;
  thrust::host_vector<Key> const sorted_with   = with;
  thrust::host_vector<Value> const sorted_from = values;
  std::size_t wrong = 0, wrong_with = 0, wrong_values = 0;
  for (std::size_t i = 0; i < n; ++i)
  {
    std::uint32_t const from = expected[i].second;
    Key const& right         = keys[from];
    wrong += std::memcmp(&sorted[i], &right, sizeof(Key)) != 0;
    wrong_with += std::memcmp(&sorted_with[i], &right, sizeof(Key)) != 0;
    wrong_values += sorted_from[i] != from;
  }
  EXPECT_EQ(wrong, 0u) << "keys alone";
  EXPECT_EQ(wrong_with, 0u) << "keys with values";
  EXPECT_EQ(wrong_values, 0u) << "values";
}

template <class Key>
void check(std::vector<Key> const& keys)
{
  {
    SCOPED_TRACE("less");
    check_order<Key, thrust::less<Key>>(keys);
  }
  {
    SCOPED_TRACE("greater");
    check_order<Key, thrust::greater<Key>>(keys);
  }
}

std::size_t tile_of(bool small)
{
  auto const shape = gpusort::radix::block_sort_shape(small);
  return static_cast<std::size_t>(shape.threads) * static_cast<std::size_t>(shape.items);
}

/// Under a sanitizer everything takes long.
bool in_a_hurry()
{
  return std::getenv("GPUSORT_TEST_STEP") != nullptr;
}

/// One block of either kind, the edges of their tiles, a few tiles of a pass, and many.
std::vector<std::size_t> sizes()
{
  std::size_t const small = tile_of(true);
  std::size_t const tile  = tile_of(false);
  if (in_a_hurry())
  {
    return {2, 513, small + 1, tile, tile + 1, 20'011};
  }
  return {2, 3, 33, 511, 512, 513, 1025, small - 1, small, small + 1, tile - 1, tile, tile + 1, 50'021, 1'200'007};
}

template <class Key, class Make>
void check_all_sizes(Make make)
{
  for (std::size_t const n : sizes())
  {
    SCOPED_TRACE(n);
    std::vector<Key> keys(n);
    for (std::size_t i = 0; i < n; ++i)
    {
      keys[i] = make(i, n);
    }
    check(keys);
    if (::testing::Test::HasFailure())
    {
      return;
    }
  }
}

std::uint64_t mixed(std::uint64_t i)
{
  i = (i + 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
  i = (i ^ (i >> 29)) * 0x94d049bb133111ebu;
  return i ^ (i >> 32);
}

TEST(RadixPaths, EveryChoiceOfVaryingBytes)
{
  // All 16 choices of the four bytes: none, an even and an odd number of passes, gaps between them.
  for (std::uint32_t bytes = 0; bytes < 16; bytes += in_a_hurry() ? 5 : 1)
  {
    SCOPED_TRACE(bytes);
    std::uint32_t mask = 0;
    for (int b = 0; b < 4; ++b)
    {
      mask |= (bytes >> b & 1u) * (0xffu << (8 * b));
    }
    check_all_sizes<std::uint32_t>([=](std::size_t i, std::size_t) {
      return (static_cast<std::uint32_t>(mixed(i)) & mask) | (0x5a5a5a5au & ~mask);
    });
  }
}

TEST(RadixPaths, OneVaryingBitAnywhere)
{
  for (int bit = 0; bit < 64; bit += in_a_hurry() ? 31 : 7)
  {
    SCOPED_TRACE(bit);
    check_all_sizes<std::uint64_t>([=](std::size_t i, std::size_t) { return (mixed(i) & 1u) << bit; });
  }
}

TEST(RadixPaths, SortedAndConstant)
{
  check_all_sizes<std::int32_t>([](std::size_t i, std::size_t n) {
    return static_cast<std::int32_t>(i) - static_cast<std::int32_t>(n / 2);
  });
  check_all_sizes<std::uint64_t>([](std::size_t i, std::size_t) { return i / 7 * 0x100000001u; });
  check_all_sizes<std::uint64_t>([](std::size_t, std::size_t) { return 0x1234567812345678u; });
  check_all_sizes<std::uint8_t>([](std::size_t i, std::size_t n) { return static_cast<std::uint8_t>(i * 256 / n); });
}

TEST(RadixPaths, Reversed)
{
  check_all_sizes<std::uint32_t>([](std::size_t i, std::size_t n) { return static_cast<std::uint32_t>(n - i); });
  check_all_sizes<double>([](std::size_t i, std::size_t n) {
    return static_cast<double>(n) / 3 - static_cast<double>(i);
  });
}

TEST(RadixPaths, ReversedWithEqualKeysStaysStable)
{
  check_all_sizes<std::uint32_t>([](std::size_t i, std::size_t n) { return static_cast<std::uint32_t>((n - i) / 3); });
  check_all_sizes<std::uint32_t>([](std::size_t i, std::size_t n) { return i + 1 < n ? 7u : 6u; });
}

TEST(RadixPaths, ReversedZerosOfBothSigns)
{
  // -0 and +0 are equal, but a reversal would show.
  check_all_sizes<float>([](std::size_t i, std::size_t n) {
    return i < n / 3 ? 1.0f : i < n * 2 / 3 ? (i % 2 == 0 ? 0.0f : -0.0f) : -1.0f;
  });
}

TEST(RadixPaths, AlmostSortedAndAlmostReversed)
{
  // One pair out of order, at each end, in the middle and across the border of two tiles of the counting.
  std::size_t const n = in_a_hurry() ? 30'007 : 300'007;
  for (std::size_t const at : {std::size_t{0}, n / 2, std::size_t{8191}, n - 2})
  {
    SCOPED_TRACE(at);
    std::vector<std::uint32_t> keys(n);
    std::iota(keys.begin(), keys.end(), 5u);
    std::swap(keys[at], keys[at + 1]);
    check(keys);
    std::reverse(keys.begin(), keys.end());
    check(keys);
  }
}

TEST(RadixPaths, EveryKeyInOneBucketOfEveryDigit)
{
  // But for one key, which is the least, the greatest, or in between.
  for (std::uint64_t const odd : {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{0x8070605040302010u}})
  {
    SCOPED_TRACE(odd);
    check_all_sizes<std::uint64_t>([=](std::size_t i, std::size_t n) {
      return i == n / 2 ? odd : 0x0102030405060708u;
    });
  }
}

/// The least n, and a few more, whose tiles have all their places in use.
template <class Key>
std::size_t full_tiles(std::size_t value_bytes)
{
  auto const shape = gpusort::radix::pass_shape_for(sizeof(Key), value_bytes);
  std::size_t n    = 1;
  while (gpusort::radix::rows_for(n, shape.threads, shape.items) < shape.items)
  {
    n += static_cast<std::size_t>(shape.threads);
  }
  return n + 7;
}

template <class Key, class Value>
void check_full_tiles()
{
  std::size_t const n = std::max(full_tiles<Key>(0), full_tiles<Key>(sizeof(Value)));
  std::vector<Key> uniform(n), few(n);
  for (std::size_t i = 0; i < n; ++i)
  {
    std::uint64_t const bits = mixed(i);
    // The upper bits of the product: all of them vary, and floats get whole numbers.
    constexpr int width = static_cast<int>(sizeof(Key)) * 8;
    uniform[i]          = static_cast<Key>(static_cast<unsigned __int128>(bits) * mixed(bits) >> (128 - width));
    few[i]              = static_cast<Key>(bits % 5);
  }
  check_order<Key, thrust::less<Key>, Value>(uniform);
  check_order<Key, thrust::greater<Key>, Value>(few);
}

TEST(RadixPaths, FullTiles)
{
  check_full_tiles<std::uint32_t, std::uint32_t>();
  if (!in_a_hurry())
  {
    check_full_tiles<std::uint64_t, std::uint32_t>();
    check_full_tiles<std::uint64_t, std::uint64_t>();
    check_full_tiles<float, std::uint32_t>();
    check_full_tiles<std::uint8_t, std::uint64_t>();
    check_full_tiles<unsigned __int128, std::uint32_t>();
  }
}

TEST(RadixPaths, OneBlockTakesNoScratch)
{
  std::uint32_t* const none = nullptr;
  std::size_t const tile    = tile_of(false);
  EXPECT_EQ(gpusort::workspace_bytes(gpusort::radix_sort(thrust::device), none, none + tile), 0u);
  EXPECT_GT(gpusort::workspace_bytes(gpusort::radix_sort(thrust::device), none, none + tile + 1), 0u);
}

TEST(RadixPaths, RandomSizesAndEntropy)
{
  std::mt19937_64 random(20260101);
  for (int round = 0; round < (in_a_hurry() ? 5 : 60); ++round)
  {
    std::size_t const n      = 2 + random() % 40'000;
    std::uint64_t const mask = random() & random() & random();
    SCOPED_TRACE(::testing::Message() << n << " keys, mask " << mask);
    std::vector<std::uint64_t> keys(n);
    for (auto& key : keys)
    {
      key = random() & mask;
    }
    check(keys);
  }
}

/// More elements than these are split twice in any case.
constexpr std::size_t one_level = gpusort::radix::one_level_elements(false);

/// One level of splits, and two.
std::vector<std::size_t> split_sizes()
{
  if (in_a_hurry())
  {
    return {20'011};
  }
  return {70'001, one_level + 54'321};
}

template <class Key, class Make>
void check_splits(Make make)
{
  for (std::size_t const n : split_sizes())
  {
    SCOPED_TRACE(n);
    std::vector<Key> keys(n);
    for (std::size_t i = 0; i < n; ++i)
    {
      keys[i] = make(i);
    }
    check(keys);
  }
}

template <class Key>
std::vector<Key> keys_of(gpusort::testing::distribution d, std::size_t n)
{
  std::vector<Key> keys(n);
  gpusort::testing::generate(d, 11, keys.data(), n);
  return keys;
}

template <class Float>
Float from_bits(gpusort::radix::bits_t<Float> bits)
{
  Float f;
  std::memcpy(&f, &bits, sizeof(f));
  return f;
}

TEST(RadixPaths, ASecondLevelBeginsAtAMillion)
{
  if (in_a_hurry())
  {
    GTEST_SKIP() << "takes long under a sanitizer";
  }
  for (std::size_t const n : {one_level - 1, one_level, one_level + 1})
  {
    SCOPED_TRACE(n);
    check(keys_of<std::uint32_t>(gpusort::testing::distribution::uniform, n));
    check(keys_of<std::uint64_t>(gpusort::testing::distribution::uniform, n));
  }
}

TEST(RadixPaths, FiveMillion)
{
  if (in_a_hurry())
  {
    GTEST_SKIP() << "takes long under a sanitizer";
  }
  using gpusort::testing::distribution;
  check_order<std::uint32_t, thrust::less<std::uint32_t>>(keys_of<std::uint32_t>(distribution::uniform, 5'000'000));
  check_order<std::uint64_t, thrust::less<std::uint64_t>>(keys_of<std::uint64_t>(distribution::uniform, 5'000'000));
}

TEST(RadixPaths, HalfOfTheKeysInOneNarrowBucket)
{
  check_splits<std::uint32_t>([](std::size_t i) {
    auto const any = static_cast<std::uint32_t>(mixed(i));
    return mixed(~i) % 2 == 0 ? any : 0x7654'3000u + any % 4096;
  });
  check_splits<std::uint64_t>([](std::size_t i) {
    std::uint64_t const any = mixed(i);
    return mixed(~i) % 2 == 0 ? any : 0xfedc'ba98'7654'0000u + any % 65536;
  });
}

TEST(RadixPaths, EqualInTheFirst48Bits)
{
  check_splits<std::uint64_t>([](std::size_t i) { return 0x0123'4567'89ab'0000u | (mixed(i) & 0xffffu); });
  check_splits<std::int64_t>([](std::size_t i) { return -1 - static_cast<std::int64_t>(mixed(i) & 0xffffu); });
}

TEST(RadixPaths, GeometricMagnitudes)
{
  check_splits<std::uint64_t>([](std::size_t i) {
    std::uint64_t const power = std::uint64_t{1} << mixed(i) % 64;
    return power | (mixed(~i) & (power - 1));
  });
  // Few ranks at one end, each very often.
  check_splits<std::uint64_t>([](std::size_t i) { return std::uint64_t{1} << mixed(i) % 64 | (mixed(~i) & 0xfu); });
}

TEST(RadixPaths, ZipfLikeWithManyDuplicates)
{
  for (std::size_t const n : split_sizes())
  {
    SCOPED_TRACE(n);
    check(keys_of<std::uint32_t>(gpusort::testing::distribution::zipf, n));
    check(keys_of<std::uint64_t>(gpusort::testing::distribution::zipf, n));
  }
}

TEST(RadixPaths, FewDistinctKeysAllOverTheType)
{
  for (std::uint64_t const distinct : {3u, 16u, 300u})
  {
    SCOPED_TRACE(distinct);
    check_splits<std::uint32_t>([=](std::size_t i) {
      return static_cast<std::uint32_t>(mixed(~(mixed(i) % distinct)));
    });
    check_splits<std::uint64_t>([=](std::size_t i) { return mixed(~(mixed(i) % distinct)); });
  }
}

TEST(RadixPaths, Clusters)
{
  check_splits<std::uint64_t>([](std::size_t i) {
    std::uint64_t const any = mixed(i);
    return (mixed(any % 64) & ~std::uint64_t{4095}) + (any >> 52);
  });
}

TEST(RadixPaths, FloatsBetweenZeroAndOne)
{
  check_splits<float>([](std::size_t i) {
    std::uint64_t const any = mixed(i);
    return any % 97 == 0 ? (any >> 40) % 2 == 0 ? 0.0f : -0.0f
         : any % 89 == 0 ? from_bits<float>(static_cast<std::uint32_t>(any >> 41)) // not normal
                         : std::ldexp(static_cast<float>(any >> 40), -24);
  });
}

TEST(RadixPaths, DoublesOfANormalDistribution)
{
  check_splits<double>([](std::size_t i) {
    double const u = std::ldexp(static_cast<double>((mixed(i) >> 11) + 1), -53);
    double const v = std::ldexp(static_cast<double>(mixed(~i) >> 11), -53);
    return std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * v);
  });
}

TEST(RadixPaths, ZerosOfBothSigns)
{
  {
    SCOPED_TRACE("nothing else");
    check_all_sizes<float>([](std::size_t i, std::size_t) { return mixed(i) % 2 == 0 ? 0.0f : -0.0f; });
  }
  {
    SCOPED_TRACE("one -0");
    check_all_sizes<float>([](std::size_t i, std::size_t n) { return i == n / 3 ? -0.0f : 0.0f; });
  }
  {
    SCOPED_TRACE("two in three, between few other ranks");
    check_splits<float>([](std::size_t i) {
      std::uint64_t const any  = mixed(i);
      std::uint32_t const sign = any % 2 == 0 ? 0 : 0x8000'0000u;
      return from_bits<float>(sign | (any % 3 == 0 ? static_cast<std::uint32_t>(any >> 32) % 100 : 0));
    });
  }
  {
    // Numbers that are not normal are as close to zero as there are: what a block sorts has zeros of both signs in it.
    SCOPED_TRACE("one in a hundred, between many other ranks");
    check_all_sizes<float>([](std::size_t i, std::size_t) {
      std::uint64_t const any  = mixed(i);
      std::uint32_t const sign = any % 2 == 0 ? 0 : 0x8000'0000u;
      return from_bits<float>(sign | (any % 101 == 0 ? 0 : static_cast<std::uint32_t>(any >> 32) & 0x7f'ffffu));
    });
  }
  {
    SCOPED_TRACE("half of the keys");
    check_splits<double>([](std::size_t i) {
      std::uint64_t const any = mixed(i);
      return any % 4 == 0 ? 0.0 : any % 4 == 1 ? -0.0 : std::ldexp(static_cast<double>(any >> 11), -53) - 0.5;
    });
  }
}

TEST(RadixPaths, EveryDistributionOfSmallKeys)
{
  std::size_t const n = in_a_hurry() ? 20'011 : 300'007;
  for (auto const d : gpusort::testing::all_distributions)
  {
    SCOPED_TRACE(gpusort::testing::name_of(d));
    check(keys_of<std::uint8_t>(d, n));
    check(keys_of<std::uint16_t>(d, n));
    if (!in_a_hurry())
    {
      check(keys_of<std::uint16_t>(d, one_level + 7));
    }
  }
}

TEST(RadixPaths, KeysOf128BitsThatVaryInParts)
{
  using wide = unsigned __int128;
  check_splits<wide>([](std::size_t i) { return wide{0x0123'4567'89ab'cdefu} << 64 | mixed(i); });
  check_splits<wide>([](std::size_t i) { return wide{mixed(i)} << 64 | 0x0123'4567'89ab'cdefu; });
  check_splits<wide>([](std::size_t i) { return wide{mixed(i) & 0xffff'ffffu} << 48 | wide{0x5a} << 96 | 0x77u; });
  // Alike in what fits a token beside the place, so that only the key itself tells.
  check_splits<wide>([](std::size_t i) { return wide{mixed(i) % 1000} << 118 | mixed(~i) % 16; });
}

TEST(RadixPaths, ValuesOfSixteenBytes)
{
  using key = std::uint32_t;
  for (std::size_t const n : split_sizes())
  {
    SCOPED_TRACE(n);
    for (auto const d : {gpusort::testing::distribution::uniform, gpusort::testing::distribution::few_distinct})
    {
      check_order<key, thrust::less<key>, unsigned __int128>(keys_of<key>(d, n));
    }
  }
}

/// How many threads a look may have, which depends on the level and on what is sorted.
constexpr int looking_threads[] = {gpusort::radix::look_threads, gpusort::radix::waiting_threads};

/// Where a look by so many threads takes its sample from: as map_of_sample does.
std::vector<std::size_t> sampled_places(std::size_t size, int threads)
{
  std::vector<std::size_t> places(static_cast<std::size_t>(threads * gpusort::radix::samples_per_thread));
  std::size_t const stride = size / places.size();
  for (std::size_t place = 0; place < places.size(); ++place)
  {
    places[place] = stride == 0 ? place % size : place * stride + place * 61 % stride;
  }
  return places;
}

/// The least and the greatest of the keys in a sample from keys[left[0]], keys[left[1]] and so on.
template <class Key>
std::pair<Key, Key> span_of_sample(std::vector<Key> const& keys, std::vector<std::size_t> const& left, int threads)
{
  Key least = keys[left[0]], greatest = least;
  for (std::size_t const place : sampled_places(left.size(), threads))
  {
    least    = std::min(least, keys[left[place]]);
    greatest = std::max(greatest, keys[left[place]]);
  }
  return {least, greatest};
}

/// n keys of which every sample misleads. Where the k-th level's sample looks are decoys, made from k and a number; the
/// places that none looks at hold what `hidden` makes from a number. The decoys of a level have to lead to a map that
/// sends all that is hidden, with the decoys of further levels, to a bucket of its own.
template <class Key, class Decoy, class Hidden>
std::vector<Key> misleading_keys(std::size_t n, Decoy decoy, Hidden hidden)
{
  using map_type = gpusort::radix::bucket_map<Key>;
  std::vector<Key> keys(n);
  std::vector<std::size_t> left(n); // the places of the level's segment
  std::iota(left.begin(), left.end(), std::size_t{0});
  for (std::size_t i = 0; i < n; ++i)
  {
    keys[i] = hidden(i);
  }
  for (std::uint32_t level = 0; level < gpusort::radix::sampled_levels; ++level)
  {
    std::vector<bool> is_decoy(left.size());
    for (int const threads : looking_threads)
    {
      for (std::size_t const place : sampled_places(left.size(), threads))
      {
        is_decoy[place] = true;
      }
    }
    std::vector<std::size_t> next;
    for (std::size_t place = 0; place < left.size(); ++place)
    {
      if (is_decoy[place])
      {
        keys[left[place]] = decoy(level, place);
      }
      else
      {
        next.push_back(left[place]);
      }
    }
    // Whether it works, whoever looks, in both directions.
    std::size_t wrong = 0;
    for (int const threads : looking_threads)
    {
      auto const [least, greatest] = span_of_sample(keys, left, threads);
      auto const up                = map_type::over(least, greatest);
      auto const down              = map_type::over(static_cast<Key>(~greatest), static_cast<Key>(~least));
      Key const any                = hidden(0);
      for (std::size_t place = 0; place < left.size(); ++place)
      {
        Key const key = keys[left[place]];
        wrong += (up(key) == up(any)) == is_decoy[place];
        wrong += (down(static_cast<Key>(~key)) == down(static_cast<Key>(~any))) == is_decoy[place];
      }
    }
    EXPECT_EQ(wrong, 0u) << "the sample of level " << level << " does not mislead";
    left = std::move(next);
  }
  EXPECT_GT(left.size(), tile_of(false)) << "nothing is left for the levels without a sample";
  return keys;
}

/// Splits of two levels at once, and of one: the sizes leave something to the levels without a sample.
std::vector<std::size_t> misleading_sizes()
{
  return in_a_hurry() ? std::vector<std::size_t>{40'011} : std::vector<std::size_t>{40'011, one_level + 54'321};
}

template <class Key, class Decoy, class Hidden>
void check_misleading(Decoy decoy, Hidden hidden)
{
  for (std::size_t const value_bytes : {0, 4, 16})
  {
    EXPECT_EQ(std::count(std::begin(looking_threads),
                         std::end(looking_threads),
                         gpusort::radix::pass_shape_for(sizeof(Key), value_bytes).threads),
              1);
  }
  for (std::size_t const n : misleading_sizes())
  {
    SCOPED_TRACE(n);
    check(misleading_keys<Key>(n, decoy, hidden));
  }
}

TEST(RadixPaths, SamplesThatAreAllAlike)
{
  check_misleading<std::uint32_t>(
    [](std::uint32_t level, std::size_t) { return 1000 * (level + 1); },
    [](std::size_t i) { return 0x10'0000u + static_cast<std::uint32_t>(mixed(i) % 0xffe0'0000u); });
  check_misleading<std::uint64_t>([](std::uint32_t level, std::size_t) { return std::uint64_t{1000} * (level + 1); },
                                  [](std::size_t i) { return mixed(i) | 0x10'0000u; });
}

TEST(RadixPaths, SamplesOfTinyKeysOnly)
{
  auto const tiny = [](std::uint32_t level, std::size_t i) {
    return std::uint64_t{1000} * (level + 1) + mixed(i) % 200;
  };
  // What they hide is spread, or few keys, or the same but for the last two bytes or one.
  check_misleading<std::uint64_t>(tiny, [](std::size_t i) { return mixed(i) | 0x10'0000u; });
  check_misleading<std::uint64_t>(tiny, [](std::size_t i) { return mixed(mixed(i) % 20) | 0x10'0000u; });
  check_misleading<std::uint64_t>(tiny, [](std::size_t i) { return 0x0102'0304'0506'0000u | (mixed(i) & 0xffffu); });
  check_misleading<std::uint64_t>(tiny, [](std::size_t i) { return 0x0102'0304'0506'0700u | (mixed(i) & 0xffu); });
  check_misleading<std::uint64_t>(tiny, [](std::size_t) { return std::uint64_t{0x0102'0304'0506'0708u}; });
  // Not so tiny that a bucket were one key.
  check_misleading<std::uint64_t>(
    [](std::uint32_t level, std::size_t i) { return 0x10000 * (std::uint64_t{level} + 1) + 64 * (mixed(i) % 32); },
    [](std::size_t i) { return mixed(i) | 0x1000'0000u; });
}

TEST(RadixPaths, SamplesThatSeeOnlyTheEnds)
{
  // Both ends of the range, in turn, with all else in one bucket: the next level's range, of which the same is true.
  auto const ends = [](auto all, std::uint32_t level, std::size_t i) {
    using key       = decltype(all);
    key const below = static_cast<key>(all >> (8 * level));
    key const begin = static_cast<key>(all / 255 * 0x5a & ~below); // 5a 5a ... 00 00
    return static_cast<key>(mixed(i) % 2 == 0 ? begin : begin | below);
  };
  check_misleading<std::uint64_t>([=](std::uint32_t level, std::size_t i) { return ends(~std::uint64_t{0}, level, i); },
                                  [](std::size_t i) { return 0x5a5a'5a5a'5a5a'0000u | (mixed(i) & 0xffffu); });
  using wide = unsigned __int128;
  check_misleading<wide>([=](std::uint32_t level, std::size_t i) { return ends(~wide{0}, level, i); },
                         [](std::size_t i) { return wide{0x5a5a'5a5a'5a5a'5a5au} << 64 | mixed(i); });
}

TEST(RadixPaths, MisledWithValuesOfSixteenBytes)
{
  using key = std::uint32_t;
  for (std::size_t const n : misleading_sizes())
  {
    SCOPED_TRACE(n);
    check_order<key, thrust::greater<key>, unsigned __int128>(misleading_keys<key>(
      n,
      [](std::uint32_t level, std::size_t) { return 1000 * (level + 1); },
      [](std::size_t i) { return 0x0100'0000u | static_cast<key>(mixed(i) & 0xfffu); }));
  }
}

/// Appends keys so many of which begin with each byte, as far as `prefix` leaves room.
template <class Key, class Size>
void add_buckets(std::vector<Key>& keys, Key prefix, int prefix_bits, Size size_of)
{
  constexpr int width = static_cast<int>(sizeof(Key)) * 8;
  int const shift     = width - prefix_bits - 8;
  for (unsigned b = 0; b < 256; ++b)
  {
    Key const first = static_cast<Key>(prefix | static_cast<Key>(b) << shift);
    for (std::size_t i = size_of(b); i > 0; --i)
    {
      keys.push_back(static_cast<Key>(first | (static_cast<Key>(mixed(keys.size())) & ((Key{1} << shift) - 1))));
    }
  }
}

/// Sizes around those that decide what becomes of a bucket. The first is large, so that samples see it.
std::size_t deciding_size(unsigned number)
{
  std::vector<std::size_t> sizes;
  for (std::size_t const around :
       {tile_of(false), std::size_t{2048}, std::size_t{1024}, std::size_t{512}, std::size_t{1}})
  {
    sizes.insert(sizes.end(), {around - 1, around, around + 1});
  }
  return sizes[number % sizes.size()];
}

/// Whether the first look's sample leads to a bucket for each byte that a key may begin with.
template <class Key>
bool has_a_bucket_a_byte(std::vector<Key> const& keys)
{
  std::vector<std::size_t> all(keys.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  constexpr int shift = static_cast<int>(sizeof(Key)) * 8 - 8;
  return std::all_of(std::begin(looking_threads), std::end(looking_threads), [&](int threads) {
    auto const [least, greatest] = span_of_sample(keys, all, threads);
    auto const map               = gpusort::radix::bucket_map<Key>::over(least, greatest);
    return map(Key{1} << shift) == 1 && map((Key{1} << shift) - 1) == 0 && map(Key{255} << shift) == 255;
  });
}

TEST(RadixPaths, BucketsOfTheSizesThatDecide)
{
  // Shares are from 512 to 2048 elements, depending on how many there are in all.
  std::mt19937_64 random(20260102);
  for (unsigned const every : {1u, 3u, 17u})
  {
    SCOPED_TRACE(every);
    std::vector<std::uint32_t> keys;
    add_buckets(keys, 0u, 0, [=](unsigned b) { return b % every == 0 ? deciding_size(b / every) : 0; });
    std::shuffle(keys.begin(), keys.end(), random);
    EXPECT_TRUE(has_a_bucket_a_byte(keys));
    if (!in_a_hurry() || every == 17)
    {
      check(keys);
    }
  }
}

TEST(RadixPaths, BucketsOfTheSizesThatDecideOnTheSecondLevelOfMillions)
{
  std::mt19937_64 random(20260103);
  std::vector<std::uint64_t> keys;
  for (std::uint64_t const first : {0u, 17u, 80u, 255u})
  {
    add_buckets(keys, first << 56, 8, [](unsigned b) { return deciding_size(b); });
  }
  add_buckets(keys, std::uint64_t{0}, 0, [](unsigned b) { return b % 3; });
  std::shuffle(keys.begin(), keys.end(), random);
  EXPECT_GT(keys.size(), one_level);
  EXPECT_TRUE(has_a_bucket_a_byte(keys));
  check(keys);
}

TEST(RadixPaths, TinyBucketsBetweenHugeOnes)
{
  std::mt19937_64 random(20260104);
  for (std::size_t const huge : {std::size_t{7'000}, std::size_t{20'000}, std::size_t{70'000}})
  {
    SCOPED_TRACE(huge);
    std::vector<std::uint32_t> keys;
    add_buckets(keys, 0u, 0, [=](unsigned b) { return b % 15 == 0 ? huge : b % 5; });
    std::shuffle(keys.begin(), keys.end(), random);
    if (!in_a_hurry() || huge < 10'000)
    {
      EXPECT_TRUE(has_a_bucket_a_byte(keys));
      check(keys);
    }
  }
}

} // namespace
