// expect: stable_sort cannot run gpusort::quicksort, which is not stable; use gpusort::merge_sort
#include <gpusort/sort.h>

#include <thrust/execution_policy.h>

#include <vector>

int main()
{
  std::vector<int> v{3, 1, 2};
  gpusort::stable_sort(gpusort::quicksort(thrust::host), v.begin(), v.end());
}
