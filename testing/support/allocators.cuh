// Allocators that tests give to policies: they count, refuse, or throw.
#pragma once

#include <testing/support/types.cuh>

#include <cuda_runtime.h>

#include <cstddef>
#include <map>
#include <new>

namespace gpusort::testing
{

/// Device memory, counted. Pass it to a policy by reference.
template <class T = char>
class counting_allocator
{
public:
  using value_type = T;

  counting_allocator()                                     = default;
  counting_allocator(counting_allocator const&)            = delete;
  counting_allocator& operator=(counting_allocator const&) = delete;
  ~counting_allocator()
  {
    for (auto const& piece : pieces_)
    {
      (void) cudaFree(piece.first);
    }
  }

  T* allocate(std::size_t n)
  {
    void* memory = nullptr;
    if (cudaMalloc(&memory, n * sizeof(T)) != cudaSuccess)
    {
      (void) cudaGetLastError();
      throw std::bad_alloc{};
    }
    pieces_[memory] = n;
    outstanding_ += 1;
    allocations += 1;
    bytes += n * sizeof(T);
    return static_cast<T*>(memory);
  }

  // The memory itself lives as long as the allocator: a call that does not wait returns it before the work is done.
  void deallocate(T* memory, std::size_t n)
  {
    auto const piece = pieces_.find(memory);
    if (piece == pieces_.end() || piece->second != n)
    {
      wrong_returns += 1;
      return;
    }
    outstanding_ -= 1;
  }

  bool is_balanced() const
  {
    return outstanding_ == 0 && wrong_returns == 0;
  }

  int allocations   = 0;
  int wrong_returns = 0;
  std::size_t bytes = 0;

private:
  std::map<void*, std::size_t> pieces_;
  int outstanding_ = 0;
};

/// Has no memory and says so as the standard does.
struct throwing_allocator
{
  using value_type = char;
  int calls        = 0;

  char* allocate(std::size_t)
  {
    ++calls;
    throw std::bad_alloc{};
  }
  void deallocate(char*, std::size_t)
  {}
};

/// Has no memory and says so as C does.
struct null_allocator
{
  using value_type = char;
  int calls        = 0;
  int returned     = 0;

  char* allocate(std::size_t)
  {
    ++calls;
    return nullptr;
  }
  void deallocate(char* memory, std::size_t)
  {
    returned += memory != nullptr;
  }
};

struct out_of_order
{
  int code;
};

/// Throws something that has nothing to do with memory.
struct refusing_allocator
{
  using value_type = char;

  char* allocate(std::size_t)
  {
    throw out_of_order{42};
  }
  void deallocate(char*, std::size_t)
  {}
};

} // namespace gpusort::testing
