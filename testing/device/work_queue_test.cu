// Works that blocks share out: that every one is done by one block, whatever they take and however far ahead blocks look, and that all threads of
// a block get the same number and are told the same.
#include <testing/support/owned_memory.cuh>

#include <gpusort/block/work_queue.cuh>
#include <gtest/gtest.h>
#include <thrust/copy.h>
#include <thrust/device_vector.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpusort::block
{
namespace
{

/// What became of a work: how many threads have had it, and how many of them were told something.
struct outcome
{
  std::uint32_t threads;
  std::uint32_t told;
};

/// How blocks go about it.
struct manner
{
  bool given; // blocks begin with the work of their own number
  bool looks_ahead;
  std::uint32_t tells_at; // the first thread of the block that has this work says so from then on
};

/// Grid: any. Block: any.
template <class Number>
__global__ void take_works(Number* taken, Number count, manner how, outcome* outcomes, std::uint32_t* teller)
{
  __shared__ Number slot;
  work_queue<Number> queue(taken, slot, how.given ? Number{gridDim.x} : Number{0});
  bool told = false;
  for (Number w = how.given ? Number{blockIdx.x} : queue.next(told); w < count; w = queue.next(told))
  {
    if (how.looks_ahead)
    {
      queue.look_ahead();
    }
    atomicAdd(&outcomes[w].threads, 1u);
    if (told)
    {
      atomicAdd(&outcomes[w].told, 1u);
    }
    if (w == how.tells_at && threadIdx.x == 0)
    {
      told    = true;
      *teller = blockIdx.x + 1;
    }
    // Works take longer or less long, and so do threads.
    if (w % 7 == 0 || threadIdx.x % 64 == 5)
    {
      __nanosleep(static_cast<unsigned>(w % 13) * 100);
    }
  }
}

template <class Number>
class work_queue_of : public ::testing::Test
{};
using numbers = ::testing::Types<std::uint32_t, unsigned long long>;
TYPED_TEST_SUITE(work_queue_of, numbers, );

TYPED_TEST(work_queue_of, EveryWorkIsDoneByOneBlock)
{
  constexpr unsigned threads = 96;
  for (unsigned const blocks : {1u, 3u, 40u})
  {
    for (std::uint32_t const count : {0u, 1u, 2u, 39u, 40u, 41u, 700u})
    {
      for (bool const given : {false, true})
      {
        for (bool const looks_ahead : {false, true})
        {
          SCOPED_TRACE(::testing::Message()
                       << blocks << " blocks, " << count << " works, given " << given << ", ahead " << looks_ahead);
          gpusort::testing::device_variable<TypeParam> taken(0);
          gpusort::testing::device_variable<std::uint32_t> teller(0);
          thrust::device_vector<outcome> outcomes(count + 1, outcome{0, 0});
          manner const how{given, looks_ahead, count / 3};
          take_works<TypeParam>
            <<<blocks, threads>>>(taken.get(), count, how, thrust::raw_pointer_cast(outcomes.data()), teller.get());
          gpusort::testing::require(cudaGetLastError(), "take works");
          gpusort::testing::require(cudaDeviceSynchronize(), "take works");
          std::vector<outcome> found(outcomes.size());
          thrust::copy(outcomes.begin(), outcomes.end(), found.begin());
          std::uint32_t told_works = 0;
          for (std::uint32_t w = 0; w < count; ++w)
          {
            ASSERT_EQ(found[w].threads, threads) << w;
            ASSERT_TRUE(found[w].told == 0 || found[w].told == threads) << w;
            ASSERT_TRUE(found[w].told == 0 || w > how.tells_at) << w;
            told_works += found[w].told == 0 ? 0 : 1;
          }
          ASSERT_EQ(found[count].threads, 0u);
          ASSERT_EQ(teller.read() != 0, count > 0);
          if (blocks == 1 && count > 0)
          {
            ASSERT_EQ(told_works, count - 1 - how.tells_at); // one block does all, in order
          }
        }
      }
    }
  }
}

} // namespace
} // namespace gpusort::block
