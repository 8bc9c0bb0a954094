// expect: quicksort runs on the host only so far, under thrust::seq or thrust::host
#include <gpusort/sort.h>

#include <thrust/device_vector.h>

void sort_on_the_gpu(thrust::device_vector<int>& v)
{
  gpusort::sort(gpusort::quicksort(thrust::device), v.begin(), v.end());
}
