// Moving tiles: neighbouring threads on neighbouring places, all loads of a thread under way before the first is used.
#pragma once

namespace gpusort::block
{

/// Stands for the value array where keys move alone.
struct no_values
{};

/// held[i] = from(place) for the thread's i-th place of a tile of `size` <= Threads x Items elements.
template <int Threads, int Items, class T, class From>
__device__ void read_tile(T (&held)[Items], int size, From from)
{
#pragma unroll
  for (int i = 0; i < Items; ++i)
  {
    int const place = i * Threads + static_cast<int>(threadIdx.x);
    if (place < size)
    {
      held[i] = from(place);
    }
  }
}

/// to[place] = held[i] for the same places.
template <int Threads, int Items, class T>
__device__ void write_tile(T const (&held)[Items], int size, T* to)
{
#pragma unroll
  for (int i = 0; i < Items; ++i)
  {
    int const place = i * Threads + static_cast<int>(threadIdx.x);
    if (place < size)
    {
      to[place] = held[i];
    }
  }
}

/// Elements that lie side by side, as what a block-wide sort or partition reads: thread by thread, `load_keys(held, size,
/// place)` reads into held[i] the key of place(i), if that is below `size`; load_values does the same with values.
template <class Key, class Value>
struct contiguous_source
{
  Key const* keys;
  Value const* values; // or null, where keys move alone

  template <int N, class Place>
  __device__ void load_keys(Key (&held)[N], int size, Place place) const
  {
    load(keys, held, size, place);
  }
  template <int N, class Place>
  __device__ void load_values(Value (&held)[N], int size, Place place) const
  {
    load(values, held, size, place);
  }

private:
  template <class T, int N, class Place>
  __device__ static void load(T const* from, T (&held)[N], int size, Place place)
  {
#pragma unroll
    for (int i = 0; i < N; ++i)
    {
      int const at = place(i);
      if (at < size)
      {
        held[i] = from[at];
      }
    }
  }
};

/// to[place] = from(place) for all places of the tile.
template <int Threads, int Items, class T, class From>
__device__ void move_tile(int size, From from, T* to)
{
  T held[Items];
  read_tile<Threads>(held, size, from);
  write_tile<Threads>(held, size, to);
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

} // namespace gpusort::block
