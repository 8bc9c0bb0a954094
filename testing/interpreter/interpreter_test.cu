// The interpreter by small kernels of its own: what they compute, and that it sees what is wrong with those that are wrong.
#include <testing/support/owned_memory.cuh>

#include <gpusort/runtime/cluster.cuh>
#include <gtest/gtest.h>

#include <cuda_fp16.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <vector>

namespace gpusort::testing
{
namespace
{

constexpr unsigned all_lanes = 0xFFFFFFFF;

template <class T>
device_memory<T> on_device(std::vector<T> const& values)
{
  device_memory<T> memory = allocate_on_device<T>(values.size());
  require(cudaMemcpy(memory.get(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice), "copy");
  return memory;
}

template <class T>
std::vector<T> on_host(device_memory<T> const& memory, std::size_t n)
{
  std::vector<T> values(n);
  require(cudaMemcpy(values.data(), memory.get(), n * sizeof(T), cudaMemcpyDeviceToHost), "copy");
  return values;
}

std::vector<std::uint32_t> numbers_to(std::size_t n)
{
  std::vector<std::uint32_t> numbers(n);
  std::iota(numbers.begin(), numbers.end(), 0u);
  return numbers;
}

/// What `n` threads of one block write, from a kernel that takes where to and `arguments`.
template <class T, class Kernel, class... Arguments>
std::vector<T> results_of(Kernel kernel, unsigned n, Arguments... arguments)
{
  auto const results = allocate_on_device<T>(n);
  kernel<<<1, n>>>(results.get(), arguments...);
  require(cudaGetLastError(), "launch");
  return on_host(results, n);
}

/// An environment variable that the interpreter looks at, for as long as the object lives.
class setting
{
public:
  setting(char const* name, char const* value)
      : name_(name)
  {
    setenv(name, value, 1);
  }
  ~setting()
  {
    unsetenv(name_);
  }
  setting(setting const&)            = delete;
  setting& operator=(setting const&) = delete;

private:
  char const* name_;
};

// --- Lanes.

__host__ __device__ unsigned collatz_steps(unsigned long long x)
{
  unsigned steps = 0;
  while (x != 1)
  {
    x = x % 2 == 0 ? x / 2 : 3 * x + 1;
    ++steps;
  }
  return steps;
}

__global__ void count_steps(uint2* results)
{
  unsigned const steps = collatz_steps(threadIdx.x + 1);
  __syncwarp();
  results[threadIdx.x] = {steps, __activemask()};
}

TEST(Lanes, GoTheirOwnWayAndMeetAgain)
{
  auto const results = results_of<uint2>(count_steps, 64);
  for (unsigned i = 0; i < results.size(); ++i)
  {
    EXPECT_EQ(results[i].x, collatz_steps(i + 1));
    EXPECT_EQ(results[i].y, all_lanes);
  }
}

__global__ void choose(std::uint32_t* results)
{
  std::uint32_t result = 0;
  switch (threadIdx.x % 7)
  {
    case 0:
      result = 11;
      break;
    case 1:
      result = threadIdx.x * 3;
      break;
    case 2:
      result = __ballot_sync(__activemask(), true);
      break;
    case 3:
      return;
    case 4:
      result = 17;
      [[fallthrough]];
    case 5:
      result += 5;
      break;
    default:
      result = ~0u;
  }
  results[threadIdx.x] = result;
}

TEST(Lanes, LeaveEarlyAndChooseAmongMany)
{
  auto const memory = on_device(std::vector<std::uint32_t>(32, 99));
  choose<<<1, 32>>>(memory.get());
  auto const results     = on_host(memory, 32);
  std::uint32_t with_two = 0;
  for (unsigned i = 2; i < 32; i += 7)
  {
    with_two |= 1u << i;
  }
  for (unsigned i = 0; i < 32; ++i)
  {
    std::uint32_t const expected[] = {11, i * 3, with_two, 99, 22, 5, ~0u};
    EXPECT_EQ(results[i], expected[i % 7]) << i;
  }
}

struct warp_results
{
  unsigned up, down, across, from, ballot, match, sum, least;
  bool any, all, none;
};

__global__ void ask_warp(warp_results* results)
{
  unsigned const lane = threadIdx.x;
  unsigned const mine = lane * lane;
  warp_results& r     = results[lane];
  r.up                = __shfl_up_sync(all_lanes, mine, 3);
  r.down              = __shfl_down_sync(all_lanes, mine, 2, 8);
  r.across            = __shfl_xor_sync(all_lanes, mine, 5);
  r.from              = __shfl_sync(all_lanes, mine, 9);
  r.ballot            = __ballot_sync(all_lanes, lane % 3 == 0);
  r.match             = __match_any_sync(all_lanes, lane / 5);
  r.sum               = __reduce_add_sync(all_lanes, mine);
  r.least             = __reduce_min_sync(all_lanes, mine ^ 4);
  r.any               = __any_sync(all_lanes, lane == 31) != 0;
  r.all               = __all_sync(all_lanes, lane < 32) != 0;
  r.none              = __any_sync(all_lanes, lane > 31) == 0;
}

TEST(Lanes, LearnFromEachOther)
{
  auto const results = results_of<warp_results>(ask_warp, 32);
  for (unsigned i = 0; i < 32; ++i)
  {
    warp_results const& r = results[i];
    unsigned ballot       = 0;
    unsigned match        = 0;
    unsigned sum          = 0;
    for (unsigned k = 0; k < 32; ++k)
    {
      ballot |= k % 3 == 0 ? 1u << k : 0;
      match |= k / 5 == i / 5 ? 1u << k : 0;
      sum += k * k;
    }
    EXPECT_EQ(r.up, i < 3 ? i * i : (i - 3) * (i - 3));
    EXPECT_EQ(r.down, i % 8 < 6 ? (i + 2) * (i + 2) : i * i);
    EXPECT_EQ(r.across, (i ^ 5) * (i ^ 5));
    EXPECT_EQ(r.from, 81u);
    EXPECT_EQ(r.ballot, ballot);
    EXPECT_EQ(r.match, match);
    EXPECT_EQ(r.sum, sum);
    EXPECT_EQ(r.least, 0u); // of lane 2
    EXPECT_TRUE(r.any && r.all && r.none);
  }
}

// --- Blocks.

__global__ void ask_block(int3* results)
{
  unsigned const i = threadIdx.x;
  int3 r;
  r.x        = __syncthreads_count(i % 3 == 0);
  r.y        = __syncthreads_and(i < 100);
  r.z        = __syncthreads_or(i == 100);
  results[i] = r;
}

TEST(Blocks, CountAtBarriers)
{
  for (int3 const& r : results_of<int3>(ask_block, 100))
  {
    EXPECT_EQ(r.x, 34);
    EXPECT_NE(r.y, 0);
    EXPECT_EQ(r.z, 0);
  }
}

template <bool HasBarrier>
__global__ void reverse_in_shared(std::uint32_t* values)
{
  __shared__ std::uint32_t shared[256];
  shared[threadIdx.x] = values[threadIdx.x];
  if (HasBarrier)
  {
    __syncthreads();
  }
  values[threadIdx.x] = shared[255 - threadIdx.x];
}

TEST(Blocks, ShareMemory)
{
  auto expected     = numbers_to(256);
  auto const memory = on_device(expected);
  reverse_in_shared<true><<<1, 256>>>(memory.get());
  std::reverse(expected.begin(), expected.end());
  EXPECT_EQ(on_host(memory, 256), expected);
}

struct atomic_results
{
  unsigned sum, least, most, bits, swapped, wrapped;
  unsigned long long wide;
  float real;
};

__global__ void change(atomic_results* r)
{
  __shared__ unsigned in_shared;
  unsigned const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x == 0)
  {
    in_shared = 0;
  }
  __syncthreads();
  atomicAdd(&in_shared, i);
  atomicMin(&r->least, i + 7);
  atomicMax(&r->most, i);
  atomicOr(&r->bits, 1u << i % 32);
  atomicInc(&r->wrapped, 9);
  atomicAdd(&r->wide, 1ull << 33);
  atomicAdd(&r->real, 0.5f);
  unsigned seen = 0;
  unsigned expected;
  do
  {
    expected = seen;
    seen     = atomicCAS(&r->swapped, expected, expected + 3);
  } while (seen != expected);
  __syncthreads();
  if (threadIdx.x == 0)
  {
    atomicAdd(&r->sum, in_shared);
  }
}

TEST(Blocks, ChangeMemoryAtomically)
{
  device_variable<atomic_results> const variable({0, ~0u, 0, 0, 0, 0, 0, 0});
  change<<<5, 100>>>(variable.get());
  atomic_results const r = variable.read();
  EXPECT_EQ(r.sum, 500u * 499 / 2);
  EXPECT_EQ(r.least, 7u);
  EXPECT_EQ(r.most, 499u);
  EXPECT_EQ(r.bits, ~0u);
  EXPECT_EQ(r.swapped, 1500u);
  EXPECT_EQ(r.wrapped, 0u); // after 50 times ten
  EXPECT_EQ(r.wide, 500ull << 33);
  EXPECT_EQ(r.real, 250.0f);
}

/// Blocks hand on a sum, in either order.
/// Of `sleepers` blocks the last one spins, and the others sleep; 1: all spin.
__global__ void hand_on(unsigned volatile* sums, bool upwards, unsigned sleepers)
{
  unsigned const step     = upwards ? blockIdx.x : gridDim.x - 1 - blockIdx.x;
  unsigned const previous = upwards ? blockIdx.x - 1 : blockIdx.x + 1;
  if (threadIdx.x == 0)
  {
    unsigned before = 0;
    while (step > 0 && before == 0)
    {
      before = sums[previous];
      if (blockIdx.x % sleepers + 1 < sleepers)
      {
        __nanosleep(32);
      }
    }
    sums[blockIdx.x] = before + step + 1;
  }
}

void expect_sums(unsigned blocks, bool upwards, unsigned sleepers = 1)
{
  auto const memory = on_device(std::vector<unsigned>(blocks));
  hand_on<<<blocks, 64>>>(memory.get(), upwards, sleepers);
  auto sums = on_host(memory, blocks);
  if (!upwards)
  {
    std::reverse(sums.begin(), sums.end());
  }
  for (unsigned i = 0; i < blocks; ++i)
  {
    EXPECT_EQ(sums[i], (i + 1) * (i + 2) / 2);
  }
}

TEST(Blocks, WaitForThoseBefore)
{
  expect_sums(200, true);
}

TEST(Blocks, WaitForThoseBehind)
{
  expect_sums(5, false);
}

TEST(Blocks, SleepUntilOthersAreDone)
{
  constexpr unsigned never_spin = 1'000'000;
  expect_sums(300, true, never_spin);
  expect_sums(300, false, never_spin);
  expect_sums(50, true, 2);
  expect_sums(6, false, 2);
  expect_sums(6, false, 3);
}

TEST(Blocks, MayRunInAnyOrder)
{
  for (char const* seed : {"1", "2", "3"})
  {
    setting const random("GPUSORT_INTERPRETER_SEED", seed);
    expect_sums(50, true);
    auto expected     = numbers_to(256);
    auto const memory = on_device(expected);
    reverse_in_shared<true><<<1, 256>>>(memory.get());
    std::reverse(expected.begin(), expected.end());
    EXPECT_EQ(on_host(memory, 256), expected);
  }
}

__global__ void __cluster_dims__(4) sum_of_cluster(unsigned* results)
{
  __shared__ unsigned mine;
  if (threadIdx.x == 0)
  {
    mine = blockIdx.x * 10;
  }
  runtime::sync_cluster();
  unsigned const other = *runtime::in_block(&mine, threadIdx.x % runtime::cluster_size());
  atomicAdd(results + blockIdx.x, other);
  runtime::sync_cluster();
}

TEST(Clusters, ReadEachOthersMemory)
{
  auto const memory = on_device(std::vector<unsigned>(8));
  cudaLaunchAttribute size{};
  size.id               = cudaLaunchAttributeClusterDimension;
  size.val.clusterDim.x = 4;
  size.val.clusterDim.y = 1;
  size.val.clusterDim.z = 1;
  cudaLaunchConfig_t configuration{};
  configuration.gridDim  = 8;
  configuration.blockDim = 64;
  configuration.attrs    = &size;
  configuration.numAttrs = 1;
  require(cudaLaunchKernelEx(&configuration, sum_of_cluster, memory.get()), "launch");
  auto const sums = on_host(memory, 8);
  for (unsigned i = 0; i < 8; ++i)
  {
    EXPECT_EQ(sums[i], i < 4 ? 16 * 60u : 16 * 220u);
  }
}

// --- Numbers.

using wide_number = unsigned __int128;

struct wide_results
{
  std::uint64_t high, quotient, remainder, leading, product_low, product_high, quotient_of_wide;
  std::int64_t shifted, negative_quotient;

