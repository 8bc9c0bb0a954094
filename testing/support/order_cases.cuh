// Orders of structs by their fields: keys of all kinds, and every way in which radix sort moves them with their images. The suite is
// instantiated in two files, for the time it takes to compile.
#pragma once

#include <testing/support/device_memory.cuh>
#include <testing/support/oracle.cuh>
#include <testing/support/types.cuh>

#include <gpusort/dispatch/backends.h>
#include <gpusort/order.h>
#include <gpusort/radix/fields.h>
#include <gpusort/sort.h>
#include <gtest/gtest.h>

#include <thrust/execution_policy.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <type_traits>

namespace gpusort::testing
{

// Keys without padding, each with a position that few orders look at.

struct four_bytes
{
  std::int16_t cell;
  std::uint16_t position;
};
struct eight_bytes
{
  std::uint8_t bucket;
  std::int8_t small;
  std::uint16_t count;
  std::uint32_t position;
};
struct twelve_bytes
{
  float mass;
  std::int16_t cell;
  level rank;
  std::uint32_t position;
};
struct alignas(16) aligned_sixteen_bytes
{
  std::uint64_t position;
  std::int64_t cell;
};
struct twenty_four_bytes
{
  double weight;
  std::uint64_t id;
  std::int32_t cell;
  std::uint32_t position;
};
struct hundred_bytes
{
  std::uint32_t low, high;
  float mass;
  std::int32_t cell;
  std::uint32_t position;
  std::uint32_t tail[20];
};
static_assert(sizeof(eight_bytes) == 8 && sizeof(twelve_bytes) == 12 && sizeof(twenty_four_bytes) == 24);
static_assert(sizeof(hundred_bytes) == 100);

// Fields that are computed.

__host__ __device__ inline unsigned __int128 id_of(hundred_bytes const& key)
{
  return static_cast<unsigned __int128>(key.high) << 80 | key.low;
}
struct wide_id
{
  __host__ __device__ unsigned __int128 operator()(hundred_bytes const& key) const
  {
    return id_of(key);
  }
};
struct low_byte
{
  template <class Key>
  __host__ __device__ std::uint8_t operator()(Key const& key) const
  {
    return static_cast<std::uint8_t>(key.cell);
  }
};
struct wide_cell
{
  __host__ __device__ __int128 operator()(four_bytes const& key) const
  {
    return static_cast<__int128>(key.cell) * (static_cast<__int128>(1) << 90);
  }
};
/// One bit of a number.
struct bit_of_id
{
  int bit;
  __host__ __device__ bool operator()(twenty_four_bytes const& key) const
  {
    return (key.id >> bit & 1) != 0;
  }
};

// Many alike, and all the numbers that are special.
inline float some_float(std::uint32_t random)
{
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float nan      = std::numeric_limits<float>::quiet_NaN();
  float const special[]    = {0.0f, -0.0f, infinity, -infinity, nan, -nan, 1.5f, -1.5f};
  return random % 2 == 0 ? special[random / 2 % 8] : static_cast<float>(static_cast<std::int32_t>(random)) / 1024;
}

inline void make(four_bytes& key, std::uint64_t random, std::size_t i)
{
  key = {static_cast<std::int16_t>(random % 1021 - 510), static_cast<std::uint16_t>(i)};
}
inline void make(eight_bytes& key, std::uint64_t random, std::size_t i)
{
  key = {static_cast<std::uint8_t>(random),
         static_cast<std::int8_t>(random >> 8 & 0x87),
         static_cast<std::uint16_t>(random >> 16 & 0xf00f),
         static_cast<std::uint32_t>(i)};
}
inline void make(twelve_bytes& key, std::uint64_t random, std::size_t i)
{
  key = {some_float(static_cast<std::uint32_t>(random)),
         static_cast<std::int16_t>(random >> 32 & 0x80ff),
         static_cast<level>(static_cast<int>(random >> 50 & 7) - 4),
         static_cast<std::uint32_t>(i)};
}
inline void make(aligned_sixteen_bytes& key, std::uint64_t random, std::size_t i)
{
  key = {i, static_cast<std::int64_t>(random >> 20) - (std::int64_t{1} << 43)};
}
inline void make(twenty_four_bytes& key, std::uint64_t random, std::size_t i)
{
  key = {some_float(static_cast<std::uint32_t>(random)),
         random & 0x8000'0000'0000'ffff,
         static_cast<std::int32_t>(random >> 40) - (1 << 23),
         static_cast<std::uint32_t>(i)};
}
inline void make(hundred_bytes& key, std::uint64_t random, std::size_t i)
{
  key = {static_cast<std::uint32_t>(random) & 0x30003,
         static_cast<std::uint32_t>(random >> 32) & 0xf,
         some_float(static_cast<std::uint32_t>(random >> 16)),
         static_cast<std::int32_t>(random >> 60) - 8,
         static_cast<std::uint32_t>(i),
         {}};
  for (std::uint32_t& word : key.tail)
  {
    word = static_cast<std::uint32_t>(random >> 7) * static_cast<std::uint32_t>(i + 1);
  }
}
inline void make(rich_key& key, std::uint64_t random, std::size_t i)
{
  key.key      = static_cast<std::uint32_t>(random & 0xfff);
  key.position = static_cast<std::uint32_t>(i);
}

template <class Key>
host_array<Key> some_keys(std::size_t n)
{
  std::mt19937_64 random(n);
  host_array<Key> keys(n);
  for (std::size_t i = 0; i < n; ++i)
  {
    make(keys[i], random(), i);
  }
  return keys;
}

// Cases: the width of the image, and whether the keys move with it.

enum class moves
{
  keys,
  indices
};

template <class Key, int Bits, moves What>
struct order_case
{
  using key                   = Key;
  static constexpr int bits   = Bits;
  static constexpr moves what = What;
};

struct bits_8 : order_case<eight_bytes, 8, moves::keys>
{
  static auto order()
  {
    return descending(&key::small);
  }
};
struct bits_8_aligned : order_case<aligned_sixteen_bytes, 8, moves::keys>
{
  static auto order()
  {
    return by(low_byte{});
  }
};
struct bits_24 : order_case<eight_bytes, 24, moves::keys>
{
  static auto order()
  {
    return by(&key::bucket, descending(&key::count));
  }
};
struct bits_32 : order_case<twelve_bytes, 32, moves::keys>
{
  static auto order()
  {
    return by(&key::mass);
  }
};
struct bits_40 : order_case<eight_bytes, 40, moves::keys>
{
  static auto order()
  {
    return by(&key::small, descending(&key::position));
  }
};
struct bits_64 : order_case<twelve_bytes, 64, moves::keys>
{
  static auto order()
  {
    return descending(&key::cell, &key::mass, descending(&key::rank));
  }
};
struct bits_64_aligned : order_case<aligned_sixteen_bytes, 64, moves::keys>
{
  static auto order()
  {
    return descending(&key::cell);
  }
};
struct bits_64_wide : order_case<twenty_four_bytes, 64, moves::indices>
{
  static auto order()
  {
    return by(&key::weight);
  }
};
struct bits_100 : order_case<twenty_four_bytes, 100, moves::indices>
{
  static auto order()
  {
    return by(bit_of_id{0}, descending(&key::weight), bit_of_id{3}, by(&key::cell, bit_of_id{63}), bit_of_id{1});
  }
};
struct bits_128 : order_case<twenty_four_bytes, 128, moves::indices>
{
  static auto order()
  {
    return by(&key::weight, descending(&key::id));
  }
};
struct bits_144 : order_case<four_bytes, 144, moves::keys>
{
  static auto order()
  {
    return by(descending(wide_cell{}), &key::position);
  }
};
struct bits_200 : order_case<hundred_bytes, 200, moves::indices>
{
  static auto order()
  {
    return by(low_byte{}, &key::cell, descending(wide_id{}), &key::mass);
  }
};
// Not movable by its bytes.
struct bits_32_rich : order_case<rich_key, 32, moves::indices>
{
  static auto order()
  {
    return descending(&key::key);
  }
};

template <class Case>
class order : public ::testing::Test
{
public:
  using key     = typename Case::key;
  using compare = decltype(Case::order());

