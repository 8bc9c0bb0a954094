// What can be asked at compile time, and how much memory a call needs.
#include <gpusort/sort.h>
#include <gpusort/workspace.h>

#include <thrust/execution_policy.h>
#include <thrust/functional.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <type_traits>

struct by_last_digit
{
  __host__ __device__ bool operator()(int a, int b) const
  {
    return a % 10 < b % 10;
  }
};

struct point
{
  float x, y;
};

// Whether stable_sort accepts it.
static_assert(gpusort::is_stable_v<gpusort::automatic_t> && gpusort::is_stable_v<gpusort::radix_sort_t>);
static_assert(gpusort::is_stable_v<gpusort::merge_sort_t> && gpusort::is_stable_v<gpusort::hybrid_sort_t>);
static_assert(!gpusort::is_stable_v<gpusort::quicksort_t>);

// Whether keys under a comparator can be sorted digit by digit: numbers and enums, less and greater, whoever's they are.
static_assert(gpusort::has_radix_order_v<int, thrust::less<int>>);
static_assert(gpusort::has_radix_order_v<double, std::greater<>>);
static_assert(gpusort::has_radix_order_v<unsigned __int128, cuda::std::less<>>);
static_assert(!gpusort::has_radix_order_v<int, by_last_digit>);
static_assert(!gpusort::has_radix_order_v<int, thrust::greater<float>>); // converts first: not the order of the ints
static_assert(!gpusort::has_radix_order_v<point, thrust::less<>>);

// Whether an algorithm can sort such keys.
static_assert(gpusort::supports_v<gpusort::radix_sort_t, float, thrust::less<float>>);
static_assert(!gpusort::supports_v<gpusort::radix_sort_t, int, by_last_digit>);
static_assert(gpusort::supports_v<gpusort::merge_sort_t, int, by_last_digit>);

// What a call without a tag runs on the GPU.
static_assert(std::is_same_v<gpusort::selected_t<std::uint64_t, thrust::less<>>, gpusort::radix_sort_t>);
static_assert(std::is_same_v<gpusort::selected_t<int, by_last_digit>, gpusort::merge_sort_t>);

int main()
{
  // No memory is read: null pointers will do. No GPU is needed either.
  std::uint32_t* const keys   = nullptr;
  std::uint64_t* const values = nullptr;
  std::printf("%10s %20s %20s %20s\n", "n", "automatic", "merge_sort", "automatic, values");
  bool plausible = true;
  for (std::ptrdiff_t n = 0; n <= 100000000; n = n == 0 ? 1 : n * 100)
  {
    std::size_t const automatic = gpusort::workspace_bytes(thrust::device, keys, keys + n);
    std::size_t const merge     = gpusort::workspace_bytes(gpusort::merge_sort(thrust::device), keys, keys + n);
    std::size_t const by_key    = gpusort::workspace_bytes_by_key(thrust::device, keys, keys + n, values);
    std::printf("%10td %14zu bytes %14zu bytes %14zu bytes\n", n, automatic, merge, by_key);
    // Nothing to sort needs nothing; values only ever add.
    plausible = plausible && (n < 2 ? automatic == 0 && merge == 0 && by_key == 0 : by_key >= automatic);
  }
  std::size_t const on_host = gpusort::workspace_bytes(thrust::host, keys, keys + 1000);
  std::printf("%10d %14zu bytes on the host, which takes its memory elsewhere\n", 1000, on_host);
  return plausible && on_host == 0 ? 0 : 1;
}
