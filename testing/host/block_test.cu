// Parts of the kernels that can be called on the host: where runs are cut, how keys are read, the sizes of things.
#include <gpusort/algorithm.h>
#include <gpusort/block/bit_width.h>
#include <gpusort/block/merge.cuh>
#include <gpusort/dispatch/elements.h>
#include <gpusort/merge/kernels.cuh>
#include <gpusort/merge/tuning.h>
#include <gpusort/radix/kernels.cuh>
#include <gpusort/radix/key_order.h>
#include <gpusort/radix/tuning.h>
#include <gpusort/runtime/launch.cuh>
#include <gpusort/runtime/layout.h>
#include <gtest/gtest.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <random>
#include <type_traits>
#include <vector>

namespace gpusort
{
namespace
{

// ---------------------------------------------------------------------------------------------------------------------
// merge_path

/// A run that fails the test when it is read outside of its elements.
struct checked_run
{
  std::vector<int> const& elements;

  template <class Size>
  int operator[](Size i) const
  {
    if (static_cast<std::size_t>(i) >= elements.size())
    {
      ADD_FAILURE() << "element " << i << " of " << elements.size() << " was read";
      return 0;
    }
    return elements[static_cast<std::size_t>(i)];
  }
};

/// All non-decreasing sequences of up to `longest` of the numbers 0, 1 and 2.
std::vector<std::vector<int>> all_runs(int longest)
{
  std::vector<std::vector<int>> runs;
  for (int zeros = 0; zeros <= longest; ++zeros)
  {
    for (int ones = 0; zeros + ones <= longest; ++ones)
    {
      for (int twos = 0; zeros + ones + twos <= longest; ++twos)
      {
        std::vector<int> run(static_cast<std::size_t>(zeros), 0);
        run.insert(run.end(), static_cast<std::size_t>(ones), 1);
        run.insert(run.end(), static_cast<std::size_t>(twos), 2);
        runs.push_back(run);
      }
    }
  }
  return runs;
}

/// How many of the first `diagonal` elements of the merge come from a, which comes first among equals.
std::size_t taken_from_a(std::size_t diagonal, std::vector<int> const& a, std::vector<int> const& b)
{
  std::size_t i = 0, j = 0;
  while (i + j < diagonal)
  {
    bool const from_a = j == b.size() || (i < a.size() && a[i] <= b[j]);
    from_a ? ++i : ++j;
  }
  return i;
}

template <class Size>
void expect_paths_of_brute_force()
{
  auto less = [](int x, int y) { return x < y; };
  for (std::vector<int> const& a : all_runs(5))
  {
    for (std::vector<int> const& b : all_runs(5))
    {
      for (std::size_t diagonal = 0; diagonal <= a.size() + b.size(); ++diagonal)
      {
        Size const cut = block::merge_path(
          static_cast<Size>(diagonal),
          checked_run{a},
          static_cast<Size>(a.size()),
          checked_run{b},
          static_cast<Size>(b.size()),
          less);
        ASSERT_EQ(static_cast<std::size_t>(cut), taken_from_a(diagonal, a, b))
          << "diagonal " << diagonal << " of " << ::testing::PrintToString(a) << " and " << ::testing::PrintToString(b);
      }
    }
  }
}

TEST(MergePath, IsThatOfAStableMerge)
{
  expect_paths_of_brute_force<int>();
  expect_paths_of_brute_force<std::size_t>();
}

TEST(MergePath, StaysInBoundsWhateverTheComparatorAnswers)
{
  std::mt19937 random(1);
  auto always = [](int, int) { return true; };
  auto never  = [](int, int) { return false; };
  auto coin   = [&](int, int) { return random() % 2 == 0; };
  auto check  = [](std::size_t diagonal, std::vector<int> const& a, std::vector<int> const& b, auto& comp) {
    std::size_t const cut = block::merge_path(diagonal, checked_run{a}, a.size(), checked_run{b}, b.size(), comp);
    EXPECT_LE(cut, std::min(diagonal, a.size()));
    EXPECT_LE(diagonal - cut, b.size());
  };
  for (std::size_t a_size = 0; a_size < 20; ++a_size)
  {
    for (std::size_t b_size = 0; b_size < 20; ++b_size)
    {
      std::vector<int> const a(a_size, 1), b(b_size, 1);
      for (std::size_t diagonal = 0; diagonal <= a_size + b_size; ++diagonal)
      {
        check(diagonal, a, b, always);
        check(diagonal, a, b, never);
        check(diagonal, a, b, coin);
      }
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// rows_for

TEST(RowsFor, IsWithinBoundsAndEnoughForTheBlocks)
{
  for (int const threads : {256, 384, 512})
  {
    for (int const items : {3, 6, 7, 14, 24})
    {
      SCOPED_TRACE(::testing::Message() << threads << " threads, " << items << " items");
      std::size_t const a_row = std::size_t{radix::blocks_for_small_inputs} * static_cast<std::size_t>(threads);
      int const least         = std::min(radix::least_rows, items);
      EXPECT_EQ(radix::rows_for(0, threads, items), least);
      EXPECT_EQ(radix::rows_for(std::size_t{1} << 40, threads, items), items);

      int before = least;
      for (std::size_t n = 1; n < 30 * a_row; n += 997)
      {
        int const rows = radix::rows_for(n, threads, items);
        ASSERT_GE(rows, before) << n;
        ASSERT_LE(rows, items) << n;
        // Unless tiles are as large as they get, no more of them than there are blocks to share them.
        if (rows < items)
        {
          ASSERT_LE(n, static_cast<std::size_t>(rows) * a_row);
        }
        before = rows;
      }
      // A row more begins right behind a multiple.
      for (int rows = least; rows < items; ++rows)
      {
        std::size_t const n = static_cast<std::size_t>(rows) * a_row;
        EXPECT_EQ(radix::rows_for(n, threads, items), rows);
        EXPECT_EQ(radix::rows_for(n + 1, threads, items), rows + 1);
      }
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// share_log2_for, max_segments_for

/// Numbers of elements from what just does not fit a block to more than any memory holds: two for each power of two.
std::vector<std::size_t> element_counts(bool small)
{
  std::vector<std::size_t> counts{static_cast<std::size_t>(radix::block_sort_tile(small)) + 1};
  for (int log2 = 13; log2 < 46; ++log2)
  {
    counts.push_back((std::size_t{1} << log2) - 1);
    counts.push_back(std::size_t{1} << log2);
  }
  return counts;
}

TEST(ShareLog2For, TwoSharesFitABlock)
{
  // A run of small buckets begins in one share, and may end as far behind it as a small bucket is long.
  for (bool const small : {false, true})
  {
    for (std::size_t const n : element_counts(small))
    {
      EXPECT_LE(2 << radix::share_log2_for(n, small), radix::block_sort_tile(small)) << n;
    }
  }
}

TEST(ShareLog2For, IsWithinBoundsAndGrowsWithTheInput)
{
  for (bool const small : {false, true})
  {
    int before = 9;
    EXPECT_EQ(radix::share_log2_for(0, small), before);
    for (std::size_t const n : element_counts(small))
    {
      int const log2 = radix::share_log2_for(n, small);
      EXPECT_GE(log2, before) << n;
      before = log2;
    }
    EXPECT_EQ(before, small ? 10 : 11);
  }
}

TEST(MaxSegmentsFor, HasRoomForABucketEachOfTheFirstLevel)
{
  for (std::size_t const n : element_counts(true))
  {
    EXPECT_GE(radix::max_segments_for(n, true), std::size_t{radix::radix_size}) << n;
    EXPECT_GE(radix::max_segments_for(n, false), 1u) << n;
  }
}

TEST(MaxSegmentsFor, HasNoMoreThanTwoCountersAnElement)
{
  for (bool const small : {false, true})
  {
    for (std::size_t const n : element_counts(small))
    {
      bool const two_levels      = n > radix::one_level_elements(small);
      std::size_t const segments = radix::max_segments_for(n, two_levels);
      EXPECT_LE(segments * radix::radix_size, 2 * n) << n;
      EXPECT_LE(segments, 1024u) << n;
      EXPECT_GE(radix::max_segments_for(2 * n, two_levels), segments) << n;
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// bit_width

template <class Bits>
void expect_width_of_powers()
{
  SCOPED_TRACE(::testing::Message() << sizeof(Bits) << " bytes");
  std::mt19937_64 random(4);
  EXPECT_EQ(block::bit_width(Bits{0}), 0);
  for (int bit = 0; bit < static_cast<int>(sizeof(Bits)) * 8; ++bit)
  {
    Bits const power = static_cast<Bits>(Bits{1} << bit);
    Bits const below = static_cast<Bits>(power - 1);
    Bits const any   = static_cast<Bits>(static_cast<unsigned __int128>(random()) << 64 | random());
    EXPECT_EQ(block::bit_width(power), bit + 1);
    EXPECT_EQ(block::bit_width(below), bit);
    EXPECT_EQ(block::bit_width(static_cast<Bits>(power | below)), bit + 1);
    EXPECT_EQ(block::bit_width(static_cast<Bits>(power | (below & any))), bit + 1);
  }
}

TEST(BitWidth, IsThePlaceOfTheHighestBit)
{
  expect_width_of_powers<std::uint8_t>();
  expect_width_of_powers<std::uint16_t>();
  expect_width_of_powers<std::uint32_t>();
  expect_width_of_powers<std::uint64_t>();
  expect_width_of_powers<unsigned __int128>();
}

// ---------------------------------------------------------------------------------------------------------------------
// key_order

template <class Key>
Key from_bits(radix::bits_t<Key> bits)
{
  Key key;
  std::memcpy(static_cast<void*>(&key), &bits, sizeof(key));
  return key;
}

/// The keys have to be given in ascending order; `alike` says which of them are one key to the sort.
template <class Key, class Alike>
void expect_order(std::vector<Key> const& ascending, Alike alike)
{
  using bits           = radix::bits_t<Key>;
  constexpr int digits = static_cast<int>(sizeof(Key));
  auto const up        = radix::make_key_order<Key, thrust::less<Key>>();
  auto const down      = radix::make_key_order<Key, thrust::greater<Key>>();
  static_assert(decltype(up)::digits == digits);
  for (std::size_t i = 0; i < ascending.size(); ++i)
  {
    bits const key = radix::bits_of(ascending[i]);
    for (std::size_t j = 0; j < ascending.size(); ++j)
    {
      bits const other = radix::bits_of(ascending[j]);
      bool const less  = i < j && !alike(i, j);
      EXPECT_EQ(up.rank_of(key) < up.rank_of(other), less) << i << " and " << j << ", less";
      EXPECT_EQ(down.rank_of(other) < down.rank_of(key), less) << i << " and " << j << ", greater";
    }
    for (auto const& order : {up, down})
    {
      bits together = 0;
      for (int d = digits - 1; d >= 0; --d)
      {
        EXPECT_LT(order.digit(key, d), 256u);
        // In two steps, because a byte cannot be shifted by eight bits.
        together = static_cast<bits>(static_cast<bits>(together << 4) << 4 | order.digit(key, d));
      }
      EXPECT_TRUE(together == order.rank_of(key)) << i << ": the digits are not those of the rank";
    }
  }
}

template <class Key>
void expect_integer_order()
{
  using bits = radix::bits_t<Key>;
  std::vector<Key> keys;
  for (int shift = 0; shift < static_cast<int>(sizeof(Key)) * 8; ++shift)
  {
    bits const power = static_cast<bits>(bits{1} << shift);
    for (bits const b : {power, static_cast<bits>(power - 1), static_cast<bits>(~power), static_cast<bits>(0 - power)})
    {
      keys.push_back(from_bits<Key>(b));
    }
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  expect_order(keys, [](std::size_t, std::size_t) { return false; });
}

enum class level : std::int16_t
{
};
enum class flag : std::uint8_t
{
};

TEST(KeyOrder, OfIntegers)
{
  expect_integer_order<std::uint8_t>();
  expect_integer_order<std::int8_t>();
  expect_integer_order<char>();
  expect_integer_order<std::uint16_t>();
  expect_integer_order<std::int16_t>();
  expect_integer_order<char16_t>();
  expect_integer_order<std::uint32_t>();
  expect_integer_order<std::int32_t>();
  expect_integer_order<std::uint64_t>();
  expect_integer_order<std::int64_t>();
  expect_integer_order<long long>();
  expect_integer_order<unsigned __int128>();
  expect_integer_order<__int128>();
  expect_integer_order<level>();
  expect_integer_order<flag>();
  auto const of_bool = radix::make_key_order<bool, thrust::less<bool>>();
  EXPECT_LT(of_bool.rank_of(radix::bits_of(false)), of_bool.rank_of(radix::bits_of(true)));
}

template <class Key>
double number(Key key)
{
  if constexpr (std::is_same_v<Key, double>)
  {
    return key;
  }
  else
  {
    return static_cast<float>(key);
  }
}

/// NaNs outside of the infinities, by sign; both zeros as one.
template <class Key>
void expect_float_order(radix::bits_t<Key> infinity)
{
  using bits            = radix::bits_t<Key>;
  bits const sign       = static_cast<bits>(bits{1} << (8 * sizeof(Key) - 1));
  bits const middle     = static_cast<bits>(infinity / 2); // of the range
  bits const quiet      = static_cast<bits>(~sign); // the NaN with all bits
  bits const positive[] = {
    0,
    1, // the least number that is not normal
    2,
    middle,
    static_cast<bits>(middle + 1),
    static_cast<bits>(infinity - 1), // the greatest number
    infinity,
    static_cast<bits>(infinity + 1),
    quiet};
  std::vector<Key> ascending;
  for (auto b = std::rbegin(positive); b != std::rend(positive); ++b)
  {
    ascending.push_back(from_bits<Key>(static_cast<bits>(*b | sign)));
  }
  std::size_t const minus_zero = ascending.size() - 1;
  for (bits const b : positive)
  {
    ascending.push_back(from_bits<Key>(b));
  }
  // The list itself is in order, as far as numbers go.
  for (std::size_t i = 3; i + 3 < ascending.size(); ++i)
  {
    ASSERT_LE(number(ascending[i - 1]), number(ascending[i]));
  }
  ASSERT_TRUE(std::isinf(number(ascending[2])));
  ASSERT_TRUE(std::isnan(number(ascending[1])));
  expect_order(ascending, [=](std::size_t i, std::size_t j) { return i == minus_zero && j == minus_zero + 1; });
}

/// An enum whose order is not that of its numbers.
enum class backwards : std::uint8_t
{
};
[[maybe_unused]] constexpr bool operator<(backwards a, backwards b)
{
  return static_cast<int>(b) < static_cast<int>(a);
}

// For host and device compilers alike: they have to choose the same algorithm.
static_assert(radix::has_key_order_v<level, thrust::less<level>>);
static_assert(radix::has_key_order_v<level, thrust::greater<level>>);
static_assert(!radix::has_key_order_v<backwards, thrust::less<backwards>>);
static_assert(radix::has_key_order_v<backwards, thrust::greater<backwards>>);

TEST(KeyOrder, OfFloats)
{
  expect_float_order<float>(0x7f800000u);
  expect_float_order<double>(0x7ff0000000000000u);
  expect_float_order<__half>(0x7c00u);
  expect_float_order<__nv_bfloat16>(0x7f80u);
}

/// The bits of -0, if Key has one, are lost; all others come back.
template <class Key>
void expect_that_ranks_give_keys_back()
{
  using bits              = radix::bits_t<Key>;
  using order             = radix::key_order_t<Key>;
  constexpr bool is_float = radix::kind_of<Key>() == radix::key_kind::floating_point;
  SCOPED_TRACE(::testing::Message() << sizeof(Key) << " bytes, kind " << static_cast<int>(radix::kind_of<Key>()));
  auto const check = [](order const& o, bits b) {
    bool const is_minus_zero = is_float && b == order::sign_bit;
    ASSERT_EQ(o.loses(b), is_minus_zero);
    // Of -0, +0 is given.
    ASSERT_TRUE(o.bits_of_rank(o.rank_of(b)) == (is_minus_zero ? bits{0} : b));
  };
  std::mt19937_64 random(6);
  order const orders[] = {radix::make_key_order<Key, thrust::less<Key>>(),
                          radix::make_key_order<Key, thrust::greater<Key>>()};
  EXPECT_TRUE(orders[0].flip != orders[1].flip);
  for (order const& o : orders)
  {
    check(o, 0);
    check(o, order::sign_bit);
    for (unsigned i = 0; i < 1u << 16; ++i)
    {
      // All of up to 16 bits, and any of the wider ones.
      unsigned __int128 const any = static_cast<unsigned __int128>(random()) << 64 | random();
      check(o, sizeof(bits) <= 2 ? static_cast<bits>(i) : static_cast<bits>(any));
      if (::testing::Test::HasFatalFailure())
      {
        return;
      }
    }
  }
}

TEST(KeyOrder, RanksGiveKeysBack)
{
  expect_that_ranks_give_keys_back<bool>();
  expect_that_ranks_give_keys_back<std::uint8_t>();
  expect_that_ranks_give_keys_back<std::int8_t>();
  expect_that_ranks_give_keys_back<std::uint16_t>();
  expect_that_ranks_give_keys_back<std::int16_t>();
  expect_that_ranks_give_keys_back<std::uint32_t>();
  expect_that_ranks_give_keys_back<std::int32_t>();
  expect_that_ranks_give_keys_back<std::uint64_t>();
  expect_that_ranks_give_keys_back<std::int64_t>();
  expect_that_ranks_give_keys_back<unsigned __int128>();
  expect_that_ranks_give_keys_back<__int128>();
  expect_that_ranks_give_keys_back<float>();
  expect_that_ranks_give_keys_back<double>();
  expect_that_ranks_give_keys_back<__half>();
  expect_that_ranks_give_keys_back<__nv_bfloat16>();
  expect_that_ranks_give_keys_back<level>();
  expect_that_ranks_give_keys_back<flag>();
}

// ---------------------------------------------------------------------------------------------------------------------
// layout

TEST(Layout, OfNothingIsNothing)
{
  EXPECT_EQ(runtime::layout{}.bytes(), 0u);
}

TEST(Layout, PiecesAreAlignedAndApartAtAnyAddress)
{
  struct piece
  {
    std::size_t offset, bytes, alignment;
  };
  std::mt19937_64 random(3);
  for (int round = 0; round < 300; ++round)
  {
    SCOPED_TRACE(round);
    runtime::layout layout;
    std::vector<piece> pieces;
    for (std::size_t p = 0; p < 1 + random() % 8; ++p)
    {
      std::size_t const count     = 1 + random() % 1000;
      std::size_t const bytes     = 1 + random() % 40;
      std::size_t const alignment = std::size_t{1} << random() % 13;
      pieces.push_back({layout.add(count, bytes, alignment), count * bytes, alignment});
    }
    std::size_t end = 0;
    for (piece const& p : pieces)
    {
      EXPECT_GE(p.offset, end);
      end = p.offset + p.bytes;
    }
    for (std::size_t const address : {std::size_t{256}, std::size_t{1}, std::size_t{4095}, random() % (1u << 30)})
    {
      auto const base = reinterpret_cast<std::size_t>(layout.base(reinterpret_cast<void*>(address)));
      EXPECT_GE(base, address);
      EXPECT_LE(base + end, address + layout.bytes()) << "the last piece is not in the allocation at " << address;
      for (piece const& p : pieces)
      {
        EXPECT_EQ((base + p.offset) % p.alignment, 0u);
        EXPECT_EQ((base + p.offset) % runtime::scratch_alignment, 0u);
      }
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Shared memory: 64 KB is what every device has that we compile for.

constexpr std::size_t most_shared_bytes = 64 * 1024;
static_assert(runtime::least_shared_bytes == most_shared_bytes);

template <std::size_t Bytes>
struct record
{
  char bytes[Bytes];
};

template <class... T>
struct types
{
  template <class F>
  static void for_each(F f)
  {
    (f(static_cast<T*>(nullptr)), ...);
  }
};

// Numbers, and records up to the size that kernels hold in registers.
using numbers       = types<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, unsigned __int128>;
using value_records = types<record<3>, record<5>, record<12>, record<16>>;
using key_records   = types<record<3>, record<5>, record<12>, record<17>, record<32>, record<33>, record<64>>;
static_assert(dispatch::moves_directly_v<record<16>> && !dispatch::moves_directly_v<record<17>>);
static_assert(dispatch::sorts_directly_v<record<64>> && !dispatch::sorts_directly_v<record<65>>);

template <class Sorter>
constexpr std::size_t room_of_sorter()
{
  return std::max(sizeof(typename Sorter::shared_storage), sizeof(typename Sorter::digit_storage));
}

template <class Bits, class Value>
void expect_that_radix_fits()
{
  constexpr std::size_t value_bytes = radix::value_bytes_v<Value>;
  SCOPED_TRACE(::testing::Message() << "keys of " << sizeof(Bits) << " bytes, values of " << value_bytes);
  using pass        = radix::split_partition<Bits, false, Value>;
  using few         = radix::bucket_sort<Bits, false, Value, true>;
  using whole       = radix::bucket_sort<Bits, false, Value, false>;
  using look        = radix::look_storage<Bits, pass::threads>;
  auto const blocks = static_cast<std::size_t>(radix::block_sorts_per_sm(sizeof(Bits), value_bytes));
  EXPECT_LE(sizeof(typename pass::shared_storage), most_shared_bytes);
  EXPECT_LE(sizeof(look), most_shared_bytes);
  EXPECT_LE(room_of_sorter<few>(), most_shared_bytes);
  // Larger blocks are for devices that have room: with 228 KB a multiprocessor, of which each block has 1 KB to itself
  // that is not for us, as many as registers are shared out for.
  EXPECT_LE(blocks * (room_of_sorter<whole>() + 1024), 228 * 1024u);
  EXPECT_LT(few::tile, whole::tile);
  EXPECT_LE(whole::tile, 65536) << "a place is held in 16 bits";
}

TEST(SharedMemory, OfRadixFitsEveryDevice)
{
  numbers::for_each([](auto* bits) {
    using key = std::remove_pointer_t<decltype(bits)>;
    expect_that_radix_fits<key, block::no_values>();
    auto with = [](auto* value) { expect_that_radix_fits<key, std::remove_pointer_t<decltype(value)>>(); };
    numbers::for_each(with);
    value_records::for_each(with);
  });
}

template <class Key, class Value>
void expect_that_merge_fits()
{
  SCOPED_TRACE(::testing::Message() << "keys of " << sizeof(Key) << " bytes, values of " << sizeof(Value));
  using sorter = merge::tile_sort<Key, Value, thrust::less<Key>>;
  EXPECT_LE(sizeof(typename sorter::shared_storage), most_shared_bytes);
  EXPECT_LE(sizeof(merge::merge_storage<Key, Value>), most_shared_bytes);
}

TEST(SharedMemory, OfMergeFitsEveryDevice)
{
  auto with_all_values = [](auto* keys) {
    using key = std::remove_pointer_t<decltype(keys)>;
    expect_that_merge_fits<key, no_value>();
    auto with = [](auto* value) { expect_that_merge_fits<key, std::remove_pointer_t<decltype(value)>>(); };
    numbers::for_each(with);
    value_records::for_each(with);
  };
  numbers::for_each(with_all_values);
  key_records::for_each(with_all_values);
}

} // namespace
} // namespace gpusort
