// Sorting what fits one block: by the values of keys, or a number in records, if the comparator agrees to that, and otherwise by merging.
#pragma once

#include <gpusort/block/merge_sort.cuh>
#include <gpusort/block/sort_by_bins.cuh>
#include <gpusort/block/tile.cuh>
#include <gpusort/merge/tuning.h>
#include <gpusort/radix/key_order.h>
#include <gpusort/radix/value_order.cuh>
#include <gpusort/runtime/dependency.cuh>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::merge
{

/// How one block sorts by value what it can hold.
template <class Key, class Value, block_class Class>
struct value_block
{
  static constexpr one_block_shape shape = one_block_shape_for(Class, sizeof(Key), block::value_bytes_v<Value>);
  static constexpr int most              = shape.threads * shape.items;

  using bits           = radix::value_bits_t<Key>;
  using order          = radix::value_order_t<Key>;
  using carried        = std::conditional_t<std::is_empty_v<Value>, block::no_values, Value>;
  using sorter         = block::sort_by_bins<bits, carried, order, shape.threads, shape.items, block::full_bins::split>;
  using shared_storage = typename sorter::shared_storage;

  /// Sorts n > 1 elements where they are, if the comparator agrees: returns whether it does, for some neighbours first and then for
  /// all. Otherwise they are as they were. Called by all threads of a block; shared memory may be used again after a barrier.
  template <class Compare>
  __device__ static bool sort(shared_storage& shared, Key* keys, Value* values, int n, Compare& comp)
  {
    std::uint32_t const which = radix::order_of_neighbours(keys, n, comp);
    if (which == radix::value_order::other)
    {
      return false;
    }
    radix::asks_comparator<Key, Compare> const agrees{radix::order_of_values<Key>(which), nullptr, comp};
    auto* const key_bits = reinterpret_cast<bits*>(keys);
    block::contiguous_source<bits, carried> const source{key_bits, reinterpret_cast<carried*>(values)};
    return sorter::sort(shared, agrees.order, n, source, key_bits, reinterpret_cast<carried*>(values), 0, agrees);
  }
};

/// Both ways, which share their memory.
template <class Key, class Value, class Compare, block_class Class>
union one_block_storage
{
  using by_value = value_block<Key, Value, Class>;
  using merging  = block::merge_sort<Key, Value, Compare, by_value::shape.threads, by_value::shape.items>;

  typename by_value::shared_storage values;
  typename merging::shared_storage merged;
};

/// Sorts n > 1 elements where they are. Stable. If the comparator contradicts itself, they are some permutation.
/// Grid: one block. Block: value_block's threads. Shared: one_block_storage.
template <block_class Class, class Key, class Value, class Compare>
__global__ void __launch_bounds__(value_block<Key, Value, Class>::shape.threads)
  sort_in_block(Key* keys, Value* values, int n, Compare comp)
{
  using storage = one_block_storage<Key, Value, Compare, Class>;
  extern __shared__ uint4 shared_words[];
  auto& shared = *reinterpret_cast<storage*>(shared_words);

  runtime::wait_for_previous_kernel();
  if (!storage::by_value::sort(shared.values, keys, values, n, comp))
  {
    __syncthreads();
    block::contiguous_source<Key, Value> source{keys, values};
    storage::merging::sort(shared.merged, source, keys, values, n, false, comp);
  }
}

} // namespace gpusort::merge