  bool operator==(wide_results const& other) const
  {
    return high == other.high && quotient == other.quotient && remainder == other.remainder && leading == other.leading
        && product_low == other.product_low && product_high == other.product_high
        && quotient_of_wide == other.quotient_of_wide && shifted == other.shifted
        && negative_quotient == other.negative_quotient;
  }
};

__host__ __device__ wide_results compute_wide(std::uint64_t a, std::uint64_t b)
{
  wide_number const product = wide_number{a} * b + (wide_number{b} << 64) - a;
  wide_results r{};
  r.high              = static_cast<std::uint64_t>(wide_number{a} * b >> 64);
  r.quotient          = a / b;
  r.remainder         = a % b;
  r.product_low       = static_cast<std::uint64_t>(product);
  r.product_high      = static_cast<std::uint64_t>(product >> 64);
  r.quotient_of_wide  = static_cast<std::uint64_t>(product / (wide_number{a} + 12345));
  r.shifted           = static_cast<std::int64_t>(a) >> (b % 64);
  r.negative_quotient = static_cast<std::int64_t>(a) / static_cast<std::int64_t>(b);
#ifdef __CUDA_ARCH__
  r.leading = static_cast<std::uint64_t>(__clzll(static_cast<long long>(b)));
#else
  r.leading = static_cast<std::uint64_t>(__builtin_clzll(b));
#endif
  return r;
}

__host__ __device__ std::uint64_t scrambled(std::uint64_t i)
{
  std::uint64_t x = (i + 1) * 0x9E3779B97F4A7C15;
  x               = (x ^ x >> 29) * 0xBF58476D1CE4E5B9;
  return (x ^ x >> 32) >> i % 50 | 1;
}

__global__ void compute_all_wide(wide_results* results)
{
  results[threadIdx.x] = compute_wide(scrambled(threadIdx.x), scrambled(threadIdx.x + 1000));
}

TEST(Numbers, OfManyBits)
{
  auto const results = results_of<wide_results>(compute_all_wide, 256);
  for (std::size_t i = 0; i < results.size(); ++i)
  {
    EXPECT_TRUE(results[i] == compute_wide(scrambled(i), scrambled(i + 1000))) << i;
  }
}

struct bit_results
{
  int ones, first, leading;
  unsigned reversed, permuted, funnel, field, mask;
};

__global__ void look_at_bits(bit_results* results)
{
  auto const a = static_cast<unsigned>(scrambled(threadIdx.x));
  bit_results r;
  r.ones     = __popc(a);
  r.first    = __ffs(static_cast<int>(a & ~15u));
  r.leading  = __clz(static_cast<int>(a));
  r.reversed = __brev(a);
  r.permuted = __byte_perm(a, ~a, 0x4371);
  r.funnel   = __funnelshift_r(a, ~a, threadIdx.x);
  asm("bfe.u32 %0, %1, 5, 9;" : "=r"(r.field) : "r"(a));
  asm("bmsk.clamp.b32 %0, %1, 7;" : "=r"(r.mask) : "r"(threadIdx.x));
  results[threadIdx.x] = r;
}

TEST(Numbers, AreBits)
{
  auto const results = results_of<bit_results>(look_at_bits, 64);
  for (unsigned i = 0; i < 64; ++i)
  {
    auto const a         = static_cast<unsigned>(scrambled(i));
    bit_results const& r = results[i];
    unsigned reversed    = 0;
    for (unsigned bit = 0; bit < 32; ++bit)
    {
      reversed |= (a >> bit & 1) << (31 - bit);
    }
    unsigned const permuted = (a >> 8 & 255) | (~a >> 24) << 8 | (a >> 24) << 16 | (~a & 255) << 24;
    EXPECT_EQ(r.ones, __builtin_popcount(a));
    EXPECT_EQ(r.first, __builtin_ffs(static_cast<int>(a & ~15u)));
    EXPECT_EQ(r.leading, a == 0 ? 32 : __builtin_clz(a));
    EXPECT_EQ(r.reversed, reversed);
    EXPECT_EQ(r.permuted, permuted);
    EXPECT_EQ(r.funnel, static_cast<unsigned>((std::uint64_t{~a} << 32 | a) >> i % 32));
    EXPECT_EQ(r.field, a >> 5 & 511);
    EXPECT_EQ(r.mask, i < 32 ? 127u << i : 0);
  }
}

struct half_results
{
  float value;
  std::uint16_t doubled, of_float;
  bool less_than_one;
};

__host__ __device__ __half half_of(std::uint32_t bits)
{
  return __half(__half_raw{static_cast<unsigned short>(bits)});
}

/// Floats beside, between and beyond halves.
__host__ __device__ float float_of(std::uint32_t i)
{
  return (static_cast<float>(i) - 32768.0f) * (i % 3 == 0 ? 1.0f / (1 << 30) : i % 3 == 1 ? 2.5f : 1.0f / 4096);
}

__global__ void compute_halves(half_results* results)
{
  std::uint32_t const i = blockIdx.x * blockDim.x + threadIdx.x;
  __half const h        = half_of(i);
  half_results& r       = results[i];
  r.value               = __half2float(h);
  r.doubled             = __half_as_ushort(__hadd(h, h));
  r.of_float            = __half_as_ushort(__float2half(float_of(i)));
  r.less_than_one       = __hlt(h, half_of(0x3C00));
}

TEST(Numbers, OfHalfPrecision)
{
  constexpr unsigned n = 1 << 16;
  auto const memory    = allocate_on_device<half_results>(n);
  compute_halves<<<n / 256, 256>>>(memory.get());
  auto const results = on_host(memory, n);
  for (unsigned i = 0; i < n; ++i)
  {
    float const expected  = __half2float(half_of(i));
    half_results const& r = results[i];
    ASSERT_EQ(r.of_float, __half_as_ushort(__float2half(float_of(i)))) << i;
    ASSERT_EQ(r.less_than_one, expected < 1.0f) << i;
    if (expected == expected)
    {
      ASSERT_EQ(r.value, expected) << i;
      ASSERT_EQ(r.doubled, __half_as_ushort(__float2half(2 * expected))) << i;
    }
    else
    {
      ASSERT_NE(r.value, r.value) << i;
    }
  }
}

__global__ void convert_floats(int4* results, float const* x)
{
  float const f        = x[threadIdx.x];
  results[threadIdx.x] = {__float2int_rn(f), __float2int_rz(f), __float2int_rd(f), __float2int_ru(f)};
}

TEST(Numbers, BecomeIntegersThatFit)
{
  constexpr int least = std::numeric_limits<int>::min();
  constexpr int most  = std::numeric_limits<int>::max();
  std::vector<float> const x{2.5f, -2.5f, 1e20f, -1e20f, std::numeric_limits<float>::quiet_NaN()};
  std::vector<int4> const expected{
    {2, 2, 2, 3}, {-2, -2, -3, -2}, {most, most, most, most}, {least, least, least, least}, {0, 0, 0, 0}};
  auto const memory  = on_device(x);
  auto const results = results_of<int4>(convert_floats, 5, memory.get());
  for (std::size_t i = 0; i < x.size(); ++i)
  {
    EXPECT_TRUE(results[i].x == expected[i].x && results[i].y == expected[i].y && results[i].z == expected[i].z
                && results[i].w == expected[i].w)
      << x[i];
  }
}

// --- Functions and memory.

__device__ __noinline__ unsigned add_one(unsigned x)
{
  return x + 1;
}

__device__ __noinline__ unsigned square(unsigned x)
{
  return x * x;
}

using function_pointer = unsigned (*)(unsigned);

__device__ function_pointer const functions[] = {add_one, square};

__global__ void call_by_pointer(std::uint32_t* results, std::uint32_t const* which)
{
  results[threadIdx.x] = functions[which[threadIdx.x]](threadIdx.x);
}

TEST(Functions, AreCalledByPointers)
{
  std::vector<std::uint32_t> which(64);
  for (std::size_t i = 0; i < which.size(); ++i)
  {
    which[i] = i % 3 == 0;
  }
  auto const memory  = on_device(which);
  auto const results = results_of<std::uint32_t>(call_by_pointer, 64, memory.get());
  for (unsigned i = 0; i < 64; ++i)
  {
    EXPECT_EQ(results[i], i % 3 == 0 ? i * i : i + 1);
  }
}

/// The sum of what all threads of the block have.
__device__ __noinline__ std::uint32_t sum_of_block(std::uint32_t own)
{
  __shared__ std::uint32_t sum;
  if (threadIdx.x == 0)
  {
    sum = 0;
  }
  __syncthreads();
  atomicAdd(&sum, own);
  __syncthreads();
  std::uint32_t const all = sum;
  __syncthreads();
  return all;
}

__global__ void call_what_has_barriers(std::uint32_t* results)
{
  std::uint32_t const once = sum_of_block(threadIdx.x);
  results[threadIdx.x]     = sum_of_block(once + threadIdx.x);
}

TEST(Functions, HaveBarriers)
{
  constexpr unsigned threads = 70, once = threads * (threads - 1) / 2;
  auto const results = results_of<std::uint32_t>(call_what_has_barriers, threads);
  for (std::uint32_t const sum : results)
  {
    EXPECT_EQ(sum, threads * once + once);
  }
}

__global__ void use_heap(std::uint32_t* results)
{
  auto* const mine = static_cast<std::uint32_t*>(malloc((threadIdx.x + 1) * sizeof(std::uint32_t)));
  for (unsigned i = 0; i <= threadIdx.x; ++i)
  {
    mine[i] = i;
  }
  std::uint32_t sum = 0;
  for (unsigned i = 0; i <= threadIdx.x; ++i)
  {
    sum += mine[i];
  }
  free(mine);
  results[threadIdx.x] = sum;
}

TEST(Functions, AllocateMemory)
{
  auto const results = results_of<std::uint32_t>(use_heap, 40);
  for (unsigned i = 0; i < 40; ++i)
  {
    EXPECT_EQ(results[i], i * (i + 1) / 2);
  }
}

__device__ std::uint32_t counter = 5;

__global__ void count_up()
{
  atomicAdd(&counter, 1u);
}

TEST(Graphs, RepeatWhatWasRecorded)
{
  std::uint32_t const begin = 100;
  require(cudaMemcpyToSymbol(counter, &begin, sizeof begin), "set");
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  require(cudaStreamCreate(&stream), "stream");
  require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
  count_up<<<2, 32, 0, stream>>>();
  require(cudaStreamEndCapture(stream, &graph), "capture");
  require(cudaGraphInstantiate(&executable, graph, 0), "instantiate");
  std::uint32_t value = 0;
  require(cudaMemcpyFromSymbol(&value, counter, sizeof value), "read");
  EXPECT_EQ(value, 100u);
  require(cudaGraphLaunch(executable, stream), "launch");
  require(cudaGraphLaunch(executable, stream), "launch");
  require(cudaMemcpyFromSymbol(&value, counter, sizeof value), "read");
  EXPECT_EQ(value, 228u);
  require(cudaGraphExecDestroy(executable), "destroy");
  require(cudaGraphDestroy(graph), "destroy");
  require(cudaStreamDestroy(stream), "destroy");
}

TEST(Runtime, RefusesWhatADeviceRefuses)
{
  void* memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, std::size_t{17} << 30), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  count_up<<<1, 2048>>>();
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
  count_up<<<1, 32, 100000>>>();
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_STREQ(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
}

// --- Faults and findings.

/// In tests of a process that dies, which is started anew for each.
class Faults : public ::testing::Test
{
protected:
  Faults()
  {
    ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  }
};

using Findings = Faults;

::testing::ExitedWithCode const exits_with_findings(9);
::testing::ExitedWithCode const exits_well(0);

__global__ void write_at(std::uint32_t* memory, std::size_t i)
{
  memory[i] = 1;
}

__global__ void read_at(std::uint32_t* result, std::uint32_t const* memory, std::size_t i)
{
  *result = memory[i];
}

TEST_F(Faults, WriteOutOfBounds)
{
  auto const memory = allocate_on_device<std::uint32_t>(10);
  write_at<<<1, 1>>>(memory.get(), 9);
  EXPECT_DEATH((write_at<<<1, 1>>>(memory.get(), 10)), "write out of bounds(.|\n)*write_at(.|\n)*st\\.global");
}

TEST_F(Faults, ReadOutOfBounds)
{
  auto const memory = on_device(numbers_to(10));
  EXPECT_DEATH((results_of<std::uint32_t>(read_at, 1, memory.get(), std::size_t{10})), "read out of bounds");
}

TEST_F(Faults, MemoryOfTheHost)
{
  std::uint32_t on_stack = 0;
  EXPECT_DEATH((write_at<<<1, 1>>>(&on_stack, 0)), "there is no memory");
  EXPECT_DEATH((write_at<<<1, 1>>>(nullptr, 0)), "there is no memory");
}

TEST_F(Faults, UseAfterFree)
{
  std::uint32_t* const memory = allocate_on_device<std::uint32_t>(10).get(); // and freed
  EXPECT_DEATH((write_at<<<1, 1>>>(memory, 0)), "write out of bounds");
}

TEST_F(Faults, MisalignedAccess)
{
  auto const memory      = allocate_on_device<std::uint32_t>(10);
  auto* const misaligned = reinterpret_cast<std::uint32_t*>(reinterpret_cast<char*>(memory.get()) + 2);
  EXPECT_DEATH((write_at<<<1, 1>>>(misaligned, 0)), "misaligned access");
}

__global__ void write_in_shared(unsigned i)
{
  extern __shared__ std::uint32_t words[];
  words[i] = i;
}

TEST_F(Faults, OutOfBoundsOfSharedMemory)
{
  write_in_shared<<<1, 1, 40>>>(9);
  EXPECT_DEATH((write_in_shared<<<1, 1, 40>>>(10)), "out of bounds of shared memory");
}

__global__ void wait_apart(bool apart)
{
  if (threadIdx.x < 32 && apart)
  {
    asm volatile("bar.sync 1, 64;");
  }
  else
  {
    asm volatile("bar.sync 2, 64;");
  }
}

TEST_F(Faults, Deadlock)
{
  wait_apart<<<1, 64>>>(false);
  EXPECT_DEATH((wait_apart<<<1, 64>>>(true)), "deadlock(.|\n)*bar\\.sync");
}

__global__ void do_what_is_unknown(float* x, bool really)
{
  if (really)
  {
    asm volatile("tanh.approx.f32 %0, %0;" : "+f"(*x));
  }
}

TEST_F(Faults, UnknownInstructionsThatAreExecuted)
{
  device_variable<float> const x(1.0f);
  do_what_is_unknown<<<1, 1>>>(x.get(), false);
  EXPECT_DEATH((do_what_is_unknown<<<1, 1>>>(x.get(), true)), "does not support(.|\n)*tanh");
}

TEST_F(Findings, ReadOfUninitialisedMemory)
{
  auto const read = [](bool initialised) {
    auto const memory = allocate_on_device<std::uint32_t>(10);
    if (initialised)
    {
      require(cudaMemset(memory.get(), 0, 40), "set");
    }
    results_of<std::uint32_t>(read_at, 1, static_cast<std::uint32_t const*>(memory.get()), std::size_t{3});
    std::exit(0);
  };
  EXPECT_EXIT(read(false), exits_with_findings, "uninitialised memory(.|\n)*ld\\.global");
  EXPECT_EXIT(read(true), exits_well, "");
}

__global__ void shuffle_from_absent(std::uint32_t* results)
{
  if (threadIdx.x < 16)
  {
    results[threadIdx.x] = __shfl_sync(0xFFFF, threadIdx.x, 20);
  }
}

/// Runs a kernel on its numbers in one block. The process ends, as if all were well.
template <class Kernel>
void run_and_exit(Kernel kernel, unsigned threads)
{
  auto const memory = on_device(numbers_to(threads));
  kernel<<<1, threads>>>(memory.get());
  std::exit(0);
}

TEST_F(Findings, ShuffleFromAbsentLane)
{
  EXPECT_EXIT(run_and_exit(shuffle_from_absent, 32), exits_with_findings, "shuffle from a lane");
}

TEST_F(Findings, RaceInSharedMemory)
{
  EXPECT_EXIT(run_and_exit(reverse_in_shared<false>, 256), exits_well, ""); // nobody has asked
  setting const races("GPUSORT_INTERPRETER_RACES", "1");
  EXPECT_EXIT(run_and_exit(reverse_in_shared<false>, 256), exits_with_findings, "race: (.|\n)*shared");
  EXPECT_EXIT(run_and_exit(reverse_in_shared<true>, 256), exits_well, "");
}

/// Lanes of a warp, which run together here but need not.
template <bool HasBarrier>
__global__ void reverse_in_warp(std::uint32_t* values)
{
  __shared__ std::uint32_t shared[32];
  shared[threadIdx.x] = values[threadIdx.x];
  if (HasBarrier)
  {
    __syncwarp();
  }
  values[threadIdx.x] = shared[31 - threadIdx.x];
}

TEST_F(Findings, RaceInAWarp)
{
  setting const races("GPUSORT_INTERPRETER_RACES", "1");
  EXPECT_EXIT(run_and_exit(reverse_in_warp<false>, 32), exits_with_findings, "race: read after write of another lane");
  EXPECT_EXIT(run_and_exit(reverse_in_warp<true>, 32), exits_well, "");
}

/// What other lanes have read, and then their own lane. They have met in between, or not.
template <bool HasBarrier>
__global__ void read_twice_in_warp(std::uint32_t* values)
{
  __shared__ std::uint32_t shared[32];
  shared[threadIdx.x] = values[threadIdx.x];
  __syncwarp();
  std::uint32_t const other = shared[31 - threadIdx.x];
  if (HasBarrier)
  {
    __syncwarp();
  }
  std::uint32_t volatile& own = shared[threadIdx.x];
  own                         = own + other;
  __syncwarp();
  values[threadIdx.x] = own;
}

TEST_F(Findings, RaceOfALaneThatReadsLast)
{
  setting const races("GPUSORT_INTERPRETER_RACES", "1");
  EXPECT_EXIT(
    run_and_exit(read_twice_in_warp<false>, 32), exits_with_findings, "race: write after read of another lane");
  EXPECT_EXIT(run_and_exit(read_twice_in_warp<true>, 32), exits_well, "");
}

} // namespace
} // namespace gpusort::testing
