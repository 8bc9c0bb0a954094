// Device scratch memory: the policy's own where it has some, stream-ordered memory otherwise.
#pragma once

#include <gpusort/runtime/check.h>
#include <gpusort/runtime/context.h>

#include <cuda_runtime.h>
#include <thrust/detail/raw_pointer_cast.h>
#include <thrust/detail/temporary_array.h>
#include <thrust/memory.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace gpusort::runtime
{

/// A fresh pool on `device` that keeps up to `keep_bytes` between calls.
inline cudaMemPool_t make_pool(int device, std::uint64_t keep_bytes)
{
  cudaMemPoolProps props{};
  props.allocType     = cudaMemAllocationTypePinned;
  props.location.type = cudaMemLocationTypeDevice;
  props.location.id   = device;
  cudaMemPool_t pool  = nullptr;
  check(cudaMemPoolCreate(&pool, &props), "gpusort: memory pool");
  cudaError_t const status = cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep_bytes);
  if (status != cudaSuccess)
  {
    (void) cudaMemPoolDestroy(pool);
  }
  check(status, "gpusort: memory pool threshold");
  return pool;
}

/// The pool from which calls without an allocator take scratch on the current device, or null if the device has no
/// memory pools. It is ours and not the device's default pool, whose settings belong to the application. Between calls
/// it keeps up to 1/64 of the device's memory: enough that a call rarely asks the driver, too little to be missed.
inline cudaMemPool_t scratch_pool()
{
  struct owned_pool
  {
    unsigned long long context;
    cudaMemPool_t pool;
  };
  static std::mutex mutex;
  static std::vector<owned_pool> pools; // of each device

  int device = 0, supported = 0;
  check(cudaGetDevice(&device), "gpusort: current device");
  check(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device), "gpusort: memory pool support");
  if (supported == 0)
  {
    return nullptr;
  }
  unsigned long long const context = context_number();

  std::lock_guard<std::mutex> lock(mutex);
  if (pools.size() <= static_cast<std::size_t>(device))
  {
    pools.resize(static_cast<std::size_t>(device) + 1, owned_pool{0, nullptr});
  }
  owned_pool& entry = pools[static_cast<std::size_t>(device)];
  if (entry.pool == nullptr || entry.context != context)
  {
    // A pool of a context that is gone went with it.
    std::size_t free_bytes = 0, total_bytes = 0;
    check(cudaMemGetInfo(&free_bytes, &total_bytes), "gpusort: memory size");
    entry = {context, make_pool(device, total_bytes / 64)};
  }
  return entry.pool;
}

/// Stream-ordered bytes; returns null if there are none.
inline void* allocate_on(cudaStream_t stream, std::size_t bytes)
{
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &capture), "gpusort: stream capture");

  void* memory       = nullptr;
  cudaError_t status = cudaSuccess;
  if (capture != cudaStreamCaptureStatusNone)
  {
    status = cudaMallocAsync(&memory, bytes, stream); // the graph owns the memory, whatever the pool
  }
  else if (cudaMemPool_t const pool = scratch_pool())
  {
    status = cudaMallocFromPoolAsync(&memory, bytes, pool, stream);
    if (status == cudaErrorMemoryAllocation)
    {
      (void) cudaGetLastError();
      check(cudaMemPoolTrimTo(pool, 0), "gpusort: memory pool trim");
      status = cudaMallocFromPoolAsync(&memory, bytes, pool, stream);
    }
  }
  else
  {
    status = cudaMalloc(&memory, bytes);
  }
  if (status == cudaErrorMemoryAllocation)
  {
    (void) cudaGetLastError();
    return nullptr;
  }
  check(status, "gpusort: scratch allocation");
  return memory;
}

inline void free_on(cudaStream_t stream, void* memory)
{
  // Called from destructors: an error here is sticky and surfaces at the caller's next CUDA call.
  int device = 0, supported = 0;
  (void) cudaGetDevice(&device);
  (void) cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device);
  (void) (supported != 0 ? cudaFreeAsync(memory, stream) : cudaFree(memory));
}

/// Scratch memory for one call, given back in stream order. `UseOwnMemory` says that the policy brings its own.
template <bool UseOwnMemory, class Policy>
class device_scratch
{
public:
  device_scratch(Policy& policy, cudaStream_t stream, std::size_t bytes)
      : policy_(policy)
      , stream_(stream)
      , bytes_(static_cast<std::ptrdiff_t>(bytes))
  {
    if (bytes == 0)
    {
      return;
    }
    if constexpr (UseOwnMemory)
    {
      auto const buffer = thrust::get_temporary_buffer<char>(policy_, bytes_);
      memory_           = thrust::raw_pointer_cast(buffer.first);
      if (memory_ != nullptr && buffer.second < bytes_)
      {
        thrust::return_temporary_buffer(policy_, buffer.first, buffer.second);
        memory_ = nullptr;
      }
    }
    else
    {
      memory_ = static_cast<char*>(allocate_on(stream_, bytes));
    }
    if (memory_ == nullptr)
    {
      throw bad_alloc(bytes, UseOwnMemory ? "the policy's allocator" : "the device");
    }
  }

  device_scratch(device_scratch const&)            = delete;
  device_scratch& operator=(device_scratch const&) = delete;

  ~device_scratch()
  {
    if (memory_ == nullptr)
    {
      return;
    }
    if constexpr (UseOwnMemory)
    {
      using buffer_pointer = decltype(thrust::get_temporary_buffer<char>(policy_, bytes_).first);
      thrust::return_temporary_buffer(policy_, buffer_pointer(memory_), bytes_);
    }
    else
    {
      free_on(stream_, memory_);
    }
  }

  void* data() const
  {
    return memory_;
  }

private:
  Policy& policy_;
  cudaStream_t stream_;
  std::ptrdiff_t bytes_;
  char* memory_ = nullptr;
};

} // namespace gpusort::runtime
