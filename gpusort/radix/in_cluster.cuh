// What the blocks of a cluster sort together because one cannot hold it: they share it out by value, and each sorts its share;
// or, where a share would be too large, they sort it digit by digit.
#pragma once

#include <gpusort/block/bit_width.h>
#include <gpusort/block/partition.cuh>
#include <gpusort/block/span.cuh>
#include <gpusort/block/tile.cuh>
#include <gpusort/block/warp.cuh>
#include <gpusort/radix/bucket_map.h>
#include <gpusort/radix/findings.cuh>
#include <gpusort/radix/key_order.h>
#include <gpusort/radix/tuning.h>
#include <gpusort/runtime/cluster.cuh>

#include <cstddef>
#include <cstdint>

namespace gpusort::radix
{

struct element_range
{
  std::uint64_t begin;
  std::uint64_t size;
};

/// Splits an input among the blocks of a cluster. Each has `Threads` threads, takes up to `Threads` x `Items` elements of the
/// input, and gets a share of up to `MostInShare`.
template <class Bits, bool IsFloat, class Value, int Threads, int Items, int MostInShare>
class cluster_split
{
  // A bin a thread, over the ranks of a sample of a key a thread. Blocks get neighbouring bins, with as many keys as evenly
  // as bins allow. More bins would be more even, but reading the counts of other blocks takes a microsecond for 16 KB.
  static constexpr int bins     = Threads;
  static constexpr int map_log2 = sizeof(Bits) == 1 ? 8 : 9; // as many as there are ranks of a byte
  static_assert(bins == 1 << 9 && bins >= radix_size);

  /// A key's bucket is the block whose share it belongs to, or one of its digits.
  struct share_or_digit
  {
    key_order<Bits, IsFloat> order;
    bucket_map<Bits> map;
    std::uint8_t const* block_of_bin; // or null
    Bits least;
    int low; // bit of the digit

    __device__ unsigned operator()(Bits key) const
    {
      Bits const rank = order.rank_of(key);
      return block_of_bin != nullptr ? block_of_bin[map(rank)]
                                     : static_cast<unsigned>(static_cast<Bits>(rank - least) >> low) & (radix_size - 1);
    }
  };

  using partition = block::partition<Bits, Value, share_or_digit, radix_size, Threads, Items>;

public:
  struct shared_storage
  {
    typename partition::shared_storage moving;
    block::span_storage<Bits, Threads> span;
    Bits edges[2]; // the block's least and greatest rank
    std::uint32_t counts[bins / 2]; // of the block's keys, as bucket_tally counts
    std::uint8_t block_of_bin[bins];
    std::uint64_t sums[Threads / 32];
    // Of each block's share, and behind the last: where it begins, and how many keys of the blocks before this one lie before
    // that.
    std::uint32_t begins[most_cluster_blocks + 1];
    std::uint32_t befores[most_cluster_blocks + 1];
    std::uint32_t outputs[most_cluster_blocks]; // where this block's keys of each share go
    std::uint32_t published[radix_size]; // counts of a digit
  };

  /// Moves n keys and values of the first arrays to the second ones, split by value, and returns this block's share, still to
  /// be sorted; or sorts them in the first arrays, and shares are empty. Stable.
  /// Called by all threads of a cluster of up to most_cluster_blocks blocks, a multiple of 8, with n <= Threads x Items x
  /// blocks; shared memory may be used again after a barrier.
  __device__ static element_range
  split(shared_storage& shared, key_order<Bits, IsFloat> const& order, std::size_t n, buffers<Bits, Value> const& at)
  {
    unsigned const blocks     = runtime::cluster_size();
    unsigned const own        = runtime::block_of_cluster();
    auto const all            = static_cast<std::uint32_t>(n);
    std::uint32_t const chunk = (all + blocks - 1) / blocks;
    std::uint32_t const begin = own * chunk;
    int const size            = begin < all ? static_cast<int>(min(chunk, all - begin)) : 0;

    auto const stride = all / Threads; // at least 1
    Bits const sample = at.keys[0][threadIdx.x * stride + threadIdx.x * 61 % stride]; // as in map_by_sample
    Bits keys[Items];
    block::read_tile<Threads>(keys, size, [&](int place) { return at.keys[0][begin + place]; });
    bucket_tally const counts{shared.counts};
    if (threadIdx.x < bins / 2)
    {
      shared.counts[threadIdx.x] = 0;
    }
    Bits least    = order.rank_of(sample);
    Bits greatest = least;
    block::span_of_block(shared.span, least, greatest);
    auto const map = bucket_map<Bits>::over(least, greatest, map_log2);
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      if (place_of(i) < size)
      {
        counts.count(map(order.rank_of(keys[i])));
      }
    }
    bool const shares = share_out(shared, all);
    if (!shares)
    {
      span_of_cluster(shared, order, at.keys[0] + begin, size, least, greatest);
      runtime::sync_cluster(); // from here on nobody reads this block's edges
    }

