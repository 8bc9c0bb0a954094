// expect: radix_sort needs keys with a radix order under the comparator.*use gpusort::merge_sort or gpusort::automatic
#include <gpusort/sort.h>

#include <thrust/execution_policy.h>

#include <vector>

struct particle
{
  int cell;
  friend bool operator<(particle const& a, particle const& b)
  {
    return a.cell < b.cell;
  }
};

int main()
{
  std::vector<particle> v{{3}, {1}, {2}};
  std::vector<int> values{0, 1, 2};
  gpusort::sort_by_key(gpusort::radix_sort(thrust::seq), v.begin(), v.end(), values.begin());
}
