// Integers of many digits that radix sort finds too uneven for its buckets are split at splitters instead.
#pragma once

#include <gpusort/block/verdict.h>
#include <gpusort/hybrid/device.cuh>
#include <gpusort/radix/findings.cuh>
#include <gpusort/radix/key_order.h>
#include <gpusort/radix/tuning.h>

#include <cuda/std/functional>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::hybrid
{

/// Who sorts what radix::device_with leaves. Stable.
struct uneven_keys
{
  /// How many elements it sorts.
  template <class Key, class Value>
  static constexpr radix::sizes_to_leave sizes =
    radix::kind_of<Key>() == radix::key_kind::floating_point
      ? radix::sizes_to_leave{0, 0}
      : radix::sizes_to_leave_for(sizeof(Key), block::value_bytes_v<Value>);

  template <class Key, class Value>
  static std::size_t scratch_bytes(std::size_t n)
  {
    return device::table_bytes<integer<Key>, Value, ::cuda::std::less<integer<Key>>>(n);
  }

  /// Sorts n keys and values, unless somebody has sorted them, from the first arrays to the first. `scratch`: as many bytes as
  /// scratch_bytes says.
  template <class Key, class Compare, class Bits, class Value>
  static void sort(cudaStream_t stream,
                   void* scratch,
                   radix::buffers<Bits, Value> const& at,
                   std::size_t n,
                   block::sort_verdict const* by_others)
  {
    using key = integer<Key>;
    buffers<key, Value> const arrays{{reinterpret_cast<key*>(at.keys[0]), reinterpret_cast<key*>(at.keys[1])},
                                     {at.values[0], at.values[1]}};
    device::split_between(stream, scratch, arrays, n, by_others, order<Key, Compare>{});
  }

private:
  /// One type for all keys of a kind and size, so that fewer kernels are compiled.
  template <class Key>
  using integer =
    std::conditional_t<radix::kind_of<Key>() == radix::key_kind::signed_integer,
                       std::conditional_t<sizeof(Key) == 16, radix::int128, std::int64_t>,
                       radix::bits_t<Key>>;

  // An order by ranks, whose direction is known at run time, makes merging a fifth slower.
  template <class Key, class Compare>
  using order = std::conditional_t<radix::is_greater_v<Compare, Key>,
                                   ::cuda::std::greater<integer<Key>>,
                                   ::cuda::std::less<integer<Key>>>;
};

} // namespace gpusort::hybrid
