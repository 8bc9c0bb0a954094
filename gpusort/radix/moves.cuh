// The kernel that moves keys, to buckets or by digits. It is launched for both, and what has been found out about the input
// says which: so fewer launches have nothing to do.
#pragma once

#include <gpusort/block/dynamic_shared.cuh>
#include <gpusort/radix/by_buckets.cuh>
#include <gpusort/radix/by_digits.cuh>
#include <gpusort/radix/findings.cuh>
#include <gpusort/radix/key_order.h>
#include <gpusort/radix/tuning.h>
#include <gpusort/runtime/dependency.cuh>
#include <gpusort/runtime/residency.cuh>

#include <cuda/atomic>

#include <cstddef>
#include <cstdint>
#include <type_traits>

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
  bucket_storage<Bits, IsFloat, Value, key_map_t<Bits, IsFloat>> to_buckets;
  bucket_storage<Bits, IsFloat, Value, bucket_map<Bits>> by_rank;
  bucket_storage<Bits, IsFloat, Value, value_map_t<Bits, IsFloat>> by_value;
  typename digit_partition<Bits, IsFloat, Value>::shared_storage by_digits;
  counting_room<Bits, IsFloat, pass_shape_v<Bits, Value>.threads> counting;
};

/// Copies of a block's counts, as a power of two, that such a block has room for if it counts digits: in front of the ticket, which other warps may
/// still have to read when the first one clears counts.
template <class Bits, bool IsFloat, class Value>
constexpr int copies_for_moves_log2()
{
  using counting             = counting_room<Bits, IsFloat, pass_shape_v<Bits, Value>.threads>;
  using of_partition         = typename digit_partition<Bits, IsFloat, Value>::shared_storage;
  constexpr std::size_t room = offsetof(of_partition, ticket);
  constexpr std::size_t one  = sizeof(counting::counts);
  static_assert(sizeof(counting) <= room);
  int log2 = histogram_copies_log2(key_order<Bits, IsFloat>::digits);
  while (log2 > 0 && sizeof(counting) - one + (one << log2) > room)
  {
    --log2;
  }
  return log2;
}

/// Moves keys and values: if the input is split into buckets, at the level `first`, if there is one; else by digits, in the
/// passes from `first` to before `last`; or, of another kind, one of the two only, if there is anything to do. The kind `to_buckets`
/// also makes a first pass by digits that need not keep the order. Where full tiles have code of their own, so has either kind of map: with one that asks
/// for each key, f32 2^28 took 4.22 ms in place of 4.10 if even by rank, 4.37 in place of 4.28 by value; f64, which asks, gains by it: 7.2 and 7.3 ms in
/// place of 7.5 and 7.6 with launches for each, of which one has nothing to do.
/// `counting`: by the launch that makes passes in phases, if it counts digits first.
/// Grid: at least a block for each tile of the level, and one for each tile of each pass and each block that counts. Block: pass_shape_v's threads.
/// Shared: move_storage.
template <class Bits, bool IsFloat, class Value, moves Kind>
__global__ void __launch_bounds__(
  pass_shape_v<Bits, Value>.threads,
  runtime::resident_blocks(pass_shape_v<Bits, Value>.threads,
                           Kind == moves::to_buckets ? pass_shape_v<Bits, Value>.bucket_blocks
                                                     : pass_shape_v<Bits, Value>.blocks))
  move_keys(key_order<Bits, IsFloat> order,
            digit_counting counting,
            findings<Bits>* found,
            bucket_table table,
            std::uint64_t* bins,
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
  auto const level = static_cast<int>(first);
  // Most inputs have nothing for most launches, whose blocks are many: both answers are on their way at once.
  bool const has_level = Kind != moves::by_digits && found->splits != 0;
  bool const has_pass  = last - first > 1 || found->passes > first;
  if (!static_cast<bool>(has_level | has_pass))
  {
    return;
  }
  if (counting.leaves && found->decided != 0)
  {
    accept_decided(found);
  }
  if constexpr (Kind != moves::by_digits)
  {
    bool const mixes = Kind == moves::to_buckets && first == 0 && found->mixes != 0;
    if (has_level || mixes)
    {
      if (mixes || level < table.levels())
      {
        auto const move = [&](auto map, auto& room) {
          move_to_buckets(
            room,
            order,
            [=] { return static_cast<decltype(map)>(found->map); },
            found,
            table,
            bins,
            tickets + level,
            level,
            part,
            work,
            at);
        };
        if constexpr (has_value_map_v<Bits, IsFloat> && pass_shape_v<Bits, Value>.has_special_code)
        {
          if (found->map.by_value)
          {
            move(value_map<Bits>{}, shared.by_value);
          }
          else
          {
            move(bucket_map<Bits>{}, shared.by_rank);
          }
        }
        else
        {
          move(key_map_t<Bits, IsFloat>{}, shared.to_buckets);
        }
      }
      return;
    }
  }
  if constexpr (Kind == moves::by_digits || Kind == moves::either)
  {
    move_by_digits<Bits, IsFloat, Value>(
      shared.by_digits, order, counting, found, bins, tickets, first, last, part, work, at);
  }
}

