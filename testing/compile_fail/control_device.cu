// expect-success
#include <gpusort/order.h>
#include <gpusort/sort.h>

#include <thrust/device_vector.h>

struct particle
{
  int cell;
};

// What the device cases beside this file get wrong, got right.
void sort_on_the_gpu(thrust::device_vector<int>& v)
{
  gpusort::stable_sort(gpusort::radix_sort(thrust::device), v.begin(), v.end());
}

void sort_by_a_device_lambda(thrust::device_vector<particle>& v)
{
  gpusort::sort(
    gpusort::radix_sort, v.begin(), v.end(), gpusort::by([] __device__(particle const& p) -> int { return p.cell; }));
}
