// What the papers' experiments share: a command line, medians, and tables in Markdown.
#pragma once

#include <benchmarks/device.cuh>

#include <cuda_runtime.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <vector>

namespace gpusort::benchmarks
{

/// What every experiment can be told.
struct experiment_options
{
  std::vector<unsigned> log2_sizes;
  std::size_t repetitions = 5;
};

inline double median(std::vector<double> values)
{
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Events between the parts of a call, all recorded before anybody waits: the GPU goes from one part to the next.
class part_clock
{
public:
  explicit part_clock(std::size_t parts)
      : marks_(parts + 1)
  {
    for (cudaEvent_t& mark : marks_)
    {
      check(cudaEventCreate(&mark), "cudaEventCreate");
    }
  }
  part_clock(part_clock const&)            = delete;
  part_clock& operator=(part_clock const&) = delete;
  ~part_clock()
  {
    for (cudaEvent_t const mark : marks_)
    {
      (void) cudaEventDestroy(mark);
    }
  }

  /// The end of the part before, if there is one, and the beginning of the next.
  void mark(std::size_t number)
  {
    check(cudaEventRecord(marks_[number], stream()), "cudaEventRecord");
  }

  /// Microseconds of each part. Waits for the last.
  std::vector<double> times() const
  {
    check(cudaEventSynchronize(marks_.back()), "what is measured");
    std::vector<double> all;
    for (std::size_t i = 0; i + 1 < marks_.size(); ++i)
    {
      float milliseconds = 0;
      check(cudaEventElapsedTime(&milliseconds, marks_[i], marks_[i + 1]), "cudaEventElapsedTime");
      all.push_back(milliseconds * 1e3);
    }
    return all;
  }

private:
  std::vector<cudaEvent_t> marks_;
};

inline void print_row(std::vector<std::string> const& cells)
{
  std::string row = "|";
  for (std::string const& cell : cells)
  {
    row += " " + cell + " |";
  }
  std::puts(row.c_str());
}

inline void print_header(std::vector<std::string> const& names)
{
  print_row(names);
  print_row(std::vector<std::string>(names.size(), "---"));
}

inline std::string microseconds(double time)
{
  char text[32];
  std::snprintf(text, sizeof text, time < 100 ? "%.1f" : "%.0f", time);
  return text;
}

inline std::string ratio(double value)
{
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

inline std::string power(unsigned log2)
{
  return "2^" + std::to_string(log2);
}

/// The main function of an experiment: exit status 1 if a result is wrong or CUDA fails.
inline int run_experiment(char const* what,
                          std::vector<unsigned> log2_sizes,
                          int argc,
                          char** argv,
                          std::function<void(experiment_options const&)> const& run)
{
  experiment_options given{std::move(log2_sizes)};
  CLI::App app(what);
  app.add_option("--log2", given.log2_sizes, "sizes, as powers of two: 22,24,26")
    ->delimiter(',')
    ->check(CLI::Range(4, 34));
  app.add_option("--repetitions", given.repetitions, "the median of how many runs")->check(CLI::Range(1, 100001));
  try
  {
    app.parse(argc, argv);
    run(given);
    return 0;
  }
  catch (CLI::ParseError const& error)
  {
    return app.exit(error);
  }
  catch (std::exception const& error)
  {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 1;
  }
}

} // namespace gpusort::benchmarks
