// What a drop-in keeps of Thrust: which calls wait, which stream they use, graphs, and several callers at once.
#include <testing/support/allocators.cuh>
#include <testing/support/device_memory.cuh>
#include <testing/support/graphs.cuh>
#include <testing/support/inputs.h>
#include <testing/support/oracle.cuh>
#include <testing/support/types.cuh>

#include <gpusort/sort.h>
#include <gpusort/workspace.h>
#include <gtest/gtest.h>

#include <thrust/execution_policy.h>
#include <thrust/iterator/reverse_iterator.h>
#include <thrust/system/cuda/execution_policy.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace gpusort::testing
{
namespace
{

using key = std::uint32_t;

constexpr std::size_t n = 100'003; // several tiles of every back end

/// Under a sanitizer, and interpreted, everything takes long.
bool in_a_hurry()
{
  return std::getenv("GPUSORT_TEST_STEP") != nullptr;
}

host_array<key> input(std::uint64_t seed = 1)
{
  return keys_of<key>(distribution::uniform, n, seed);
}

host_array<key> sorted(host_array<key> const& keys)
{
  host_array<key> result(keys);
  std::sort(result.begin(), result.end());
  return result;
}

/// Calls f(name, algorithm) for each algorithm that runs on the device: the stable ones, or all.
template <class F>
void for_each_stable_algorithm(F f)
{
  f("automatic", gpusort::automatic);
  f("radix_sort", gpusort::radix_sort);
  f("merge_sort", gpusort::merge_sort);
  f("hybrid_sort", gpusort::hybrid_sort);
}
template <class F>
void for_each_algorithm(F f)
{
  for_each_stable_algorithm(f);
  f("quicksort", gpusort::quicksort);
}

// "Alone" in a suite's name: kernels of several streams have to overlap, so no sanitizer and nobody else on the GPU.

/// Kernels are loaded when they are first launched, which may wait for what runs: load them before a stream is held.
template <class Algorithm>
void load_kernels(Algorithm algorithm, guarded_array<key>& keys, host_array<key> const& in)
{
  keys.load(in);
  own_stream const stream;
  gpusort::sort(algorithm(thrust::cuda::par.on(stream)), keys.begin(), keys.end());
}

TEST(WaitingAlone, ParNosyncReturnsBeforeTheStreamGetsThere)
{
  host_array<key> const in = input();
  for_each_algorithm([&](char const* name, auto algorithm) {
    SCOPED_TRACE(name);
    guarded_array<key> keys(n);
    load_kernels(algorithm, keys, in);
    keys.load(in);
    own_stream const stream;
    {
      held_stream held(stream);
      gpusort::sort(algorithm(thrust::cuda::par_nosync.on(stream)), keys.begin(), keys.end());
      EXPECT_TRUE(held.is_held()) << "the call waited";
      held.release();
    }
    EXPECT_TRUE(keys.holds(sorted(in)));
  });
}

TEST(WaitingAlone, ParNosyncWithAWorkspaceToo)
{
  host_array<key> const in = input();
  for_each_algorithm([&](char const* name, auto algorithm) {
    SCOPED_TRACE(name);
    guarded_array<key> keys(n);
    load_kernels(algorithm, keys, in);
    keys.load(in);
    std::size_t const bytes = gpusort::workspace_bytes(algorithm(thrust::cuda::par_nosync), keys.begin(), keys.end());
    guarded_array<char> memory(bytes);
    gpusort::workspace ws{memory.begin(), bytes};
    own_stream const stream;
    {
      held_stream held(stream);
      gpusort::sort(algorithm(thrust::cuda::par_nosync(ws).on(stream)), keys.begin(), keys.end());
      EXPECT_TRUE(held.is_held()) << "the call waited";
      held.release();
    }
    EXPECT_TRUE(keys.holds(sorted(in)));
  });
}

TEST(WaitingAlone, ParWaitsForItsStream)
{
  host_array<key> const in = input();
  for_each_algorithm([&](char const* name, auto algorithm) {
    SCOPED_TRACE(name);
    guarded_array<key> keys(n);
    load_kernels(algorithm, keys, in);
    keys.load(in);
    own_stream const stream;
    keep_busy(stream, 20'000'000);
    gpusort::sort(algorithm(thrust::cuda::par.on(stream)), keys.begin(), keys.end());
    EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess) << "the call did not wait";
    EXPECT_TRUE(keys.holds(sorted(in)));
  });
}

TEST(WaitingAlone, DeviceWaitsForTheDefaultStream)
{
  host_array<key> const in = input();
  guarded_array<key> keys(n);
  load_kernels(gpusort::automatic, keys, in);
  keys.load(in);
  keep_busy(cudaStreamLegacy, 20'000'000);
  gpusort::sort(thrust::device, keys.begin(), keys.end());
  EXPECT_EQ(cudaStreamQuery(cudaStreamLegacy), cudaSuccess) << "the call did not wait";
  EXPECT_TRUE(keys.holds(sorted(in)));
}

TEST(StreamAlone, ParWaitsForNoOtherStream)
{
  host_array<key> const in = input();
  for_each_algorithm([&](char const* name, auto algorithm) {
    SCOPED_TRACE(name);
    guarded_array<key> keys(n);
    load_kernels(algorithm, keys, in);
    keys.load(in);
    own_stream const stream;
    {
      held_stream held(cudaStreamLegacy);
      gpusort::sort(algorithm(thrust::cuda::par.on(stream)), keys.begin(), keys.end());
      EXPECT_TRUE(held.is_held()) << "the call waited for the default stream";
      EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess);
    }
    EXPECT_TRUE(keys.holds(sorted(in)));
  });
}

