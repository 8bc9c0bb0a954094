// expect: this range can be read only
#include <gpusort/sort.h>

#include <thrust/execution_policy.h>

#include <vector>

int main()
{
  std::vector<int> const keys{3, 1, 2};
  gpusort::sort(thrust::host, keys.begin(), keys.end());
}
