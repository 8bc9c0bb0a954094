// Counts of bins in shared memory, two in a word, and the sorting of tokens that share one: what block-wide sorts by bins of equal
// width have in common.
#pragma once

#include <gpusort/block/close_sort.cuh>
#include <gpusort/block/warp.cuh>

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

namespace gpusort::block
{

/// Up to 2^MaxLog2 bins. What is sorted are tokens, unsigned integers, of which the highest bits say the bin. `Gaps`: among long
/// tokens, some room is left free, so that threads that read windows do not meet on a bank. Measured on an H200, 2^28, in ms for the
/// whole radix sort: u64 7.15 with gaps, 7.29 without; u128, whose tokens have a place, 16.2 and 15.6.
/// `MostCrowded`: how many bins may have more than windows sort, of which tokens make a sixth of their number at most; what splits of
/// such bins leave counts as well. `Splits`: bins of more tokens than a warp sorts are split again, if all threads can hold one's tokens;
/// otherwise these have to be alike.
template <int Threads, int MaxLog2, bool Gaps, int MostCrowded, bool Splits>
class key_bins
{
  static constexpr int max_words = (1 << MaxLog2) / 2;
  static constexpr int own_words = max_words / Threads; // that a thread adds up, neighbours
  static constexpr int warps     = Threads / 32;

  // Tokens of a window, which a thread sorts in its registers. Windows overlap by half: of what shares a bin, one more
  // than that is always in one of them.
  static constexpr int window                    = 8;
  static constexpr std::uint32_t most_in_windows = window / 2 + 1;
  using split_by_warp                            = close_sort<32, 8, own_words>;
  using split_by_block                           = close_sort<Threads, 8, own_words>;

  // Tokens of a bin that a thread sorts, by insertion, if there are many such bins; of one that a warp sorts, and of one that it sorts or
  // splits; and of any bin whose tokens are not alike.
  static constexpr std::uint32_t many_bins         = 4 * warps;
  static constexpr std::uint32_t most_of_thread    = 16;
  static constexpr std::uint32_t most_sorted       = 64;
  static constexpr std::uint32_t most_of_warp      = Splits ? split_by_warp::most : most_sorted;
  static constexpr std::uint32_t most_of_any       = Splits ? split_by_block::most : most_of_warp;
  static constexpr std::uint32_t most_crowded_bins = MostCrowded;

  static constexpr int spare_tokens = 2 * window;

  static_assert(max_words % (4 * Threads) == 0);

public:
  static constexpr int max_log2 = MaxLog2;

  struct shared_storage
  {
    alignas(16) std::uint32_t counts[max_words];
    std::uint32_t totals[warps];
    std::uint32_t listed; // bins, as list_size has them
    // Begin and size of bins that windows do not sort: from the first on, or, if a warp does not see to them either, from the last.
    std::uint32_t crowded[most_crowded_bins];
    std::conditional_t<Splits, close_storage<warps>, char> splits;
  };

  /// Where a token lies, of those that are sorted: a gap is 16 bytes behind every 128.
  template <class Token>
  __host__ __device__ static constexpr std::uint32_t index_of(std::uint32_t number)
  {
    constexpr std::uint32_t row = 128 / sizeof(Token);
    constexpr std::uint32_t gap = Gaps && sizeof(Token) > 4 ? 16 / sizeof(Token) : 0;
    return number + number / row * gap;
  }

  /// What up to `most` tokens take, with those behind the last one that windows read.
  template <class Token>
  static constexpr std::size_t bytes_of(std::uint32_t most)
  {
    return (index_of<Token>(most + spare_tokens) + 1) * sizeof(Token);
  }

  /// Where a bin is counted: a word has one of the lower half of the bins and, in its upper half, the one as far into the other
  /// half.
  struct place
  {
    std::uint32_t word;
    bool lower;

    __device__ std::uint32_t one() const
    {
      return lower ? 1u : 1u << 16;
    }
    __device__ std::uint32_t of(std::uint32_t word_there) const
    {
      return half_of(word_there, lower);
    }
  };

  /// Of 2^bins_log2 bins.
  __device__ static place place_of(std::uint32_t bin, int bins_log2)
  {
    std::uint32_t const words = 1u << (bins_log2 - 1);
    return {bin & (words - 1), bin < words};
  }

  /// The lower or the upper half of a word.
  __device__ static std::uint32_t half_of(std::uint32_t word, bool lower)
  {
    return __byte_perm(word, 0, lower ? 0x4410 : 0x4432);
  }

