// Orders of structs by their fields: every way in which radix sort moves keys with their images, and the comparator beside
// it, against the C++ library's sort under the same order.
#include <testing/support/allocators.cuh>
#include <testing/support/device_memory.cuh>
#include <testing/support/graphs.cuh>
#include <testing/support/oracle.cuh>
#include <testing/support/types.cuh>

#include <gpusort/dispatch/backends.h>
#include <gpusort/order.h>
#include <gpusort/radix/fields.h>
#include <gpusort/sort.h>
#include <gpusort/workspace.h>
#include <gtest/gtest.h>

#include <thrust/execution_policy.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <new>
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
struct low_count
{
  __host__ __device__ bool operator()(eight_bytes const& key) const
  {
    return (key.count & 1) != 0;
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
float some_float(std::uint32_t random)
{
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float nan      = std::numeric_limits<float>::quiet_NaN();
  float const special[]    = {0.0f, -0.0f, infinity, -infinity, nan, -nan, 1.5f, -1.5f};
  return random % 2 == 0 ? special[random / 2 % 8] : static_cast<float>(static_cast<std::int32_t>(random)) / 1024;
}

void make(four_bytes& key, std::uint64_t random, std::size_t i)
{
  key = {static_cast<std::int16_t>(random % 1021 - 510), static_cast<std::uint16_t>(i)};
}
void make(eight_bytes& key, std::uint64_t random, std::size_t i)
{
  key = {static_cast<std::uint8_t>(random),
         static_cast<std::int8_t>(random >> 8 & 0x87),
         static_cast<std::uint16_t>(random >> 16 & 0xf00f),
         static_cast<std::uint32_t>(i)};
}
void make(twelve_bytes& key, std::uint64_t random, std::size_t i)
{
  key = {some_float(static_cast<std::uint32_t>(random)),
         static_cast<std::int16_t>(random >> 32 & 0x80ff),
         static_cast<level>(static_cast<int>(random >> 50 & 7) - 4),
         static_cast<std::uint32_t>(i)};
}
void make(aligned_sixteen_bytes& key, std::uint64_t random, std::size_t i)
{
  key = {i, static_cast<std::int64_t>(random >> 20) - (std::int64_t{1} << 43)};
}
void make(twenty_four_bytes& key, std::uint64_t random, std::size_t i)
{
  key = {some_float(static_cast<std::uint32_t>(random)),
         random & 0x8000'0000'0000'ffff,
         static_cast<std::int32_t>(random >> 40) - (1 << 23),
         static_cast<std::uint32_t>(i)};
}
void make(hundred_bytes& key, std::uint64_t random, std::size_t i)
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
void make(rich_key& key, std::uint64_t random, std::size_t i)
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
struct bits_64 : order_case<twelve_bytes, 64, moves::indices>
{
  static auto order()
  {
    return descending(&key::cell, &key::mass, descending(&key::rank));
  }
};
struct bits_64_aligned : order_case<aligned_sixteen_bytes, 64, moves::indices>
{
  static auto order()
  {
    return descending(&key::cell);
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

using cases =
  ::testing::Types<bits_8,
                   bits_8_aligned,
                   bits_24,
                   bits_32,
                   bits_32_rich,
                   bits_40,
                   bits_64,
                   bits_64_aligned,
                   bits_100,
                   bits_128,
                   bits_144,
                   bits_200>;
TYPED_TEST_SUITE(order, cases, case_names);

// One block, two, many; tiles of all sizes but for the largest.
inline constexpr std::size_t sizes[] = {0, 1, 2, 33, 1000, 3071, 6145, 20011, 150001};

TYPED_TEST(order, OfKeysAlone)
{
  for (std::size_t i = 0; i < std::size(sizes); ++i)
  {
    TestFixture::template check<no_value>(sizes[i], i % 3);
  }
}

TYPED_TEST(order, OfKeysWithValues)
{
  for (std::size_t i = 0; i < std::size(sizes); ++i)
  {
    TestFixture::template check<std::uint32_t>(sizes[i], i % 3);
  }
}

TYPED_TEST(order, Million)
{
  TestFixture::template check<no_value>(2'300'003, 1);
}

// Values that are gathered, and values that are staged.
TEST(OrderOfKeys, WithValuesOfOtherKinds)
{
  order<bits_24>::check<sixteen_bytes>(20011, 1);
  order<bits_24>::check<zip_of_two>(20011, 0);
  order<bits_200>::check<zip_of_two>(20011, 1);
}

// Thrust may be given the order too.
TEST(OrderOfKeys, IsAComparatorForThrust)
{
  std::size_t const n = 20011;
  device_range<eight_bytes, std::uint32_t> room(n);
  expectation<eight_bytes, std::uint32_t> const e(some_keys<eight_bytes>(n), bits_24::order());
  EXPECT_TRUE(room.matches_thrust(e, 0, bits_24::order()));
}

/// `ours` sorts the keys as `hosts` does, and radix can read it.
template <class Ours, class Hosts>
void expect_same_order(Ours ours, Hosts hosts)
{
  static_assert(std::is_same_v<selected_t<twelve_bytes, Ours>, radix_sort_t>);
  std::size_t const n = 20011;
  device_range<twelve_bytes, no_value> room(n);
  expectation<twelve_bytes, no_value> const e(some_keys<twelve_bytes>(n), hosts);
  EXPECT_TRUE(room.matches(
    e, 1, [&](auto first, auto last) { gpusort::sort(thrust::device, first, last, ours); }, [](auto...) {}));
}

// Not in the body of a test: that is a private function, where nvcc takes no such lambdas.
void sort_by_lambdas(float unit)
{
  auto const order =
    by([] __host__ __device__(twelve_bytes const& key) { return key.cell / 16; },
       // Not a product: what it makes of a NaN is the processor's own.
       descending([unit] __host__ __device__(twelve_bytes const& key) { return key.mass < unit; }),
       &twelve_bytes::mass);
  expect_same_order(order, order);
}
void sort_by_a_device_lambda()
{
  auto const order = descending([] __device__(twelve_bytes const& key) -> std::int16_t { return key.cell; });
  expect_same_order(order, descending(&twelve_bytes::cell));
}

TEST(OrderOfKeys, TakesLambdas)
{
  sort_by_lambdas(0.5f);
  sort_by_a_device_lambda();
}

template <class Case>
void expect_memory_as_announced()
{
  using key                  = typename Case::key;
  std::size_t const n        = 150001;
  host_array<key> const keys = some_keys<key>(n);
  expectation<key, no_value> const e(keys, Case::order());
  guarded_array<key> range(n);
  key* const first = range.load(keys);

  own_stream const stream;
  std::size_t const bytes =
    gpusort::workspace_bytes(gpusort::radix_sort(thrust::cuda::par_nosync), first, first + n, Case::order());
  guarded_array<char> memory(bytes);
  host_array<char> content(bytes);
  std::fill(content.begin(), content.end(), 'x');
  gpusort::workspace ws{memory.load(content, 1), bytes};

  // Nothing waits, and with the caller's memory nothing is allocated: in a graph there are only kernels and copies.
  captured_call call(stream, [&] {
    gpusort::sort(gpusort::radix_sort(thrust::cuda::par_nosync(ws).on(stream)), first, first + n, Case::order());
  });
  EXPECT_EQ(call.nodes_of(cudaGraphNodeTypeMemAlloc), 0u);
  call.launch(stream);
  require(cudaStreamSynchronize(stream), "wait");
  EXPECT_TRUE(range.holds(e.sorted_keys));
  EXPECT_TRUE(memory.holds(memory.read())) << "something was written outside of the workspace";

  range.load(keys);
  gpusort::workspace too_small{memory.begin(), bytes - 1};
  EXPECT_THROW(
    gpusort::sort(gpusort::radix_sort(thrust::cuda::par(too_small)), range.begin(), range.end(), Case::order()),
    std::bad_alloc);
  EXPECT_TRUE(range.holds(keys));

  counting_allocator<> allocator;
  gpusort::sort(gpusort::radix_sort(thrust::cuda::par(allocator)), range.begin(), range.end(), Case::order());
  EXPECT_TRUE(range.holds(e.sorted_keys));
  EXPECT_EQ(allocator.allocations, 1);
  EXPECT_EQ(allocator.bytes, bytes);
  EXPECT_TRUE(allocator.is_balanced());
}

TEST(OrderOfKeys, TakesTheMemoryThatIsAnnounced)
{
  expect_memory_as_announced<bits_24>();
  expect_memory_as_announced<bits_144>();
  expect_memory_as_announced<bits_200>();
}

// thrust::seq in device code: one thread sorts.
__global__ void sort_in_kernel(eight_bytes* by_radix, eight_bytes* by_default, std::size_t n)
{
  auto const order = by(low_count{}, descending(&eight_bytes::small));
  gpusort::stable_sort(gpusort::radix_sort(thrust::seq), by_radix, by_radix + n, order);
  gpusort::stable_sort(thrust::seq, by_default, by_default + n, order);
}

TEST(OrderOfKeys, InDeviceCode)
{
  std::size_t const n                = 300;
  host_array<eight_bytes> const keys = some_keys<eight_bytes>(n);
  expectation<eight_bytes, no_value> const e(keys, by(low_count{}, descending(&eight_bytes::small)));
  guarded_array<eight_bytes> by_radix(n), by_default(n);
  sort_in_kernel<<<1, 1>>>(by_radix.load(keys), by_default.load(keys), n);
  require(cudaGetLastError(), "launch");
  require(cudaDeviceSynchronize(), "kernel");
  EXPECT_TRUE(by_radix.holds(e.sorted_keys));
  EXPECT_TRUE(by_default.holds(e.sorted_keys));
}

} // namespace gpusort::testing
