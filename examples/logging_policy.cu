// A custom execution policy: it wraps another one, times every call and logs it. Policies are found as in Thrust, by
// argument-dependent lookup, so this one answers thrust::sort and gpusort::sort alike.
#include "has_gpu.h"

#include <gpusort/sort.h>

#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/host_vector.h>
#include <thrust/sort.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>

namespace logging
{

// `System` is the base that Thrust asks for: thrust::device_execution_policy or thrust::host_execution_policy. Whatever
// is not overloaded below runs as on that system.
template <template <class> class System, class Inner>
struct policy : System<policy<System, Inner>>
{
  Inner inner;
  int* calls;

  policy(Inner const& wrapped, int* counter)
      : inner(wrapped)
      , calls(counter)
  {}
};

template <class Policy, class Iterator, class Call>
void timed(Policy& p, char const* name, Iterator first, Iterator last, Call call)
{
  auto const begin = std::chrono::steady_clock::now();
  call(); // policies like thrust::device wait for the result; under par_nosync this would time the launch
  std::chrono::duration<double, std::milli> const taken = std::chrono::steady_clock::now() - begin;
  std::printf("%s of %td elements: %.3f ms\n", name, static_cast<std::ptrdiff_t>(last - first), taken.count());
  ++*p.calls;
}

// The policy's own algorithms. `compare` is there or not: the pack covers both forms.
template <template <class> class System, class Inner, class I, class... Compare>
void sort(policy<System, Inner>& p, I first, I last, Compare... compare)
{
  timed(p, "sort", first, last, [&] { gpusort::sort(p.inner, first, last, compare...); });
}

template <template <class> class System, class Inner, class I, class... Compare>
void stable_sort(policy<System, Inner>& p, I first, I last, Compare... compare)
{
  timed(p, "stable_sort", first, last, [&] { gpusort::stable_sort(p.inner, first, last, compare...); });
}

template <template <class> class System, class Inner, class I, class J, class... Compare>
void sort_by_key(policy<System, Inner>& p, I first, I last, J values, Compare... compare)
{
  timed(p, "sort_by_key", first, last, [&] { gpusort::sort_by_key(p.inner, first, last, values, compare...); });
}

template <template <class> class System, class Inner, class I, class J, class... Compare>
void stable_sort_by_key(policy<System, Inner>& p, I first, I last, J values, Compare... compare)
{
  timed(p, "stable_sort_by_key", first, last, [&] {
    gpusort::stable_sort_by_key(p.inner, first, last, values, compare...);
  });
}

template <class Inner>
policy<thrust::device_execution_policy, Inner> on_device(Inner const& inner, int* calls)
{
  return {inner, calls};
}

template <class Inner>
policy<thrust::host_execution_policy, Inner> on_host(Inner const& inner, int* calls)
{
  return {inner, calls};
}

} // namespace logging

template <class Vector, class Policy>
bool sorts(thrust::host_vector<unsigned> const& input, Policy const& policy)
{
  Vector keys = input, values = input;
  gpusort::sort(policy, keys.begin(), keys.end());
  gpusort::stable_sort(policy, keys.begin(), keys.end(), thrust::greater<unsigned>{});
  gpusort::stable_sort_by_key(policy, keys.begin(), keys.end(), values.begin());
  gpusort::sort_by_key(policy, values.begin(), values.end(), keys.begin());
  thrust::sort(policy, values.begin(), values.end()); // reaches the same overload

  thrust::host_vector<unsigned> expected = input, out = values;
  std::sort(expected.begin(), expected.end());
  return out == expected;
}

int main()
{
  thrust::host_vector<unsigned> input(100000);
  std::mt19937 random(4);
  for (unsigned& x : input)
  {
    x = random();
  }
  int calls = 0;
  bool const right =
    has_gpu() ? sorts<thrust::device_vector<unsigned>>(input, logging::on_device(thrust::device, &calls))
              : sorts<thrust::host_vector<unsigned>>(input, logging::on_host(thrust::host, &calls));
  std::printf("%d calls logged\n", calls);
  return report(right && calls == 5);
}
