// Ranges of more than 2^32 elements, and of as many as long buckets of the radix sort take. Made and checked on the GPU; what does not fit its memory is skipped.
#include <testing/support/owned_memory.cuh>

#include <gpusort/radix/tuning.h>
#include <gpusort/sort.h>
#include <gpusort/workspace.h>
#include <gtest/gtest.h>

#include <thrust/execution_policy.h>
#include <thrust/functional.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace gpusort::testing
{
namespace
{

constexpr std::uint64_t over_32_bits = (std::uint64_t{1} << 32) + 1000;

__host__ __device__ std::uint64_t hash(std::uint64_t x)
{
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

template <class Key>
__host__ __device__ Key key_at(std::uint64_t i)
{
  return static_cast<Key>(hash(i + 1) >> 20);
}

__device__ std::uint64_t first_index()
{
  return blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x;
}
__device__ std::uint64_t stride()
{
  return gridDim.x * std::uint64_t{blockDim.x};
}

struct even_keys
{
  template <class Key>
  __device__ Key at(std::uint64_t i) const
  {
    return key_at<Key>(i);
  }
};

/// The same of a range.
struct even_below
{
  std::uint64_t limit;
  std::uint64_t least = 0;

  template <class Key>
  __device__ Key at(std::uint64_t i) const
  {
    return static_cast<Key>(least + hash(i + 1) % limit);
  }
};

/// 2^31 even ones that are nearly in order: neighbours crowd in buckets.
struct nearly_in_order
{
  template <class Key>
  __device__ Key at(std::uint64_t i) const
  {
    return static_cast<Key>(i * 2 ^ (hash(i + 1) & 0xffff));
  }
};

/// 16 values, which differ in all digits.
struct few_values
{
  template <class Key>
  __device__ Key at(std::uint64_t i) const
  {
    return static_cast<Key>(hash(hash(i + 1) % 16 + 1));
  }
};

/// Keys of which the highest 24 bits vary.
struct multiples
{
  template <class Key>
  __device__ Key at(std::uint64_t i) const
  {
    return static_cast<Key>(static_cast<Key>(hash(i + 1) >> 40) << (8 * sizeof(Key) - 24));
  }
};

/// A bit is set in a quarter of the keys.
struct uneven_keys
{
  template <class Key>
  __device__ Key at(std::uint64_t i) const
  {
    return static_cast<Key>(hash(i + 1) & hash(~i));
  }
};

/// Most of which are near 0.
struct products
{
  template <class Key>
  __device__ Key at(std::uint64_t i) const
  {
    return static_cast<Key>((hash(i + 1) >> 32) * (hash(~i) >> 32));
  }
};

/// The means of four even ones.
struct means
{
  template <class Key>
  __device__ Key at(std::uint64_t i) const
  {
    return static_cast<Key>(hash(i + 1) / 4 + hash(~i) / 4 + hash(hash(i)) / 4 + hash(hash(~i)) / 4);
  }
};

/// In order or reversed, some neighbours alike; the one at `odd` goes to the other end.
struct rising_keys
{
  std::uint64_t n;
  bool falls;
  std::uint64_t odd; // or n

  template <class Key>
  __device__ Key at(std::uint64_t i) const
  {
    std::uint64_t const rank = i == odd ? n - 1 - i : i;
    return static_cast<Key>((falls ? n - 1 - rank : rank) / ((n >> 8) + 1));
  }
};

template <class Make, class Key>
__global__ void make_keys(Make make, Key* keys, std::uint64_t n)
{
  for (std::uint64_t i = first_index(); i < n; i += stride())
  {
    keys[i] = make.template at<Key>(i);
  }
}

template <class Value>
__global__ void make_positions(Value* values, std::uint64_t n)
{
  for (std::uint64_t i = first_index(); i < n; i += stride())
  {
    values[i] = static_cast<Value>(i);
  }
}

/// What is left of a range when its order is forgotten: equal for permutations, and for hardly anything else.
struct tally
{
  unsigned long long sum;
  unsigned long long sum_of_hashes;
};

template <class Key>
__global__ void take_tally(Key const* keys, std::uint64_t n, tally* result)
{
  unsigned long long sum = 0, sum_of_hashes = 0;
  for (std::uint64_t i = first_index(); i < n; i += stride())
  {
    sum += keys[i];
    sum_of_hashes += hash(keys[i] + 77);
  }
  atomicAdd(&result->sum, sum);
  atomicAdd(&result->sum_of_hashes, sum_of_hashes);
}

/// Counts neighbours that stand the wrong way round.
template <class Key, class Compare>
__global__ void count_inversions(Key const* keys, std::uint64_t n, Compare comp, unsigned long long* inversions)
{
  unsigned long long found = 0;
  for (std::uint64_t i = first_index() + 1; i < n; i += stride())
  {
    found += comp(keys[i], keys[i - 1]);
  }
  if (found > 0)
  {
    atomicAdd(inversions, found);
  }
}

/// Counts positions that are wrong in a stable sort of keys with their positions as values. No wrong one means: every
/// key is beside the position it came from, and no two elements came from one, because (key, position) only rises.
template <class Make, class Key, class Position, class Compare>
__global__ void count_wrong_pairs(
  Make make, Key const* keys, Position const* positions, std::uint64_t n, Compare comp, unsigned long long* wrong)
{
  unsigned long long found = 0;
  for (std::uint64_t i = first_index(); i < n; i += stride())
  {
    found += positions[i] >= n || keys[i] != make.template at<Key>(positions[i]);
    found += i > 0 && (comp(keys[i], keys[i - 1]) || (!comp(keys[i - 1], keys[i]) && positions[i] <= positions[i - 1]));
  }
  if (found > 0)
  {
    atomicAdd(wrong, found);
  }
}

/// Not less by type, so that automatic takes merge sort.
struct by_low_bits_downwards
{
  template <class Key>
  __host__ __device__ bool operator()(Key const& a, Key const& b) const
  {
    return (a & 63) > (b & 63);
  }
};

constexpr int blocks = 4096, threads = 256;

bool fits(std::uint64_t bytes)
{
  std::size_t free_bytes = 0, total_bytes = 0;
  require(cudaMemGetInfo(&free_bytes, &total_bytes), "free memory");
  return bytes + (std::uint64_t{1} << 30) <= free_bytes;
}

std::string needs(std::uint64_t bytes)
{
  return "needs " + std::to_string(bytes >> 30) + " GiB of free device memory";
}

template <class Key, class Policy, class Compare, class Make = even_keys>
void sort_keys(Policy policy, std::uint64_t n, Compare comp, Make make = {})
{
  std::uint64_t const bytes =
    n * sizeof(Key) + gpusort::workspace_bytes(policy, (Key*) nullptr, (Key*) nullptr + n, comp);
  if (!fits(bytes))
  {
    GTEST_SKIP() << needs(bytes);
  }
  device_memory<Key> const keys = allocate_on_device<Key>(n);
  device_variable<tally> const tally_before(tally{0, 0}), tally_after(tally{0, 0});
  device_variable<unsigned long long> const wrong(0);

  make_keys<<<blocks, threads>>>(make, keys.get(), n);
  take_tally<<<blocks, threads>>>(keys.get(), n, tally_before.get());
  gpusort::sort(policy, keys.get(), keys.get() + n, comp);
  take_tally<<<blocks, threads>>>(keys.get(), n, tally_after.get());
  count_inversions<<<blocks, threads>>>(keys.get(), n, comp, wrong.get());
  require(cudaDeviceSynchronize(), "check");

  tally const before = tally_before.read(), after = tally_after.read();
  EXPECT_EQ(wrong.read(), 0u) << "neighbours stand the wrong way round";
  EXPECT_EQ(before.sum, after.sum);
  EXPECT_EQ(before.sum_of_hashes, after.sum_of_hashes);
}

template <class Key, class Position = std::uint64_t, class Policy, class Compare, class Make = even_keys>
void sort_pairs(Policy policy, std::uint64_t n, Compare comp, Make make = {})
{
  std::uint64_t const bytes =
    n * (sizeof(Key) + sizeof(Position))
    + gpusort::workspace_bytes_by_key(policy, (Key*) nullptr, (Key*) nullptr + n, (Position*) nullptr, comp);
  if (!fits(bytes))
  {
    GTEST_SKIP() << needs(bytes);
  }
  device_memory<Key> const keys           = allocate_on_device<Key>(n);
  device_memory<Position> const positions = allocate_on_device<Position>(n);
  device_variable<unsigned long long> const wrong(0);

  make_keys<<<blocks, threads>>>(make, keys.get(), n);
  make_positions<<<blocks, threads>>>(positions.get(), n);
  gpusort::stable_sort_by_key(policy, keys.get(), keys.get() + n, positions.get(), comp);
  count_wrong_pairs<<<blocks, threads>>>(make, keys.get(), positions.get(), n, comp, wrong.get());
  require(cudaDeviceSynchronize(), "check");

  EXPECT_EQ(wrong.read(), 0u);
}

TEST(Large, RadixKeysOfOneByte)
{
  sort_keys<std::uint8_t>(gpusort::radix_sort(thrust::device), over_32_bits, thrust::less<std::uint8_t>{});
}

TEST(Large, RadixKeysOfFourBytesDownwards)
{
  sort_keys<std::uint32_t>(gpusort::radix_sort(thrust::device), over_32_bits, thrust::greater<std::uint32_t>{});
}

/// Beyond what short buckets hold, and the most that long ones do.
template <class Key>
void sort_long_buckets(std::uint64_t n)
{
  sort_keys<Key>(gpusort::radix_sort(thrust::device), n, thrust::less<Key>{});
  sort_keys<Key>(gpusort::radix_sort(thrust::device), n, thrust::greater<Key>{});
}

TEST(Large, RadixLongBuckets)
{
  sort_long_buckets<std::uint32_t>(radix::most_in_buckets + 1);
  sort_long_buckets<std::uint64_t>(radix::most_in_buckets + 1);
}

TEST(Large, RadixLongestBuckets)
{
  sort_long_buckets<std::uint32_t>(radix::most_in_long_buckets(4, 0));
  sort_long_buckets<std::uint64_t>(radix::most_in_long_buckets(4, 0));
}

TEST(Large, RadixBeyondLongBuckets)
{
  sort_long_buckets<std::uint32_t>(radix::most_in_long_buckets(4, 0) + 1);
  sort_long_buckets<std::uint64_t>(radix::most_in_long_buckets(4, 0) + 1);
}

/// Of which the last is not full, and as many as there may be.
TEST(Large, RadixPairsInLongBuckets)
{
  auto const sort = [](std::uint64_t n, auto comp, auto make) {
    sort_pairs<std::uint32_t, std::uint32_t>(gpusort::radix_sort(thrust::device), n, comp, make);
  };
  sort(radix::most_in_buckets + 1, thrust::less<std::uint32_t>{}, even_keys{});
  sort(radix::most_in_long_buckets(4, 0), thrust::less<std::uint32_t>{}, even_keys{});
  sort(radix::most_in_long_buckets(4, 0), thrust::greater<std::uint32_t>{}, even_keys{});
  sort(radix::most_in_long_buckets(4, 0), thrust::less<std::uint32_t>{}, even_below{3'000'000'000});
  sort(radix::most_in_long_buckets(4, 0), thrust::less<std::uint32_t>{}, even_below{5'000'000});
  sort(radix::most_in_long_buckets(4, 0), thrust::less<std::uint32_t>{}, uneven_keys{});
}

/// The same of wider ones; and, by a curve, of fewer.
TEST(Large, RadixPairsOfWideKeysInLongBuckets)
{
  auto const sort = [](std::uint64_t n, auto position, auto comp, auto make) {
    sort_pairs<std::uint64_t, decltype(position)>(gpusort::radix_sort(thrust::device), n, comp, make);
  };
  thrust::less<std::uint64_t> const less;
  sort(radix::most_in_buckets + 1, std::uint32_t{}, less, even_keys{});
  sort(radix::most_in_long_buckets(8, 4), std::uint32_t{}, thrust::greater<std::uint64_t>{}, even_keys{});
  sort(radix::most_in_long_buckets(8, 8), std::uint64_t{}, less, even_keys{});
  sort(radix::most_in_long_buckets(8, 4) + 1, std::uint32_t{}, less, even_keys{});
  sort(radix::most_in_buckets, std::uint32_t{}, less, products{});
  sort(radix::most_in_buckets, std::uint64_t{}, less, products{});
  sort(radix::most_in_buckets + 1, std::uint32_t{}, less, products{});
  sort(radix::most_in_buckets + 1, std::uint64_t{}, less, products{});
  sort(radix::most_in_buckets, std::uint32_t{}, less, means{});
  // What no curve makes even: by digits, and between splitters.
  sort(radix::most_in_buckets + 1, std::uint32_t{}, less, uneven_keys{});
  sort(radix::most_in_buckets + 1, std::uint64_t{}, less, uneven_keys{});
}

/// In parts, of full width, of ranges that are no power of two, and of few values a bucket.
TEST(Large, RadixCountedBuckets)
{
  auto const sort = [](std::uint64_t n, auto make) {
    sort_keys<std::uint32_t>(gpusort::radix_sort(thrust::device), n, thrust::less<std::uint32_t>{}, make);
  };
  std::uint64_t const some = (std::uint64_t{1} << 31) + 12'345;
  sort(some, even_keys{});
  sort(some, even_below{3'000'000'000});
  sort(some, even_below{1'000'000});
  sort(some, even_below{130'000});
  sort(some, even_below{60'000});
  sort(some, even_below{1 << 22, (std::uint64_t{1} << 31) - (1 << 21)}); // all bits vary
  sort(some, even_below{1 << 17, (std::uint64_t{1} << 31) - (1 << 16)});
  sort(std::uint64_t{1} << 31, nearly_in_order{});
  sort(std::uint64_t{1} << 33, even_keys{});
  sort(std::uint64_t{1} << 33, even_below{300'000});
}

template <class Key, class Make>
void sort_made(std::uint64_t n, Make make)
{
  sort_keys<Key>(gpusort::radix_sort(thrust::device), n, thrust::less<Key>{}, make);
}

/// In one part, and in several.
TEST(Large, RadixFewValues)
{
  sort_made<std::uint32_t>(std::uint64_t{1} << 30, few_values{});
  sort_made<std::uint64_t>(std::uint64_t{1} << 30, few_values{});
  sort_made<std::uint32_t>(over_32_bits, few_values{});
}

TEST(Large, RadixFewDigits)
{
  sort_made<std::uint32_t>(std::uint64_t{1} << 30, multiples{});
  sort_made<std::uint64_t>(std::uint64_t{1} << 30, multiples{});
}

TEST(Large, RadixUnevenKeys)
{
  sort_made<std::uint32_t>(std::uint64_t{1} << 30, uneven_keys{});
  sort_made<std::uint32_t>((std::uint64_t{1} << 30) + 1, uneven_keys{});
}

/// What a glance sees, and what it does not: one key that is out of order.
TEST(Large, RadixInOrderButForOne)
{
  std::uint64_t const n = radix::least_to_glance + 12'345;
  for (bool const falls : {false, true})
  {
    for (std::uint64_t const odd : {n, std::uint64_t{0}, n / 3, n - 1})
    {
      sort_made<std::uint32_t>(n, rising_keys{n, falls, odd});
      sort_made<std::uint64_t>(n, rising_keys{n, falls, odd});
      sort_pairs<std::uint8_t>(
        gpusort::radix_sort(thrust::device), n, thrust::less<std::uint8_t>{}, rising_keys{n, falls, odd});
    }
  }
}

/// All alike but the first: a digit has one key less than there are, the most that a pass can count.
TEST(Large, RadixDigitOfAllButOne)
{
  std::uint64_t const n     = std::uint64_t{1} << 30;
  std::uint64_t const bytes = n * 2 * sizeof(std::uint32_t);
  if (!fits(bytes))
  {
    GTEST_SKIP() << needs(bytes);
  }
  device_memory<std::uint32_t> const keys = allocate_on_device<std::uint32_t>(n);
  device_variable<unsigned long long> const wrong(0);
  require(cudaMemset(keys.get(), 5, n * sizeof(std::uint32_t)), "keys");
  require(cudaMemset(keys.get(), 6, 1), "first key");
  gpusort::sort(gpusort::radix_sort(thrust::device), keys.get(), keys.get() + n);
  count_inversions<<<blocks, threads>>>(keys.get(), n, thrust::less<std::uint32_t>{}, wrong.get());
  std::uint32_t ends[2] = {};
  require(cudaMemcpy(ends, keys.get() + n - 2, sizeof ends, cudaMemcpyDeviceToHost), "check");
  EXPECT_EQ(wrong.read(), 0u);
  std::uint32_t first = 0;
  require(cudaMemcpy(&first, keys.get(), sizeof first, cudaMemcpyDeviceToHost), "check");
  EXPECT_EQ(first, 0x05050505u);
  EXPECT_EQ(ends[0], 0x05050505u);
  EXPECT_EQ(ends[1], 0x05050506u);
}

TEST(Large, RadixPairs)
{
  sort_pairs<std::uint8_t>(gpusort::radix_sort(thrust::device), over_32_bits, thrust::less<std::uint8_t>{});
}

TEST(Large, MergeKeysOfOneByte)
{
  sort_keys<std::uint8_t>(gpusort::merge_sort(thrust::device), over_32_bits, by_low_bits_downwards{});
}

TEST(Large, MergeKeysOfFourBytes)
{
  sort_keys<std::uint32_t>(gpusort::merge_sort(thrust::device), over_32_bits, thrust::less<std::uint32_t>{});
}

TEST(Large, MergePairs)
{
  sort_pairs<std::uint16_t>(gpusort::merge_sort(thrust::device), over_32_bits, by_low_bits_downwards{});
}

TEST(Large, HybridKeysOfOneByte)
{
  sort_keys<std::uint8_t>(gpusort::hybrid_sort(thrust::device), over_32_bits, by_low_bits_downwards{});
}

TEST(Large, HybridKeysOfFourBytes)
{
  sort_keys<std::uint32_t>(gpusort::hybrid_sort(thrust::device), over_32_bits, thrust::less<std::uint32_t>{});
}

TEST(Large, HybridPairs)
{
  sort_pairs<std::uint16_t>(gpusort::hybrid_sort(thrust::device), over_32_bits, by_low_bits_downwards{});
}

TEST(Large, QuicksortKeysOfOneByte)
{
  sort_keys<std::uint8_t>(gpusort::quicksort(thrust::device), over_32_bits, by_low_bits_downwards{});
}

TEST(Large, QuicksortKeysOfFourBytes)
{
  sort_keys<std::uint32_t>(gpusort::quicksort(thrust::device), over_32_bits, thrust::less<std::uint32_t>{});
}

/// Copied by user code, so sorted by index; past 2^32 the indices have 64 bits.
struct indexed_key
{
  std::uint8_t key = 0;

  indexed_key() = default;
  __host__ __device__ explicit indexed_key(std::uint64_t x)
      : key(static_cast<std::uint8_t>(x))
  {}
  __host__ __device__ indexed_key(indexed_key const& other)
      : key(other.key)
  {}
  __host__ __device__ indexed_key& operator=(indexed_key const& other)
  {
    key = other.key;
    return *this;
  }
  __host__ __device__ operator std::uint8_t() const
  {
    return key;
  }
};

TEST(Large, KeysThatAreSortedByIndex)
{
  sort_keys<indexed_key>(thrust::device, over_32_bits, by_low_bits_downwards{});
}

TEST(Large, AutomaticTakesEitherWay)
{
  sort_keys<std::uint16_t>(thrust::device, over_32_bits, thrust::less<std::uint16_t>{});
  sort_keys<std::uint16_t>(thrust::device, over_32_bits, by_low_bits_downwards{});
}

} // namespace
} // namespace gpusort::testing
