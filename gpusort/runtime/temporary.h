// Memory for objects of one sequential sort: from the policy if it brings its own, from the heap otherwise.
#pragma once

#include <gpusort/runtime/check.h>
#include <gpusort/runtime/layout.h>

#include <thrust/detail/raw_pointer_cast.h>
#include <thrust/memory.h>

#include <cuda/std/detail/__config>
#include <nv/target>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <type_traits>

namespace gpusort::runtime
{

/// Bytes that n objects of type T take. An allocator of bytes promises no alignment.
template <class T>
__host__ __device__ constexpr std::size_t temporary_bytes(std::size_t n)
{
  return n * sizeof(T) + (alignof(T) - 1);
}

/// Bytes for pieces of memory that a policy hands out one after the other, and takes back last first.
template <class... Bytes>
std::size_t bytes_of_pieces(Bytes... bytes)
{
  layout pieces;
  (pieces.add(bytes, 1), ...);
  return pieces.bytes();
}

/// `n` objects of type T that live as long as this object. `UseOwnMemory` says that the policy brings its own memory.
/// Memory: on the host the policy's or `operator new`; in device code the device heap, whatever the policy, because
///   Thrust's allocator-carrying policies have no device form either.
/// Throws: a type derived from std::bad_alloc if there is no memory (device code traps); whatever a custom allocator or
///   the copy constructor of T throws. Nothing is left behind then, and the source was only read.
template <bool UseOwnMemory, class T, class Policy>
class temporary
{
public:
  /// Copies of the n elements from `first` on.
  _CCCL_EXEC_CHECK_DISABLE
  template <class Iterator>
  __host__ __device__ temporary(Policy& policy, Iterator first, std::ptrdiff_t n)
      : temporary(policy, room_for{n})
  {
    for (; size_ < n; ++size_, (void) ++first)
    {
      ::new (static_cast<void*>(data_ + size_)) T(*first);
    }
  }

  /// Value-initialised objects.
  _CCCL_EXEC_CHECK_DISABLE
  __host__ __device__ temporary(Policy& policy, std::ptrdiff_t n)
      : temporary(policy, room_for{n})
  {
    for (; size_ < n; ++size_)
    {
      ::new (static_cast<void*>(data_ + size_)) T();
    }
  }

  temporary(temporary const&)            = delete;
  temporary& operator=(temporary const&) = delete;

  _CCCL_EXEC_CHECK_DISABLE
  __host__ __device__ ~temporary()
  {
    if constexpr (!std::is_trivially_destructible_v<T>)
    {
      while (size_ > 0)
      {
        data_[--size_].~T();
      }
    }
    release();
  }

  __host__ __device__ T* data() const
  {
    return data_;
  }

private:
  struct room_for
  {
    std::ptrdiff_t n;
  };

  // The public constructors delegate to this one: once it is done the destructor runs even if they throw, and it
  // destroys the size_ objects that were made.
  _CCCL_EXEC_CHECK_DISABLE
  __host__ __device__ temporary(Policy& policy, room_for room)
      : policy_(policy)
  {
    if (room.n <= 0)
    {
      return;
    }
    bytes_ = static_cast<std::ptrdiff_t>(temporary_bytes<T>(static_cast<std::size_t>(room.n)));
    allocate();
    constexpr std::size_t alignment = alignof(T);
    auto const address              = reinterpret_cast<std::uintptr_t>(memory_);
    data_                           = reinterpret_cast<T*>((address + (alignment - 1)) / alignment * alignment);
  }

  _CCCL_EXEC_CHECK_DISABLE
  __host__ __device__ void allocate()
  {
    NV_IF_TARGET(
      NV_IS_HOST,
      (allocate_on_host();),
      (memory_ = static_cast<char*>(malloc(static_cast<std::size_t>(bytes_))); if (memory_ == nullptr) { __trap(); }));
  }

  _CCCL_EXEC_CHECK_DISABLE
  __host__ __device__ void release()
  {
    if (memory_ == nullptr)
    {
      return;
    }
    NV_IF_TARGET(NV_IS_HOST, (release_on_host();), (free(memory_);));
  }

  void allocate_on_host()
  {
    if constexpr (UseOwnMemory)
    {
      auto const buffer = thrust::get_temporary_buffer<char>(policy_, bytes_);
      memory_           = thrust::raw_pointer_cast(buffer.first);
      if (memory_ != nullptr && buffer.second < bytes_)
      {
        thrust::return_temporary_buffer(policy_, buffer.first, buffer.second);
        memory_ = nullptr;
      }
      if (memory_ == nullptr)
      {
        throw bad_alloc(static_cast<std::size_t>(bytes_), "the policy's allocator");
      }
    }
    else
    {
      memory_ = static_cast<char*>(::operator new(static_cast<std::size_t>(bytes_)));
    }
  }

  void release_on_host()
  {
    if constexpr (UseOwnMemory)
    {
      using buffer_pointer = decltype(thrust::get_temporary_buffer<char>(policy_, bytes_).first);
      thrust::return_temporary_buffer(policy_, buffer_pointer(memory_), bytes_);
    }
    else
    {
      ::operator delete(memory_);
    }
  }

  Policy& policy_;
  char* memory_         = nullptr;
  std::ptrdiff_t bytes_ = 0;
  T* data_              = nullptr;
  std::ptrdiff_t size_  = 0;
};

} // namespace gpusort::runtime
