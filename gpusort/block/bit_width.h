// The width of an unsigned integer's value, for integers of any size, and the logarithm of a power of two.
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

/// The logarithm of a power of two.
__host__ __device__ constexpr int log2_of(int power)
{
  return power == 1 ? 0 : 1 + log2_of(power / 2);
}

} // namespace gpusort::block
