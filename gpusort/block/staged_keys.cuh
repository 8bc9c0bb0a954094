// Keys in shared memory that many threads look at: wide ones with gaps between them.
#pragma once

#include <cstddef>
#include <type_traits>

namespace gpusort::block
{

/// Keys of more bytes stay where they are in shared memory, and numbers are sorted in their place. Measured on an H200 with
/// CUDA 13.0, hybrid sort, 2^24: 64-byte records 9.1 ms (11.5 when moved), 16-byte records 1.80 (1.54).
inline constexpr std::size_t widest_moved_key = 16;

/// What words of keys are aligned to.
template <class Key>
inline constexpr std::size_t staged_unit = alignof(Key) < 4 ? 4 : alignof(Key);

/// Whether keys have gaps between them: those that stay where they are, and would be an even number of words apart, so that threads that
/// look at any of them would meet on few banks. Measured on an H200 with CUDA 13.0, hybrid sort, us without gaps, with more elements in a
/// block, and with them: 64 bytes 2^12 34.5, 30.3, 2^17 212, 128, 2^22 1,993, 1,685; 32 bytes 2^12 25.7, 23.7, 2^22 823, 719; 96 bytes 2^12
/// 37.8, 34.5, 2^22 2,825, 2,842. With 16-byte words gaps would take room that not every device has.
template <class Key>
inline constexpr bool are_staged_apart = sizeof(Key) > widest_moved_key && alignof(Key) <= 8
                                      && sizeof(Key) % (2 * staged_unit<Key>) == 0;

/// Bytes from one key to the next.
template <class Key>
inline constexpr std::size_t staged_stride = sizeof(Key) + (are_staged_apart<Key> ? staged_unit<Key> : 0);

/// Points to keys that have gaps between them.
template <class Key>
class apart_keys
{
public:
  __host__ __device__ explicit apart_keys(char* bytes)
      : bytes_(bytes)
  {}

  template <class Place>
  __host__ __device__ Key& operator[](Place place) const
  {
    return *reinterpret_cast<Key*>(bytes_ + static_cast<std::size_t>(place) * staged_stride<Key>);
  }

private:
  char* bytes_;
};

template <class Key>
using staged_keys_t = std::conditional_t<are_staged_apart<Key>, apart_keys<Key>, Key*>;

/// The keys at an address.
template <class Key>
__host__ __device__ staged_keys_t<Key> staged_at(char* bytes)
{
  if constexpr (are_staged_apart<Key>)
  {
    return apart_keys<Key>(bytes);
  }
  else
  {
    return reinterpret_cast<Key*>(bytes);
  }
}

} // namespace gpusort::block
