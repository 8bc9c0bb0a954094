// What a drop-in keeps of Thrust: elements of any size and alignment, and nothing lost when a comparator lies.
#include <testing/support/device_memory.cuh>
#include <testing/support/inputs.h>
#include <testing/support/types.cuh>

#include <gpusort/sort.h>
#include <gtest/gtest.h>

#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

namespace gpusort::testing
{

/// An element of `Bytes` bytes aligned to `Alignment`, ordered by its first three bytes.
template <std::size_t Bytes, std::size_t Alignment>
struct alignas(Alignment) sized
{
  static_assert(Bytes >= 3 && Bytes % Alignment == 0);
  unsigned char bytes[Bytes];

  __host__ __device__ unsigned number() const
  {
    return bytes[0] | unsigned{bytes[1]} << 8 | unsigned{bytes[2]} << 16;
  }
};

/// The element that stands for a number: every byte depends on it, so that a torn copy is seen.
template <class Element>
Element element_of(unsigned number)
{
  Element e;
  for (std::size_t i = 0; i < sizeof(e.bytes); ++i)
  {
    e.bytes[i] =
      i < 3 ? static_cast<unsigned char>(number >> (8 * i)) : static_cast<unsigned char>(number * 167 + i * 13);
  }
  return e;
}

struct by_number
{
  template <class Element>
  __host__ __device__ bool operator()(Element const& a, Element const& b) const
  {
    return a.number() < b.number();
  }
};

/// Many equal numbers when few are asked for.
inline std::vector<unsigned> numbers(std::size_t n, unsigned distinct)
{
  std::vector<unsigned> result(n);
  for (std::size_t i = 0; i < n; ++i)
  {
    result[i] = static_cast<unsigned>((i * 2654435761u >> 8) % distinct);
  }
  return result;
}

template <class Element>
host_array<Element> elements(std::vector<unsigned> const& numbers)
{
  host_array<Element> result(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i)
  {
    result[i] = element_of<Element>(numbers[i]);
  }
  return result;
}

template <class Element>
class drop_in_element : public ::testing::Test
{};

struct element_names
{
  template <class Element>
  static std::string GetName(int)
  {
    return std::to_string(sizeof(Element)) + "_bytes_aligned_to_" + std::to_string(alignof(Element));
  }
};

using element_types =
  ::testing::Types<sized<3, 1>, sized<24, 8>, sized<32, 16>, sized<100, 4>, sized<128, 64>, sized<2048, 16>>;
TYPED_TEST_SUITE(drop_in_element, element_types, element_names);

// Keys are sorted by merge: any order will do. Values go with u32 keys, by both back ends.
TYPED_TEST(drop_in_element, AsKeys)
{
  for (std::size_t const n : {2, 33, 1000, 8191, 20011})
  {
    SCOPED_TRACE(n);
    for (unsigned const distinct : {50u, 1u << 20})
    {
      SCOPED_TRACE(distinct);
      std::vector<unsigned> in = numbers(n, distinct);
      guarded_array<TypeParam> keys(n);
      guarded_array<std::uint32_t> values(n);
      std::vector<std::uint32_t> positions(n);
      std::iota(positions.begin(), positions.end(), 0u);
      TypeParam* const first = keys.load(elements<TypeParam>(in), 1);
      std::uint32_t* const v = values.load(positions.data(), n, 3);
      gpusort::stable_sort_by_key(thrust::device, first, first + n, v, by_number{});

      std::stable_sort(positions.begin(), positions.end(), [&](std::uint32_t a, std::uint32_t b) {
        return in[a] < in[b];
      });
      std::sort(in.begin(), in.end());
      EXPECT_TRUE(keys.holds(elements<TypeParam>(in)));
      EXPECT_TRUE(values.holds(positions.data()));

      keys.load(elements<TypeParam>(numbers(n, distinct)), 2);
      gpusort::sort(gpusort::merge_sort(thrust::device), keys.begin(), keys.end(), by_number{});
      EXPECT_TRUE(keys.holds(elements<TypeParam>(in)));
    }
  }
}

TYPED_TEST(drop_in_element, AsValues)
{
  for (std::size_t const n : {2, 33, 1000, 8191, 20011})
  {
    SCOPED_TRACE(n);
    std::vector<unsigned> in = numbers(n, 300);
    std::vector<unsigned> attached(n), expected(n);
    std::iota(attached.begin(), attached.end(), 0u);
    expected = attached;
    std::stable_sort(expected.begin(), expected.end(), [&](unsigned a, unsigned b) { return in[a] < in[b]; });
    std::vector<unsigned> sorted = in;
    std::sort(sorted.begin(), sorted.end());

    guarded_array<std::uint32_t> keys(n);
    guarded_array<TypeParam> values(n);
    for (bool const by_radix : {true, false})
    {
      SCOPED_TRACE(by_radix ? "radix_sort" : "merge_sort");
      std::uint32_t* const first = keys.load(in.data(), n, 1);
      TypeParam* const v         = values.load(elements<TypeParam>(attached), 3);
      if (by_radix)
      {
        gpusort::stable_sort_by_key(gpusort::radix_sort(thrust::device), first, first + n, v);
      }
      else
      {
        gpusort::stable_sort_by_key(gpusort::merge_sort(thrust::device), first, first + n, v);
      }
      EXPECT_TRUE(keys.holds(sorted.data()));
      EXPECT_TRUE(values.holds(elements<TypeParam>(expected)));
    }
  }
}

/// Knows where it lives: an element that was moved by copying its bytes points elsewhere.
struct self_aware
{
  std::uint32_t number = 0;
  self_aware const* self;

