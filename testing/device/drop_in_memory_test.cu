// What a drop-in keeps of Thrust: whose memory is used, and what happens when there is none or a call is wrong.
#include <testing/support/allocators.cuh>
#include <testing/support/device_memory.cuh>
#include <testing/support/graphs.cuh>
#include <testing/support/inputs.h>
#include <testing/support/oracle.cuh>
#include <testing/support/types.cuh>

#include <gpusort/sort.h>
#include <gpusort/workspace.h>
#include <gtest/gtest.h>

#include <thrust/detail/execute_with_allocator.h>
#include <thrust/device_malloc_allocator.h>
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/iterator/reverse_iterator.h>
#include <thrust/memory.h>
#include <thrust/mr/allocator.h>
#include <thrust/pair.h>
#include <thrust/system/cuda/detail/par.h>
#include <thrust/system/cuda/execution_policy.h>
#include <thrust/system/cuda/memory_resource.h>
#include <thrust/system_error.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <vector>

namespace users
{

/// A policy that says where scratch memory comes from, in the way Thrust has had since before allocators.
struct own_memory : thrust::cuda::execution_policy<own_memory>
{
  int* taken;
  int* given_back;

  own_memory(int& t, int& g)
      : taken(&t)
      , given_back(&g)
  {}
};

template <class T>
thrust::pair<T*, std::ptrdiff_t> get_temporary_buffer(own_memory& policy, std::ptrdiff_t n)
{
  ++*policy.taken;
  void* memory = nullptr;
  if (cudaMalloc(&memory, static_cast<std::size_t>(n) * sizeof(T)) != cudaSuccess)
  {
    return {nullptr, 0};
  }
  return {static_cast<T*>(memory), n};
}
template <class Pointer>
void return_temporary_buffer(own_memory& policy, Pointer memory, std::ptrdiff_t)
{
  ++*policy.given_back;
  (void) cudaFree(thrust::raw_pointer_cast(memory)); // waits for the device, so the work is done
}

/// What an allocator and the copies of it have done.
struct allocator_log
{
  int allocations   = 0;
  int deallocations = 0;
  std::size_t bytes = 0;
};

/// Stream-ordered memory behind Thrust's interface for device allocators, in the way of memory managers' adaptors.
template <class T>
class stream_allocator : public thrust::device_malloc_allocator<T>
{
  using base = thrust::device_malloc_allocator<T>;

public:
  using pointer   = typename base::pointer;
  using size_type = typename base::size_type;

  template <class U>
  struct rebind
  {
    using other = stream_allocator<U>;
  };

  stream_allocator(cudaStream_t s, allocator_log& l)
      : stream(s)
      , log(&l)
  {}
  template <class U>
  stream_allocator(stream_allocator<U> const& other)
      : stream(other.stream)
      , log(other.log)
  {}

  pointer allocate(size_type n)
  {
    void* memory = nullptr;
    if (cudaMallocAsync(&memory, n * sizeof(T), stream) != cudaSuccess)
    {
      throw std::bad_alloc{};
    }
    ++log->allocations;
    log->bytes += n * sizeof(T);
    return pointer(static_cast<T*>(memory));
  }
  void deallocate(pointer memory, size_type) noexcept
  {
    if (cudaFreeAsync(thrust::raw_pointer_cast(memory), stream) == cudaSuccess)
    {
      ++log->deallocations;
    }
  }

  cudaStream_t stream;
  allocator_log* log;
};

/// A policy class around Thrust's policy with an allocator and a stream, in the way of memory managers' exec_policy.
using base_of_stream_policy =
  thrust::detail::execute_with_allocator<stream_allocator<char>, thrust::cuda_cub::execute_on_stream_base>;

class stream_policy : public base_of_stream_policy
{
public:
  stream_policy(cudaStream_t stream, allocator_log& log)
      : base_of_stream_policy(thrust::cuda::par(stream_allocator<char>(stream, log)).on(stream))
  {}
};

} // namespace users

namespace gpusort::testing
{
namespace
{

using key   = std::uint32_t;
using value = std::uint64_t;

constexpr std::size_t n = 50'021;

/// Keys, values, what they are when sorted, and room for them on the device.
struct pairs
{
  expectation<key, value> e{keys_of<key>(distribution::uniform, n), thrust::less<key>{}};
  guarded_array<key> keys{n};
  guarded_array<value> values{n};

