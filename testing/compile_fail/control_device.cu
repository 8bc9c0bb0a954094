// expect-success
#include <gpusort/sort.h>

#include <thrust/device_vector.h>

// What the device cases beside this file get wrong, got right.
void sort_on_the_gpu(thrust::device_vector<int>& v)
{
  gpusort::stable_sort(gpusort::radix_sort(thrust::device), v.begin(), v.end());
}
