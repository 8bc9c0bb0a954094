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

} // namespace gpusort::block
