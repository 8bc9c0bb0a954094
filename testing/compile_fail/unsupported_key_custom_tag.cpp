// expect: this algorithm does not support this key type under this comparator
#include <gpusort/sort.h>

#include <thrust/execution_policy.h>

#include <type_traits>
#include <vector>

// A tag from outside the library that sorts bytes and nothing else.
struct counting_t : gpusort::algorithm<counting_t>
{
  static constexpr bool is_stable = true;
  template <class Key, class Compare>
  static constexpr bool supports = std::is_same_v<Key, unsigned char>;
};

template <>
struct gpusort::sequential_backend<counting_t>
{
  template <class Policy, class Iterator, class KeyOf, class Compare>
  __host__ __device__ static void sort(Policy&, Iterator, Iterator, KeyOf, Compare)
  {}
};

int main()
{
  std::vector<int> v{3, 1, 2};
  gpusort::sort(counting_t{}(thrust::host), v.begin(), v.end());
}
