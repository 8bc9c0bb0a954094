// Sorts a few thousand elements inside one block by the ranks of their keys: one counting of bins, of which there are
// about as many as keys or twice as many, then an odd-even transposition sort in registers of what shares a bin; or, where
// bins are too full for that, digit by digit. Stable.
// Source: sorting a bucket completely inside a block is the last step of the hybrid sort of Sintorn and Assarsson; bins of
// equal width by value, instead of digits, make it one step on keys without many duplicates.
#pragma once

#include <gpusort/block/bit_width.h>
#include <gpusort/block/bucket_rank.cuh>
#include <gpusort/block/span.cuh>
#include <gpusort/block/tile.cuh>
#include <gpusort/block/warp.cuh>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::block
{

/// `Order` maps keys to the unsigned integers that sort like them: `Bits rank_of(Bits) const`; and back,
/// `Bits bits_of_rank(Bits) const`, but for keys that `bool loses(Bits) const` tells.
template <class Bits, class Value, class Order, int Threads, int Items>
class bin_sort
{
public:
  static constexpr int threads      = Threads;
  static constexpr int tile         = Threads * Items;
  static constexpr bool with_values = !std::is_same_v<Value, no_values>;

private:
  // What is sorted is a token: how far the key's rank is from the least, and behind it, unless it is all that has to be
  // known, the place of the element in the input. The lowest bits of distances that are too wide are left out.
  static constexpr bool has_place = with_values || sizeof(Bits) > 8;
  static constexpr int place_bits = has_place ? 13 : 0;
  using short_token               = std::uint32_t;
  using long_token                = std::uint64_t;
  static constexpr bool has_short = sizeof(Bits) <= 4;
  static constexpr bool has_long  = has_place || sizeof(Bits) > 4;

  static constexpr int digits        = 256;
  static constexpr int digit_bits    = 8;
  static constexpr int max_bins_log2 = tile >= 4096 ? 13 : 12;
  static constexpr int max_words     = (1 << max_bins_log2) / 2; // two bins in a word
  static constexpr int warps         = Threads / 32;

  static_assert(tile <= 1 << 13 && max_words % (4 * Threads) == 0);

  // Elements of a window, which a thread sorts in its registers. Windows overlap by half: of what shares a bin, one more
  // than that is always in one of them.
  static constexpr int window                    = 8;
  static constexpr std::uint32_t most_in_windows = window / 2 + 1;
  // Elements of a bin that is sorted by insertion, and how many such bins there may be.
  static constexpr std::uint32_t most_in_bin = 16;
  static constexpr int most_crowded_bins     = 64;

  using place      = std::uint16_t; // in the input
  using digit_rank = bucket_rank<digits, Threads, Items, false>;

  static constexpr std::size_t larger(std::size_t a, std::size_t b)
  {
    return a < b ? b : a;
  }
  static constexpr std::size_t token_bytes = has_long ? sizeof(long_token) : sizeof(short_token);
  static constexpr std::size_t room_bytes  = larger(larger(sizeof(Bits), token_bytes), with_values ? sizeof(Value) : 0);

public:
  struct shared_storage
  {
    // Tokens, then keys, then values.
    alignas(16) char room[room_bytes * (tile + 2 * window)];
    alignas(16) std::uint32_t bins[max_words];
    alignas(16) std::uint32_t totals[warps];
    std::uint32_t crowded_count;
    std::uint32_t crowded[most_crowded_bins]; // begin and size of bins that windows do not sort
    span_storage<Bits, Threads> span;

    template <class T>
    __device__ T* as()
    {
      return reinterpret_cast<T*>(room);
    }
  };

  struct pass_storage
  {
    place order[2][tile]; // where each element comes from, before a pass and after it, by turns
    typename digit_rank::counts counts;
  };

  struct digit_storage
  {
    union
    {
      pass_storage pass;
      alignas(16) char room[with_values ? sizeof(Value) * tile : 1]; // in the end, values
    };
    typename digit_rank::shared_totals totals;
    span_storage<Bits, Threads> span;

    template <class T>
    __device__ T* as()
    {
      return reinterpret_cast<T*>(room);
    }
  };

  /// keys_out and values_out are the n keys and values of keys_in and values_in, sorted; they may be the same arrays.
  /// Returns false, with nothing written, if too many keys are close to each other: sort_by_digits sorts all.
  /// n <= tile. Called by all threads of a block; shared memory may be used again after a barrier.
  __device__ static bool
  sort(shared_storage& shared,
       Order const& order,
       int n,
       Bits const* keys_in,
       Bits* keys_out,
       Value const* values_in,
       Value* values_out)
  {
    // Places past the end hold the first key once more: only what is written has to look where the end is.
    Bits const any = keys_in[0];
    Bits ranks[Items];
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      int const at = place_of(i);
      ranks[i]     = at < n ? keys_in[at] : any;
    }
    constexpr int own_words = max_words / Threads;
#pragma unroll
    for (int w = 0; w < own_words; w += 4)
    {
      *reinterpret_cast<uint4*>(&shared.bins[(w / 4 * Threads + static_cast<int>(threadIdx.x)) * 4]) =
        uint4{0, 0, 0, 0};
    }
    if (threadIdx.x == 0)
    {
      shared.crowded_count = 0;
    }
    bool loses = false;
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      loses    = loses || order.loses(ranks[i]);
      ranks[i] = order.rank_of(ranks[i]);
    }
    Bits least    = ranks[0];
    Bits greatest = ranks[0];
#pragma unroll
    for (int i = 1; i < Items; ++i)
    {
      least    = ranks[i] < least ? ranks[i] : least;
      greatest = greatest < ranks[i] ? ranks[i] : greatest;
    }
    loses           = span_of_block(shared.span, least, greatest, loses);
    int const width = bit_width(static_cast<Bits>(greatest - least));
    if (width == 0 && !loses)
    {
      if (keys_in != keys_out)
      {
        copy_slowly<Threads>(n, keys_in, keys_out);
        if constexpr (with_values)
        {
          copy_slowly<Threads>(n, values_in, values_out);
        }
      }
      return true;
    }

    // Twice as many bins as elements, as far as there are so many.
    int const all_log2  = bit_width(static_cast<std::uint32_t>(n)) + 1;
    int const bins_log2 = all_log2 < max_bins_log2 ? all_log2 : max_bins_log2;
    place from[Items];
    Bits keys[Items];
    bool sorted = false;
    if constexpr (has_short)
    {
      if (!has_long || width + place_bits <= 32)
      {
        sorted = sort_tokens<short_token>(shared, order, ranks, n, least, width, bins_log2, loses, keys_in, from, keys);
      }
    }
    if constexpr (has_long)
    {
      if (!has_short || width + place_bits > 32)
      {
        sorted = sort_tokens<long_token>(shared, order, ranks, n, least, width, bins_log2, loses, keys_in, from, keys);
      }
    }
    if (sorted)
    {
      write(shared, n, from, keys, keys_out, values_in, values_out);
    }
    return sorted;
  }

  /// The same, whatever the keys are: least significant digit first.
  __device__ static void sort_by_digits(
    digit_storage& shared,
    Order const& order,
    int n,
    Bits const* keys_in,
    Bits* keys_out,
    Value const* values_in,
    Value* values_out)
  {
    digit_rank ranking(shared.pass.counts, n);
    Bits least    = static_cast<Bits>(~Bits{0});
    Bits greatest = 0;
    for (int i = 0; i < ranking.rows(); ++i)
    {
      if (ranking.holds(i))
      {
        Bits const rank = order.rank_of(keys_in[ranking.element(i)]);
        least           = rank < least ? rank : least;
        greatest        = greatest < rank ? rank : greatest;
      }
    }
    span_of_block(shared.span, least, greatest);
    int const width = bit_width(static_cast<Bits>(greatest - least));

    // Keys stay where they are, and in the cache, until their order is known. The passes are short code rather than fast:
    // few inputs need them, and every kernel that sorts in blocks has them.
    place const* before   = nullptr;
    auto const element_at = [&](int i) {
      int const at = ranking.element(i);
      return before == nullptr ? at : static_cast<int>(before[at]);
    };
    place* after = shared.pass.order[0];
#pragma unroll 1
    for (int low = 0; low < width; low += digit_bits)
    {
      auto const digit_of = [&](int i, int element) {
        return ranking.holds(i)
               ? static_cast<unsigned>(static_cast<Bits>(order.rank_of(keys_in[element]) - least) >> low) & (digits - 1)
               : digits - 1u;
      };
      shared.pass.counts.clear();
      __syncthreads();
#pragma unroll 1
      for (int i = 0; i < ranking.rows(); ++i)
      {
        ranking.count_one(digit_of(i, element_at(i)));
      }
      __syncthreads();
      std::uint32_t const total = threadIdx.x < digits ? ranking.total() : 0;
      std::uint32_t const start = ranking.starts(shared.totals, total);
      if (threadIdx.x < digits)
      {
        ranking.spread(start);
      }
      __syncthreads();
#pragma unroll 1
      for (int i = 0; i < ranking.rows(); ++i)
      {
        int const element                              = element_at(i);
        after[ranking.take_rank(digit_of(i, element))] = static_cast<place>(element);
      }
      __syncthreads();
      before = after;
      after  = shared.pass.order[before == shared.pass.order[0] ? 1 : 0];
    }
    place from[Items];
    Bits keys[Items];
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      int const at = place_of(i);
      if (at < n)
      {
        from[i] = before == nullptr ? static_cast<place>(at) : before[at];
        keys[i] = keys_in[from[i]];
      }
    }
    __syncthreads();
    write(shared, n, from, keys, keys_out, values_in, values_out);
  }

