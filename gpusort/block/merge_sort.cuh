// A stable merge sort of one tile inside one block, for any comparator.
#pragma once

#include <gpusort/block/merge.cuh>
#include <gpusort/block/tile.cuh>
#include <gpusort/block/warp.cuh>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::block
{

/// A tile of `Threads` x `Items` elements, which 16 bits can number.
template <class Key, class Value, class Compare, int Threads, int Items>
class merge_sort
{
public:
  static constexpr int tile         = Threads * Items;
  static constexpr bool with_values = !std::is_empty_v<Value>;

  static_assert(tile <= 65536 && Threads % 32 == 0);

  struct shared_storage
  {
    union
    {
      alignas(16) char keys[sizeof(Key) * (tile + 1)]; // a merge may look one place too far
      alignas(16) char values[sizeof(Value) * (with_values ? tile : 1)];
    };
    std::uint16_t origin[with_values ? tile : 1]; // where in the tile the key at a place came from
    int a_of_warp[Threads / 32 + 1]; // where the first thread of each warp began in its first run
  };

  /// Sorts `size` <= tile elements of a source, as in tile.cuh, into the outputs, where the source may read from.
  /// If they `are_sorted`, they are only moved. Called by all threads. Whatever the comparator answers, the output is a
  /// permutation of the input: if it contradicts itself the elements come out as they went in.
  template <class Source>
  __device__ static void sort(
    shared_storage& shared, Source& source, Key* keys_out, Value* values_out, int size, bool are_sorted, Compare comp)
  {
    Key* const keys = reinterpret_cast<Key*>(shared.keys);
    bool is_ordered = false; // by this function
    for (bool again = true; again;)
    {
      load<Key>(size, [&](auto& held) { source.load_keys(held, size, first_row()); }, keys);
      __syncthreads();
      is_ordered = !are_sorted && sort_in_shared(shared, size, comp);
      again      = !is_ordered && !are_sorted;
      are_sorted = true; // or as good as can be
    }
    move_tile<Threads, Items>(size, [&](int place) { return keys[place]; }, keys_out);
    if constexpr (with_values)
    {
      Value* const values = reinterpret_cast<Value*>(shared.values);
      __syncthreads();
      load<Value>(size, [&](auto& held) { source.load_values(held, size, first_row()); }, values);
      __syncthreads();
      move_tile<Threads, Items>(
        size, [&](int place) { return values[is_ordered ? shared.origin[place] : place]; }, values_out);
    }
  }

  /// Sorts the first `size` of shared.keys, with shared.origin to match; all threads may read both afterwards. A barrier has
  /// to come before. False, for all threads, if the comparator contradicted itself: shared.keys then holds some of the keys.
  __device__ static bool sort_in_shared(shared_storage& shared, int size, Compare& comp)
  {
    Key* const keys  = reinterpret_cast<Key*>(shared.keys);
    int const thread = static_cast<int>(threadIdx.x);
    int const lane   = thread % 32;
    int const warp   = thread / 32;
    int const begin  = thread * Items; // of this thread's places
    int const own    = size - begin; // elements from there on

    Key held[Items];
    std::uint16_t origin[with_values ? Items : 1];
    if (own > 0)
    {
#pragma unroll
      for (int i = 0; i < Items; ++i)
      {
        held[i] = keys[begin + i];
        if constexpr (with_values)
        {
          origin[i] = static_cast<std::uint16_t>(begin + i);
        }
      }
      // The last thread with elements may have fewer than others: it alone asks which of its places hold one.
      if (own >= Items)
      {
        sort_in_registers<true>(held, origin, Items, comp);
      }
      else
      {
        sort_in_registers<false>(held, origin, own, comp);
      }
    }
    bool consistent = true;
    int ended_at    = -1; // in the first run: where the next warp's first thread has to have begun
    for (int group = 1; group * Items < size; group *= 2) // threads of a run
    {
      __syncthreads();
      consistent = consistent && (ended_at < 0 || ended_at == shared.a_of_warp[warp + 1]);
      ended_at   = -1;
      if (own > 0)
      {
        store(shared, held, origin, begin);
      }
      __syncthreads();
      if (warp * 32 * Items < size) // all lanes of a warp
      {
        int const run      = group * Items;
        int const pair     = (thread & ~(2 * group - 1)) * Items;
        int const a_end    = pair + run < size ? pair + run : size;
        int const b_end    = pair + 2 * run < size ? pair + 2 * run : size;
        int const diagonal = own > 0 ? begin - pair : 0;
        int a = own > 0 ? pair + merge_path(diagonal, keys + pair, a_end - pair, keys + a_end, b_end - a_end, comp) : 0;
        int const began = a;
        if (own > 0)
        {
          merge_both(shared, a, a_end, a_end + diagonal - (a - pair), b_end, held, origin, comp);
        }
        if (lane == 0)
        {
          shared.a_of_warp[warp] = began;
        }
        // Where this thread ended the next one began, unless the comparator contradicts itself.
        int const next = __shfl_down_sync(all_lanes, began, 1);
        if (begin + Items < b_end)
        {
          if (lane == 31)
          {
            ended_at = a;
          }
          else
          {
            consistent = consistent && a == next;
          }
        }
      }
    }
    __syncthreads();
    consistent = consistent && (ended_at < 0 || ended_at == shared.a_of_warp[warp + 1]);
    if (own > 0)
    {
      store(shared, held, origin, begin);
    }
    return __syncthreads_or(!consistent) == 0;
  }

private:
  /// The first row of a warp's elements, when the block reads them.
  __device__ static int first_row()
  {
    return static_cast<int>(threadIdx.x) / 32 * Items;
  }

  template <class T, class Read>
  __device__ static void load(int size, Read read, T* to)
  {
    T held[Items];
    read(held);
    int const first = first_row() * 32 + static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      if (first + i * 32 < size)
      {
        to[first + i * 32] = held[i];
      }
    }
  }

  /// Odd-even transposition: as many rounds as items, each comparing neighbours; stable, and all in registers.
  template <bool Full, int Origins>
  __device__ static void sort_in_registers(Key (&keys)[Items], std::uint16_t (&origin)[Origins], int own, Compare& comp)
  {
#pragma unroll
    for (int round = 0; round < Items; ++round)
    {
#pragma unroll
      for (int i = round % 2; i + 1 < Items; i += 2)
      {
        if ((Full || i + 1 < own) && precedes(keys[i + 1], keys[i], comp))
        {
          Key const key = keys[i];
          keys[i]       = keys[i + 1];
          keys[i + 1]   = key;
          if constexpr (with_values)
          {
            std::uint16_t const o = origin[i];
            origin[i]             = origin[i + 1];
            origin[i + 1]         = o;
          }
        }
      }
    }
  }

  /// Takes the thread's keys from the stable merge of shared.keys[a, a_end) and [b, b_end). Afterwards a is where the first
  /// run was left. Where fewer than Items are left, what is behind them is taken for the rest, and not used.
  template <int Origins>
  __device__ static void merge_both(
    shared_storage& shared,
    int& a,
    int a_end,
    int b,
    int b_end,
    Key (&held)[Items],
    std::uint16_t (&origin)[Origins],
    Compare& comp)
  {
    Key const* const keys = reinterpret_cast<Key const*>(shared.keys);
    std::uint16_t source[Items];
    serial_merge<true>(keys, a, a_end, b, b_end, Items, held, source, comp);
    if constexpr (with_values)
    {
#pragma unroll
      for (int i = 0; i < Items; ++i)
      {
        origin[i] = shared.origin[source[i]];
      }
    }
  }

  template <int Origins>
  __device__ static void
  store(shared_storage& shared, Key const (&keys)[Items], std::uint16_t const (&origin)[Origins], int begin)
  {
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      reinterpret_cast<Key*>(shared.keys)[begin + i] = keys[i];
      if constexpr (with_values)
      {
        shared.origin[begin + i] = origin[i];
      }
    }
  }
};

} // namespace gpusort::block
