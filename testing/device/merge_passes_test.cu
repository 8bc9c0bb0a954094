// The passes of merge sort that merge several runs at once: every number of runs, what runs may have of a tile, comparators that
// contradict themselves, and where runs are cut.
#include <testing/support/cases.h>
#include <testing/support/device_memory.cuh>
#include <testing/support/graphs.cuh>
#include <testing/support/splitting.cuh>

#include <gpusort/algorithm.h>
#include <gpusort/block/merge.cuh>
#include <gpusort/merge/device.cuh>
#include <gpusort/merge/tuning.h>
#include <gpusort/sort.h>
#include <gpusort/workspace.h>
#include <gtest/gtest.h>
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

namespace
{

namespace merge = gpusort::merge;
using gpusort::testing::guarded_array;
using gpusort::testing::in_a_hurry;
using gpusort::testing::mixed;

/// Merge sort that merges few runs at a time, however few elements there are.
struct few_ways_t : gpusort::algorithm<few_ways_t>
{
  static constexpr bool is_stable = true;
  template <class Key, class Compare>
  static constexpr bool supports = true;
};
constexpr few_ways_t few_ways{};

} // namespace

template <>
struct gpusort::device_backend<few_ways_t> : gpusort::merge::few_ways
{};

namespace
{

/// A record that blocks do not move about, but number.
struct wide_record
{
  std::uint64_t key;
  std::uint64_t rest[7];

  wide_record() = default;
  explicit wide_record(std::uint64_t k)
      : key(k)
      , rest{~k, k * 3, k * 5, k * 7, k * 9, k * 11, k * 13}
  {}
  friend bool operator==(wide_record const& a, wide_record const& b)
  {
    return a.key == b.key && std::equal(a.rest, a.rest + 7, b.rest);
  }
};

__host__ __device__ std::uint64_t number_of(std::uint32_t key)
{
  return key;
}
__host__ __device__ std::uint64_t number_of(wide_record const& record)
{
  return record.key;
}

/// What a comparator answers: the last four contradict themselves.
enum class answer
{
  less,
  lowest_byte_less, // most elements are equivalent to others
  not_greater,
  always,
  by_chance,
  seldom_wrong // so that any pass may be the first to find out
};

struct comparator
{
  answer kind;

