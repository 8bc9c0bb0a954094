// Orders the vertices of a point cloud back to front, as seen from an eye: what a renderer needs to blend transparent
// surfaces, and the application on which GPU-Quicksort was measured (Cederman and Tsigas, section 5).
#include "gpu_timer.cuh"
#include "point_cloud.h"
#include "relief.h"

#include <gpusort/sort.h>
#include <gpusort/workspace.h>

#include <cuda_runtime.h>
#include <nv/target>
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/system/cuda/execution_policy.h>
#include <thrust/transform.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <limits>
#include <new>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace visibility
{

using index_type    = std::uint32_t;
using back_to_front = thrust::greater<float>;

/// The same order by a comparator that no library knows: both have to call it.
struct farther_first
{
  __host__ __device__ bool operator()(float a, float b) const
  {
    return b < a;
  }
};

struct options
{
  std::string file, relief, output, eye;
  std::string format     = "auto";
  std::string algorithm  = "automatic";
  std::string comparator = "greater";
  std::size_t generate   = 0;
  bool host              = false;
  bool check             = false;
  int repeat             = 0;
};

/// A point's distance to the eye, rounded to float32 once. Device code would fuse multiplications and additions, and so
/// round differently from the host: the order could then not be compared with the host's. Hence no fusing here. (Where
/// the host's own instruction set fuses, as on arm64, its compiler needs -ffp-contract=off.)
struct distance_to
{
  double x, y, z;

  __host__ __device__ float operator()(point p) const
  {
    double const dx = p.x - x, dy = p.y - y, dz = p.z - z;
    NV_IF_ELSE_TARGET(NV_IS_DEVICE,
                      (return static_cast<float>(__dsqrt_rn(
                        __dadd_rn(__dadd_rn(__dmul_rn(dx, dx), __dmul_rn(dy, dy)), __dmul_rn(dz, dz))));),
                      (return static_cast<float>(std::sqrt(dx * dx + dy * dy + dz * dz));))
  }
};

struct ordering
{
  std::vector<float> distances; // of the vertices as they were
  std::vector<float> sorted; // the same, back to front
  std::vector<index_type> vertices; // and whose they are
};

struct timing
{
  char const* call;
  double milliseconds;
};

struct result
{
  ordering ours, thrusts;
  std::string algorithm;
  std::vector<timing> timings;
};

// ---------------------------------------------------------------------------------------------------------------------
// What the options mean

/// N points in the unit cube, the same ones everywhere.
point_cloud generate(std::size_t n)
{
  std::mt19937 random(20080917);
  auto const coordinate = [&random] { return static_cast<float>(random() >> 8) * 0x1p-24f; };
  point_cloud points(n);
  for (point& p : points)
  {
    p.x = coordinate();
    p.y = coordinate();
    p.z = coordinate();
  }
  return points;
}

point_cloud load(options const& given)
{
  if (!given.file.empty())
  {
    std::printf("input       %s\n", given.file.c_str());
    return read_point_cloud(given.file,
                            given.format == "raw"     ? file_format::raw
                            : given.format == "ascii" ? file_format::ascii
                            : given.format == "ply"   ? file_format::ply
                                                      : file_format::automatic);
  }
  if (!given.relief.empty())
  {
    std::printf("input       %s, relief as points on the globe\n", given.relief.c_str());
    return read_relief(given.relief);
  }
  constexpr std::size_t unasked = 1000000;
  std::size_t const n           = given.generate != 0 ? given.generate : unasked;
  std::printf("input       %sgenerated points\n", given.generate != 0 ? "" : "no file given: ");
  return generate(n);
}

/// The eye asked for, or else one outside the bounding box: its centre plus its diagonal's length along each axis.
distance_to eye_of(options const& given, point_cloud const& points)
{
  if (!given.eye.empty())
  {
    double at[3];
    char beyond       = 0;
    bool const parsed = std::sscanf(given.eye.c_str(), "%lf,%lf,%lf%c", at, at + 1, at + 2, &beyond) == 3;
    bool const usable = parsed && std::all_of(at, at + 3, [](double c) { return std::fabs(c) <= largest_coordinate; });
    if (!usable)
    {
      throw std::runtime_error("--eye takes three numbers, as in --eye 1,-2.5,3; not " + given.eye);
    }
    return {at[0], at[1], at[2]};
  }
  double low[3], high[3];
  std::fill_n(low, 3, std::numeric_limits<double>::infinity());
  std::fill_n(high, 3, -std::numeric_limits<double>::infinity());
  for (point const& p : points)
  {
    double const at[3] = {p.x, p.y, p.z};
    for (int i = 0; i < 3; ++i)
    {
      low[i]  = std::min(low[i], at[i]);
      high[i] = std::max(high[i], at[i]);
    }
  }
  double const dx = high[0] - low[0], dy = high[1] - low[1], dz = high[2] - low[2];
  double const diagonal = std::sqrt(dx * dx + dy * dy + dz * dz);
  return {(low[0] + high[0]) / 2 + diagonal, (low[1] + high[1]) / 2 + diagonal, (low[2] + high[2]) / 2 + diagonal};
}

template <class Tag>
std::string name_of()
{
  return std::is_same_v<Tag, gpusort::radix_sort_t> ? "radix_sort"
       : std::is_same_v<Tag, gpusort::merge_sort_t> ? "merge_sort"
       : std::is_same_v<Tag, gpusort::quicksort_t>
         ? "quicksort"
         : "hybrid_sort";
}

// ---------------------------------------------------------------------------------------------------------------------
// The work

template <class Tag, class Compare>
result order_on_gpu(Tag tag, Compare comp, point_cloud const& cloud, distance_to eye, int repeat)
{
  std::size_t const n = cloud.size();
  thrust::device_vector<point> const points(cloud.begin(), cloud.end());
  thrust::device_vector<float> distances(n), keys(n);
  thrust::device_vector<index_type> vertices(n);
  thrust::transform(thrust::device, points.begin(), points.end(), distances.begin(), eye);

  gpu_stream const stream;
  auto const keys_first = thrust::raw_pointer_cast(keys.data()), keys_last = keys_first + n;
  auto const vertices_first = thrust::raw_pointer_cast(vertices.data());
  auto const reset          = [&] {
    auto const on_stream = thrust::cuda::par_nosync.on(stream.get());
    thrust::copy(on_stream, distances.begin(), distances.end(), keys.begin());
    thrust::sequence(on_stream, vertices_first, vertices_first + n);
  };

  // Neither of these two calls allocates or waits: ours has a workspace, Thrust's an allocator that keeps its memory.
  auto const plain        = thrust::cuda::par.on(stream.get());
  std::size_t const bytes = gpusort::workspace_bytes_by_key(tag(plain), keys_first, keys_last, vertices_first, comp);
  thrust::device_vector<char> scratch(bytes);
  gpusort::workspace workspace{thrust::raw_pointer_cast(scratch.data()), bytes};
  reusing_allocator cache;
  auto const ours_in_workspace = thrust::cuda::par_nosync(workspace).on(stream.get());
  auto const thrusts_in_cache  = thrust::cuda::par_nosync(cache).on(stream.get());

  auto const download = [&] {
    ordering o{std::vector<float>(n), std::vector<float>(n), std::vector<index_type>(n)};
    thrust::copy(distances.begin(), distances.end(), o.distances.begin());
    thrust::copy(keys.begin(), keys.end(), o.sorted.begin());
    thrust::copy(vertices.begin(), vertices.end(), o.vertices.begin());
    return o;
  };

  result r;
  r.algorithm =
    std::is_same_v<Tag, gpusort::automatic_t>
      ? (gpusort::has_radix_order_v<float, Compare> ? "radix_sort, chosen by automatic"
                                                    : "merge_sort or, of many, hybrid_sort, chosen by automatic")
      : name_of<Tag>();
  auto const measure = [&](char const* call, auto const& sort) {
    r.timings.push_back({call, median_milliseconds(stream.get(), repeat, reset, sort)});
  };
  measure("gpusort::sort_by_key, par_nosync, workspace",
          [&] { gpusort::sort_by_key(tag(ours_in_workspace), keys_first, keys_last, vertices_first, comp); });
  r.ours = download();
  measure("thrust::sort_by_key, par_nosync, kept memory",
          [&] { thrust::sort_by_key(thrusts_in_cache, keys_first, keys_last, vertices_first, comp); });
  r.thrusts = download();
  measure("gpusort::sort_by_key, par",
          [&] { gpusort::sort_by_key(tag(plain), keys_first, keys_last, vertices_first, comp); });
  measure("thrust::sort_by_key, par", [&] { thrust::sort_by_key(plain, keys_first, keys_last, vertices_first, comp); });
  return r;
}

std::vector<float> distances_on_host(point_cloud const& cloud, distance_to eye)
{
  std::vector<float> distances(cloud.size());
  std::transform(cloud.begin(), cloud.end(), distances.begin(), eye);
  return distances;
}

template <class Sort>
ordering order_on_host(std::vector<float> distances, int repeat, double& milliseconds, Sort sort)
{
  std::size_t const n = distances.size();
  ordering o{std::move(distances), {}, std::vector<index_type>(n)};
  std::vector<double> times;
  for (int i = 0; i < repeat; ++i)
  {
    o.sorted = o.distances;
    std::iota(o.vertices.begin(), o.vertices.end(), index_type{0});
    auto const begin = std::chrono::steady_clock::now();
    sort(o.sorted.data(), o.sorted.data() + o.sorted.size(), o.vertices.data());
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  milliseconds = median(times);
  return o;
}

template <class Tag, class Compare>
result order_on_host(Tag tag, Compare comp, point_cloud const& cloud, distance_to eye, int repeat)
{
  std::vector<float> const distances = distances_on_host(cloud, eye);
  double our_time = 0, thrust_time = 0;
  result r;
  r.ours      = order_on_host(distances, repeat, our_time, [&](float* first, float* last, index_type* vertices) {
    gpusort::sort_by_key(tag(thrust::host), first, last, vertices, comp);
  });
  r.thrusts   = order_on_host(distances, repeat, thrust_time, [&](float* first, float* last, index_type* vertices) {
    thrust::sort_by_key(thrust::host, first, last, vertices, comp);
  });
  r.algorithm = !std::is_same_v<Tag, gpusort::automatic_t> ? name_of<Tag>()
              : gpusort::has_radix_order_v<float, Compare> ? "radix sort, chosen by automatic"
                                                           : "std::stable_sort, chosen by automatic";
  r.timings   = {{"gpusort::sort_by_key, host", our_time}, {"thrust::sort_by_key, host", thrust_time}};
  return r;
}

template <class Compare>
result order(Compare comp, options const& given, point_cloud const& cloud, distance_to eye, bool on_gpu)
{
  int const repeat = given.repeat != 0 ? given.repeat : on_gpu ? 11 : 3;
  auto const with  = [&](auto tag) {
    return on_gpu ? order_on_gpu(tag, comp, cloud, eye, repeat) : order_on_host(tag, comp, cloud, eye, repeat);
  };
  if (given.algorithm == "radix")
  {
    if constexpr (gpusort::supports_v<gpusort::radix_sort_t, float, Compare>)
    {
      return with(gpusort::radix_sort);
    }
    else
    {
      throw std::runtime_error("radix sort reads digits and calls no comparator: it has no use for --comparator own");
    }
  }
  return given.algorithm == "merge"     ? with(gpusort::merge_sort)
       : given.algorithm == "quicksort" ? with(gpusort::quicksort)
       : given.algorithm == "hybrid"    ? with(gpusort::hybrid_sort)
                                        : with(gpusort::automatic);
}

// ---------------------------------------------------------------------------------------------------------------------
// Whether it is right

void require(bool holds, char const* what)
{
  if (!holds)
  {
    throw std::runtime_error(std::string("wrong order: ") + what);
  }
}

/// Vertices at the same distance have to stay in file order if the algorithm is stable.
void require_back_to_front(ordering const& o, bool stable)
{
  std::vector<bool> seen(o.vertices.size(), false);
  for (std::size_t i = 0; i < o.vertices.size(); ++i)
  {
    index_type const vertex = o.vertices[i];
    require(vertex < seen.size() && !seen[vertex], "a vertex is missing");
    seen[vertex] = true;
    require(o.sorted[i] == o.distances[vertex], "a vertex has another one's distance");
    require(i == 0 || o.sorted[i - 1] >= o.sorted[i], "a vertex is in front of one that is nearer");
    require(!stable || i == 0 || o.sorted[i - 1] != o.sorted[i] || o.vertices[i - 1] < vertex,
            "vertices at one distance have changed places");
  }
}

void check(result const& r, options const& given, point_cloud const& cloud, distance_to eye)
{
  bool const stable = given.algorithm != "quicksort";
  require_back_to_front(r.ours, stable);
  require(r.ours.sorted == r.thrusts.sorted, "the distances are not in Thrust's order");
  require(!stable || r.ours.vertices == r.thrusts.vertices, "the vertices are not in Thrust's order");
  std::printf("checked     back to front, each vertex once, %s\n",
              stable ? "ties in file order, the same as Thrust's" : "distances as Thrust has them");
  if (given.check)
  {
    std::vector<float> distances = distances_on_host(cloud, eye);
    std::vector<index_type> vertices(cloud.size());
    std::iota(vertices.begin(), vertices.end(), index_type{0});
    require(distances == r.ours.distances, "the distances are not those computed on the host");
    gpusort::stable_sort_by_key(
      thrust::host, distances.data(), distances.data() + distances.size(), vertices.data(), back_to_front{});
    require(distances == r.ours.sorted, "the distances are not in the host oracle's order");
    require(!stable || vertices == r.ours.vertices, "the vertices are not in the host oracle's order");
    std::printf("checked     %s the same as the host oracle's, bit for bit\n",
                stable ? "the order is" : "the distances are");
  }
}

void write(std::string const& path, std::vector<index_type> const& vertices)
{
  bool const as_text = path.size() >= 4 && path.compare(path.size() - 4, 4, ".txt") == 0;
  std::ofstream file(path, std::ios::binary);
  if (as_text)
  {
    for (index_type vertex : vertices)
    {
      file << vertex << '\n';
    }
  }
  else
  {
    // Every host that CUDA supports is little-endian.
    file.write(reinterpret_cast<char const*>(vertices.data()),
               static_cast<std::streamsize>(vertices.size() * sizeof(index_type)));
  }
  if (!file.flush())
  {
    throw std::runtime_error(path + ": cannot be written");
  }
  std::printf("written     %s, %s\n", path.c_str(), as_text ? "text" : "uint32, little-endian");
}

void run(options const& given)
{
  bool const on_gpu = !given.host && has_gpu();
  if (!on_gpu && !given.host)
  {
    std::printf("no GPU here: sorting on the host\n");
  }
  point_cloud const cloud = load(given);
  if (cloud.size() > std::numeric_limits<index_type>::max())
  {
    throw std::runtime_error("more vertices than 32 bits can number");
  }
  distance_to const eye = eye_of(given, cloud);
  std::printf("n           %zu vertices\n", cloud.size());
  std::printf("eye         %.9g,%.9g,%.9g\n", eye.x, eye.y, eye.z);
  std::printf("ran on      %s\n", on_gpu ? gpu_name().c_str() : "the host, one thread");

  result const r = given.comparator == "own" ? order(farther_first{}, given, cloud, eye, on_gpu)
                                             : order(back_to_front{}, given, cloud, eye, on_gpu);
  std::printf("algorithm   %s\n", r.algorithm.c_str());
  for (timing const& t : r.timings)
  {
    double const rate = static_cast<double>(cloud.size()) / (t.milliseconds * 1e3);
    std::printf("time        %-46s %10.4f ms %10.1f M keys/s\n", t.call, t.milliseconds, rate);
  }
  check(r, given, cloud, eye);
  if (!given.output.empty())
  {
    write(given.output, r.ours.vertices);
  }
}

} // namespace visibility

int main(int argc, char** argv)
{
  using namespace visibility;
  options given;
  CLI::App app("Orders the vertices of a point cloud back to front, and compares the time with Thrust's.\n"
               "Without FILE, --relief and --generate it takes 1,000,000 generated points.");
  auto* const file   = app.add_option("FILE", given.file, "point cloud: raw float32 xyz, ASCII xyz, or PLY");
  auto* const relief = app.add_option("--relief", given.relief, "netCDF grid of heights, as points on the globe");
  auto* const number =
    app.add_option("--generate", given.generate, "this many points in the unit cube")->type_name("N");
  file->excludes(relief)->excludes(number);
  relief->excludes(number);
  number->check(CLI::Range(std::size_t{1}, std::size_t{std::numeric_limits<index_type>::max()}));
  app.add_option("--format", given.format, "auto, raw, ascii or ply; auto looks at the contents")
    ->check(CLI::IsMember({"auto", "raw", "ascii", "ply"}))
    ->type_name("NAME");
  app.add_option("--algorithm", given.algorithm, "automatic, radix, merge, hybrid or quicksort")
    ->check(CLI::IsMember({"automatic", "radix", "merge", "quicksort", "hybrid"}))
    ->type_name("NAME");
  app.add_option("--comparator", given.comparator, "greater, or own: a function object that no library knows")
    ->check(CLI::IsMember({"greater", "own"}))
    ->type_name("NAME");
  app.add_option("--eye", given.eye, "where to look from; else outside the bounding box")->type_name("X,Y,Z");
  app.add_flag("--host", given.host, "sort on the host, GPU or not");
  app.add_option("--output", given.output, "write the vertex indices: as text to *.txt, else as uint32");
  app.add_flag("--check", given.check, "compare with the order that the host oracle gives, too");
  app.add_option("--repeat", given.repeat, "measure this many times and take the median (11 on a GPU, 3 on the host)")
    ->check(CLI::Range(1, 1000000));

  try
  {
    app.parse(argc, argv);
    run(given);
    return 0;
  }
  catch (CLI::ParseError const& error)
  {
    if (error.get_exit_code() == 0)
    {
      return app.exit(error); // --help
    }
    std::fprintf(stderr, "visibility_ordering: %s\n", error.what());
  }
  catch (std::bad_alloc const&)
  {
    std::fprintf(stderr, "visibility_ordering: not enough memory\n");
  }
  catch (std::exception const& error)
  {
    std::fprintf(stderr, "visibility_ordering: %s\n", error.what());
  }
  return 1;
}
