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

/// Whether hybrid sort is the faster one for n elements of so many bytes, keys and values counted: from a size on, a split pays
/// for its launches. Measured on an H200 with CUDA 13.0, uniform keys, us by merge sort and by hybrid sort:
///   4-byte keys: 2^18 36 and 68, 2^20 68 and 102, 2^21 144 and 129; with 4-byte values: 2^20 117 and 122, 2^21 232 and 162;
///   8-byte keys: 2^18 48 and 72, 2^20 104 and 127, 2^21 200 and 178; with 8-byte values: 2^19 75 and 110, 2^20 168 and 142;
///   16 bytes: 2^18 62 and 99, 2^19 115 and 122, 2^20 216 and 153; 64 bytes: 2^15 57 and 68, 2^16 97 and
///   133 (91 and 83 with buckets of 1280 in a block, for which not every device has room). Merge sort ends sooner where keys or
///   values have more than 16 bytes: see merge/tuning.h.
constexpr bool is_for_hybrid(std::size_t n, std::size_t element_bytes)
{
  constexpr std::size_t most       = std::size_t{1} << 20;
  constexpr std::size_t most_bytes = std::size_t{1} << 23;
  return n > most || n > most_bytes / element_bytes;
}

/// The algorithm that runs on the GPU for a tag: `automatic` chooses, every other tag is itself.
template <class Algorithm, class Key, class Compare>
using device_algorithm_t = std::conditional_t<
  !std::is_same_v<Algorithm, automatic_t>,
  Algorithm,
  std::
    conditional_t<std::is_same_v<selected_t<Key, Compare>, merge_sort_t>, comparison_sort_t, selected_t<Key, Compare>>>;

} // namespace gpusort::dispatch
