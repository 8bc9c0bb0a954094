// Counts of bins in shared memory, two in a word, and the sorting of tokens that share one: what block-wide sorts by bins of equal
// width have in common.
#pragma once

#include <gpusort/block/warp.cuh>

#include <cuda_runtime.h>

#include <cstdint>

namespace gpusort::block
{

/// Up to 2^MaxLog2 bins. What is sorted are tokens, unsigned integers, of which the highest bits say the bin. `Gaps`: among long
/// tokens, some room is left free, so that threads that read windows do not meet on a bank. Measured on an H200, 2^28, in ms for the
/// whole radix sort: u64 7.15 with gaps, 7.29 without; u128, whose tokens have a place, 16.2 and 15.6.
/// `MostCrowded`: how many bins may have more than windows sort, of which tokens make a sixth of their number at most.
template <int Threads, int MaxLog2, bool Gaps, int MostCrowded>
class key_bins
{
  static constexpr int max_words = (1 << MaxLog2) / 2;
  static constexpr int warps     = Threads / 32;

  // Tokens of a window, which a thread sorts in its registers. Windows overlap by half: of what shares a bin, one more
  // than that is always in one of them.
  static constexpr int window                    = 8;
  static constexpr std::uint32_t most_in_windows = window / 2 + 1;
  // Tokens of a bin that a thread sorts, by insertion, and of one that a warp sorts. More of a bin have to be alike.
  static constexpr std::uint32_t most_of_thread    = 16;
  static constexpr std::uint32_t most_of_warp      = 64;
  static constexpr std::uint32_t most_crowded_bins = MostCrowded;

  static constexpr int spare_tokens = 2 * window;

  static_assert(max_words % (4 * Threads) == 0);

public:
  static constexpr int max_log2 = MaxLog2;

  struct shared_storage
  {
    alignas(16) std::uint32_t counts[max_words];
    std::uint32_t totals[warps];
    std::uint32_t crowded_count;
    std::uint32_t crowded[most_crowded_bins]; // begin and size of bins that windows do not sort
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
    constexpr int own_words = max_words / Threads;
#pragma unroll
    for (int w = 0; w < own_words; w += 4)
    {
      *reinterpret_cast<uint4*>(&shared.counts[(w / 4 * Threads + static_cast<int>(threadIdx.x)) * 4]) =
        uint4{0, 0, 0, 0};
    }
    if (threadIdx.x == 0)
    {
      shared.crowded_count = 0;
    }
  }

  /// Replaces the counts of 2^bins_log2 bins by where they begin. Returns false if one is too full to be sorted, unless all
  /// tokens of a bin `are_alike`; `has_twins`: they may be. Called by all threads, after a barrier; contains barriers, and ends with one
  /// if it succeeds.
  __device__ static bool begin(shared_storage& shared, int bins_log2, bool are_alike, bool has_twins)
  {
    // A thread's words are neighbours.
    constexpr int own_words   = max_words / Threads;
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
    if (__syncthreads_or(fullest > most_of_warp && !has_twins && !are_alike))
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
        note_crowded(shared, first, own_words, start);
      }
    }
    __syncthreads();
    return true;
  }

  /// Sorts the n tokens of bins that have begun, each of which has its tokens in any order. Returns false if too many bins are
  /// full, or one has too much that is not alike. Called by all threads; begins and ends with a barrier.
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
    std::uint32_t const crowded = shared.crowded_count;
    if (crowded > most_crowded_bins)
    {
      return false;
    }
    sort_windows(tokens, 0, n);
    __syncthreads();
    sort_windows(tokens, window / 2, n);
    __syncthreads();
    bool is_sorted = true;
    if (crowded != 0)
    {
#pragma unroll 1
      for (std::uint32_t i = threadIdx.x; i < crowded; i += Threads)
      {
        std::uint32_t const bin = shared.crowded[i];
        if (bin >> 16 <= most_of_thread)
        {
          insert_in_order(tokens, bin & 0xffff, bin >> 16);
        }
      }
#pragma unroll 1
      for (std::uint32_t i = threadIdx.x / 32; i < crowded; i += warps)
      {
        std::uint32_t const bin = shared.crowded[i];
        if (bin >> 16 > most_of_thread)
        {
          is_sorted = sort_by_warp(tokens, bin & 0xffff, bin >> 16) && is_sorted;
        }
      }
      is_sorted = __syncthreads_and(is_sorted) != 0;
    }
    return is_sorted;
  }

private:
  /// Lists the bins of a thread's `words` words that windows do not sort; `end` is where the last one's two bins end. Few threads have
  /// any, so the code is short.
  __device__ static void note_crowded(shared_storage& shared, std::uint32_t first, int words, std::uint32_t end)
  {
#pragma unroll 1
    for (int w = words - 1; w >= 0; --w)
    {
      std::uint32_t const start = shared.counts[first + w];
#pragma unroll 1
      for (int half = 0; half < 32; half += 16)
      {
        std::uint32_t const size = (end - start) >> half & 0xffff; // no borrow: no bin ends before it begins
        if (size > most_in_windows)
        {
          std::uint32_t const at = atomicAdd(&shared.crowded_count, 1u);
          if (at < most_crowded_bins)
          {
            shared.crowded[at] = size << 16 | (start >> half & 0xffff);
          }
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

  /// Sorts the `count` tokens from number `begin` on, which are few.
  template <class Token>
  __device__ static void insert_in_order(Token* tokens, std::uint32_t begin, std::uint32_t count)
  {
    auto const at = [&](std::uint32_t i) -> Token& { return tokens[index_of<Token>(begin + i)]; };
#pragma unroll 1
    for (std::uint32_t i = 1; i < count; ++i)
    {
      Token const moved = at(i);
      std::uint32_t to  = i;
#pragma unroll 1
      for (; to > 0 && moved < at(to - 1); --to)
      {
        at(to) = at(to - 1);
      }
      at(to) = moved;
    }
  }

  /// Sorts the `count` tokens from number `begin` on, if they are alike, or no more than a warp takes. Returns whether they are sorted.
  /// Called by all lanes of a warp.
  template <class Token>
  __device__ static bool sort_by_warp(Token* tokens, std::uint32_t begin, std::uint32_t count)
  {
    auto const at            = [&](std::uint32_t i) -> Token& { return tokens[index_of<Token>(begin + i)]; };
    std::uint32_t const lane = threadIdx.x % 32;
    bool alike               = true;
#pragma unroll 1
    for (std::uint32_t row = 0; row < count && alike; row += 32)
    {
      alike = __all_sync(all_lanes, row + lane >= count || at(row + lane) == at(0)) != 0;
    }
    if (alike || count > most_of_warp)
    {
      return alike;
    }
    constexpr int each = most_of_warp / 32;
    Token own[each];
    std::uint32_t before[each];
#pragma unroll
    for (int i = 0; i < each; ++i)
    {
      std::uint32_t const number = lane + i * 32;
      own[i]                     = number < count ? at(number) : Token{0};
      before[i]                  = 0;
    }
#pragma unroll 1
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
    return true;
  }
};

} // namespace gpusort::block
