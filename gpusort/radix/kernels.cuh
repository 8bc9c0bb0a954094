// The kernels of the radix sort: count all digits in one read, then one partition pass a digit.
#pragma once

#include <gpusort/block/partition.cuh>
#include <gpusort/radix/key_order.h>
#include <gpusort/radix/tuning.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::radix
{

/// Counts every digit of every key, and turns the counts into where each digit's keys begin in the output.
/// Grid: any. Block: histogram_threads. Shared: (digits x radix_size << copies_log2) words.
/// Before: bins and finished_blocks are zero. After: bins[d x radix_size + b] is the number of keys whose digit d is
/// below b; the `status_words` words of `status` are zero; segments[0] is the whole input.
template <class Bits, bool IsFloat>
__global__ void __launch_bounds__(histogram_threads)
  count_digits(Bits const* keys,
               std::size_t n,
               key_order<Bits, IsFloat> order,
               int copies_log2,
               std::uint64_t* bins,
               std::uint32_t* finished_blocks,
               std::uint32_t* status,
               std::size_t status_words)
{
  constexpr int digits = key_order<Bits, IsFloat>::digits;
  constexpr int words  = digits * radix_size;
  constexpr int tile   = histogram_threads * histogram_items;

  extern __shared__ std::uint32_t counts[]; // [digits][radix_size][copies]
  __shared__ bool is_last_block;

  for (int i = static_cast<int>(threadIdx.x); i < words << copies_log2; i += histogram_threads)
  {
    counts[i] = 0;
  }
  std::size_t const threads_in_grid = static_cast<std::size_t>(gridDim.x) * histogram_threads;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * histogram_threads + threadIdx.x; i < status_words;
       i += threads_in_grid)
  {
    status[i] = 0;
  }
  __syncthreads();

  // A block meets fewer than 2^32 keys: memory for more does not exist.
  int const copy = static_cast<int>(threadIdx.x) & ((1 << copies_log2) - 1);
  auto count     = [&](Bits key) {
    Bits const rank = order.rank_of(key);
#pragma unroll
    for (int d = 0; d < digits; ++d)
    {
      unsigned const digit = static_cast<unsigned>(rank >> (d * digit_bits)) & (radix_size - 1);
      atomicAdd(&counts[((d * radix_size + digit) << copies_log2) + copy], 1u);
    }
  };
  for (std::size_t begin = static_cast<std::size_t>(blockIdx.x) * tile; begin < n;
       begin += static_cast<std::size_t>(gridDim.x) * tile)
  {
    if (n - begin >= tile)
    {
      Bits batch[histogram_items];
#pragma unroll
      for (int i = 0; i < histogram_items; ++i)
      {
        batch[i] = keys[begin + i * histogram_threads + threadIdx.x];
      }
#pragma unroll
      for (int i = 0; i < histogram_items; ++i)
      {
        count(batch[i]);
      }
    }
    else
    {
      for (std::size_t i = begin + threadIdx.x; i < n; i += histogram_threads)
      {
        count(keys[i]);
      }
    }
  }
  __syncthreads();

  for (int i = static_cast<int>(threadIdx.x); i < words; i += histogram_threads)
  {
    std::uint32_t sum = 0;
    for (int c = 0; c < 1 << copies_log2; ++c)
    {
      sum += counts[(i << copies_log2) + c];
    }
    if (sum != 0)
    {
      atomicAdd(reinterpret_cast<unsigned long long*>(bins + i), static_cast<unsigned long long>(sum));
    }
  }

  // The last block to get here sees every count.
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0)
  {
    is_last_block = atomicAdd(finished_blocks, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last_block)
  {
    return;
  }
  __threadfence();
  // A warp a digit: 32 lanes x 8 bins.
  int const lane = static_cast<int>(threadIdx.x) % 32;
  for (int d = static_cast<int>(threadIdx.x) / 32; d < digits; d += histogram_threads / 32)
  {
    constexpr int bins_per_lane = radix_size / 32;
    std::uint64_t* const row    = bins + d * radix_size + lane * bins_per_lane;
    std::uint64_t bin[bins_per_lane];
    std::uint64_t sum = 0;
#pragma unroll
    for (int i = 0; i < bins_per_lane; ++i)
    {
      bin[i] = __ldcg(reinterpret_cast<unsigned long long const*>(row + i));
      sum += bin[i];
    }
    std::uint64_t inclusive = sum;
#pragma unroll
    for (int step = 1; step < 32; step *= 2)
    {
      std::uint64_t const other = __shfl_up_sync(~0u, inclusive, step);
      inclusive += lane >= step ? other : 0;
    }
    std::uint64_t begin = inclusive - sum;
#pragma unroll
    for (int i = 0; i < bins_per_lane; ++i)
    {
      row[i] = begin;
      begin += bin[i];
    }
  }
}

/// The bucket of a key is one of its digits.
template <class Bits, bool IsFloat>
struct digit_of
{
  key_order<Bits, IsFloat> order;
  int d;

  __device__ unsigned operator()(Bits key) const
  {
    return order.digit(key, d);
  }
};

/// The shape of a pass over keys and values of these types.
template <class Bits, class Value>
__host__ __device__ constexpr pass_shape shape_of()
{
  return pass_shape_for(sizeof(Bits), std::is_same_v<Value, block::no_values> ? 0 : sizeof(Value));
}

template <class Bits, bool IsFloat, class Value>
using digit_partition =
  block::partition<Bits,
                   Value,
                   digit_of<Bits, IsFloat>,
                   radix_size,
                   shape_of<Bits, Value>().threads,
                   shape_of<Bits, Value>().items>;

/// Moves keys and values to where their digit belongs, in input order.
/// Grid: a block a tile of digit_partition. Block: its threads. Shared: its shared_storage.
template <class Bits, bool IsFloat, class Value>
__global__ void __launch_bounds__(shape_of<Bits, Value>().threads, shape_of<Bits, Value>().blocks)
  scatter_digits(digit_of<Bits, IsFloat> digit,
                 block::partition_work work,
                 block::segment whole,
                 Bits const* keys_in,
                 Bits* keys_out,
                 Value const* values_in,
                 Value* values_out)
{
  using partition = digit_partition<Bits, IsFloat, Value>;
  extern __shared__ uint4 shared_words[];
  auto& shared = *reinterpret_cast<typename partition::shared_storage*>(shared_words);

  work.segments = &whole; // the only segment is an argument
  partition(shared, digit).move_tile(work, keys_in, keys_out, values_in, values_out);
}

} // namespace gpusort::radix
