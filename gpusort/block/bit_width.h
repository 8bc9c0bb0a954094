// The width of an unsigned integer's value and its zeros at the lower end, for integers of any size, and the logarithm of a power of two.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace gpusort::block
{

/// The position of the highest bit that is set, counted from 1; 0 if none is.
template <class Bits>
__host__ __device__ int bit_width(Bits value)
{
  int width = 0;
  for (int at = 0; at < static_cast<int>(sizeof(Bits)) * 8; at += 32)
  {
    auto const word = static_cast<std::uint32_t>(value >> at);
    if (word != 0)
    {
#if defined(__CUDA_ARCH__)
      width = at + 32 - __clz(static_cast<int>(word));
#else
      width = at + 32 - __builtin_clz(word);
#endif
    }
  }
  return width;
}

/// How many bits below the lowest that is set are not; all, if none is.
template <class Bits>
__host__ __device__ int trailing_zeros(Bits value)
{
  constexpr int bits = static_cast<int>(sizeof(Bits)) * 8;
  return value == 0 ? bits : bit_width(static_cast<Bits>(value & static_cast<Bits>(~value + 1))) - 1;
}

/// The lowest bit that is set in words, the least significant one first; 0 if none is.
template <int Words>
__host__ __device__ int lowest_set(std::uint32_t const (&words)[Words])
{
  int lowest = 0;
  for (int w = Words - 1; w >= 0; --w)
  {
    lowest = words[w] != 0 ? w * 32 + trailing_zeros(words[w]) : lowest;
  }
  return lowest;
}

/// The logarithm of a power of two.
__host__ __device__ constexpr int log2_of(int power)
{
  return power == 1 ? 0 : 1 + log2_of(power / 2);
}

} // namespace gpusort::block
