// expect: stable_sort needs an algorithm whose is_stable is true
#include <gpusort/sort.h>

#include <thrust/execution_policy.h>

#include <vector>

// A tag from outside the library, with a way to sort but without the promise.
struct shuffling_t : gpusort::algorithm<shuffling_t>
{
  static constexpr bool is_stable = false;
  template <class Key, class Compare>
  static constexpr bool supports = true;
};

template <>
struct gpusort::sequential_backend<shuffling_t>
{
  template <class Policy, class Iterator, class KeyOf, class Compare>
  __host__ __device__ static void sort(Policy&, Iterator, Iterator, KeyOf, Compare)
  {}
};

int main()
{
  std::vector<int> v{3, 1, 2};
  gpusort::stable_sort(shuffling_t{}(thrust::host), v.begin(), v.end());
}
