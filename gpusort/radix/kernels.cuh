// The kernels of the radix sort: look at all keys once, then one partition pass a digit; or everything in one block.
#pragma once

#include <gpusort/block/bin_sort.cuh>
#include <gpusort/block/partition.cuh>
#include <gpusort/block/tile.cuh>
#include <gpusort/block/warp.cuh>
#include <gpusort/radix/key_order.h>
#include <gpusort/radix/tuning.h>
#include <gpusort/runtime/dependency.cuh>
#include <gpusort/runtime/residency.cuh>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::radix
{

/// What the counting finds out, and so what the passes do, in device memory.
struct findings
{
  // How a key and the next compare.
  static constexpr std::uint32_t ascent    = 1;
  static constexpr std::uint32_t alike     = 2;
  static constexpr std::uint32_t descent   = 4;
  static constexpr std::uint32_t no_longer = ascent | descent; // the input is neither sorted nor reversed

  std::uint32_t neighbours; // which of these were seen; zero before the counting
  std::uint32_t finished_blocks; // of the counting; zero before it
  // After the counting:
  std::uint32_t passes; // how many times the keys move
  std::uint32_t reversed; // whether the one pass is a reversal
  std::int32_t turn[16]; // of each digit: how many passes come before its own; negative, if it has none
};

/// Decides what is left to do. Called by one thread of the last block of count_digits.
/// `stable_reversal`: equal keys may be told apart, by their values or as -0 and +0.
template <int Digits>
__device__ void plan_passes(findings& found, bool const (&varies)[Digits], bool stable_reversal)
{
  std::uint32_t const seen = *const_cast<std::uint32_t volatile*>(&found.neighbours);
  bool const sorted        = (seen & findings::descent) == 0;
  bool const reversed =
    !sorted && (seen & (stable_reversal ? findings::ascent | findings::alike : findings::ascent)) == 0;

  int passes = 0;
  for (int d = 0; d < Digits; ++d)
  {
    bool const moves = !sorted && !reversed && varies[d];
    found.turn[d]    = moves ? passes : -1;
    passes += moves ? 1 : 0;
  }
  found.reversed = reversed;
  found.passes   = reversed ? 1 : passes;
}

/// The bits that any lane of the warp has.
template <class Bits>
__device__ Bits or_of_warp(Bits value)
{
  return block::by_words(value, [](std::uint32_t word) { return block::or_of_warp(word); });
}

/// Reads the keys once: counts every digit, turns the counts into where each digit's keys begin in the output, and finds
/// out whether the keys are in order or reversed and which digits never vary.
/// Grid: any. Block: histogram_threads. Shared: (digits x radix_size << copies_log2) words. A thread reads `rows` keys at
/// once, up to histogram_items.
/// Before: bins, neighbours and finished_blocks are zero. After: bins[d x radix_size + b] is the number of keys whose
/// digit d is below b; the `status_words` words of `status` are zero; `found` is complete.
template <class Bits, bool IsFloat>
__global__ void __launch_bounds__(histogram_threads,
                                  runtime::resident_blocks(histogram_threads, resident_blocks_per_sm))
  count_digits(Bits const* keys,
               std::size_t n,
               key_order<Bits, IsFloat> order,
               bool with_values,
               int rows,
               int copies_log2,
               std::uint64_t* bins,
               findings* found,
               std::uint32_t* status,
               std::size_t status_words)
{
  constexpr int digits = key_order<Bits, IsFloat>::digits;
  constexpr int words  = digits * radix_size;
  constexpr int items  = histogram_items(sizeof(Bits));

  extern __shared__ std::uint32_t counts[]; // [digits][radix_size][copies]
  __shared__ bool is_last_block;
  __shared__ bool varies[digits];

  for (int i = static_cast<int>(threadIdx.x); i < words << copies_log2; i += histogram_threads)
  {
    counts[i] = 0;
  }
  runtime::wait_for_previous_kernel();
  std::size_t const threads_in_grid = static_cast<std::size_t>(gridDim.x) * histogram_threads;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * histogram_threads + threadIdx.x; i < status_words;
       i += threads_in_grid)
  {
    status[i] = 0;
  }
  __syncthreads();

  // A block meets fewer than 2^32 keys: memory for more does not exist.
  int const copy = static_cast<int>(threadIdx.x) & ((1 << copies_log2) - 1);
  auto count     = [&](Bits rank) {
#pragma unroll
    for (int d = 0; d < digits; ++d)
    {
      unsigned const digit = static_cast<unsigned>(rank >> (d * digit_bits)) & (radix_size - 1);
      atomicAdd(&counts[((d * radix_size + digit) << copies_log2) + copy], 1u);
    }
  };
  std::size_t const chunk = static_cast<std::size_t>(rows) * histogram_threads;
  std::uint32_t seen      = 0;
  for (std::size_t begin = static_cast<std::size_t>(blockIdx.x) * chunk; begin < n;
       begin += static_cast<std::size_t>(gridDim.x) * chunk)
  {
    // The thread's i-th key is number i x histogram_threads + thread of the chunk.
    std::size_t const own = begin + threadIdx.x;
    bool const full       = rows == items && n - begin >= chunk;
    auto holds            = [&](int i) { return full || (i < rows && own + i * histogram_threads < n); };

    Bits ranks[items];
#pragma unroll
    for (int i = 0; i < items; ++i)
    {
      ranks[i] = holds(i) ? keys[own + i * histogram_threads] : Bits{};
    }
#pragma unroll
    for (int i = 0; i < items; ++i)
    {
      ranks[i] = order.rank_of(ranks[i]);
    }
    // A warp stops looking at neighbours once it has met both directions: on most inputs, at once.
    if ((seen & findings::no_longer) != findings::no_longer)
    {
#pragma unroll
      for (int i = 0; i < items; ++i)
      {
        std::size_t const next_place = own + i * histogram_threads + 1;
        Bits next                    = block::from_next_lane(ranks[i]);
        if (holds(i) && next_place < n)
        {
          if (threadIdx.x % 32 == 31)
          {
            next = order.rank_of(keys[next_place]);
          }
          seen |= ranks[i] < next ? findings::ascent : next < ranks[i] ? findings::descent : findings::alike;
        }
      }
      seen = or_of_warp(seen);
    }
#pragma unroll
    for (int i = 0; i < items; ++i)
    {
      if (holds(i))
      {
        count(ranks[i]);
      }
    }
  }
  seen = or_of_warp(seen);
  if (threadIdx.x % 32 == 0 && (*const_cast<std::uint32_t volatile*>(&found->neighbours) & seen) != seen)
  {
    atomicOr(&found->neighbours, seen);
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

  // The last block to get here sees what all have found.
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0)
  {
    is_last_block = atomicAdd(&found->finished_blocks, 1u) == gridDim.x - 1;
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
    bool holds_all    = false;
#pragma unroll
    for (int i = 0; i < bins_per_lane; ++i)
    {
      bin[i] = __ldcg(reinterpret_cast<unsigned long long const*>(row + i));
      sum += bin[i];
      holds_all = holds_all || bin[i] == n;
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
    bool const constant = __any_sync(~0u, holds_all);
    if (lane == 0)
    {
      varies[d] = !constant;
    }
  }
  __syncthreads();
  if (threadIdx.x == 0)
  {
    plan_passes(*found, varies, with_values || IsFloat);
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

template <class Value>
inline constexpr std::size_t value_bytes_v = std::is_same_v<Value, block::no_values> ? 0 : sizeof(Value);

/// The shape of a pass over keys and values of these types.
template <class Bits, class Value>
__host__ __device__ constexpr pass_shape shape_of()
{
  return pass_shape_for(sizeof(Bits), value_bytes_v<Value>);
}

template <class Bits, bool IsFloat, class Value>
using digit_partition =
  block::partition<Bits,
                   Value,
                   digit_of<Bits, IsFloat>,
                   radix_size,
                   shape_of<Bits, Value>().threads,
                   shape_of<Bits, Value>().items>;

/// The arrays between which the passes of a sort move keys and values; the first pair is the caller's.
template <class Bits, class Value>
struct buffers
{
  Bits* keys[2];
  Value* values[2];
};

/// Writes this block's part of the reversed input. Equal keys, if there are any, cannot be told apart.
template <int Threads, class Bits, class Value>
__device__ void reverse_part(buffers<Bits, Value> const& at, std::size_t begin, std::size_t end, std::size_t n)
{
  for (; begin < end; begin += Threads * moved_at_once)
  {
    int const size = end - begin < Threads * moved_at_once ? static_cast<int>(end - begin) : Threads * moved_at_once;
    std::size_t const last = n - 1 - begin;
    block::move_tile<Threads, moved_at_once>(
      size, [&](int place) { return at.keys[0][last - place]; }, at.keys[1] + begin);
    if constexpr (!std::is_same_v<Value, block::no_values>)
    {
      block::move_tile<Threads, moved_at_once>(
        size, [&](int place) { return at.values[0][last - place]; }, at.values[1] + begin);
    }
  }
}

/// Moves keys and values to where their digit belongs, in input order. Does what `found` says: nothing, if the digit never
/// varies or the input is in order; if it is reversed, the launches for the first digit reverse it.
/// Grid: a block a tile of digit_partition. Block: its threads. Shared: its shared_storage.
template <class Bits, bool IsFloat, class Value>
__global__ void
__launch_bounds__(shape_of<Bits, Value>().threads,
                  runtime::resident_blocks(shape_of<Bits, Value>().threads, shape_of<Bits, Value>().blocks))
  scatter_digits(digit_of<Bits, IsFloat> digit,
                 findings const* found,
                 block::partition_work work,
                 block::segment part,
                 std::size_t n,
                 buffers<Bits, Value> at)
{
  using partition = digit_partition<Bits, IsFloat, Value>;
  extern __shared__ uint4 shared_words[];
  auto& shared = *reinterpret_cast<typename partition::shared_storage*>(shared_words);

  runtime::wait_for_previous_kernel();
  int const turn = found->turn[digit.d];
  if (turn < 0)
  {
    if (digit.d == 0 && found->reversed != 0)
    {
      std::size_t const begin = part.begin + static_cast<std::size_t>(blockIdx.x) * work.tile;
      std::size_t const end   = part.begin + part.size;
      reverse_part<partition::threads>(at, begin, end - begin < work.tile ? end : begin + work.tile, n);
    }
    return;
  }
  bool const from_home = turn % 2 == 0;
  work.segments        = &part; // the only segment is an argument
  // Launches over the same tiles take turns with the look-back's states; between others the words are cleared.
  work.epoch = part.size == n && !from_home ? 1 : 0;
  partition::move_tile(
    shared,
    digit,
    work,
    from_home ? at.keys[0] : at.keys[1],
    from_home ? at.keys[1] : at.keys[0],
    from_home ? at.values[0] : at.values[1],
    from_home ? at.values[1] : at.values[0]);
}

/// After the last pass: brings keys and values back to the caller's arrays if they are not there.
/// Grid: any. Block: home_threads.
template <class Bits, class Value>
__global__ void __launch_bounds__(home_threads)
  bring_home(findings const* found, std::size_t n, buffers<Bits, Value> at)
{
  runtime::wait_for_previous_kernel();
  if (found->passes % 2 == 0)
  {
    return;
  }
  constexpr int tile = home_threads * moved_at_once;
  for (std::size_t begin = static_cast<std::size_t>(blockIdx.x) * tile; begin < n;
       begin += static_cast<std::size_t>(gridDim.x) * tile)
  {
    int const size = n - begin < tile ? static_cast<int>(n - begin) : tile;
    block::move_tile<home_threads, moved_at_once>(
      size, [&](int place) { return at.keys[1][begin + place]; }, at.keys[0] + begin);
    if constexpr (!std::is_same_v<Value, block::no_values>)
    {
      block::move_tile<home_threads, moved_at_once>(
        size, [&](int place) { return at.values[1][begin + place]; }, at.values[0] + begin);
    }
  }
}

/// Sorts an input that fits one block.
template <class Bits, bool IsFloat, class Value, bool Small>
using tile_sort =
  block::bin_sort<Bits,
                  Value,
                  key_order<Bits, IsFloat>,
                  one_tile_shape_for(sizeof(Bits), value_bytes_v<Value>, Small).threads,
                  one_tile_shape_for(sizeof(Bits), value_bytes_v<Value>, Small).items>;

/// The shared memory that it takes, one way or the other.
template <class Bits, bool IsFloat, class Value, bool Small>
union tile_storage
{
  using sorter = tile_sort<Bits, IsFloat, Value, Small>;
  typename sorter::shared_storage by_bins;
  typename sorter::digit_storage by_digits;
};

/// Grid: one block. Block: tile_sort's threads. Shared: tile_storage. n is at most its tile.
template <class Bits, bool IsFloat, class Value, bool Small>
__global__ void __launch_bounds__(one_tile_shape_for(sizeof(Bits), value_bytes_v<Value>, Small).threads)
  sort_one_tile(Bits* keys, Value* values, int n, key_order<Bits, IsFloat> order)
{
  using sorter = tile_sort<Bits, IsFloat, Value, Small>;
  extern __shared__ uint4 shared_words[];
  auto& shared = *reinterpret_cast<tile_storage<Bits, IsFloat, Value, Small>*>(shared_words);
  runtime::wait_for_previous_kernel();
  if (!sorter::sort(shared.by_bins, order, n, keys, keys, values, values))
  {
    __syncthreads();
    sorter::sort_by_digits(shared.by_digits, order, n, keys, keys, values, values);
  }
}

} // namespace gpusort::radix
