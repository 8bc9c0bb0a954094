// Counts of bins in shared memory, two in a word, and the sorting of tokens that share one: what block-wide sorts by bins of equal
// width have in common.
#pragma once

#include <gpusort/block/bit_width.h>
#include <gpusort/block/close_sort.cuh>
#include <gpusort/block/dynamic_shared.cuh>
#include <gpusort/block/full_bins.h>
#include <gpusort/block/lane_sort.cuh>
#include <gpusort/block/warp.cuh>

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

namespace gpusort::block
{

/// For callers that trust the order of ranks: nobody is asked, and nothing is checked.
struct trusts_ranks
{
  static constexpr bool asks  = false;
  static constexpr bool mends = false;

  template <class Bits>
  __device__ bool operator()(Bits, Bits) const
  {
    return true;
  }

  /// Told each sorted key and its number of n, before all agree.
  template <class Bits>
  __device__ void note(int, int, Bits) const
  {}

  /// Whether all of a block's threads agree, and with them whoever else is to be asked before anything is written. Called by all threads.
  __device__ bool all_agree(bool own) const
  {
    return __syncthreads_and(own) != 0;
  }
};

/// `likely`, if so many of the lowest bits are the same in all ranks of a block, or else 0; `differing`: the bits in which those of the thread differ from
/// a rank that is the same for all threads. Called by all threads of a block.
template <class Bits>
__device__ int lowest_alike_of_block(Bits differing, int likely)
{
  return __syncthreads_and(trailing_zeros(differing) >= likely) != 0 ? likely : 0;
}

/// Whether it is worth asking if `likely` of the lowest bits are the same in all ranks, which differ by `width` bits: if then, and not otherwise, what
/// shares one of 2^bins_log2 bins is alike, or, if tokens have places, if bins then say something of these.
__host__ __device__ constexpr bool is_worth_leaving_out(int likely, int width, int bins_log2, bool has_place)
{
  return likely > 0
      && (has_place ? width > 0 && width - likely < bins_log2 : width > bins_log2 && width - likely <= bins_log2);
}

/// How tokens are split into bins: which of their bits do not say the bin, and whether tokens that share one are alike.
struct bin_split
{
  int shift;
  bool are_alike;
};

/// The split of tokens of `width` bits, of which the lowest `lowest_alike` are the same in all, into 2^bins_log2 bins. Where no others are left, bins
/// without them lie side by side: if those bits said the bin, all tokens would be counted in few banks of shared memory.
__host__ __device__ constexpr bin_split split_into_bins(int width, int bins_log2, int lowest_alike)
{
  int const too_many   = width > bins_log2 ? width - bins_log2 : 0;
  bool const are_alike = too_many <= lowest_alike;
  return {are_alike ? lowest_alike : too_many, are_alike};
}

/// Up to 2^MaxLog2 bins. What is sorted are tokens, unsigned integers, of which the highest bits say the bin. `Gaps`: among long
/// tokens, some room is left free, so that threads that read windows do not meet on a bank. Measured on an H200, 2^28, in ms for the
/// whole radix sort: u64 7.15 with gaps, 7.29 without; u128, whose tokens have a place, 16.2 and 15.6.
/// `MostCrowded`: how many bins may have more than windows sort, of which tokens make a sixth of their number at most; what splits of
/// such bins leave counts as well. `SplitItems`: how many tokens of a bin that is split a thread can hold.
template <int Threads, int MaxLog2, bool Gaps, int MostCrowded, full_bins Full, int SplitItems = 8>
class key_bins
{
  static constexpr int max_words = (1 << MaxLog2) / 2;
  static constexpr int own_words = max_words / Threads; // that a thread adds up, neighbours
  static constexpr int warps     = Threads / 32;
  static constexpr bool splits   = splits_bins(Full);

  // Tokens of a window, which a thread sorts in its registers. Windows overlap by half: of what shares a bin, one more
  // than that is always in one of them.
  static constexpr int window                    = 8;
  static constexpr std::uint32_t most_in_windows = window / 2 + 1;
  // Who sorts the tokens of a bin: few lanes, a warp, and a warp if there are many, in as many registers as kernels have to spare.
  using few_by_lanes = lane_sort<8, 2>;
  using some_by_warp = lane_sort<32, 2>;
  template <class Token>
  using many_by_warp   = lane_sort<32, splits || sizeof(Token) <= 4 ? 8 : 4>;
  using split_by_block = close_sort<Threads, SplitItems, own_words>;
  // Long bins have more than some_by_warp sorts, not all alike.
  static constexpr std::uint32_t most_long_bins = 4;
  // What is left to others before it is moved, if these are fast: tokens of which more than so many threads count a full bin; or not so many, but more
  // than a few, and one bin has an eighth of all, or more than a few threads count tokens in many bins that are rather full together. But full bins may
  // be of alike tokens, where tokens may be: of few values hardly any bin is sparse.
  static constexpr std::uint32_t full_bin = 16;
  static constexpr int most_with_full     = 32;
  static constexpr int few_threads        = 4;

