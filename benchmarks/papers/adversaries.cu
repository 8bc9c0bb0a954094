// Inputs against quicksort, and what they take over uniform keys: the ones that the paper names (Cederman and Tsigas, sections 5.2 and
// 5.4), McIlroy's killer, made against the sequential quicksort of this library, and keys that mislead the samples of the GPU's
// levels.
#include <benchmarks/elements.cuh>
#include <benchmarks/input.cuh>
#include <benchmarks/papers/experiment.cuh>

#include <gpusort/hybrid/guesses.cuh>
#include <gpusort/quicksort/device.cuh>
#include <gpusort/sort.h>
#include <gpusort/workspace.h>

#include <thrust/execution_policy.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace gpusort::benchmarks
{
namespace
{

/// Ranks of keys: the sort of `n` elements by the killer's answers, which are given so late that they are always bad news.
/// Source: McIlroy, A killer adversary for quicksort.
std::vector<u32> killer(std::size_t n)
{
  constexpr u32 gas = std::numeric_limits<u32>::max();
  std::vector<u32> value(n, gas), order(n);
  std::iota(order.begin(), order.end(), 0u);
  u32 solid = 0, candidate = 0;
  auto const before = [&](u32 a, u32 b) {
    if (value[a] == gas && value[b] == gas)
    {
      value[a == candidate ? a : b] = solid++;
    }
    if (value[a] == gas)
    {
      candidate = a;
    }
    else if (value[b] == gas)
    {
      candidate = b;
    }
    return value[a] < value[b];
  };
  gpusort::sort(gpusort::quicksort(thrust::seq), order.begin(), order.end(), before);
  for (u32& v : value)
  {
    v = v == gas ? solid++ : v;
  }
  return value;
}

/// Ranks of keys of which the samples of all levels are the least that are left, so that all others come to one bucket. As far as
/// order is kept: hybrid sort then meets that bucket in the order of the input.
template <class Key>
std::vector<u32> misleading(std::size_t n)
{
  using plan = hybrid::device::plan<Key, block::no_values, by_first_field>;
  std::vector<u32> ranks(n);
  std::vector<u32> left(n);
  std::iota(left.begin(), left.end(), 0u);
  u32 next = 0;
  if (n > plan::most)
  {
    auto const depth = plan(n).depth;
    int bits         = 0;
    for (int level = 0; level < depth.levels && left.size() > plan::most; ++level)
    {
      int const log2 = depth.log2[level];
      bits += log2;
      std::uint64_t const wanted = (n >> bits) + 1;
      int const buckets          = hybrid::buckets_for(left.size(), wanted, log2);
      constexpr int fit          = hybrid::splitter_choice<Key, by_first_field>::most_samples;
      auto const count = static_cast<std::size_t>(hybrid::samples_for(left.size(), buckets, wanted, plan::most, fit));
      std::vector<bool> is_sampled(left.size());
      for (std::size_t i = 0; i < count; ++i)
      {
        auto const place   = static_cast<std::size_t>(hybrid::sampled_place(i, left.size() / count));
        ranks[left[place]] = next++;
        is_sampled[place]  = true;
      }
      std::size_t kept = 0;
      for (std::size_t i = 0; i < left.size(); ++i)
      {
        if (!is_sampled[i])
        {
          left[kept++] = left[i];
        }
      }
      left.resize(kept);
    }
  }
  // The others in no order.
  for (std::size_t i = left.size(); i > 1; --i)
  {
    std::swap(left[i - 1], left[testing::inputs::mix(i) % i]);
  }
  for (u32 const i : left)
  {
    ranks[i] = next++;
  }
  return ranks;
}

/// The key of a rank in an order, and all keys of the ranks.
template <order Order, class Key>
std::vector<Key> keys_of(std::vector<u32> const& ranks)
{
  // What the product of by_product is undone by: Newton's iteration doubles the bits that are right, of which there are three.
  constexpr auto factor = static_cast<Key>(0x9e3779b97f4a7c15u);
  Key inverse           = factor;
  for (int right = 3; right < 64; right *= 2)
  {
    inverse *= 2 - factor * inverse;
  }
  std::vector<Key> keys(ranks.size());
  std::transform(ranks.begin(), ranks.end(), keys.begin(), [&](u32 rank) {
    return Order == order::scrambled ? static_cast<Key>(rank * inverse) : Key{rank};
  });
  return keys;
}

struct named_ranks
{
  char const* name;
  std::vector<u32> of;
};

template <class Key>
std::vector<named_ranks> all_ranks(std::size_t n)
{
  std::vector<u32> up(n), uniform(n), down(n), pipe(n), same(n, 5), two(n);
  std::iota(up.begin(), up.end(), 0u);
  std::copy(up.rbegin(), up.rend(), down.begin());
  for (std::size_t i = 0; i < n; ++i)
  {
    uniform[i] = static_cast<u32>(testing::inputs::mix(i + 1) >> 32);
    pipe[i]    = up[i < n / 2 ? i : n - 1 - i];
    two[i]     = static_cast<u32>(testing::inputs::mix(i + 1) & 1);
  }
  std::vector<named_ranks> all{
    {"uniform", std::move(uniform)},
    {"sorted", std::move(up)},
    {"reversed", std::move(down)},
    {"one value", std::move(same)},
    {"two values", std::move(two)},
    {"organ pipe", std::move(pipe)}};
  all.push_back({"McIlroy's killer", killer(n)});
  all.push_back({"samples mislead", misleading<Key>(n)});
  return all;
}

/// Microseconds of an algorithm, the median.
template <class Key, order Order, class Tag>
double time_of(Tag tag, input<Key, no_value>& in, experiment_options const& o)
{
  auto const comp     = comparator<Order, Key>();
  std::size_t const n = in.size();
  Key* const any      = in.next().keys;
  device_memory const scratch(gpusort::workspace_bytes(tag(thrust::cuda::par_nosync), any, any + n, comp));
  gpusort::workspace ws{scratch.data(), scratch.bytes()};
  std::vector<double> times;
  for (std::size_t round = 0; round < o.repetitions + 2; ++round)
  {
    arrays<Key, no_value> const fresh = in.next();
    check(cudaDeviceSynchronize(), "before the sort");
    part_clock clock(1);
    clock.mark(0);
    gpusort::sort(tag(thrust::cuda::par_nosync(ws).on(stream())), fresh.keys, fresh.keys + n, comp);
    clock.mark(1);
    double const time = clock.times()[0];
    if (round > 1)
    {
      times.push_back(time);
    }
    std::string const faults = in.faults(fresh, comp, false);
    if (!faults.empty())
    {
      throw std::runtime_error(faults);
    }
  }
  return median(times);
}

template <class Key, order Order>
void measure(unsigned log2_n, experiment_options const& o)
{
  double of_quicksort = 0, of_hybrid = 0; // for uniform keys
  for (auto const& [name, ranks] : all_ranks<Key>(std::size_t{1} << log2_n))
  {
    input<Key, no_value> in(keys_of<Order, Key>(ranks));
    double const quick  = time_of<Key, Order>(quicksort, in, o);
    double const hybrid = time_of<Key, Order>(hybrid_sort, in, o);
    of_quicksort        = of_quicksort > 0 ? of_quicksort : quick;
    of_hybrid           = of_hybrid > 0 ? of_hybrid : hybrid;
    print_row({name_of_type<Key>(),
               name_of(Order),
               power(log2_n),
               name,
               microseconds(quick),
               ratio(quick / of_quicksort),
               microseconds(hybrid),
               ratio(hybrid / of_hybrid)});
  }
}

void measure_all(experiment_options const& o)
{
  print_header({"keys", "comparator", "n", "input", "quicksort", "of uniform", "hybrid_sort", "of uniform"});
  for (unsigned const log2_n : o.log2_sizes)
  {
    measure<u32, order::custom>(log2_n, o);
    measure<u32, order::scrambled>(log2_n, o);
    measure<u64, order::custom>(log2_n, o);
    measure<u64, order::scrambled>(log2_n, o);
  }
}

} // namespace
} // namespace gpusort::benchmarks

int main(int argc, char** argv)
{
  using namespace gpusort::benchmarks;
  return run_experiment("Inputs against quicksort: what they take, in microseconds, and over uniform keys.",
                        {16, 20, 22, 24},
                        argc,
                        argv,
                        measure_all);
}
