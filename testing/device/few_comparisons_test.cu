// Comparators that take long: how often they are asked, and that what is sorted by so few questions is sorted.
#include <testing/support/device_memory.cuh>
#include <testing/support/inputs.h>
#include <testing/support/sized_elements.cuh>
#include <testing/support/sorted_alike.cuh>

#include <gpusort/sort.h>
#include <gpusort/workspace.h>
#include <gtest/gtest.h>
#include <nv/target>
#include <thrust/execution_policy.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <vector>

namespace gpusort::testing
{

/// Ascending, by the upper part of a key, so that others are equivalent to it; counts how often it is asked.
struct counting
{
  unsigned long long* asked;
  int shift;

  __host__ __device__ bool operator()(std::uint32_t a, std::uint32_t b) const
  {
    NV_IF_TARGET(NV_IS_DEVICE, (atomicAdd(asked, 1ull);));
    return a >> shift < b >> shift;
  }
};

/// One that is marked by its author.
struct marked : counting
{};

} // namespace gpusort::testing

template <>
inline constexpr bool gpusort::is_expensive_v<gpusort::testing::marked> = true;

namespace gpusort::testing
{
namespace
{

/// 1.1 n log2 n.
double promised(std::size_t n)
{
  return 1.1 * static_cast<double>(n) * std::log2(static_cast<double>(n));
}

std::vector<std::uint32_t> keys_of(distribution d, std::size_t n)
{
  std::vector<std::uint32_t> keys(n);
  generate(d, n, keys.data(), n);
  return keys;
}

/// Sorts keys, and expects the order that is stable and no more questions than are promised. Returns how many there were.
template <class Algorithm>
unsigned long long check(Algorithm algorithm, std::vector<std::uint32_t> const& in, int shift)
{
  std::size_t const n = in.size();
  SCOPED_TRACE(n);
  device_variable<unsigned long long> asked(0);
  guarded_array<std::uint32_t> keys(n);
  std::uint32_t* const first = keys.load(in.data(), n, 1);
  gpusort::sort(algorithm(thrust::device), first, first + n, expensive(counting{asked.get(), shift}));
  std::vector<std::uint32_t> sorted = in;
  std::stable_sort(sorted.begin(), sorted.end(), counting{nullptr, shift});
  EXPECT_TRUE(keys.holds(sorted.data()));
  unsigned long long const count = asked.read();
  EXPECT_GE(count, n - 1);
  EXPECT_LE(static_cast<double>(count), promised(n));
  return count;
}

constexpr distribution several[] = {
  distribution::uniform,
  distribution::few_distinct,
  distribution::sorted,
  distribution::reversed,
  distribution::nearly_sorted,
  distribution::organ_pipe,
  distribution::zero,
  distribution::runs};

/// Around what a thread, a block, and two of them sort.
constexpr std::size_t sizes[] = {
  2, 3, 5, 31, 32, 33, 63, 65, 100, 1000, 2048, 4095, 4096, 4097, 5000, 8192, 8193, 12'289};

TEST(FewComparisons, NoMoreThanPromised)
{
  std::size_t i = 0;
  for (std::size_t const n : sizes)
  {
    check(automatic, keys_of(distribution::uniform, n), 0);
    check(automatic, keys_of(several[i++ % std::size(several)], n), 24);
  }
}

TEST(FewComparisons, LargeInputs)
{
  for (std::size_t const n :
       {std::size_t{65'535}, std::size_t{65'536}, std::size_t{100'003}, std::size_t{1} << 20, std::size_t{3'000'001}})
  {
    for (distribution const d : several)
    {
      check(automatic, keys_of(d, n), d == distribution::few_distinct ? 24 : 0);
    }
  }
  // Parts of another length.
  check(automatic, keys_of(distribution::uniform, (std::size_t{1} << 24) + 12'345), 0);
}

/// What asks most: every merge takes from both of its runs by turns to their ends, and there is one more pass for a few elements.
std::vector<std::uint32_t> worst(int log2, std::size_t more)
{
  std::size_t const n = std::size_t{1} << log2;
  std::vector<std::uint32_t> keys;
  for (std::size_t i = 0; i < n; ++i)
  {
    std::uint32_t reversed = 0;
    for (int bit = 0; bit < log2; ++bit)
    {
      reversed |= (i >> bit & 1u) << (31 - bit);
    }
    keys.push_back(reversed);
  }
  for (std::size_t i = 0; i < more; ++i)
  {
    keys.push_back(keys[i] | 1u);
  }
  return keys;
}

TEST(FewComparisons, WhatAsksMost)
{
  for (std::size_t const more : {std::size_t{0}, std::size_t{1}, std::size_t{64}, std::size_t{200}})
  {
    check(automatic, worst(12, more), 0);
    check(automatic, worst(13, more), 0);
  }
}

TEST(FewComparisons, LargeInputsThatAskMost)
{
  for (int log2 = 15; log2 <= 24; ++log2)
  {
    for (int part = 4; part <= 8; part += 2)
    {
      check(automatic, worst(log2, std::size_t{1} << (log2 - part)), 0);
    }
  }
}

TEST(FewComparisons, OrdersThatAreHostFunctions)
{
  std::size_t const n = 5000;
  auto const in       = keys_of(distribution::uniform, n);
  guarded_array<std::uint32_t> keys(n);
  std::uint32_t* const first = keys.load(in.data(), n);
  gpusort::sort(thrust::device, first, first + n, expensive(std::greater<std::uint32_t>{}));
  std::vector<std::uint32_t> sorted = in;
  std::sort(sorted.begin(), sorted.end(), std::greater<std::uint32_t>{});
  EXPECT_TRUE(keys.holds(sorted.data()));
}

TEST(FewComparisons, LargeInputsInOrderAreAskedAboutOnce)
{
  std::size_t const n = std::size_t{1} << 20;
  for (distribution const d : {distribution::sorted, distribution::reversed})
  {
    EXPECT_LE(check(automatic, keys_of(d, n), 0), n + 4096) << static_cast<int>(d);
  }
}

TEST(FewComparisons, ByTag)
{
  std::size_t const n            = 4999;
  unsigned long long const usual = check(automatic, keys_of(distribution::uniform, n), 8);
  EXPECT_EQ(check(merge_sort, keys_of(distribution::uniform, n), 8), usual);
  EXPECT_EQ(check(hybrid_sort, keys_of(distribution::uniform, n), 8), usual);
}

TEST(FewComparisons, MarkedByItsAuthor)
{
  std::size_t const n = 4999;
  auto const in       = keys_of(distribution::uniform, n);
  device_variable<unsigned long long> asked(0);
  guarded_array<std::uint32_t> keys(n);
  std::uint32_t* const first = keys.load(in.data(), n);
  gpusort::sort(thrust::device, first, first + n, marked{{asked.get(), 0}});
  EXPECT_LE(static_cast<double>(asked.read()), promised(n));
}

/// By the number in an element of any size.
template <class Element>
struct by_number
{
  unsigned long long* asked;

  __host__ __device__ bool operator()(Element const& a, Element const& b) const
  {
    NV_IF_TARGET(NV_IS_DEVICE, (atomicAdd(asked, 1ull);));
    return a.number() < b.number();
  }
};

TEST(FewComparisons, ElementsThatMoveByIndexAnyhow)
{
  using wide           = sized<100, 4>;
  std::size_t const n  = 5003;
  auto const in        = numbers(n, 2000);
  auto const in_memory = elements<wide>(in);
  device_variable<unsigned long long> asked(0);
  guarded_array<wide> keys(n);
  wide* const first = keys.load(in_memory, 1);
  gpusort::sort(thrust::device, first, first + n, expensive(by_number<wide>{asked.get()}));
  std::vector<unsigned> sorted = in;
  std::stable_sort(sorted.begin(), sorted.end());
  EXPECT_TRUE(keys.holds(elements<wide>(sorted)));
  EXPECT_LE(static_cast<double>(asked.read()), promised(n));
}

TEST(FewComparisons, ValuesFollowTheirKeys)
{
  std::size_t const n = 9001;
  auto const in       = keys_of(distribution::uniform, n);
  std::vector<std::uint32_t> positions(n);
  std::iota(positions.begin(), positions.end(), 0u);
  device_variable<unsigned long long> asked(0);
  guarded_array<std::uint32_t> keys(n), values(n);
  std::uint32_t* const first = keys.load(in.data(), n, 1);
  std::uint32_t* const v     = values.load(positions.data(), n, 3);
  counting const order{asked.get(), 22};

  // In the caller's memory, and no more of it than it says.
  std::size_t const bytes = workspace_bytes_by_key(thrust::cuda::par_nosync, first, first + n, v, expensive(order));
  auto const room         = allocate_on_device<char>(bytes);
  workspace ws{room.get(), bytes};
  gpusort::stable_sort_by_key(thrust::cuda::par_nosync(ws), first, first + n, v, expensive(order));
  require(cudaDeviceSynchronize(), "a sort");

  std::stable_sort(positions.begin(), positions.end(), [&](std::uint32_t a, std::uint32_t b) {
    return in[a] >> 22 < in[b] >> 22;
  });
  std::vector<std::uint32_t> sorted(n);
  std::transform(positions.begin(), positions.end(), sorted.begin(), [&](std::uint32_t p) { return in[p]; });
  EXPECT_TRUE(keys.holds(sorted.data()));
  EXPECT_TRUE(values.holds(positions.data()));
  EXPECT_LE(static_cast<double>(asked.read()), promised(n));
}

/// Indices of 64 bits, which no test has the memory to need.
TEST(FewComparisons, WideIndices)
{
  using index         = std::uint64_t;
  using compare       = dispatch::compare_at<std::uint32_t, expensive_compare<counting>, index>;
  using backend       = device_backend<merge_sort_t>;
  std::size_t const n = in_a_hurry() ? 4099 : 300'007;
  auto const in       = keys_of(distribution::uniform, n);
  std::vector<index> indices(n);
  std::iota(indices.begin(), indices.end(), index{0});
  device_variable<unsigned long long> asked(0);
  guarded_array<std::uint32_t> keys(n);
  guarded_array<index> sorted(n);
  compare const comp{keys.load(in.data(), n), expensive(counting{asked.get(), 20})};
  index* const first = sorted.load(indices.data(), n);
  auto const scratch = allocate_on_device<char>(backend::scratch_bytes<index, no_value, compare>(n));
  backend::sort<index, no_value, compare>(nullptr, scratch.get(), first, nullptr, n, comp);
  require(cudaDeviceSynchronize(), "a sort");
  std::stable_sort(indices.begin(), indices.end(), [&](index a, index b) { return in[a] >> 20 < in[b] >> 20; });
  EXPECT_TRUE(sorted.holds(indices.data()));
  EXPECT_LE(static_cast<double>(asked.read()), promised(n));
}

/// Not an order. By what, is a value, so that one set of kernels does for all.
enum class lie
{
  always,
  or_equal,
  arbitrary, // the same answer for the same two keys
  fickle // another one each time
};
struct lying
{
  lie by;
  std::uint32_t state = 1;

  __host__ __device__ bool operator()(std::uint32_t a, std::uint32_t b)
  {
    state = state * 1664525u + 1013904223u;
    switch (by)
    {
      case lie::always:
        return true;
      case lie::or_equal:
        return a <= b;
      case lie::arbitrary:
        return ((a * 2654435761u ^ b) * 2246822519u >> 16 & 1) != 0;
      default:
        return (state ^ a ^ b) >> 13 & 1;
    }
  }
};

TEST(FewComparisons, ComparatorsThatLieLoseNothing)
{
  for (lie const by : {lie::always, lie::or_equal, lie::arbitrary, lie::fickle})
  {
    for (std::size_t const n :
         {std::size_t{2}, std::size_t{33}, std::size_t{4096}, in_a_hurry() ? std::size_t{8195} : std::size_t{300'007}})
    {
      SCOPED_TRACE(n);
      auto in = keys_of(distribution::few_distinct, n);
      for (std::size_t i = 0; i < n; i += 3)
      {
        in[i] = static_cast<std::uint32_t>(i);
      }
      guarded_array<std::uint32_t> keys(n);
      std::uint32_t* const first = keys.load(in.data(), n, 1);
      gpusort::sort(thrust::device, first, first + n, expensive(lying{by}));
      host_array<std::uint32_t> const out = keys.read();
      EXPECT_TRUE(keys.holds(out));
      std::vector<std::uint32_t> found(out.begin(), out.end());
      std::sort(found.begin(), found.end());
      std::sort(in.begin(), in.end());
      EXPECT_EQ(found, in) << static_cast<int>(by);
    }
  }
}

} // namespace
} // namespace gpusort::testing
