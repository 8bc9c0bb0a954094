// Elements as the words that they are moved in: no code of their own runs, and types that move alike share their kernels.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::block
{

/// The widest word in which elements of type T can be moved.
template <class T>
using word_t = std::conditional_t<
  alignof(T) % 16 == 0,
  uint4,
  std::conditional_t<alignof(T) % 8 == 0,
                     std::uint64_t,
                     std::conditional_t<alignof(T) % 4 == 0,
                                        std::uint32_t,
                                        std::conditional_t<alignof(T) % 2 == 0, std::uint16_t, std::uint8_t>>>>;

template <class Word, std::size_t N>
struct words
{
  Word at[N];
};

/// What stands in kernels for a T that is moved by its bytes.
template <class T>
using words_of_t = words<word_t<T>, sizeof(T) / sizeof(word_t<T>)>;

/// Neighbouring elements that memory is read and written by.
template <class T, std::size_t Bytes = 16>
struct alignas(Bytes) vector_of
{
  static constexpr int count = static_cast<int>(Bytes / sizeof(T));
  T at[count];
};

/// Moves `count` words: the i-th to to[i], from at(i), of which each thread has up to `UnderWay` under way. Called by `Threads` threads, of
/// which each gives its number.
template <unsigned Threads, unsigned UnderWay, class To, class At>
__device__ void move_words(unsigned thread, To to, unsigned count, At at)
{
  using word = std::decay_t<decltype(*at(0u))>;
  for (unsigned first = thread; first < count; first += Threads * UnderWay)
  {
    word held[UnderWay];
#pragma unroll
    for (unsigned i = 0; i < UnderWay; ++i)
    {
      if (first + i * Threads < count)
      {
        held[i] = *at(first + i * Threads);
      }
    }
#pragma unroll
    for (unsigned i = 0; i < UnderWay; ++i)
    {
      if (first + i * Threads < count)
      {
        to[first + i * Threads] = held[i];
      }
    }
  }
}

} // namespace gpusort::block
