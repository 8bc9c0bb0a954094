// The kernels of the radix sort: look at all keys once, then one partition pass a digit; or everything in one block.
#pragma once

#include <gpusort/block/partition.cuh>
#include <gpusort/radix/key_order.h>
#include <gpusort/radix/tuning.h>
#include <gpusort/runtime/dependency.cuh>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::radix
{

/// What the counting finds out, and so what the passes do, in device memory.
struct findings
{
  std::uint32_t neighbours; // bits of `neighbour` that were seen; zero before the counting
  std::uint32_t finished_blocks; // of the counting; zero before it
  // After the counting:
  std::uint32_t passes; // how many times the keys move
  std::uint32_t reversed; // whether the one pass is a reversal
  std::int32_t turn[16]; // of each digit: how many passes come before its own; negative, if it has none
};

enum neighbour : std::uint32_t
{
  in_order  = 1, // a key less than the next
  alike     = 2, // a key equal to the next
  descent   = 4, // a key greater than the next
  no_longer = in_order | descent // the input is neither sorted nor reversed
};

/// Decides what is left to do, from the bins' sizes: one warp a digit. Called by the last block of count_digits.
/// `stable_reversal`: equal keys may be told apart, by their values or as -0 and +0.
template <int Digits>
__device__ void plan_passes(findings& found, bool const (&varies)[Digits], bool stable_reversal)
{
  std::uint32_t const seen = *const_cast<std::uint32_t volatile*>(&found.neighbours);
  bool const sorted        = (seen & descent) == 0;
  bool const reversed      = !sorted && (seen & (stable_reversal ? in_order | alike : in_order)) == 0;

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

/// Reads the keys once: counts every digit, turns the counts into where each digit's keys begin in the output, and finds
/// out whether the keys are in order or reversed and which digits never vary.
/// Grid: any. Block: histogram_threads. Shared: (digits x radix_size << copies_log2) words.
/// Before: bins, neighbours and finished_blocks are zero. After: bins[d x radix_size + b] is the number of keys whose
/// digit d is below b; the `status_words` words of `status` are zero; `found` is complete.
template <class Bits, bool IsFloat>
__global__ void __launch_bounds__(histogram_threads, histogram_blocks_per_sm)
  count_digits(Bits const* keys,
               std::size_t n,
               key_order<Bits, IsFloat> order,
               bool with_values,
               int copies_log2,
               std::uint64_t* bins,
               findings* found,
               std::uint32_t* status,
               std::size_t status_words)
{
  constexpr int digits = key_order<Bits, IsFloat>::digits;
  constexpr int words  = digits * radix_size;
  constexpr int items  = histogram_items(sizeof(Bits));
  constexpr int tile   = histogram_threads * items;

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
  auto count     = [&](Bits key) {
    Bits const rank = order.rank_of(key);
#pragma unroll
    for (int d = 0; d < digits; ++d)
    {
      unsigned const digit = static_cast<unsigned>(rank >> (d * digit_bits)) & (radix_size - 1);
      atomicAdd(&counts[((d * radix_size + digit) << copies_log2) + copy], 1u);
    }
  };
  // A warp stops looking at neighbours once it has met both directions: on most inputs, at once.
  std::uint32_t seen = 0;
  auto compare       = [&](Bits key, std::size_t place) {
    if (place + 1 < n)
    {
      Bits const rank = order.rank_of(key);
      Bits const next = order.rank_of(keys[place + 1]);
      seen |= rank < next ? in_order : next < rank ? descent : alike;
    }
  };
  for (std::size_t begin = static_cast<std::size_t>(blockIdx.x) * tile; begin < n;
       begin += static_cast<std::size_t>(gridDim.x) * tile)
  {
    bool const looking = (seen & no_longer) != no_longer;
    if (n - begin >= tile)
    {
      Bits batch[items];
#pragma unroll
      for (int i = 0; i < items; ++i)
      {
        batch[i] = keys[begin + i * histogram_threads + threadIdx.x];
      }
      if (looking)
      {
#pragma unroll
        for (int i = 0; i < items; ++i)
        {
          compare(batch[i], begin + i * histogram_threads + threadIdx.x);
        }
        seen = __reduce_or_sync(~0u, seen);
      }
#pragma unroll
      for (int i = 0; i < items; ++i)
      {
        count(batch[i]);
      }
    }
    else
    {
      for (std::size_t i = begin + threadIdx.x; i < n; i += histogram_threads)
      {
        compare(keys[i], i);
        count(keys[i]);
      }
    }
  }
  seen = __reduce_or_sync(~0u, seen);
  if (threadIdx.x % 32 == 0 && (*const_cast<std::uint32_t volatile*>(&found->neighbours) | seen) != found->neighbours)
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

/// The arrays between which the passes of a sort move keys and values; the first pair is the caller's.
template <class Bits, class Value>
struct buffers
{
  Bits* keys[2];
  Value* values[2];
};

/// Writes the tile's part of the reversed input, that of a block of scatter_digits. Equal keys, if there are any, cannot be
/// told apart.
template <class Bits, class Value>
__device__ void reverse_tile(buffers<Bits, Value> const& at, block::segment const& part, std::size_t n, int tile)
{
  std::size_t const begin = part.begin + static_cast<std::size_t>(blockIdx.x) * tile;
  std::size_t const left  = part.begin + part.size - begin;
  std::size_t const end   = begin + (left < static_cast<std::size_t>(tile) ? left : tile);
#pragma unroll 4
  for (std::size_t i = begin + threadIdx.x; i < end; i += blockDim.x)
  {
    at.keys[1][i] = at.keys[0][n - 1 - i];
    if constexpr (!std::is_same_v<Value, block::no_values>)
    {
      at.values[1][i] = at.values[0][n - 1 - i];
    }
  }
}

/// Moves keys and values to where their digit belongs, in input order. Does what `found` says: nothing, if the digit never
/// varies or the input is in order; if it is reversed, the launches for the first digit reverse it.
/// Grid: a block a tile of digit_partition. Block: its threads. Shared: its shared_storage.
template <class Bits, bool IsFloat, class Value>
__global__ void __launch_bounds__(shape_of<Bits, Value>().threads, shape_of<Bits, Value>().blocks)
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
      reverse_tile(at, part, n, partition::tile);
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
/// Grid, block: any.
template <class Bits, class Value>
__global__ void bring_home(findings const* found, std::size_t n, buffers<Bits, Value> at)
{
  runtime::wait_for_previous_kernel();
  if (found->passes % 2 == 0)
  {
    return;
  }
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += static_cast<std::size_t>(gridDim.x) * blockDim.x)
  {
    at.keys[0][i] = at.keys[1][i];
    if constexpr (!std::is_same_v<Value, block::no_values>)
    {
      at.values[0][i] = at.values[1][i];
    }
  }
}

/// Sorts an input that fits one block, digit by digit in shared memory; digits that never vary cost nothing.
template <class Bits, bool IsFloat, class Value>
struct tile_sort
{
  static constexpr int threads      = one_tile_threads;
  static constexpr int items        = one_tile_items(sizeof(Bits));
  static constexpr int tile         = threads * items;
  static constexpr bool with_values = !std::is_same_v<Value, block::no_values>;

  struct shared_storage
  {
    union
    {
      block::bucket_counts<radix_size, threads> counts;
      struct
      {
        alignas(16) char keys[sizeof(Bits) * tile];
        std::uint16_t origin[with_values ? tile : 1]; // where the key at a place came from
      } sorted;
    };
    std::uint32_t totals[radix_size / 32];
    std::uint32_t varying[sizeof(Bits) < 4 ? 1 : sizeof(Bits) / 4]; // bits in which a key differs from the first
  };
};

/// Grid: one block. Block: tile_sort's threads. Shared: its storage. n is at most its tile.
template <class Bits, bool IsFloat, class Value>
__global__ void __launch_bounds__(one_tile_threads)
  sort_one_tile(Bits* keys, Value* values, int n, key_order<Bits, IsFloat> order)
{
  using sorter        = tile_sort<Bits, IsFloat, Value>;
  constexpr int items = sorter::items;
  extern __shared__ uint4 shared_words[];
  auto& shared = *reinterpret_cast<typename sorter::shared_storage*>(shared_words);

  constexpr int words = sizeof(shared.varying) / 4;
  if (threadIdx.x < words)
  {
    shared.varying[threadIdx.x] = 0;
  }
  runtime::wait_for_previous_kernel();
  block::bucket_rank<radix_size, sorter::threads, items, false> rank(shared.counts, n);

  Bits held[items];
  std::uint16_t origin[items];
  rank.load(keys, held);
  Bits const first = order.rank_of(keys[0]);
  Bits varying     = 0;
#pragma unroll
  for (int i = 0; i < items; ++i)
  {
    origin[i] = static_cast<std::uint16_t>(rank.element(i));
    varying |= rank.holds(i) ? static_cast<Bits>(order.rank_of(held[i]) ^ first) : Bits{0};
  }
  __syncthreads();
#pragma unroll
  for (int w = 0; w < words; ++w)
  {
    std::uint32_t const word = __reduce_or_sync(~0u, static_cast<std::uint32_t>(varying >> (w * 32)));
    if (threadIdx.x % 32 == 0 && word != 0)
    {
      atomicOr(&shared.varying[w], word);
    }
  }
  __syncthreads();

  Bits* const sorted_keys = reinterpret_cast<Bits*>(shared.sorted.keys);
  for (int d = 0; d < key_order<Bits, IsFloat>::digits; ++d)
  {
    if (((shared.varying[d / 4] >> (d % 4 * digit_bits)) & (radix_size - 1)) == 0)
    {
      continue;
    }
    std::uint32_t ranks[items];
    auto const bucket_of = [&](int i) { return order.digit(held[i], d); };
    shared.counts.clear();
    __syncthreads();
    rank.count(bucket_of, ranks);
    __syncthreads();
    std::uint32_t const count = threadIdx.x < radix_size ? rank.total() : 0;
    std::uint32_t const start = rank.starts(shared.totals, count);
    if (threadIdx.x < radix_size)
    {
      rank.spread(start);
    }
    __syncthreads();
    rank.finish(bucket_of, ranks);
    __syncthreads();
    rank.put(held, ranks, sorted_keys);
    if constexpr (sorter::with_values)
    {
      rank.put(origin, ranks, shared.sorted.origin);
    }
    __syncthreads();
    rank.load(sorted_keys, held);
    if constexpr (sorter::with_values)
    {
      rank.load(shared.sorted.origin, origin);
    }
    __syncthreads();
  }

  if constexpr (sorter::with_values)
  {
    Value moved[items];
#pragma unroll
    for (int i = 0; i < items; ++i)
    {
      if (rank.holds(i))
      {
        moved[i] = values[origin[i]];
      }
    }
    __syncthreads(); // all values are read before one is written
    rank.store(moved, values);
  }
  rank.store(held, keys);
}

} // namespace gpusort::radix