  static_assert(has_radix_order_v<key, compare> && radix::image_of<key, compare>::bits == Case::bits);
  static_assert(std::is_same_v<selected_t<key, compare>, radix_sort_t>);
  static_assert(dispatch::moves_keys_v<radix_sort_t, key, gpusort::no_value, compare> == (Case::what == moves::keys));

  template <class Value>
  static void check(std::size_t n, std::size_t offset)
  {
    SCOPED_TRACE(::testing::Message() << n << " keys, " << offset << " past an aligned address");
    expectation<key, Value> const e(some_keys<key>(n), Case::order());
    device_range<key, Value> room(n);
    check_policy(room, e, offset, thrust::device, "automatic");
    check_policy(room, e, offset, gpusort::radix_sort(thrust::device), "radix_sort");
    check_policy(room, e, offset, gpusort::merge_sort(thrust::device), "merge_sort");
    check_policy(room, e, offset, gpusort::hybrid_sort(thrust::device), "hybrid_sort");
    auto const order  = Case::order();
    auto const policy = gpusort::quicksort(thrust::device);
    EXPECT_TRUE(room.matches_in_some_order(
      e,
      offset,
      [&](auto first, auto last) { gpusort::sort(policy, first, last, order); },
      [&](auto first, auto last, auto attached) { gpusort::sort_by_key(policy, first, last, attached, order); },
      order))
      << "quicksort";
  }

private:
  template <class Value, class Policy>
  static void check_policy(device_range<key, Value>& room,
                           expectation<key, Value> const& e,
                           std::size_t offset,
                           Policy policy,
                           char const* name)
  {
    auto const order = Case::order();
    EXPECT_TRUE(room.matches(
      e,
      offset,
      [&](auto first, auto last) { gpusort::stable_sort(policy, first, last, order); },
      [&](auto first, auto last, auto attached) { gpusort::stable_sort_by_key(policy, first, last, attached, order); }))
      << name;
  }
};

struct case_names
{
  template <class Case>
  static std::string GetName(int)
  {
    return std::to_string(sizeof(typename Case::key)) + "_bytes_" + std::to_string(Case::bits) + "_bits_"
         + (Case::what == moves::keys ? "keys_move" : "indices_move");
  }
};

using cases_that_move_keys =
  ::testing::Types<bits_8, bits_8_aligned, bits_24, bits_32, bits_40, bits_64, bits_64_aligned, bits_144>;
using cases_that_move_indices = ::testing::Types<bits_32_rich, bits_64_wide, bits_100, bits_128, bits_200>;
TYPED_TEST_SUITE_P(order);

// One block, two, many; tiles of all sizes but for the largest.
inline constexpr std::size_t sizes[] = {0, 1, 2, 33, 1000, 3071, 6145, 20011, 150001};

TYPED_TEST_P(order, OfKeysAlone)
{
  for (std::size_t i = 0; i < std::size(sizes); ++i)
  {
    TestFixture::template check<no_value>(sizes[i], i % 3);
  }
}

TYPED_TEST_P(order, OfKeysWithValues)
{
  for (std::size_t i = 0; i < std::size(sizes); ++i)
  {
    TestFixture::template check<std::uint32_t>(sizes[i], i % 3);
  }
}

TYPED_TEST_P(order, Million)
{
  TestFixture::template check<no_value>(2'300'003, 1);
}

REGISTER_TYPED_TEST_SUITE_P(order, OfKeysAlone, OfKeysWithValues, Million);

} // namespace gpusort::testing
