// expect: what a __device__ lambda returns cannot be seen in host code: make the projection __host__ __device__
#include <gpusort/order.h>
#include <gpusort/sort.h>

#include <thrust/device_vector.h>

struct particle
{
  int cell;
};

void sort_on_the_gpu(thrust::device_vector<particle>& v)
{
  gpusort::sort(v.begin(), v.end(), gpusort::by([] __device__(particle const& p) { return p.cell; }));
}
