// Sorts a few thousand elements inside one block by the ranks of their keys: one counting of bins, of which there are
// about as many as keys or twice as many, then an odd-even transposition sort in registers of what shares a bin; or, where
// bins are too full for that, and for being split again, by merging, or digit by digit. Stable.
// Source: sorting a bucket completely inside a block is the last step of the hybrid sort of Sintorn and Assarsson; bins of
// equal width by value, instead of digits, make it one step on keys without many duplicates.
#pragma once

#include <gpusort/block/bins.cuh>
#include <gpusort/block/bit_width.h>
#include <gpusort/block/close_sort.cuh>
#include <gpusort/block/dynamic_shared.cuh>
#include <gpusort/block/prefix_sum.cuh>
#include <gpusort/block/register_digit_sort.cuh>
#include <gpusort/block/span.cuh>
#include <gpusort/block/tile.cuh>
#include <gpusort/block/token_sort.cuh>
#include <gpusort/block/warp.cuh>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::block
{

/// `Order` maps keys to the unsigned integers that sort like them: `Bits rank_of(Bits) const`; and back,
/// `Bits bits_of_rank(Bits) const`, but for keys that `bool loses(Bits) const` tells, which share one rank, if it `may_lose` any.
/// `Full`: as in bins.cuh.
template <class Bits, class Value, class Order, int Threads, int Items, full_bins Full>
class bin_sort
{
public:
  static constexpr int threads      = Threads;
  static constexpr int tile         = Threads * Items;
  static constexpr bool with_values = !std::is_same_v<Value, no_values>;
  static constexpr bool is_staged   = false;
  static constexpr bool splits      = splits_bins(Full);

private:
  // What is sorted is a token: how far the key's rank is from the least, and behind it, unless it is all that has to be
  // known, the place of the element in the input. Then the lowest bits of distances are left out, if they are the same in all or distances are too wide.
  static constexpr bool has_place = with_values || sizeof(Bits) > 8;
  static constexpr int place_bits = has_place ? 13 : 0;
  using short_token               = std::uint32_t;
  using long_token                = std::uint64_t;
  static constexpr bool has_short = sizeof(Bits) <= 4;
  static constexpr bool has_long  = has_place || sizeof(Bits) > 4;

  static_assert(!has_place || tile <= 1 << 13);
  static_assert(tile < 1 << 16);

  // Of many tokens all that there may be; of fewer, as many as 4608 make, or a thread each.
  static constexpr int most_crowded = tile > 8192 ? tile / 6 : Threads < 768 ? 768 : Threads;

  // What is merged where bins do not sort: all of a rank and the place, if there is room for both; digits sort others.
  static constexpr int whole_bits = static_cast<int>(sizeof(Bits)) * 8 + place_bits;
  using whole_token               = std::conditional_t<whole_bits <= 32, short_token, long_token>;
  static constexpr bool is_merged = whole_bits <= 64;

  using place = std::uint16_t; // in the input
  using bins  = key_bins<Threads, tile >= 4096 ? 13 : 12, !has_place, most_crowded, Full, tile <= 8192 ? 8 : Items>;

  static constexpr std::size_t larger(std::size_t a, std::size_t b)
  {
    return a < b ? b : a;
  }
  using widest_token = std::conditional_t<has_long, long_token, short_token>;
  static constexpr std::size_t room_bytes =
    larger(bins::template bytes_of<widest_token>(tile), tile* larger(sizeof(Bits), with_values ? sizeof(Value) : 0));

public:
  static constexpr int most_bins_log2 = bins::max_log2; // as a power of two

  struct shared_storage
  {
    // Tokens, then keys, then values.
    alignas(16) char room[room_bytes];
    typename bins::shared_storage bins_of_tile;
    span_storage<Bits, Threads> span;

    template <class T>
    __device__ T* as()
    {
      return reinterpret_cast<T*>(room);
    }
  };

private:
  static constexpr int warps = Threads / 32;

  struct merged
  {
    using sort = token_sort<whole_token, Threads, tile>;

    typename sort::room tokens;
    std::uint32_t lost_before[Items][warps]; // keys of lost_rank in each row of a warp, and then before it
    warp_sums<std::uint32_t, Threads> sums;
    Bits lost_rank;
  };
  struct sorted_by_digits
  {
    using sort = register_digit_sort<Threads, Items>;

    Bits keys[tile];
    place places[tile];
    typename sort::shared_storage digits;
    span_storage<Bits, Threads> span;
  };

public:
  /// Shared memory of sort_without_bins.
  struct binless_storage
  {
    union
    {
      std::conditional_t<is_merged, merged, sorted_by_digits> tile_of_keys;
      alignas(16) char room[with_values ? sizeof(Value) * tile : 1]; // in the end, values
    };

    template <class T>
    __device__ T* as()
    {
      return reinterpret_cast<T*>(room);
    }
  };

  /// keys_out and values_out are the n keys and values of `elements`, as contiguous_source has them, sorted; they may be the same
  /// arrays. `agrees(a, b)` is asked, if it `asks`, about all keys that are neighbours in the end, and `all_agree` what follows from
  /// that; it may ask for keys alone of up to 8 bytes.
  /// `likely_alike`: so many of the lowest bits are likely to be the same in all ranks.
  /// Returns false, with nothing written, if too many keys are close to each other, or keys alone differ that are equal, or
  /// somebody does not agree: sort_without_bins sorts all.
  /// n <= tile. Called by all threads of a block; shared memory may be used again after a barrier.
  template <class Elements, class Agrees = trusts_ranks>
  __device__ static bool
  sort(shared_storage& shared,
       Order const& order,
       int n,
       Elements& elements,
       Bits* keys_out,
       Value* values_out,
       int likely_alike     = 0,
       Agrees const& agrees = {})
  {
    static_assert(!Agrees::asks || !has_place);
    // Places past the end hold the first key once more: only what is written has to look where the end is.
    Bits ranks[Items];
    elements.template read_keys<Threads>(ranks, n);
    bins::clear(shared.bins_of_tile);
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
      if constexpr (Agrees::asks)
      {
        agrees.note(place_of(0), n, order.bits_of_rank(least));
        agrees.note(n - 1 - place_of(0), n, order.bits_of_rank(least));
        if (!agrees.all_agree(true))
        {
          return false;
        }
      }
      elements.template move<Threads, Items>(n, keys_out, values_out);
      return true;
    }

    // Twice as many bins as elements, as far as there are so many.
    int const all_log2  = bit_width(static_cast<std::uint32_t>(n)) + 1;
    int const bins_log2 = all_log2 < bins::max_log2 ? all_log2 : bins::max_log2;
    int lowest_alike    = 0; // bits of all ranks
    if (is_worth_leaving_out(likely_alike, width, bins_log2, has_place))
    {
      Bits differing = 0;
#pragma unroll
      for (Bits const rank : ranks)
      {
        differing |= rank ^ least;
      }
      lowest_alike = lowest_alike_of_block(differing, likely_alike);
    }
    place from[Items];
    Bits keys[Items];
    bool sorted = false;
    if constexpr (has_short)
    {
      if (!has_long || width - lowest_alike + place_bits <= 32)
      {
        sorted = sort_tokens<short_token>(
          shared, order, ranks, n, least, width, lowest_alike, bins_log2, loses, elements, agrees, from, keys);
      }
    }
    if constexpr (has_long)
    {
      if (!has_short || width - lowest_alike + place_bits > 32)
      {
        sorted = sort_tokens<long_token>(
          shared, order, ranks, n, least, width, lowest_alike, bins_log2, loses, elements, agrees, from, keys);
      }
    }
    if (sorted)
    {
      write(shared, n, from, keys, elements, keys_out, values_out);
    }
    return sorted;
  }

  /// The same, whatever the keys are. Out of line, because few inputs need it, and instructions between those that all need make these wait. It takes
  /// nearly all registers: what a caller has to keep beside it goes to memory.
  __device__ static __noinline__ void sort_without_bins(
    shared_address at, Order order, int n, contiguous_source<Bits, Value> elements, Bits* keys_out, Value* values_out)
  {
    auto& shared = at.as<binless_storage>();
    place from[Items];
    Bits keys[Items];
    if constexpr (!has_place)
    {
      merge_keys(shared.tile_of_keys, order, n, elements.keys, keys);
    }
    else if constexpr (is_merged)
    {
      merge_places(shared.tile_of_keys, order, n, elements.keys, from, keys);
    }
    else
    {
      sort_places_by_digits(shared.tile_of_keys, order, n, elements.keys, from, keys);
    }
    __syncthreads(); // what shared memory has of keys has been read, and so have all in memory
    write(shared, n, from, keys, elements, keys_out, values_out);
  }

private:
  __device__ static int place_of(int i)
  {
    return i * Threads + static_cast<int>(threadIdx.x);
  }

  /// f(i, place) for each element that the thread has.
  template <class F>
  __device__ static void for_own(int n, F f)
  {
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      if (place_of(i) < n)
      {
        f(i, place_of(i));
      }
    }
  }

  /// Sorts keys alone by merging their ranks: gives each thread the keys of its places. Called by all threads.
  __device__ static void merge_keys(merged& shared, Order const& order, int n, Bits const* keys_in, Bits (&keys)[Items])
  {
    bool loses = false;
    for_own(n, [&](int, int at) {
      Bits const key    = keys_in[at];
      Bits const rank   = order.rank_of(key);
      shared.tokens[at] = rank;
      if (order.loses(key))
      {
        loses            = true;
        shared.lost_rank = rank;
      }
    });
    merged::sort::sort(shared.tokens, static_cast<unsigned>(n));
    lost_range lost{n, n};
    if constexpr (Order::may_lose)
    {
      if (__syncthreads_or(loses) != 0)
      {
        lost = restore_lost(shared, order, n, keys_in);
      }
    }
    for_own(n, [&](int i, int at) {
      auto const own = static_cast<Bits>(shared.tokens[at]);
      keys[i]        = lost.has(at) ? own : order.bits_of_rank(own);
    });
  }

  /// Sorted keys that their rank does not tell.
  struct lost_range
  {
    int begin, end;

    __device__ bool has(int at) const
    {
      return at >= begin && at < end;
    }
  };

  /// Puts the keys of lost_rank where its sorted tokens are, in the order of the input. Called by all threads, after a barrier; ends with one.
  __device__ static lost_range restore_lost(merged& shared, Order const& order, int n, Bits const* keys_in)
  {
    static_assert(Items * warps <= Threads);
    Bits const lost          = shared.lost_rank;
    auto const first_without = [&](auto is_before) { // of the sorted tokens
      int first = 0, open = n;
      while (open > 0)
      {
        int const half = open / 2;
        bool const is  = is_before(shared.tokens[first + half]);
        first          = is ? first + half + 1 : first;
        open           = is ? open - half - 1 : half;
      }
      return first;
    };
    lost_range const range{first_without([lost](whole_token token) { return token < lost; }),
                           first_without([lost](whole_token token) { return token <= lost; })};
    int const lane = static_cast<int>(threadIdx.x) % 32;
    int const warp = static_cast<int>(threadIdx.x) / 32;
    Bits keys[Items];
    std::uint32_t are_lost[Items]; // lanes
    read_tile<Threads>(keys, n, [&](int at) { return keys_in[at]; });
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      are_lost[i] = __ballot_sync(all_lanes, place_of(i) < n && order.rank_of(keys[i]) == lost);
      if (lane == 0)
      {
        shared.lost_before[i][warp] = static_cast<std::uint32_t>(__popc(are_lost[i]));
      }
    }
    __syncthreads(); // and all have found the range
    auto* const counts         = &shared.lost_before[0][0];
    bool const has_count       = threadIdx.x < Items * warps;
    std::uint32_t const before = exclusive_sum<Threads>(shared.sums, has_count ? counts[threadIdx.x] : 0u);
    if (has_count)
    {
      counts[threadIdx.x] = before;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      if ((are_lost[i] >> lane & 1u) != 0)
      {
        std::uint32_t const lower = (std::uint32_t{1} << lane) - 1;
        int const number          = static_cast<int>(shared.lost_before[i][warp]) + __popc(are_lost[i] & lower);
        shared.tokens[static_cast<unsigned>(range.begin + number)] = keys[i];
      }
    }
    __syncthreads();
    return range;
  }

  /// Sorts by merging ranks with places behind them: gives each thread the keys of its places, and where they were. Called by all threads.
  __device__ static void merge_places(
    merged& shared, Order const& order, int n, Bits const* keys_in, place (&from)[Items], Bits (&keys)[Items])
  {
    for_own(n, [&](int, int at) {
      shared.tokens[at] = static_cast<whole_token>(
        static_cast<whole_token>(order.rank_of(keys_in[at])) << place_bits | static_cast<whole_token>(at));
    });
    merged::sort::sort(shared.tokens, static_cast<unsigned>(n));
    for_own(n, [&](int i, int at) {
      from[i] = place_in(shared.tokens[at]);
      keys[i] = keys_in[from[i]];
    });
  }

  /// The same digit by digit, the least significant first.
  __device__ static void sort_places_by_digits(
    sorted_by_digits& shared, Order const& order, int n, Bits const* keys_in, place (&from)[Items], Bits (&keys)[Items])
  {
    using by_digits = typename sorted_by_digits::sort;
    Bits least      = static_cast<Bits>(~Bits{0});
    Bits greatest   = 0;
    typename by_digits::digit_rank ranking(shared.digits.counts, n);
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      from[i] = static_cast<place>(ranking.element(i));
      if (ranking.holds(i))
      {
        Bits const key       = keys_in[from[i]];
        Bits const rank      = order.rank_of(key);
        least                = rank < least ? rank : least;
        greatest             = greatest < rank ? rank : greatest;
        shared.keys[from[i]] = key; // until their order is known
      }
    }
    span_of_block(shared.span, least, greatest);
    int const width = bit_width(static_cast<Bits>(greatest - least));
    by_digits::sort(shared.digits, ranking, from, width, shared.places, [&](place own, int low) {
      return static_cast<unsigned>(static_cast<Bits>(order.rank_of(shared.keys[own]) - least) >> low);
    });
    read_tile<Threads>(from, n, [&](int i) { return shared.places[i]; });
    read_tile<Threads>(keys, n, [&](int i) { return shared.keys[shared.places[i]]; });
  }

  /// Keys and, if tokens have them, places of the sorted elements. Returns false if tokens cannot tell the order.
  template <class Token, class Elements, class Agrees>
  __device__ static bool sort_tokens(
    shared_storage& shared,
    Order const& order,
    Bits const (&ranks)[Items],
    int n,
    Bits least,
    int width,
    int lowest_alike,
    int bins_log2,
    bool loses,
    Elements& elements,
    Agrees const& agrees,
    place (&from)[Items],
    Bits (&keys)[Items])
  {
    constexpr int token_bits = static_cast<int>(sizeof(Token)) * 8;
    int const too_many       = has_place && width > token_bits - place_bits ? width - (token_bits - place_bits) : 0;
    bool const partial       = too_many > lowest_alike; // bits that are left out say something
    int const left_out       = !has_place ? 0 : partial ? too_many : lowest_alike;
    bin_split const split    = split_into_bins(width - left_out + place_bits, bins_log2, has_place ? 0 : lowest_alike);
    if ((!has_place && loses) || !fill_bins<Token>(shared, ranks, n, least, left_out, partial, split, bins_log2))
    {
      return false;
    }
    if constexpr (has_place)
    {
      if (partial || loses)
      {
        return read_places<Token>(shared, order, n, elements, partial, from, keys);
      }
    }
    Token const* const tokens = shared.template as<Token>();
    auto const key_of         = [&](Token token) {
      return order.bits_of_rank(
        static_cast<Bits>(least + static_cast<Bits>(static_cast<Bits>(token >> place_bits) << left_out)));
    };
    bool agreed = true;
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      int const at    = place_of(i);
      Token const own = tokens[bins::template index_of<Token>(at)];
      from[i]         = place_in(own);
      keys[i]         = key_of(own);
      if constexpr (Agrees::asks)
      {
        agrees.note(at, n, keys[i]);
        if (at > 0 && at < n)
        {
          agreed = agrees(key_of(tokens[bins::template index_of<Token>(at - 1)]), keys[i]) && agreed;
        }
      }
    }
    return !Agrees::asks || agrees.all_agree(agreed);
  }

  template <class Token>
  __device__ static place place_in(Token own)
  {
    return static_cast<place>(own & ((1 << place_bits) - 1));
  }

  /// Sorts the tokens of the ranks: into bins of equal width, and each bin in registers. Returns false if
  /// bins are too full for that. `partial`: bits that are left out say something. Called with the bins cleared; afterwards all threads may read the
  /// tokens.
  template <class Token>
  __device__ static bool fill_bins(
    shared_storage& shared,
    Bits const (&ranks)[Items],
    int n,
    Bits least,
    int left_out,
    bool partial,
    bin_split const& split,
    int bins_log2)
  {
    Token* const tokens  = shared.template as<Token>();
    int const shift      = split.shift;
    auto const bin_of    = [&](Token own) { return static_cast<std::uint32_t>(own >> shift); };
    auto& counts         = shared.bins_of_tile.counts;
    bool const are_alike = split.are_alike; // tokens that share a bin

    Token own[Items];
    // The number of each element in its bin, which depends on chance; two in a word, for want of registers. Tokens that say nothing
    // but their rank get it later, when they are counted once more.
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
      auto const bin = bins::place_of(bin_of(own[i]), bins_log2);
      if (place_of(i) < n)
      {
        std::uint32_t const found = atomicAdd(&counts[bin.word], bin.one());
        if constexpr (has_place)
        {
          numbers[i / 2] = i % 2 == 0 ? bin.of(found) : __byte_perm(numbers[i / 2], found, bin.lower ? 0x5410 : 0x7610);
        }
      }
    }
    __syncthreads();
    if (!bins::template begin<Token, is_merged>(shared.bins_of_tile, n, bins_log2, are_alike, !has_place))
    {
      return false;
    }
    // The compiler may not keep the bins from above, for which there are no registers.
    int same_shift = shift;
    asm volatile("" : "+r"(same_shift));
    auto const same_bin_of = [&](Token token) {
      return bins::place_of(static_cast<std::uint32_t>(token >> same_shift), bins_log2);
    };
    auto const put = [&](std::uint32_t place, Token token) { tokens[bins::template index_of<Token>(place)] = token; };
    if constexpr (has_place)
    {
      // All places are known before the first token is written: the compiler cannot tell that they do not overlap.
#pragma unroll
      for (int i = 0; i < Items; ++i)
      {
        auto const bin            = same_bin_of(own[i]);
        std::uint32_t const begin = bin.of(counts[bin.word]);
        // No carry: places in the tile have 16 bits.
        numbers[i / 2] += i % 2 == 0 ? begin : begin << 16;
      }
    }
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      if (place_of(i) < n)
      {
        if constexpr (has_place)
        {
          put(bins::half_of(numbers[i / 2], i % 2 == 0), own[i]);
        }
        else
        {
          auto const bin = same_bin_of(own[i]);
          put(bin.of(atomicAdd(&counts[bin.word], bin.one())), own[i]);
        }
      }
    }
    // Tokens that leave out such bits do not tell how to split what they have in common.
    return bins::sort(shared.bins_of_tile, tokens, n, are_alike, !partial);
  }

  /// Keys and places from tokens that tell places only. Returns false if keys are too much out of order: `partial` tokens leave out
  /// bits.
  template <class Token, class Elements>
  __device__ static bool read_places(
    shared_storage& shared,
    Order const& order,
    int n,
    Elements& elements,
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
        Token const own  = tokens[bins::template index_of<Token>(at)];
        Token const last = tokens[bins::template index_of<Token>(at > 0 ? at - 1 : 0)];
        from[i]          = place_in(own);
        // Only neighbours whose tokens are alike but for the place can be out of order.
        before[i] = partial && own >> place_bits == last >> place_bits ? place_in(last) : from[i];
      }
    }
    __syncthreads();
    elements.template stage_keys<Threads, Items>(n, shared.template as<Bits>());
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
    if (__syncthreads_and(in_order) != 0)
    {
      return true;
    }
    if constexpr (splits)
    {
      return put_in_order(shared, order, n, from, keys);
    }
    return false;
  }

  /// Puts in order what is not, of sorted keys and the places where they were, when keys have been staged.
  __device__ static bool
  put_in_order(shared_storage& shared, Order const& order, int n, place (&from)[Items], Bits (&keys)[Items])
  {
    static_assert(sizeof(shared.bins_of_tile.counts) >= tile * sizeof(place));
    auto* const places = reinterpret_cast<place*>(shared.bins_of_tile.counts); // bins are done with
    auto const rank_at = [&](int i) { return order.rank_of(shared.template as<Bits>()[places[i]]); };
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      if (place_of(i) < n)
      {
        places[place_of(i)] = from[i];
      }
    }
    __syncthreads();
    bool const is_sorted = order_neighbours<Threads>(
      n,
      [&](int i, int j) { return rank_at(i) < rank_at(j); },
      [&](int i) {
        place const first = places[i];
        places[i]         = places[i + 1];
        places[i + 1]     = first;
      });
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      if (place_of(i) < n)
      {
        from[i] = places[place_of(i)];
        keys[i] = shared.template as<Bits>()[from[i]];
      }
    }
    return is_sorted;
  }

  /// Writes the sorted elements. All keys of the input have been read.
  template <class Storage, class Elements>
  __device__ static void
  write(Storage& shared,
        int n,
        place const (&from)[Items],
        Bits const (&keys)[Items],
        Elements& elements,
        Bits* keys_out,
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
      elements.template stage_values<Threads, Items>(n, shared.template as<Value>());
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
