// CUDA in the few forms that the benchmarks need: checked calls, memory, a stream, a stopwatch.
#pragma once

#include <cuda_runtime.h>

#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

namespace gpusort::benchmarks
{

inline void check(cudaError_t status, char const* what)
{
  if (status != cudaSuccess)
  {
    (void) cudaGetLastError(); // the next benchmark starts without this error, if it can be cleared
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
  }
}

/// A measurement cannot be made here, through nobody's fault: it is left out.
struct not_measured : std::runtime_error
{
  using std::runtime_error::runtime_error;
};

class device_memory
{
public:
  device_memory() = default;
  explicit device_memory(std::size_t bytes)
      : bytes_(bytes)
  {
    if (bytes == 0)
    {
      return;
    }
    cudaError_t const status = cudaMalloc(&data_, bytes);
    if (status == cudaErrorMemoryAllocation)
    {
      (void) cudaGetLastError();
      throw not_measured("does not fit: there are no further " + std::to_string((bytes >> 20) + 1) + " MiB on the GPU");
    }
    check(status, "cudaMalloc");
  }
  device_memory(device_memory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr))
      , bytes_(std::exchange(other.bytes_, 0))
  {}
  device_memory& operator=(device_memory&&) = delete;
  ~device_memory()
  {
    (void) cudaFree(data_);
  }

  void* data() const
  {
    return data_;
  }
  std::size_t bytes() const
  {
    return bytes_;
  }
  template <class T>
  T* as() const
  {
    return static_cast<T*>(data_);
  }

private:
  void* data_        = nullptr;
  std::size_t bytes_ = 0;
};

inline std::size_t device_attribute(cudaDeviceAttr attribute)
{
  int device = 0, value = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&value, attribute, device), "cudaDeviceGetAttribute");
  return static_cast<std::size_t>(value);
}

/// The one stream of the program. Non-blocking: nothing on the default stream can get in its way.
inline cudaStream_t stream()
{
  static cudaStream_t const only = [] {
    cudaStream_t fresh = nullptr;
    check(cudaStreamCreateWithFlags(&fresh, cudaStreamNonBlocking), "cudaStreamCreate");
    return fresh;
  }();
  return only;
}

/// Copies to the GPU; all of it is there afterwards. (cudaMemcpy may return before what was pageable memory is, and our stream
/// does not wait for others.)
inline void copy_to_device(void* to, void const* from, std::size_t bytes, char const* what)
{
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream()), what);
  check(cudaStreamSynchronize(stream()), what);
}

/// Grid and block for a kernel that strides over n elements.
struct strided
{
  unsigned grid;
  unsigned block = 256;

  explicit strided(std::size_t n)
  {
    std::size_t const most   = device_attribute(cudaDevAttrMultiProcessorCount) * 8;
    std::size_t const blocks = (n + block - 1) / block;
    grid                     = static_cast<unsigned>(blocks < most ? (blocks == 0 ? 1 : blocks) : most);
  }
};

/// Grid: one thread. Keeps the stream busy. A template, because kernels in headers cannot be inline.
template <class Count>
__global__ void pass_time(Count nanoseconds)
{
  Count start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do
  {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < nanoseconds);
}

/// How a contender's time is taken. A call that only enqueues is timed on the GPU, by events before and after it on its
/// stream. A call that waits is timed on the host, from an idle device to an idle device.
enum class clock_kind
{
  events,
  host
};

class stopwatch
{
public:
  explicit stopwatch(double head_start_seconds)
      : head_start_(static_cast<unsigned long long>(head_start_seconds * 1e9))
  {
    check(cudaEventCreate(&start_), "cudaEventCreate");
    check(cudaEventCreate(&stop_), "cudaEventCreate");
  }
  stopwatch(stopwatch const&)            = delete;
  stopwatch& operator=(stopwatch const&) = delete;
  ~stopwatch()
  {
    (void) cudaEventDestroy(start_);
    (void) cudaEventDestroy(stop_);
  }

  /// Seconds that `work` takes, from an idle device on.
  template <class Work>
  double time(clock_kind kind, Work&& work)
  {
    check(cudaDeviceSynchronize(), "before the sort");
    if (kind == clock_kind::host)
    {
      auto const start = std::chrono::steady_clock::now();
      work();
      check(cudaDeviceSynchronize(), "sort");
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    if (head_start_ != 0)
    {
      pass_time<<<1, 1, 0, stream()>>>(head_start_);
      check(cudaGetLastError(), "pass_time");
    }
    check(cudaEventRecord(start_, stream()), "cudaEventRecord");
    work();
    check(cudaEventRecord(stop_, stream()), "cudaEventRecord");
    check(cudaEventSynchronize(stop_), "sort");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start_, stop_), "cudaEventElapsedTime");
    return milliseconds * 1e-3;
  }

private:
  unsigned long long head_start_; // nanoseconds
  cudaEvent_t start_ = nullptr;
  cudaEvent_t stop_  = nullptr;
};

} // namespace gpusort::benchmarks