  /// Called by all threads; a barrier has to follow.
  __device__ static void clear(shared_storage& shared)
  {
#pragma unroll
    for (int w = 0; w < own_words; w += 4)
    {
      *reinterpret_cast<uint4*>(&shared.counts[(w / 4 * Threads + static_cast<int>(threadIdx.x)) * 4]) =
        uint4{0, 0, 0, 0};
    }
    if (threadIdx.x == 0)
    {
      shared.listed = 0;
    }
  }

  /// Replaces the counts of 2^bins_log2 bins by where they begin. Returns false if one is too full to be sorted, unless all
  /// tokens of a bin `are_alike`; `has_twins`: they may be. Called by all threads, after a barrier; contains barriers, and ends with one
  /// if it succeeds.
  __device__ static bool begin(shared_storage& shared, int bins_log2, bool are_alike, bool has_twins)
  {
    // A thread's words are neighbours.
    std::uint32_t const words = 1u << (bins_log2 - 1);
    std::uint32_t const first = threadIdx.x * own_words;
    bool const has_own        = first < words;
    uint4 counts[own_words / 4];
    std::uint32_t sums = 0, fullest = 0; // of either half of the bins
#pragma unroll
    for (int w = 0; w < own_words / 4; ++w)
    {
      counts[w] = has_own ? reinterpret_cast<uint4 const*>(&shared.counts[first])[w] : uint4{0, 0, 0, 0};
    }
#pragma unroll
    for (uint4 const& four : counts)
    {
      sums += four.x + four.y + four.z + four.w;
      fullest = __vmaxu2(__vmaxu2(fullest, __vmaxu2(four.x, four.y)), __vmaxu2(four.z, four.w));
    }
    fullest                       = max(fullest & 0xffff, fullest >> 16);
    std::uint32_t const inclusive = inclusive_sum_of_warp(sums);
    int const warp                = static_cast<int>(threadIdx.x) / 32;
    if (threadIdx.x % 32 == 31)
    {
      shared.totals[warp] = inclusive;
    }
    if (__syncthreads_or(fullest > most_of_any && !has_twins && !are_alike))
    {
      return false;
    }
    int const lane          = static_cast<int>(threadIdx.x) % 32;
    std::uint32_t const own = shared.totals[warp];
    std::uint32_t up_to     = lane < warps ? shared.totals[lane] : 0;
#pragma unroll
    for (int step = 1; step < warps; step *= 2)
    {
      std::uint32_t const other = __shfl_up_sync(all_lanes, up_to, step);
      up_to += lane >= step ? other : 0;
    }
    std::uint32_t const all    = __shfl_sync(all_lanes, up_to, warps - 1);
    std::uint32_t const before = __shfl_sync(all_lanes, up_to, warp) - own;
    // Where the thread's first bin in either half begins: the upper half, behind all of the lower.
    std::uint32_t start = inclusive - sums + before + (all << 16);
    if (has_own)
    {
#pragma unroll
      for (int w = 0; w < own_words / 4; ++w)
      {
        uint4 begins;
        begins.x                                           = start;
        begins.y                                           = begins.x + counts[w].x;
        begins.z                                           = begins.y + counts[w].y;
        begins.w                                           = begins.z + counts[w].z;
        start                                              = begins.w + counts[w].w;
        reinterpret_cast<uint4*>(&shared.counts[first])[w] = begins;
      }
      if (fullest > most_in_windows && !are_alike)
      {
        note_crowded(shared, first, start);
      }
    }
    __syncthreads();
    return true;
  }

  /// Sorts the n tokens of bins that have begun, each of which has its tokens in any order. Returns false if too many bins are
  /// crowded, or one has too much that is not alike. Called by all threads; begins and ends with a barrier.
  template <class Token>
  __device__ static bool sort(shared_storage& shared, Token* tokens, int n, bool are_alike)
  {
    if (threadIdx.x < spare_tokens)
    {
      tokens[index_of<Token>(n + threadIdx.x)] = static_cast<Token>(~Token{0});
    }
    __syncthreads();
    if (are_alike)
    {
      return true;
    }
    list_size const listed(shared.listed);
    if (!listed.fits())
    {
      return false;
    }
    sort_windows(tokens, 0, n);
    __syncthreads();
    sort_windows(tokens, window / 2, n);
    __syncthreads();
    return listed.all == 0 || sort_crowded(shared, tokens, listed);
  }

private:
  /// How many bins are listed, from either end.
  struct list_size
  {
    static constexpr std::uint32_t one_crowded  = 1;
    static constexpr std::uint32_t one_overfull = 1u << 16;

    std::uint32_t all;

