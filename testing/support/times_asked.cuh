// How often a sort asks its comparator.
#pragma once

#include <thrust/copy.h>
#include <thrust/device_vector.h>

#include <numeric>
#include <vector>

namespace gpusort::testing
{

/// Counts how often it is asked, in the counter of a thread: with one for all, threads would wait for each other longer than the blocks of a wave do.
template <class Compare>
struct counting
{
  static constexpr unsigned counters = 4096;

  unsigned long long* asked; // [counters]

  template <class Key>
  __device__ bool operator()(Key const& a, Key const& b) const
  {
    atomicAdd(asked + (blockIdx.x * blockDim.x + threadIdx.x) % counters, 1ull);
    return Compare{}(a, b);
  }
};

/// How often `sort` asks the comparator that it is called with.
template <class Compare, class Sort>
unsigned long long times_asked(Sort sort)
{
  thrust::device_vector<unsigned long long> asked(counting<Compare>::counters);
  sort(counting<Compare>{thrust::raw_pointer_cast(asked.data())});
  std::vector<unsigned long long> counts(asked.size());
  thrust::copy(asked.begin(), asked.end(), counts.begin());
  return std::accumulate(counts.begin(), counts.end(), 0ull);
}

} // namespace gpusort::testing