struct wide
{
  std::uint32_t words[25];
};

TEST(StreamAlone, StagedAndIndexedElementsUseItToo)
{
  // Reversed keys are staged, values of 100 bytes are gathered by index: kernels of the dispatch, not of a back end.
  host_array<key> const in = input();
  host_array<wide> attached(n);
  for (std::size_t i = 0; i < n; ++i)
  {
    std::fill(std::begin(attached[i].words), std::end(attached[i].words), in[i]);
  }
  std::vector<key> const expected = [&] {
    host_array<key> const ascending = sorted(in);
    return std::vector<key>(std::make_reverse_iterator(ascending.end()), std::make_reverse_iterator(ascending.begin()));
  }();
  guarded_array<key> keys(n);
  guarded_array<wide> values(n);
  own_stream const stream;
  for (int round = 0; round < 2; ++round) // the first one loads the kernels
  {
    keys.load(in);
    values.load(attached);
    auto const sort = [&] {
      gpusort::sort_by_key(gpusort::radix_sort(thrust::cuda::par.on(stream)),
                           thrust::make_reverse_iterator(keys.end()),
                           thrust::make_reverse_iterator(keys.begin()),
                           thrust::make_reverse_iterator(values.end()));
    };
    if (round == 0)
    {
      sort();
      continue;
    }
    held_stream held(cudaStreamLegacy);
    sort();
    EXPECT_TRUE(held.is_held()) << "the call waited for the default stream";
  }
  EXPECT_TRUE(keys.holds(expected.data()));
  host_array<wide> const moved = values.read();
  for (std::size_t i = 0; i < n; ++i)
  {
    ASSERT_TRUE(
      std::all_of(std::begin(moved[i].words), std::end(moved[i].words), [&](key word) { return word == expected[i]; }))
      << "value " << i;
  }
}

__global__ void fill_downwards(key* keys, std::size_t count)
{
  for (std::size_t i = threadIdx.x; i < count; i += blockDim.x)
  {
    keys[i] = static_cast<key>(count - i);
  }
}

TEST(Stream, WorkBeforeAndAfterIsInOrder)
{
  std::vector<key> expected(n);
  for (std::size_t i = 0; i < n; ++i)
  {
    expected[i] = static_cast<key>(i + 1);
  }
  for_each_algorithm([&](char const* name, auto algorithm) {
    SCOPED_TRACE(name);
    guarded_array<key> keys(n), copy(n);
    keys.load(input());
    copy.load(input(2));
    own_stream const stream;
    keep_busy(stream, 20'000'000);
    fill_downwards<<<1, 1024, 0, stream>>>(keys.begin(), n);
    gpusort::sort(algorithm(thrust::cuda::par_nosync.on(stream)), keys.begin(), keys.end());
    require(cudaMemcpyAsync(copy.begin(), keys.begin(), n * sizeof(key), cudaMemcpyDeviceToDevice, stream), "copy");
    require(cudaStreamSynchronize(stream), "wait");
    EXPECT_TRUE(copy.holds(expected.data()));
  });
}

/// Several tiles, or one wave of radix sort, what a cluster of radix sort takes, and what one of merge sort takes.
constexpr std::size_t sizes_in_graphs[] = {n, 12'007, 5'000};

