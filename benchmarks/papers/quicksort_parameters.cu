// Figures 9 to 11 of GPU-Quicksort (Cederman and Tsigas, section 5.3) for our quicksort: which block shapes, how many buckets a level
// and what size of segments that a block sorts are best for which n. The paper's parameters and what stands for them here:
//   threads per block                    the block that partitions a tile
//   maxseq, sequences of the first phase buckets that a level makes of a segment
//   sbsize, least sequence for Quicksort elements that a block sorts
// Keys of 4 bytes that are no numbers to the library, so that blocks compare and merge.
#include <benchmarks/elements.cuh>
#include <benchmarks/input.cuh>
#include <benchmarks/papers/experiment.cuh>

#include <gpusort/quicksort/device.cuh>
#include <gpusort/sort.h>
#include <gpusort/workspace.h>

#include <cstdint>
#include <limits>
#include <stdexcept>

namespace gpusort::benchmarks
{
namespace
{

struct combination_of_shapes
{
  hybrid::block_shape tile; // that partition
  hybrid::block_shape sort; // that sort what fits them
};

constexpr hybrid::block_shape tiles[] = {{256, 22, 4}, {512, 11, 3}, {512, 22, 2}, {1024, 11, 1}};
constexpr hybrid::block_shape sorts[] = {{128, 17, 6}, {256, 17, 3}, {384, 23, 3}, {512, 17, 2}};
constexpr int shapes_of_each          = 4;

/// A key whose sort has the shapes of the given numbers.
template <int Tile, int Sort>
struct shaped_key
{
  std::uint32_t bits;
};

struct by_bits
{
  template <class Key>
  __host__ __device__ bool operator()(Key const& a, Key const& b) const
  {
    return a.bits < b.bits;
  }
};

/// Quicksort with levels of up to 2^Log2 buckets.
template <int Log2>
struct narrow_form : quick::unstable_form
{
  static constexpr bool merges_small_inputs = false;
  static constexpr int log2_of_level        = Log2;
};

} // namespace
} // namespace gpusort::benchmarks

template <int Tile, int Sort>
inline constexpr gpusort::hybrid::block_shape
  gpusort::hybrid::tile_shape_v<gpusort::benchmarks::shaped_key<Tile, Sort>, gpusort::block::no_values> =
    gpusort::benchmarks::tiles[Tile];
template <int Tile, int Sort>
inline constexpr gpusort::hybrid::block_shape
  gpusort::hybrid::sort_shape_v<gpusort::benchmarks::shaped_key<Tile, Sort>, gpusort::block::no_values> =
    gpusort::benchmarks::sorts[Sort];

