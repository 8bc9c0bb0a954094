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

/// What the blocks of a wave decide, in device memory: its low bits count votes for it; `accepted` or `refused` is the outcome, never
/// both, and never taken back.
using wave_verdict = std::uint32_t;

namespace verdict
{
inline constexpr wave_verdict accepted = wave_verdict{1} << 30;
inline constexpr wave_verdict refused  = wave_verdict{1} << 31;
} // namespace verdict

/// Whether a wave has sorted the input; null: there was none.
__device__ inline bool is_sorted_by_wave(wave_verdict const* all)
{
  return all != nullptr && (*all & verdict::accepted) != 0;
}

} // namespace gpusort::merge
