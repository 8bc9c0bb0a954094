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

/// Whether hybrid sort is the faster one for n keys of so many bytes: from a size on, a split pays for its launches.
/// Measured on an H200 with CUDA 13.0, uniform keys, us by merge sort and by hybrid sort:
///   4-byte keys: 2^18 70 and 75, 2^20 110 and 103, 2^22 235 and 220; with 4-byte values: 2^18 82 and 79, 2^20 158 and 127;
///   8-byte keys: 2^18 84 and 92, 2^20 144 and 130, 2^22 446 and 272; with 8-byte values: 2^18 95 and 104, 2^20 190 and 150;
///   16 bytes: 2^16 70 and 70, 2^18 126 and 97; 64 bytes: 2^10 45 and 46, 2^12 72 and 59, 2^16 158 and 118.
constexpr bool is_for_hybrid(std::size_t n, std::size_t key_bytes)
{
  std::size_t const of_words = (std::size_t{1} << 22) / key_bytes;
  std::size_t const of_wide  = (std::size_t{1} << 24) / (key_bytes * key_bytes);
  return n >= (key_bytes <= 8 ? of_words : of_wide);
}

/// The algorithm that runs on the GPU for a tag: `automatic` chooses, every other tag is itself.
template <class Algorithm, class Key, class Compare>
using device_algorithm_t = std::conditional_t<
  !std::is_same_v<Algorithm, automatic_t>,
  Algorithm,
  std::
    conditional_t<std::is_same_v<selected_t<Key, Compare>, merge_sort_t>, comparison_sort_t, selected_t<Key, Compare>>>;

} // namespace gpusort::dispatch