namespace gpusort::benchmarks
{
namespace
{

/// What a combination takes.
struct measured
{
  std::string tile, sort;
  int log2; // of buckets
  double time; // microseconds
};

std::string name_of(hybrid::block_shape const& shape)
{
  return std::to_string(shape.threads) + " x " + std::to_string(shape.items);
}

template <int Tile, int Sort, int Log2>
void measure(unsigned log2_n, experiment_options const& o, input<u32, no_value>& in, std::vector<measured>& all)
{
  using key     = shaped_key<Tile, Sort>;
  using sorter  = hybrid::sample_sort<narrow_form<Log2>>;
  auto const n  = std::size_t{1} << log2_n;
  using plan    = typename sorter::template plan<key, block::no_values, by_bits>;
  auto const of = plan(n).depth;
  // Levels of few buckets do not get far enough, or blocks sort all of the input.
  if (n <= plan::most || n >> of.bits() > hybrid::largest_bucket_size_for(plan::most))
  {
    return;
  }
  device_memory const scratch(sorter::template scratch_bytes<key, block::no_values, by_bits>(n));
  std::vector<double> times;
  for (std::size_t round = 0; round < o.repetitions + 1; ++round)
  {
    arrays<u32, no_value> const fresh = in.next();
    check(cudaDeviceSynchronize(), "before the sort");
    part_clock clock(1);
    clock.mark(0);
    sorter::sort(stream(),
                 scratch.data(),
                 reinterpret_cast<key*>(fresh.keys),
                 static_cast<block::no_values*>(nullptr),
                 n,
                 by_bits{});
    clock.mark(1);
    double const time = clock.times()[0];
    if (round > 0)
    {
      times.push_back(time);
    }
    std::string const faults = in.faults(fresh, thrust::less<u32>{}, false);
    if (!faults.empty())
    {
      throw std::runtime_error(faults);
    }
  }
  all.push_back({name_of(tiles[Tile]), name_of(sorts[Sort]), Log2, median(times)});
}

template <int Tile, int Sort>
void measure_levels(unsigned log2_n, experiment_options const& o, input<u32, no_value>& in, std::vector<measured>& all)
{
  measure<Tile, Sort, 5>(log2_n, o, in, all);
  measure<Tile, Sort, 6>(log2_n, o, in, all);
  measure<Tile, Sort, 7>(log2_n, o, in, all);
  measure<Tile, Sort, 8>(log2_n, o, in, all);
}

template <int Number = 0>
void measure_shapes(unsigned log2_n, experiment_options const& o, input<u32, no_value>& in, std::vector<measured>& all)
{
  if constexpr (Number < shapes_of_each * shapes_of_each)
  {
    measure_levels<Number / shapes_of_each, Number % shapes_of_each>(log2_n, o, in, all);
    measure_shapes<Number + 1>(log2_n, o, in, all);
  }
}

std::vector<std::string> cells_of(measured const& one)
{
  return {one.tile, std::to_string(1 << one.log2), one.sort, microseconds(one.time)};
}

/// Figure 9: the five best and the five worst combinations.
void print_best_and_worst(unsigned log2_n, std::vector<measured> const& sorted)
{
  std::printf("\nThe best and the worst, n = 2^%u\n\n", log2_n);
  print_header({"partition", "buckets a level", "sort", "us"});
  std::size_t const shown = std::min<std::size_t>(5, sorted.size() / 2);
  for (std::size_t i = 0; i < sorted.size(); ++i)
  {
    if (i < shown || i + shown >= sorted.size())
    {
      print_row(cells_of(sorted[i]));
    }
  }
}

/// Figure 10: one parameter, and the best, the average and the worst time of all combinations of the others.
template <class Name>
void print_varied(char const* what, unsigned log2_n, std::vector<measured> const& sorted, Name name)
{
  std::printf("\n%s varied, n = 2^%u\n\n", what, log2_n);
  print_header({what, "best", "average", "worst"});
  std::vector<std::string> seen;
  for (measured const& one : sorted)
  {
    std::string const own = name(one);
    if (std::find(seen.begin(), seen.end(), own) != seen.end())
    {
      continue;
    }
    seen.push_back(own);
    double least = std::numeric_limits<double>::max(), most = 0, sum = 0;
    int count = 0;
    for (measured const& other : sorted)
    {
      if (name(other) == own)
      {
        least = std::min(least, other.time);
        most  = std::max(most, other.time);
        sum += other.time;
        ++count;
      }
    }
    print_row({own, microseconds(least), microseconds(sum / count), microseconds(most)});
  }
}

/// All sizes; figure 11 is how the best values change with n.
void measure_all(experiment_options const& o)
{
  std::vector<std::pair<unsigned, measured>> best;
  for (unsigned const log2_n : o.log2_sizes)
  {
    input<u32, no_value> in(testing::distribution::uniform, 1, std::size_t{1} << log2_n);
    std::vector<measured> all;
    measure_shapes(log2_n, o, in, all);
    if (all.empty())
    {
      continue;
    }
    std::sort(all.begin(), all.end(), [](measured const& a, measured const& b) { return a.time < b.time; });
    print_best_and_worst(log2_n, all);
    print_varied("partition", log2_n, all, [](measured const& one) { return one.tile; });
    print_varied("buckets a level", log2_n, all, [](measured const& one) { return std::to_string(1 << one.log2); });
    print_varied("sort", log2_n, all, [](measured const& one) { return one.sort; });
    best.emplace_back(log2_n, all.front());
  }
  std::puts("\nThe best of each size\n");
  print_header({"n", "partition", "buckets a level", "sort", "us"});
  for (auto const& [log2_n, one] : best)
  {
    std::vector<std::string> cells = cells_of(one);
    cells.insert(cells.begin(), power(log2_n));
    print_row(cells);
  }
}

} // namespace
} // namespace gpusort::benchmarks

int main(int argc, char** argv)
{
  using namespace gpusort::benchmarks;
  return run_experiment(
    "Figures 9 to 11 of GPU-Quicksort for our quicksort: shapes and numbers of buckets. Microseconds, uniform keys.",
    {20, 22, 23, 24, 26, 28},
    argc,
    argv,
    measure_all);
}
