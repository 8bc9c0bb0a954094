// How one contender is measured. Each .cu file beside this one instantiates register_type for a few types.
#pragma once

#include <benchmarks/contenders.cuh>
#include <benchmarks/device.cuh>
#include <benchmarks/elements.cuh>
#include <benchmarks/input.cuh>
#include <benchmarks/register_type.h>

#include <benchmark/benchmark.h>
#include <cuda_profiler_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

namespace gpusort::benchmarks
{

/// Times sorts of `in` until there are enough, an odd number of them. `result` is where the last one left its output. A profiler that is told
/// to wait for the program sees those sorts and not the ones before.
template <class Key, class Value>
std::vector<double> times_of(contender<Key, Value> const& who,
                             input<Key, Value>& in,
                             device_memory const& scratch,
                             options const& o,
                             arrays<Key, Value>& result)
{
  stopwatch watch(o.head_start);
  auto const sort_once = [&] {
    arrays<Key, Value> const fresh = in.next();
    return watch.time(who.clock, [&] { result = who.sort(fresh, scratch); });
  };
  constexpr std::size_t most = 100001; // bounds the time that very short sorts take with their restores

  double total = 0;
  for (std::size_t i = 0; i < 2 || (total < o.min_time && i < most); ++i)
  {
    total += sort_once(); // warms up caches, allocators and clocks
  }

  std::vector<double> times;
  total = 0;
  check(cudaProfilerStart(), "cudaProfilerStart");
  while (times.size() < o.repetitions || times.size() % 2 == 0 || (total < o.min_time && times.size() < most))
  {
    times.push_back(sort_once());
    total += times.back();
  }
  check(cudaProfilerStop(), "cudaProfilerStop");
  return times;
}

template <class Key, class Value, order Order>
void measure(benchmark::State& state,
             contender<Key, Value> const& who,
             std::string const& input_name,
             testing::distribution d,
             std::size_t n,
             options const& o)
{
  // One iteration in Google Benchmark's sense: the median of many sorts is taken here, where inputs can be restored.
  while (state.KeepRunning())
  {
    try
    {
      if (sizeof(Value) == sizeof(u32) && n > std::size_t{1} << 32)
      {
        throw not_measured("32-bit values cannot number so many keys");
      }
      input<Key, Value>& in = input_of<Key, Value>(input_name, d, o.seed, n);
      in.restart();
      device_memory const scratch(who.scratch_bytes(in.next()));

      arrays<Key, Value> result{};
      std::vector<double> times = times_of(who, in, scratch, o, result);
      std::string const faults  = in.faults(result, comparator<Order, Key>(), who.is_stable);
      if (!faults.empty())
      {
        throw std::runtime_error(faults);
      }

      std::sort(times.begin(), times.end());
      state.SetIterationTime(times[times.size() / 2]);
      state.counters["sorts"]         = static_cast<double>(times.size());
      state.counters["least_us"]      = times.front() * 1e6;
      state.counters["most_us"]       = times.back() * 1e6;
      state.counters["scratch_bytes"] = static_cast<double>(scratch.bytes());
      auto const count                = static_cast<std::int64_t>(n);
      state.SetItemsProcessed(count);
      state.SetBytesProcessed(count * static_cast<std::int64_t>(sizeof(Key) + value_bytes_v<Value>));
    }
    catch (not_measured const& error)
    {
      state.SkipWithError(error.what());
    }
    catch (std::bad_alloc const& error)
    {
      (void) cudaGetLastError(); // the call ran out of memory: the next one starts without its error
      state.SkipWithError(error.what());
    }
    catch (std::exception const& error)
    {
      ++failures();
      state.SkipWithError(error.what());
    }
  }
}

template <class Key, class Value, order Order>
void register_type(options const& o)
{
  auto const all         = contenders<Key, Value, Order>();
  std::string const type = std::string(name_of_type<Key>()) + "/" + name_of_type<Value>();
  for (std::size_t const n : o.sizes)
  {
    for (testing::distribution const d : o.distributions)
    {
      std::string const input_name = type + "/" + std::to_string(n) + "/" + testing::name_of(d);
      for (auto const& who : all)
      {
        if (o.wants(who.name))
        {
          std::string const name = who.name + "/" + input_name + "/" + name_of(Order);
          auto const run         = [=](benchmark::State& state) {
            measure<Key, Value, Order>(state, who, input_name, d, n, o);
          };
          benchmark::RegisterBenchmark(name.c_str(), run)
            ->UseManualTime()
            ->Iterations(1)
            ->Unit(benchmark::kMicrosecond);
        }
      }
    }
  }
}

} // namespace gpusort::benchmarks