  void load()
  {
    keys.load(e.keys);
    values.load(e.attached.array);
  }
  template <class Policy>
  void sort(Policy const& policy)
  {
    gpusort::sort_by_key(policy, keys.begin(), keys.end(), values.begin());
  }
  void expect_sorted()
  {
    EXPECT_TRUE(keys.holds(e.sorted_keys));
    EXPECT_TRUE(values.holds(e.sorted_attached.array));
  }
  void expect_unchanged()
  {
    EXPECT_TRUE(keys.holds(e.keys));
    EXPECT_TRUE(values.holds(e.attached.array));
  }
};

template <class F>
void for_each_stable_algorithm(F f)
{
  f("automatic", gpusort::automatic);
  f("radix_sort", gpusort::radix_sort);
  f("merge_sort", gpusort::merge_sort);
  f("hybrid_sort", gpusort::hybrid_sort);
}
/// Quicksort too, which is stable where it merges, as it does with n elements.
template <class F>
void for_each_algorithm(F f)
{
  for_each_stable_algorithm(f);
  f("quicksort", gpusort::quicksort);
}

std::size_t used_of_pool(cudaMemPool_t pool, cudaMemPoolAttr attribute)
{
  std::uint64_t bytes = 0;
  require(cudaMemPoolGetAttribute(pool, attribute, &bytes), "memory pool");
  return bytes;
}

/// Bytes of the device's default pool that were ever in use, and of free memory.
struct memory_state
{
  std::size_t default_pool_high = 0;
  std::size_t free_bytes        = 0;

