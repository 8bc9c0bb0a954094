// What to measure, as the command line says it.
#pragma once

#include <testing/support/inputs.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gpusort::benchmarks
{

struct options
{
  std::vector<std::string> algorithms{"all"};
  std::vector<std::string> types{"u32", "u64"};
  std::vector<std::string> values{"none"};
  std::vector<std::string> comparators{"less"};
  std::vector<std::size_t> sizes{1u << 10, 1u << 16, 1u << 20, 1u << 24, 1u << 28};
  std::vector<testing::distribution> distributions{testing::distribution::uniform};

  std::size_t repetitions = 11; // at least so many sorts are timed, and an odd number of them
  double min_time         = 0.01; // seconds that the timed sorts take together, at least
  double head_start       = 0; // seconds that the host has to enqueue a call before the GPU begins it
  std::uint64_t seed      = 1;

  bool wants(std::string const& algorithm) const
  {
    for (std::string const& a : algorithms)
    {
      if (a == "all" || a == algorithm)
      {
        return true;
      }
    }
    return false;
  }
};

/// The order that keys are sorted in. By fields: `gpusort::by`, which radix sort reads. A custom comparator is one that no library knows: it gets a comparison sort. It orders
/// keys as `less` does; a scrambled one has an order of its own, of which their values say nothing. A slow one does, too, and takes hundreds of
/// instructions that wait for each other; an expensive one is the same, marked by `gpusort::expensive`.
enum class order
{
  less,
  greater,
  fields,
  custom,
  scrambled,
  slow,
  expensive
};

} // namespace gpusort::benchmarks
