// Sorts elements inside a block by bins, as bin_sort.cuh does, but stages the keys in shared memory and reads them there for
// each step: so registers limit neither how many elements a block sorts, nor how many threads are at work. Stable.
// Source: as of bin_sort.cuh.
#pragma once

#include <gpusort/block/bins.cuh>
#include <gpusort/block/bit_width.h>
#include <gpusort/block/close_sort.cuh>
#include <gpusort/block/span.cuh>
#include <gpusort/block/staged_keys.cuh>
#include <gpusort/block/tile.cuh>
#include <gpusort/block/words.cuh>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::block
{

/// What staged_bin_sort sorts in place of keys.
enum class token_width
{
  as_needed, // short tokens, if these tell ranks, or else long ones
  // For more elements than there is room for long ones:
  short_or_fail, // only keys whose ranks are so close that short tokens tell them
  always_short // where short tokens do not, neighbours are put in order in the end
};

/// Up to `Most` elements; `Order` and `Full` as in bin_sort, but that ranks need not tell keys: `Order::rank` is their type, and
/// `Order::tells_keys` says whether `bits_of_rank` exists.
template <class Bits,
          class Value,
          class Order,
          int Threads,
          int Most,
          full_bins Full,
          token_width Width = token_width::as_needed>
class staged_bin_sort
{
  // What is sorted is a token, as in bin_sort: how far the key's rank is from the least, and where the element is staged. The lowest
  // bits of distances are left out, if they are the same in all or distances are too wide.
  static constexpr int place_bits = Most <= 1 << 13 ? 13 : 15;
  using short_token               = std::uint32_t;
  using long_token                = std::uint64_t;
  using longest_token             = std::conditional_t<Width == token_width::as_needed, long_token, short_token>;
  static_assert(Most <= 1 << place_bits && Most % 32 == 0);

  // Where short tokens save room, fewer bins do, too, and so they do for what two blocks a multiprocessor have room for by that.
  static constexpr int all_bins_log2 = Most >= 16384 ? 14 : Most > 4096 && Width != token_width::always_short ? 13 : 12;
  using bins                         = key_bins<Threads, all_bins_log2, false, Most / 6, Full>;

  using rank_type = typename Order::rank;

  static constexpr int at_once      = 4; // elements that a thread reads
  static constexpr bool with_values = !std::is_same_v<Value, no_values>;
  static constexpr bool splits      = splits_bins(Full);
  // Wide keys, which lie side by side where they come from, are moved by all threads word by word.
  static constexpr bool are_wide = sizeof(Bits) > widest_moved_key;
  static constexpr std::size_t staged_bytes =
    staged_stride<Bits> < sizeof(Value) ? sizeof(Value) : staged_stride<Bits>; // of a key, then of a value

public:
  static constexpr int tile       = Most;
  static constexpr bool is_staged = true;

  static constexpr int most_bins_log2 = bins::max_log2; // as a power of two

  struct shared_storage
  {
    alignas(16) char tokens[bins::template bytes_of<longest_token>(Most)];
    alignas(16) char staged[Most * staged_bytes];
    typename bins::shared_storage bins_of_tile;
    span_storage<rank_type, Threads> span;
  };

  /// keys_out and values_out are the n keys and values of a source, as in tile.cuh, sorted. They may be where it reads from: all
  /// keys are read before any is written, and so are values.
  /// `agrees(a, b)` is asked about all keys that are neighbours in the end, and `all_agree` what follows from that. If it `mends`,
  /// agrees(a, b, came_first) says whether neighbours are in order, as stable as is asked for; those few that are not, change places.
  /// `likely_alike`: so many of the lowest bits are likely to be the same in all ranks.
  /// Returns false, with nothing written, if too many keys are close to each other, somebody does not agree, or, with short_or_fail, some are too far
  /// from each other. n <= most. Called by all threads of a block; shared memory may be used again after a barrier.
  template <class Source, class Agrees = trusts_ranks>
  __device__ static bool
  sort(shared_storage& shared,
       Order const& order,
       int n,
       Source& source,
       Bits* keys_out,
       Value* values_out,
       int likely_alike     = 0,
       Agrees const& agrees = {})
  {
    bins::clear(shared.bins_of_tile);
    rank_type least = static_cast<rank_type>(~rank_type{0}), greatest = 0;
    bool loses      = false;
    auto const look = [&](Bits const& key) {
      rank_type const rank = order.rank_of(key);
      loses                = loses || order.loses(key);
      least                = rank < least ? rank : least;
      greatest             = greatest < rank ? rank : greatest;
    };
    if constexpr (are_wide)
    {
      stage_words(n, shared, source.keys);
      __syncthreads();
      for_places(n, [&](int at) { look(keys_of(shared)[at]); });
    }
    else
    {
      stage<Bits>(
        n,
        shared,
        source,
        [&](auto& held, int first_row) { source.template load_keys<warps>(held, n, first_row); },
        look);
    }
    loses               = span_of_block(shared.span, least, greatest, loses);
    int const width     = bit_width(static_cast<rank_type>(greatest - least));
    int lowest_alike    = 0; // bits of all ranks
    bool const shortens = sizeof(rank_type) <= 4 && width + place_bits > 32 && width - likely_alike + place_bits <= 32;
    if (shortens || is_worth_leaving_out(likely_alike, width, bins::max_log2, true))
    {
      rank_type differing = 0;
      for_places(n, [&](int at) { differing |= order.rank_of(keys_of(shared)[at]) ^ least; });
      lowest_alike = lowest_alike_of_block(differing, likely_alike);
    }
    if constexpr (sizeof(rank_type) <= 4 || Width == token_width::always_short)
    {
      if (Width == token_width::always_short || width - lowest_alike + place_bits <= 32)
      {
        return sort_tokens<short_token>(
          shared, order, n, least, width, lowest_alike, loses, source, keys_out, values_out, agrees);
      }
    }
    if constexpr (Width != token_width::as_needed)
    {
      return false;
    }
    else
    {
      return sort_tokens<long_token>(
        shared, order, n, least, width, lowest_alike, loses, source, keys_out, values_out, agrees);
    }
  }

private:
  static constexpr int warps = Threads / 32;

  template <class T>
  __device__ static T* staged(shared_storage& shared)
  {
    return reinterpret_cast<T*>(shared.staged);
  }

  __device__ static staged_keys_t<Bits> keys_of(shared_storage& shared)
  {
    return block::staged_at<Bits>(shared.staged);
  }

  /// The words of wide keys: those of n keys side by side, by number.
  using word                              = word_t<Bits>;
  static constexpr unsigned words         = sizeof(Bits) / sizeof(word);
  static constexpr unsigned words_at_once = 8; // that a thread has under way
  struct staged_words
  {
    staged_keys_t<Bits> keys;

    __device__ word& operator[](unsigned number) const
    {
      return reinterpret_cast<word*>(&keys[number / words])[number % words];
    }
  };

  /// Copies n keys to shared memory.
  __device__ static void stage_words(int n, shared_storage& shared, Bits const* keys)
  {
    auto const* const from = reinterpret_cast<word const*>(keys);
    block::move_words<Threads, words_at_once>(
      threadIdx.x, staged_words{keys_of(shared)}, static_cast<unsigned>(n) * words, [from](unsigned i) {
        return from + i;
      });
  }

  /// Reads n elements and keeps them in shared memory; `look` is called with each.
  template <class T, class Source, class Load, class Look>
  __device__ static void stage(int n, shared_storage& shared, Source& source, Load load, Look look)
  {
#pragma unroll 1
    for (int first = 0; first < n; first += Threads * at_once)
    {
      T held[at_once];
      if (first > 0)
      {
        source.finish_load();
      }
      load(held, first / 32 + static_cast<int>(threadIdx.x) / 32);
#pragma unroll
      for (int i = 0; i < at_once; ++i)
      {
        int const at = first + i * Threads + static_cast<int>(threadIdx.x);
        if (at < n)
        {
          staged<T>(shared)[at] = held[i];
          look(held[i]);
        }
      }
    }
  }

  /// Where the element of a token is staged.
  template <class Token>
  __device__ static int place_in(Token token)
  {
    return static_cast<int>(token & ((1 << place_bits) - 1));
  }

  /// f(place) for all places of the thread, several at once.
  template <class F>
  __device__ static void for_places(int n, F f)
  {
#pragma unroll 4
    for (int at = static_cast<int>(threadIdx.x); at < n; at += Threads)
    {
      f(at);
    }
  }

  template <class Token, class Source, class Agrees>
  __device__ static bool sort_tokens(
    shared_storage& shared,
    Order const& order,
    int n,
    rank_type least,
    int width,
    int lowest_alike,
    bool loses,
    Source& source,
    Bits* keys_out,
    Value* values_out,
    Agrees const& agrees)
  {
    constexpr int token_bits = static_cast<int>(sizeof(Token)) * 8;
    int const too_many       = width > token_bits - place_bits ? width - (token_bits - place_bits) : 0;
    bool const partial       = too_many > lowest_alike; // bits that are left out say something
    int const left_out       = partial ? too_many : lowest_alike;
    int const all_bits       = width - left_out + place_bits;
    int const most_log2 =
      bit_width(static_cast<std::uint32_t>(n)) + 1; // twice as many as elements, as far as there are so many
    int const bins_log2 = most_log2 < bins::max_log2 ? most_log2 : bins::max_log2;
    int const shift     = all_bits > bins_log2 ? all_bits - bins_log2 : 0;
    auto& counts        = shared.bins_of_tile.counts;
    auto* const tokens  = reinterpret_cast<Token*>(shared.tokens);
    auto const keys     = keys_of(shared);
    auto const token_at = [&](int at) {
      return static_cast<Token>(
        static_cast<Token>(static_cast<rank_type>(order.rank_of(keys[at]) - least) >> left_out) << place_bits
        | static_cast<Token>(at));
    };
    auto const bin_of = [&](Token token) {
      return bins::place_of(static_cast<std::uint32_t>(token >> shift), bins_log2);
    };
    for_places(n, [&](int at) {
      auto const bin = bin_of(token_at(at));
      atomicAdd(&counts[bin.word], bin.one());
    });
    __syncthreads();
    bool const are_alone = shift == 0; // tokens in their bins
    if (!bins::template begin<Token>(shared.bins_of_tile, n, bins_log2, are_alone, false))
    {
      return false;
    }
    for_places(n, [&](int at) {
      Token const token         = token_at(at);
      auto const bin            = bin_of(token);
      std::uint32_t const place = bin.of(atomicAdd(&counts[bin.word], bin.one())); // no carry: it has 16 bits
      tokens[bins::template index_of<Token>(place)] = token;
    });
    if (!bins::sort(shared.bins_of_tile, tokens, n, are_alone))
    {
      return false;
    }
    bool const staged_only = partial || loses; // a token does not tell its key
    auto const key_of      = [&](Token token) -> std::conditional_t<Order::tells_keys, Bits, Bits const&> {
      if constexpr (Order::tells_keys)
      {
        if (!staged_only)
        {
          return order.bits_of_rank(
            static_cast<Bits>(least + static_cast<Bits>(static_cast<Bits>(token >> place_bits) << left_out)));
        }
      }
      return keys[place_in(token)];
    };
    auto const token_in = [&](int at) -> Token& { return tokens[bins::template index_of<Token>(at)]; };
    auto const swap     = [&](int at) { // with the next
      Token const first = token_in(at);
      token_in(at)      = token_in(at + 1);
      token_in(at + 1)  = first;
    };
    auto const is_right = [&] { // as far as this thread sees
      bool right = true;
      for_places(n, [&](int at) {
        Token const token  = token_in(at);
        Token const before = token_in(at > 0 ? at - 1 : 0);
        // Keys whose tokens differ by more than their places are in the order of their ranks.
        if (Agrees::asks || token >> place_bits == before >> place_bits)
        {
          auto const& own  = key_of(token);
          auto const& last = key_of(before);
          agrees.note(at, n, own);
          if constexpr (Agrees::mends)
          {
            right = right && (at == 0 || agrees(last, own, place_in(before) < place_in(token)));
          }
          else
          {
            right = right && (at == 0 || (order.rank_of(last) <= order.rank_of(own) && agrees(last, own)));
          }
        }
      });
      return right;
    };
    if (Agrees::asks || partial) // otherwise tokens are in the order of all of their ranks
    {
      bool right          = is_right();
      auto const place_at = [&](int at) { return place_in(token_in(at)); };
      // At first those whose tokens differ by no more than their places, which asks the fewest questions.
      for (bool close = partial; (Agrees::mends || (splits && partial)) && __syncthreads_or(!right) != 0; close = false)
      {
        auto const goes_forward = [&](int later, int at) {
          if (close && token_in(later) >> place_bits != token_in(at) >> place_bits)
          {
            return false;
          }
          int const a = place_at(later), b = place_at(at);
          if constexpr (Agrees::mends)
          {
            return !agrees(keys[b], keys[a], b < a);
          }
          else
          {
            return order.rank_of(keys[a]) < order.rank_of(keys[b]);
          }
        };
        if (!order_neighbours<Threads>(n, goes_forward, swap))
        {
          return false;
        }
        right = is_right();
        if (!close || !Agrees::mends)
        {
          break;
        }
      }
      if (!agrees.all_agree(right))
      {
        return false;
      }
    }
    if constexpr (are_wide)
    {
      staged_words const from{keys};
      block::move_words<Threads, words_at_once>(
        threadIdx.x, reinterpret_cast<word*>(keys_out), static_cast<unsigned>(n) * words, [&](unsigned i) {
          auto const place = static_cast<unsigned>(place_in(token_in(static_cast<int>(i / words))));
          return &from[place * words + i % words];
        });
    }
    else
    {
      for_places(n, [&](int at) { keys_out[at] = key_of(token_in(at)); });
    }
    if constexpr (with_values)
    {
      write_values(shared, n, tokens, source, values_out);
    }
    return true;
  }

  /// Writes the values of sorted tokens.
  template <class Token, class Source>
  __device__ static void
  write_values(shared_storage& shared, int n, Token const* tokens, Source& source, Value* values_out)
  {
    __syncthreads();
    stage<Value>(
      n,
      shared,
      source,
      [&](auto& held, int first_row) { source.template load_values<warps>(held, n, first_row); },
      [](Value const&) {});
    __syncthreads();
    Value const* const values = staged<Value>(shared);
    for_places(n, [&](int at) { values_out[at] = values[place_in(tokens[bins::template index_of<Token>(at)])]; });
  }
};

} // namespace gpusort::block
