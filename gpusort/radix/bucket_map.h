// Which of 256 buckets the rank of a key belongs to: buckets of equal width over the ranks that a sample has shown.
#pragma once

#include <gpusort/block/bit_width.h>
#include <gpusort/radix/key_order.h>

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

  static constexpr Bits greatest_rank = static_cast<Bits>(~Bits{0});
  static constexpr int last_bucket    = radix_size - 1;

  __host__ __device__ unsigned operator()(Bits rank) const
  {
    Bits const steps = static_cast<Bits>((rank > low ? static_cast<Bits>(rank - low) : Bits{0}) >> shift);
    std::uint32_t near;
    if constexpr (sizeof(Bits) > 4)
    {
      near = steps > 0xffffffffu ? 0xffffffffu : static_cast<std::uint32_t>(steps);
    }
    else
    {
      near = steps;
    }
    std::uint32_t const bucket =
      scale == 0 ? near : static_cast<std::uint32_t>(static_cast<std::uint64_t>(near) * scale >> 32);
    return bucket < last_bucket ? bucket : last_bucket;
  }

  /// Whether each bucket but the outer two holds keys of one rank only; the outer two do, if no key is outside.
  __host__ __device__ bool tells_ranks_apart() const
  {
    return scale == 0 && shift == 0;
  }

  /// Whether the rank is beyond either end. Only for maps that tell ranks apart.
  __host__ __device__ bool is_outside(Bits rank) const
  {
    return static_cast<Bits>(rank - low) > static_cast<Bits>(last_bucket);
  }

  /// Over a sample's least and greatest rank. Rounds outwards, so that ranges between multiples of powers of two, which
  /// are common, are hit exactly: by an edge of up to a 64th of the range.
  __host__ __device__ static bucket_map over(Bits least, Bits greatest)
  {
    if constexpr (sizeof(Bits) == 1)
    {
      return {0, 0, 0};
    }
    Bits const span = static_cast<Bits>(greatest - least);
    if (span <= static_cast<Bits>(last_bucket))
    {
      // The sample in the middle: if all keys are not alike, they fall into at least two buckets.
      Bits const margin = static_cast<Bits>((last_bucket - span) / 2);
      Bits const beyond = static_cast<Bits>(greatest_rank - least); // ranks above the least
      Bits const below =
        beyond < static_cast<Bits>(last_bucket - margin) ? static_cast<Bits>(last_bucket - beyond) : margin;
      return {least > below ? static_cast<Bits>(least - below) : Bits{0}, 0, 0};
    }
    Bits const edge = static_cast<Bits>((Bits{1} << (block::bit_width(span) - 7)) - 1);
    Bits const low  = static_cast<Bits>(least & ~edge);
    Bits const high = static_cast<Bits>(greatest | edge);
    int const width = block::bit_width(static_cast<Bits>(high - low));
    int const shift = width > 32 ? width - 32 : 0;
    auto const last = static_cast<std::uint64_t>(static_cast<Bits>(static_cast<Bits>(high - low) >> shift));
    return {low, static_cast<std::uint32_t>((std::uint64_t{radix_size} << 32) / (last + 1)), shift};
  }

  /// By digit d, for ranks whose higher digits are those of `rank`.
  __host__ __device__ static bucket_map by_digit(Bits rank, int d)
  {
    int const shift = d * digit_bits;
    Bits const low  = static_cast<Bits>(static_cast<Bits>(rank >> shift) & ~static_cast<Bits>(radix_size - 1));
    return {static_cast<Bits>(low << shift), 0, shift};
  }
};

} // namespace gpusort::radix