  template <class Token>
  static constexpr std::uint32_t most_of_warp = many_by_warp<Token>::most;
  template <class Token> // unless they are alike
  static constexpr std::uint32_t most_of_any       = splits ? split_by_block::most : most_of_warp<Token>;
  static constexpr std::uint32_t most_crowded_bins = MostCrowded;
  static constexpr std::uint32_t last_listed       = most_crowded_bins - 1;

  static constexpr int spare_tokens = 2 * window;

  static_assert(max_words % (4 * Threads) == 0);

public:
  static constexpr int max_log2 = MaxLog2;

  struct shared_storage
  {
    alignas(16) std::uint32_t counts[max_words];
    std::uint32_t totals[warps];
    std::uint32_t listed; // bins, as list_size has them
    std::uint32_t long_bins; // as of most_long_bins
    // Begin and size of bins that windows do not sort: from the first on, or, if they are too much for a few lanes, from the last.
    std::uint32_t crowded[most_crowded_bins];
    std::conditional_t<splits, close_storage<warps>, char> close;
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
      shared.listed    = 0;
      shared.long_bins = 0;
    }
  }

  /// Replaces the counts of 2^bins_log2 bins of n tokens by where they begin. Returns false if a bin is too full to be sorted, unless its
  /// tokens `are_alike` in every bin; with full_bins::split_few and `OthersAreFast` also if many bins are rather full. `has_twins`: some tokens may be alike.
  /// Called by all threads, after a barrier; contains barriers, and ends with one if it succeeds.
  template <class Token, bool OthersAreFast = false>
  __device__ static bool begin(shared_storage& shared, int n, int bins_log2, bool are_alike, bool has_twins)
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
    bool const is_too_full = fullest > most_of_any<Token> && !has_twins && !are_alike;
    if constexpr (Full == full_bins::split_few && OthersAreFast)
    {
      std::uint32_t const counted = (sums & 0xffff) + (sums >> 16); // tokens, in 2 x own_words bins
      bool const counts_many      = !are_alike && counted > 12 * own_words && 4 * fullest <= counted;
      int const full              = __syncthreads_count((fullest > full_bin && !are_alike) || counts_many); // threads
      if (full > 0 && __syncthreads_or(is_too_full) != 0)
      {
        return false;
      }
      bool const is_hard =
        full > most_with_full
        || (full > few_threads
            && (__syncthreads_or(fullest > static_cast<std::uint32_t>(n) / 8) != 0
                || __syncthreads_count(counts_many) > few_threads));
      if (is_hard && (!has_twins || __syncthreads_count(counted > 0 && fullest <= most_in_windows) > few_threads))
      {
        return false;
      }
    }
    else if (__syncthreads_or(is_too_full) != 0)
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
        std::uint32_t crowded = 0; // a bit for each word
#pragma unroll
        for (int w = 0; w < own_words / 4; ++w)
        {
          crowded |= (is_crowded(counts[w].x) | is_crowded(counts[w].y) << 1 | is_crowded(counts[w].z) << 2
                      | is_crowded(counts[w].w) << 3)
                  << (4 * w);
        }
        note_crowded(shared, first, start, crowded);
      }
    }
    __syncthreads();
    return true;
  }

  /// Sorts the n tokens of bins that have begun, each of which has its tokens in any order. Returns false if too many bins are
  /// crowded, or one has too much that is not alike; with full_bins::split_few also if more than most_long_bins are long, or, unless it
  /// `may_split`, one would have to be split. Tokens are in any order then. Called by all threads; begins and ends with a barrier.
  template <class Token>
  __device__ static bool sort(shared_storage& shared, Token* tokens, int n, bool are_alike, bool may_split = true)
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
    if constexpr (splits)
    {
      if (listed.all != 0)
      {
        return sort_uneven<Token>(shared_address(shared), shared_address(*tokens), n, may_split);
      }
    }
    if (!listed.fits())
    {
      return false;
    }
    sort_windows(tokens, n);
    return listed.all == 0 || sort_crowded(shared, tokens, n, listed);
  }

