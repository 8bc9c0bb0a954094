// Moving tiles: neighbouring threads on neighbouring places, all loads of a thread under way before the first is used.
#pragma once

#include <cstddef>
#include <type_traits>

namespace gpusort::block
{

/// Stands for the value array where keys move alone.
struct no_values
{};

/// Bytes of a value; none of what stands for none.
template <class Value>
inline constexpr std::size_t value_bytes_v = std::is_empty_v<Value> ? 0 : sizeof(Value);

/// held[i] = from(place) for the thread's i-th place of a tile of `size` <= Threads x Items elements, at least WholeRows x Threads.
template <int Threads, int WholeRows = 0, int Items, class T, class From>
__device__ void read_tile(T (&held)[Items], int size, From from)
{
#pragma unroll
  for (int i = 0; i < Items; ++i)
  {
    int const place = i * Threads + static_cast<int>(threadIdx.x);
    if (i < WholeRows || place < size)
    {
      held[i] = from(place);
    }
  }
}

/// to[place] = held[i] for the same places.
template <int Threads, int WholeRows = 0, int Items, class T>
__device__ void write_tile(T const (&held)[Items], int size, T* to)
{
#pragma unroll
  for (int i = 0; i < Items; ++i)
  {
    int const place = i * Threads + static_cast<int>(threadIdx.x);
    if (i < WholeRows || place < size)
    {
      to[place] = held[i];
    }
  }
}

/// held[i] = from[(first_row + i x Step) x 32 + lane], for those numbers that are less than `size`.
template <int Step = 1, class T, int N>
__device__ void load_rows(T const* from, T (&held)[N], int size, int first_row)
{
  int const first = first_row * 32 + static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int i = 0; i < N; ++i)
  {
    if (first + i * Step * 32 < size)
    {
      held[i] = from[first + i * Step * 32];
    }
  }
}

/// to[place] = from(place) for all places of the tile.
template <int Threads, int Items, int WholeRows = 0, class T, class From>
__device__ void move_tile(int size, From from, T* to)
{
  T held[Items];
  block::read_tile<Threads, WholeRows>(held, size, from);
  block::write_tile<Threads, WholeRows>(held, size, to);
}

/// f(element) for all of n elements, `AtOnce` of a thread under way at once. `FullApart`: as many as that of each thread have code of
/// their own, which takes fewer instructions.
template <int Threads, int AtOnce, bool FullApart, class T, class F>
__device__ void for_each(T const* from, int n, F f)
{
#pragma unroll 1
  for (int first = 0; first < n; first += Threads * AtOnce)
  {
    int const left = n - first;
    T held[AtOnce];
    if (FullApart && left >= Threads * AtOnce)
    {
      block::read_tile<Threads>(held, Threads * AtOnce, [&](int place) { return from[first + place]; });
#pragma unroll
      for (int i = 0; i < AtOnce; ++i)
      {
        f(held[i]);
      }
      continue;
    }
    block::read_tile<Threads>(held, left, [&](int place) { return from[first + place]; });
#pragma unroll
    for (int i = 0; i < AtOnce; ++i)
    {
      if (i * Threads + static_cast<int>(threadIdx.x) < left)
      {
        f(held[i]);
      }
    }
  }
}

/// to[i] = from[i] for i < n, without haste: for what happens seldom in kernels with much code.
template <int Threads, class T>
__device__ void copy_slowly(int n, T const* from, T* to)
{
#pragma unroll 1
  for (int i = static_cast<int>(threadIdx.x); i < n; i += Threads)
  {
    to[i] = from[i];
  }
}

/// Where the elements lie that a block-wide sort or partition reads: `load_keys<Step>(held, size, first_row)` reads, for every
/// i, the key with the number (first_row + i x Step) x 32 + lane into held[i], if there are more than that in `size`; load_values
/// does the same with values. `finish_load()` has to be called by all threads before a load that no barrier separates from the one before. All are
/// called by all threads of a block. This one has them side by side.
template <class Key, class Value>
struct contiguous_source
{
  Key const* keys;
  Value const* values; // or null, where keys move alone

  __device__ void finish_load() const
  {}

  template <int Step = 1, int N>
  __device__ void load_keys(Key (&held)[N], int size, int first_row) const
  {
    block::load_rows<Step>(keys, held, size, first_row);
  }
  template <int Step = 1, int N>
  __device__ void load_values(Value (&held)[N], int size, int first_row) const
  {
    block::load_rows<Step>(values, held, size, first_row);
  }

  // What a bin_sort wants of n elements; a thread's places are those of read_tile.

  /// Reads keys; places past the end get the first one.
  template <int Threads, int N>
  __device__ void read_keys(Key (&held)[N], int n) const
  {
    Key const any = keys[0];
#pragma unroll
    for (int i = 0; i < N; ++i)
    {
      int const at = i * Threads + static_cast<int>(threadIdx.x);
      held[i]      = at < n ? keys[at] : any;
    }
  }
  /// Copies keys to shared memory.
  template <int Threads, int Items>
  __device__ void stage_keys(int n, Key* to) const
  {
    block::move_tile<Threads, Items>(n, [&](int at) { return keys[at]; }, to);
  }
  template <int Threads, int Items>
  __device__ void stage_values(int n, Value* to) const
  {
    block::move_tile<Threads, Items>(n, [&](int at) { return values[at]; }, to);
  }
  /// Moves all as they are.
  template <int Threads, int Items>
  __device__ void move(int n, Key* keys_out, Value* values_out) const
  {
    if (keys != keys_out)
    {
      block::copy_slowly<Threads>(n, keys, keys_out);
      if constexpr (!std::is_same_v<Value, no_values>)
      {
        block::copy_slowly<Threads>(n, values, values_out);
      }
    }
  }
};

} // namespace gpusort::block
