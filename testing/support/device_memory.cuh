// Device memory for tests: ranges with guards on both sides, streams, and kernels that hold a stream up.
#pragma once

#include <testing/support/owned_memory.cuh>
#include <testing/support/types.cuh>

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

namespace gpusort::testing
{

/// Room for a range of up to `capacity` elements that begins `offset` elements past an aligned address and has guard
/// bytes before and after it.
template <class T>
class guarded_array
{
public:
  static constexpr std::size_t guard_elements = 256; // keeps the alignment of the allocation for every T
  static constexpr std::size_t max_offset     = 8;
  static constexpr unsigned char guard_byte   = 0xa5;

  explicit guarded_array(std::size_t capacity)
      : bytes_((capacity + max_offset + 2 * guard_elements) * sizeof(T))
  {
    require(cudaMalloc(&memory_, bytes_), "memory for a test's range");
  }
  guarded_array(guarded_array const&)            = delete;
  guarded_array& operator=(guarded_array const&) = delete;
  ~guarded_array()
  {
    (void) cudaFree(memory_);
  }

  /// Puts n elements into the range and renews the guards.
  T* load(T const* from, std::size_t n, std::size_t offset = 0)
  {
    front_ = (guard_elements + offset) * sizeof(T);
    n_     = n;
    require(cudaMemset(memory_, guard_byte, front_ + (n + guard_elements) * sizeof(T)), "guards");
    require(cudaMemcpy(static_cast<char*>(memory_) + front_, from, n * sizeof(T), cudaMemcpyHostToDevice), "load");
    // The copy from pageable memory may still be on its way when cudaMemcpy returns.
    require(cudaDeviceSynchronize(), "load");
    return begin();
  }
  T* load(host_array<T> const& from, std::size_t offset = 0)
  {
    return load(from.data(), from.size(), offset);
  }

  T* begin() const
  {
    return reinterpret_cast<T*>(static_cast<char*>(memory_) + front_);
  }
  T* end() const
  {
    return begin() + n_;
  }

  /// The range and its guards, as they are now.
  ::testing::AssertionResult holds(T const* expected) const
  {
    std::vector<unsigned char> bytes(front_ + (n_ + guard_elements) * sizeof(T));
    require(cudaMemcpy(bytes.data(), memory_, bytes.size(), cudaMemcpyDeviceToHost), "read back");
    for (std::size_t i = 0; i < bytes.size(); ++i)
    {
      bool const is_guard = i < front_ || i >= front_ + n_ * sizeof(T);
      if (is_guard && bytes[i] != guard_byte)
      {
        return ::testing::AssertionFailure()
            << "a guard was overwritten " << (i < front_ ? "before" : "after") << " the range, at byte "
            << static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(front_) << " of a range of "
            << n_ * sizeof(T) << " bytes";
      }
    }
    unsigned char const* const actual = bytes.data() + front_;
    if (n_ == 0 || std::memcmp(actual, expected, n_ * sizeof(T)) == 0)
    {
      return ::testing::AssertionSuccess();
    }
    std::size_t first = n_, wrong = 0;
    for (std::size_t i = 0; i < n_; ++i)
    {
      if (std::memcmp(actual + i * sizeof(T), expected + i, sizeof(T)) != 0)
      {
        first = first < i ? first : i;
        ++wrong;
      }
    }
    return ::testing::AssertionFailure()
        << wrong << " of " << n_ << " elements are wrong, first the one at " << first << ": "
        << ::testing::PrintToString(std::vector<unsigned>(actual + first * sizeof(T), actual + (first + 1) * sizeof(T)))
        << " instead of "
        << ::testing::PrintToString(
             std::vector<unsigned>(reinterpret_cast<unsigned char const*>(expected + first),
                                   reinterpret_cast<unsigned char const*>(expected + first + 1)));
  }
  ::testing::AssertionResult holds(host_array<T> const& expected) const
  {
    if (expected.size() != n_)
    {
      return ::testing::AssertionFailure() << "the test compares " << n_ << " elements with " << expected.size();
    }
    return holds(expected.data());
  }

  host_array<T> read() const
  {
    host_array<T> copy(n_);
    require(cudaMemcpy(static_cast<void*>(copy.data()), begin(), n_ * sizeof(T), cudaMemcpyDeviceToHost), "read back");
    return copy;
  }

private:
  void* memory_      = nullptr;
  std::size_t bytes_ = 0;
  std::size_t front_ = guard_elements * sizeof(T);
  std::size_t n_     = 0;
};

/// A stream that does not wait for the legacy default stream.
class own_stream
{
public:
  own_stream()
  {
    require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
  }
  own_stream(own_stream const&)            = delete;
  own_stream& operator=(own_stream const&) = delete;
  ~own_stream()
  {
    (void) cudaStreamSynchronize(stream_);
    (void) cudaStreamDestroy(stream_);
  }
  operator cudaStream_t() const
  {
    return stream_;
  }

private:
  cudaStream_t stream_ = nullptr;
};

/// Returns when *released is not 0, if there is such a flag, or the time is up: a test that waits where it must not
/// fails, but ends.
static __global__ void spin(int const volatile* released, unsigned long long nanoseconds)
{
  unsigned long long begin = 0, now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do
  {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while ((released == nullptr || *released == 0) && now - begin < nanoseconds);
}

/// Holds a stream up for a time.
inline void keep_busy(cudaStream_t stream, unsigned long long nanoseconds)
{
  spin<<<1, 1, 0, stream>>>(nullptr, nanoseconds);
  require(cudaGetLastError(), "spinning kernel");
}

/// Holds a stream up until it is released, at most ten seconds.
class held_stream
{
public:
  explicit held_stream(cudaStream_t stream)
      : stream_(stream)
  {
    void* memory = nullptr;
    require(cudaHostAlloc(&memory, sizeof(int), cudaHostAllocMapped), "mapped memory");
    released_.reset(static_cast<int*>(memory));
    *released_ = 0;
    spin<<<1, 1, 0, stream_>>>(released_.get(), 10'000'000'000ull);
    require(cudaGetLastError(), "spinning kernel");
  }
  held_stream(held_stream const&)            = delete;
  held_stream& operator=(held_stream const&) = delete;
  ~held_stream()
  {
    release();
    (void) cudaStreamSynchronize(stream_);
  }

  bool is_held() const
  {
    return cudaStreamQuery(stream_) == cudaErrorNotReady;
  }
  void release()
  {
    *const_cast<int volatile*>(released_.get()) = 1;
  }

private:
  struct free_on_host
  {
    void operator()(int* memory) const
    {
      (void) cudaFreeHost(memory);
    }
  };

  cudaStream_t stream_;
  std::unique_ptr<int, free_on_host> released_;
};

} // namespace gpusort::testing
