// The ways through the radix sort: blocks that search each other's shares, one block, a cluster, or many blocks by buckets or by digits, digits that never vary, input that is in
// order or reversed.
#include <testing/support/cases.h>
#include <testing/support/device_memory.cuh>
#include <testing/support/graphs.cuh>
#include <testing/support/inputs.h>
#include <testing/support/types.cuh>

#include <gpusort/radix/by_buckets.cuh>
#include <gpusort/radix/device.cuh>
#include <gpusort/radix/key_order.h>
#include <gpusort/radix/tuning.h>
#include <gpusort/runtime/launch.cuh>
#include <gpusort/sort.h>
#include <gpusort/workspace.h>

#include <gtest/gtest.h>

#include <cuda_fp16.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/host_vector.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <numeric>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

namespace
{

using gpusort::radix::bits_of;
using gpusort::radix::make_key_order;
using gpusort::testing::in_a_hurry;
using gpusort::testing::keys_from;
using gpusort::testing::mixed;
namespace testing = gpusort::testing;

/// Sorts keys alone and with their positions as values, both ways, and compares bit for bit with a stable sort by rank.
template <class Key, class Compare, class Value = std::uint32_t>
void check_order(std::vector<Key> const& keys)
{
  auto const order    = make_key_order<Key, Compare>();
  std::size_t const n = keys.size();
  std::vector<std::uint32_t> expected(n);
  std::iota(expected.begin(), expected.end(), 0u);
  std::stable_sort(expected.begin(), expected.end(), [&](std::uint32_t a, std::uint32_t b) {
    return order.rank_of(bits_of(keys[a])) < order.rank_of(bits_of(keys[b]));
  });

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
    Key const& right = keys[expected[i]];
    wrong += std::memcmp(&sorted[i], &right, sizeof(Key)) != 0;
    wrong_with += std::memcmp(&sorted_with[i], &right, sizeof(Key)) != 0;
    wrong_values += sorted_from[i] != static_cast<Value>(expected[i]);
  }
  EXPECT_EQ(wrong, 0u) << "keys alone";
  EXPECT_EQ(wrong_with, 0u) << "keys with values";
  EXPECT_EQ(wrong_values, 0u) << "values";
}

/// Ascending and descending by turns.
template <class Key, class Value = std::uint32_t>
void check_in_turn(std::vector<Key> const& keys)
{
  static bool ascends = false;
  ascends             = !ascends;
  SCOPED_TRACE(ascends ? "less" : "greater");
  if (ascends)
  {
    check_order<Key, thrust::less<Key>, Value>(keys);
  }
  else
  {
    check_order<Key, thrust::greater<Key>, Value>(keys);
  }
}

/// Both ways, or, in a hurry, by turns.
template <class Key>
void check(std::vector<Key> const& keys)
{
  check_in_turn(keys);
  if (!in_a_hurry())
  {
    check_in_turn(keys);
  }
}

using gpusort::radix::sort_class;

std::size_t tile_of(sort_class c, std::size_t key_bytes, std::size_t value_bytes = 0)
{
  return static_cast<std::size_t>(gpusort::radix::sort_tile_for(key_bytes, value_bytes, c));
}

// This file is compiled once more for old devices, whose code knows no clusters: what these sort, many blocks sort then.
#if defined(GPUSORT_TEST_OLD_CODE)
constexpr bool for_old_devices = true;
#else
constexpr bool for_old_devices = false;
#endif

__global__ void idle_kernel()
{}

bool has_clusters_of(unsigned blocks)
{
  return gpusort::runtime::can_launch_cluster(idle_kernel, {blocks, 32, 0, 0, blocks}, nullptr);
}

