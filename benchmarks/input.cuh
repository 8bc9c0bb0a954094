// The input of a sort: made on the GPU, restored between sorts, and used to check what came out.
#pragma once

#include <benchmarks/device.cuh>
#include <benchmarks/elements.cuh>
#include <testing/support/inputs.h>

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace gpusort::benchmarks
{

/// Where the n keys and values of one sort are. `values` is null without values.
template <class Key, class Value>
struct arrays
{
  Key* keys;
  Value* values;
  std::size_t n;
};

/// Grid: any. Writes n keys of a distribution.
template <class Key>
__global__ void make_keys(testing::distribution d, std::uint64_t seed, Key* out, std::size_t n)
{
  std::size_t const stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride)
  {
    out[i] = testing::element<Key>(d, seed, i, n);
  }
}

/// Grid: any. Copies n keys into each of the slots, which lie slot_size apart, and writes their values.
template <class Key, class Value>
__global__ void fill_slots(Key const* pristine, arrays<Key, Value> first_slot, std::size_t slot_size, std::size_t slots)
{
  std::size_t const n      = first_slot.n;
  std::size_t const stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t t = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; t < n * slots; t += stride)
  {
    std::size_t const slot = t / n, i = t % n;
    first_slot.keys[slot * slot_size + i] = pristine[i];
    if constexpr (has_value_v<Value>)
    {
      first_slot.values[slot * slot_size + i] = value_at<Value>(i);
    }
  }
}

/// What is wrong with a result; all zero if nothing is.
struct findings
{
  unsigned long long disorder; // neighbours in the wrong order
  unsigned long long instability; // equivalent neighbours whose input order was not kept
  unsigned long long strangers; // values that belong to another key, or to none
  unsigned long long difference; // sum of hashes of the output, less that of the input
};

template <class Key>
__device__ unsigned long long hash_of(Key const& key)
{
  constexpr std::size_t words = (sizeof(Key) + 7) / 8;
  std::uint64_t bits[words]   = {};
  memcpy(bits, &key, sizeof(Key));
  std::uint64_t hash = 0;
  for (std::uint64_t const word : bits)
  {
    hash = testing::inputs::mix(hash + word + 1);
  }
  return hash;
}

/// Grid: any. Adds to *found what is wrong with sorted.
template <class Key, class Value, class Compare>
__global__ void inspect(Key const* pristine, arrays<Key, Value> sorted, Compare comp, bool stable, findings* found)
{
  findings mine{};
  std::size_t const n      = sorted.n;
  std::size_t const stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride)
  {
    Key const key        = sorted.keys[i];
    bool const has_next  = i + 1 < n;
    bool const next_less = has_next && comp(sorted.keys[i + 1], key);
    mine.disorder += next_less;
    if constexpr (has_value_v<Value>)
    {
      std::uint64_t const index = index_of(sorted.values[i]);
      mine.strangers += index >= n || hash_of(pristine[index]) != hash_of(key);
      mine.difference += testing::inputs::mix(index) - testing::inputs::mix(i);
      if (stable && has_next && !next_less && !comp(key, sorted.keys[i + 1]))
      {
        mine.instability += index_of(sorted.values[i + 1]) <= index;
      }
    }
    else
    {
      mine.difference += hash_of(key) - hash_of(pristine[i]);
    }
  }
  atomicAdd(&found->disorder, mine.disorder);
  atomicAdd(&found->instability, mine.instability);
  atomicAdd(&found->strangers, mine.strangers);
  atomicAdd(&found->difference, mine.difference);
}

/// One input, and room to sort it many times. The room is divided into slots, each with a copy of the input; sorts take
/// them in turn, so that none finds its input in the L2 cache because a former one left it there. Together the slots
/// fill the cache four times; those at the end, which a restore leaves in the cache, are not sorted.
template <class Key, class Value>
class input
{
public:
  input(testing::distribution d, std::uint64_t seed, std::size_t n)
      : input(n)
  {
    strided const shape(n);
    make_keys<Key><<<shape.grid, shape.block, 0, stream()>>>(d, seed, pristine_.as<Key>(), n);
    check(cudaGetLastError(), "make_keys");
    check(cudaStreamSynchronize(stream()), "make_keys");
  }

  explicit input(std::vector<Key> const& keys)
      : input(keys.size())
  {
    copy_to_device(pristine_.data(), keys.data(), pristine_.bytes(), "keys of the input");
  }

  std::size_t size() const
  {
    return n_;
  }

