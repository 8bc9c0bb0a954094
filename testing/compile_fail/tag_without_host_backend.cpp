// expect: this algorithm has no sequential form; specialise gpusort::sequential_backend
#include <gpusort/sort.h>

#include <thrust/execution_policy.h>

#include <vector>

struct nowhere_t : gpusort::algorithm<nowhere_t>
{
  static constexpr bool is_stable = true;
  template <class Key, class Compare>
  static constexpr bool supports = true;
};

int main()
{
  std::vector<int> v{3, 1, 2};
  gpusort::sort(nowhere_t{}(thrust::host), v.begin(), v.end());
}
