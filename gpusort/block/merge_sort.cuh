// A stable merge sort of one tile inside one block, for any comparator.
#pragma once

#include <gpusort/block/merge.cuh>
#include <gpusort/block/staged_keys.cuh>
#include <gpusort/block/tile.cuh>
#include <gpusort/block/warp.cuh>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::block
{

/// Two sorted runs of a tile that are merged: to where the first one begins.
struct run_pair
{
  int a_begin;
  int a_size;
  int b_begin;
  int b_size;
};

/// The runs that the merge sort of a tile begins with: what each thread has in its registers, sorted by itself.
template <int Items>
struct runs_of_threads
{
  static constexpr bool are_sorted = false; // yet

  int size; // of the tile

  /// Places that threads read.
  __device__ int extent() const
  {
    return size;
  }
  /// Whether there is anything to merge in a round. After each, there are half as many runs.
  __device__ bool are_left(int round) const
  {
    return Items << round < size;
  }
  /// The pair that a thread merges a part of.
  __device__ run_pair pair(int thread, int round) const
  {
    int const run    = Items << round;
    int const begin  = (thread >> (round + 1)) * 2 * run;
    int const middle = begin + run < size ? begin + run : size;
    int const end    = begin + 2 * run < size ? begin + 2 * run : size;
    return {begin, middle - begin, middle, end - middle};
  }
};

/// Two runs side by side, sorted already.
struct two_runs
{
  static constexpr bool are_sorted = true;

  int a_size;
  int size; // of both

  __device__ int extent() const
  {
    return size;
  }
  __device__ bool are_left(int round) const
  {
    return round == 0 && a_size > 0 && a_size < size;
  }
  __device__ run_pair pair(int, int) const
  {
    return {0, a_size, a_size, size - a_size};
  }
};

/// 2^log2 runs of any sizes, sorted already. Each begins where a thread's places do, with a gap behind it if need be, so that
/// no thread has to do with two of them. All arrays are in shared memory.
template <int Items>
struct listed_runs
{
  static constexpr bool are_sorted = true;

  int const* threads_before; // how many threads have the runs before one; one more for all
  int const* sizes_before; // and how many elements
  std::uint8_t const* run_of_thread;
  int log2;
  int rounds; // log2, or 0 if no more than one run has elements

  __device__ int extent() const
  {
    return threads_before[1 << log2] * Items;
  }
  __device__ bool are_left(int round) const
  {
    return round < rounds;
  }
  __device__ run_pair pair(int thread, int round) const
  {
    int const first  = run_of_thread[thread] >> (round + 1) << (round + 1);
    int const middle = first + (1 << round);
    int const end    = middle + (1 << round);
    return {threads_before[first] * Items,
            sizes_before[middle] - sizes_before[first],
            threads_before[middle] * Items,
            sizes_before[end] - sizes_before[middle]};
  }
};

/// For callers that need not look at the keys before they are moved away.
struct look_at_nothing
{
  template <class KeyAt>
  __device__ void operator()(KeyAt) const
  {}
};

/// A tile of `Threads` x `Items` elements, which 16 bits can number.
template <class Key, class Value, class Compare, int Threads, int Items>
class merge_sort
{
public:
  static constexpr int tile         = Threads * Items;
  static constexpr bool with_values = !std::is_empty_v<Value>;

  static_assert(tile <= 65536 && Threads % 32 == 0);

private:
  static constexpr bool by_number    = sizeof(Key) > widest_moved_key;
  static constexpr bool needs_origin = with_values && !by_number; // beside the keys
  using item                         = std::conditional_t<by_number, std::uint16_t, Key>; // what is sorted
  // What a thread has it sorts by halves, which it then merges: in registers each key is compared with half of the others, which more than a
  // few pay for. Measured on an H200 with CUDA 13.0, hybrid sort of 2^26 u32 in an order that values say nothing of: 2,050 us and 1,959.
  static constexpr bool sorts_halves = Items > 11;
  static constexpr int half          = sorts_halves ? (Items + 1) / 2 : Items; // elements of the first

public:
  struct shared_storage
  {
    union
    {
      alignas(16) char keys[staged_stride<Key> * (tile + 1)]; // a merge may look one place too far
      alignas(16) char values[sizeof(Value) * (with_values ? tile : 1)];
    };
    // Where in the tile the key at a place came from.
    std::uint16_t origin[with_values || by_number ? tile + 1 : 1];
    int a_of_warp[Threads / 32 + 1]; // where the first thread of each warp began in its first run
  };

  /// The key at a place of what sort_in_shared has sorted.
  __device__ static Key const& key_at(shared_storage const& shared, int place, bool is_sorted = true)
  {
    return keys_of(shared)[by_number && is_sorted ? shared.origin[place] : place];
  }

  /// Sorts `size` <= tile elements of a source, as in tile.cuh, into the outputs, where the source may read from.
  /// If they `are_sorted`, they are only moved. Called by all threads. Whatever the comparator answers, the output is a
  /// permutation of the input: if it contradicts itself the elements come out as they went in. `look` is called by all
  /// threads with what tells the keys by their new places.
  template <class Source, class Look = look_at_nothing>
  __device__ static void
  sort(shared_storage& shared,
       Source& source,
       Key* keys_out,
       Value* values_out,
       int size,
       bool are_sorted,
       Compare comp,
       Look look = {})
  {
    bool is_ordered = false; // by this function
    for (bool again = true; again;)
    {
      load_keys<false, false>(shared, source, size);
      is_ordered = !are_sorted && sort_in_shared(shared, runs_of_threads<Items>{size}, comp);
      again      = !is_ordered && !are_sorted;
      are_sorted = true; // or as good as can be
    }
    look([&](int place) -> Key const& { return key_at(shared, place, is_ordered); });
    move_out<false, 0>(shared, source, keys_out, values_out, size, size, is_ordered);
  }

  /// Merges the `size` elements of sorted runs into the outputs: those that the source has where the runs say. Called by all
  /// threads, as `look` is. `NearlyFull`: most tiles are, and the source can fill all places. If the comparator contradicts itself,
  /// nothing is written, and the answer is false for all threads.
  template <bool NearlyFull, class Source, class Look>
  __device__ static bool
  merge(shared_storage& shared,
        Source& source,
        listed_runs<Items> const& runs,
        Key* keys_out,
        Value* values_out,
        int size,
        Compare comp,
        Look look)
  {
    // Tiles whose last row alone may not be whole take fewer instructions.
    constexpr int whole_rows = Items - 1;
    bool const is_full       = NearlyFull && size >= whole_rows * Threads;
    if (is_full)
    {
      load_keys<true, true>(shared, source, runs.extent());
    }
    else
    {
      load_keys<false, true>(shared, source, runs.extent());
    }
    bool const is_ordered = sort_in_shared(shared, runs, comp);
    if (is_ordered)
    {
      look([&](int place) -> Key const& { return key_at(shared, place); });
      if (is_full)
      {
        move_out<true, whole_rows>(shared, source, keys_out, values_out, size, runs.extent(), true);
      }
      else
      {
        move_out<false, 0>(shared, source, keys_out, values_out, size, runs.extent(), true);
      }
    }
    return is_ordered;
  }

  /// Merges of sorted runs look at places behind all `extent` > 0 of them: at those of the last thread that has some, and one more, which
  /// get keys by this. Called by a thread that has written the first place itself, before the barrier that all wait at.
  __device__ static void fill_behind(shared_storage& shared, int extent)
  {
    auto const keys = keys_of(shared);
    int const end   = (extent + Items - 1) / Items * Items;
    for (int place = extent; place <= end; ++place)
    {
      keys[place] = keys[0];
    }
  }

  /// Sorts what shared.keys has of runs, after a barrier and, if they are sorted, fill_behind; all threads may ask for key_at and
  /// shared.origin afterwards. False, for all threads, if the comparator contradicted itself: those are then some of the keys.
  template <class Runs>
  __device__ static bool sort_in_shared(shared_storage& shared, Runs const& runs, Compare& comp)
  {
    item* const items = items_of(shared);
    order before{keys_of(shared), comp};
    int const thread = static_cast<int>(threadIdx.x);
    int const lane   = thread % 32;
    int const warp   = thread / 32;
    int const begin  = thread * Items; // of this thread's places
    int const own    = runs.extent() - begin; // places from there on

    // Sorted keys are merged from where they are, and numbers have yet to be written.
    constexpr bool is_in_place = Runs::are_sorted && !by_number;
    item held[Items];
    std::uint16_t origin[needs_origin ? Items : 1];
    bool holds = own > 0 && (!is_in_place || (needs_origin && !runs.are_left(0))); // what is to be written
    if (holds)
    {
#pragma unroll
      for (int i = 0; i < Items; ++i)
      {
        // The last thread may have fewer elements than others: its other places, and the one behind, get its first. Merges look there.
        int const place = begin + (i < own ? i : 0);
        if constexpr (by_number)
        {
          held[i] = static_cast<std::uint16_t>(place);
        }
        else
        {
          held[i] = items[place];
        }
        if constexpr (needs_origin)
        {
          origin[i] = static_cast<std::uint16_t>(begin + i);
        }
      }
      if (own <= Items && !is_in_place)
      {
        items[begin + Items] = held[0];
      }
      if constexpr (!Runs::are_sorted)
      {
        if (own >= Items)
        {
          sort_in_registers<true>(held, origin, Items, before);
        }
        else
        {
          sort_in_registers<false>(held, origin, own, before);
        }
        if constexpr (sorts_halves)
        {
          store(shared, held, origin, begin);
          int const size = own < Items ? own : Items;
          int a          = begin;
          merge_both<true>(
            shared, a, begin + (size < half ? size : half), begin + half, begin + size, held, origin, true, before);
        }
      }
    }
    bool consistent = true;
    int ended_at    = -1; // in the first run: where the next warp's first thread has to have begun
    for (int round = 0; runs.are_left(round); ++round)
    {
      bool const is_written = !is_in_place || round > 0;
      if (is_written)
      {
        __syncthreads();
        consistent = consistent && (ended_at < 0 || ended_at == shared.a_of_warp[warp + 1]);
        ended_at   = -1;
        if (holds)
        {
          store(shared, held, origin, begin);
        }
        __syncthreads();
      }
      if (begin - lane * Items < runs.extent()) // all lanes of a warp
      {
        run_pair const pair = own > 0 ? runs.pair(thread, round) : run_pair{};
        int const diagonal  = begin - pair.a_begin; // of the pair's merge
        int const left      = own > 0 ? pair.a_size + pair.b_size - diagonal : 0;
        int a               = 0;
        if (left > 0)
        {
          a = pair.a_begin
            + block::merge_path(diagonal, items + pair.a_begin, pair.a_size, items + pair.b_begin, pair.b_size, before);
        }
        int const began = a;
        if (left > 0)
        {
          merge_both<false>(
            shared,
            a,
            pair.a_begin + pair.a_size,
            pair.b_begin + diagonal - (a - pair.a_begin),
            pair.b_begin + pair.b_size,
            held,
            origin,
            is_written,
            before);
        }
        holds = left > 0;
        if (lane == 0)
        {
          shared.a_of_warp[warp] = began;
        }
        // Where this thread ended the next one began, unless the comparator contradicts itself.
        int const next = __shfl_down_sync(all_lanes, began, 1);
        if (left > Items)
        {
          if (lane == 31)
          {
            ended_at = a;
          }
          else
          {
            consistent = consistent && a == next;
          }
        }
      }
    }
    __syncthreads();
    consistent = consistent && (ended_at < 0 || ended_at == shared.a_of_warp[warp + 1]);
    if (holds)
    {
      store(shared, held, origin, begin);
    }
    return __syncthreads_or(!consistent) == 0;
  }

  /// The keys where they are staged.
  __device__ static staged_keys_t<Key> keys_of(shared_storage const& shared)
  {
    return block::staged_at<Key>(const_cast<char*>(shared.keys));
  }

private:
  /// The order of what is sorted.
  struct order
  {
    staged_keys_t<Key> keys; // that numbers stand for
    Compare& comp;

    __device__ bool operator()(item const& a, item const& b) const
    {
      if constexpr (by_number)
      {
        return static_cast<bool>(comp(keys[a], keys[b]));
      }
      else
      {
        return static_cast<bool>(comp(a, b));
      }
    }
  };

  __device__ static item* items_of(shared_storage& shared)
  {
    if constexpr (by_number)
    {
      return shared.origin;
    }
    else
    {
      return reinterpret_cast<Key*>(shared.keys);
    }
  }

  /// The first row of a warp's elements, when the block reads them.
  __device__ static int first_row()
  {
    return static_cast<int>(threadIdx.x) / 32 * Items;
  }

  /// `Fills`: all places of the tile, not only those before `extent`. `AreSorted`: runs that are to be merged.
  template <bool Fills, bool AreSorted, class Source>
  __device__ static void load_keys(shared_storage& shared, Source& source, int extent)
  {
    auto const read = [&](auto& held) {
      if constexpr (Fills)
      {
        source.fill_keys(held, first_row());
      }
      else
      {
        source.load_keys(held, extent, first_row());
      }
    };
    load<Fills, Key>(extent, read, keys_of(shared));
    if (AreSorted && threadIdx.x == 0 && extent > 0)
    {
      fill_behind(shared, Fills ? tile : extent);
    }
    __syncthreads();
  }

  /// Moves keys, and values to match, which the source has in `extent` places. `WholeRows`: of the outputs, at least.
  template <bool Fills, int WholeRows, class Source>
  __device__ static void move_out(
    shared_storage& shared, Source& source, Key* keys_out, Value* values_out, int size, int extent, bool by_origin)
  {
    block::move_tile<Threads, Items, WholeRows>(
      size, [&](int place) { return key_at(shared, place, by_origin); }, keys_out);
    if constexpr (with_values)
    {
      Value* const values = reinterpret_cast<Value*>(shared.values);
      __syncthreads();
      auto const read = [&](auto& held) {
        if constexpr (Fills)
        {
          source.fill_values(held, first_row());
        }
        else
        {
          source.load_values(held, extent, first_row());
        }
      };
      load<Fills, Value>(extent, read, values);
      __syncthreads();
      block::move_tile<Threads, Items, WholeRows>(
        size, [&](int place) { return values[by_origin ? shared.origin[place] : place]; }, values_out);
    }
  }

  template <bool Fills, class T, class Read, class To>
  __device__ static void load(int size, Read read, To to)
  {
    T held[Items];
    read(held);
    int const first = first_row() * 32 + static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      if (Fills || first + i * 32 < size)
      {
        to[first + i * 32] = held[i];
      }
    }
  }

  /// Sorts what a thread has, or either half of it. Stable.
  template <bool Full, int Origins>
  __device__ static void
  sort_in_registers(item (&items)[Items], std::uint16_t (&origin)[Origins], int own, order& before)
  {
    transpose<Full, 0, half>(items, origin, own, before);
    transpose<Full, half, Items>(items, origin, own, before);
  }

  /// Odd-even transposition of some items: as many rounds as items, each comparing neighbours; stable, and all in registers.
  template <bool Full, int First, int Last, int Origins>
  __device__ static void transpose(item (&items)[Items], std::uint16_t (&origin)[Origins], int own, order& before)
  {
#pragma unroll
    for (int round = 0; round < Last - First; ++round)
    {
#pragma unroll
      for (int i = First + round % 2; i + 1 < Last; i += 2)
      {
        if ((Full || i + 1 < own) && block::precedes(items[i + 1], items[i], before))
        {
          item const held = items[i];
          items[i]        = items[i + 1];
          items[i + 1]    = held;
          if constexpr (needs_origin)
          {
            std::uint16_t const o = origin[i];
            origin[i]             = origin[i + 1];
            origin[i + 1]         = o;
          }
        }
      }
    }
  }

  /// Takes the thread's items from the stable merge of places [a, a_end) and [b, b_end). Afterwards a is where the first
  /// run was left. Where fewer than Items are left, what is behind them is taken for the rest, and not used. Origins that are
  /// not yet written are the places.
  template <bool StaysInside, int Origins>
  __device__ static void merge_both(
    shared_storage& shared,
    int& a,
    int a_end,
    int b,
    int b_end,
    item (&held)[Items],
    std::uint16_t (&origin)[Origins],
    bool has_origins,
    order& before)
  {
    std::uint16_t source[Items];
    block::serial_merge<StaysInside>(items_of(shared), a, a_end, b, b_end, held, source, before);
    if constexpr (needs_origin)
    {
#pragma unroll
      for (int i = 0; i < Items; ++i)
      {
        origin[i] = has_origins ? shared.origin[source[i]] : source[i];
      }
    }
  }

  template <int Origins>
  __device__ static void
  store(shared_storage& shared, item const (&items)[Items], std::uint16_t const (&origin)[Origins], int begin)
  {
#pragma unroll
    for (int i = 0; i < Items; ++i)
    {
      items_of(shared)[begin + i] = items[i];
      if constexpr (needs_origin)
      {
        shared.origin[begin + i] = origin[i];
      }
    }
  }
};

} // namespace gpusort::block