  template <class Key>
  __host__ __device__ bool operator()(Key const& x, Key const& y) const
  {
    std::uint64_t const a = number_of(x), b = number_of(y);
    switch (kind)
    {
      case answer::less:
        return a < b;
      case answer::lowest_byte_less:
        return (a & 0xff) < (b & 0xff);
      case answer::not_greater:
        return a <= b;
      case answer::always:
        return true;
      case answer::by_chance:
      case answer::seldom_wrong:
      {
        std::uint32_t now = 0;
#ifdef __CUDA_ARCH__
        now = static_cast<std::uint32_t>(clock64()) * 0x9e3779b9u;
#endif
        return kind == answer::by_chance ? now >> 31 != 0 : now >> 14 == 0 ? b < a : a < b;
      }
    }
    return false;
  }
};

template <class Key, class Value>
constexpr std::size_t run_v = merge::first_run_v<Key, Value>;

/// Elements in up to 65 and a half first runs: one, two and three passes, of which the first may be of two runs, or of four.
template <class Key, class Value>
std::vector<std::size_t> sizes()
{
  constexpr std::size_t run = run_v<Key, Value>;
  if (in_a_hurry())
  {
    return {run + 1, 2 * run + 1, 9 * run + 5, 17 * run - 1};
  }
  return {
    1,
    2,
    run - 1,
    run,
    run + 1,
    2 * run - 1,
    2 * run,
    2 * run + 1,
    3 * run,
    4 * run,
    4 * run + 1,
    7 * run + 3,
    8 * run,
    8 * run + 1,
    9 * run + 5,
    16 * run,
    16 * run + 1,
    17 * run - 1,
    31 * run,
    33 * run + 7,
    64 * run,
    65 * run + run / 2};
}

template <class Key>
std::vector<Key>
keys_by(std::size_t n, std::uint64_t (*number)(std::uint64_t, std::uint64_t, std::uint64_t), std::size_t run)
{
  std::vector<Key> keys;
  keys.reserve(n);
  for (std::size_t i = 0; i < n; ++i)
  {
    keys.push_back(Key(static_cast<std::uint32_t>(number(i, n, run))));
  }
  return keys;
}

/// Numbers of the i-th of n elements, whose first runs have `run`.
using numbering = std::uint64_t (*)(std::uint64_t i, std::uint64_t n, std::uint64_t run);
constexpr std::pair<char const*, numbering> inputs[] = {
  {"uniform", [](std::uint64_t i, std::uint64_t, std::uint64_t) { return mixed(i); }},
  {"seven values", [](std::uint64_t i, std::uint64_t, std::uint64_t) { return mixed(i) % 7; }},
  {"sorted", [](std::uint64_t i, std::uint64_t, std::uint64_t) { return i; }},
  {"sorted but for the last one",
   [](std::uint64_t i, std::uint64_t n, std::uint64_t) { return i + 1 < n ? i : std::uint64_t{0}; }},
  {"reversed", [](std::uint64_t i, std::uint64_t n, std::uint64_t) { return n - i; }},
  {"reversed with two equal ones",
   [](std::uint64_t i, std::uint64_t n, std::uint64_t) { return i == n / 2 ? n - i + 1 : n - i; }},
  {"all equal", [](std::uint64_t, std::uint64_t, std::uint64_t) { return std::uint64_t{5}; }},
  {"runs alike", [](std::uint64_t i, std::uint64_t, std::uint64_t run) { return mixed(i % run); }},
  {"runs in descending order",
   [](std::uint64_t i, std::uint64_t n, std::uint64_t run) { return (n - i) / run * run + mixed(i) % run; }},
  {"every other run below the rest",
   [](std::uint64_t i, std::uint64_t, std::uint64_t run) { return (i / run % 2 << 31) + mixed(i) % 1'000'000; }},
  {"one run with almost all of the least",
   [](std::uint64_t i, std::uint64_t, std::uint64_t run) { return i / run == 1 ? i % 3 : 2 + mixed(i) % 1000; }}};

using gpusort::no_value;

template <class Key, class Value>
void check_stable(std::vector<Key> const& keys, comparator comp)
{
  std::size_t const n = keys.size();
  guarded_array<Key> room(n);
  if constexpr (std::is_same_v<Value, no_value>)
  {
    gpusort::testing::stable_result<Key, std::uint32_t> const expected(keys, comp);
    Key* const first = room.load(keys.data(), n, 1);
    gpusort::stable_sort(few_ways(thrust::device), first, first + n, comp);
    EXPECT_TRUE(room.holds(expected.keys.data())) << "keys";
  }
  else
  {
    gpusort::testing::stable_result<Key, Value> const expected(keys, comp);
    guarded_array<Value> values(n);
    Key* const first     = room.load(keys.data(), n, 3);
    Value* const carried = values.load(expected.positions.data(), n, 1);
    gpusort::stable_sort_by_key(few_ways(thrust::device), first, first + n, carried, comp);
    EXPECT_TRUE(room.holds(expected.keys.data())) << "keys";
    EXPECT_TRUE(values.holds(expected.sorted_positions.data())) << "values";
  }
}

template <class Key, class Value>
void check_all_inputs()
{
  for (std::size_t const n : sizes<Key, Value>())
  {
    for (auto const& [name, number] : inputs)
    {
      SCOPED_TRACE(::testing::Message() << n << " elements, " << name);
      std::vector<Key> const keys = keys_by<Key>(n, number, run_v<Key, Value>);
      check_stable<Key, Value>(keys, {answer::less});
      check_stable<Key, Value>(keys, {answer::lowest_byte_less});
    }
  }
}

TEST(MergePassesOfWords, StaySortedAndStable)
{
  check_all_inputs<std::uint32_t, std::uint32_t>();
  check_all_inputs<std::uint32_t, no_value>();
}

struct counting_comparator
{
  unsigned long long* calls;

