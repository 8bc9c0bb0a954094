// Launches, and what a thread remembers of kernels: that it asks once, that threads and contexts do not take over what others know,
// and that a kernel gets the shared memory that it was opted in to.
#include <testing/support/owned_memory.cuh>

#include <gpusort/runtime/dependency.cuh>
#include <gpusort/runtime/launch.cuh>
#include <gtest/gtest.h>
#include <thrust/device_vector.h>
#include <thrust/system_error.h>

#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace gpusort::runtime
{
namespace
{

/// More than a block has unless its kernel opts in; every device that this library compiles for has it.
constexpr std::size_t much_shared_bytes = least_shared_bytes - 4096;

/// Grid: one block. Adds up, in shared memory, what its words are.
template <class Word>
__global__ void fill_shared(Word* sum, Word words)
{
  wait_for_previous_kernel();
  extern __shared__ std::uint32_t room[];
  for (Word i = threadIdx.x; i < words; i += blockDim.x)
  {
    room[i] = i;
  }
  __syncthreads();
  Word mine = 0;
  for (Word i = threadIdx.x; i < words; i += blockDim.x)
  {
    mine += room[words - 1 - i];
  }
  atomicAdd(sum, mine);
}

std::uint32_t sum_by_launch(cudaStream_t stream)
{
  constexpr std::uint32_t words = much_shared_bytes / sizeof(std::uint32_t);
  thrust::device_vector<std::uint32_t> sum(1, 0);
  runtime::launch(fill_shared<std::uint32_t>, {1, 256, much_shared_bytes}, stream, sum.data().get(), words);
  check(cudaStreamSynchronize(stream), "launch_test");
  return sum[0];
}

std::uint32_t expected_sum()
{
  constexpr std::uint32_t words = much_shared_bytes / sizeof(std::uint32_t);
  return static_cast<std::uint32_t>(std::uint64_t{words} * (words - 1) / 2);
}

kernel_facts& facts_of_fill()
{
  return facts_of(reinterpret_cast<void const*>(&fill_shared<std::uint32_t>));
}

TEST(Launch, HasTheSharedMemoryThatItAsksFor)
{
  for (int time = 0; time < 3; ++time)
  {
    EXPECT_EQ(sum_by_launch(nullptr), expected_sum());
  }
}

TEST(Launch, ThreadsThatHaveNotLaunchedBefore)
{
  constexpr int count = 8;
  std::vector<std::uint32_t> sums(count, 0);
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t)
  {
    threads.emplace_back([&sums, t] { sums[static_cast<std::size_t>(t)] = sum_by_launch(cudaStreamPerThread); });
  }
  for (std::thread& thread : threads)
  {
    thread.join();
  }
  EXPECT_EQ(sums, std::vector<std::uint32_t>(count, expected_sum()));
}

TEST(Launch, MoreSharedMemoryThanThereIsIsRefusedAndLosesNothing)
{
  std::size_t const too_much = shared_bytes_of_device() + 1024;
  std::uint32_t* const none  = nullptr;
  EXPECT_THROW(runtime::launch(fill_shared<std::uint32_t>, {1, 256, too_much}, nullptr, none, 0u),
               thrust::system_error);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  EXPECT_EQ(sum_by_launch(nullptr), expected_sum());
}

TEST(KernelFacts, AreAskedOnce)
{
  kernel_facts& facts = facts_of_fill();
  EXPECT_EQ(&facts, &facts_of_fill());
  int asked      = 0;
  auto const ask = [&] { return 100 + asked++; };
  EXPECT_EQ(facts.room_for(96, 0, 1, ask), 100);
  EXPECT_EQ(facts.room_for(96, 0, 1, ask), 100);
  EXPECT_EQ(facts.room_for(96, 0, 2, ask), 101);
  EXPECT_EQ(facts.room_for(96, 16, 1, ask), 102);
  EXPECT_EQ(facts.room_for(32, 0, 1, ask), 103);
  EXPECT_EQ(facts.room_for(96, 0, 2, ask), 101);
  EXPECT_EQ(asked, 4);
  // That there is no room may change.
  int refused = 0;
  EXPECT_EQ(facts.room_for(64, 0, 1, [&] { return refused++ > 0 ? 7 : 0; }), 0);
  EXPECT_EQ(facts.room_for(64, 0, 1, [&] { return refused++ > 0 ? 7 : 0; }), 7);
  EXPECT_EQ(facts.room_for(64, 0, 1, [&] { return refused++ > 0 ? 9 : 0; }), 7);
}

TEST(KernelFacts, AreOfAThread)
{
  kernel_facts const* const here = &facts_of_fill();
  kernel_facts const* there      = here;
  std::thread([&there] { there = &facts_of_fill(); }).join();
  EXPECT_NE(here, there);
}

TEST(KernelFacts, RoomIsWhatTheDeviceHas)
{
  auto* const kernel           = fill_shared<std::uint32_t>;
  std::size_t const processors = multiprocessors();
  for (int time = 0; time < 2; ++time)
  {
    EXPECT_TRUE(can_run_together(kernel, {processors, 256, much_shared_bytes}));
    EXPECT_FALSE(can_run_together(kernel, {processors * 4096, 256, much_shared_bytes}));
    EXPECT_FALSE(can_run_together(kernel, {1, 256, shared_bytes_of_device() + 1024}));
    EXPECT_FALSE(can_launch_cluster(kernel, {64, 256, 0, 0, 64}, nullptr)); // no device has clusters of 64
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  }
}

TEST(KernelFacts, OfNoKernelAreRefused)
{
  int const no_kernel = 0;
  EXPECT_THROW((void) facts_of(&no_kernel), thrust::system_error);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

} // namespace
} // namespace gpusort::runtime
