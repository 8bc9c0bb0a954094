// What `automatic` runs on the GPU for keys that have no radix order.
#pragma once

#include <gpusort/algorithm.h>

#include <cstddef>
#include <type_traits>

namespace gpusort::dispatch
{

/// Merge sort or hybrid sort, as the input's size says. Not a tag of the interface.
struct comparison_sort_t : algorithm<comparison_sort_t>
{
  static constexpr bool is_stable = true;
  template <class Key, class Compare>
  static constexpr bool supports = true;
};

/// Whether hybrid sort is the faster one for n keys of so many bytes, where one of its blocks sorts `most_in_block`: what one
/// block sorts is done in one launch; from a size on a split pays for its launches. In between is merge sort's.
/// TODO-MEASURED
constexpr bool is_for_hybrid(std::size_t n, std::size_t most_in_block, std::size_t key_bytes)
{
  return n <= most_in_block || n >= (std::size_t{1} << 22) / key_bytes;
}

/// The algorithm that runs on the GPU for a tag: `automatic` chooses, every other tag is itself.
template <class Algorithm, class Key, class Compare>
using device_algorithm_t =
  std::conditional_t<!std::is_same_v<Algorithm, automatic_t>,
                     Algorithm,
                     std::conditional_t<std::is_same_v<selected_t<Key, Compare>, merge_sort_t>,
                                        comparison_sort_t,
                                        selected_t<Key, Compare>>>;

} // namespace gpusort::dispatch