  template <class Key>
  __device__ bool operator()(Key const& x, Key const& y) const
  {
    atomicAdd(calls, 1ull);
    return number_of(x) < number_of(y);
  }
};

/// An input that is in order, or reversed, is looked at once, after a glance, and not sorted.
template <class Key>
void check_looks()
{
  using gpusort::testing::require;
  std::size_t const run = run_v<Key, no_value>;
  for (std::size_t const n : {run + 1, 9 * run + 5})
  {
    for (int const way : {1, 0, -1})
    {
      SCOPED_TRACE(::testing::Message() << n << " elements, which go " << way);
      std::vector<Key> keys;
      for (std::size_t i = 0; i < n; ++i)
      {
        keys.push_back(Key(static_cast<std::uint32_t>(way > 0 ? i : way < 0 ? n - i : 5)));
      }
      guarded_array<Key> room(n);
      thrust::device_vector<unsigned long long> calls(1, 0);
      Key* const first = room.load(keys.data(), n, 1);
      gpusort::stable_sort(
        few_ways(thrust::device), first, first + n, counting_comparator{thrust::raw_pointer_cast(calls.data())});
      if (way < 0)
      {
        std::reverse(keys.begin(), keys.end());
      }
      EXPECT_TRUE(room.holds(keys.data()));
      EXPECT_GE(calls[0], n - 1);
      EXPECT_LE(calls[0], n - 1 + merge::look_threads * merge::glance_rows);
    }
  }
}

TEST(MergePassesOfWords, LookAtInputInOrderOnce)
{
  check_looks<std::uint32_t>();
}

TEST(MergePassesOfRecords, LookAtInputInOrderOnce)
{
  check_looks<wide_record>();
}

TEST(MergePassesOfRecords, StaySortedAndStable)
{
  check_all_inputs<wide_record, std::uint32_t>();
  check_all_inputs<wide_record, no_value>();
}

/// The launches of a merge sort of n elements, in memory that it is given.
template <class Key>
std::size_t launches_of(std::size_t n)
{
  gpusort::testing::own_stream const stream;
  thrust::device_vector<Key> keys(n);
  Key* const first = thrust::raw_pointer_cast(keys.data());
  std::size_t const bytes =
    gpusort::workspace_bytes(gpusort::merge_sort(thrust::device), first, first + n, comparator{});
  thrust::device_vector<char> memory(bytes);
  gpusort::workspace ws{thrust::raw_pointer_cast(memory.data()), bytes};
  gpusort::testing::captured_call const graph(stream, [&] {
    gpusort::stable_sort(
      gpusort::merge_sort(thrust::cuda::par_nosync(ws).on(stream)), first, first + n, comparator{answer::less});
  });
  return graph.nodes();
}

TEST(ManyWays, AreFewLaunches)
{
  auto const passes_of = [](std::size_t n, std::size_t key_bytes) {
    return merge::many_way_plan_of(n, key_bytes, 0).passes;
  };
  // Passes are one launch, behind that of tiles; a single one has another behind it. What is tried by value takes two more, for which not every device has
  // room, and none behind the pass.
  for (std::size_t const n : {20'000u, 60'000u, 70'000u, 200'000u, 300'000u, 1'000'000u})
  {
    std::size_t const alone    = passes_of(n, sizeof(std::uint32_t)) > 1 ? 2 : 3;
    std::size_t const launches = launches_of<std::uint32_t>(n);
    EXPECT_TRUE(launches == alone || (launches == 4 && n >= merge::least_in_wave)) << n << " in " << launches;
  }
  for (std::size_t const n : {10'000u, 20'000u, 60'000u})
  {
    int const passes = passes_of(n, sizeof(wide_record));
    EXPECT_EQ(launches_of<wide_record>(n), passes == 1 ? 3u : 2u) << n << " in " << passes << " passes";
  }
}

/// Passes of one launch count the blocks that are done: each time anew.
template <class Key>
void check_replays(std::size_t n, int passes)
{
  ASSERT_EQ(merge::many_way_plan_of(n, sizeof(Key), 0).passes, passes);
  gpusort::testing::own_stream const stream;
  thrust::device_vector<Key> keys(n);
  Key* const first = thrust::raw_pointer_cast(keys.data());
  comparator const by_lowest_byte{answer::lowest_byte_less};
  std::size_t const bytes =
    gpusort::workspace_bytes(gpusort::merge_sort(thrust::device), first, first + n, by_lowest_byte);
  thrust::device_vector<char> memory(bytes, static_cast<char>(0xab));
  gpusort::workspace ws{thrust::raw_pointer_cast(memory.data()), bytes};
  gpusort::testing::captured_call graph(stream, [&] {
    gpusort::stable_sort(
      gpusort::merge_sort(thrust::cuda::par_nosync(ws).on(stream)), first, first + n, by_lowest_byte);
  });
  for (std::uint32_t round = 0; round < 3; ++round)
  {
    std::vector<Key> expected(n);
    for (std::size_t i = 0; i < n; ++i)
    {
      expected[i] = Key(static_cast<std::uint32_t>(mixed(i + round * n)));
    }
    thrust::copy(expected.begin(), expected.end(), keys.begin());
    graph.launch(stream);
    gpusort::testing::require(cudaStreamSynchronize(stream), "replay");
    std::stable_sort(expected.begin(), expected.end(), by_lowest_byte);
    std::vector<Key> sorted(n);
    thrust::copy(keys.begin(), keys.end(), sorted.begin());
    EXPECT_TRUE(sorted == expected) << "round " << round;
  }
}

TEST(ManyWays, MayBeReplayed)
{
  check_replays<wide_record>(13'001, 2);
  if (!in_a_hurry())
  {
    check_replays<wide_record>(60'011, 3);
    check_replays<std::uint32_t>(70'001, 1);
    check_replays<std::uint32_t>(300'007, 2);
  }
}

/// The elements are those that came in, each value beside its key, and the guards are whole.
template <class Key, class Value>
void check_liars()
{
  for (std::size_t const n : sizes<Key, Value>())
  {
    std::vector<Key> const keys = keys_by<Key>(n, inputs[0].second, run_v<Key, Value>);
    std::vector<Value> positions(n);
    std::iota(positions.begin(), positions.end(), Value{0});
    std::vector<Key> sorted = keys;
    std::sort(sorted.begin(), sorted.end(), [](Key const& a, Key const& b) { return number_of(a) < number_of(b); });
    for (answer const kind : {answer::not_greater, answer::always, answer::by_chance, answer::seldom_wrong})
    {
      SCOPED_TRACE(::testing::Message() << n << " elements, liar " << static_cast<int>(kind));
      guarded_array<Key> room(n);
      guarded_array<Value> values(n);
      Key* first           = room.load(keys.data(), n, 1);
      Value* const carried = values.load(positions.data(), n, 1);
      gpusort::sort_by_key(few_ways(thrust::device), first, first + n, carried, comparator{kind});
      std::vector<Key> out(n);
      std::vector<Value> from(n);
      gpusort::testing::require(cudaMemcpy(out.data(), first, n * sizeof(Key), cudaMemcpyDeviceToHost), "keys");
      gpusort::testing::require(cudaMemcpy(from.data(), carried, n * sizeof(Value), cudaMemcpyDeviceToHost), "values");
      EXPECT_TRUE(room.holds(out.data()) && values.holds(from.data())) << "guards";
      std::vector<bool> met(n);
      for (std::size_t i = 0; i < n; ++i)
      {
        auto const position = static_cast<std::size_t>(from[i]);
        if (position >= n || met[position] || !(out[i] == keys[position]))
        {
          ADD_FAILURE() << "element " << i << " is none that came in, or one a second time";
          break;
        }
        met[position] = true;
      }
      first = room.load(keys.data(), n, 3);
      gpusort::sort(few_ways(thrust::device), first, first + n, comparator{kind});
      gpusort::testing::require(cudaMemcpy(out.data(), first, n * sizeof(Key), cudaMemcpyDeviceToHost), "keys");
      EXPECT_TRUE(room.holds(out.data())) << "guards, keys alone";
      auto const by_number = [](Key const& a, Key const& b) { return number_of(a) < number_of(b); };
      std::sort(out.begin(), out.end(), by_number);
      EXPECT_TRUE(out == sorted) << "other keys";
    }
  }
}

TEST(MergePassesOfWords, ComparatorsThatLieLoseNothing)
{
  check_liars<std::uint32_t, std::uint32_t>();
}

TEST(MergePassesOfRecords, ComparatorsThatLieLoseNothing)
{
  check_liars<wide_record, std::uint32_t>();
}

constexpr int ways = merge::most_runs;

struct run_sizes
{
  std::uint32_t of[ways];
};

/// merge_path_of_lanes for every `step`-th rank: cuts[rank x ways], and so on. Run r has up to `run` elements from keys[r x run] on.
template <class Size, int Probes>
__global__ void cut_all(std::uint32_t const* keys,
                        std::uint32_t run,
                        run_sizes sizes,
                        std::uint32_t total,
                        std::uint32_t step,
                        std::uint32_t* cuts,
                        comparator comp)
{
  constexpr std::uint32_t lanes = ways * Probes;
  __shared__ std::uint32_t probed[128];
  std::uint32_t const own  = (blockIdx.x * blockDim.x + threadIdx.x) / lanes;
  std::uint32_t const rank = own * step <= total ? own * step : 0;
  std::uint32_t const r    = threadIdx.x % lanes / Probes;
  Size const taken         = gpusort::block::merge_path_of_lanes<Probes, ways>(
    probed + threadIdx.x / 32 * 32, static_cast<Size>(rank), keys, run, static_cast<Size>(sizes.of[r]), comp);
  if (threadIdx.x % Probes == 0 && own * step <= total)
  {
    cuts[own * ways + r] = static_cast<std::uint32_t>(taken);
  }
}

template <class Size, int Probes>
std::vector<std::uint32_t>
cuts_of(std::vector<std::uint32_t> const& keys,
        std::uint32_t run,
        run_sizes const& sizes,
        std::uint32_t total,
        std::uint32_t step,
        comparator comp)
{
  thrust::device_vector<std::uint32_t> const all(keys.begin(), keys.end());
  std::uint32_t const ranks = total / step + 1;
  thrust::device_vector<std::uint32_t> cuts(ranks * ways, ~0u);
  cut_all<Size, Probes><<<(ranks * ways * Probes + 127) / 128, 128>>>(
    thrust::raw_pointer_cast(all.data()), run, sizes, total, step, thrust::raw_pointer_cast(cuts.data()), comp);
  gpusort::testing::require(cudaGetLastError(), "launch");
  gpusort::testing::require(cudaDeviceSynchronize(), "cuts");
  std::vector<std::uint32_t> result(cuts.size());
  thrust::copy(cuts.begin(), cuts.end(), result.begin());
  return result;
}

/// Sizes of runs: all kinds of emptiness, one long run among short ones, and runs as merge sort has them.
std::vector<run_sizes> all_run_sizes()
{
  return {{{1, 0, 0, 0, 0, 0, 0, 0}},
          {{0, 0, 0, 0, 0, 0, 0, 1}},
          {{1, 1, 1, 1, 1, 1, 1, 1}},
          {{3, 0, 2, 5, 0, 1, 4, 2}},
          {{7, 7, 7, 7, 7, 7, 7, 3}},
          {{1, 1, 400, 2, 1, 0, 3, 1}},
          {{100, 100, 0, 0, 0, 0, 0, 0}},
          {{129, 129, 129, 129, 129, 129, 129, 17}},
          {{300, 300, 300, 300, 300, 300, 300, 300}}};
}

template <class Size, int Probes>
void check_cuts()
{
  for (run_sizes const& sizes : all_run_sizes())
  {
    std::uint32_t const run   = *std::max_element(sizes.of, sizes.of + ways);
    std::uint32_t const total = std::accumulate(sizes.of, sizes.of + ways, 0u);
    std::uint32_t const step  = in_a_hurry() && total > 100 ? 37 : 1;
    for (std::uint64_t const values : {1, 3, 1'000'000'000})
    {
      SCOPED_TRACE(::testing::Message() << total << " elements, " << values << " values, " << Probes << " probes");
      std::vector<std::uint32_t> keys(static_cast<std::size_t>(run) * ways, 0); // behind a run, what would go first
      std::vector<std::pair<std::uint32_t, int>> merged; // each with its run
      for (int r = 0; r < ways; ++r)
      {
        auto const begin = keys.begin() + static_cast<std::ptrdiff_t>(run) * r;
        auto const end   = begin + static_cast<std::ptrdiff_t>(sizes.of[r]);
        std::generate(begin, end, [&, i = std::uint64_t{0}]() mutable {
          return static_cast<std::uint32_t>(mixed(++i + 1'000'003u * static_cast<unsigned>(r)) % values);
        });
        std::sort(begin, end);
        std::transform(begin, end, std::back_inserter(merged), [r](std::uint32_t key) { return std::pair(key, r); });
      }
      std::stable_sort(merged.begin(), merged.end(), [](auto const& a, auto const& b) { return a.first < b.first; });
      std::vector<std::uint32_t> expected;
      std::uint32_t taken[ways] = {};
      for (std::uint32_t rank = 0; rank <= total; ++rank)
      {
        if (rank % step == 0)
        {
          expected.insert(expected.end(), taken, taken + ways);
        }
        if (rank < total)
        {
          ++taken[merged[rank].second];
        }
      }
      EXPECT_EQ((cuts_of<Size, Probes>(keys, run, sizes, total, step, {answer::less})), expected);
      for (answer const kind : {answer::not_greater, answer::always, answer::by_chance, answer::seldom_wrong})
      {
        std::vector<std::uint32_t> const cuts = cuts_of<Size, Probes>(keys, run, sizes, total, step, {kind});
        for (std::size_t i = 0; i < cuts.size(); i += ways)
        {
          std::uint64_t sum = 0;
          for (int r = 0; r < ways; ++r)
          {
            ASSERT_LE(cuts[i + static_cast<std::size_t>(r)], sizes.of[r]) << "liar " << static_cast<int>(kind);
            sum += cuts[i + static_cast<std::size_t>(r)];
          }
          ASSERT_EQ(sum, i / ways * step) << "liar " << static_cast<int>(kind);
        }
      }
    }
  }
}

TEST(MergePathOfLanes, IsThatOfAStableMerge)
{
  check_cuts<std::uint32_t, merge::cut_probes>();
  check_cuts<std::uint64_t, merge::cut_probes>();
  check_cuts<std::uint32_t, 4>();
}

} // namespace
