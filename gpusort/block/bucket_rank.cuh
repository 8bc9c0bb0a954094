// Ranking of a tile's elements by bucket, stable if asked for: the counting sort inside a block, without the moving.
#pragma once

#include <gpusort/block/bit_width.h>
#include <gpusort/block/warp.cuh>

#include <cstdint>

namespace gpusort::block
{

/// What ranking a tile needs in shared memory: each warp's elements in each bucket; in the end, where they begin in the
/// tile.
template <int Buckets, int Threads>
struct bucket_counts
{
  std::uint32_t of[Threads / 32][Buckets];

  /// Called by all threads; a barrier has to follow.
  __device__ void clear()
  {
    std::uint32_t* const words = &of[0][0];
#pragma unroll
    for (int i = static_cast<int>(threadIdx.x); i < Threads / 32 * Buckets; i += Threads)
    {
      words[i] = 0;
    }
  }
};

/// In which order elements of a bucket are ranked.
enum class rank_order : std::uint32_t
{
  any, // which takes fewest instructions, but lanes that meet on a bucket wait for each other
  any_of_crowds, // the same, but those that meet on the first lane's do not
  kept // as in the input
};

/// Ranks a tile of up to `Threads` x `Items` elements. Element i of a lane is number i x 32 + lane of its warp's part of
/// the tile; a part has `rows` x 32 places. `Full`: all Items rows are in use, and no place is empty. Otherwise, if order is kept,
/// places past the end of the input belong to the last bucket, where they rank behind all elements; if not, they have no rank. `size` says how
/// many elements there are.
/// `Order`: of elements of a bucket; any_of_crowds is for full tiles.
/// `LeastLog2`: of fewer than `Buckets` in use, down to 2^LeastLog2, no bits are asked that say nothing. Code for that comes once more for each power
/// of two. `FewRows`: often few rows are in use; where nearly all are, code that skips the others makes u64 take 2 % longer in digit passes.
///
/// The order of calls, with a barrier between any two: counts.clear, count, then total, starts and spread, then finish. Or, in
/// loops that are not unrolled: counts.clear, count_one, then total, starts and spread, then take_rank. Or, for full tiles or in any
/// order: counts.clear, count_one of elements alone, then counted, starts and spread, then take_place. `count` without order counts
/// elements alone.
template <int Buckets,
          int Threads,
          int Items,
          bool Full,
          rank_order Order = rank_order::kept,
          int LeastLog2    = log2_of(Buckets),
          bool FewRows     = false>
class bucket_rank
{
  static constexpr bool is_kept     = Order == rank_order::kept;
  static constexpr bool is_of_crowd = Order == rank_order::any_of_crowds;
  static_assert(Full || !is_of_crowd, "all lanes have an element");

public:
  static constexpr int warps     = Threads / 32;
  static constexpr int most_log2 = log2_of(Buckets);

  static constexpr int rank_bits = 16;
  static_assert(Threads * Items <= 1 << rank_bits && Buckets <= 1 << (32 - rank_bits));
  static_assert(1 << most_log2 == Buckets && LeastLog2 <= most_log2);
  static_assert(Buckets % 32 == 0 && Threads >= Buckets && Threads % 32 == 0);

  using counts        = bucket_counts<Buckets, Threads>;
  using shared_totals = std::uint32_t[Buckets / 32];

  /// `log2`: of the buckets in use, of which the last one takes empty places.
  __device__ bucket_rank(counts& shared, int size, int log2 = most_log2)
      : counts_(shared)
      , size_(size)
      , log2_(log2)
      , rows_(Full ? Items : (size + Threads - 1) / Threads)
      , lane_(static_cast<int>(threadIdx.x) % 32)
      , warp_(static_cast<int>(threadIdx.x) / 32)
  {}

  /// The number in the tile of the thread's i-th element.
  __device__ int element(int i) const
  {
    return (warp_ * (Full ? Items : rows_) + i) * 32 + lane_;
  }

  __device__ bool holds(int i) const
  {
    return Full || (i < rows_ && element(i) < size_);
  }

