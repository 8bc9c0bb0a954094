// Quicksort on the GPU. First phase: all blocks partition all of the input around many pivots at once, in up to four levels.
// Second phase: a block sorts a segment that fits it, and partitions one of up to four times that. What is larger or goes too
// deep is merged.
// Source: Cederman and Tsigas, section 3; no step returns to the host, as Ioffe's form of it with kernels that launch kernels.
#pragma once

#include <gpusort/hybrid/device.cuh>
#include <gpusort/quicksort/kernels.cuh>
#include <gpusort/runtime/launch.cuh>

namespace gpusort::quick
{

/// Order is not kept, and a block partitions what is too large for it, but not by far.
struct unstable_form
{
  static constexpr bool keeps_order         = false;
  static constexpr int log2_of_level        = hybrid::most_log2;
  static constexpr bool merges_small_inputs = true;
  static constexpr bool tries_numbers       = false; // which leaves nothing to partition
  static constexpr bool finishes_large      = true;

  template <class Key, class Value, class Compare>
  static void finish_large(cudaStream_t stream,
                           hybrid::buffers<Key, Value> const& at,
                           hybrid::large_bucket const* large,
                           hybrid::leftover* leftovers,
                           hybrid::counters* all,
                           Compare comp)
  {
    runtime::launch(
      sort_segments<Key, Value, Compare>,
      {runtime::multiprocessors(),
       hybrid::sort_shape_v<Key, Value>.threads,
       sizeof(segment_storage<Key, Value, Compare>)},
      stream,
      at,
      large,
      leftovers,
      all,
      comp);
  }
};

/// The `device_backend` of quicksort. Not stable; any comparator.
using device = hybrid::sample_sort<unstable_form>;

} // namespace gpusort::quick
