// Orders of structs by their fields: values of all kinds, lambdas, Thrust under such an order, memory, device code. The cases by width
// of the image are in order_moving_keys_test.cu and order_moving_indices_test.cu.
#include <testing/support/allocators.cuh>
#include <testing/support/device_memory.cuh>
#include <testing/support/graphs.cuh>
#include <testing/support/oracle.cuh>
#include <testing/support/order_cases.cuh>
#include <testing/support/types.cuh>

#include <gpusort/order.h>
#include <gpusort/sort.h>
#include <gpusort/workspace.h>
#include <gtest/gtest.h>

#include <thrust/execution_policy.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

namespace gpusort::testing
{

// Its instances have files of their own.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(order);

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
struct low_count
{
  __host__ __device__ bool operator()(eight_bytes const& key) const
  {
    return (key.count & 1) != 0;
  }
};
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