/// One block of each kind, the edges of their tiles, a cluster, and, with what no cluster holds, many tiles of a pass.
std::vector<std::size_t> sizes(std::size_t key_bytes)
{
  std::size_t const small  = tile_of(sort_class::small, key_bytes);
  std::size_t const medium = tile_of(sort_class::medium, key_bytes);
  if (in_a_hurry())
  {
    return {2, 513, small + 1, medium, medium + 1, for_old_devices ? std::size_t{20'011} : std::size_t{130'007}};
  }
  return {2,
          3,
          33,
          511,
          512,
          513,
          1025,
          small - 1,
          small,
          small + 1,
          2 * small,
          medium - 1,
          medium,
          medium + 1,
          7'681,
          50'021,
          130'007,
          300'007};
}

template <class Key, class Make>
void check_all_sizes(Make make)
{
  for (std::size_t const n : sizes(sizeof(Key)))
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

TEST(RadixPaths, BinsThatAreTooFullAndNearly)
{
  // Clusters around few values, one key far from all others, magnitudes that grow, duplicates, and zeros of both signs
  // among small numbers: what bins of equal width do not like.
  check_all_sizes<std::uint64_t>([](std::size_t i, std::size_t) { return (mixed(i) % 64 << 40) + mixed(~i) % 4096; });
  check_all_sizes<std::uint64_t>([](std::size_t i, std::size_t n) {
    return i == n / 2 ? ~std::uint64_t{0} : mixed(i) % 100'000;
  });
  check_all_sizes<std::uint64_t>([](std::size_t i, std::size_t) { return mixed(~i) >> mixed(i) % 64; });
  check_all_sizes<std::uint32_t>([](std::size_t i, std::size_t) {
    return static_cast<std::uint32_t>(mixed(i) % 3) << 30;
  });
  check_all_sizes<std::uint32_t>([](std::size_t i, std::size_t n) {
    return static_cast<std::uint32_t>(mixed(i) % (n / 8 + 1));
  });
  check_all_sizes<std::uint16_t>([](std::size_t i, std::size_t) {
    return static_cast<std::uint16_t>(mixed(i) >> mixed(~i) % 16);
  });
  check_all_sizes<float>([](std::size_t i, std::size_t) {
    return i % 3 == 0 ? 0.0f : i % 3 == 1 ? -0.0f : static_cast<float>(mixed(i) % 1000) * 1e-30f;
  });
  check_all_sizes<unsigned __int128>([](std::size_t i, std::size_t) {
    return static_cast<unsigned __int128>(mixed(i) % 7) << 100 | mixed(~i) % 1000;
  });
}

TEST(RadixPaths, BinsOfAsManyElementsAsOneWayTakes)
{
  // So many close together that a bin has what windows, a few lanes and a warp just take, or one more, or half of that. All keys are; or, so that
  // a block has no more such bins than it splits, or sorts by warps, three times as many of them, and all others are even.
  for (std::uint64_t const together : {4, 5, 6, 16, 17, 64, 65, 128, 129, 256, 257})
  {
    if (in_a_hurry() && together != 65 && together != 257)
    {
      continue;
    }
    SCOPED_TRACE(together);
    check_all_sizes<std::uint64_t>([=](std::size_t i, std::size_t n) {
      std::uint64_t const values = n / together + 1;
      return (mixed(i) % values << 20) + mixed(~i) % 512;
    });
    auto const a_few = [=](std::size_t i, std::size_t) {
      return i < 3 * together ? ((i % 3 + 1) << 60) + mixed(~i) % 512 : mixed(i);
    };
    check_all_sizes<std::uint64_t>(a_few);
    check_all_sizes<std::uint32_t>([=](std::size_t i, std::size_t n) {
      return static_cast<std::uint32_t>(i < 3 * together ? a_few(i, n) >> 32 | mixed(~i) % 512 : a_few(i, n) >> 32);
    });
  }
}

TEST(RadixPaths, BinsOfWhichAFewAreLong)
{
  // Of the keys that are close together, as many as make the bins that a block still splits, or one bin more; and keys of few bits, which
  // crowd at every level.
  for (std::uint64_t const bins : {1, 4, 5, 12})
  {
    if (in_a_hurry() && bins != 5)
    {
      continue;
    }
    SCOPED_TRACE(bins);
    check_all_sizes<std::uint32_t>([=](std::size_t i, std::size_t) {
      std::uint64_t const close = (mixed(i) % bins << 28) + mixed(~i) % 5000;
      return static_cast<std::uint32_t>(i % 4 == 0 ? mixed(i * 3) : close);
    });
    check_all_sizes<std::uint64_t>([=](std::size_t i, std::size_t) {
      std::uint64_t const close = (mixed(i) % bins << 60) + mixed(~i) % 5000;
      return i % 4 == 0 ? mixed(i * 3) : close;
    });
  }
  check_all_sizes<std::uint32_t>([](std::size_t i, std::size_t) {
    return static_cast<std::uint32_t>(mixed(i) & mixed(i * 5) & mixed(~i));
  });
  check_all_sizes<double>([](std::size_t i, std::size_t) {
    std::uint64_t const bits = mixed(i) & mixed(i * 5) & mixed(~i) & mixed(i * 7) & 0x7fef'ffff'ffff'ffffu;
    double number            = 0;
    std::memcpy(&number, &bits, sizeof(number));
    return i % 2 == 0 ? number : -number;
  });
  check_all_sizes<unsigned __int128>([](std::size_t i, std::size_t) {
    return static_cast<unsigned __int128>(mixed(i) & mixed(i * 5) & mixed(~i)) << 64 | (mixed(i * 7) & mixed(i * 3));
  });
}

TEST(RadixPaths, KeysThatABlockMerges)
{
  // Many bins that are full, or one that has much and some more, or neighbouring ones that are all rather full; zeros of both signs among these, which
  // share a rank; the greatest key; few values, which keys alone leave to bins; and one key far from all others.
  // What has clusters sorts them by search.
  std::vector<std::size_t> sizes = {700, 1025, 2040, 2049, 3001, 4095, 4096, 4097, 4600};
  if (in_a_hurry() && !for_old_devices)
  {
    sizes = {1025, 4097};
  }
  using testing::distribution;
  for (std::size_t const n : sizes)
  {
    SCOPED_TRACE(n);
    for (distribution const d : {distribution::entropy_3, distribution::entropy_5, distribution::normal})
    {
      check(keys_from<std::uint32_t>(n, [=](std::size_t i) { return testing::element<std::uint32_t>(d, 5, i, n); }));
      check(keys_from<std::int64_t>(n, [=](std::size_t i) { return testing::element<std::int64_t>(d, 5, i, n); }));
      auto const with_zeros = [=](std::size_t i) {
        return i % 7 < 2 ? (mixed(i) % 2 == 0 ? 0.0f : -0.0f) : testing::element<float>(d, 5, i, n);
      };
      check(keys_from<float>(n, with_zeros));
      check(keys_from<double>(n, [=](std::size_t i) { return static_cast<double>(with_zeros(i)); }));
    }
    check(keys_from<float>(n, [=](std::size_t i) { return testing::element<float>(distribution::normal, 5, i, n); }));
    check(keys_from<float>(n, [=](std::size_t i) { return mixed(i) % 2 == 0 ? 0.0f : -0.0f; }));
    check(keys_from<std::uint64_t>(n, [=](std::size_t i) {
      return mixed(i) % 3 == 0 ? ~std::uint64_t{0} : mixed(i) >> mixed(~i) % 64;
    }));
    for (std::uint64_t const values : {5, 33, 256, 600})
    {
      check(keys_from<std::uint32_t>(n, [=](std::size_t i) {
        return static_cast<std::uint32_t>(mixed(mixed(i) % values));
      }));
    }
    check(keys_from<std::uint32_t>(n, [=](std::size_t i) {
      return i == 0 ? std::uint32_t{1} << 31 : static_cast<std::uint32_t>(mixed(i) % (1 << 17));
    }));
  }
}

TEST(RadixPaths, KeysThatDifferInTheirLowestBitsOnly)
{
  // Tokens of a block leave these bits out. Few keys, the wrong way round, are put in order afterwards; for many, that takes too long.
  for (std::uint64_t const together : {2, 9, 200})
  {
    SCOPED_TRACE(together);
    check_all_sizes<std::uint64_t>([=](std::size_t i, std::size_t n) {
      return (mixed(i % (n / together + 1)) & ~std::uint64_t{0xfff}) + (n - i) % 4096;
    });
    check_all_sizes<unsigned __int128>([=](std::size_t i, std::size_t n) {
      return static_cast<unsigned __int128>(mixed(i % (n / together + 1))) << 64 | (n - i);
    });
    // Three groups among even keys.
    check_all_sizes<unsigned __int128>([=](std::size_t i, std::size_t n) {
      return static_cast<unsigned __int128>(i < 3 * together ? i % 3 + 1 : mixed(i)) << 64 | (n - i);
    });
  }
}

TEST(RadixPaths, ReversedZerosOfBothSigns)
{
  // -0 and +0 are equal, but a reversal would show.
  check_all_sizes<float>([](std::size_t i, std::size_t n) {
    return i < n / 3 ? 1.0f : i < n * 2 / 3 ? (i % 2 == 0 ? 0.0f : -0.0f) : -1.0f;
  });
}

TEST(RadixPaths, HalvesThatAreZerosOfBothSigns)
{
  check_all_sizes<__half>([](std::size_t i, std::size_t) {
    return mixed(i) % 3 == 0 ? __half(0.0f)
         : mixed(i) % 3 == 1 ? __half(-0.0f)
                             : __half(static_cast<float>(i % 100) - 50);
  });
}

TEST(RadixPaths, AlmostSortedAndAlmostReversed)
{
  // One pair out of order, at each end, in the middle and across the border of two tiles of the counting.
  std::size_t const n = in_a_hurry() ? 130'007 : 300'007;
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

/// Sorts n keys, made from their positions, by blocks that search each other's shares: alone and with their positions as values, in a cluster of that many blocks.
template <class Key, class Make>
void check_search(std::size_t n, unsigned blocks, Make make)
{
  using bits                = gpusort::radix::bits_t<Key>;
  using order_of_keys       = gpusort::radix::key_order_t<Key>;
  constexpr bool is_float   = gpusort::radix::kind_of<Key>() == gpusort::radix::key_kind::floating_point;
  using storage             = gpusort::radix::search_storage<bits>;
  order_of_keys const order = make_key_order<Key, thrust::less<Key>>();
  std::size_t const share   = gpusort::runtime::blocks_for(n, blocks);
  int const threads         = static_cast<int>((share + 31) / 32 * 32);
  std::size_t const room    = gpusort::runtime::shared_bytes_of_device();
  std::size_t const bytes   = storage::bytes_for(threads, blocks);
  gpusort::runtime::launch_shape const shape{blocks, threads, bytes, std::min(sizeof(storage), room), blocks};
  auto const alone      = gpusort::radix::sort_by_search<bits, is_float, gpusort::block::no_values>;
  auto const with       = gpusort::radix::sort_by_search<bits, is_float, std::uint32_t>;
  bool const can_launch = blocks > 1 ? gpusort::runtime::can_launch_cluster(alone, shape, nullptr) : bytes <= room;
  if (sizeof(storage) <= room)
  {
    EXPECT_EQ(can_launch, blocks == 1 || has_clusters_of(blocks));
  }
  if (!can_launch)
  {
    return;
  }

  std::vector<Key> const keys = keys_from<Key>(n, make);
  std::vector<std::uint32_t> expected(n);
  std::iota(expected.begin(), expected.end(), 0u);
  thrust::device_vector<Key> sorted(keys.begin(), keys.end()), sorted_with(keys.begin(), keys.end());
  thrust::device_vector<std::uint32_t> positions(expected.begin(), expected.end());
  std::stable_sort(expected.begin(), expected.end(), [&](std::uint32_t a, std::uint32_t b) {
    return order.rank_of(bits_of(keys[a])) < order.rank_of(bits_of(keys[b]));
  });
  auto const bits_in = [](thrust::device_vector<Key>& range) {
    return reinterpret_cast<bits*>(thrust::raw_pointer_cast(range.data()));
  };
  gpusort::block::no_values* const none = nullptr;
  gpusort::runtime::launch(alone, shape, nullptr, order, n, share, bits_in(sorted), none);
  gpusort::runtime::launch(
    with, shape, nullptr, order, n, share, bits_in(sorted_with), thrust::raw_pointer_cast(positions.data()));
  thrust::host_vector<Key> const is = sorted, is_with = sorted_with;
  thrust::host_vector<std::uint32_t> const from = positions;
  std::size_t wrong                             = 0;
  for (std::size_t i = 0; i < n; ++i)
  {
    Key const& right = keys[expected[i]];
    wrong += std::memcmp(&is[i], &right, sizeof(Key)) != 0 || std::memcmp(&is_with[i], &right, sizeof(Key)) != 0
          || from[i] != expected[i];
  }
  EXPECT_EQ(wrong, 0u) << n << " keys of " << sizeof(Key) << " bytes, " << blocks << " blocks";
}

template <class Key, class Make>
void check_search_in_every_shape(Make make)
{
  // One element; shares of less than a warp, of whole warps, of one lane more, and full ones; last blocks with fewer, and with none.
  constexpr std::size_t most = gpusort::radix::search_threads(sizeof(Key));
  for (unsigned const blocks : {1u, 2u, 8u, 16u})
  {
    for (std::size_t const n :
         {std::size_t{1},
          std::size_t{2},
          std::size_t{blocks * 7 + 1},
          std::size_t{blocks * 32},
          blocks * 32 + std::size_t{1},
          blocks * std::size_t{257}, // a warp more than a group
          blocks * (most - 32) - blocks / 2,
          blocks * most - 1,
          blocks * most})
    {
      check_search<Key>(n, blocks, make);
    }
  }
}

TEST(RadixPaths, BlocksThatSearchInEveryShape)
{
  // Keys of which few are alike, keys of few values, and the greatest and the least, among them such as share a rank.
  check_search_in_every_shape<std::uint32_t>([](std::size_t i) { return static_cast<std::uint32_t>(mixed(i)); });
  check_search_in_every_shape<std::uint64_t>([](std::size_t i) {
    return mixed(i) % 3 == 0 ? ~std::uint64_t{0} : mixed(i) % 3 == 1 ? 0 : mixed(i);
  });
  check_search_in_every_shape<std::int16_t>([](std::size_t i) {
    return static_cast<std::int16_t>(mixed(i) % 5 * 9000);
  });
  check_search_in_every_shape<float>([](std::size_t i) {
    return i % 3 == 0 ? -0.0f : i % 3 == 1 ? 0.0f : static_cast<float>(static_cast<std::int64_t>(mixed(i)));
  });
  check_search_in_every_shape<unsigned __int128>([](std::size_t i) {
    return static_cast<unsigned __int128>(mixed(i) % 3) << 64 | (mixed(i) % 7 < 3 ? mixed(~i) % 3 : mixed(~i));
  });
  check_search_in_every_shape<unsigned __int128>([](std::size_t i) {
    return mixed(i) % 2 == 0 ? ~static_cast<unsigned __int128>(0) - mixed(~i) % 2 : mixed(i);
  });
}

TEST(RadixPaths, SmallInputsThatBlocksSearch)
{
  // Where 8 blocks take the place of one, and 16 theirs, the most, and some more.
  std::vector<std::size_t> sizes = {
    127,
    255,
    256,
    1023,
    1024,
    1537,
    2047,
    2048,
    2049,
    3001,
    4096,
    4097,
    8192,
    8193,
    12'288,
    12'289,
    16'383,
    16'384,
    16'385};
  if (in_a_hurry())
  {
    sizes = {127, 2049, 8192, 16'384};
  }
  for (std::size_t const n : sizes)
  {
    SCOPED_TRACE(n);
    check(keys_from<std::uint8_t>(n, [](std::size_t i) { return static_cast<std::uint8_t>(mixed(i)); }));
    check(keys_from<std::uint16_t>(n, [](std::size_t i) { return static_cast<std::uint16_t>(mixed(i) & mixed(~i)); }));
    check(keys_from<std::int32_t>(n, [](std::size_t i) { return static_cast<std::int32_t>(mixed(i)); }));
    check(keys_from<std::uint32_t>(n, [](std::size_t i) {
      return mixed(i) % 5 < 2 ? ~0u : static_cast<std::uint32_t>(i);
    }));
    check(
      keys_from<std::int64_t>(n, [](std::size_t i) { return static_cast<std::int64_t>(mixed(i) >> mixed(~i) % 64); }));
    check(keys_from<double>(n, [](std::size_t i) {
      return i % 5 == 0 ? std::numeric_limits<double>::quiet_NaN()
           : i % 5 == 1 ? (mixed(i) % 2 == 0 ? 0.0 : -0.0)
                        : static_cast<double>(static_cast<std::int64_t>(mixed(i)));
    }));
    check(keys_from<unsigned __int128>(n, [](std::size_t i) {
      return static_cast<unsigned __int128>(mixed(i) % 16) << 100 | mixed(~i) % 16;
    }));
  }
}

/// The least n, and a few more, whose tiles have all their places in use.
template <class Key>
std::size_t full_tiles(std::size_t value_bytes)
{
  auto const shape = gpusort::radix::pass_shape_for(sizeof(Key), value_bytes);
  int const blocks = gpusort::radix::blocks_of_small_pass(sizeof(Key), value_bytes);
  std::size_t n    = 1;
  while (gpusort::radix::rows_for(n, shape.threads, shape.items, blocks) < shape.items)
  {
    n += static_cast<std::size_t>(shape.threads);
  }
  if (gpusort::radix::has_wave(sizeof(Key), value_bytes))
  {
    n = std::max(n, gpusort::radix::most_in_long_wave(sizeof(Key), value_bytes) + 1);
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

/// More keys of 4 and 8 bytes alone than any wave sorts.
constexpr std::size_t beyond_waves = 2'300'007;
static_assert(beyond_waves > gpusort::radix::most_in_long_wave(4, 0)
              && beyond_waves > gpusort::radix::most_in_long_wave(8, 0));

/// Sizes that take, with values or wide keys, one level of buckets, and two, of which the second has few buckets or many; and two whatever there is.
std::vector<std::size_t> sizes_in_levels()
{
  constexpr std::size_t one_level = std::size_t{1} << 20;
  if (in_a_hurry())
  {
    return {130'007, one_level + 4097};
  }
  return {130'007, 1'000'003, one_level, one_level + 255, one_level + 4097, beyond_waves, 5'000'011};
}

TEST(RadixPaths, LevelsOfBuckets)
{
  for (std::size_t const n : sizes_in_levels())
  {
    SCOPED_TRACE(n);
    check(keys_from<std::uint32_t>(n, [](std::size_t i) { return static_cast<std::uint32_t>(mixed(i)); }));
    check(keys_from<std::int64_t>(n, [](std::size_t i) { return static_cast<std::int64_t>(mixed(i)); }));
    if (!in_a_hurry())
    {
      // A range that is no power of two, and begins nowhere near 0.
      check(keys_from<std::uint64_t>(n, [](std::size_t i) { return 12'345'678'901u + mixed(i) % 3'000'000'000u; }));
      check(keys_from<unsigned __int128>(n, [](std::size_t i) {
        return static_cast<unsigned __int128>(mixed(i)) << 64 | mixed(~i);
      }));
      check(keys_from<double>(n, [](std::size_t i) { return 1.0 + static_cast<double>(mixed(i) >> 12) * 0x1p-52; }));
    }
  }
}

TEST(RadixPaths, BucketsOfOneValueEach)
{
  // As many values as buckets, and a few more and less, about a number in which all digits change.
  for (std::uint64_t const values :
       in_a_hurry() ? std::vector<std::uint64_t>{256, 700} : std::vector<std::uint64_t>{200, 256, 300, 511, 512, 700})
  {
    SCOPED_TRACE(values);
    check(keys_from<std::uint32_t>(beyond_waves, [=](std::size_t i) {
      return static_cast<std::uint32_t>(0x80000000u - values / 2 + mixed(i) % values);
    }));
  }
}

/// The mean of four even numbers of 64 bits: hardly any lie towards the ends.
std::uint64_t mean_of_four(std::size_t i)
{
  std::uint64_t sum = 0;
  for (std::uint64_t part = 0; part < 4; ++part)
  {
    sum += mixed(4 * i + part) / 4;
  }
  return sum;
}

TEST(RadixPaths, LongBucketsAmongOthers)
{
  // Two buckets and more in the place of one in the middle, and hardly any at the ends.
  for (std::size_t const n : in_a_hurry() ? std::vector<std::size_t>{beyond_waves} : sizes_in_levels())
  {
    SCOPED_TRACE(n);
    check(keys_from<std::int64_t>(n, [=](std::size_t i) { return static_cast<std::int64_t>(mean_of_four(i)); }));
    if (in_a_hurry())
    {
      continue;
    }
    check(
      keys_from<std::uint32_t>(n, [=](std::size_t i) { return static_cast<std::uint32_t>(mean_of_four(i) >> 32); }));
    check(
      keys_from<double>(n, [=](std::size_t i) { return 1.0 + static_cast<double>(mean_of_four(i) >> 12) * 0x1p-52; }));
  }
}

/// Numbers as number(i) says, but for a few zeros, infinities and NaNs of both signs, which no sample meets.
template <class Key, class Number>
std::vector<Key> numbers_and_others(std::size_t n, Number number)
{
  using limits = std::numeric_limits<Key>;
  return keys_from<Key>(n, [=](std::size_t i) {
    Key const other = i % 3 == 0 ? limits::infinity() : i % 3 == 1 ? limits::quiet_NaN() : Key{0};
    return i % 9001 == 77 ? std::copysign(other, i % 2 == 0 ? Key{-1} : Key{1}) : number(i);
  });
}

template <class Key>
auto number_of(gpusort::testing::distribution d, std::size_t n)
{
  return [=](std::size_t i) { return gpusort::testing::element<Key>(d, 3, i, n); };
}

template <class Key>
void check_numbers(std::size_t n)
{
  using gpusort::testing::distribution;
  check(keys_from<Key>(n, number_of<Key>(distribution::unit, n)));
  check(numbers_and_others<Key>(n, number_of<Key>(distribution::unit, n)));
  if (!in_a_hurry())
  {
    check(numbers_and_others<Key>(n, number_of<Key>(distribution::normal, n)));
    // Rare towards the ends.
    auto const mean_of_four = [](std::size_t i) {
      Key sum = 0;
      for (std::uint64_t part = 0; part < 4; ++part)
      {
        sum += gpusort::testing::unit_number<Key>(mixed(4 * i + part)) / 4;
      }
      return sum;
    };
    check(keys_from<Key>(n, mean_of_four));
    check(keys_from<Key>(n, [=](std::size_t i) { return -1000 - mean_of_four(i); }));
  }
}

TEST(RadixPaths, NumbersThatAreEvenByValue)
{
  // One wave of blocks, and buckets of one level and two.
  for (std::size_t const n : in_a_hurry() ? std::vector<std::size_t>{70'001}
                                          : std::vector<std::size_t>{30'011, 70'001, 300'007, 1'000'003, 5'000'011})
  {
    SCOPED_TRACE(n);
    check_numbers<float>(n);
    check_numbers<double>(n);
  }
  std::size_t const n = beyond_waves;
  check_order<float, thrust::less<float>>(
    numbers_and_others<float>(n, number_of<float>(gpusort::testing::distribution::unit, n)));
  check_order<double, thrust::greater<double>>(
    numbers_and_others<double>(n, number_of<double>(gpusort::testing::distribution::unit, n)));
}

TEST(RadixPaths, MillionsOfNumbersAboutZero)
{
  using gpusort::radix::least_about_zero;
  using gpusort::testing::distribution;
  std::size_t const of_floats  = least_about_zero(sizeof(float), false) + 300'345; // beyond a wave
  std::size_t const of_doubles = least_about_zero(sizeof(double), true) + 12'345;
  check_order<float, thrust::less<float>>(
    numbers_and_others<float>(of_floats, number_of<float>(distribution::normal, of_floats)));
  check_order<double, thrust::greater<double>>(
    numbers_and_others<double>(of_doubles, number_of<double>(distribution::normal, of_doubles)));
  std::size_t const of_pairs = least_about_zero(sizeof(float), true) + 12'345;
  check_order<float, thrust::less<float>>(
    numbers_and_others<float>(of_pairs, number_of<float>(distribution::normal, of_pairs)));
}

/// One bucket of exactly as many keys as blocks of either kind just sort, and one key more, among even ones.
template <class Key>
void check_long_buckets()
{
  using gpusort::radix::buckets_log2_for;
  constexpr int bits   = static_cast<int>(sizeof(Key)) * 8;
  std::size_t const n  = beyond_waves;
  int const log2       = buckets_log2_for(n);
  std::size_t const at = 100; // bucket
  for (sort_class const c : {sort_class::bucket, sort_class::long_bucket})
  {
    bool const is_long = c == sort_class::long_bucket;
    if (in_a_hurry() && !is_long)
    {
      continue;
    }
    std::size_t const most = is_long ? gpusort::radix::bucket_sort<Key, false, sort_class::long_bucket>::most
                                     : gpusort::radix::bucket_sort<Key, false, sort_class::bucket>::most;
    for (std::size_t const size : {most, most + 1})
    {
      SCOPED_TRACE(::testing::Message() << sizeof(Key) << " bytes, a bucket of " << size);
      std::vector<Key> keys(n);
      for (std::size_t i = 0; i < n; ++i)
      {
        std::uint64_t const random = mixed(i);
        // Spread over the input, as a sample is.
        bool const is_here   = (i + 1) * size / n != i * size / n;
        std::uint64_t bucket = random >> (64 - log2);
        if (is_here || bucket == at)
        {
          bucket = is_here ? at : at + 1 + random % 8;
        }
        keys[i] = static_cast<Key>((bucket << (64 - log2) | mixed(random) >> log2) >> (64 - bits));
      }
      check(keys);
    }
  }
}

TEST(RadixPaths, ALongBucketsLimit)
{
  if (!in_a_hurry())
  {
    check_long_buckets<std::uint32_t>();
  }
  check_long_buckets<std::uint64_t>();
}

TEST(RadixPaths, BucketsWhoseNeighboursCrowd)
{
  // In order but for a key in a hundred, or in runs; with tiles that are full.
  std::size_t const n = in_a_hurry() ? beyond_waves : 3'000'017;
  check(keys_from<std::uint32_t>(n, [=](std::size_t i) {
    return static_cast<std::uint32_t>(i % 100 == 7 ? mixed(i) : (std::uint64_t{i} << 32) / n);
  }));
  check(keys_from<std::uint64_t>(n, [=](std::size_t i) { return mixed(i / 50) + i % 3; }));
}

TEST(RadixPaths, ZerosOfBothSignsInBuckets)
{
  std::size_t const n = in_a_hurry() ? beyond_waves : 3'000'017;
  check(keys_from<float>(n, [](std::size_t i) {
    std::uint64_t const bits = mixed(i);
    return bits % 5000 == 0 ? (i % 2 == 0 ? 0.0f : -0.0f)
                            : (bits % 2 == 0 ? -1.0f : 1.0f) * (1.0f + static_cast<float>(bits >> 41) * 0x1p-23f);
  }));
  check(keys_from<double>(n, [](std::size_t i) {
    return i == 12'345 ? -0.0 : i == 54'321 ? 0.0 : static_cast<double>(static_cast<std::int64_t>(mixed(i)));
  }));
}

TEST(RadixPaths, BucketsThatBinsDoNotSort)
{
  // Far apart, and each value or one close to it a dozen times.
  std::size_t const n = beyond_waves;
  check(keys_from<std::uint64_t>(n, [=](std::size_t i) { return (mixed(i) % (n / 12) << 44) + mixed(~i) % 16; }));
  std::size_t const wide = in_a_hurry() ? 200'007 : n;
  check(keys_from<unsigned __int128>(wide, [=](std::size_t i) {
    return (static_cast<unsigned __int128>(mixed(i) % (wide / 12)) << 100) + mixed(~i) % 16;
  }));
}

TEST(RadixPaths, BucketsOfManyTwins)
{
  // Every value so many times that bins are crowded by equals, of which several share a bin now and then.
  std::size_t const n = in_a_hurry() ? 130'007 : beyond_waves;
  for (std::uint64_t const together :
       in_a_hurry() ? std::vector<std::uint64_t>{20, 100} : std::vector<std::uint64_t>{10, 20, 50, 100, 1000})
  {
    SCOPED_TRACE(together);
    auto const value = [=](std::size_t i) { return mixed(mixed(i) % (n / together)); };
    check(keys_from<std::uint32_t>(n, [=](std::size_t i) { return static_cast<std::uint32_t>(value(i)); }));
    check(keys_from<std::uint64_t>(n, value));
    check(keys_from<double>(n, [=](std::size_t i) { return static_cast<double>(value(i) >> 12) * 0x1p-52 + 1.0; }));
    check(keys_from<unsigned __int128>(n, [=](std::size_t i) {
      return static_cast<unsigned __int128>(value(i)) << 64 | mixed(i) % 3;
    }));
  }
}

TEST(RadixPaths, EvenKeysOfFewDigits)
{
  // Multiples, of which there are many each; and the same but for one key.
  for (std::size_t const n : sizes_in_levels())
  {
    SCOPED_TRACE(n);
    auto const bits = [](std::size_t i) { return mixed(i) % 0x3fff; };
    check(keys_from<std::uint32_t>(n, [=](std::size_t i) { return static_cast<std::uint32_t>(bits(i) << 18); }));
    check(keys_from<std::uint64_t>(n, [=](std::size_t i) { return bits(i) << 40; }));
    check(keys_from<std::int64_t>(n, [=](std::size_t i) {
      return i == n / 3 + 1 ? std::int64_t{5} : static_cast<std::int64_t>(bits(i) << 50);
    }));
    // No multiples: buckets and bins tell all values apart.
    check(keys_from<std::uint32_t>(n, [=](std::size_t i) { return static_cast<std::uint32_t>(bits(i)); }));
    check(keys_from<std::uint64_t>(n, bits));
    // Multiples of which three digits vary: bins tell them apart, but where one is no multiple.
    auto const more = [](std::size_t i) { return mixed(i) % 0x1ffff; };
    check(keys_from<std::uint32_t>(n, [=](std::size_t i) { return static_cast<std::uint32_t>(more(i) << 15); }));
    check(keys_from<std::uint64_t>(n, [=](std::size_t i) { return i == n / 3 + 1 ? 5 : more(i) << 47; }));
  }
}

TEST(RadixPaths, OneDigit)
{
  // Any of them, with values that no key has, and one value but for a few keys that a sample does not meet.
  for (std::size_t const n : in_a_hurry() ? std::vector<std::size_t>{beyond_waves} : sizes_in_levels())
  {
    SCOPED_TRACE(n);
    auto const digit = [](std::size_t i) { return mixed(i) % 200 / 2 * 2 + 21; };
    for (int const shift : in_a_hurry() ? std::vector<int>{8} : std::vector<int>{0, 8, 16, 24})
    {
      check(keys_from<std::uint32_t>(n, [=](std::size_t i) {
        return 0x12345678u & ~(0xffu << shift) | static_cast<std::uint32_t>(digit(i)) << shift;
      }));
    }
    check(keys_from<std::int64_t>(n, [=](std::size_t i) { return static_cast<std::int64_t>(digit(i)) << 56 | 99; }));
    check(keys_from<double>(n, [=](std::size_t i) { return static_cast<double>(digit(i)) * 0x1p-40 + 1.0; }));
    check(keys_from<std::uint64_t>(n, [=](std::size_t i) { return i % 1000 == 17 && i > n / 2 ? digit(i) : 5; }));
  }
}

TEST(RadixPaths, FewDigitsAreThoseOfMultiples)
{
  using gpusort::radix::have_few_digits;
  std::uint64_t const n = 1 << 28;
  EXPECT_TRUE(have_few_digits(n, false, 16, 3, 24, 0));
  EXPECT_FALSE(have_few_digits(n, false, 13, 3, 24, 0)); // bins tell them apart
  EXPECT_FALSE(have_few_digits(n, false, 16, 3, 24, 3)); // so they do
  EXPECT_TRUE(have_few_digits(n, false, 16, 3, 24, 2));
  EXPECT_TRUE(have_few_digits(n, true, 16, 3, 24, 8));
  EXPECT_TRUE(have_few_digits(n, false, 16, 2, 16, 16)); // no more passes than to buckets
  EXPECT_FALSE(have_few_digits(n, false, 16, 4, 24, 0)); // no fewer passes than by all digits of 4 bytes
  EXPECT_FALSE(have_few_digits(n, false, 16, 4, 26, 0)); // seldom alike
  EXPECT_FALSE(have_few_digits(n / 2 - 1, false, 16, 3, 24, 0));
}

/// Where the look of an input takes its sample.
std::vector<std::size_t> places_of_sample(std::size_t n)
{
  std::size_t const samples = std::size_t{gpusort::radix::look_threads} * gpusort::radix::samples_per_thread;
  std::size_t const stride  = n / samples;
  std::vector<std::size_t> places(samples);
  for (std::size_t i = 0; i < samples; ++i)
  {
    places[i] = i * stride + i * 61 % stride;
  }
  return places;
}

TEST(RadixPaths, ASampleThatMisleads)
{
  // Keys that the sample meets are even; all others are alike, or so many that they do not fit a block, or that their count
  // does not fit half a word, in either half.
  std::size_t const many = std::size_t{1} << 24;
  for (std::size_t const n : in_a_hurry() ? std::vector<std::size_t>{300'007} : std::vector<std::size_t>{300'007, many})
  {
    for (std::uint64_t const alike : {std::uint64_t{0x7777'0000'0000'0000u}, std::uint64_t{0x7778'0000'0000'0000u}})
    {
      SCOPED_TRACE(::testing::Message() << n << " keys, most of them " << alike);
      std::vector<std::uint64_t> keys(n, alike);
      std::vector<std::uint64_t> some = keys_from<std::uint64_t>(n, mixed);
      std::fill(some.begin() + 1000, some.begin() + 8000, alike);
      for (std::size_t const place : places_of_sample(n))
      {
        keys[place] = some[place] = mixed(place);
      }
      check_order<std::uint64_t, thrust::less<std::uint64_t>>(keys);
      check_order<std::uint64_t, thrust::greater<std::uint64_t>>(some);
    }
  }
}

TEST(RadixPaths, ASampleThatIsAllAlike)
{
  for (std::size_t const n : sizes_in_levels())
  {
    SCOPED_TRACE(n);
    std::vector<std::uint32_t> keys =
      keys_from<std::uint32_t>(n, [](std::size_t i) { return static_cast<std::uint32_t>(mixed(i)); });
    for (std::size_t const place : places_of_sample(n))
    {
      keys[place] = 99;
    }
    check(keys);
  }
}

constexpr std::size_t most_of_8  = gpusort::radix::most_in_cluster(8);
constexpr std::size_t most_of_16 = gpusort::radix::most_in_cluster(16);

/// The least that takes a cluster, and the least that is not sorted by search, the most that one of either size takes, where 16 blocks take the place of 8, and some more.
template <class Key>
std::vector<std::size_t> sizes_of_clusters()
{
  std::size_t const tile = tile_of(sort_class::medium, sizeof(Key));
  std::size_t const by_search =
    gpusort::radix::most_cluster_blocks * static_cast<std::size_t>(gpusort::radix::search_threads(sizeof(Key)));
  if (in_a_hurry())
  {
    return {by_search + 1, gpusort::radix::most_before_wave(sizeof(Key)), most_of_16};
  }
  return {tile + 1,
          tile + 17,
          by_search,
          by_search + 1,
          gpusort::radix::most_before_wave(sizeof(Key)),
          9216,
          9217,
          20'011,
          most_of_8,
          most_of_8 + 1,
          most_of_16 - 1,
          most_of_16,
          most_of_16 + 1};
}

template <class Key, class Make>
void check_in_clusters(Make make)
{
  for (std::size_t const n : sizes_of_clusters<Key>())
  {
    SCOPED_TRACE(n);
    check(keys_from<Key>(n, [&](std::size_t i) { return make(i, n); }));
    if (::testing::Test::HasFailure())
    {
      return;
    }
  }
}

TEST(RadixPaths, ClustersThatShareOut)
{
  check_in_clusters<std::uint8_t>([](std::size_t i, std::size_t) { return static_cast<std::uint8_t>(mixed(i)); });
  check_in_clusters<std::int16_t>([](std::size_t i, std::size_t) { return static_cast<std::int16_t>(mixed(i)); });
  check_in_clusters<std::uint32_t>([](std::size_t i, std::size_t) { return static_cast<std::uint32_t>(mixed(i)); });
  check_in_clusters<std::uint64_t>([](std::size_t i, std::size_t) { return mixed(i); });
  check_in_clusters<unsigned __int128>([](std::size_t i, std::size_t) {
    return static_cast<unsigned __int128>(mixed(i)) << 64 | mixed(~i);
  });
  // A range that begins nowhere near 0; order, and the reverse; values that few keys have, and many.
  check_in_clusters<std::uint64_t>([](std::size_t i, std::size_t) {
    return 12'345'678'901u + mixed(i) % 3'000'000'000u;
  });
  check_in_clusters<std::uint32_t>([](std::size_t i, std::size_t) { return static_cast<std::uint32_t>(i); });
  check_in_clusters<std::int64_t>([](std::size_t i, std::size_t n) { return static_cast<std::int64_t>(n / 2 - i); });
  check_in_clusters<std::uint32_t>([](std::size_t i, std::size_t n) {
    return static_cast<std::uint32_t>(mixed(i) % (n / 20));
  });
  check_in_clusters<double>([](std::size_t i, std::size_t) {
    return i % 50 == 0 ? (i % 2 == 0 ? 0.0 : -0.0) : static_cast<double>(static_cast<std::int64_t>(mixed(i)));
  });
  // Shares whose bins are too full: far apart, and each value or one close to it a dozen times.
  check_in_clusters<std::uint64_t>([](std::size_t i, std::size_t n) {
    return (mixed(i) % (n / 30) << 44) + mixed(~i) % 16;
  });
}

TEST(RadixPaths, ClustersThatGoByDigits)
{
  // More keys of one value, or close to it, than a block holds, at the larger sizes: of 1 to 16 digits, an even and an odd
  // number.
  check_in_clusters<std::uint8_t>([](std::size_t i, std::size_t) {
    return static_cast<std::uint8_t>(mixed(i) % 3 * 100);
  });
  check_in_clusters<std::uint16_t>([](std::size_t i, std::size_t) {
    return static_cast<std::uint16_t>(mixed(i) % 2 == 0 ? 7 : mixed(~i));
  });
  check_in_clusters<std::uint32_t>([](std::size_t i, std::size_t) {
    return static_cast<std::uint32_t>(mixed(i) % 2 == 0 ? 1'000'000 : mixed(~i) % 0x1000000u);
  });
  check_in_clusters<std::uint64_t>([](std::size_t i, std::size_t) { return mixed(~i) >> mixed(i) % 64; });
  check_in_clusters<unsigned __int128>([](std::size_t i, std::size_t) {
    return mixed(i) % 4 != 0 ? static_cast<unsigned __int128>(mixed(i) % 3)
                             : static_cast<unsigned __int128>(mixed(i)) << 64 | mixed(~i);
  });
  check_in_clusters<float>([](std::size_t i, std::size_t) { return i % 3 == 0 ? -0.0f : i % 3 == 1 ? 0.0f : -1e-40f; });
  // Nothing but zeros of both signs, and nothing but one value.
  check_in_clusters<float>([](std::size_t i, std::size_t) { return mixed(i) % 2 == 0 ? -0.0f : 0.0f; });
  check_in_clusters<std::uint64_t>([](std::size_t, std::size_t) { return 0x1234567812345678u; });
}

/// Sorts n keys, made from their positions, and these as values, in a cluster of 8 blocks that shares them out by value.
template <class Key, class Make>
void check_split(std::size_t n, Make make)
{
  using bits                  = gpusort::radix::bits_t<Key>;
  constexpr auto medium       = sort_class::medium;
  constexpr unsigned blocks   = 8;
  auto const order            = make_key_order<Key, thrust::less<Key>>();
  auto const kernel           = gpusort::radix::sort_in_blocks<bits, false, std::uint32_t, medium>;
  std::vector<Key> const keys = keys_from<Key>(n, make);
  std::vector<std::uint32_t> expected(n);
  std::iota(expected.begin(), expected.end(), 0u);
  thrust::device_vector<Key> sorted(keys.begin(), keys.end()), spare(n);
  thrust::device_vector<std::uint32_t> values(expected.begin(), expected.end()), spare_values(n);
  std::stable_sort(expected.begin(), expected.end(), [&](std::uint32_t a, std::uint32_t b) {
    return keys[a] < keys[b];
  });
  auto const bits_in = [](thrust::device_vector<Key>& range) {
    return reinterpret_cast<bits*>(thrust::raw_pointer_cast(range.data()));
  };
  gpusort::radix::buffers<bits, std::uint32_t> const at{
    {bits_in(sorted), bits_in(spare)},
    {thrust::raw_pointer_cast(values.data()), thrust::raw_pointer_cast(spare_values.data())}};
  gpusort::radix::findings<bits>* const none = nullptr;
  gpusort::runtime::launch(
    kernel,
    {blocks,
     gpusort::radix::sort_shape_for(sizeof(bits), sizeof(std::uint32_t), medium).threads,
     sizeof(gpusort::radix::block_sort_storage<bits, false, std::uint32_t, medium>),
     0,
     blocks},
    nullptr,
    order,
    none,
    gpusort::radix::bucket_table{},
    n,
    0,
    at);
  thrust::host_vector<Key> const is             = sorted;
  thrust::host_vector<std::uint32_t> const from = values;
  std::size_t wrong                             = 0;
  for (std::size_t i = 0; i < n; ++i)
  {
    wrong += is[i] != keys[expected[i]] || from[i] != expected[i];
  }
  EXPECT_EQ(wrong, 0u) << n;
}

/// Few launches, of clusters of few blocks: what racecheck gets to see of clusters.
TEST(RadixPaths, ClustersOfFewBlocks)
{
  if (!has_clusters_of(8))
  {
    return; // ClustersThatDevicesHave says where there are
  }
  auto const few = [](std::size_t i) { return mixed(i) % 5 == 0 ? ~0u : static_cast<std::uint32_t>(mixed(i) % 99); };
  check_search<std::uint32_t>(70, 2, few);
  check_search<std::uint32_t>(600, 2, few); // two groups of warps
  check_search<std::uint32_t>(501, 8, few);
  // Shared out, and, where nearly all are equal, digit by digit.
  check_split<std::uint32_t>(5000, [](std::size_t i) { return static_cast<std::uint32_t>(mixed(i)); });
  check_split<std::uint32_t>(5000, [](std::size_t i) { return i == 77 ? 6u : 7u; });
}

TEST(RadixPaths, ClustersWhoseSampleMisleads)
{
  // A cluster samples one key of each 512th part. What it meets is even and the rest is alike, or close together; or what it
  // meets is alike, and the rest is even.
  using key          = unsigned __int128;
  auto const samples = gpusort::radix::sort_shape_for(sizeof(key), 0, sort_class::medium).threads;
  for (std::size_t const n : sizes_of_clusters<key>())
  {
    SCOPED_TRACE(n);
    std::vector<key> alike(n, 0x7777'0000'0000'0000u);
    std::vector<key> close =
      keys_from<key>(n, [](std::size_t i) { return 0x7777'0000'0000'0000u + mixed(i) % 1'000'000; });
    std::vector<key> even    = keys_from<key>(n, mixed);
    std::size_t const stride = n / static_cast<std::size_t>(samples);
    for (std::size_t i = 0; i < static_cast<std::size_t>(samples); ++i)
    {
      std::size_t const place = i * stride + i * 61 % stride;
      alike[place] = close[place] = mixed(place);
      even[place]                 = 99;
    }
    check(alike);
    check(close);
    check(even);
  }
}

/// One value has a block's tile of n keys, or one more, just where a share of the 16 blocks is; all others are far from it.
template <class Key>
void check_a_shares_limit(std::size_t n, int log2_of_value)
{
  std::size_t const tile = tile_of(sort_class::medium, sizeof(Key));
  std::size_t const mean = n / 16;
  Key const value        = static_cast<Key>(Key{1} << log2_of_value);
  Key const gap          = static_cast<Key>(Key{1} << (log2_of_value - 5));
  for (std::size_t const together : {tile, tile + 1})
  {
    SCOPED_TRACE(together);
    std::size_t const below = 8 * mean + mean / 2 - together / 2;
    std::vector<Key> keys(n);
    for (std::size_t i = 0; i < n; ++i)
    {
      // A permutation of the places, since 7919 is odd and n a power of two.
      std::size_t const place = i * 7919 % n;
      Key const far           = static_cast<Key>(static_cast<Key>(mixed(i)) % (value - gap));
      keys[place]             = i < below ? far : i < below + together ? value : static_cast<Key>(value + gap + far);
    }
    check(keys);
  }
}

TEST(RadixPaths, ASharesLimit)
{
  check_a_shares_limit<unsigned __int128>(most_of_16, 62);
  check_a_shares_limit<std::uint16_t>(most_of_16, 14);
  check_a_shares_limit<std::uint64_t>(gpusort::radix::most_before_wave(8), 62);
}

/// What one wave of blocks sorts, a long one too: the least and the most, where tiles get one row more, and some more.
std::vector<std::size_t> sizes_of_waves(std::size_t key_bytes = 8)
{
  std::size_t const least     = gpusort::radix::most_before_wave(key_bytes);
  std::size_t const most      = gpusort::radix::most_in_wave(key_bytes, 0);
  std::size_t const most_long = gpusort::radix::most_in_long_wave(key_bytes, 0);
  constexpr std::size_t pairs = gpusort::radix::most_in_wave(8, 8);
  if (in_a_hurry())
  {
    return {least + 1, for_old_devices ? std::size_t{70'001} : std::size_t{140'003}}; // tiles of two rows and of three
  }
  std::size_t const row = std::size_t{gpusort::radix::wave_blocks} * gpusort::radix::wave_threads; // of all tiles
  std::vector<std::size_t> sizes = {
    least,
    least + 1,
    65'537,
    2 * row,
    2 * row + 1,
    300'007,
    590'003,
    most - row,
    pairs,
    pairs + 1,
    most - 1,
    most,
    most + 1,
    1'600'003,
    most_long};
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  sizes.erase(std::remove_if(sizes.begin(), sizes.end(), [=](std::size_t n) { return n > most_long + 1; }),
              sizes.end());
  return sizes;
}

template <class Key, class Make>
void check_in_waves(Make make)
{
  for (std::size_t const n : sizes_of_waves())
  {
    SCOPED_TRACE(n);
    auto const keys = keys_from<Key>(n, [&](std::size_t i) { return make(i, n); });
    check(keys);
    check_order<Key, thrust::less<Key>, std::uint64_t>(keys);
    if (::testing::Test::HasFailure())
    {
      return;
    }
  }
}

TEST(RadixPaths, WavesOfEvenKeys)
{
  check_in_waves<std::uint32_t>([](std::size_t i, std::size_t) { return static_cast<std::uint32_t>(mixed(i)); });
  check_in_waves<std::int64_t>([](std::size_t i, std::size_t) { return static_cast<std::int64_t>(mixed(i)); });
  // A range that begins nowhere near 0; order, and the reverse, with and without equal keys; one value.
  check_in_waves<std::uint64_t>([](std::size_t i, std::size_t) { return 12'345'678'901u + mixed(i) % 3'000'000'000u; });
  check_in_waves<std::uint32_t>([](std::size_t i, std::size_t) { return static_cast<std::uint32_t>(i); });
  check_in_waves<std::int64_t>([](std::size_t i, std::size_t n) { return static_cast<std::int64_t>(n / 2 - i); });
  check_in_waves<std::uint32_t>([](std::size_t i, std::size_t n) { return static_cast<std::uint32_t>((n - i) / 2); });
  check_in_waves<std::uint64_t>([](std::size_t, std::size_t) { return 0x1234567812345678u; });
  // In order but for the last key, or for one between two tiles.
  check_in_waves<std::uint32_t>([](std::size_t i, std::size_t n) {
    return static_cast<std::uint32_t>(i + 1 == n ? 5 : i);
  });
  check_in_waves<std::uint32_t>([](std::size_t i, std::size_t n) {
    std::size_t const tile = static_cast<std::size_t>(gpusort::radix::wave_tile_for(n, 4, 0));
    return static_cast<std::uint32_t>(i == tile ? i - 2 : i);
  });
}

TEST(RadixPaths, WavesOfZerosOfBothSigns)
{
  check_in_waves<double>([](std::size_t i, std::size_t) {
    return i % 50 == 0 ? (i % 2 == 0 ? 0.0 : -0.0) : static_cast<double>(static_cast<std::int64_t>(mixed(i)));
  });
  check_in_waves<float>([](std::size_t i, std::size_t) { return i % 3 == 0 ? -0.0f : i % 3 == 1 ? 0.0f : -1e-40f; });
  check_in_waves<float>([](std::size_t i, std::size_t) { return mixed(i) % 2 == 0 ? -0.0f : 0.0f; });
}

TEST(RadixPaths, WavesWhoseBinsAreTooFull)
{
  // Buckets fit, but not their bins: values few keys have, far apart, and close to each other.
  check_in_waves<std::uint64_t>([](std::size_t i, std::size_t n) {
    return (mixed(i) % (n / 30) << 44) + mixed(~i) % 16;
  });
  check_in_waves<std::uint32_t>([](std::size_t i, std::size_t) {
    return static_cast<std::uint32_t>(mixed(i) % 256 << 24 | (mixed(~i) % 40 == 0 ? mixed(~i) % 0x1000000u : 7));
  });
  // And by tokens that leave out the lowest bits, of which those differ.
  check_in_waves<std::uint64_t>([](std::size_t i, std::size_t n) {
    return (mixed(i % (n / 3)) & ~std::uint64_t{0xf}) + (n - i) % 16;
  });
}

TEST(RadixPaths, WavesThatGoByDigits)
{
  // The sample shows it: half of them alike, keys of every length, few values. Of the first two, small inputs go between splitters. Of one to eight digits,
  // an even and an odd number.
  check_in_waves<std::uint32_t>([](std::size_t i, std::size_t) {
    return static_cast<std::uint32_t>(mixed(i) % 2 == 0 ? 1'000'000 : mixed(~i) % 0x1000000u);
  });
  check_in_waves<std::uint64_t>([](std::size_t i, std::size_t) { return mixed(~i) >> mixed(i) % 64; });
  check_in_waves<std::uint32_t>([](std::size_t i, std::size_t) { return static_cast<std::uint32_t>(mixed(i) % 5); });
  check_in_waves<std::uint64_t>([](std::size_t i, std::size_t) { return mixed(i) % 3 * 0x0100'0000'0001u; });
}

/// From 0 to 1, ever denser towards 0.
double denser(std::size_t i)
{
  double const even = static_cast<double>(mixed(i) >> 11) * 0x1p-53;
  return even * even;
}

TEST(RadixPaths, WavesOfUpToMillionsBetweenSplitters)
{
  // No key of which there are many; the mean of four; in stretches of neighbours; floats about zero.
  check_in_waves<std::uint32_t>([](std::size_t i, std::size_t) {
    return static_cast<std::uint32_t>(denser(i) * 0x1p32);
  });
  check_in_waves<std::int64_t>([](std::size_t i, std::size_t) {
    std::int64_t sum = 0;
    for (std::size_t k = 0; k < 4; ++k)
    {
      sum += static_cast<std::int64_t>(mixed(4 * i + k)) / 4;
    }
    return sum;
  });
  check_in_waves<std::uint64_t>([](std::size_t i, std::size_t) {
    return static_cast<std::uint64_t>(denser(i / 7) * 0x1p63) + i % 7;
  });
  check_in_waves<double>([](std::size_t i, std::size_t) {
    return denser(i) * denser(~i) * (i % 2 == 0 ? 1e9 : -1e-9);
  });
  check_in_waves<float>([](std::size_t i, std::size_t) {
    return i % 100 == 0 ? (i % 200 == 0 ? -0.0f : 0.0f) : static_cast<float>(denser(i) - 0.25);
  });
}

TEST(RadixPaths, WavesOfUpToMillionsThatAreSplitters)
{
  // Some keys are as many as several buckets have, about one, or a bit less, beside others between them and without.
  for (std::size_t const share :
       {std::size_t{12}, std::size_t{60}, std::size_t{150}, std::size_t{256}, std::size_t{300}})
  {
    SCOPED_TRACE(share);
    check_in_waves<std::uint32_t>([=](std::size_t i, std::size_t) {
      bool const is_one = mixed(~i) % share < 1 + share / 12;
      return is_one ? static_cast<std::uint32_t>(mixed(i) % (1 + share / 12) * 40'000'003u)
                    : static_cast<std::uint32_t>(denser(i) * 0x1p32);
    });
    check_in_waves<std::uint64_t>([=](std::size_t i, std::size_t) {
      return mixed(~i) % share < 2 ? std::uint64_t{0x1234'5678'9abc} * (mixed(i) % 2 + 1)
                                   : static_cast<std::uint64_t>(denser(i) * 0x1p63);
    });
    if (in_a_hurry())
    {
      return;
    }
  }
  // A dozen values, and nothing else.
  check_in_waves<std::uint32_t>([](std::size_t i, std::size_t) {
    return static_cast<std::uint32_t>(mixed(i) % 12 * 300'000'007u);
  });
  check_in_waves<std::uint64_t>([](std::size_t i, std::size_t) { return mixed(i) % 12 * 0x1000'0000'0000'0007u; });
  // The least, the greatest, and both next to each other; nearly all are one; and as many of a key as of all others that are like it but for the last bits.
  check_in_waves<std::uint32_t>([](std::size_t i, std::size_t) {
    return mixed(~i) % 20 == 0 ? 0u : mixed(~i) % 20 == 1 ? ~0u : static_cast<std::uint32_t>(denser(i) * 0x1p32);
  });
  check_in_waves<std::uint64_t>([](std::size_t i, std::size_t) {
    std::uint64_t const one = 77'777'777'777u;
    return mixed(~i) % 11 == 0 ? one : mixed(~i) % 11 == 1 ? one + 1 : static_cast<std::uint64_t>(denser(i) * 0x1p60);
  });
  check_in_waves<std::uint64_t>([](std::size_t i, std::size_t) {
    return mixed(~i) % 2 == 0 ? mixed(i) : 0x1234'5678'9abc'0000u + mixed(i) % 0x10000u;
  });
  check_in_waves<float>([](std::size_t i, std::size_t) {
    return mixed(~i) % 9 == 0 ? (i % 2 == 0 ? 0.0f : -0.0f) : static_cast<float>(denser(i) * denser(~i) - 0.01);
  });
}

TEST(RadixPaths, WavesOfWideKeys)
{
  using key             = unsigned __int128;
  auto const check_each = [](auto make) {
    for (std::size_t const n : sizes_of_waves(sizeof(key)))
    {
      SCOPED_TRACE(n);
      check(keys_from<key>(n, [&](std::size_t i) { return make(i, n); }));
    }
  };
  auto const wide = [](std::size_t i) { return key{mixed(i)} << 64 | mixed(~i); };
  // Even, in order, reversed, one value; in few of the highest bits and in the lowest alone.
  check_each([=](std::size_t i, std::size_t) { return wide(i); });
  check_each([](std::size_t i, std::size_t) { return key{i} << 70; });
  check_each([](std::size_t i, std::size_t n) { return key{n - i} << 3; });
  check_each([](std::size_t, std::size_t) { return ~key{0}; });
  check_each([](std::size_t i, std::size_t) { return key{mixed(i) % 0x10'0000u} << 108; });
  check_each([](std::size_t i, std::size_t) { return ~key{0} - mixed(i) % 0x100'0000u; });
  // Between splitters: ever denser, few bits, a dozen values, half alike, as many as a bucket has.
  check_each([=](std::size_t i, std::size_t) { return wide(i) & wide(i * 3 + 1) & wide(~i * 5); });
  check_each([=](std::size_t i, std::size_t) { return wide(i) >> mixed(i * 7) % 128; });
  check_each([](std::size_t i, std::size_t) { return key{mixed(i) % 12} * 0x1234'5678'9abc'def1u << 50; });
  check_each([=](std::size_t i, std::size_t) { return i % 2 == 0 ? key{7} << 90 : wide(i); });
  check_each([=](std::size_t i, std::size_t) { return mixed(i) % 256 < 9 ? key{mixed(i) % 3} << 100 : wide(i) >> 20; });
  // Two of one in a hundred each beside even ones: where buckets are long, by a large sample.
  check_each([=](std::size_t i, std::size_t) { return mixed(i) % 50 == 0 ? key{mixed(~i) % 2 + 1} << 126 : wide(i); });
  // Ranks that differ where tokens have no room: neighbours change places, or digits sort.
  check_each([](std::size_t i, std::size_t n) { return key{mixed(i) % (n / 3)} << 70 | mixed(~i) % 5; });
  check_each([](std::size_t i, std::size_t n) { return key{mixed(i) % (n / 40)} << 110 | mixed(~i) % 1'000'000; });
  // Signed ones, and a bucket that has all that a block sorts, or one more.
  check(keys_from<__int128>(70'001, [=](std::size_t i) { return static_cast<__int128>(wide(i)) >> i % 3; }));
  std::size_t const most = gpusort::radix::most_in_wave_bucket(sizeof(key), 0);
  for (std::size_t const together : {most, most + 1})
  {
    SCOPED_TRACE(together);
    check(keys_from<key>(150'001, [=](std::size_t i) {
      std::size_t const number = i * 7919 % 150'001; // a permutation
      key const other          = wide(i) % (key{0xff} << 120);
      key const half           = key{1} << 127;
      return number < together ? half + wide(i) % (key{1} << 119) : other < half ? other : other + (key{1} << 120);
    }));
  }
}

/// Where the sample of a wave is.
std::vector<std::size_t> places_of_wave_sample(std::size_t n)
{
  std::vector<std::size_t> places;
  for (std::uint32_t group = 0; group < gpusort::radix::wave_threads; ++group)
  {
    std::size_t const begin = gpusort::radix::wave_sample_begin(static_cast<std::uint32_t>(n), group);
    for (std::size_t i = 0; i < gpusort::radix::wave_samples; ++i)
    {
      places.push_back(begin + i);
    }
  }
  return places;
}

template <class key>
void check_misleading_samples()
{
  // What the sample meets is even, and the rest is alike or close together, so that keys go by digits from where tiles have left
  // them: in four passes and in three. Or what it meets is alike, and the rest is even.
  for (std::size_t const n : sizes_of_waves(sizeof(key)))
  {
    SCOPED_TRACE(n);
    for (key const range : {key{1}, key{60'000}, key{200}, key{10'000'000}})
    {
      if (in_a_hurry() && range != 1 && range != 60'000)
      {
        continue;
      }
      std::vector<key> close = keys_from<key>(n, [=](std::size_t i) { return 0x7777'0000u + mixed(i) % range; });
      std::vector<key> in_three =
        keys_from<key>(n, [=](std::size_t i) { return 0x77'0000u + mixed(i) % range % 60'000; });
      std::vector<key> even = keys_from<key>(n, mixed);
      for (std::size_t const place : places_of_wave_sample(n))
      {
        close[place]    = mixed(place) % 0x1'0000'0000u;
        in_three[place] = mixed(place) % 0x100'0000u;
        even[place]     = 99;
      }
      check(close);
      if constexpr (sizeof(key) == 8)
      {
        check_order<key, thrust::less<key>, key>(close);
      }
      check(in_three);
      if (range == 1)
      {
        check(even);
      }
    }
  }
}

TEST(RadixPaths, WavesWhoseSampleMisleads)
{
  check_misleading_samples<std::uint64_t>();
  check_misleading_samples<unsigned __int128>();
}

TEST(RadixPaths, WavesWhoseTilesAreInOrder)
{
  // The input is not, and has a bucket that is too large, but every tile put in the order of its buckets is: digits have nothing
  // to move, and all has to come home.
  using key = std::uint32_t;
  for (std::size_t const n : sizes_of_waves())
  {
    SCOPED_TRACE(n);
    auto const check_both = [](std::vector<key> const& keys) {
      check(keys);
      check_order<key, thrust::less<key>, std::uint64_t>(keys);
    };
    std::vector<key> keys(n, 99);
    keys[100] = 5; // in no sample
    check_both(keys);
    keys        = std::vector<key>(n, 99);
    keys[n - 3] = 1000; // behind the last
    check_both(keys);
    keys = keys_from<key>(n, [](std::size_t i) { return static_cast<key>(i / 8000); });
    std::swap(keys[7999], keys[8000]);
    check_both(keys);
    std::size_t const tile = static_cast<std::size_t>(gpusort::radix::wave_tile_for(n, 4, 0));
    check_both(keys_from<key>(n, [=](std::size_t i) {
      return static_cast<key>(2 * (i / tile) + (mixed(i) % 16 == 0 ? 1 : 0));
    }));
    check_both(keys_from<key>(n, [=](std::size_t i) {
      return static_cast<key>(i < 6000 ? 7 : 2 * (i / tile) + 8 + (mixed(i) % 16 == 0 ? 1 : 0));
    }));
  }
}

/// Whether blocks have the shared memory that a wave takes whose buckets so many threads sort.
template <class Key>
bool has_room_for_waves(bool long_ones)
{
  using namespace gpusort::radix;
  using bits              = bits_t<Key>;
  using order             = key_order_t<Key>;
  using none              = gpusort::block::no_values;
  std::size_t const sorts = long_ones ? sizeof(wave_sort_storage<bits, order, none, long_wave_sort_threads>)
                                      : sizeof(wave_sort_storage<bits, order, none, wave_sort_threads>);
  return sorts <= gpusort::runtime::shared_bytes_of_device();
}
template <class Key>
bool has_room_for_long_waves()
{
  return has_room_for_waves<Key>(true);
}

/// Whether one wave sorts keys alone: nothing is left to digits.
template <class Key>
bool is_sorted_in_wave(std::vector<Key> const& keys)
{
  using gpusort::no_value;
  using gpusort::radix::device;
  using compare       = thrust::less<Key>;
  using notes         = gpusort::radix::findings<gpusort::radix::bits_t<Key>>;
  std::size_t const n = keys.size();
  thrust::device_vector<Key> sorted(keys.begin(), keys.end());
  thrust::device_vector<char> scratch(device::scratch_bytes<Key, no_value, compare>(n));
  void* const memory = thrust::raw_pointer_cast(scratch.data());
  no_value* none     = nullptr;
  device::sort(nullptr, memory, thrust::raw_pointer_cast(sorted.data()), none, n, compare{});
  device::plan<Key, no_value> const plan(n);
  notes found;
  gpusort::testing::require(cudaMemcpy(&found,
                                       gpusort::runtime::at_offset<notes>(plan.layout.base(memory), plan.found),
                                       sizeof found,
                                       cudaMemcpyDeviceToHost),
                            "findings");
  EXPECT_TRUE(plan.in_wave);
  return found.decided != 0 && found.in_tiles == 0;
}

/// Expects that one does, if blocks have room for long ones.
template <class Key>
void expect_long_wave(std::vector<Key> const& keys)
{
  EXPECT_GT(keys.size(), gpusort::radix::most_in_wave(sizeof(Key), 0));
  EXPECT_EQ(is_sorted_in_wave(keys), has_room_for_long_waves<Key>());
}

/// Keys whose ranks are even, but that one bucket of equal width has `together` of them, of which the sample of a wave says nothing: in no order, or as they are `ordered`,
/// 1 or -1; of floats a third zeros of both signs.
template <class Key>
std::vector<Key> keys_with_a_bucket_of(std::size_t together, std::size_t n, int ordered = 0)
{
  using bits       = gpusort::radix::bits_t<Key>;
  auto const order = gpusort::radix::make_key_order<Key, thrust::less<Key>>();
  auto const key   = [&](std::uint64_t high, std::uint64_t low) {
    constexpr int low_bits = static_cast<int>(sizeof(Key)) * 8 - 32;
    bits const rank =
      low_bits == 0
          ? static_cast<bits>(high)
          : static_cast<bits>(static_cast<bits>(high) << (low_bits % 128) | (low >> (64 - std::min(low_bits, 63))));
    bits const own = order.bits_of_rank(rank);
    Key made;
    std::memcpy(&made, &own, sizeof(Key));
    return made;
  };
  constexpr std::uint64_t begin = 0x8000'0000u, width = 0x0100'0000u; // of the bucket
  std::vector<Key> keys(n);
  for (std::size_t i = 0; i < n; ++i)
  {
    std::uint64_t const other = mixed(i) % (0x1'0000'0000u - width);
    keys[i]                   = key(other < begin ? other : other + width, mixed(~i));
  }
  std::vector<bool> is_sampled(n);
  std::size_t has = 0; // the bucket, so far
  std::size_t i   = 0;
  for (std::size_t const place : places_of_wave_sample(n))
  {
    // The least key, the greatest, and any.
    std::uint64_t const high = i == 0 ? 0 : i == 1 ? 0xffff'ffffu : mixed(i) % 0x1'0000'0000u;
    has += high / width == begin / width ? 1 : 0;
    is_sampled[place] = true;
    keys[place]       = key(high, i == 0 ? 0 : i == 1 ? ~std::uint64_t{0} : mixed(~place));
    ++i;
  }
  for (i = 0; has < together; ++i)
  {
    std::size_t const place = i * 7919 % n; // a permutation, as 7919 does not divide n
    if (is_sampled[place])
    {
      continue;
    }
    std::uint64_t const far = place * (width - 1) / n;
    std::uint64_t const in  = ordered > 0 ? far : ordered < 0 ? width - 1 - far : mixed(i) % width;
    keys[place]             = key(begin + in, mixed(i * 5));
    if constexpr (std::is_floating_point_v<Key>)
    {
      if (i % 3 == 0)
      {
        keys[place] = i % 2 == 0 ? Key{0} : -Key{0}; // the first of the bucket
      }
    }
    ++has;
  }
  return keys;
}

template <class Key>
void check_a_wave_buckets_limit(std::size_t n)
{
  // One bucket has all that a block holds, one more, of which a part is merged with the rest, all that is, or one more, which leaves all to digits.
  int const threads          = gpusort::radix::wave_sort_threads_for(n, sizeof(Key), 0);
  std::size_t const most     = gpusort::radix::most_in_wave_bucket(sizeof(Key), 0, false, threads);
  std::size_t const too_many = most / 2;
  bool const has_room        = has_room_for_waves<Key>(threads == gpusort::radix::long_wave_sort_threads);
  for (std::size_t const together : {most, most + 1, most + 777, most + too_many, most + too_many + 1})
  {
    SCOPED_TRACE(together);
    std::vector<Key> const keys = keys_with_a_bucket_of<Key>(together, n);
    EXPECT_EQ(is_sorted_in_wave(keys), has_room && together <= most + too_many);
    check(keys);
    if constexpr (std::is_integral_v<Key> && sizeof(Key) <= 8)
    {
      check_order<Key, thrust::less<Key>, std::uint64_t>(keys);
    }
  }
  // The second part goes behind all of the first, or in front of it.
  check(keys_with_a_bucket_of<Key>(most + 777, n, 1));
  check(keys_with_a_bucket_of<Key>(most + 777, n, -1));
}

TEST(RadixPaths, AWaveBucketsLimit)
{
  check_a_wave_buckets_limit<std::uint32_t>(300'007);
  check_a_wave_buckets_limit<float>(300'007);
  if (!in_a_hurry())
  {
    check_a_wave_buckets_limit<std::uint64_t>(1'000'003);
    check_a_wave_buckets_limit<std::uint32_t>(1'500'007);
    check_a_wave_buckets_limit<double>(1'500'007);
    check_a_wave_buckets_limit<unsigned __int128>(600'011);
  }
}

/// Rare towards the ends, so that buckets of equal width will not do, beside some values of which there are many.
std::uint64_t mean_and_many(std::size_t i)
{
  return mixed(~i) % 50 == 0 ? 0x5555'5678'9abc'def0u + mixed(i) % 3 * 0x1000'0000'0000'0000u : mean_of_four(i);
}

TEST(RadixPaths, LongWaves)
{
  // Twice as many tiles as blocks at once, and buckets that twice as many threads sort: the least, the most of either width, and more.
  std::size_t const most_of_4    = gpusort::radix::most_in_long_wave(4, 0);
  std::size_t const most_of_8    = gpusort::radix::most_in_long_wave(8, 0);
  std::vector<std::size_t> sizes = {gpusort::radix::most_in_wave(8, 0) + 1};
  if (!in_a_hurry())
  {
    sizes.insert(sizes.end(), {1'600'003, most_of_8 - 1, most_of_8, most_of_8 + 1, most_of_4, most_of_4 + 1});
  }
  for (std::size_t const n : sizes)
  {
    SCOPED_TRACE(n);
    check(keys_from<std::uint32_t>(n, [](std::size_t i) { return static_cast<std::uint32_t>(mixed(i)); }));
    check(keys_from<std::uint64_t>(n, mean_and_many));
    if (in_a_hurry())
    {
      continue;
    }
    check(keys_from<std::int64_t>(n, [](std::size_t i) { return static_cast<std::int64_t>(mixed(i)); }));
    check(
      keys_from<std::uint32_t>(n, [](std::size_t i) { return static_cast<std::uint32_t>(mean_and_many(i) >> 32); }));
    check(keys_from<float>(n, [](std::size_t i) {
      float const centred = static_cast<float>(static_cast<double>(mean_of_four(i)) * 0x1p-64 - 0.5);
      return i % 100 == 0 ? (i % 200 == 0 ? -0.0f : 0.0f) : centred;
    }));
    check(keys_from<double>(n, [](std::size_t i) { return static_cast<double>(mixed(i) >> 11) * 0x1p-53; }));
    check(
      keys_from<std::uint32_t>(n, [](std::size_t i) { return static_cast<std::uint32_t>(mixed(i) % 12 * 3'007u); }));
    // In order but for the last tile; half of them alike, and even otherwise; and, which is left to digits, of every length.
    check(keys_from<std::uint64_t>(n, [=](std::size_t i) { return i + 2'000 < n ? i : mixed(i) % n; }));
    check(keys_from<std::uint64_t>(n, [](std::size_t i) { return mixed(~i) % 2 == 0 ? 1u : mixed(i); }));
    check(keys_from<std::uint32_t>(n, [](std::size_t i) {
      return static_cast<std::uint32_t>(mixed(i)) >> mixed(~i) % 32;
    }));
  }
  // By equal width, and between splitters.
  std::size_t const n = in_a_hurry() ? sizes.front() : 1'600'003;
  expect_long_wave(keys_from<std::uint64_t>(n, mean_and_many));
  if (!in_a_hurry())
  {
    expect_long_wave(keys_from<std::uint64_t>(n, mixed));
    expect_long_wave(keys_from<std::uint32_t>(n, [](std::size_t i) { return static_cast<std::uint32_t>(mixed(i)); }));
    expect_long_wave(
      keys_from<std::uint32_t>(n, [](std::size_t i) { return static_cast<std::uint32_t>(mean_and_many(i) >> 32); }));
    expect_long_wave(keys_from<double>(n, [](std::size_t i) { return static_cast<double>(mixed(i) >> 11) * 0x1p-53; }));
  }
}

/// The k-th of some values without any order, which differ in all digits.
template <class Key>
Key value_of(std::uint64_t k)
{
  std::uint64_t const bits = mixed(k * 7 + 1);
  if constexpr (sizeof(Key) == 16)
  {
    return static_cast<Key>(bits) << 64 | mixed(~bits);
  }
  else if constexpr (std::is_floating_point_v<Key>)
  {
    return static_cast<Key>(static_cast<std::int64_t>(bits));
  }
  else
  {
    return static_cast<Key>(bits);
  }
}

/// Sizes that are sorted by digits, in one launch and in several.
std::vector<std::size_t> sizes_by_digits()
{
  return in_a_hurry() ? std::vector<std::size_t>{130'007} : std::vector<std::size_t>{130'007, 1'100'003, 5'000'011};
}

template <class Key>
void check_few_values(std::size_t n, std::uint64_t values)
{
  SCOPED_TRACE(::testing::Message() << n << " keys, " << values << " values of " << sizeof(Key) << " bytes");
  check(keys_from<Key>(n, [=](std::size_t i) { return value_of<Key>(mixed(i) % values); }));
}

TEST(RadixPaths, FewValues)
{
  static_assert(gpusort::radix::most_values == 64);
  for (std::size_t const n : sizes_by_digits())
  {
    for (std::uint64_t const values : {2u, 3u, 16u, 63u, 64u, 65u, 100u})
    {
      check_few_values<std::uint32_t>(n, values);
      if (n < 1'000'000)
      {
        check_few_values<std::uint64_t>(n, values);
        check_few_values<unsigned __int128>(n, values);
      }
    }
    // Beyond a wave of them, which splits a dozen values and more.
    std::size_t const behind_wave = gpusort::radix::most_in_wave(16, 0) + 13'571;
    for (std::uint64_t const values : {63u, 64u, 65u})
    {
      check_few_values<unsigned __int128>(behind_wave, values);
    }
    check_few_values<std::int16_t>(n, 50);
    check_few_values<std::int64_t>(n, 16);
    check_few_values<unsigned __int128>(n, 20);
    check_few_values<double>(n, 16);
  }
}

TEST(RadixPaths, FewValuesThatOneDigitTellsApart)
{
  // With values, one pass is enough, or two that are not side by side; without, none.
  for (std::size_t const n : sizes_by_digits())
  {
    SCOPED_TRACE(n);
    check(keys_from<std::uint64_t>(n, [](std::size_t i) {
      std::uint64_t const k = mixed(i) % 30;
      return (k << 40) + mixed(k) % 0x10000000000u;
    }));
    check(keys_from<std::uint64_t>(n, [](std::size_t i) {
      std::uint64_t const k = mixed(i) % 30;
      return (k % 5 << 56) + (k / 5 << 8) + k % 5;
    }));
    check(keys_from<std::uint64_t>(n, [](std::size_t i) { return mixed(i) % 7 << 56 | (mixed(i) % 7 < 3 ? 5u : 9u); }));
  }
}

TEST(RadixPaths, FewValuesButForSome)
{
  // That no sample meets, or hardly one: between the values, and beyond either end.
  for (std::size_t const n : sizes_by_digits())
  {
    for (std::size_t const step : {std::size_t{1'000'000'000}, std::size_t{9'973}})
    {
      SCOPED_TRACE(::testing::Message() << n << " keys, others each " << step);
      auto const is_odd = [=](std::size_t i) { return i == n / 3 + 1 || i % step == 5; };
      check(keys_from<std::uint32_t>(n, [=](std::size_t i) {
        return is_odd(i) ? static_cast<std::uint32_t>(mixed(i)) : value_of<std::uint32_t>(mixed(i) % 9);
      }));
      check(keys_from<std::uint64_t>(n, [=](std::size_t i) {
        return is_odd(i) ? (i % 2 == 0 ? std::uint64_t{0} : ~std::uint64_t{0}) : value_of<std::uint64_t>(mixed(i) % 16);
      }));
    }
  }
}

TEST(RadixPaths, FewValuesAndZerosOfBothSigns)
{
  for (std::size_t const n : sizes_by_digits())
  {
    SCOPED_TRACE(n);
    check(keys_from<float>(n, [](std::size_t i) {
      return mixed(i) % 5 == 0 ? (mixed(~i) % 2 == 0 ? 0.0f : -0.0f) : value_of<float>(mixed(i) % 7);
    }));
    check(keys_from<double>(n, [=](std::size_t i) {
      return i == n / 2 ? -0.0 : mixed(i) % 5 == 0 ? 0.0 : value_of<double>(mixed(i) % 7);
    }));
  }
}

TEST(RadixPaths, UnevenKeysOfFourBytes)
{
  // By digits, the first pass in any order, but for -0 and crowds.
  for (std::size_t const n : sizes_by_digits())
  {
    SCOPED_TRACE(n);
    auto const uneven = [](std::size_t i) { return static_cast<std::uint32_t>(mixed(i) & mixed(~i)); };
    check(keys_from<std::uint32_t>(n, uneven));
    check(
      keys_from<std::int32_t>(n, [=](std::size_t i) { return static_cast<std::int32_t>(uneven(i) & 0xff00fff0u); }));
    check(
      keys_from<std::uint32_t>(n, [=](std::size_t i) { return mixed(i) % 8 != 0 ? uneven(i) | 0xffu : uneven(i); }));
    check(keys_from<float>(n, [=](std::size_t i) { return static_cast<float>(uneven(i) | 1u); }));
    check(keys_from<float>(n, [=](std::size_t i) {
      return i == n / 4 ? -0.0f : i == n / 5 ? 0.0f : static_cast<float>(uneven(i));
    }));
  }
}

/// Keys alone, sorted by a radix sort that leaves none to others.
template <class Key>
void check_without_others(std::vector<Key> keys)
{
  using sorter = gpusort::radix::device;
  using order  = thrust::less<Key>;
  thrust::device_vector<Key> sorted(keys.begin(), keys.end());
  thrust::device_vector<char> scratch(sorter::scratch_bytes<Key, gpusort::no_value, order>(keys.size()));
  gpusort::no_value* const no_values = nullptr;
  sorter::sort(nullptr,
               thrust::raw_pointer_cast(scratch.data()),
               thrust::raw_pointer_cast(sorted.data()),
               no_values,
               keys.size(),
               order{});
  std::sort(keys.begin(), keys.end());
  thrust::host_vector<Key> const result = sorted;
  EXPECT_TRUE(std::equal(keys.begin(), keys.end(), result.begin()));
}

TEST(RadixPaths, MillionsOfUnevenKeys)
{
  // By digits, in passes whose blocks take turns: an even number of digits, an odd one, and one; the highest bits of 16 bytes, too; short
  // ones that a first pass mixes, and that it may not.
  using gpusort::radix::pass_shape;
  auto const many = [](pass_shape const& shape) {
    std::size_t const tile = static_cast<std::size_t>(shape.threads) * static_cast<std::size_t>(shape.items);
    return tile * (gpusort::radix::tiles_in_one_launch + 3) + 17;
  };
  auto const uneven = [](std::size_t i) { return mixed(i) & mixed(~i); };
  {
    pass_shape const shape = gpusort::radix::pass_shape_for(4, 0);
    EXPECT_GT(shape.passes_in_turn, 0);
    std::size_t const n = many(shape);
    auto const short_of = [=](std::size_t i) { return static_cast<std::uint32_t>(uneven(i)); };
    check(keys_from<std::uint32_t>(n, short_of));
    if (!in_a_hurry())
    {
      check(keys_from<std::int32_t>(n, [=](std::size_t i) {
        return static_cast<std::int32_t>(short_of(i) & 0xff00fff0u);
      }));
      check(keys_from<std::uint32_t>(n, [=](std::size_t i) {
        return mixed(i) % 8 != 0 ? short_of(i) | 0xffu : short_of(i);
      }));
    }
    check(keys_from<float>(n, [=](std::size_t i) {
      return i == n / 4 ? -0.0f : i == n / 5 ? 0.0f : static_cast<float>(short_of(i));
    }));
  }
  {
    pass_shape const shape = gpusort::radix::pass_shape_for(8, 0);
    EXPECT_GT(shape.passes_in_turn, 0);
    std::size_t const n = many(shape);
    check(keys_from<std::uint64_t>(n, uneven));
    if (!in_a_hurry())
    {
      check(keys_from<std::int64_t>(n, [=](std::size_t i) {
        return static_cast<std::int64_t>(uneven(i) & 0xff00'0000'00ff'00ffu);
      }));
      check(keys_from<std::uint64_t>(n, [=](std::size_t i) { return uneven(i) & 0xff'0000'0000u; }));
    }
    check(keys_from<double>(n, [=](std::size_t i) {
      double const value = static_cast<double>(uneven(i) >> 11);
      return i % 3 == 0 ? -value : i == n / 4 ? -0.0 : i == n / 5 ? 0.0 : value;
    }));
  }
  // In fewer digits than are left to others.
  pass_shape const shape = gpusort::radix::pass_shape_for(16, 0);
  EXPECT_GT(shape.passes_in_turn, 0);
  static_assert(gpusort::radix::least_digits_to_leave == 7);
  for (int const bits_apart : in_a_hurry() ? std::vector<int>{64} : std::vector<int>{0, 24, 64})
  {
    SCOPED_TRACE(bits_apart);
    check(keys_from<unsigned __int128>(many(shape), [=](std::size_t i) {
      return static_cast<unsigned __int128>(uneven(i) & 0xff'ffff'ffffu) << bits_apart | (uneven(i + 1) & 0xff);
    }));
  }
  // In all of them, by the form that leaves nothing.
  check_without_others(keys_from<unsigned __int128>(many(shape), [=](std::size_t i) {
    return static_cast<unsigned __int128>(uneven(i)) << 64 | uneven(i + 1);
  }));
}

template <class Key, class Value>
void check_keys_for_others(std::size_t n)
{
  constexpr int digits = sizeof(Key);
  auto const wide      = [](std::uint64_t high, std::uint64_t low) {
    return sizeof(Key) == 8 ? static_cast<Key>(high)
                                 : static_cast<Key>(static_cast<unsigned __int128>(high) << 64 | low);
  };
  SCOPED_TRACE(::testing::Message() << n << " keys of " << digits << " bytes");
  // Such keys of 8 bytes as no curve makes even.
  auto const is_uneven = [=](std::size_t i) {
    return sizeof(Key) == 8 ? wide(mixed(i) & mixed(~i), 0) : wide(mean_of_four(i), mixed(i));
  };
  {
    SCOPED_TRACE("as their sample says");
    check_in_turn<Key, Value>(keys_from<Key>(n, is_uneven));
    if (in_a_hurry())
    {
      return;
    }
    check_in_turn<Key, Value>(keys_from<Key>(n, [=](std::size_t i) {
      return wide(mixed(i) & mixed(~i) & mixed(i + n), mixed(i) & mixed(~i));
    }));
    check_in_turn<Key, Value>(keys_from<Key>(n, [=](std::size_t i) {
      return mixed(~i) % 2 == 0 ? wide(0x1234'5678'9abc'def0u, 5) : wide(mixed(i), mixed(i));
    }));
  }
  {
    SCOPED_TRACE("in order");
    std::vector<Key> keys = keys_from<Key>(n, is_uneven);
    std::sort(keys.begin(), keys.end());
    check_in_turn<Key, Value>(keys); // and, the other way, reversed
    check_in_turn<Key, Value>(keys);
  }
  {
    // Neighbours differ first in the digits from the lowest to the highest.
    SCOPED_TRACE("few values of many digits");
    check_in_turn<Key, Value>(keys_from<Key>(n, [](std::size_t i) {
      auto const digit = static_cast<int>(mixed(i) % (digits + 1));
      return digit == digits ? Key{0} : static_cast<Key>(Key{1} << (digit * 8));
    }));
  }
  {
    SCOPED_TRACE("a sample that misleads");
    std::vector<Key> keys(n, wide(0x1234'5678'9abc'def0u, 5));
    for (std::size_t const place : places_of_sample(n))
    {
      keys[place] = wide(mixed(place), mixed(~place));
    }
    check_in_turn<Key, Value>(keys);
  }
}

TEST(RadixPaths, UnevenKeysThatAreLeftToOthers)
{
  using gpusort::radix::sizes_to_leave_for;
  std::size_t const wide = sizes_to_leave_for(16, 0).least;
  if (in_a_hurry())
  {
    check_keys_for_others<unsigned __int128, std::uint32_t>(wide);
    return;
  }
  std::size_t const pairs  = sizes_to_leave_for(8, 8).least;
  std::size_t const alone  = sizes_to_leave_for(8, 0).least;
  std::size_t const narrow = sizes_to_leave_for(8, 4).least; // values
  EXPECT_LT(alone, narrow);
  EXPECT_EQ(sizes_to_leave_for(4, 0).most, 0u);
  EXPECT_EQ(sizes_to_leave_for(4, 8).most, 0u);
  check_keys_for_others<unsigned __int128, std::uint32_t>(wide);
  check_keys_for_others<__int128, std::uint64_t>(wide + 4097);
  check_keys_for_others<std::uint64_t, std::uint64_t>(pairs);
  check_keys_for_others<std::int64_t, std::uint64_t>(pairs + 4097);
  check_keys_for_others<std::uint64_t, std::uint32_t>(narrow);
  auto const uneven = [](std::size_t i) { return mixed(i) & mixed(~i); };
  check_in_turn<std::int64_t, std::uint8_t>(keys_from<std::int64_t>(narrow + 4097, uneven));
  // One less sorts all by digits.
  check_order<unsigned __int128, thrust::less<unsigned __int128>>(keys_from<unsigned __int128>(wide - 1, mean_of_four));
  check_order<std::uint64_t, thrust::less<std::uint64_t>, std::uint64_t>(keys_from<std::uint64_t>(pairs - 1, uneven));
  check_order<std::uint64_t, thrust::less<std::uint64_t>>(keys_from<std::uint64_t>(narrow - 1, uneven));
  check_order<std::uint64_t, thrust::less<std::uint64_t>>(keys_from<std::uint64_t>(alone - 1, uneven));
}

TEST(RadixPaths, AGraphSortsWhateverItIsGiven)
{
  // What one input leaves behind must not be taken for a finding about the next.
  using namespace gpusort::testing;
  using key = std::uint32_t;
  for (std::size_t const n : {std::size_t{130'007}, in_a_hurry() ? std::size_t{300'007} : std::size_t{5'000'011}})
  {
    SCOPED_TRACE(n);
    guarded_array<key> range(n);
    own_stream const stream;
    key* const none         = nullptr;
    std::size_t const bytes = gpusort::workspace_bytes(gpusort::radix_sort(thrust::cuda::par_nosync), none, none + n);
    guarded_array<char> memory(bytes);
    gpusort::workspace ws{memory.begin(), bytes};
    range.load(keys_of<key>(distribution::uniform, n, 1));
    captured_call graph(stream, [&] {
      gpusort::sort(gpusort::radix_sort(thrust::cuda::par_nosync(ws).on(stream)), range.begin(), range.end());
    });
    for (std::size_t i = 0; i < 2 * std::size(all_distributions); ++i)
    {
      distribution const d = all_distributions[i * 5 % std::size(all_distributions)];
      SCOPED_TRACE(name_of(d));
      host_array<key> keys = keys_of<key>(d, n, i);
      range.load(keys);
      graph.launch(stream);
      require(cudaStreamSynchronize(stream), "replay");
      std::sort(keys.begin(), keys.end());
      EXPECT_TRUE(range.holds(keys));
    }
  }
}

/// What `look(graph)` finds of a sort of n keys, in memory that it is given.
template <class Key, class Look>
auto look_at_sort(std::size_t n, Look look)
{
  gpusort::testing::own_stream const stream;
  thrust::device_vector<Key> keys(n);
  Key* const first        = thrust::raw_pointer_cast(keys.data());
  std::size_t const bytes = gpusort::workspace_bytes(gpusort::radix_sort(thrust::device), first, first + n);
  thrust::device_vector<char> memory(bytes);
  gpusort::workspace ws{thrust::raw_pointer_cast(memory.data()), bytes};
  gpusort::testing::captured_call const graph(stream, [&] {
    gpusort::sort(gpusort::radix_sort(thrust::cuda::par_nosync(ws).on(stream)), first, first + n);
  });
  return look(graph);
}

/// Its launches.
template <class Key>
std::size_t launches_for(std::size_t n)
{
  return look_at_sort<Key>(n, [](auto const& graph) { return graph.nodes(); });
}

/// Blocks and threads of its only launch.
template <class Key>
std::pair<unsigned, unsigned> shape_for(std::size_t n)
{
  return look_at_sort<Key>(n, [](auto const& graph) { return graph.shape_of_only_kernel(); });
}

TEST(RadixPaths, SmallInputsGoBySearch)
{
  using shape = std::pair<unsigned, unsigned>;
  if (!has_clusters_of(8))
  {
    EXPECT_EQ(shape_for<std::uint32_t>(1000), (shape{1, 512})) << "one block";
    return;
  }
  if (!has_clusters_of(16))
  {
    return; // ClustersThatDevicesHave says where there are
  }
  EXPECT_EQ(shape_for<std::uint32_t>(2), (shape{8, 32}));
  EXPECT_EQ(shape_for<std::uint16_t>(1000), (shape{8, 128}));
  EXPECT_EQ(shape_for<std::uint32_t>(1000), (shape{8, 128}));
  EXPECT_EQ(shape_for<float>(2048), (shape{8, 256}));
  EXPECT_EQ(shape_for<float>(2049), (shape{16, 160}));
  EXPECT_EQ(shape_for<std::uint32_t>(16'384), (shape{16, 1024}));
  EXPECT_EQ(shape_for<std::uint64_t>(12'288), (shape{16, 768}));
  EXPECT_EQ(shape_for<std::uint64_t>(12'289), (shape{16, 512})) << "by value";
  EXPECT_EQ(shape_for<unsigned __int128>(8192), (shape{16, 512}));
}

TEST(RadixPaths, ClustersAreOneLaunch)
{
  for (std::size_t const n : {std::size_t{12'289}, gpusort::radix::most_before_wave(8)})
  {
    EXPECT_EQ(launches_for<std::uint64_t>(n) == 1, has_clusters_of(8)) << n;
  }
  for (std::size_t const n : {gpusort::radix::most_before_wave(8) + 1, most_of_16})
  {
    EXPECT_EQ(launches_for<std::uint16_t>(n) == 1, has_clusters_of(n <= most_of_8 ? 8 : 16)) << n;
  }
  EXPECT_EQ(launches_for<unsigned __int128>(gpusort::radix::most_before_wave(16)) == 1, has_clusters_of(8));
}

TEST(RadixPaths, WavesAreThreeLaunches)
{
  // Two that sort, and one for what they leave.
  for (std::size_t const n : {gpusort::radix::most_before_wave(8) + 1, gpusort::radix::most_in_wave(8, 0)})
  {
    EXPECT_EQ(launches_for<std::uint32_t>(n), 3u) << n;
    EXPECT_EQ(launches_for<double>(n), 3u) << n;
  }
  // Long ones take shared memory that not every device has.
  for (std::size_t const n : {gpusort::radix::most_in_wave(8, 0) + 1, gpusort::radix::most_in_long_wave(8, 0)})
  {
    EXPECT_EQ(launches_for<std::uint32_t>(n) == 3, has_room_for_long_waves<std::uint32_t>()) << n;
    EXPECT_EQ(launches_for<double>(n) == 3, has_room_for_long_waves<double>()) << n;
  }
  for (std::size_t const n : {gpusort::radix::most_before_wave(16) + 1, gpusort::radix::most_in_wave(16, 0)})
  {
    EXPECT_EQ(launches_for<unsigned __int128>(n), 3u) << n;
  }
}

TEST(RadixPaths, ClustersThatDevicesHave)
{
  int major = 0;
  gpusort::testing::require(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), "device");
  EXPECT_EQ(has_clusters_of(8), major >= 9 && !for_old_devices);
  if (major == 9)
  {
    EXPECT_EQ(has_clusters_of(16), !for_old_devices);
  }
  EXPECT_FALSE(has_clusters_of(64));
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

TEST(RadixPaths, OneBlockTakesNoScratch)
{
  std::uint32_t* const none = nullptr;
  std::size_t const tile    = tile_of(sort_class::medium, sizeof(std::uint32_t));
  EXPECT_EQ(gpusort::workspace_bytes(gpusort::radix_sort(thrust::device), none, none + tile), 0u);
  EXPECT_GT(gpusort::workspace_bytes(gpusort::radix_sort(thrust::device), none, none + tile + 1), 0u);
}

TEST(RadixPaths, RandomSizesAndEntropy)
{
  std::mt19937_64 random(20260101);
  for (int round = 0; round < (in_a_hurry() ? 5 : 60); ++round)
  {
    std::size_t const n      = 2 + random() % 200'000;
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

} // namespace
