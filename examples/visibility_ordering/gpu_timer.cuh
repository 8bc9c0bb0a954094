// Times on the GPU, and an allocator that lets Thrust be timed without allocations.
#pragma once

#include <cuda_runtime.h>
#include <thrust/system/cuda/error.h>
#include <thrust/system_error.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <new>
#include <string>
#include <vector>

namespace visibility
{

inline void require_success(cudaError_t status)
{
  if (status != cudaSuccess)
  {
    throw thrust::system_error(status, thrust::cuda_category());
  }
}

inline bool has_gpu()
{
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
}

inline std::string gpu_name()
{
  cudaDeviceProp properties{};
  int device = 0;
  require_success(cudaGetDevice(&device));
  require_success(cudaGetDeviceProperties(&properties, device));
  return properties.name;
}

class gpu_stream
{
public:
  gpu_stream()
  {
    require_success(cudaStreamCreate(&stream_));
  }
  gpu_stream(gpu_stream const&)            = delete;
  gpu_stream& operator=(gpu_stream const&) = delete;
  ~gpu_stream()
  {
    cudaStreamDestroy(stream_);
  }
  cudaStream_t get() const
  {
    return stream_;
  }

private:
  cudaStream_t stream_ = nullptr;
};

class gpu_event
{
public:
  gpu_event()
  {
    require_success(cudaEventCreate(&event_));
  }
  gpu_event(gpu_event const&)            = delete;
  gpu_event& operator=(gpu_event const&) = delete;
  ~gpu_event()
  {
    cudaEventDestroy(event_);
  }
  cudaEvent_t get() const
  {
    return event_;
  }

private:
  cudaEvent_t event_ = nullptr;
};

inline double median(std::vector<double> times)
{
  auto const middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

/// The median time of `sort()` on the stream, each time after `reset()`, once both have run untimed.
template <class Reset, class Sort>
double median_milliseconds(cudaStream_t stream, int repeat, Reset const& reset, Sort const& sort)
{
  gpu_event const begin, end;
  std::vector<double> times;
  for (int i = -1; i < repeat; ++i)
  {
    reset();
    require_success(cudaEventRecord(begin.get(), stream));
    sort();
    require_success(cudaEventRecord(end.get(), stream));
    require_success(cudaEventSynchronize(end.get()));
    float milliseconds = 0;
    require_success(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()));
    if (i >= 0)
    {
      times.push_back(milliseconds);
    }
  }
  return median(times);
}

/// Keeps what is given back and hands it out again for the next request of that size: right for calls in order on one
/// stream, and all that repeated calls cost is a look into a map.
class reusing_allocator
{
public:
  using value_type = char;

  reusing_allocator()                                    = default;
  reusing_allocator(reusing_allocator const&)            = delete;
  reusing_allocator& operator=(reusing_allocator const&) = delete;
  ~reusing_allocator()
  {
    for (auto const& block : kept_)
    {
      cudaFree(block.second);
    }
  }

  char* allocate(std::ptrdiff_t bytes)
  {
    auto const kept = kept_.find(bytes);
    if (kept != kept_.end())
    {
      char* const block = kept->second;
      kept_.erase(kept);
      return block;
    }
    void* block = nullptr;
    if (cudaMalloc(&block, static_cast<std::size_t>(bytes)) != cudaSuccess)
    {
      throw std::bad_alloc();
    }
    return static_cast<char*>(block);
  }

  void deallocate(char* block, std::size_t bytes)
  {
    kept_.emplace(static_cast<std::ptrdiff_t>(bytes), block);
  }

private:
  std::multimap<std::ptrdiff_t, char*> kept_;
};

} // namespace visibility
