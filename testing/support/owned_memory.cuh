// Device memory that is given back however a test ends.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>

namespace gpusort::testing
{

inline void require(cudaError_t status, char const* what)
{
  if (status != cudaSuccess)
  {
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
  }
}

struct free_on_device
{
  void operator()(void* memory) const
  {
    (void) cudaFree(memory);
  }
};

template <class T>
using device_memory = std::unique_ptr<T, free_on_device>;

/// Room for n objects, which are not constructed.
template <class T>
device_memory<T> allocate_on_device(std::size_t n)
{
  void* memory = nullptr;
  require(cudaMalloc(&memory, n * sizeof(T)), "memory for a test");
  return device_memory<T>(static_cast<T*>(memory));
}

/// One object that kernels may change, set and read in the order of the default stream.
template <class T>
class device_variable
{
public:
  explicit device_variable(T const& initial)
      : memory_(allocate_on_device<T>(1))
  {
    require(cudaMemcpy(get(), &initial, sizeof(T), cudaMemcpyHostToDevice), "set a variable");
  }

  T* get() const
  {
    return memory_.get();
  }
  T read() const
  {
    T value{};
    require(cudaMemcpy(&value, get(), sizeof(T), cudaMemcpyDeviceToHost), "read a variable");
    return value;
  }

private:
  device_memory<T> memory_;
};

} // namespace gpusort::testing