    __device__ explicit list_size(std::uint32_t listed)
        : all(listed)
    {}
    __device__ std::uint32_t crowded() const
    {
      return all % one_overfull;
    }
    __device__ std::uint32_t overfull() const
    {
      return all / one_overfull;
    }
    __device__ bool fits() const
    {
      return crowded() + overfull() <= most_crowded_bins;
    }
  };

  /// Lists a bin that has too many tokens for windows.
  __device__ static void list(shared_storage& shared, std::uint32_t begin, std::uint32_t size)
  {
    bool const is_overfull = size > most_of_warp;
    list_size const before(atomicAdd(&shared.listed, is_overfull ? list_size::one_overfull : list_size::one_crowded));
    if (before.crowded() + before.overfull() < most_crowded_bins)
    {
      std::uint32_t const at = is_overfull ? most_crowded_bins - 1 - before.overfull() : before.crowded();
      shared.crowded[at]     = size << 16 | begin;
    }
  }

  /// Lists the bins of a thread's words that windows do not sort; `end` is where the last one's two bins end. Few threads have any, so
  /// the code is short.
  __device__ static void note_crowded(shared_storage& shared, std::uint32_t first, std::uint32_t end)
  {
#pragma unroll 1
    for (int w = own_words - 1; w >= 0; --w)
    {
      std::uint32_t const start = shared.counts[first + w];
#pragma unroll 1
      for (int half = 0; half < 32; half += 16)
      {
        std::uint32_t const size = (end - start) >> half & 0xffff; // no borrow: no bin ends before it begins
        if (size > most_in_windows)
        {
          list(shared, start >> half & 0xffff, size);
        }
      }
      end = start;
    }
  }

  /// Sorts the windows that begin at `offset`, as far as most_in_windows elements of a bin need.
  template <class Token>
  __device__ static void sort_windows(Token* tokens, int offset, int n)
  {
    constexpr int per_vector = 16 / static_cast<int>(sizeof(Token));
#pragma unroll 1
    for (int begin = offset + static_cast<int>(threadIdx.x) * window; begin < n; begin += Threads * window)
    {
      union
      {
        uint4 vectors[window / per_vector];
        Token held[window];
      };
      // Rows end where half a window does, if anywhere.
      auto const vector_at = [&](int i) {
        int const half = i / (window / per_vector / 2);
        auto* const from =
          reinterpret_cast<uint4*>(tokens + index_of<Token>(static_cast<std::uint32_t>(begin + half * (window / 2))));
        return from + i % (window / per_vector / 2);
      };
#pragma unroll
      for (int i = 0; i < window / per_vector; ++i)
      {
        vectors[i] = *vector_at(i);
      }
#pragma unroll
      for (std::uint32_t round = 0; round < most_in_windows; ++round)
      {
#pragma unroll
        for (int i = static_cast<int>(round % 2); i + 1 < window; i += 2)
        {
          put_in_order(held[i], held[i + 1]);
        }
      }
#pragma unroll
      for (int i = 0; i < window / per_vector; ++i)
      {
        *vector_at(i) = vectors[i];
      }
    }
  }

  template <class Token>
  __device__ static void put_in_order(Token& a, Token& b)
  {
    if constexpr (sizeof(Token) > 4)
    {
      // By words: the compiler would make a minimum and a maximum of it, each of which compares.
      asm("{\n"
          "  .reg .pred ordered;\n"
          "  .reg .b32 a0, a1, b0, b1, low, high;\n"
          "  setp.lt.u64 ordered, %0, %1;\n"
          "  mov.b64 {a0, a1}, %0;\n"
          "  mov.b64 {b0, b1}, %1;\n"
          "  selp.b32 low, a0, b0, ordered;\n"
          "  selp.b32 high, a1, b1, ordered;\n"
          "  selp.b32 b0, b0, a0, ordered;\n"
          "  selp.b32 b1, b1, a1, ordered;\n"
          "  mov.b64 %0, {low, high};\n"
          "  mov.b64 %1, {b0, b1};\n"
          "}\n"
          : "+l"(a), "+l"(b));
    }
    else
    {
      Token const less    = a < b ? a : b;
      Token const greater = a < b ? b : a;
      a                   = less;
      b                   = greater;
    }
  }

  /// The tokens from number `begin` on, by their number behind it.
  template <class Token>
  __device__ static auto tokens_from(Token* tokens, std::uint32_t begin)
  {
    return [tokens, begin](std::uint32_t i) -> Token& { return tokens[index_of<Token>(begin + i)]; };
  }

