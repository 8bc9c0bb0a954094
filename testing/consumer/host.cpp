// Compiled by the host compiler alone.
#include <gpusort/sort.h>
#include <gpusort/version.h>
#include <gpusort/workspace.h>

#include <thrust/execution_policy.h>

#include <algorithm>
#include <functional>
#include <vector>

bool sorts_on_the_host();

bool sorts_on_the_host()
{
  std::vector<float> keys{2.5f, -1.0f, 7.0f, 0.0f};
  std::vector<int> values{0, 1, 2, 3};
  gpusort::sort_by_key(thrust::host, keys.begin(), keys.end(), values.begin(), std::greater<float>{});
  gpusort::stable_sort(gpusort::radix_sort, values.begin(), values.end());
  gpusort::sort(gpusort::quicksort(thrust::seq), values.begin(), values.end());
  return std::is_sorted(keys.begin(), keys.end(), std::greater<float>{}) && values == std::vector<int>{0, 1, 2, 3};
}
