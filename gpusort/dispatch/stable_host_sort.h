// The C++ library's stable sort, also for elements that are only seen through proxies; tests compare all others with it.
#pragma once

#include <gpusort/runtime/sequential.h>

#include <cuda/std/detail/__config>
#include <cuda/std/iterator>

#include <algorithm>
#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

namespace gpusort::dispatch
{

/// Sorts [first, last) by comp(key_of(a), key_of(b)) on the calling host thread.
/// Complexity: O(n log n) comparisons when memory for n elements is there. Stability: stable.
/// Requires: a strict weak ordering. This alone among the algorithms is unsafe under a comparator that contradicts itself,
/// as std::stable_sort is.
/// Memory: n elements; without it std::stable_sort works in place, and more slowly; proxies are copied first, and
/// std::bad_alloc then leaves the range as it was.
template <class Iterator, class KeyOf, class Compare>
void stable_host_sort(Iterator first, Iterator last, KeyOf key_of, Compare comp)
{
  using value  = typename ::cuda::std::iterator_traits<Iterator>::value_type;
  auto compare = [&](auto const& a, auto const& b) { return runtime::compare_keys(comp, key_of(a), key_of(b)); };
  using traits = ::cuda::std::iterator_traits<Iterator>;
  // The library cannot do with distances that its arithmetic makes wider.
  constexpr bool counts_far = sizeof(typename traits::difference_type) >= sizeof(int);
  if constexpr (counts_far && std::is_same_v<typename traits::reference, value&>)
  {
    std::stable_sort(first, last, compare);
  }
  else
  {
    std::vector<value> elements(first, last);
    std::stable_sort(elements.begin(), elements.end(), compare);
    for (auto&& element : elements) // of bits they are proxies
    {
      runtime::move_element(*first, element);
      ++first;
    }
  }
}

} // namespace gpusort::dispatch