private:
  /// How many bins are listed, from either end.
  struct list_size
  {
    static constexpr std::uint32_t one_of_few  = 1;
    static constexpr std::uint32_t one_of_many = 1u << 16;

    std::uint32_t all;

    __device__ explicit list_size(std::uint32_t listed)
        : all(listed)
    {}
    __device__ std::uint32_t of_few() const
    {
      return all % one_of_many;
    }
    __device__ std::uint32_t of_many() const
    {
      return all / one_of_many;
    }
    __device__ bool fits() const
    {
      return of_few() + of_many() <= most_crowded_bins;
    }
  };

  /// Lists a bin that has too many tokens for windows.
  __device__ static void list(shared_storage& shared, std::uint32_t begin, std::uint32_t size)
  {
    bool const has_many = size > few_by_lanes::most;
    list_size const before(atomicAdd(&shared.listed, has_many ? list_size::one_of_many : list_size::one_of_few));
    if (before.of_few() + before.of_many() < most_crowded_bins)
    {
      shared.crowded[has_many ? last_listed - before.of_many() : before.of_few()] = size << 16 | begin;
    }
  }

  /// Whether windows do not sort a bin of a word of counts.
  __device__ static std::uint32_t is_crowded(std::uint32_t counts)
  {
    constexpr std::uint32_t most = most_in_windows << 16 | most_in_windows;
    return __vmaxu2(counts, most) != most ? 1 : 0;
  }

  /// Lists the bins of a thread's words that windows do not sort, of the words that `crowded` has a bit for; `end` is where the last one's two
  /// bins end. Few threads have any, so the code is short.
  __device__ static void
  note_crowded(shared_storage& shared, std::uint32_t first, std::uint32_t end, std::uint32_t crowded)
  {
#pragma unroll 1
    for (; crowded != 0; crowded &= crowded - 1)
    {
      int const w               = __ffs(static_cast<int>(crowded)) - 1;
      std::uint32_t const start = shared.counts[first + w];
      std::uint32_t const next  = w + 1 < own_words ? shared.counts[first + w + 1] : end;
#pragma unroll 1
      for (int half = 0; half < 32; half += 16)
      {
        std::uint32_t const size = (next - start) >> half & 0xffff; // no borrow: no bin ends before it begins
        if (size > most_in_windows)
        {
          list(shared, start >> half & 0xffff, size);
        }
      }
    }
  }

  /// Sorts n tokens as far as bins of up to most_in_windows need. Called by all threads, after a barrier; ends with one.
  template <class Token>
  __device__ static void sort_windows(Token* tokens, int n)
  {
#pragma unroll 1
    for (int offset = 0; offset < window; offset += window / 2)
    {
      sort_windows(tokens, offset, n);
      __syncthreads();
    }
  }

  /// Sorts the windows that begin at `offset`.
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

  /// The tokens from number `begin` on, by their number behind it.
  template <class Token>
  __device__ static auto tokens_from(Token* tokens, std::uint32_t begin)
  {
    return [tokens, begin](std::uint32_t i) -> Token& { return tokens[index_of<Token>(begin + i)]; };
  }

  /// Sorts all where something is listed, as `sort` does: out of line, as splits take registers that kernels do not have for them, and few inputs need
  /// them.
  template <class Token>
  __device__ static __noinline__ bool sort_uneven(shared_address at, shared_address tokens_at, int n, bool may_split)
  {
    auto& shared        = at.as<shared_storage>();
    Token* const tokens = &tokens_at.as<Token>();
    list_size const listed(shared.listed);
    if (!listed.fits())
    {
      return false;
    }
    if constexpr (Full == full_bins::split_few)
    {
      if ((!may_split || listed.of_many() > most_long_bins) && has_many_long_bins(shared, tokens, listed, may_split))
      {
        return false;
      }
    }
    sort_windows(tokens, n);
    return sort_crowded(shared, tokens, n, listed);
  }

  /// Sorts what is listed, and what splits leave of it. Returns false if one bin has too much that is not alike, or too much is left to be
  /// listed. Called by all threads, after a barrier; ends with one.
  template <class Token>
  __device__ static bool sort_crowded(shared_storage& shared, Token* tokens, int n, list_size listed)
  {
    constexpr std::uint32_t groups = 32 / few_by_lanes::lanes; // of a warp
    list_size done(0);
    std::uint32_t const warp = threadIdx.x / 32;
    std::uint32_t const lane = threadIdx.x % 32;
    for (;;)
    {
#pragma unroll 1
      for (std::uint32_t first = done.of_few() + warp * groups; first < listed.of_few(); first += warps * groups)
      {
        std::uint32_t const i   = first + lane / few_by_lanes::lanes;
        std::uint32_t const bin = i < listed.of_few() ? shared.crowded[i] : 0;
        few_by_lanes::template sort<Token>(bin >> 16, tokens_from(tokens, bin & 0xffff));
      }
#pragma unroll 1
      for (std::uint32_t i = done.of_many() + warp; i < listed.of_many(); i += warps)
      {
        std::uint32_t const bin = shared.crowded[last_listed - i];
        sort_by_warp<Token>(bin >> 16, tokens_from(tokens, bin & 0xffff));
      }
      __syncthreads();
      bool fails = false, unsorted = false;
#pragma unroll 1
      for (std::uint32_t first = done.of_many(); first < listed.of_many(); first += 32)
      {
        std::uint32_t const own = first + lane < listed.of_many() ? shared.crowded[last_listed - first - lane] : 0;
#pragma unroll 1
        for (std::uint32_t left = __ballot_sync(all_lanes, own >> 16 > most_of_warp<Token>); left != 0;
             left &= left - 1)
        {
          std::uint32_t const bin   = __shfl_sync(all_lanes, own, __ffs(static_cast<int>(left)) - 1);
          std::uint32_t const begin = bin & 0xffff;
          std::uint32_t const size  = bin >> 16;
          auto const at             = tokens_from(tokens, begin);
          if constexpr (splits)
          {
            if (size <= most_of_any<Token>)
            {
              unsorted |= split_by_block::split(
                shared.counts,
                shared.close,
                size,
                most_in_windows,
                at,
                [&](std::uint32_t from, std::uint32_t left_together) { list(shared, begin + from, left_together); });
              continue;
            }
          }
          fails = fails || !are_alike(size, at);
        }
      }
      done   = listed;
      listed = list_size(shared.listed);
      if (fails || !listed.fits())
      {
        return false;
      }
      if (!unsorted)
      {
        return true;
      }
      sort_windows(tokens, n); // of what has been split
    }
  }

  /// Whether more bins than most_long_bins are long, or, unless it `may_split`, one is so long that it would be split. Called by all threads, after a
  /// barrier; ends with one.
  template <class Token>
  __device__ static bool
  has_many_long_bins(shared_storage& shared, Token const* tokens, list_size listed, bool may_split)
  {
#pragma unroll 1
    for (std::uint32_t i = threadIdx.x / 32; i < listed.of_many(); i += warps)
    {
      std::uint32_t const bin  = shared.crowded[last_listed - i];
      std::uint32_t const size = bin >> 16;
      if (size > some_by_warp::most && !are_alike_to_warp(size, tokens_from(tokens, bin & 0xffff))
          && threadIdx.x % 32 == 0)
      {
        atomicAdd(&shared.long_bins, may_split || size <= most_of_warp<Token> ? 1 : most_long_bins + 1);
      }
    }
    __syncthreads();
    return shared.long_bins > most_long_bins;
  }

  /// Whether `count` tokens, at(i), are alike. Called by all lanes of a warp.
  template <class At>
  __device__ static bool are_alike_to_warp(std::uint32_t count, At at)
  {
    auto const first = at(0);
    bool alike       = true;
#pragma unroll 4
    for (std::uint32_t i = threadIdx.x % 32; i < count; i += 32)
    {
      alike = alike && at(i) == first;
    }
    return __all_sync(all_lanes, alike) != 0;
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

  /// Sorts `count` tokens, at(i), unless there are more than most_of_warp. Called by all lanes of a warp.
  template <class Token, class At>
  __device__ static void sort_by_warp(std::uint32_t count, At at)
  {
    if (count > most_of_warp<Token>)
    {
      return;
    }
    if (are_alike_to_warp(count, at))
    {
      return;
    }
    if (count <= some_by_warp::most)
    {
      some_by_warp::template sort<Token>(count, at);
    }
    else
    {
      many_by_warp<Token>::template sort<Token>(count, at);
    }
  }
};

} // namespace gpusort::block