  static memory_state now()
  {
    memory_state s;
    cudaMemPool_t pool = nullptr;
    require(cudaDeviceGetDefaultMemPool(&pool, 0), "default pool");
    s.default_pool_high = used_of_pool(pool, cudaMemPoolAttrUsedMemHigh);
    std::size_t total   = 0;
    require(cudaMemGetInfo(&s.free_bytes, &total), "free memory");
    return s;
  }
};

// "Alone" in a suite's name: free memory is compared, so nobody else on the GPU.
TEST(MemoryAlone, OfThePolicysAllocatorIsTheOnlyOneUsed)
{
  pairs p;
  for_each_algorithm([&](char const* name, auto algorithm) {
    SCOPED_TRACE(name);
    own_stream const stream;
    counting_allocator<> allocator;
    auto const policy = algorithm(thrust::cuda::par(allocator).on(stream));
    p.load();
    p.sort(policy); // loads the kernels, which takes memory too

    std::size_t const wanted = gpusort::workspace_bytes_by_key(policy, p.keys.begin(), p.keys.end(), p.values.begin());
    EXPECT_EQ(allocator.allocations, 1);
    EXPECT_EQ(allocator.bytes, wanted);
    EXPECT_TRUE(allocator.is_balanced());
    p.expect_sorted();

    p.load();
    std::vector<char*> pieces{allocator.allocate(wanted)};
    allocator.deallocate(pieces.front(), wanted);
    memory_state const before = memory_state::now();
    // Memory that is there already, so that free memory tells whether anybody else took some.
    gpusort::workspace ws{pieces.front(), wanted};
    p.sort(algorithm(thrust::cuda::par(ws).on(stream)));
    memory_state const after = memory_state::now();
    EXPECT_EQ(after.default_pool_high, before.default_pool_high);
    EXPECT_EQ(after.free_bytes, before.free_bytes);
    p.expect_sorted();
  });
}

TEST(Allocator, IsUsedForStagingAndIndicesToo)
{
  // Reversed keys and values are staged: still one allocation, of the size that was announced.
  pairs p;
  p.load();
  counting_allocator<> allocator;
  own_stream const stream;
  auto const policy   = thrust::cuda::par_nosync(allocator).on(stream);
  auto const first    = thrust::make_reverse_iterator(p.keys.end());
  auto const last     = thrust::make_reverse_iterator(p.keys.begin());
  auto const attached = thrust::make_reverse_iterator(p.values.end());
  gpusort::stable_sort_by_key(policy, first, last, attached);
  require(cudaStreamSynchronize(stream), "wait");
  EXPECT_EQ(allocator.allocations, 1);
  EXPECT_EQ(allocator.bytes, gpusort::workspace_bytes_by_key(policy, first, last, attached));
  EXPECT_TRUE(allocator.is_balanced());
  host_array<key> expected(p.e.sorted_keys);
  std::reverse(expected.begin(), expected.end());
  EXPECT_TRUE(p.keys.holds(expected));
}

TEST(Allocator, OfUnitsOfEightBytes)
{
  pairs p;
  p.load();
  counting_allocator<double> allocator;
  p.sort(gpusort::radix_sort(thrust::cuda::par(allocator)));
  EXPECT_EQ(allocator.allocations, 1);
  EXPECT_TRUE(allocator.is_balanced());
  p.expect_sorted();
}

TEST(Allocator, MemoryResourceOfThrusts)
{
  pairs p;
  p.load();
  thrust::system::cuda::memory_resource resource;
  p.sort(gpusort::merge_sort(thrust::cuda::par(&resource)));
  p.expect_sorted();
}

TEST(Allocator, PolicyWithTemporaryBuffersOfItsOwn)
{
  pairs p;
  p.load();
  int taken = 0, given_back = 0;
  users::own_memory policy(taken, given_back);
  gpusort::stable_sort_by_key(policy, p.keys.begin(), p.keys.end(), p.values.begin());
  EXPECT_EQ(taken, 1);
  EXPECT_EQ(given_back, 1);
  p.expect_sorted();
}

TEST(MemoryAlone, OfAPolicyClassAroundAllocatorAndStream)
{
  pairs p;
  for_each_algorithm([&](char const* name, auto algorithm) {
    SCOPED_TRACE(name);
    own_stream const stream, other;
    p.load();
    p.sort(algorithm(thrust::cuda::par.on(stream))); // loads the kernels, which may wait for what runs
    p.load();
    cudaMemPool_t default_pool = nullptr;
    require(cudaDeviceGetDefaultMemPool(&default_pool, 0), "default pool");
    std::size_t const used_before = used_of_pool(default_pool, cudaMemPoolAttrUsedMemCurrent);
    users::allocator_log log;
    users::stream_policy const policy(stream, log);
    held_stream held(other);
    p.sort(algorithm(policy));
    EXPECT_TRUE(held.is_held()) << "the call waited for another stream";
    EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess) << "the call did not wait for its own";
    EXPECT_EQ(used_of_pool(default_pool, cudaMemPoolAttrUsedMemCurrent), used_before);
    EXPECT_EQ(log.allocations, 1);
    EXPECT_EQ(log.deallocations, 1);
    EXPECT_EQ(log.bytes,
              gpusort::workspace_bytes_by_key(algorithm(policy), p.keys.begin(), p.keys.end(), p.values.begin()));
    held.release();
    p.expect_sorted();
  });
}

TEST(Allocator, OfAPolicyClassWithoutATag)
{
  pairs p;
  p.load();
  own_stream const stream;
  users::allocator_log log;
  gpusort::stable_sort_by_key(
    users::stream_policy(stream, log), p.keys.begin(), p.keys.end(), p.values.begin(), thrust::less<key>{});
  EXPECT_EQ(log.allocations, 1);
  EXPECT_EQ(log.deallocations, 1);
  p.expect_sorted();
}

/// Looks, whenever it gets memory back, whether its stream still has work.
struct asking_allocator : counting_allocator<>
{
  cudaStream_t stream = nullptr;
  int asked           = 0;
  int too_early       = 0;