private:
  __device__ static int place_of(int i)
  {
    return i * Threads + static_cast<int>(threadIdx.x);
  }

  template <class Storage, class T>
  __device__ static void stage(Storage& shared, int n, T const* from)
  {
    move_tile<Threads, Items>(n, [&](int at) { return from[at]; }, shared.template as<T>());
  }

  /// Keys and, if tokens have them, places of the sorted elements. Returns false if tokens cannot tell the order.
  template <class Token>
  __device__ static bool sort_tokens(
    shared_storage& shared,
    Order const& order,
    Bits const (&ranks)[Items],
    int n,
    Bits least,
    int width,
    int bins_log2,
    bool loses,
    Bits const* keys_in,
    place (&from)[Items],
    Bits (&keys)[Items])
  {
    constexpr int token_bits = static_cast<int>(sizeof(Token)) * 8;
    int const left_out       = has_place && width > token_bits - place_bits ? width - (token_bits - place_bits) : 0;
    if ((!has_place && loses)
        || !fill_bins<Token>(shared, ranks, n, least, left_out, width - left_out + place_bits, bins_log2))
    {
      return false;
    }
    if (left_out != 0 || loses)
    {
      return read_places<Token>(shared, order, n, keys_in, left_out != 0, from, keys);
    }
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      Token const own = shared.template as<Token>()[place_of(i)];
      from[i]         = place_in(own);
      keys[i]         = order.bits_of_rank(static_cast<Bits>(least + static_cast<Bits>(own >> place_bits)));
    }
    return true;
  }

  template <class Token>
  __device__ static place place_in(Token own)
  {
    return static_cast<place>(own & ((1 << place_bits) - 1));
  }

  /// Sorts the tokens of the ranks, of `width` bits: into bins of equal width, and each bin in registers. Returns false if
  /// a bin is too full for that. Called with the bins cleared; afterwards all threads may read the tokens.
  template <class Token>
  __device__ static bool fill_bins(
    shared_storage& shared, Bits const (&ranks)[Items], int n, Bits least, int left_out, int width, int bins_log2)
  {
    Token* const tokens = shared.template as<Token>();
    int const shift     = width > bins_log2 ? width - bins_log2 : 0;

    // A word counts two bins: one of the lower half of the bins, and in its upper half the one as far into the other half.
    int const words_log2      = bins_log2 - 1;
    std::uint32_t const words = 1u << words_log2;
    auto const bin_of         = [&](Token own) { return static_cast<std::uint32_t>(own >> shift); };

    Token own[Items];
    // The number of each element in its bin, which depends on chance; two in a word, for want of registers.
    std::uint32_t numbers[(Items + 1) / 2];
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      own[i] = static_cast<Token>(static_cast<Bits>(ranks[i] - least) >> left_out);
      if constexpr (has_place)
      {
        own[i] = own[i] << place_bits | static_cast<Token>(place_of(i));
      }
    }
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      std::uint32_t const bin = bin_of(own[i]);
      std::uint32_t const one = bin < words ? 1u : 1u << 16;
      if (place_of(i) < n)
      {
        std::uint32_t const found = atomicAdd(&shared.bins[bin & (words - 1)], one);
        numbers[i / 2] =
          i % 2 == 0 ? half_of(found, bin < words) : __byte_perm(numbers[i / 2], found, bin < words ? 0x5410 : 0x7610);
      }
    }
    __syncthreads();

    // A thread's words are neighbours.
    constexpr int own_words   = max_words / Threads;
    std::uint32_t const first = threadIdx.x * own_words;
    bool const has_own        = first < words;
    uint4 counts[own_words / 4];
    std::uint32_t sums = 0, fullest = 0; // of either half of the bins