/// One pass by digits over a part of the input of keys alone, for blocks that move its tiles by turns.
template <class Bits, bool IsFloat>
struct digit_pass
{
  digit_of<Bits, IsFloat> classify;
  block::partition_work to;
  block::segment part;
  std::uint32_t* ticket;
  std::uint32_t tiles;
  int tile; // elements
  Bits const* keys_in;
  Bits* keys_out;
};

/// The pass `number` of those that `found` says there are.
template <class Bits, bool IsFloat>
__device__ digit_pass<Bits, IsFloat>
pass_of(key_order<Bits, IsFloat> const& order,
        findings<Bits> const& found,
        std::uint64_t const* bins,
        std::uint32_t* tickets,
        std::uint32_t number,
        input_part const& part,
        tiling const& work,
        buffers<Bits, block::no_values> const& at)
{
  int const digit      = found.digit_of_pass[number];
  bool const from_home = (number + found.in_tiles) % 2 == 0;
  return {{order, digit},
          work_of_pass(bins, digit, number, part, work),
          {part.begin, part.size, 0},
          tickets + number,
          work.tiles_of(part.size),
          work.tile,
          from_home ? at.keys[0] : at.keys[1],
          from_home ? at.keys[1] : at.keys[0]};
}

/// Shared memory of a block that moves tiles by turns. The ticket of `partition` is the number of its next tile.
template <class Bits, bool IsFloat>
struct turn_storage
{
  typename digit_partition<Bits, IsFloat, block::no_values>::shared_storage partition;
  digit_pass<Bits, IsFloat> pass;
};

/// A pointer that was kept in memory, of which the compiler is to know that it points to global memory, and not that it is the same for all
/// tiles: it would keep addresses from tile to tile that registers have no room for.
template <class T>
__device__ T* in_global_memory(T* pointer)
{
  std::size_t address;
  asm volatile("cvta.to.global.u64 %0, %1;" : "=l"(address) : "l"(pointer));
  return static_cast<T*>(__cvta_global_to_generic(address));
}

/// Whether keys of a tile that is moved by turns are on their way while the tile before is written: wider ones have no registers for it.
template <class Bits>
inline constexpr bool reads_ahead = sizeof(Bits) <= 8;

/// Reads the keys of the tile whose ticket has been drawn, if there is one.
template <class Bits, bool IsFloat, int Items>
__device__ void load_tile_of_turn(turn_storage<Bits, IsFloat>& shared, Bits (&held)[Items])
{
  using partition  = digit_partition<Bits, IsFloat, block::no_values>;
  auto const& pass = shared.pass;
  if (shared.partition.ticket < pass.tiles)
  {
    partition::load_tile(shared.partition,
                         block::place_in(pass.part, 0, shared.partition.ticket, pass.tile),
                         in_global_memory(pass.keys_in),
                         held);
  }
}

/// The keys of a tile that is moved by turns. The next ticket is drawn when the tile is about to be written, so that it is there in time; and
/// not before, so that a tile is soon moved once its ticket has been drawn: others wait for its counts.
template <class Bits, bool IsFloat, int Items>
struct keys_of_turn
{
  turn_storage<Bits, IsFloat>& shared;
  std::uint64_t begin; // of the tile
  Bits (&held)[Items]; // its keys, and then those of the next one, if they are read ahead
  std::uint32_t& next; // ticket, of the first thread

  template <class Rank>
  __device__ void load(Rank const& rank, Bits (&keys)[Items]) const
  {
    if constexpr (reads_ahead<Bits>)
    {
#pragma unroll
      for (int i = 0; i < Items; ++i)
      {
        keys[i] = held[i];
      }
    }
    else
    {
      rank.load(in_global_memory(shared.pass.keys_in) + begin, keys);
    }
  }

  __device__ void begin_writing() const
  {
    if (threadIdx.x == 0)
    {
      next = atomicAdd(in_global_memory(shared.pass.ticket), 1u);
    }
  }

  __device__ void halfway() const
  {
    if constexpr (reads_ahead<Bits>)
    {
      tell_ticket();
      __syncthreads();
      load_tile_of_turn(shared, held);
    }
  }

  __device__ void finish() const
  {
    if constexpr (!reads_ahead<Bits>)
    {
      tell_ticket();
    }
    __syncthreads();
  }

private:
  __device__ void tell_ticket() const
  {
    if (threadIdx.x == 0)
    {
      shared.partition.ticket = next;
    }
  }
};