  void deallocate(char* memory, std::size_t n)
  {
    ++asked;
    too_early += cudaStreamQuery(stream) != cudaSuccess ? 1 : 0;
    counting_allocator<>::deallocate(memory, n);
  }
};

TEST(MemoryAlone, IsGivenBackOnlyWhenParHasWaited)
{
  pairs p;
  for_each_algorithm([&](char const* name, auto algorithm) {
    SCOPED_TRACE(name);
    own_stream const stream;
    p.load();
    p.sort(algorithm(thrust::cuda::par.on(stream))); // loads the kernels, which may wait for what runs
    p.load();
    asking_allocator allocator;
    allocator.stream = stream;
    keep_busy(stream, 200'000'000); // 0.2 s, which the launches of the sort do not outlast
    p.sort(algorithm(thrust::cuda::par(allocator).on(stream)));
    EXPECT_EQ(allocator.asked, 1);
    EXPECT_EQ(allocator.too_early, 0) << "scratch was given back while the sort was using it";
    EXPECT_TRUE(allocator.is_balanced());
    p.expect_sorted();
  });
}

TEST(MemoryAlone, IsStreamOrderedWithoutAnAllocator)
{
  // No cudaMalloc and no cudaFree a call: after the first one free memory stays as it is, and nothing is left in use.
  pairs p;
  p.load();
  p.sort(thrust::device);
  memory_state const before = memory_state::now();
  for (int round = 0; round < 10; ++round)
  {
    p.load();
    p.sort(thrust::device);
  }
  memory_state const after = memory_state::now();
  EXPECT_EQ(after.free_bytes, before.free_bytes);
  EXPECT_EQ(after.default_pool_high, before.default_pool_high)
    << "the device's default pool belongs to the application";
  p.expect_sorted();
}

TEST(Workspace, OfTheAnnouncedSizeIsEnough)
{
  pairs p;
  p.load();
  for_each_algorithm([&](char const* name, auto algorithm) {
    SCOPED_TRACE(name);
    own_stream const stream;
    std::size_t const bytes = gpusort::workspace_bytes_by_key(
      algorithm(thrust::cuda::par_nosync), p.keys.begin(), p.keys.end(), p.values.begin());
    // Wherever it begins.
    for (std::size_t const offset : {0, 1, 7})
    {
      SCOPED_TRACE(offset);
      guarded_array<char> memory(bytes + 8);
      host_array<char> content(bytes);
      std::fill(content.begin(), content.end(), 'x');
      gpusort::workspace ws{memory.load(content, offset), bytes};
      p.load();
      p.sort(algorithm(thrust::cuda::par_nosync(ws).on(stream)));
      require(cudaStreamSynchronize(stream), "wait");
      p.expect_sorted();
      // The same workspace serves the next call.
      p.load();
      p.sort(algorithm(thrust::cuda::par_nosync(ws).on(stream)));
      require(cudaStreamSynchronize(stream), "wait");
      p.expect_sorted();
      host_array<char> const used = memory.read();
      EXPECT_TRUE(memory.holds(used)) << "something was written outside of the workspace";
    }
  });
}

TEST(Workspace, TooSmallThrowsBeforeTheInputIsTouched)
{
  pairs p;
  p.load();
  for_each_algorithm([&](char const* name, auto algorithm) {
    SCOPED_TRACE(name);
    std::size_t const bytes =
      gpusort::workspace_bytes_by_key(algorithm(thrust::cuda::par), p.keys.begin(), p.keys.end(), p.values.begin());
    ASSERT_GT(bytes, 2u);
    guarded_array<char> memory(bytes);
    for (std::size_t const small : {std::size_t{0}, std::size_t{1}, bytes / 2, bytes - 1})
    {
      SCOPED_TRACE(small);
      p.load();
      gpusort::workspace ws{memory.begin(), small};
      EXPECT_THROW(p.sort(algorithm(thrust::cuda::par(ws))), std::bad_alloc);
      p.expect_unchanged();
    }
    gpusort::workspace nothing{nullptr, bytes};
    EXPECT_THROW(p.sort(algorithm(thrust::cuda::par(nothing))), std::bad_alloc);
    p.expect_unchanged();
  });
}

TEST(Workspace, BytesGrowWithTheRangeAndAreZeroForNone)
{
  key* const none = nullptr;
  EXPECT_EQ(gpusort::workspace_bytes(thrust::device, none, none), 0u);
  EXPECT_EQ(gpusort::workspace_bytes(gpusort::merge_sort(thrust::device), none, none + 1), 0u);
  EXPECT_EQ(gpusort::workspace_bytes(thrust::host, none, none + n), 0u);
  EXPECT_EQ(gpusort::workspace_bytes_by_key(gpusort::radix_sort(thrust::seq), none, none + n, none), 0u);
  thrust::device_ptr<key> const on_device(none);
  EXPECT_EQ(gpusort::workspace_bytes(gpusort::radix_sort, on_device, on_device + n),
            gpusort::workspace_bytes(gpusort::radix_sort(thrust::device), none, none + n));

  std::size_t const keys_alone = gpusort::workspace_bytes(thrust::device, none, none + n);
  EXPECT_GE(keys_alone, n * sizeof(key));
  EXPECT_GE(gpusort::workspace_bytes_by_key(thrust::device, none, none + n, none), 2 * n * sizeof(key));
  EXPECT_GT(gpusort::workspace_bytes(thrust::device, none, none + 2 * n), keys_alone);
  EXPECT_THROW((void) gpusort::workspace_bytes(thrust::device, none + 1, none), std::runtime_error);
}

struct own_less
{
  template <class Key>
  __host__ __device__ bool operator()(Key const& a, Key const& b) const
  {
    return a < b;
  }
};

/// What any range of fewer elements takes is no more than workspace.h says.
template <class Key, class Compare, class Algorithm>
void check_that_fewer_take_hardly_more(Algorithm algorithm, Compare comp)
{
  std::size_t most       = 0;
  Key const* const first = nullptr;
  for (std::size_t n = 2; n < std::size_t{3} << 20; ++n)
  {
    std::size_t const bytes = gpusort::workspace_bytes(algorithm(thrust::cuda::par), first, first + n, comp);
    most                    = most < bytes ? bytes : most;
    ASSERT_LE(most, bytes + bytes / 16 + (128 << 10)) << n;
  }
}

TEST(Workspace, FewerElementsTakeHardlyMore)
{
  check_that_fewer_take_hardly_more<std::uint8_t>(gpusort::automatic, thrust::less<>{});
  check_that_fewer_take_hardly_more<std::uint16_t>(gpusort::automatic, thrust::less<>{});
  check_that_fewer_take_hardly_more<std::uint32_t>(gpusort::automatic, thrust::less<>{});
  check_that_fewer_take_hardly_more<double>(gpusort::automatic, thrust::less<>{});
  check_that_fewer_take_hardly_more<unsigned __int128>(gpusort::automatic, thrust::less<>{});
  check_that_fewer_take_hardly_more<std::uint32_t>(gpusort::automatic, own_less{});
  check_that_fewer_take_hardly_more<std::uint64_t>(gpusort::quicksort, own_less{});
  check_that_fewer_take_hardly_more<unsigned __int128>(gpusort::merge_sort, own_less{});
}

TEST(Failure, AllocatorThatThrows)
{
  pairs p;
  for_each_algorithm([&](char const* name, auto algorithm) {
    SCOPED_TRACE(name);
    throwing_allocator allocator;
    p.load();
    EXPECT_THROW(p.sort(algorithm(thrust::cuda::par(allocator))), std::bad_alloc);
    EXPECT_EQ(allocator.calls, 1);
    p.expect_unchanged();
  });
}

TEST(Failure, AllocatorThatReturnsNull)
{
  pairs p;
  for_each_algorithm([&](char const* name, auto algorithm) {
    SCOPED_TRACE(name);
    null_allocator allocator;
    p.load();
    EXPECT_THROW(p.sort(algorithm(thrust::cuda::par(allocator))), std::bad_alloc);
    EXPECT_EQ(allocator.calls, 1);
    EXPECT_EQ(allocator.returned, 0);
    p.expect_unchanged();
  });
}

TEST(Failure, ExceptionOfAnAllocatorsOwnPassesThrough)
{
  pairs p;
  for_each_algorithm([&](char const* name, auto algorithm) {
    SCOPED_TRACE(name);
    refusing_allocator allocator;
    p.load();
    try
    {
      p.sort(algorithm(thrust::cuda::par(allocator)));
      ADD_FAILURE() << "nothing was thrown";
    }
    catch (out_of_order const& e)
    {
      EXPECT_EQ(e.code, 42);
    }
    p.expect_unchanged();
  });
}

__global__ void count_changes(key const* keys, std::size_t count, unsigned long long* changes)
{
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < count;
       i += gridDim.x * std::size_t{blockDim.x})
  {
    if (keys[i] != static_cast<key>(count - i))
    {
      atomicAdd(changes, 1ull);
    }
  }
}