#pragma unroll
    for (int w = 0; w < own_words / 4; ++w)
    {
      counts[w] = has_own ? reinterpret_cast<uint4 const*>(&shared.bins[first])[w] : uint4{0, 0, 0, 0};
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
    bool const bins_tell_all = shift == 0; // tokens that share a bin are alike
    if (__syncthreads_or(fullest > most_in_bin && !bins_tell_all))
    {
      return false;
    }
    std::uint32_t all = 0, before = 0;
#pragma unroll
    for (int w = 0; w < warps; ++w)
    {
      before = w == warp ? all : before;
      all += shared.totals[w];
    }
    // Where the thread's first bin in either half begins: the upper half, behind all of the lower.
    std::uint32_t start = inclusive - sums + before + (all << 16);
    if (has_own)
    {
      bool const crowded = fullest > most_in_windows && !bins_tell_all;
#pragma unroll
      for (int w = 0; w < own_words / 4; ++w)
      {
        begin_bins(shared, counts[w].x, start, crowded);
        begin_bins(shared, counts[w].y, start, crowded);
        begin_bins(shared, counts[w].z, start, crowded);
        begin_bins(shared, counts[w].w, start, crowded);
        reinterpret_cast<uint4*>(&shared.bins[first])[w] = counts[w];
      }
    }
    __syncthreads();
    // All places are known before the first token is written: the compiler cannot tell that they do not overlap. Nor may it
    // keep the bins from above, for which there are no registers.
    int same_shift = shift;
    asm volatile("" : "+r"(same_shift));
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      auto const bin            = static_cast<std::uint32_t>(own[i] >> same_shift);
      std::uint32_t const begin = half_of(shared.bins[bin & (words - 1)], bin < words);
      // No carry: places in the tile have 16 bits.
      numbers[i / 2] += i % 2 == 0 ? begin : begin << 16;
    }
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      if (place_of(i) < n)
      {
        tokens[half_of(numbers[i / 2], i % 2 == 0)] = own[i];
      }
    }
    if (threadIdx.x < 2 * window)
    {
      tokens[n + static_cast<int>(threadIdx.x)] = static_cast<Token>(~Token{0});
    }
    __syncthreads();
    if (bins_tell_all)
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
    if (crowded != 0)
    {
      if (threadIdx.x < crowded)
      {
        std::uint32_t const bin = shared.crowded[threadIdx.x];
        insert(tokens + (bin & 0xffff), static_cast<int>(bin >> 16));
      }
      __syncthreads();
    }
    return true;
  }

  /// The lower or the upper half of a word.
  __device__ static std::uint32_t half_of(std::uint32_t word, bool lower)
  {
    return __byte_perm(word, 0, lower ? 0x4410 : 0x4432);
  }

  /// Replaces the counts of a word's two bins by where they begin.
  __device__ static void
  begin_bins(shared_storage& shared, std::uint32_t& word, std::uint32_t& start, bool look_for_crowded)
  {
    if (look_for_crowded)
    {
      note_if_crowded(shared, start & 0xffff, word & 0xffff);
      note_if_crowded(shared, start >> 16, word >> 16);
    }
    std::uint32_t const counts = word;
    word                       = start;
    start += counts;
  }

  __device__ static void note_if_crowded(shared_storage& shared, std::uint32_t begin, std::uint32_t size)
  {
    if (size > most_in_windows)
    {
      std::uint32_t const at = atomicAdd(&shared.crowded_count, 1u);
      if (at < most_crowded_bins)
      {
        shared.crowded[at] = size << 16 | begin;
      }
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
      uint4* const place = reinterpret_cast<uint4*>(tokens + begin);
#pragma unroll
      for (int i = 0; i < window / per_vector; ++i)
      {
        vectors[i] = place[i];
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
        place[i] = vectors[i];
      }
    }
  }

  template <class Token>
  __device__ static void put_in_order(Token& a, Token& b)
  {
    Token const less    = a < b ? a : b;
    Token const greater = a < b ? b : a;
    a                   = less;
    b                   = greater;
  }

  template <class Token>
  __device__ static void insert(Token* tokens, int count)
  {
#pragma unroll 1
    for (int i = 1; i < count; ++i)
    {
      Token const moved = tokens[i];
      int to            = i;
#pragma unroll 1
      for (; to > 0 && moved < tokens[to - 1]; --to)
      {
        tokens[to] = tokens[to - 1];
      }
      tokens[to] = moved;
    }
  }

  /// Keys and places from tokens that tell places only. Returns false if keys are out of order: `partial` tokens leave out
  /// bits.
  template <class Token>
  __device__ static bool read_places(
    shared_storage& shared,
    Order const& order,
    int n,
    Bits const* keys_in,
    bool partial,
    place (&from)[Items],
    Bits (&keys)[Items])
  {
    Token const* const tokens = shared.template as<Token>();
    place before[Items];
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      int const at = place_of(i);
      if (at < n)
      {
        Token const own  = tokens[at];
        Token const last = tokens[at > 0 ? at - 1 : 0];
        from[i]          = place_in(own);
        // Only neighbours whose tokens are alike but for the place can be out of order.
        before[i] = partial && own >> place_bits == last >> place_bits ? place_in(last) : from[i];
      }
    }
    __syncthreads();
    stage(shared, n, keys_in);
    __syncthreads();
    bool in_order = true;
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      if (place_of(i) < n)
      {
        keys[i] = shared.template as<Bits>()[from[i]];
        if (before[i] != from[i])
        {
          in_order = in_order && order.rank_of(shared.template as<Bits>()[before[i]]) <= order.rank_of(keys[i]);
        }
      }
    }
    return __syncthreads_and(in_order) != 0;
  }

  /// Writes the sorted elements. All keys of the input have been read.
  template <class Storage>
  __device__ static void
  write(Storage& shared,
        int n,
        place const (&from)[Items],
        Bits const (&keys)[Items],
        Bits* keys_out,
        Value const* values_in,
        Value* values_out)
  {
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      int const at = place_of(i);
      if (at < n)
      {
        keys_out[at] = keys[i];
      }
    }
    if constexpr (with_values)
    {
      __syncthreads();
      stage(shared, n, values_in);
      __syncthreads();
#pragma unroll
      for (int i = 0; i < Items; ++i)
      {
        int const at = place_of(i);
        if (at < n)
        {
          values_out[at] = shared.template as<Value>()[from[i]];
        }
      }
    }
  }
};

} // namespace gpusort::block
