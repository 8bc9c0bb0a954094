// expect: a projection of gpusort::by cannot be called with the keys
#include <gpusort/order.h>
#include <gpusort/sort.h>

#include <thrust/execution_policy.h>

#include <vector>

struct particle
{
  int cell;
};

int main()
{
  std::vector<int> v{3, 1, 2};
  gpusort::sort(thrust::host, v.begin(), v.end(), gpusort::descending(&particle::cell));
}
