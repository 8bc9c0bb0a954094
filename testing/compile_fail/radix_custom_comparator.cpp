// expect: radix_sort needs keys with a radix order under the comparator.*use gpusort::merge_sort or gpusort::automatic
#include <gpusort/sort.h>

#include <thrust/execution_policy.h>

#include <vector>

int main()
{
  std::vector<int> v{3, 1, 2};
  gpusort::sort(gpusort::radix_sort(thrust::host), v.begin(), v.end(), [](int a, int b) { return b < a; });
}
