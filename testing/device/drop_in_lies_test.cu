// What a drop-in keeps of Thrust: nothing is lost when a comparator lies.
#include <testing/support/device_memory.cuh>
#include <testing/support/inputs.h>
#include <testing/support/sized_elements.cuh>

#include <gpusort/radix/key_order.h>
#include <gpusort/sort.h>
#include <gtest/gtest.h>

#include <thrust/execution_policy.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

namespace gpusort::testing
{

// Comparators that are no strict weak ordering. The order is anybody's guess; the elements are not.

struct always_true
{
  template <class T>
  __host__ __device__ bool operator()(T const&, T const&) const
  {
    return true;
  }
};

struct less_or_equal
{
  template <class T>
  __host__ __device__ bool operator()(T const& a, T const& b) const
  {
    return a <= b;
  }
};

/// The same answer for the same two keys, and otherwise none that means anything.
struct arbitrary
{
  template <class T>
  __host__ __device__ bool operator()(T const& a, T const& b) const
  {
    std::uint64_t x = static_cast<std::uint64_t>(a) * 0x9e3779b97f4a7c15ull + static_cast<std::uint64_t>(b);
    x               = (x ^ (x >> 31)) * 0xbf58476d1ce4e5b9ull;
    return (x >> 40 & 1) != 0;
  }
};

/// Another answer each time.
struct fickle
{
  std::uint32_t state = 12345;

  template <class T>
  __host__ __device__ bool operator()(T const&, T const&)
  {
    state = state * 1664525u + 1013904223u;
    return (state >> 16 & 1) != 0;
  }
};

/// Sorts keys, alone and with their positions, and expects to find every one of them, positions still beside their keys.
template <class Key, class Compare>
void expect_permutation(std::vector<Key> const& in, Compare comp)
{
  std::size_t const n = in.size();
  SCOPED_TRACE(n);
  auto const bits_in_order = [](Key const* keys, std::size_t count) {
    std::vector<radix::bits_t<Key>> bits(count);
    std::memcpy(bits.data(), keys, count * sizeof(Key));
    std::sort(bits.begin(), bits.end());
    return bits;
  };
  guarded_array<Key> keys(n);
  guarded_array<std::uint32_t> values(n);
  std::vector<std::uint32_t> positions(n);
  std::iota(positions.begin(), positions.end(), 0u);

  auto const alone_by = [&](auto policy) {
    Key* const alone = keys.load(in.data(), n, 1);
    gpusort::sort(policy, alone, alone + n, comp);
    host_array<Key> const permuted = keys.read();
    EXPECT_TRUE(keys.holds(permuted)); // the guards
    EXPECT_EQ(bits_in_order(permuted.data(), n), bits_in_order(in.data(), n));
  };
  alone_by(gpusort::merge_sort(thrust::device));
  alone_by(gpusort::hybrid_sort(thrust::device));
  alone_by(gpusort::quicksort(thrust::device));

  Key* const first       = keys.load(in.data(), n, 3);
  std::uint32_t* const v = values.load(positions.data(), n, 1);
  gpusort::sort_by_key(thrust::device, first, first + n, v, comp);
  host_array<Key> const pair_keys             = keys.read();
  host_array<std::uint32_t> const pair_values = values.read();
  EXPECT_TRUE(keys.holds(pair_keys));
  EXPECT_TRUE(values.holds(pair_values));
  std::size_t separated = 0;
  for (std::size_t i = 0; i < n; ++i)
  {
    ASSERT_LT(pair_values[i], n);
    separated += std::memcmp(&pair_keys[i], &in[pair_values[i]], sizeof(Key)) != 0;
  }
  EXPECT_EQ(separated, 0u);
  std::vector<std::uint32_t> found(pair_values.begin(), pair_values.end());
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, positions);
}

std::vector<std::size_t> const lying_sizes = {2, 3, 31, 1000, 8705, 40009, 300007};

template <class Compare>
class lying_comparator : public ::testing::Test
{};
struct lying_names
{
  template <class Compare>
  static std::string GetName(int)
  {
    return std::is_same_v<Compare, always_true>   ? "always_true"
         : std::is_same_v<Compare, less_or_equal> ? "less_or_equal"
         : std::is_same_v<Compare, arbitrary>     ? "arbitrary"
                                                  : "fickle";
  }
};
using lying_comparators = ::testing::Types<always_true, less_or_equal, arbitrary, fickle>;
TYPED_TEST_SUITE(lying_comparator, lying_comparators, lying_names);

TYPED_TEST(lying_comparator, LosesNothing)
{
  for (std::size_t const n : lying_sizes)
  {
    std::vector<std::uint32_t> few(n);
    for (std::size_t i = 0; i < n; ++i)
    {
      few[i] = static_cast<std::uint32_t>((i * 2654435761u >> 5) % 100);
    }
    expect_permutation(few, TypeParam{});
    std::vector<std::uint32_t> many(n);
    generate(distribution::uniform, 3, many.data(), n);
    expect_permutation(many, TypeParam{});
  }
}

/// Lies about elements that are too large to be moved in a sort.
template <class Lie>
struct lie_about_elements
{
  Lie lie;

  template <class Element>
  __host__ __device__ bool operator()(Element const& a, Element const& b)
  {
    return lie(a.number(), b.number());
  }
};

TYPED_TEST(lying_comparator, LosesNoElementThatIsSortedByIndex)
{
  using wide               = sized<100, 4>;
  std::size_t const n      = 30011;
  std::vector<unsigned> in = numbers(n, 5000);
  guarded_array<wide> keys(n);
  wide* const first = keys.load(elements<wide>(in), 1);
  gpusort::sort(thrust::device, first, first + n, lie_about_elements<TypeParam>{});
  host_array<wide> const permuted = keys.read();
  std::vector<unsigned> found;
  for (wide const& e : permuted)
  {
    found.push_back(e.number());
  }
  EXPECT_TRUE(keys.holds(elements<wide>(found))) << "an element was torn, or a guard overwritten";
  std::sort(found.begin(), found.end());
  std::sort(in.begin(), in.end());
  EXPECT_EQ(found, in);
}

struct plain_less
{
  __host__ __device__ bool operator()(float a, float b) const
  {
    return a < b;
  }
};

TEST(LyingComparator, NansUnderLessLoseNothing)
{
  for (std::size_t const n : lying_sizes)
  {
    for (std::size_t const every : {2u, 7u, 1000u})
    {
      SCOPED_TRACE(every);
      std::vector<float> keys(n);
      generate(distribution::uniform, n, keys.data(), n);
      for (std::size_t i = 0; i < n; i += every)
      {
        keys[i] = std::numeric_limits<float>::quiet_NaN();
      }
      // Not thrust::less by type, so merge sort runs in the automatic call too.
      expect_permutation(keys, plain_less{});
    }
  }
}

} // namespace gpusort::testing
