// What `automatic` runs on the GPU for keys that have no radix order.
#pragma once

#include <gpusort/algorithm.h>

#include <type_traits>

namespace gpusort::dispatch
{

/// The algorithm that runs on the GPU for a tag: `automatic` chooses, every other tag is itself. Hybrid sort is merge sort for
/// what is not worth a split.
template <class Algorithm, class Key, class Compare>
using device_algorithm_t = std::conditional_t<
  !std::is_same_v<Algorithm, automatic_t>,
  Algorithm,
  std::conditional_t<std::is_same_v<selected_t<Key, Compare>, merge_sort_t>, hybrid_sort_t, selected_t<Key, Compare>>>;

} // namespace gpusort::dispatch
