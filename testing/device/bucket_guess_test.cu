// Guessing a bucket by the value of a key, by itself: where splitters are placed, that a guess which is called right is right, and that
// hardly any is not, for keys anywhere among a type's values, upwards and downwards.
#include <testing/support/cases.h>
#include <testing/support/owned_memory.cuh>

#include <gpusort/hybrid/guesses.cuh>
#include <gpusort/hybrid/tuning.h>
#include <gpusort/radix/key_order.h>
#include <gpusort/radix/value_order.cuh>
#include <gtest/gtest.h>
#include <thrust/copy.h>
#include <thrust/device_vector.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace gpusort::hybrid
{
namespace
{

using testing::mixed;

/// Ranks, of which `bits` are in use: the i-th of a sample.
using shape = std::uint64_t (*)(std::uint64_t i, int bits);

std::uint64_t greatest(int bits)
{
  return bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

struct named_shape
{
  char const* name;
  bool is_even;
  shape rank;
};
constexpr named_shape shapes[] = {
  {"all values", true, [](std::uint64_t i, int bits) { return mixed(i) >> (64 - bits); }},
  {"a stretch in the middle",
   true,
   [](std::uint64_t i, int bits) { return (std::uint64_t{5} << (bits - 4)) + (mixed(i) >> (64 - bits + 7)); }},
  {"the least", true, [](std::uint64_t i, int) { return mixed(i) % 100'000; }},
  {"the greatest", true, [](std::uint64_t i, int bits) { return greatest(bits) - mixed(i) % 100'000; }},
  {"some values for each cell", true, [](std::uint64_t i, int) { return 70'000 + mixed(i) % 4000; }},
  {"twice as dense where they are small",
   true,
   [](std::uint64_t i, int bits) { return (mixed(i) >> (64 - bits)) / (mixed(i ^ 0x5555) % 3 == 0 ? 2 : 1); }},
  {"one value", false, [](std::uint64_t, int) { return std::uint64_t{77}; }},
  {"two values", false, [](std::uint64_t i, int bits) { return mixed(i) % 2 == 0 ? 0 : greatest(bits); }},
  {"seven values", false, [](std::uint64_t i, int) { return mixed(i) % 7 * 1000; }},
  {"half of them one value",
   false,
   [](std::uint64_t i, int bits) { return mixed(i) % 2 == 0 ? greatest(bits) / 3 : mixed(i + 1) >> (64 - bits); }},
  {"powers of two", false, [](std::uint64_t i, int bits) { return std::uint64_t{1} << mixed(i) % bits; }}};

struct in_order
{
  bool is_upwards;

  template <class Key>
  __host__ __device__ bool operator()(Key a, Key b) const
  {
    return is_upwards ? a < b : b < a;
  }
};

constexpr int threads = 256;

struct outcome
{
  value_cells cells;
  std::uint16_t places[most_buckets];
  std::uint32_t passed[threads * 16]; // by keys
  bool is_right[threads * 16];
};

/// Grid: one block. Block: `threads`.
template <class Key>
__global__ void guess_all(
  Key const* sample,
  int count,
  unsigned buckets,
  std::uint32_t order,
  Key const* keys,
  int key_count,
  outcome* out,
  in_order comp)
{
  __shared__ std::uint16_t places[most_buckets];
  __shared__ Key splitters[most_buckets + 1];
  value_cells const cells =
    place_evenly<threads, Key>(places, order, count, buckets, [&](int i) -> Key const& { return sample[i]; });
  __syncthreads();
  if (threadIdx.x == 0)
  {
    out->cells = cells;
  }
  if (cells.order == radix::value_order::other)
  {
    return;
  }
  for (unsigned i = threadIdx.x; i < buckets + 1; i += threads)
  {
    splitters[i] = sample[places[i > 0 && i < buckets ? i - 1 : buckets - 2]];
  }
  for (unsigned i = threadIdx.x; i + 1 < buckets; i += threads)
  {
    out->places[i] = places[i];
  }
  __syncthreads();
  value_guess<Key> const guess(cells);
  for (int i = static_cast<int>(threadIdx.x); i < key_count; i += threads)
  {
    bool is_right    = true;
    out->passed[i]   = guess(keys[i], splitters + 1, is_right, comp);
    out->is_right[i] = is_right;
  }
}

template <class Key>
Key key_of_rank(std::uint64_t rank)
{
  auto const bits = radix::values_upwards<Key>().bits_of_rank(static_cast<radix::bits_t<Key>>(rank));
  Key key;
  std::memcpy(&key, &bits, sizeof key);
  return key;
}

template <class Key>
std::vector<Key> keys_by(shape rank, std::size_t n, std::uint64_t seed)
{
  constexpr int bits = static_cast<int>(sizeof(Key)) * 8;
  std::vector<Key> keys;
  for (std::size_t i = 0; i < n; ++i)
  {
    Key const key = key_of_rank<Key>(rank(seed + i, bits));
    keys.push_back(key == key ? key : Key{0}); // no NaN
  }
  return keys;
}

template <class Key>
void check(named_shape const& of, int count, unsigned buckets, bool is_upwards)
{
  SCOPED_TRACE(::testing::Message() << of.name << ", " << count << " samples, " << buckets << " buckets, "
                                    << (is_upwards ? "up" : "down"));
  in_order const comp{is_upwards};
  std::vector<Key> sample = keys_by<Key>(of.rank, static_cast<std::size_t>(count), 0);
  std::sort(sample.begin(), sample.end(), comp);
  // Keys like those, and at either end of all values.
  std::vector<Key> keys          = keys_by<Key>(of.rank, threads * 15, 1'000'000);
  std::size_t const like_samples = keys.size();
  keys.insert(
    keys.end(),
    {sample.front(), sample.back(), Key{0}, std::numeric_limits<Key>::lowest(), std::numeric_limits<Key>::max()});
  thrust::device_vector<Key> const device_sample(sample.begin(), sample.end()), device_keys(keys.begin(), keys.end());
  thrust::device_vector<outcome> result(1);
  guess_all<Key><<<1, threads>>>(
    thrust::raw_pointer_cast(device_sample.data()),
    count,
    buckets,
    is_upwards ? radix::value_order::ascending : radix::value_order::descending,
    thrust::raw_pointer_cast(device_keys.data()),
    static_cast<int>(keys.size()),
    thrust::raw_pointer_cast(result.data()),
    comp);
  testing::require(cudaGetLastError(), "launch");
  testing::require(cudaDeviceSynchronize(), "guesses");
  std::vector<outcome> host(1);
  thrust::copy(result.begin(), result.end(), host.begin());
  outcome const& found = host.front();
  bool const guesses   = found.cells.order != radix::value_order::other;
  ASSERT_EQ(guesses, of.is_even);
  if (!guesses)
  {
    return;
  }
  EXPECT_EQ(found.cells.cells, buckets - 1);
  std::vector<Key> splitters;
  int before = 0;
  for (unsigned i = 0; i + 1 < buckets; ++i)
  {
    int const at = found.places[i];
    ASSERT_GT(at, before) << "splitter " << i;
    ASSERT_LT(at, count) << "splitter " << i;
    EXPECT_LE(at - before, static_cast<int>(most_unevenness * static_cast<unsigned>(count) / buckets));
    splitters.push_back(sample[static_cast<std::size_t>(at)]);
    before = at;
  }
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < keys.size(); ++i)
  {
    auto const passed = static_cast<std::uint32_t>(
      std::lower_bound(splitters.begin(), splitters.end(), keys[i], comp) - splitters.begin());
    ASSERT_TRUE(!found.is_right[i] || found.passed[i] == passed) << "key " << i;
    wrong += i < like_samples && !found.is_right[i] ? 1 : 0;
  }
  EXPECT_LE(wrong * 200, like_samples);
}

template <class Key>
class BucketGuess : public ::testing::Test
{};
using key_types = ::testing::Types<std::uint32_t, std::int32_t, std::uint64_t, std::int64_t>;
TYPED_TEST_SUITE(BucketGuess, key_types);

TYPED_TEST(BucketGuess, IsRightOrSaysThatItIsNot)
{
  for (named_shape const& of : shapes)
  {
    for (bool const is_upwards : {true, false})
    {
      check<TypeParam>(of, 9000, 256, is_upwards);
      check<TypeParam>(of, 2048, 64, is_upwards);
      check<TypeParam>(of, 500, 17, is_upwards);
      if (of.is_even) // the others may be, in three buckets
      {
        check<TypeParam>(of, 150, 3, is_upwards);
      }
    }
  }
}

/// Ranks of floats that are even are values that are not: what is even here are bits.
template <class Key>
class BucketGuessOfFloats : public ::testing::Test
{};
using float_types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(BucketGuessOfFloats, float_types);

TYPED_TEST(BucketGuessOfFloats, IsRightOrSaysThatItIsNot)
{
  for (bool const is_upwards : {true, false})
  {
    check<TypeParam>(shapes[1], 9000, 256, is_upwards);
    check<TypeParam>(shapes[1], 1024, 64, is_upwards);
  }
}

} // namespace
} // namespace gpusort::hybrid
