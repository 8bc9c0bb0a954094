// A custom algorithm tag, defined outside the library: Batcher's odd-even merge sort on the GPU, comb sort on the host.
// Both sort in place with no scratch memory at all; neither is stable, nor a match for the library's own.
#include "has_gpu.h"

#include <gpusort/sort.h>

#include <cuda_runtime.h>
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/system/cuda/error.h>
#include <thrust/system_error.h>

#include <cuda/std/iterator>

#include <algorithm>
#include <cstddef>
#include <random>
#include <type_traits>

// The tag: a name, and what it promises.
struct exchange_sort_t : gpusort::algorithm<exchange_sort_t>
{
  static constexpr bool is_stable = false;
  template <class Key, class Compare>
  static constexpr bool supports = true;
};
inline constexpr exchange_sort_t exchange_sort{};

// One step of the network: each thread compares elements `distance` apart, where the lower one is the lower end of such
// a comparison and both are in the same run of 2 * half elements. The network is right for any n: all its exchanges
// move the smaller element down, so elements beyond the end would be infinite and stay where they are.
template <class Key, class Value, class Compare>
__global__ void
exchange_apart(Key* keys, Value* values, std::size_t n, std::size_t half, std::size_t distance, Compare comp)
{
  std::size_t const low   = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  std::size_t const high  = low + distance;
  std::size_t const start = distance == half ? 0 : distance;
  if (high >= n || low < start || (low - start) / distance % 2 != 0 || low / (2 * half) != high / (2 * half)
      || !comp(keys[high], keys[low]))
  {
    return;
  }
  Key const key = keys[low];
  keys[low]     = keys[high];
  keys[high]    = key;
  if constexpr (!std::is_same_v<Value, gpusort::no_value>)
  {
    Value const value = values[low];
    values[low]       = values[high];
    values[high]      = value;
  }
}

// How the tag sorts on the GPU. The library has already staged what is not contiguous, and sorts by index what is too
// large to be moved often; here are two arrays and a stream.
template <>
struct gpusort::device_backend<exchange_sort_t>
{
  template <class Key, class Value, class Compare>
  static std::size_t scratch_bytes(std::size_t)
  {
    return 0;
  }

  template <class Key, class Value, class Compare>
  static void sort(cudaStream_t stream, void*, Key* keys, Value* values, std::size_t n, Compare comp)
  {
    constexpr unsigned threads = 256;
    auto const blocks          = static_cast<unsigned>((n + threads - 1) / threads);
    for (std::size_t half = 1; half < n; half *= 2)
    {
      for (std::size_t distance = half; distance > 0; distance /= 2)
      {
        exchange_apart<<<blocks, threads, 0, stream>>>(keys, values, n, half, distance, comp);
        cudaError_t const status = cudaGetLastError();
        if (status != cudaSuccess)
        {
          throw thrust::system_error(status, thrust::cuda_category(), "exchange_sort");
        }
      }
    }
  }
};

// How it sorts on the calling thread, in host and in device code. With values an element is a pair of both, seen through
// a zip_iterator, and key_of takes its key.
template <>
struct gpusort::sequential_backend<exchange_sort_t>
{
  template <class Policy, class Iterator, class KeyOf, class Compare>
  __host__ __device__ static void sort(Policy&, Iterator first, Iterator last, KeyOf key_of, Compare comp)
  {
    using element          = cuda::std::iter_value_t<Iterator>;
    std::ptrdiff_t const n = last - first;
    std::ptrdiff_t gap     = n;
    for (bool exchanged = true; gap > 1 || exchanged;)
    {
      gap       = gap * 10 / 13 > 1 ? gap * 10 / 13 : 1;
      exchanged = false;
      for (std::ptrdiff_t low = 0; low + gap < n; ++low)
      {
        element const a = first[low], b = first[low + gap];
        if (comp(key_of(b), key_of(a)))
        {
          first[low]       = b;
          first[low + gap] = a;
          exchanged        = true;
        }
      }
    }
  }
};

// From here on it is an algorithm like the others.
template <class Vector>
bool sorts(thrust::host_vector<int> const& input)
{
  Vector keys = input;
  gpusort::sort(exchange_sort, keys.begin(), keys.end());
  thrust::host_vector<int> out = keys;
  bool const ascending         = std::is_sorted(out.begin(), out.end());

  Vector values = input;
  keys          = input;
  gpusort::sort_by_key(exchange_sort, keys.begin(), keys.end(), values.begin(), thrust::greater<int>{});
  out                   = keys;
  bool const descending = std::is_sorted(out.rbegin(), out.rend());
  return ascending && descending && keys == values;
}

int main()
{
  static_assert(!gpusort::is_stable_v<exchange_sort_t>); // stable_sort(exchange_sort, ...) would not compile
  thrust::host_vector<int> input(12345);
  std::mt19937 random(6);
  for (int& x : input)
  {
    x = static_cast<int>(random()) / 4096;
  }
  return report(has_gpu() ? sorts<thrust::device_vector<int>>(input) : sorts<thrust::host_vector<int>>(input));
}