  /// A fresh copy of the input, in memory that is not in the cache.
  arrays<Key, Value> next()
  {
    if (next_ == usable_)
    {
      strided const shape(n_ * slots_);
      fill_slots<Key, Value>
        <<<shape.grid, shape.block, 0, stream()>>>(pristine_.as<Key>(), slot(0), slot_size_, slots_);
      check(cudaGetLastError(), "fill_slots");
      next_ = 0;
    }
    return slot(next_++);
  }

  /// From here on slots are fresh, whatever was sorted before.
  void restart()
  {
    next_ = usable_;
  }

  /// What is wrong with a sorted copy of the input, in words; empty if it is right.
  template <class Compare>
  std::string faults(arrays<Key, Value> sorted, Compare comp, bool stable) const
  {
    findings found{};
    check(cudaMemsetAsync(findings_.data(), 0, sizeof(findings), stream()), "cudaMemsetAsync");
    strided const shape(n_);
    inspect<Key, Value, Compare>
      <<<shape.grid, shape.block, 0, stream()>>>(pristine_.as<Key>(), sorted, comp, stable, findings_.as<findings>());
    check(cudaGetLastError(), "inspect");
    check(cudaMemcpyAsync(&found, findings_.data(), sizeof(findings), cudaMemcpyDeviceToHost, stream()), "inspect");
    check(cudaStreamSynchronize(stream()), "inspect");

    std::string text;
    if (found.disorder != 0)
    {
      text += " " + std::to_string(found.disorder) + " pairs of neighbours are out of order;";
    }
    if (found.instability != 0)
    {
      text += " " + std::to_string(found.instability) + " pairs of equal neighbours changed places;";
    }
    if (found.strangers != 0)
    {
      text += " " + std::to_string(found.strangers) + " values left their keys;";
    }
    if (found.difference != 0)
    {
      text += " not a permutation of the input;";
    }
    return text.empty() ? text : "WRONG RESULT:" + text;
  }

private:
  explicit input(std::size_t n)
      : n_(n)
      , slot_size_((n + 255) / 256 * 256) // elements: every slot is aligned to 256 bytes
      , slots_(slots_for(slot_size_))
      , usable_(usable_of(slots_, slot_size_))
      , pristine_(n * sizeof(Key))
      , keys_(slots_ * slot_size_ * sizeof(Key))
      , values_(slots_ * slot_size_ * value_bytes_v<Value>)
      , findings_(sizeof(findings))
  {}

  static std::size_t slots_for(std::size_t slot_size)
  {
    std::size_t const slot_bytes = slot_size * (sizeof(Key) + value_bytes_v<Value>);
    std::size_t const enough     = 4 * device_attribute(cudaDevAttrL2CacheSize);
    return std::max<std::size_t>(1, (enough + slot_bytes - 1) / slot_bytes);
  }

  static std::size_t usable_of(std::size_t slots, std::size_t slot_size)
  {
    std::size_t const slot_bytes = slot_size * (sizeof(Key) + value_bytes_v<Value>);
    std::size_t const cached     = (device_attribute(cudaDevAttrL2CacheSize) + slot_bytes - 1) / slot_bytes;
    return slots > cached ? slots - cached : 1;
  }

  arrays<Key, Value> slot(std::size_t i) const
  {
    Value* const values = has_value_v<Value> ? values_.as<Value>() + i * slot_size_ : nullptr;
    return {keys_.as<Key>() + i * slot_size_, values, n_};
  }

  std::size_t n_;
  std::size_t slot_size_;
  std::size_t slots_;
  std::size_t usable_;
  device_memory pristine_;
  device_memory keys_;
  device_memory values_;
  device_memory findings_;
  std::size_t next_ = usable_;
};

/// The input that the last benchmark used. Neighbouring benchmarks share it; there is memory for one only.
struct kept_input
{
  std::string name;
  std::shared_ptr<void> data;

  void release()
  {
    name.clear();
    data.reset();
  }
};

inline kept_input& kept()
{
  static kept_input one;
  return one;
}

template <class Key, class Value>
input<Key, Value>& input_of(std::string const& name, testing::distribution d, std::uint64_t seed, std::size_t n)
{
  if (kept().name != name)
  {
    kept().release();
    kept().data = std::make_shared<input<Key, Value>>(d, seed, n);
    kept().name = name;
  }
  return *static_cast<input<Key, Value>*>(kept().data.get());
}

} // namespace gpusort::benchmarks
