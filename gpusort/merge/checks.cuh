// What kernels find out about the comparator and tell those after them.
#pragma once

#include <cstdint>

namespace gpusort::merge
{

/// 0, unless the comparator contradicted itself in a pass, or in one before it. The source of the first pass that failed then
/// survives, because no later pass touches anything: a permutation of the input.
using pass_check = unsigned long long;

/// Whether a pass before this one failed. Then `checks` says so of this one too. Called by all threads of a block.
__device__ inline bool failed_before(pass_check* checks, int pass)
{
  bool const failed = pass > 0 && checks[pass - 1] != 0;
  if (failed && threadIdx.x == 0)
  {
    checks[pass] = 1;
  }
  return failed;
}

} // namespace gpusort::merge
