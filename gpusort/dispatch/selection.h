// What `automatic` runs on the GPU for keys that have no radix order.
#pragma once

#include <gpusort/algorithm.h>
#include <gpusort/radix/key_order.h>

#include <type_traits>

namespace gpusort::dispatch
{

/// Whether a comparator may carry an address: it has room for one. So has every lambda for host and device that captures something, which nvcc
/// wraps. Of a function pointer nobody knows.
template <class Compare>
inline constexpr bool may_carry_address_v =
  sizeof(Compare) >= sizeof(void*) && alignof(Compare) >= alignof(void*) && !std::is_pointer_v<Compare>;

/// Whether keys may be the numbers or addresses of what is compared, which lies elsewhere: integers under a comparator that may carry an array's
/// address, and pointers, but for those whose addresses are compared. Such keys are in order of their addresses most often, so that neighbours
/// are read together as long as they are sorted among themselves, which merge sort begins with and hybrid sort ends with. Measured on an H100
/// with CUDA 13.0, numbers of u32 in memory, us by merge sort, hybrid sort and cub::DeviceMergeSort: 2^22 1,163, 1,762 and 1,344, 2^24 5,372,
/// 11,274 and 6,073, 2^26 28,164, 68,343 and 32,801; up to 2^20 the two do the same. In no order: 2^24 17,091, 11,750 and 20,500.
template <class Key, class Compare>
inline constexpr bool may_compare_elsewhere_v =
  std::is_pointer_v<Key> ? !radix::is_less_v<Compare, Key> && !radix::is_greater_v<Compare, Key>
                         : std::is_integral_v<Key> && sizeof(Key) >= 4 && may_carry_address_v<Compare>;

/// The algorithm that runs on the GPU for a tag: `automatic` chooses, every other tag is itself. By comparisons it is hybrid sort, which asks
/// merge/choice.h how an input of its size is sorted: in one block, merged, or split.
template <class Algorithm, class Key, class Compare>
using device_algorithm_t = std::conditional_t<
  !std::is_same_v<Algorithm, automatic_t>,
  Algorithm,
  std::conditional_t<std::is_same_v<selected_t<Key, Compare>, merge_sort_t> && !may_compare_elsewhere_v<Key, Compare>,
                     hybrid_sort_t,
                     selected_t<Key, Compare>>>;

} // namespace gpusort::dispatch