/// Replays a captured sort of so many elements with new contents each time.
template <class SortAll>
void replay(std::size_t count, SortAll sort_all, std::size_t allocation_nodes)
{
  own_stream const stream;
  guarded_array<key> keys(count);
  guarded_array<std::uint32_t> values(count);
  using contents  = expectation<key, std::uint32_t>;
  auto const load = [&](contents const& e) {
    keys.load(e.keys);
    values.load(e.attached.array);
  };
  load(contents(keys_of<key>(distribution::uniform, count), thrust::less<key>{}));
  captured_call graph(stream, [&] {
    sort_all(static_cast<cudaStream_t>(stream), keys.begin(), keys.end(), values.begin());
  });
  EXPECT_GT(graph.nodes(), 0u);
  EXPECT_EQ(graph.nodes_of(cudaGraphNodeTypeMemAlloc), allocation_nodes);
  EXPECT_EQ(graph.nodes_of(cudaGraphNodeTypeMemFree), allocation_nodes);
  EXPECT_EQ(graph.nodes_of(cudaGraphNodeTypeHost), 0u);
  for (std::uint64_t round = 0; round < std::size(all_distributions); round += in_a_hurry() ? 5 : 1)
  {
    SCOPED_TRACE(round);
    contents const e(keys_of<key>(all_distributions[round], count, round), thrust::less<key>{});
    load(e);
    graph.launch(stream);
    require(cudaStreamSynchronize(stream), "replay");
    EXPECT_TRUE(keys.holds(e.sorted_keys));
    EXPECT_TRUE(values.holds(e.sorted_attached.array));
  }
}

TEST(Graph, CaptureWithStreamOrderedMemory)
{
  for_each_stable_algorithm([&](char const* name, auto algorithm) {
    SCOPED_TRACE(name);
    for (std::size_t const count : sizes_in_graphs)
    {
      replay(
        count,
        [&](cudaStream_t stream, key* first, key* last, std::uint32_t* values) {
          gpusort::stable_sort_by_key(algorithm(thrust::cuda::par_nosync.on(stream)), first, last, values);
        },
        1);
    }
  });
}

TEST(Graph, CaptureWithAWorkspaceAllocatesNothing)
{
  for_each_stable_algorithm([&](char const* name, auto algorithm) {
    SCOPED_TRACE(name);
    key* const none         = nullptr;
    std::size_t const bytes = gpusort::workspace_bytes_by_key(
      algorithm(thrust::cuda::par_nosync), none, none + n, static_cast<std::uint32_t*>(nullptr));
    guarded_array<char> memory(bytes);
    gpusort::workspace ws{memory.begin(), bytes};
    for (std::size_t const count : sizes_in_graphs)
    {
      replay(
        count,
        [&](cudaStream_t stream, key* first, key* last, std::uint32_t* values) {
          gpusort::stable_sort_by_key(algorithm(thrust::cuda::par_nosync(ws).on(stream)), first, last, values);
        },
        0);
    }
  });
}

/// So many that quicksort splits them, in two levels, whose segments it goes on with on the device.
TEST(Graph, CaptureOfMillionsByQuicksort)
{
  std::size_t const count = 5'000'011;
  key* const none         = nullptr;
  std::size_t const bytes = gpusort::workspace_bytes(gpusort::quicksort(thrust::cuda::par_nosync), none, none + count);
  guarded_array<char> memory(bytes);
  gpusort::workspace ws{memory.begin(), bytes};
  own_stream const stream;
  guarded_array<key> keys(count);
  keys.load(keys_of<key>(distribution::uniform, count));
  captured_call graph(stream, [&] {
    gpusort::sort(gpusort::quicksort(thrust::cuda::par_nosync(ws).on(stream)), keys.begin(), keys.end());
  });
  EXPECT_EQ(graph.nodes_of(cudaGraphNodeTypeMemAlloc), 0u);
  EXPECT_EQ(graph.nodes_of(cudaGraphNodeTypeHost), 0u);
  for (std::uint64_t round = 0; round < std::size(all_distributions); ++round)
  {
    SCOPED_TRACE(round);
    host_array<key> const in = keys_of<key>(all_distributions[round], count, round);
    keys.load(in);
    graph.launch(stream);
    require(cudaStreamSynchronize(stream), "replay");
    EXPECT_TRUE(keys.holds(sorted(in)));
  }
}

