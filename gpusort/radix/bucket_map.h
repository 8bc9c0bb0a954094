// Which of a power of two of buckets the rank of a key belongs to: buckets of equal width over the ranks of a sample.
#pragma once

#include <gpusort/block/bit_width.h>

#include <cuda_runtime_api.h>

#include <cstdint>

namespace gpusort::radix
{

/// Maps ranks to buckets without ever inverting two of them. Ranks beyond either end belong to the first and last bucket.
template <class Bits>
struct bucket_map
{
  Bits low; // the least rank that the first bucket is meant for
  std::uint32_t scale; // buckets by the step, times 2^32; 0: a step is a bucket
  std::int32_t shift; // ranks by the step, as a power of two
  std::uint32_t last; // bucket

  __host__ __device__ std::uint32_t operator()(Bits rank) const
  {
    Bits const above = rank > low ? static_cast<Bits>(rank - low) : Bits{0};
    std::uint32_t steps;
    if constexpr (sizeof(Bits) > 4)
    {
      Bits const all = above >> shift;
      steps          = all > 0xffffffffu ? 0xffffffffu : static_cast<std::uint32_t>(all);
    }
    else
    {
      steps = above; // of one rank each
    }
    std::uint32_t const bucket =
      scale == 0 ? steps : static_cast<std::uint32_t>(static_cast<std::uint64_t>(steps) * scale >> 32);
    return bucket < last ? bucket : last;
  }

  /// A bucket for each rank, for ranks of up to 4 bytes.
  __host__ __device__ static bucket_map of_ranks()
  {
    static_assert(sizeof(Bits) <= 4);
    return {Bits{0}, 0, 0, 0xffffffffu};
  }

  /// 2^buckets_log2 buckets, of which there are 2^8 to 2^16, over a sample's least and greatest rank. Rounds outwards, so
  /// that ranges between multiples of powers of two, which are common, are hit exactly: by an edge of up to a 64th of the
  /// range.
  __host__ __device__ static bucket_map over(Bits least, Bits greatest, int buckets_log2)
  {
    constexpr Bits greatest_rank = static_cast<Bits>(~Bits{0});
    std::uint32_t const last     = (std::uint32_t{1} << buckets_log2) - 1;
    Bits const span              = static_cast<Bits>(greatest - least);
    if (span <= static_cast<Bits>(last))
    {
      // A bucket for each rank, the sample in the middle of them.
      Bits const margin = static_cast<Bits>((last - span) / 2);
      Bits const beyond = static_cast<Bits>(greatest_rank - least); // ranks above the least
      Bits const below  = beyond < static_cast<Bits>(last - margin) ? static_cast<Bits>(last - beyond) : margin;
      return {least > below ? static_cast<Bits>(least - below) : Bits{0}, 0, 0, last};
    }
    Bits const edge = static_cast<Bits>((Bits{1} << (block::bit_width(span) - 7)) - 1);
    Bits const low  = static_cast<Bits>(least & ~edge);
    Bits const high = static_cast<Bits>(greatest | edge);
    int const width = block::bit_width(static_cast<Bits>(high - low));
    int const shift = width > 32 ? width - 32 : 0;
    auto const top  = static_cast<std::uint64_t>(static_cast<Bits>(static_cast<Bits>(high - low) >> shift));
    return {low, static_cast<std::uint32_t>((std::uint64_t{last + 1} << 32) / (top + 1)), shift, last};
  }
};

} // namespace gpusort::radix
