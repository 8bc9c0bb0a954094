// A custom execution policy that sorts on all CPU cores, through TBB: nothing here needs nvcc or a GPU.
#include <gpusort/sort.h>

#include <thrust/execution_policy.h>
#include <thrust/functional.h>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_invoke.h>
#include <tbb/parallel_sort.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <random>
#include <utility>
#include <vector>

namespace all_cores
{

struct policy : thrust::host_execution_policy<policy>
{};

// Halves sorted in parallel, then merged. Below the grain a task costs more than it saves.
template <class I, class Compare>
void merge_sort(I first, I last, Compare comp)
{
  constexpr std::ptrdiff_t grain = 16384;
  if (last - first <= grain)
  {
    std::stable_sort(first, last, comp);
    return;
  }
  I const middle = first + (last - first) / 2;
  tbb::parallel_invoke([=] { merge_sort(first, middle, comp); }, [=] { merge_sort(middle, last, comp); });
  std::inplace_merge(first, middle, last, comp);
}

template <class I, class Compare>
void sort(policy&, I first, I last, Compare comp)
{
  tbb::parallel_sort(first, last, comp);
}

template <class I, class Compare>
void stable_sort(policy&, I first, I last, Compare comp)
{
  merge_sort(first, last, comp);
}

template <class I, class J, class Compare>
void stable_sort_by_key(policy&, I keys, I keys_end, J values, Compare comp)
{
  using key   = typename std::iterator_traits<I>::value_type;
  using value = typename std::iterator_traits<J>::value_type;
  std::vector<std::pair<key, value>> pairs(static_cast<std::size_t>(keys_end - keys));
  auto const each = [&](auto work) {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, pairs.size()), [&](auto const& range) {
      for (std::size_t i = range.begin(); i != range.end(); ++i)
      {
        work(pairs[i], keys[static_cast<std::ptrdiff_t>(i)], values[static_cast<std::ptrdiff_t>(i)]);
      }
    });
  };
  each([](auto& pair, auto& k, auto& v) { pair = {std::move(k), std::move(v)}; });
  merge_sort(pairs.begin(), pairs.end(), [comp](auto const& a, auto const& b) { return comp(a.first, b.first); });
  each([](auto& pair, auto& k, auto& v) {
    k = std::move(pair.first);
    v = std::move(pair.second);
  });
}

template <class I, class J, class Compare>
void sort_by_key(policy& p, I keys, I keys_end, J values, Compare comp)
{
  stable_sort_by_key(p, keys, keys_end, values, comp);
}

// Without a comparator: `<`.
template <class I>
void sort(policy& p, I first, I last)
{
  sort(p, first, last, thrust::less<>{});
}

template <class I>
void stable_sort(policy& p, I first, I last)
{
  stable_sort(p, first, last, thrust::less<>{});
}

template <class I, class J>
void sort_by_key(policy& p, I keys, I keys_end, J values)
{
  stable_sort_by_key(p, keys, keys_end, values, thrust::less<>{});
}

template <class I, class J>
void stable_sort_by_key(policy& p, I keys, I keys_end, J values)
{
  stable_sort_by_key(p, keys, keys_end, values, thrust::less<>{});
}

} // namespace all_cores

int main()
{
  std::printf("sorting on %d cores of the host\n", tbb::this_task_arena::max_concurrency());
  std::vector<unsigned> input(1 << 20), indices(input.size());
  std::mt19937 random(5);
  for (std::size_t i = 0; i < input.size(); ++i)
  {
    input[i]   = random() % 100000;
    indices[i] = static_cast<unsigned>(i);
  }

  std::vector<unsigned> keys = input;
  gpusort::sort(all_cores::policy{}, keys.begin(), keys.end());
  bool right = std::is_sorted(keys.begin(), keys.end());

  // The order by the last digit leaves the order by value as it was within each digit.
  auto const by_last_digit       = [](unsigned a, unsigned b) { return a % 10 < b % 10; };
  std::vector<unsigned> expected = keys;
  gpusort::stable_sort(all_cores::policy{}, keys.begin(), keys.end(), by_last_digit);
  std::stable_sort(expected.begin(), expected.end(), by_last_digit);
  right = right && keys == expected;

  keys = input;
  gpusort::stable_sort_by_key(all_cores::policy{}, keys.begin(), keys.end(), indices.begin());
  for (std::size_t i = 0; i < keys.size(); ++i)
  {
    bool const together = keys[i] == input[indices[i]];
    bool const in_order = i == 0 || keys[i - 1] < keys[i] || (keys[i - 1] == keys[i] && indices[i - 1] < indices[i]);
    right               = right && together && in_order;
  }
  std::printf(right ? "sorted as it should be\n" : "WRONG ORDER\n");
  return right ? 0 : 1;
}
