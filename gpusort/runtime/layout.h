// One scratch allocation a call: pieces laid end to end, each aligned.
#pragma once

#include <cstddef>
#include <limits>
#include <new>

namespace gpusort::runtime
{

/// The alignment of scratch memory as the library hands it out.
inline constexpr std::size_t scratch_alignment = 256;

constexpr std::size_t align_up(std::size_t bytes, std::size_t alignment)
{
  return (bytes + alignment - 1) / alignment * alignment;
}

/// Counts the bytes of pieces as they are added; a piece is named by its offset.
class layout
{
public:
  /// Adds room for `count` objects of `object_bytes` and returns its offset. Throws std::bad_alloc if no address is so large.
  constexpr std::size_t add(std::size_t count, std::size_t object_bytes, std::size_t alignment = scratch_alignment)
  {
    if (alignment < scratch_alignment)
    {
      alignment = scratch_alignment;
    }
    std::size_t const offset = align_up(bytes_, alignment);
    // Half of all addresses is more than there is, and leaves room for what is added to sizes later.
    if (offset > most_bytes || (object_bytes > 0 && count > (most_bytes - offset) / object_bytes))
    {
      throw std::bad_alloc();
    }
    bytes_ = offset + count * object_bytes;
    // The allocation itself is aligned to scratch_alignment only.
    alignment_ = alignment > alignment_ ? alignment : alignment_;
    return offset;
  }

  /// Bytes to allocate so that the pieces fit whatever the address of the allocation.
  constexpr std::size_t bytes() const
  {
    return bytes_ == 0 ? 0 : bytes_ + alignment_;
  }

  /// The first address in the allocation from which the offsets count.
  void* base(void* allocation) const
  {
    return reinterpret_cast<void*>(align_up(reinterpret_cast<std::size_t>(allocation), alignment_));
  }

private:
  static constexpr std::size_t most_bytes = std::numeric_limits<std::size_t>::max() / 2;

  std::size_t bytes_     = 0;
  std::size_t alignment_ = scratch_alignment;
};

template <class T>
T* at_offset(void* base, std::size_t offset)
{
  return reinterpret_cast<T*>(static_cast<char*>(base) + offset);
}

} // namespace gpusort::runtime
