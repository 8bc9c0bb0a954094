// Prefix sums over the first threads of a block.
#pragma once

#include <gpusort/block/warp.cuh>

namespace gpusort::block
{

/// A sum a warp of `Count` threads.
template <class T, int Count>
using warp_sums = T[Count / 32];

/// The sum of the values of the threads before this one, among the first `Count`; undefined for the others. Called by all
/// threads of a block of at least `Count`; contains a barrier, and has to be followed by one before the sums are used again.
template <int Count, class T>
__device__ T exclusive_sum(warp_sums<T, Count>& sums, T value)
{
  static_assert(Count % 32 == 0 && Count <= 1024);
  int const warp    = static_cast<int>(threadIdx.x) / 32;
  T const inclusive = inclusive_sum_of_warp(value);
  if (warp < Count / 32 && threadIdx.x % 32 == 31)
  {
    sums[warp] = inclusive;
  }
  __syncthreads();
  auto const lane      = static_cast<int>(threadIdx.x) % 32;
  T const of_warps     = inclusive_sum_of_warp(lane < Count / 32 ? sums[lane] : T{});
  T const up_to_before = __shfl_sync(all_lanes, of_warps, warp > 0 ? warp - 1 : 0);
  return (warp > 0 ? up_to_before : T{}) + inclusive - value;
}

} // namespace gpusort::block