__global__ void count_down(key* keys, std::size_t count)
{
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < count;
       i += gridDim.x * std::size_t{blockDim.x})
  {
    keys[i] = static_cast<key>(count - i);
  }
}

// Fills the whole device: left out of the sanitizer's runs by its name.
TEST(Failure, NoMemoryLeftOnTheDeviceLarge)
{
  // Twice as much as the library keeps between calls, so that what earlier calls left behind is not enough.
  std::size_t free_bytes = 0, total_bytes = 0;
  require(cudaMemGetInfo(&free_bytes, &total_bytes), "free memory");
  std::size_t const count              = total_bytes / 32 / sizeof(key);
  device_memory<key> const keys_memory = allocate_on_device<key>(count);
  key* const keys                      = keys_memory.get();
  device_variable<unsigned long long> const changes(0);
  count_down<<<1024, 256>>>(keys, count);
  count_changes<<<1024, 256>>>(keys, count, changes.get());
  require(cudaDeviceSynchronize(), "fill");
  ASSERT_EQ(changes.read(), 0u);

  // Loads what a sort needs beside its scratch.
  for_each_algorithm([&](char const*, auto algorithm) { gpusort::sort(algorithm(thrust::device), keys, keys + 2); });
  count_down<<<1024, 256>>>(keys, count);
  require(cudaDeviceSynchronize(), "fill");

  std::vector<device_memory<void>> hog;
  for (std::size_t piece = std::size_t{1} << 36; piece >= (std::size_t{1} << 24); piece /= 2)
  {
    void* memory = nullptr;
    while (cudaMalloc(&memory, piece) == cudaSuccess)
    {
      hog.emplace_back(memory);
    }
    (void) cudaGetLastError();
  }
  for_each_algorithm([&](char const* name, auto algorithm) {
    SCOPED_TRACE(name);
    EXPECT_THROW(gpusort::sort(algorithm(thrust::device), keys, keys + count), std::bad_alloc);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "the error was reported and has to be gone";
  });
  hog.clear();
  count_changes<<<1024, 256>>>(keys, count, changes.get());
  require(cudaDeviceSynchronize(), "count");
  EXPECT_EQ(changes.read(), 0u);

  // Memory is there again.
  gpusort::sort(thrust::device, keys, keys + count);
  key ends[2] = {};
  require(cudaMemcpy(&ends[0], keys, sizeof(key), cudaMemcpyDeviceToHost), "read back");
  require(cudaMemcpy(&ends[1], keys + count - 1, sizeof(key), cudaMemcpyDeviceToHost), "read back");
  EXPECT_EQ(ends[0], 1u);
  EXPECT_EQ(ends[1], count);
}

