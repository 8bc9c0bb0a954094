// expect: stable_sort cannot run gpusort::quicksort, which is not stable; use gpusort::merge_sort
#include <gpusort/sort.h>

#include <thrust/execution_policy.h>

#include <vector>

int main()
{
  std::vector<int> v{3, 1, 2};
  std::vector<int> values{0, 1, 2};
  gpusort::stable_sort_by_key(gpusort::quicksort(thrust::host), v.begin(), v.end(), values.begin());
}