/// Moves the tile whose ticket has been drawn, in the pass that shared memory describes, where registers have no room for it; and draws the
/// next ticket.
template <class Bits, bool IsFloat, int Items>
__device__ void move_tile_of_turn(turn_storage<Bits, IsFloat>& shared, Bits (&held)[Items])
{
  using partition  = digit_partition<Bits, IsFloat, block::no_values>;
  auto const& pass = shared.pass;
  shared.partition.counts.clear();
  __syncthreads();
  block::partition_work to   = pass.to;
  to.bucket_begin            = in_global_memory(to.bucket_begin);
  to.status                  = in_global_memory(to.status);
  std::uint32_t next         = 0;
  block::tile_place const at = block::place_in(pass.part, 0, shared.partition.ticket, pass.tile);
  keys_of_turn<Bits, IsFloat, Items> const keys{shared, at.begin, held, next};
  partition::move_tile_from(
    keys,
    shared.partition,
    digit_of<Bits, IsFloat>(pass.classify), // registers for this there are
    to,
    at,
    in_global_memory(pass.keys_out),
    static_cast<block::no_values const*>(nullptr),
    static_cast<block::no_values*>(nullptr));
  keys.finish();
}

/// The same of a tile whose keys are not read ahead. Not inlined into the loop over tiles, where the compiler would keep addresses from
/// round to round that registers have no room for.
template <class Bits, bool IsFloat>
__device__ __noinline__ void move_tile_apart()
{
  Bits held[digit_partition<Bits, IsFloat, block::no_values>::items];
  move_tile_of_turn(block::dynamic_shared<turn_storage<Bits, IsFloat>>(), held);
}

/// Moves tiles of the pass that shared memory describes, from the one whose ticket has been drawn on, as long as there are any. Returns how
/// many.
template <class Bits, bool IsFloat>
__device__ std::uint32_t move_in_turns(turn_storage<Bits, IsFloat>& shared)
{
  auto const& pass    = shared.pass;
  std::uint32_t moved = 0;
  if constexpr (reads_ahead<Bits>)
  {
    Bits held[digit_partition<Bits, IsFloat, block::no_values>::items];
    load_tile_of_turn(shared, held);
    for (; shared.partition.ticket < pass.tiles; ++moved)
    {
      move_tile_of_turn(shared, held);
    }
  }
  else
  {
    for (; shared.partition.ticket < pass.tiles; ++moved)
    {
      move_tile_apart<Bits, IsFloat>();
    }
  }
  return moved;
}

/// Moves keys alone by digits, in the passes from `first` to before `last`, if there are so many and keys have not been split into
/// buckets; but not a first pass that mixes, which move_to_buckets makes. Several passes move the whole input, and a block waits for the last
/// tile of one before it begins the next. Few blocks move all tiles, so that the launch takes little if it has nothing to do.
/// Grid: any; as many blocks as there is room for are fastest. Block: pass_shape_v's threads. Shared: turn_storage.
/// Before: the tickets of the passes are zero, and so is tiles_done, if they are several; the look-back words are empty, or left behind
/// by the pass before.
template <class Bits, bool IsFloat>
__global__ void __launch_bounds__(
  pass_shape_v<Bits, block::no_values>.threads,
  runtime::resident_blocks(pass_shape_v<Bits, block::no_values>.threads, pass_shape_v<Bits, block::no_values>.blocks))
  move_keys_in_turn(key_order<Bits, IsFloat> order,
                    findings<Bits>* found,
                    std::uint64_t const* bins,
                    std::uint32_t* tickets,
                    std::uint32_t first,
                    std::uint32_t last,
                    input_part part,
                    tiling work,
                    buffers<Bits, block::no_values> at)
{
  using counter = ::cuda::atomic_ref<std::uint32_t, ::cuda::thread_scope_device>;
  auto& shared  = block::dynamic_shared<turn_storage<Bits, IsFloat>>();

  runtime::wait_for_previous_kernel();
  if (found->splits != 0)
  {
    return;
  }
  first += first == 0 && found->mixes != 0 ? 1 : 0;
  last = found->passes < last ? found->passes : last;
  for (std::uint32_t number = first; number < last; ++number)
  {
    if (threadIdx.x == 0)
    {
      shared.pass             = pass_of(order, *found, bins, tickets, number, part, work, at);
      shared.partition.ticket = atomicAdd(tickets + number, 1u);
      counter const done(found->tiles_done);
      while (number > first && done.load(::cuda::std::memory_order_acquire) < (number - first) * work.tiles)
      {
      }
    }
    __syncthreads();
    std::uint32_t const moved = move_in_turns(shared);
    __syncthreads(); // all have seen that no tile is left
    if (threadIdx.x == 0 && number + 1 < last)
    {
      counter(found->tiles_done).fetch_add(moved, ::cuda::std::memory_order_release);
    }
  }
}

} // namespace gpusort::radix