    share_or_digit to{order, map, shares ? shared.block_of_bin : nullptr, least, 0};
    int const width = shares ? digit_bits : block::bit_width(static_cast<Bits>(greatest - least));
    bool is_at_home = true;
#pragma unroll 1
    for (; to.low < width; to.low += digit_bits)
    {
      shared.moving.counts.clear();
      __syncthreads();
      partition::move_to(
        shared.moving,
        to,
        places{shared, shares},
        size,
        (is_at_home ? at.keys[0] : at.keys[1]) + begin,
        is_at_home ? at.keys[1] : at.keys[0],
        (is_at_home ? at.values[0] : at.values[1]) + begin,
        is_at_home ? at.values[1] : at.values[0]);
      runtime::sync_cluster();
      is_at_home = !is_at_home;
    }
    if (shares)
    {
      return {shared.begins[own], shared.begins[own + 1] - shared.begins[own]};
    }
    if (!is_at_home)
    {
      block::copy_slowly<Threads>(size, at.keys[1] + begin, at.keys[0] + begin);
      if constexpr (partition::with_values)
      {
        block::copy_slowly<Threads>(size, at.values[1] + begin, at.values[0] + begin);
      }
    }
    return {0, 0};
  }

private:
  __device__ static int place_of(int i)
  {
    return i * Threads + static_cast<int>(threadIdx.x);
  }

  /// The least and the greatest rank of all keys, of which this block has `size`.
  __device__ static void span_of_cluster(
    shared_storage& shared,
    key_order<Bits, IsFloat> const& order,
    Bits const* keys,
    int size,
    Bits& least,
    Bits& greatest)
  {
    least    = static_cast<Bits>(~Bits{0});
    greatest = 0;
    for (int i = static_cast<int>(threadIdx.x); i < size; i += Threads)
    {
      Bits const rank = order.rank_of(keys[i]);
      least           = rank < least ? rank : least;
      greatest        = greatest < rank ? rank : greatest;
    }
    block::span_of_block(shared.span, least, greatest);
    if (threadIdx.x == 0)
    {
      shared.edges[0] = least;
      shared.edges[1] = greatest;
    }
    runtime::sync_cluster();
    Bits const* const edges = runtime::in_block(shared.edges, threadIdx.x % runtime::cluster_size());
    least                   = block::least_of_warp(edges[0]);
    greatest                = block::greatest_of_warp(edges[1]);
  }