  /// Sorts what is listed, and what splits leave of it. Returns false if one bin has too much that is not alike, or too much is left to be
  /// listed. Called by all threads, after a barrier; ends with one.
  template <class Token>
  __device__ static bool sort_crowded(shared_storage& shared, Token* tokens, list_size listed)
  {
    list_size done(0);
    std::uint32_t const warp = threadIdx.x / 32;
    for (;;)
    {
      // A warp sorts a bin sooner than a thread does, but there are fewer of them.
      std::uint32_t const most_of_threads =
        !Splits || listed.crowded() - done.crowded() > many_bins ? most_of_thread : 0;
      if (most_of_threads != 0)
      {
#pragma unroll 1
        for (std::uint32_t i = done.crowded() + threadIdx.x; i < listed.crowded(); i += Threads)
        {
          std::uint32_t const bin = shared.crowded[i];
          if (bin >> 16 <= most_of_threads)
          {
            insert_in_order(bin >> 16, tokens_from(tokens, bin & 0xffff));
          }
        }
      }
#pragma unroll 1
      for (std::uint32_t i = done.crowded() + warp; i < listed.crowded(); i += warps)
      {
        std::uint32_t const bin  = shared.crowded[i];
        std::uint32_t const size = bin >> 16;
        if (size > most_of_threads && size <= most_sorted)
        {
          sort_by_warp(size, tokens_from(tokens, bin & 0xffff));
        }
        if constexpr (Splits)
        {
          if (size > most_sorted)
          {
            split<split_by_warp>(shared, &shared.counts[warp * split_by_warp::counts], tokens, bin);
          }
        }
      }
      __syncthreads();
      bool is_sorted = true;
#pragma unroll 1
      for (std::uint32_t i = done.overfull(); i < listed.overfull(); ++i)
      {
        std::uint32_t const bin = shared.crowded[most_crowded_bins - 1 - i];
        if (Splits && bin >> 16 <= most_of_any)
        {
          if constexpr (Splits)
          {
            split<split_by_block>(shared, shared.counts, tokens, bin); // ends with a barrier
          }
        }
        else
        {
          is_sorted = is_sorted && are_alike(bin >> 16, tokens_from(tokens, bin & 0xffff));
        }
      }
      done   = listed;
      listed = list_size(shared.listed);
      if (!is_sorted || !listed.fits())
      {
        return false;
      }
      if (!Splits || listed.all == done.all)
      {
        return true;
      }
      __syncthreads(); // all know how many there are, before there are more
    }
  }

  /// Splits a bin as listed, and lists what that leaves.
  template <class Splitter, class Token>
  __device__ static void split(shared_storage& shared, std::uint32_t* counts, Token* tokens, std::uint32_t bin)
  {
    std::uint32_t const begin = bin & 0xffff;
    Splitter::split(
      counts, shared.splits, bin >> 16, tokens_from(tokens, begin), [&](std::uint32_t from, std::uint32_t size) {
        list(shared, begin + from, size);
      });
  }

  /// Whether `count` tokens, at(i), are alike. Called by all threads; ends with a barrier.
  template <class At>
  __device__ static bool are_alike(std::uint32_t count, At at)
  {
    bool alike = true;
#pragma unroll 1
    for (std::uint32_t i = threadIdx.x; i < count && alike; i += Threads)
    {
      alike = at(i) == at(0);
    }
    return __syncthreads_and(alike) != 0;
  }

  /// Sorts `count` tokens, at(i), up to most_sorted. Called by all lanes of a warp.
  template <class At>
  __device__ static void sort_by_warp(std::uint32_t count, At at)
  {
    using Token              = std::decay_t<decltype(at(0))>;
    std::uint32_t const lane = threadIdx.x % 32;
    bool alike               = true;
#pragma unroll 1
    for (std::uint32_t row = 0; row < count && alike; row += 32)
    {
      alike = __all_sync(all_lanes, row + lane >= count || at(row + lane) == at(0)) != 0;
    }
    if (alike)
    {
      return;
    }
    constexpr int each = most_sorted / 32;
    Token own[each];
    std::uint32_t before[each];
#pragma unroll
    for (int i = 0; i < each; ++i)
    {
      std::uint32_t const number = lane + i * 32;
      own[i]                     = number < count ? at(number) : Token{0};
      before[i]                  = 0;
    }
#pragma unroll(Splits ? 4 : 1)
    for (std::uint32_t other = 0; other < count; ++other)
    {
      Token const token = at(other);
#pragma unroll
      for (int i = 0; i < each; ++i)
      {
        before[i] += token < own[i] || (token == own[i] && other < lane + i * 32) ? 1 : 0;
      }
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < each; ++i)
    {
      if (lane + i * 32 < count)
      {
        at(before[i]) = own[i];
      }
    }
  }
};

} // namespace gpusort::block
