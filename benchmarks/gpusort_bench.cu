// The command line of the benchmarks. `gpusort_bench --help` says what it takes.
#include <benchmarks/device.cuh>
#include <benchmarks/elements.cuh>
#include <benchmarks/input.cuh>
#include <benchmarks/options.h>
#include <benchmarks/register_type.h>
#include <gpusort/version.h>

#include <benchmark/benchmark.h>
#include <cuda/std/version>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace gpusort::benchmarks
{

int& failures()
{
  static int count = 0;
  return count;
}

namespace
{

/// One combination of types that was compiled.
struct combination
{
  std::string type;
  std::string value;
  std::string comparator;
  void (*add)(options const&);
};

template <class Key, class Value, order Order>
combination one()
{
  return {name_of_type<Key>(), name_of_type<Value>(), name_of(Order), register_type<Key, Value, Order>};
}

// Every entry is instantiated in one of the other .cu files.
std::vector<combination> const& combinations()
{
  static std::vector<combination> const all = {
    one<u8, no_value, order::less>(),       one<u16, no_value, order::less>(),
    one<u32, no_value, order::less>(),      one<u64, no_value, order::less>(),
    one<u128, no_value, order::less>(),     one<f32, no_value, order::less>(),
    one<f64, no_value, order::less>(),      one<u32, u32, order::less>(),
    one<u32, b16, order::less>(),           one<f32, u32, order::less>(),
    one<u64, u32, order::less>(),           one<u64, u64, order::less>(),
    one<u32, no_value, order::greater>(),   one<f32, u32, order::greater>(),
    one<u32, no_value, order::custom>(),    one<u64, no_value, order::custom>(),
    one<u32, u32, order::custom>(),         one<u64, u64, order::custom>(),
    one<r16, no_value, order::custom>(),    one<r64, no_value, order::custom>(),
    one<u32, no_value, order::scrambled>(), one<u64, no_value, order::scrambled>(),
    one<u32, u32, order::scrambled>(),      one<u64, u64, order::scrambled>(),
    one<r16, no_value, order::scrambled>(), one<i64, no_value, order::less>(),
    one<f32, u32, order::custom>(),         one<r32, no_value, order::custom>(),
    one<r96, no_value, order::custom>(),    one<two_words, no_value, order::fields>(),
    one<r16, no_value, order::fields>(),    one<r32, no_value, order::fields>(),
    one<r256, no_value, order::custom>(),   one<r64, no_value, order::scrambled>(),
    one<u32, no_value, order::slow>(),      one<u32, no_value, order::expensive>(),
  };
  return all;
}

char const* const algorithm_names[] = {
  "automatic", "radix", "merge", "quicksort", "hybrid", "plain", "thrust", "thrust_stable", "cub_radix", "cub_merge"};

constexpr char const* help = R"(gpusort_bench: times this library beside Thrust and CUB on one GPU.

  --algorithms=LIST     all, or some of automatic radix merge quicksort hybrid (this library by tag, memory given
                        beforehand), plain (this library under thrust::device), thrust, thrust_stable (under
                        thrust::device), cub_radix, cub_merge (memory given beforehand)        [all]
  --types=LIST          all, or some of u8 u16 u32 u64 i64 u128 f32 f64, 2xu32 (two fields), r16 r32 r64 r96 r256
                        (records)
                                                                                            [u32,u64]
  --values=LIST         all, or some of none u32 u64 16B                                       [none]
  --comparator=LIST     all, or some of less greater fields custom scrambled slow expensive    [less]
  --n=LIST              numbers, powers, ranges: 100000,2^20,2^8..2^30,2^8..2^30:2 (every other power)
                                                                         [2^10,2^16,2^20,2^24,2^28]
  --distributions=LIST  all, or some of the names that --list prints                        [uniform]
  --repetitions=N       time at least N sorts; an odd number is timed, their median reported     [11]
  --min-time=SECONDS    time sorts until they take so long together                            [0.01]
  --head-start=MICROSECONDS
                        let the GPU wait so long before each sort that events time: the host is done enqueuing by
                        then, and the time is the GPU's alone. 0: the sort starts on an idle stream [0]
  --seed=N              of the input                                                              [1]
  --json=FILE           write results for ratios.py, like --benchmark_out=FILE
  --list                print combinations of types and distributions, and end
  --help                print this, and end

Options of Google Benchmark (--benchmark_...) work too. Combinations that were not compiled are left out, with a note.
Exit status: 0; 1 if a result was wrong or CUDA failed; 2 if the command line was not understood.
)";

struct usage_error : std::runtime_error
{
  using std::runtime_error::runtime_error;
};

std::vector<std::string> split(std::string const& list)
{
  std::vector<std::string> parts;
  std::istringstream stream(list);
  for (std::string part; std::getline(stream, part, ',');)
  {
    if (!part.empty())
    {
      parts.push_back(part);
    }
  }
  if (parts.empty())
  {
    throw usage_error("an empty list");
  }
  return parts;
}

template <class Number>
Number parse_number(std::string const& text)
{
  std::istringstream stream(text);
  Number number{};
  if (text.empty() || text[0] == '-' || !(stream >> number) || !stream.eof())
  {
    throw usage_error("'" + text + "' is not a number");
  }
  return number;
}

std::size_t parse_size(std::string const& text)
{
  std::size_t n = 0;
  if (text.rfind("2^", 0) == 0)
  {
    auto const exponent = parse_number<unsigned>(text.substr(2));
    n                   = exponent < 41 ? std::size_t{1} << exponent : 0;
  }
  else
  {
    n = parse_number<std::size_t>(text);
  }
  if (n < 2 || n > std::size_t{1} << 40)
  {
    throw usage_error("n must lie between 2 and 2^40, not '" + text + "'");
  }
  return n;
}

std::vector<std::size_t> parse_sizes(std::string const& list)
{
  std::vector<std::size_t> sizes;
  for (std::string const& part : split(list))
  {
    std::size_t const dots = part.find("..");
    if (dots == std::string::npos)
    {
      sizes.push_back(parse_size(part));
      continue;
    }
    std::size_t const colon = part.find(':', dots);
    auto const step         = colon == std::string::npos ? 1u : parse_number<unsigned>(part.substr(colon + 1));
    std::size_t const first = parse_size(part.substr(0, dots));
    std::size_t const last  = parse_size(part.substr(dots + 2, colon == std::string::npos ? colon : colon - dots - 2));
    if (step == 0 || step > 20 || last < first)
    {
      throw usage_error("'" + part + "' is not a range");
    }
    for (std::size_t n = first; n <= last; n <<= step)
    {
      sizes.push_back(n);
    }
  }
  return sizes;
}

/// The names in `list`, each of which must be one of `known`; all of those for `all`.
std::vector<std::string> parse_names(std::string const& list, std::vector<std::string> const& known)
{
  std::vector<std::string> const names = split(list);
  for (std::string const& name : names)
  {
    if (name == "all")
    {
      return known;
    }
    bool found = false;
    std::string all_known;
    for (std::string const& k : known)
    {
      found = found || k == name;
      all_known += " " + k;
    }
    if (!found)
    {
      throw usage_error("'" + name + "' is not one of" + all_known);
    }
  }
  return names;
}

void add_once(std::vector<std::string>& names, std::string const& name)
{
  for (std::string const& n : names)
  {
    if (n == name)
    {
      return;
    }
  }
  names.push_back(name);
}

std::vector<testing::distribution> parse_distributions(std::string const& list)
{
  std::vector<std::string> known;
  for (testing::distribution const d : testing::all_distributions)
  {
    known.push_back(testing::name_of(d));
  }
  std::vector<testing::distribution> distributions;
  for (std::string const& name : parse_names(list, known))
  {
    distributions.push_back(*testing::parse_distribution(name));
  }
  return distributions;
}

void set(options& o, std::string const& name, std::string const& value)
{
  std::vector<std::string> types, values, comparators;
  for (combination const& c : combinations())
  {
    add_once(types, c.type);
    add_once(values, c.value);
    add_once(comparators, c.comparator);
  }
  // clang-format off
  if (name == "--algorithms") o.algorithms = parse_names(value, {std::begin(algorithm_names), std::end(algorithm_names)});
  else if (name == "--types") o.types = parse_names(value, types);
  else if (name == "--values") o.values = parse_names(value, values);
  else if (name == "--comparator") o.comparators = parse_names(value, comparators);
  else if (name == "--n") o.sizes = parse_sizes(value);
  else if (name == "--distributions") o.distributions = parse_distributions(value);
  else if (name == "--repetitions") o.repetitions = parse_number<std::size_t>(value);
  else if (name == "--min-time") o.min_time = parse_number<double>(value);
  else if (name == "--head-start") o.head_start = parse_number<double>(value) * 1e-6;
  else if (name == "--seed") o.seed = parse_number<std::uint64_t>(value);
  else throw usage_error("there is no option " + name);
  // clang-format on
}

void print_list()
{
  std::cout << "keys values comparator\n";
  for (combination const& c : combinations())
  {
    std::cout << c.type << ' ' << c.value << ' ' << c.comparator << '\n';
  }
  std::cout << "\ndistributions\n";
  for (testing::distribution const d : testing::all_distributions)
  {
    std::cout << testing::name_of(d) << '\n';
  }
}

/// Registers what was asked for, and says what of it was not compiled. Whether anything is left to run.
bool register_all(options const& o)
{
  bool any = false;
  for (std::string const& type : o.types)
  {
    for (std::string const& value : o.values)
    {
      for (std::string const& comparator : o.comparators)
      {
        bool found = false;
        for (combination const& c : combinations())
        {
          if (c.type == type && c.value == value && c.comparator == comparator)
          {
            c.add(o);
            found = true;
          }
        }
        any = any || found;
        if (!found)
        {
          std::cerr << "gpusort_bench: not compiled, left out: " << type << " keys, " << value << " values, "
                    << comparator << '\n';
        }
      }
    }
  }
  return any;
}

std::string cuda_version(int version)
{
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string dotted(int major, int minor, int patch)
{
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

/// What a reader of the JSON has to know to compare its figures with others.
void add_context(options const& o)
{
  int device = 0, runtime = 0, driver = 0;
  cudaDeviceProp properties{};
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");

  benchmark::AddCustomContext("gpu", properties.name);
  benchmark::AddCustomContext("multiprocessors", std::to_string(properties.multiProcessorCount));
  benchmark::AddCustomContext("l2_bytes", std::to_string(properties.l2CacheSize));
  benchmark::AddCustomContext("memory_bytes", std::to_string(properties.totalGlobalMem));
  benchmark::AddCustomContext("toolkit", cuda_version(CUDART_VERSION));
  benchmark::AddCustomContext("runtime", cuda_version(runtime));
  benchmark::AddCustomContext("driver_supports", cuda_version(driver));
  benchmark::AddCustomContext("cccl", dotted(CCCL_MAJOR_VERSION, CCCL_MINOR_VERSION, CCCL_PATCH_VERSION));
  benchmark::AddCustomContext("gpusort", dotted(GPUSORT_VERSION_MAJOR, GPUSORT_VERSION_MINOR, GPUSORT_VERSION_PATCH));
  benchmark::AddCustomContext("repetitions", std::to_string(o.repetitions));
  benchmark::AddCustomContext("min_time_seconds", std::to_string(o.min_time));
  benchmark::AddCustomContext("head_start_us", std::to_string(o.head_start * 1e6));
  benchmark::AddCustomContext("seed", std::to_string(o.seed));
}

int run(int argc, char** argv)
{
  options o;
  std::vector<std::string> for_google{argv[0]};
  for (int i = 1; i < argc; ++i)
  {
    std::string const argument = argv[i];
    if (argument == "--help" || argument == "-h")
    {
      std::cout << help;
      return 0;
    }
    if (argument == "--list")
    {
      print_list();
      return 0;
    }
    if (argument.rfind("--benchmark_", 0) == 0 || argument.rfind("--v=", 0) == 0)
    {
      for_google.push_back(argument);
      continue;
    }
    std::size_t const equals = argument.find('=');
    std::string const name   = argument.substr(0, equals);
    if (equals == std::string::npos && i + 1 == argc)
    {
      throw usage_error(name + " needs a value, or is no option");
    }
    std::string const value = equals == std::string::npos ? std::string(argv[++i]) : argument.substr(equals + 1);
    if (name == "--json")
    {
      for_google.push_back("--benchmark_out=" + value);
      for_google.push_back("--benchmark_out_format=json");
      continue;
    }
    try
    {
      set(o, name, value);
    }
    catch (usage_error const& error)
    {
      throw usage_error(name + ": " + error.what());
    }
  }

  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
  {
    std::cerr << "gpusort_bench: no CUDA device was found\n";
    return 1;
  }

  std::vector<char*> google_argv;
  for (std::string& argument : for_google)
  {
    google_argv.push_back(argument.data());
  }
  int google_argc = static_cast<int>(google_argv.size());
  google_argv.push_back(nullptr);
  benchmark::Initialize(&google_argc, google_argv.data());
  if (benchmark::ReportUnrecognizedArguments(google_argc, google_argv.data()))
  {
    return 2;
  }

  add_context(o);
  if (register_all(o))
  {
    benchmark::RunSpecifiedBenchmarks();
    kept().release();
  }
  benchmark::Shutdown();
  return failures() == 0 ? 0 : 1;
}

} // namespace
} // namespace gpusort::benchmarks

int main(int argc, char** argv)
{
  try
  {
    return gpusort::benchmarks::run(argc, argv);
  }
  catch (gpusort::benchmarks::usage_error const& error)
  {
    std::cerr << "gpusort_bench: " << error.what() << "; see gpusort_bench --help\n";
    return 2;
  }
  catch (std::exception const& error)
  {
    std::cerr << "gpusort_bench: " << error.what() << '\n';
    return 1;
  }
}