TEST(Graph, EmptyAndOneElementRangesEnqueueNothing)
{
  own_stream const stream;
  guarded_array<key> keys(1), values(1);
  host_array<key> const one = keys_of<key>(distribution::uniform, 1);
  keys.load(one);
  values.load(one);
  for_each_stable_algorithm([&](char const* name, auto algorithm) {
    SCOPED_TRACE(name);
    throwing_allocator allocator;
    captured_call const graph(stream, [&] {
      auto const policy = algorithm(thrust::cuda::par_nosync(allocator).on(stream));
      key* const none   = nullptr;
      gpusort::sort(policy, none, none);
      gpusort::stable_sort(policy, none, none);
      gpusort::sort_by_key(policy, none, none, none);
      gpusort::stable_sort_by_key(policy, none, none, none);
      gpusort::sort(policy, keys.begin(), keys.begin());
      gpusort::sort(policy, keys.begin(), keys.begin() + 1);
      gpusort::stable_sort(policy, keys.begin(), keys.begin() + 1, thrust::greater<key>{});
      gpusort::sort_by_key(policy, keys.begin(), keys.begin() + 1, values.begin());
      gpusort::stable_sort_by_key(policy, keys.begin(), keys.begin() + 1, values.begin(), thrust::less<key>{});
      // Not even staged.
      gpusort::sort(
        policy, thrust::make_reverse_iterator(keys.begin() + 1), thrust::make_reverse_iterator(keys.begin()));
    });
    EXPECT_EQ(graph.nodes(), 0u);
    EXPECT_EQ(allocator.calls, 0);
  });
  EXPECT_TRUE(keys.holds(one));
  EXPECT_TRUE(values.holds(one));
}

TEST(Concurrency, OneThreadManyStreams)
{
  constexpr std::size_t streams = 8;
  std::vector<std::unique_ptr<own_stream>> stream;
  std::vector<std::unique_ptr<guarded_array<key>>> keys;
  std::vector<host_array<key>> in;
  for (std::size_t s = 0; s < streams; ++s)
  {
    stream.push_back(std::make_unique<own_stream>());
    keys.push_back(std::make_unique<guarded_array<key>>(n));
    in.push_back(input(s + 1));
    keys.back()->load(in.back());
  }
  for (std::size_t s = 0; s < streams; ++s)
  {
    auto const policy = thrust::cuda::par_nosync.on(*stream[s]);
    if (s % 2 == 0)
    {
      gpusort::sort(gpusort::radix_sort(policy), keys[s]->begin(), keys[s]->end());
    }
    else
    {
      gpusort::sort(gpusort::merge_sort(policy), keys[s]->begin(), keys[s]->end());
    }
  }
  for (std::size_t s = 0; s < streams; ++s)
  {
    require(cudaStreamSynchronize(*stream[s]), "wait");
    EXPECT_TRUE(keys[s]->holds(sorted(in[s]))) << "stream " << s;
  }
}

TEST(Concurrency, ManyThreads)
{
  constexpr std::size_t threads = 8;
  std::vector<std::string> failures(threads);
  std::vector<std::thread> workers;
  for (std::size_t t = 0; t < threads; ++t)
  {
    workers.emplace_back([t, &failures] {
      try
      {
        own_stream const stream;
        guarded_array<key> keys(n);
        for (std::size_t round = 0; round < (in_a_hurry() ? 2u : 10u); ++round)
        {
          host_array<key> const in = input(t * 100 + round);
          keys.load(in);
          if (t % 3 == 0)
          {
            gpusort::sort(gpusort::merge_sort(thrust::cuda::par.on(stream)), keys.begin(), keys.end());
          }
          else if (t % 3 == 1)
          {
            gpusort::sort(gpusort::radix_sort(thrust::cuda::par.on(stream)), keys.begin(), keys.end());
          }
          else
          {
            gpusort::sort(thrust::device, keys.begin(), keys.end());
          }
          ::testing::AssertionResult const right = keys.holds(sorted(in));
          if (!right)
          {
            failures[t] = right.message();
          }
        }
      }
      catch (std::exception const& e)
      {
        failures[t] = e.what();
      }
    });
  }
  for (std::thread& worker : workers)
  {
    worker.join();
  }
  for (std::size_t t = 0; t < threads; ++t)
  {
    EXPECT_EQ(failures[t], "") << "thread " << t;
  }
}

} // namespace
} // namespace gpusort::testing
