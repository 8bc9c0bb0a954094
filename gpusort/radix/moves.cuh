// The kernel that moves keys, to buckets or by digits. It is launched for both, and what has been found out about the input
// says which: so fewer launches have nothing to do.
#pragma once

#include <gpusort/radix/by_buckets.cuh>
#include <gpusort/radix/by_digits.cuh>
#include <gpusort/radix/findings.cuh>
#include <gpusort/radix/key_order.h>
#include <gpusort/radix/tuning.h>
#include <gpusort/runtime/dependency.cuh>
#include <gpusort/runtime/residency.cuh>

#include <cstdint>

namespace gpusort::radix
{

/// What a kernel that moves keys does.
enum class moves
{
  to_buckets,
  by_digits,
  either // what has been found out about the input says
};

/// Shared memory of a block that moves a tile.
template <class Bits, bool IsFloat, class Value>
union move_storage
{
  typename bucket_partition<Bits, IsFloat, Value>::shared_storage to_buckets;
  typename digit_partition<Bits, IsFloat, Value>::shared_storage by_digits;
};

/// Moves keys and values: if the input is split into buckets, at the level `first`, if there is one; else by digits, in the
/// passes from `first` to before `last`; or, of another kind, one of the two only, if there is anything to do. The kind `to_buckets`
/// also makes a first pass by digits that need not keep the order.
/// Grid: at least a block for each tile of the level, and one for each tile of each pass. Block: pass_shape_v's threads. Shared:
/// move_storage.
template <class Bits, bool IsFloat, class Value, moves Kind>
__global__ void __launch_bounds__(
  pass_shape_v<Bits, Value>.threads,
  runtime::resident_blocks(pass_shape_v<Bits, Value>.threads,
                           Kind == moves::to_buckets ? pass_shape_v<Bits, Value>.bucket_blocks
                                                     : pass_shape_v<Bits, Value>.blocks))
  move_keys(key_order<Bits, IsFloat> order,
            findings<Bits>* found,
            bucket_table table,
            std::uint64_t const* bins,
            std::uint32_t* tickets,
            std::uint32_t first,
            std::uint32_t last,
            input_part part,
            tiling work,
            buffers<Bits, Value> at)
{
  extern __shared__ uint4 shared_words[];
  auto& shared = *reinterpret_cast<move_storage<Bits, IsFloat, Value>*>(shared_words);

  runtime::wait_for_previous_kernel();
  if constexpr (Kind != moves::by_digits)
  {
    bool const mixes = Kind == moves::to_buckets && first == 0 && found->mixes != 0;
    if (found->splits != 0 || mixes)
    {
      if (mixes || first < static_cast<std::uint32_t>(table.levels()))
      {
        move_to_buckets<Bits, IsFloat, Value>(
          shared.to_buckets, order, found, table, bins, static_cast<int>(first), work, at);
      }
      return;
    }
  }
  if constexpr (Kind != moves::to_buckets)
  {
    move_by_digits<Bits, IsFloat, Value>(shared.by_digits, order, found, bins, tickets, first, last, part, work, at);
  }
}

} // namespace gpusort::radix
