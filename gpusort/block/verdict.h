// What those who try to sort an input in one way tell those who would sort it in another.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace gpusort::block
{

/// In device memory: `accepted` or `refused` is the outcome, never both; the bits below may count votes for it. It stands once the kernel that
/// decides is over, or, among blocks that wait for it, as soon as one of the two is there. 0 afterwards is as good as `refused`.
using sort_verdict = std::uint32_t;

namespace verdict
{
inline constexpr sort_verdict accepted = sort_verdict{1} << 30; // the input is sorted
inline constexpr sort_verdict refused  = sort_verdict{1} << 31; // it is as it was
} // namespace verdict

/// Whether somebody has sorted the input; null: nobody has tried.
__device__ inline bool is_sorted_already(sort_verdict const* by_others)
{
  return by_others != nullptr && (*by_others & verdict::accepted) != 0;
}

} // namespace gpusort::block
