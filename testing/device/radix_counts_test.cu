// Radix sort of keys of one or two bytes without values: they are counted and written anew, and no key moves.
#include <testing/support/cases.h>
#include <testing/support/device_memory.cuh>
#include <testing/support/graphs.cuh>

#include <gpusort/radix/by_counts.cuh>
#include <gpusort/radix/key_order.h>
#include <gpusort/radix/tuning.h>
#include <gpusort/runtime/launch.cuh>
#include <gpusort/sort.h>
#include <gpusort/workspace.h>

#include <gtest/gtest.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <thrust/execution_policy.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <set>
#include <type_traits>
#include <vector>

namespace
{

using namespace gpusort::radix;
using gpusort::testing::allocate_on_device;
using gpusort::testing::guarded_array;
using gpusort::testing::host_array;
using gpusort::testing::in_a_hurry;
using gpusort::testing::mixed;
using gpusort::testing::require;

/// n keys, made from the lower bits of what there is for their positions.
template <class Key, class Make>
host_array<Key> keys_from(std::size_t n, Make make)
{
  host_array<Key> keys(n);
  for (std::size_t i = 0; i < n; ++i)
  {
    std::uint64_t const all = make(i);
    auto const bits         = static_cast<bits_t<Key>>(std::is_same_v<Key, bool> ? all & 1 : all);
    std::memcpy(static_cast<void*>(keys.data() + i), &bits, sizeof(Key));
  }
  return keys;
}

/// Stable by rank: the zeros of halves keep the order of the input.
template <class Key, class Compare>
host_array<Key> in_order(host_array<Key> const& keys)
{
  auto const order    = make_key_order<Key, Compare>();
  std::size_t const n = keys.size();
  std::vector<std::size_t> next(key_values<bits_t<Key>> + 1);
  for (std::size_t i = 0; i < n; ++i)
  {
    ++next[order.rank_of(bits_of(keys.data()[i])) + 1u];
  }
  for (std::size_t r = 1; r < next.size(); ++r)
  {
    next[r] += next[r - 1];
  }
  host_array<Key> sorted(n);
  for (std::size_t i = 0; i < n; ++i)
  {
    Key const& key = keys.data()[i];
    std::memcpy(static_cast<void*>(sorted.data() + next[order.rank_of(bits_of(key))]++), &key, sizeof(Key));
  }
  return sorted;
}

/// Room for offsets of up to 15 bytes as well.
template <class Key>
guarded_array<Key> room_for(std::size_t n)
{
  return guarded_array<Key>(n + 16);
}

template <class Key, class Compare>
void check_order(host_array<Key> const& keys, std::size_t offset, char const* order)
{
  guarded_array<Key> memory = room_for<Key>(keys.size());
  memory.load(keys, offset);
  gpusort::sort(gpusort::radix_sort(thrust::device), memory.begin(), memory.end(), Compare{});
  EXPECT_TRUE(memory.holds(in_order<Key, Compare>(keys))) << order;
}

template <class Key>
void check(host_array<Key> const& keys, std::size_t offset = 0)
{
  check_order<Key, thrust::less<Key>>(keys, offset, "less");
  check_order<Key, thrust::greater<Key>>(keys, offset, "greater");
}

template <class Key>
struct key_type
{
  using type = Key;
};

template <class... Keys, class F>
void for_keys(F f)
{
  (f(key_type<Keys>{}), ...);
}

template <class F>
void for_all_keys(F f)
{
  for_keys<std::uint8_t, std::int8_t, bool, std::uint16_t, std::int16_t, char16_t, __half, __nv_bfloat16>(f);
}

/// Where another kernel takes over, the edges of what a block writes, and of what blocks count before they count again.
std::vector<std::size_t> sizes(std::size_t key_bytes)
{
  std::size_t const tile = std::size_t{write_threads} * write_rows * 16 / key_bytes;
  if (in_a_hurry())
  {
    return {2, 513, most_bytes_in_block, most_in_cluster(most_cluster_blocks) + 1, 5 * tile + 1};
  }
  std::vector<std::size_t> all{2, 3, 15, 16, 17, 33, 1023, 20'011, 130'007, 1'000'003, 3'000'017};
  std::size_t const block_row = std::size_t{count_threads} * 16 / key_bytes;
  std::size_t const row       = gpusort::runtime::multiprocessors() * block_row;
  for (std::size_t const edge :
       {block_row,
        count_rows * block_row,
        static_cast<std::size_t>(sort_tile_for(key_bytes, 0, sort_class::small)),
        std::size_t{2048},
        most_cluster_blocks * static_cast<std::size_t>(search_threads(key_bytes)),
        static_cast<std::size_t>(sort_tile_for(key_bytes, 0, sort_class::medium)),
        most_bytes_in_block,
        most_in_cluster(most_cluster_blocks),
        tile,
        5 * tile,
        row,
        2 * row,
        count_rows * row})
  {
    all.insert(all.end(), {edge - 1, edge, edge + 1});
  }
  return all;
}

/// Every value has a place of its own, is found again by it, and shares its word with the value that differs in the lowest bit; two values
/// in a word are spread like each by itself.
TEST(RadixCounts, PlacesOfCounts)
{
  std::vector<bool> taken(std::size_t{1} << 16);
  for (std::uint32_t value = 0; value < taken.size(); ++value)
  {
    std::uint32_t const place = spread_over_banks(value);
    ASSERT_LT(place, taken.size());
    ASSERT_FALSE(taken[place]) << value;
    taken[place] = true;
    ASSERT_EQ(spread_over_banks(place), value);
    ASSERT_EQ(spread_over_banks(value ^ 1), place ^ 1) << value;
    std::uint32_t const other = mixed(value) & 0xffff;
    ASSERT_EQ(spread_over_banks(value | other << 16), place | spread_over_banks(other) << 16) << value;
  }
}

/// What a warp counts at once lies in as many banks where values are a power of two apart.
TEST(RadixCounts, BanksOfMultiples)
{
  for (int log2 = 1; log2 <= 11; ++log2)
  {
    std::set<std::uint32_t> banks;
    for (std::uint32_t lane = 0; lane < 32; ++lane)
    {
      banks.insert(spread_over_banks(lane << log2) / 2 % 32);
    }
    EXPECT_EQ(banks.size(), 32u) << "multiples of 2^" << log2;
  }
}

TEST(RadixCounts, EverySize)
{
  for_all_keys([](auto k) {
    using key = typename decltype(k)::type;
    SCOPED_TRACE(::testing::Message() << "type " << __PRETTY_FUNCTION__);
    for (std::size_t const n : sizes(sizeof(key)))
    {
      SCOPED_TRACE(n);
      check(keys_from<key>(n, mixed));
      if (::testing::Test::HasFailure())
      {
        return;
      }
    }
  });
}

TEST(RadixCounts, EveryOffset)
{
  for_keys<std::uint8_t, std::uint16_t, __half>([](auto k) {
    using key               = typename decltype(k)::type;
    std::size_t const step  = in_a_hurry() ? 5 : 1;
    std::size_t const whole = (1 << 20) / sizeof(key);
    for (std::size_t const n : in_a_hurry() ? std::vector<std::size_t>{40'001, 100'003}
                                            : std::vector<std::size_t>{5, 40'001, 65'520, 98'303, whole, whole + 3})
    {
      for (std::size_t offset = 0; offset < 16 / sizeof(key); offset += step)
      {
        SCOPED_TRACE(::testing::Message() << n << " keys of " << sizeof(key) << " bytes, offset " << offset);
        // Many values, and few, of which some end between two tiles.
        check(keys_from<key>(n, mixed), offset);
        check(keys_from<key>(n, [](std::size_t i) { return mixed(i) % 3 << 14; }), offset);
      }
    }
  });
}

struct distribution
{
  char const* name;
  std::uint64_t (*at)(std::size_t i, std::size_t n, int bits);
};

constexpr distribution distributions[] = {
  {"uniform", [](std::size_t i, std::size_t, int) { return mixed(i); }},
  {"nothing but 0", [](std::size_t, std::size_t, int) { return std::uint64_t{0}; }},
  {"all bits set", [](std::size_t, std::size_t, int) { return ~std::uint64_t{0}; }},
  {"two values", [](std::size_t i, std::size_t, int) { return std::uint64_t{mixed(i) % 2 == 0 ? 0x1234u : 0xfedfu}; }},
  {"nine of ten", [](std::size_t i, std::size_t, int) { return std::uint64_t{mixed(i) % 10 == 0 ? 0x41u : 0xbeefu}; }},
  // Half of all keys are alike, in places where nobody looks for a crowd: so counts settle. Then both counts of a word.
  {"an unseen crowd", [](std::size_t i, std::size_t, int) { return i % 2 == 0 ? std::uint64_t{0x4242} : mixed(i); }},
  {"neighbours in turn", [](std::size_t i, std::size_t, int) { return std::uint64_t{0x4000} + i % 2; }},
  {"sorted", [](std::size_t i, std::size_t n, int bits) { return (std::uint64_t{i} << bits) / n; }},
  {"reversed", [](std::size_t i, std::size_t n, int bits) { return (std::uint64_t{n - 1 - i} << bits) / n; }},
  {"few values", [](std::size_t i, std::size_t, int) { return mixed(i) % 7 * 0x2f31; }},
  {"two values and others",
   [](std::size_t i, std::size_t, int) {
     return mixed(i) % 5 < 4 ? std::uint64_t{mixed(i) % 3 == 0 ? 0x80u : 0x81u} : mixed(~i);
   }},
  {"multiples of 64", [](std::size_t i, std::size_t, int) { return mixed(i) << 6; }},
  {"few bits", [](std::size_t i, std::size_t, int) { return mixed(i) & mixed(~i) & mixed(i * i + 1); }},
  {"few often, many seldom", [](std::size_t i, std::size_t, int) { return (mixed(~i) & 0xffff) >> mixed(i) % 17; }},
  {"nearly all", [](std::size_t i, std::size_t, int) { return i % 9973 == 5000 ? mixed(i) : 0x80; }},
  {"all but the last", [](std::size_t i, std::size_t n, int) { return std::uint64_t{i + 1 == n ? 3u : 0x9091u}; }},
  {"runs of 8", [](std::size_t i, std::size_t, int) { return mixed(i / 8); }},
  {"runs of 9", [](std::size_t i, std::size_t, int) { return mixed(i / 9); }},
  {"runs of 300", [](std::size_t i, std::size_t, int) { return mixed(i / 300); }},
  // What crowds here is not what crowds there.
  {"16 crowds", [](std::size_t i, std::size_t n, int) { return mixed(i) % 8 == 0 ? mixed(~i) : mixed(i * 16 / n); }},
  {"crowds of a chunk",
   [](std::size_t i, std::size_t, int) { return mixed(i) % 3 == 0 ? mixed(~i) : mixed(i / 40'000) & 0x8001; }},
};

template <class Key>
void check_distributions(std::size_t n)
{
  for (distribution const& d : distributions)
  {
    SCOPED_TRACE(::testing::Message() << d.name << ", " << n << " keys of " << sizeof(Key) << " bytes");
    check(keys_from<Key>(n, [&](std::size_t i) { return d.at(i, n, static_cast<int>(sizeof(Key)) * 8); }), 1);
  }
}

TEST(RadixCounts, EveryDistribution)
{
  for_keys<std::uint8_t, std::int16_t, __half>([](auto k) {
    for (std::size_t const n :
         in_a_hurry() ? std::vector<std::size_t>{100'003} : std::vector<std::size_t>{50'021, 130'007, 1'000'003})
    {
      check_distributions<typename decltype(k)::type>(n);
    }
  });
}

TEST(RadixCounts, TwentyMillion)
{
  // On 132 multiprocessors a block counts more than 2^16 keys several times.
  for_keys<std::uint8_t, std::uint16_t, __half>([](auto k) {
    check_distributions<typename decltype(k)::type>(in_a_hurry() ? 300'007 : 20'000'003);
  });
}

TEST(RadixCounts, ZerosOfBothSigns)
{
  constexpr std::uint64_t minus            = 0x8000;
  static constexpr std::uint16_t special[] = {
    0x7c00, 0xfc00, 0x7f80, 0xff80, 0x7c01, 0xfc01, 0x7fff, 0xffff, 0x7fc1, 0xffc1, 0x0001, 0x8001, 0x03ff, 0x83ff};
  struct zeros_among
  {
    char const* name;
    std::uint64_t (*at)(std::size_t i, std::size_t n);
  };
  constexpr zeros_among inputs[] = {
    {"no zeros", [](std::size_t i, std::size_t) { return mixed(i) | 1; }},
    {"-0 alone", [](std::size_t i, std::size_t) { return i % 5 == 0 ? minus : mixed(i) | 1; }},
    {"+0 alone", [](std::size_t i, std::size_t) { return i % 5 == 0 ? 0 : mixed(i) | 1; }},
    {"many of both", [](std::size_t i, std::size_t) { return i % 3 == 0 ? mixed(i) & minus : mixed(i); }},
    {"-0 at the end", [](std::size_t i, std::size_t n) { return i + 1 == n ? minus
                                                              : i % 7 == 0 ? 0
                                                                           : mixed(i) | 1; }},
    {"-0 at the begin", [](std::size_t i, std::size_t) { return i == 0     ? minus
                                                              : i % 7 == 0 ? 0
                                                                           : mixed(i) | 1; }},
    {"one of each", [](std::size_t i, std::size_t n) { return i == 0     ? 0
                                                            : i + 1 == n ? minus
                                                                         : mixed(i) | 1; }},
    {"zeros at random", [](std::size_t i, std::size_t) { return mixed(i) & minus; }},
    {"zeros in turn", [](std::size_t i, std::size_t) { return i % 2 * minus; }},
    {"+0, then -0", [](std::size_t i, std::size_t n) { return i < n / 3 ? 0 : minus; }},
    {"zeros in the middle",
     [](std::size_t i, std::size_t n) { return i > n / 3 && i < n / 2 ? mixed(i) & minus : mixed(i) | 1; }},
    {"special", [](std::size_t i, std::size_t) { return std::uint64_t{special[mixed(i) % std::size(special)]}; }},
    {"special, zeros",
     [](std::size_t i, std::size_t) { return i % 3 == 0 ? mixed(i) & minus : special[mixed(i) % std::size(special)]; }},
  };
  for_keys<__half, __nv_bfloat16>([&](auto k) {
    using key = typename decltype(k)::type;
    for (std::size_t const n :
         in_a_hurry() ? std::vector<std::size_t>{65'601}
                      : std::vector<std::size_t>{7'680, 16'384, 16'385, 65'536, 65'537, 200'003, 3'000'017})
    {
      for (zeros_among const& input : inputs)
      {
        SCOPED_TRACE(::testing::Message() << input.name << ", " << n << " keys");
        check(keys_from<key>(n, [&](std::size_t i) { return input.at(i, n); }), n % 8);
      }
    }
  });
}

/// Device memory that begins as zeros.
template <class T>
auto cleared(std::size_t n)
{
  auto memory = allocate_on_device<T>(n);
  require(cudaMemset(static_cast<void*>(memory.get()), 0, n * sizeof(T)), "clear");
  return memory;
}

/// Counts on few blocks, so that each comes to settle its counts although there are few keys.
template <bool All, class Bits>
void count(guarded_array<Bits> const& keys, std::size_t blocks, int rows, int words_log2, value_counts counts)
{
  auto const n            = static_cast<std::size_t>(keys.end() - keys.begin());
  std::size_t const bytes = sizeof(Bits) == 1 ? byte_tally::bytes : std::size_t{4} << words_log2;
  gpusort::runtime::launch(
    count_keys<Bits, All>, {blocks, count_threads, bytes}, nullptr, keys.begin(), n, rows, words_log2, counts);
  require(cudaDeviceSynchronize(), "count_keys");
}

template <bool All, class Bits>
void check_counts(host_array<Bits> const& keys, int words_log2)
{
  std::vector<std::uint64_t> expected(key_values<Bits>);
  for (std::size_t i = 0; i < keys.size(); ++i)
  {
    ++expected[keys.data()[i]];
  }
  guarded_array<Bits> memory = room_for<Bits>(keys.size());
  memory.load(keys, 3);
  for (bool const in_halves : {false, true})
  {
    for (int rows = 1; rows <= count_rows; rows += in_a_hurry() ? 3 : 1)
    {
      SCOPED_TRACE(
        ::testing::Message() << "2^" << words_log2 << " words, rows " << rows << ", in halves " << in_halves);
      auto const words = cleared<std::uint64_t>(key_values<Bits>);
      count<All>(memory, 2, rows, words_log2, value_counts{words.get(), in_halves});
      std::vector<std::uint64_t> found(key_values<Bits>);
      require(cudaMemcpy(found.data(), words.get(), found.size() * 8, cudaMemcpyDeviceToHost), "counts");
      for (std::size_t i = found.size();
           in_halves && i-- > 0;) // downwards: what is read lies no higher than what is written
      {
        found[i] = found[i / 2] >> (i % 2 * 32) & 0xffff'ffffu;
      }
      EXPECT_TRUE(found == expected);
    }
  }
}

TEST(RadixCounts, LittleSharedMemoryAndWideCounts)
{
  for (distribution const& d : distributions)
  {
    SCOPED_TRACE(d.name);
    std::size_t const n = in_a_hurry() ? 150'001 : 600'011;
    auto const shorts   = keys_from<std::uint16_t>(n, [&](std::size_t i) { return d.at(i, n, 16); });
    check_counts<false>(shorts, 13);
    check_counts<false>(shorts, 14);
    if (gpusort::runtime::shared_bytes_of_device() >= std::size_t{4} << 15)
    {
      check_counts<true>(shorts, 15);
    }
    check_counts<true>(keys_from<std::uint8_t>(n, [&](std::size_t i) { return d.at(i, n, 8); }), 15);
  }
}

/// Sorts with the kernels alone, at sizes that a cluster would sort as well, with counts of either width.
template <class Key, class Compare>
void check_kernels(host_array<Key> const& keys, std::size_t offset)
{
  using bits              = bits_t<Key>;
  using order_type        = key_order_t<Key>;
  constexpr bool is_float = kind_of<Key>() == key_kind::floating_point;
  using writer            = rank_writer<bits, is_float, write_threads, write_rows>;
  order_type const order  = make_key_order<Key, Compare>();
  std::size_t const n     = keys.size();
  host_array<bits> plain(n), expected(n);
  std::memcpy(plain.data(), keys.data(), n * sizeof(bits));
  std::memcpy(expected.data(), in_order<Key, Compare>(keys).data(), n * sizeof(bits));
  for (bool const in_halves : {false, true})
  {
    SCOPED_TRACE(::testing::Message() << "in halves " << in_halves << ", offset " << offset);
    guarded_array<bits> memory = room_for<bits>(n);
    bits* const first          = memory.load(plain, offset);
    auto const words           = cleared<std::uint64_t>(key_values<bits>);
    value_counts const counts{words.get(), in_halves};
    // A tile for each block, and several.
    std::size_t const tiles   = writer::tiles_of({first, n});
    std::size_t const writers = in_halves ? std::min<std::size_t>(tiles, 3) : tiles;
    if constexpr (sizeof(bits) == 1)
    {
      count<true>(memory, 3, 1, 15, counts);
      gpusort::runtime::launch(write_bytes<bits>, {writers, write_threads}, nullptr, first, n, order, counts);
    }
    else
    {
      count<false>(memory, 3, 2, 13, counts);
      auto const sums      = cleared<handed_on<rank_blocks<bits>>>(1);
      auto const of_ranks  = allocate_on_device<std::uint64_t>(key_values<bits> + 1);
      auto const in_shares = cleared<handed_on<zero_blocks>>(1);
      auto const of_zeros  = cleared<std::uint32_t>((n + 31) / 32);
      rank_begins const begins{of_ranks.get(), in_halves};
      zero_signs const signs{of_zeros.get(), in_shares.get()};
      gpusort::runtime::launch(
        begin_ranks<bits, is_float>, {rank_blocks<bits>, rank_threads}, nullptr, order, counts, n, begins, sums.get());
      if constexpr (is_float)
      {
        gpusort::runtime::launch(
          list_signs<bits>, {zero_blocks, zero_threads}, nullptr, first, n, order, begins, signs);
      }
      gpusort::runtime::launch(
        write_ranked<bits, is_float>, {writers, write_threads}, nullptr, first, n, order, begins, signs);
      require(cudaDeviceSynchronize(), "write_ranked"); // before memory is given back
    }
    EXPECT_TRUE(memory.holds(expected));
  }
}

TEST(RadixCounts, TheKernelsAlone)
{
  for_keys<std::uint8_t, std::int16_t, __half>([](auto k) {
    using key = typename decltype(k)::type;
    for (std::size_t const n : in_a_hurry() ? std::vector<std::size_t>{1, 20'011}
                                            : std::vector<std::size_t>{1, 2, 9, 8'001, 16'384, 20'011, 65'536, 300'007})
    {
      for (distribution const& d : distributions)
      {
        SCOPED_TRACE(::testing::Message() << d.name << ", " << n << " keys of " << sizeof(key) << " bytes");
        auto const keys =
          keys_from<key>(n, [&](std::size_t i) { return d.at(i, n, static_cast<int>(sizeof(key)) * 8); });
        check_kernels<key, thrust::less<key>>(keys, n % 5);
        check_kernels<key, thrust::greater<key>>(keys, 0);
      }
      check_kernels<key, thrust::less<key>>(keys_from<key>(n, [](std::size_t i) { return mixed(i) & 0x8000; }), 7);
    }
  });
}

TEST(RadixCounts, TakesNoSecondArray)
{
  constexpr std::size_t n = std::size_t{1} << 24, little = std::size_t{1} << 20;
  for_all_keys([&](auto k) {
    using key               = typename decltype(k)::type;
    key* const none         = nullptr;
    std::size_t const bytes = gpusort::workspace_bytes(gpusort::radix_sort(thrust::device), none, none + n);
    EXPECT_GT(bytes, 0u);
    EXPECT_LE(bytes, little + (kind_of<key>() == key_kind::floating_point ? n / 8 : 0));
  });
  std::uint8_t* const none = nullptr;
  auto const bytes_of      = [&](std::size_t count) {
    return gpusort::workspace_bytes(gpusort::radix_sort(thrust::device), none, none + count);
  };
  EXPECT_EQ(bytes_of(most_bytes_in_block), 0u);
  EXPECT_GT(bytes_of(most_bytes_in_block + 1), 0u);
}

TEST(RadixCounts, ReplayedFromAGraph)
{
  for_keys<std::uint8_t, std::uint16_t, __half>([](auto k) {
    using key = typename decltype(k)::type;
    gpusort::testing::own_stream const stream;
    for (std::size_t const n :
         in_a_hurry() ? std::vector<std::size_t>{100'003} : std::vector<std::size_t>{50'021, 100'003, 1'000'003})
    {
      guarded_array<key> memory = room_for<key>(n);
      memory.load(keys_from<key>(n, mixed));
      auto const policy       = gpusort::radix_sort(thrust::device);
      std::size_t const bytes = gpusort::workspace_bytes(policy, memory.begin(), memory.end());
      guarded_array<char> scratch(bytes);
      gpusort::workspace ws{scratch.begin(), bytes};
      gpusort::testing::captured_call graph(stream, [&] {
        gpusort::sort(gpusort::radix_sort(thrust::cuda::par_nosync(ws).on(stream)), memory.begin(), memory.end());
      });
      // Zeros of both signs at random, after others and before others: nothing of one replay may be left in the next.
      for (std::uint64_t const mask : {0xffffu, 0x8000u, 0x80ffu, 0x8000u, 0x1u})
      {
        SCOPED_TRACE(::testing::Message() << n << " keys of " << sizeof(key) << " bytes, mask " << mask);
        auto const keys = keys_from<key>(n, [=](std::size_t i) { return mixed(i + mask * n) & mask; });
        memory.load(keys);
        graph.launch(stream);
        require(cudaStreamSynchronize(stream), "replay");
        EXPECT_TRUE(memory.holds(in_order<key, thrust::less<key>>(keys)));
      }
    }
  });
}

} // namespace
