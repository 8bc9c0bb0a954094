// What a drop-in keeps of Thrust: elements of any size and alignment.
#include <testing/support/device_memory.cuh>
#include <testing/support/sized_elements.cuh>
#include <testing/support/taken_names.h>
#include <testing/support/types.cuh>

#include <gpusort/sort.h>
#include <gtest/gtest.h>

#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/iterator/reverse_iterator.h>
#include <thrust/reverse.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <numeric>
#include <string>
#include <vector>

namespace gpusort::testing
{

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

using element_types = ::testing::
  Types<sized<3, 1>, sized<24, 8>, sized<32, 16>, sized<96, 8>, sized<100, 4>, sized<128, 64>, sized<2048, 16>>;
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

      // Of one size that is moved directly and one that is not: quicksort takes long to compile.
      if constexpr (sizeof(TypeParam) == 24 || sizeof(TypeParam) == 2048)
      {
        keys.load(elements<TypeParam>(numbers(n, distinct)), 1);
        gpusort::sort(gpusort::quicksort(thrust::device), keys.begin(), keys.end(), by_number{});
        EXPECT_TRUE(keys.holds(elements<TypeParam>(in)));
      }
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

TEST(DropInElement, WhoseNamespaceHasFunctionsOfOurNames)
{
  using users_own::particle;
  std::vector<particle> particles(20'000);
  for (std::size_t i = 0; i < particles.size(); ++i)
  {
    particles[i] = {static_cast<int>(i * 37 % 10'007), static_cast<int>(i)};
  }
  thrust::device_vector<particle> const input(particles.begin(), particles.end());
  std::stable_sort(particles.begin(), particles.end(), users_own::by_cell{});
  auto const same = [&](thrust::device_vector<particle> const& sorted, bool in_order) {
    std::vector<particle> out(sorted.size());
    thrust::copy(sorted.begin(), sorted.end(), out.begin());
    return std::equal(out.begin(), out.end(), particles.begin(), [&](particle const& a, particle const& b) {
      return a.cell == b.cell && (a.number == b.number || !in_order);
    });
  };
  thrust::device_vector<particle> keys = input;
  gpusort::sort(gpusort::quicksort, keys.begin(), keys.end(), users_own::by_cell{});
  EXPECT_TRUE(same(keys, false));

  // Staged, since they do not lie in order.
  keys                                   = input;
  thrust::device_vector<particle> values = input;
  thrust::reverse(keys.begin(), keys.end());
  auto const first = thrust::make_reverse_iterator(keys.end());
  gpusort::stable_sort_by_key(first, first + keys.size(), values.begin(), users_own::by_cell{});
  EXPECT_TRUE(same(values, true));

  keys = input;
  gpusort::stable_sort(keys.begin(), keys.end(), gpusort::by(users_own::cell_of{}));
  EXPECT_TRUE(same(keys, true));
}

/// By what it points to.
struct by_pointee
{
  __host__ __device__ bool operator()(std::uint32_t const* a, std::uint32_t const* b) const
  {
    return *a < *b;
  }
};

// By their addresses, which is another algorithm for `automatic`, and, by all that compare, by what they point to.
TEST(DropInElement, Pointers)
{
  using pointer = std::uint32_t const*;
  std::vector<std::size_t> sizes{2, 1000, 1025, 4608, 4609, 20'011};
  if (std::getenv("GPUSORT_TEST_STEP") == nullptr)
  {
    sizes.insert(sizes.end(), {70'001, 1'300'003});
  }
  for (std::size_t const n : sizes)
  {
    SCOPED_TRACE(n);
    std::vector<unsigned> const pointees = numbers(n, 300);
    guarded_array<std::uint32_t> memory(n);
    pointer const base = memory.load(pointees.data(), n);
    std::vector<pointer> in(n), by_address(n), by_number(n);
    for (std::size_t i = 0; i < n; ++i)
    {
      in[i]         = base + i * 7919 % n;
      by_address[i] = base + i;
    }
    by_number = in;
    std::stable_sort(by_number.begin(), by_number.end(), [&](pointer a, pointer b) {
      return pointees[static_cast<std::size_t>(a - base)] < pointees[static_cast<std::size_t>(b - base)];
    });

    guarded_array<pointer> keys(n);
    keys.load(in.data(), n, 1);
    gpusort::sort(thrust::device, keys.begin(), keys.end());
    EXPECT_TRUE(keys.holds(by_address.data()));
    keys.load(in.data(), n, 1);
    gpusort::sort(thrust::device, keys.begin(), keys.end(), thrust::greater<pointer>{});
    std::reverse(by_address.begin(), by_address.end());
    EXPECT_TRUE(keys.holds(by_address.data()));
    // Whoever compares what is no element reads from an address that is none.
    auto const sort_by_pointee = [&](auto policy) {
      keys.load(in.data(), n, 1);
      gpusort::stable_sort(policy, keys.begin(), keys.end(), by_pointee{});
      EXPECT_TRUE(keys.holds(by_number.data()));
    };
    sort_by_pointee(thrust::device);
    sort_by_pointee(gpusort::merge_sort(thrust::device));
    guarded_array<pointer> values(n);
    keys.load(in.data(), n, 1);
    values.load(in.data(), n, 1);
    gpusort::stable_sort_by_key(thrust::device, keys.begin(), keys.end(), values.begin(), by_pointee{});
    EXPECT_TRUE(keys.holds(by_number.data()));
    EXPECT_TRUE(values.holds(by_number.data()));
    keys.load(in.data(), n, 1);
    gpusort::sort(gpusort::quicksort(thrust::device), keys.begin(), keys.end(), by_pointee{});
    host_array<pointer> const by_quicksort = keys.read();
    EXPECT_TRUE(keys.holds(by_quicksort)); // the guards
    for (std::size_t i = 0; i < n; ++i)
    {
      ASSERT_EQ(pointees[static_cast<std::size_t>(by_quicksort[i] - base)],
                pointees[static_cast<std::size_t>(by_number[i] - base)]);
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

} // namespace gpusort::testing