  /// Ranks each element among those of its bucket and warp; ranks[i] is that, and the bucket in the bits above `rank_bits`.
  /// `bucket_of(i)` is the bucket of the thread's i-th element.
  template <class BucketOf>
  __device__ void count(BucketOf bucket_of, std::uint32_t (&ranks)[Items])
  {
    if constexpr (is_kept)
    {
      count_in_order<most_log2>(bucket_of, ranks);
    }
    else
    {
#pragma unroll
      for (int i = 0; i < Items; ++i)
      {
        if (!Full && i >= rows_)
        {
          break; // rather than ask in each row that is not in use
        }
        if (holds(i))
        {
          unsigned const bucket = bucket_of(i);
          ranks[i]              = bucket << rank_bits | take_any(bucket);
        }
      }
    }
  }

  /// The rank of a lane's element of `bucket` among those of the warp whose ranks were taken before, or in lower lanes; after
  /// count_one and spread, in the tile. Called by all lanes of a warp, in the order of its elements. No bucket is 2^Log2 or more.
  template <int Log2 = most_log2>
  __device__ std::uint32_t take_rank(unsigned bucket)
  {
    std::uint32_t* const counts    = counts_.of[warp_];
    std::uint32_t const lower_lane = (std::uint32_t{1} << lane_) - 1;
    std::uint32_t const alike      = lanes_alike<Log2>(bucket);
    std::uint32_t const rank       = counts[bucket] + __popc(alike & lower_lane);
    __syncwarp();
    if ((alike >> lane_) == 1u) // the highest of the lanes alike
    {
      counts[bucket] = rank + 1;
    }
    __syncwarp();
    return rank;
  }

  /// Rows in use: places of a thread, empty ones among them.
  __device__ int rows() const
  {
    return rows_;
  }

  /// Counts an element, or an empty place of the rows in use, which belongs to the last bucket. Called by all lanes of a warp if they are to look for
  /// crowds.
  __device__ void count_one(unsigned bucket)
  {
    if constexpr (is_of_crowd)
    {
      crowd const own(bucket);
      if (own.has_to_count())
      {
        atomicAdd(&counts_.of[warp_][bucket], own.share());
      }
    }
    else
    {
      atomicAdd(&counts_.of[warp_][bucket], 1u);
    }
  }

  /// After count_one and spread: the place of an element of `bucket` in the tile. Called by all lanes of a warp, unless the order is `any`.
  __device__ std::uint32_t take_place(unsigned bucket)
  {
    if constexpr (is_kept)
    {
      static_assert(Full);
      return take_rank(bucket);
    }
    else
    {
      return take_any(bucket);
    }
  }

  /// The tile's count of the calling thread's bucket. Called by the first Buckets threads.
  __device__ std::uint32_t total() const
  {
    std::uint32_t const empty_places = Full || !is_kept ? 0 : rows_ * Threads - size_;
    return threadIdx.x == last_bucket() ? counted() - empty_places : counted();
  }

  /// The same where no empty places have been counted.
  __device__ std::uint32_t counted() const
  {
    std::uint32_t counted = 0;
#pragma unroll
    for (int w = 0; w < warps; ++w)
    {
      counted += counts_.of[w][threadIdx.x];
    }
    return counted;
  }

  /// Exclusive prefix sum of the buckets' totals, one bucket a thread. Called by all threads; contains a barrier.
  __device__ std::uint32_t starts(shared_totals& totals, std::uint32_t total) const
  {
    std::uint32_t const inclusive = inclusive_sum_of_warp(total);
    if (threadIdx.x < Buckets && lane_ == 31)
    {
      totals[warp_] = inclusive;
    }
    __syncthreads();
    std::uint32_t before = 0;
#pragma unroll
    for (int w = 0; w < Buckets / 32; ++w)
    {
      before += w < warp_ ? totals[w] : 0;
    }
    return before + inclusive - total;
  }

