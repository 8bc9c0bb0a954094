// expect: an algorithm tag needs a CUDA policy, thrust::seq or thrust::host.*call them with the bare policy
#include <gpusort/sort.h>

#include <thrust/system/omp/execution_policy.h>

#include <vector>

int main()
{
  std::vector<int> v{3, 1, 2};
  gpusort::sort(gpusort::merge_sort(thrust::omp::par), v.begin(), v.end());
}
