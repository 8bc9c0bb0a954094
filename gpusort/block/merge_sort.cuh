// A stable merge sort of one tile inside one block, for any comparator.
#pragma once

#include <gpusort/block/merge.cuh>
#include <gpusort/block/tile.cuh>

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

  static_assert(tile <= 65536 && (Threads & (Threads - 1)) == 0);

  struct shared_storage
  {
    union
    {
      alignas(16) char keys[sizeof(Key) * (tile + 1)]; // a merge may look one place too far
      alignas(16) char values[sizeof(Value) * (with_values ? tile : 1)];
    };
    std::uint16_t origin[with_values ? tile : 1]; // where in the tile the key at a place came from
    int a_of[Threads]; // where each thread began in its first run
  };

  /// Sorts `size` <= tile elements from the inputs into the outputs, which may be the same arrays.
  /// Called by all threads. Whatever the comparator answers, the output is a permutation of the input: if it
  /// contradicts itself the tile is copied as it is.
  __device__ static void
  sort(shared_storage& shared,
       Key const* keys_in,
       Key* keys_out,
       Value const* values_in,
       Value* values_out,
       int size,
       Compare comp)
  {
    if (!sort_into_shared(shared, [=](int place) { return keys_in[place]; }, size, comp))
    {
      copy(keys_in, keys_out, size);
      if constexpr (with_values)
      {
        copy(values_in, values_out, size);
      }
      return;
    }
    Key const* const keys = reinterpret_cast<Key const*>(shared.keys);
    copy(keys, keys_out, size);
    if constexpr (with_values)
    {
      __syncthreads();
      Value* const values = reinterpret_cast<Value*>(shared.values);
      copy(values_in, values, size);
      __syncthreads();
      move_tile<Threads, Items>(size, [&](int place) { return values[shared.origin[place]]; }, values_out);
    }
  }

  /// Sorts from(0), ... from(size - 1) into shared.keys, with shared.origin to match; all threads may read both afterwards.
  /// False, for all threads, if the comparator contradicted itself: shared.keys then holds some of the keys.
  template <class From>
  __device__ static bool sort_into_shared(shared_storage& shared, From from, int size, Compare& comp)
  {
    return size == tile ? sort_tile<true>(shared, from, size, comp) : sort_tile<false>(shared, from, size, comp);
  }

private:
  template <bool Full, class From>
  __device__ static bool sort_tile(shared_storage& shared, From from, int size, Compare& comp)
  {
    Key* const keys = reinterpret_cast<Key*>(shared.keys);
    int const begin = static_cast<int>(threadIdx.x) * Items; // of this thread's elements
    int const left  = size - begin < 0 ? 0 : size - begin;
    int const own   = Full || left > Items ? Items : left;

    move_tile<Threads, Items>(size, from, keys);
    __syncthreads();

    Key held[Items];
    std::uint16_t origin[Items];
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      held[i]   = keys[Full || i < own ? begin + i : 0];
      origin[i] = static_cast<std::uint16_t>(begin + i);
    }
    sort_in_registers<Full>(held, origin, own, comp);

    bool consistent = true;
    for (int run = Items; run < size; run *= 2)
    {
      __syncthreads();
      store<Full>(shared, held, origin, begin, own);
      __syncthreads();

      int const first     = begin / (2 * run) * (2 * run);
      int const pair      = Full || first < size ? first : size;
      int const a_end     = Full || pair + run < size ? pair + run : size;
      int const b_end     = Full || pair + 2 * run < size ? pair + 2 * run : size;
      int const available = b_end - pair;
      int const diagonal  = Full || begin - pair < available ? begin - pair : available;
      int a               = pair + merge_path(diagonal, keys + pair, a_end - pair, keys + a_end, b_end - a_end, comp);
      int const b         = a_end + diagonal - (a - pair);
      shared.a_of[threadIdx.x] = a;

      std::uint16_t source[Items];
      serial_merge<Full>(keys, a, a_end, b, b_end, own, held, source, comp);
      if constexpr (with_values)
      {
#pragma unroll
        for (int i = 0; i < Items; ++i)
        {
          if (Full || i < own)
          {
            origin[i] = shared.origin[source[i]];
          }
        }
      }
      __syncthreads();
      // What this thread left over is what the next one began with, unless the comparator contradicts itself.
      bool const last_of_pair = begin + Items >= b_end;
      int const expected      = last_of_pair ? a_end : shared.a_of[threadIdx.x + 1];
      consistent              = consistent && (own == 0 || a == expected);
    }
    // The barrier also ends the reads of keys before they are overwritten.
    if (__syncthreads_or(!consistent))
    {
      return false;
    }
    store<Full>(shared, held, origin, begin, own);
    __syncthreads();
    return true;
  }

  /// Odd-even transposition: as many rounds as items, each comparing neighbours; stable, and all in registers.
  template <bool Full>
  __device__ static void sort_in_registers(Key (&keys)[Items], std::uint16_t (&origin)[Items], int own, Compare& comp)
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

  template <bool Full>
  __device__ static void
  store(shared_storage& shared, Key const (&keys)[Items], std::uint16_t const (&origin)[Items], int begin, int own)
  {
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      if (Full || i < own)
      {
        reinterpret_cast<Key*>(shared.keys)[begin + i] = keys[i];
        if constexpr (with_values)
        {
          shared.origin[begin + i] = origin[i];
        }
      }
    }
  }

  template <class T>
  __device__ static void copy(T const* from, T* to, int size)
  {
    move_tile<Threads, Items>(size, [=](int place) { return from[place]; }, to);
  }
};

} // namespace gpusort::block