  /// Replaces the counts of the thread's bucket by where each warp's elements of it begin in the tile.
  /// Called by the first Buckets threads.
  __device__ void spread(std::uint32_t start)
  {
#pragma unroll
    for (int w = 0; w < warps; ++w)
    {
      std::uint32_t const count  = counts_.of[w][threadIdx.x];
      counts_.of[w][threadIdx.x] = start;
      start += count;
    }
  }

  /// Turns what `count` has left into ranks in the tile.
  __device__ void finish(std::uint32_t (&ranks)[Items]) const
  {
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      if (!Full && i >= rows_)
      {
        break;
      }
      if (is_kept || holds(i))
      {
        ranks[i] = counts_.of[warp_][ranks[i] >> rank_bits] + (ranks[i] & ((1u << rank_bits) - 1));
      }
    }
  }

  /// The thread's elements of an array in the order of the tile.
  template <class T>
  __device__ void load(T const* from, T (&to)[Items]) const
  {
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      to[i] = holds(i) ? from[element(i)] : T{};
    }
  }

  /// to[rank] = element, for all places of the tile that have been ranked: in order, empty ones too.
  template <class T>
  __device__ void put(T const (&from)[Items], std::uint32_t const (&ranks)[Items], T* to) const
  {
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      if (!Full && i >= rows_)
      {
        break;
      }
      if (is_kept || holds(i))
      {
        to[ranks[i]] = from[i];
      }
    }
  }

private:
  /// Counts an element of `bucket`. Returns how many have been counted before.
  __device__ std::uint32_t take_any(unsigned bucket)
  {
    std::uint32_t* const count = &counts_.of[warp_][bucket];
    if constexpr (is_of_crowd)
    {
      crowd const own(bucket);
      return own.number(own.has_to_count() ? atomicAdd(count, own.share()) : 0);
    }
    else
    {
      return atomicAdd(count, 1u);
    }
  }

  __device__ unsigned last_bucket() const
  {
    return (1u << log2_) - 1;
  }

  /// `count`, of up to 2^Log2 buckets.
  template <int Log2, class BucketOf>
  __device__ void count_in_order(BucketOf bucket_of, std::uint32_t (&ranks)[Items])
  {
    if (Log2 == LeastLog2 || log2_ >= Log2)
    {
#pragma unroll
      for (int i = 0; i < Items; ++i)
      {
        if (FewRows && i % 4 == 0 && i >= rows_)
        {
          break;
        }
        if (Full || i < rows_)
        {
          unsigned const bucket = Full || element(i) < size_ ? bucket_of(i) : last_bucket();
          ranks[i]              = bucket << rank_bits | take_rank<Log2>(bucket);
        }
      }
    }
    else if constexpr (Log2 > LeastLog2)
    {
      count_in_order<Log2 - 1>(bucket_of, ranks);
    }
  }

  /// The lanes of the warp whose bucket is the same as this lane's.
  template <int Log2>
  __device__ static std::uint32_t lanes_alike(unsigned bucket)
  {
    std::uint32_t alike = all_lanes;
    leave_if_unlike<Log2, 1>(alike, bucket);
    return alike;
  }

  /// One ballot a bit of the bucket, from `Bit` on: the lanes that voted otherwise leave. In assembly, because the compiler
  /// needs half as many instructions again (docs/performance.md).
  template <int Log2, int Bit>
  __device__ static void leave_if_unlike(std::uint32_t& alike, unsigned bucket)
  {
    if constexpr (Bit < 1 << Log2)
    {
      asm("{\n"
          "  .reg .pred mine;\n"
          "  .reg .b32 votes;\n"
          "  and.b32 votes, %1, %2;\n"
          "  setp.ne.u32 mine, votes, 0;\n"
          "  vote.sync.ballot.b32 votes, mine, 0xffffffff;\n"
          "  @!mine not.b32 votes, votes;\n"
          "  and.b32 %0, %0, votes;\n"
          "}\n"
          : "+r"(alike)
          : "r"(bucket), "n"(Bit));
      leave_if_unlike<Log2, 2 * Bit>(alike, bucket);
    }
  }

  counts& counts_;
  int size_;
  int log2_;
  int rows_;
  int lane_;
  int warp_;
};

} // namespace gpusort::block