  __host__ __device__ self_aware()
      : self(this)
  {}
  __host__ __device__ explicit self_aware(std::uint32_t x)
      : number(x)
      , self(this)
  {}
  __host__ __device__ self_aware(self_aware const& other)
      : number(other.number)
      , self(this)
  {}
  __host__ __device__ self_aware& operator=(self_aware const& other)
  {
    number = other.number;
    return *this;
  }
};

struct by_own_number
{
  __host__ __device__ bool operator()(self_aware const& a, self_aware const& b) const
  {
    return a.number < b.number;
  }
};

__global__ void construct(self_aware* memory, std::size_t n)
{
  for (std::size_t i = threadIdx.x; i < n; i += blockDim.x)
  {
    new (memory + i) self_aware(static_cast<std::uint32_t>(i * 2654435761u >> 20));
  }
}

__global__ void look_at(self_aware const* elements, std::size_t n, std::uint32_t* numbers, unsigned* moved_by_bytes)
{
  for (std::size_t i = threadIdx.x; i < n; i += blockDim.x)
  {
    numbers[i] = elements[i].number;
    if (elements[i].self != elements + i)
    {
      atomicAdd(moved_by_bytes, 1u);
    }
  }
}

TEST(DropInElement, ThatKnowsWhereItLivesIsMovedByItsOwnCode)
{
  std::size_t const n = 5003;
  std::vector<std::uint32_t> expected(n);
  for (std::size_t i = 0; i < n; ++i)
  {
    expected[i] = static_cast<std::uint32_t>(i * 2654435761u >> 20);
  }
  std::vector<std::uint32_t> const keys_before = expected;
  std::sort(expected.begin(), expected.end());

  device_memory<self_aware> const room = allocate_on_device<self_aware>(n);
  self_aware* const memory             = room.get();
  thrust::device_vector<std::uint32_t> numbers(n);
  for (bool const as_keys : {true, false})
  {
    SCOPED_TRACE(as_keys ? "keys" : "values");
    thrust::device_vector<unsigned> moved_by_bytes(1, 0u);
    construct<<<1, 256>>>(memory, n);
    thrust::device_vector<std::uint32_t> keys = keys_before;
    if (as_keys)
    {
      gpusort::sort(thrust::device, memory, memory + n, by_own_number{});
    }
    else
    {
      gpusort::sort_by_key(thrust::device, keys.begin(), keys.end(), memory);
    }
    look_at<<<1, 256>>>(
      memory, n, thrust::raw_pointer_cast(numbers.data()), thrust::raw_pointer_cast(moved_by_bytes.data()));
    require(cudaDeviceSynchronize(), "look");
    std::vector<std::uint32_t> result(n);
    thrust::copy(numbers.begin(), numbers.end(), result.begin());
    EXPECT_EQ(result, expected);
    EXPECT_EQ(moved_by_bytes[0], 0u);
  }
}

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
