// expect-success
#include <gpusort/order.h>
#include <gpusort/sort.h>

#include <thrust/execution_policy.h>

#include <functional>
#include <vector>

struct particle
{
  int cell;
};

// Every call that the cases beside this file get wrong, got right, under the host compiler alone.
int main()
{
  std::vector<int> v{3, 1, 2};
  auto backwards = [](int a, int b) { return b < a; };
  gpusort::sort(gpusort::quicksort(thrust::host), v.begin(), v.end());
  gpusort::sort(gpusort::hybrid_sort(thrust::seq), v.begin(), v.end(), backwards);
  gpusort::sort(gpusort::radix_sort(thrust::host), v.begin(), v.end(), std::greater<int>{});
  gpusort::stable_sort(gpusort::merge_sort(thrust::host), v.begin(), v.end(), backwards);
  std::vector<particle> p{{3}, {1}, {2}};
  gpusort::sort(gpusort::radix_sort(thrust::host), p.begin(), p.end(), gpusort::descending(&particle::cell));
}
