// Drop-in: the change in a code base that calls thrust::sort is the include and the namespace.
#include "has_gpu.h"

#include <gpusort/sort.h>

#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/sort.h>

#include <random>

template <class Vector>
bool same_as_thrust(thrust::host_vector<unsigned> const& input)
{
  Vector before = input;
  thrust::sort(before.begin(), before.end());

  Vector after = input;
  gpusort::sort(after.begin(), after.end()); // the system comes from the iterators, as with Thrust

  return before == after;
}

int main()
{
  thrust::host_vector<unsigned> input(1 << 20);
  std::mt19937 random(1);
  for (unsigned& x : input)
  {
    x = random();
  }
  return report(has_gpu() ? same_as_thrust<thrust::device_vector<unsigned>>(input)
                          : same_as_thrust<thrust::host_vector<unsigned>>(input));
}
