// The least and the greatest value of a block's threads.
#pragma once

#include <gpusort/block/warp.cuh>

namespace gpusort::block
{

template <class Bits, int Threads>
struct span_storage
{
  static constexpr int warps = Threads / 32;
  static_assert(warps <= 32); // the lanes of a warp look at all

  Bits least[warps];
  Bits greatest[warps];
};

/// Replaces the least and the greatest of a thread's values by those of the block. Returns whether any thread passes
/// `any`. Called by all threads; the storage may be used again after a barrier.
template <class Bits, int Threads>
__device__ bool span_of_block(span_storage<Bits, Threads>& shared, Bits& least, Bits& greatest, bool any = false)
{
  int const warp     = static_cast<int>(threadIdx.x) / 32;
  Bits const lowest  = least_of_warp(least);
  Bits const highest = greatest_of_warp(greatest);
  if (threadIdx.x % 32 == 0)
  {
    shared.least[warp]    = lowest;
    shared.greatest[warp] = highest;
  }
  any             = __syncthreads_or(any) != 0;
  int const other = static_cast<int>(threadIdx.x) % span_storage<Bits, Threads>::warps;
  least           = least_of_warp(shared.least[other]);
  greatest        = greatest_of_warp(shared.greatest[other]);
  return any;
}

} // namespace gpusort::block
