// expect: this algorithm has no device form; specialise gpusort::device_backend
#include <gpusort/sort.h>

#include <thrust/device_vector.h>

struct nowhere_t : gpusort::algorithm<nowhere_t>
{
  static constexpr bool is_stable = true;
  template <class Key, class Compare>
  static constexpr bool supports = true;
};

void sort_on_the_gpu(thrust::device_vector<int>& v)
{
  gpusort::sort(nowhere_t{}, v.begin(), v.end());
}