TEST(Failure, OfCudaIsASystemError)
{
  // A stream that is being captured cannot be waited for: `par` fails, and the device is none the worse for it.
  pairs p;
  for_each_algorithm([&](char const* name, auto algorithm) {
    SCOPED_TRACE(name);
    p.load();
    own_stream const stream;
    p.sort(algorithm(thrust::cuda::par.on(stream)));
    p.load();
    require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "begin of capture");
    EXPECT_THROW(p.sort(algorithm(thrust::cuda::par.on(stream))), thrust::system_error);
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
    (void) cudaGetLastError();
    p.expect_unchanged();
    p.sort(algorithm(thrust::cuda::par.on(stream)));
    p.expect_sorted();
  });
}

TEST(Failure, NegativeRange)
{
  pairs p;
  p.load();
  key* const first      = p.keys.begin();
  key* const last       = p.keys.begin() + 1;
  value* const attached = p.values.begin();
  for_each_stable_algorithm([&](char const* name, auto algorithm) {
    SCOPED_TRACE(name);
    auto const policy = algorithm(thrust::device);
    EXPECT_THROW(gpusort::sort(policy, last, first), std::runtime_error);
    EXPECT_THROW(gpusort::stable_sort(policy, last, first, thrust::greater<key>{}), std::runtime_error);
    EXPECT_THROW(gpusort::sort_by_key(policy, last, first, attached), std::runtime_error);
    EXPECT_THROW(gpusort::stable_sort_by_key(policy, last, first, attached), std::runtime_error);
  });
  EXPECT_THROW(gpusort::sort(thrust::host, last, first), std::runtime_error);
  p.expect_unchanged();
}

} // namespace
} // namespace gpusort::testing