  /// Shares the bins out among the blocks, and notes where each share begins and where this block's part of it does.
  /// Returns false if a share would not fit its block. The keys have been counted, and all threads of the cluster call this.
  __device__ static bool share_out(shared_storage& shared, std::uint32_t n)
  {
    unsigned const blocks = runtime::cluster_size();
    unsigned const own    = runtime::block_of_cluster();
    runtime::sync_cluster();

    // Keys in the thread's bin, and, in the upper half, those of the blocks before this one.
    std::uint64_t sum = 0;
#pragma unroll 1
    for (unsigned first = 0; first < blocks; first += 8)
    {
      std::uint32_t words[8];
#pragma unroll
      for (unsigned b = 0; b < 8; ++b)
      {
        words[b] = *runtime::in_block(&shared.counts[threadIdx.x / 2], first + b);
      }
#pragma unroll
      for (unsigned b = 0; b < 8; ++b)
      {
        std::uint64_t const count = threadIdx.x % 2 == 0 ? words[b] & 0xffff : words[b] >> 16;
        sum += first + b < own ? count << 32 | count : count;
      }
    }
    std::uint64_t const inclusive = block::inclusive_sum_of_warp(sum);
    unsigned const warp           = threadIdx.x / 32;
    if (threadIdx.x % 32 == 31)
    {
      shared.sums[warp] = inclusive;
    }
    __syncthreads();
    std::uint64_t begin = inclusive - sum;
#pragma unroll
    for (unsigned w = 0; w < Threads / 32; ++w)
    {
      begin += w < warp ? shared.sums[w] : 0;
    }
    // The block that the bin's middle falls to.
    std::uint32_t const middle       = static_cast<std::uint32_t>(begin) + static_cast<std::uint32_t>(sum) / 2;
    std::uint32_t const share        = min(middle * blocks / n, blocks - 1);
    shared.block_of_bin[threadIdx.x] = static_cast<std::uint8_t>(share);
    __syncthreads();
    std::uint32_t next = threadIdx.x == 0 ? 0 : shared.block_of_bin[threadIdx.x - 1] + 1u; // share that has not begun
#pragma unroll 1
    for (; next <= share; ++next)
    {
      note_begin(shared, next, begin);
    }
    if (threadIdx.x == Threads - 1)
    {
#pragma unroll 1
      for (; next <= blocks; ++next)
      {
        note_begin(shared, next, begin + sum);
      }
    }
    __syncthreads();
    bool fits = true;
    if (threadIdx.x < blocks)
    {
      unsigned const b  = threadIdx.x;
      fits              = shared.begins[b + 1] - shared.begins[b] <= MostInShare;
      shared.outputs[b] = shared.begins[b] + (shared.befores[b + 1] - shared.befores[b]);
    }
    return __syncthreads_and(fits) != 0;
  }

  __device__ static void note_begin(shared_storage& shared, std::uint32_t share, std::uint64_t begin)
  {
    shared.begins[share]  = static_cast<std::uint32_t>(begin);
    shared.befores[share] = static_cast<std::uint32_t>(begin >> 32);
  }

  /// Where this block's keys of each bucket go: known if buckets are shares; of digits, the blocks tell each other.
  struct places
  {
    shared_storage& shared;
    bool known;

    __device__ void publish(std::uint32_t count) const
    {
      shared.published[threadIdx.x] = count;
    }

    __device__ void note_outputs(std::uint64_t* outputs, std::uint32_t, std::uint32_t start) const
    {
      unsigned const bucket = threadIdx.x;
      unsigned const blocks = runtime::cluster_size();
      if (known)
      {
        if (bucket < blocks)
        {
          outputs[bucket] = std::uint64_t{shared.outputs[bucket]} - start;
        }
        return;
      }
      runtime::sync_cluster();
      std::uint32_t size = 0, before = 0;
      if (bucket < radix_size)
      {
#pragma unroll 8
        for (unsigned b = 0; b < blocks; ++b)
        {
          std::uint32_t const count = *runtime::in_block(&shared.published[bucket], b);
          size += count;
          before += b < runtime::block_of_cluster() ? count : 0;
        }
      }
      std::uint32_t const inclusive = block::inclusive_sum_of_warp(size);
      unsigned const warp           = bucket / 32;
      if (bucket % 32 == 31)
      {
        shared.sums[warp] = inclusive;
      }
      __syncthreads();
      if (bucket < radix_size)
      {
        std::uint64_t begin = inclusive - size;
#pragma unroll
        for (unsigned w = 0; w < radix_size / 32; ++w)
        {
          begin += w < warp ? shared.sums[w] : 0;
        }
        outputs[bucket] = begin + before - start;
      }
    }
  };
};

} // namespace gpusort::radix
