// Sorting wide records by a number in them, if the comparator agrees: the numbers are radix-sorted, each with an index, and the records
// are gathered once.
// Source: radix sort of keys and values as in radix/device.cuh; that a guess is checked by the comparator is our own.
#pragma once

#include <gpusort/block/tile.cuh>
#include <gpusort/block/verdict.h>
#include <gpusort/block/warp.cuh>
#include <gpusort/block/words.cuh>
#include <gpusort/hybrid/tuning.h>
#include <gpusort/merge/checks.cuh>
#include <gpusort/merge/natural_order.cuh>
#include <gpusort/radix/device.cuh>
#include <gpusort/radix/record_order.h>
#include <gpusort/radix/value_order.cuh>
#include <gpusort/runtime/check.h>
#include <gpusort/runtime/dependency.cuh>
#include <gpusort/runtime/launch.cuh>
#include <gpusort/runtime/layout.h>

#include <cuda/std/functional>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::hybrid
{

/// The records that keys stand for, and how they compare: the keys themselves, unless it is specialised for a comparator that looks
/// for them elsewhere. There, the i-th key has to be i.
template <class Key, class Compare>
struct records_of
{
  using record                        = Key;
  using compare                       = Compare;
  static constexpr bool are_elsewhere = false;
};

/// Whether a record may be looked into: it is made of words, and is larger than what blocks sort buckets of by value (radix/value_order.cuh).
template <class Record>
inline constexpr bool has_numbers_v =
  radix::is_made_of_words_v<Record> && !radix::has_words_v<Record> && !radix::is_number_v<Record>
  && sizeof(Record) <= most_numbered_bytes;

template <class Record>
inline constexpr unsigned words_of_record_v = sizeof(Record) / 4;

/// What is known of an input and the numbers in its records. Zero in the beginning.
struct number_notes
{
  merge::order_seen seen; // of some neighbours
  std::uint32_t refused; // the order of the numbers, by the comparator
  std::uint32_t is_found;
  radix::record_number number; // if it is
  std::uint32_t halves_tie; // it has 8 bytes, of which the comparator may go by the upper 4

  /// Whether the order of the numbers is that of the records, as far as the comparator has been asked.
  __device__ bool may_be_order() const
  {
    return is_found != 0 && refused == 0;
  }

  /// Blocks of the same kernel may read it meanwhile.
  __device__ void refuse()
  {
    *static_cast<std::uint32_t volatile*>(&refused) = 1;
  }
};

/// Numbers that may end with a word, as a set of bits: of 4 bytes and then of 8, of each kind, upwards and downwards.
namespace numbers
{
inline constexpr unsigned ways        = 2 * radix::record_number::kinds; // of numbers of the same bytes
inline constexpr std::uint32_t narrow = (1u << ways) - 1;
inline constexpr std::uint32_t wide   = narrow << ways;
} // namespace numbers

/// Which numbers that end with a word do not go as a pair of records does, of which it is one of the highest and the lowest words.
template <bool MayBeWide>
__device__ std::uint32_t excluded_by(
  radix::relation const& by, std::uint32_t high_a, std::uint32_t low_a, std::uint32_t high_b, std::uint32_t low_b)
{
  std::uint32_t const narrow = radix::excluded_kinds(by, high_a, 0, high_b, 0);
  std::uint32_t const wide   = MayBeWide ? radix::excluded_kinds(by, high_a, low_a, high_b, low_b) : 0;
  return narrow | (MayBeWide ? wide << numbers::ways : numbers::wide);
}

/// Compares pairs of records, one a thread, from all over the input, and notes which numbers do not go as they do; and neighbours, for
/// the order that the input may have.
/// Grid: 2^k blocks, no more threads than records. Block: number_threads.
template <class Record, class Compare>
__global__ void __launch_bounds__(number_threads)
  exclude_numbers(Record const* records, std::size_t n, number_notes* notes, std::uint32_t* excluded, Compare comp)
{
  constexpr unsigned words   = words_of_record_v<Record>;
  constexpr bool may_be_wide = alignof(Record) >= 8;
  __shared__ std::uint32_t shared[words];

  runtime::wait_for_previous_kernel();
  for (unsigned w = threadIdx.x; w < words; w += number_threads)
  {
    shared[w] = 0;
  }
  // Every sampled record is in two pairs: an odd factor makes a permutation of all numbers below a power of two.
  std::uint32_t const all     = gridDim.x * number_threads;
  std::uint32_t const own     = blockIdx.x * number_threads + threadIdx.x;
  std::uint32_t const other   = (own * 0x9e3779b1u + 0x7f4a7c15u) & (all - 1);
  std::uint64_t const stride  = n / all;
  std::uint64_t const place_a = block::sampled_place(own, stride);
  std::uint64_t const place_b = block::sampled_place(other, stride);
  Record const& a             = records[place_a];
  Record const& b             = records[place_b];
  bool const is_behind        = static_cast<bool>(comp(a, b));
  radix::relation const by{is_behind, !is_behind && static_cast<bool>(comp(b, a))};
  merge::order_seen seen = 0;
  if (place_a + 1 < n)
  {
    seen = static_cast<bool>(comp(records[place_a + 1], a)) ? merge::seen::descent : merge::seen::no_descent;
  }
  __syncthreads();
  auto const* const words_a = reinterpret_cast<std::uint32_t const*>(records + place_a);
  auto const* const words_b = reinterpret_cast<std::uint32_t const*>(records + place_b);
  std::uint32_t low_a = 0, low_b = 0;
#pragma unroll 4
  for (unsigned w = 0; w < words; ++w)
  {
    std::uint32_t const high_a = words_a[w];
    std::uint32_t const high_b = words_b[w];
    std::uint32_t out          = hybrid::excluded_by<may_be_wide>(by, high_a, low_a, high_b, low_b);
    out |= w % 2 == 0 ? numbers::wide : 0;
    out = block::or_of_warp(out);
    if (threadIdx.x % 32 == 0)
    {
      atomicOr(&shared[w], out);
    }
    low_a = high_a;
    low_b = high_b;
  }
  merge::order_seen const seen_by_warp = block::or_of_warp(seen);
  if (threadIdx.x % 32 == 0)
  {
    atomicOr(&notes->seen, seen_by_warp);
  }
  __syncthreads();
  for (unsigned w = threadIdx.x; w < words; w += number_threads)
  {
    atomicOr(&excluded[w], shared[w]);
  }
}

/// The number to go by, if there is one: of 8 bytes, or of 4, the first in a record. `halves_tie`: the number has 8 bytes, and the comparator
/// may go by its upper 4. Called by all lanes of a warp.
template <unsigned Words>
__device__ bool choose_number(std::uint32_t const* excluded, radix::record_number& number, bool& halves_tie)
{
  unsigned const lane = threadIdx.x % 32;
  for (int is_wide = 1; is_wide >= 0; --is_wide)
  {
    for (unsigned base = 0; base < Words; base += 32)
    {
      unsigned const own           = base + lane;
      std::uint32_t const possible = own < Words ? ~excluded[own] : 0;
      std::uint32_t const wanted   = is_wide != 0 ? numbers::wide : numbers::narrow;
      std::uint32_t const holders  = __ballot_sync(block::all_lanes, (possible & wanted) != 0);
      if (holders != 0)
      {
        int const first           = __ffs(static_cast<int>(holders)) - 1;
        std::uint32_t const which = __shfl_sync(block::all_lanes, possible, first);
        auto const bit = (static_cast<unsigned>(__ffs(static_cast<int>(which & wanted))) - 1) % numbers::ways;
        number     = radix::record_number::of(base + static_cast<unsigned>(first), is_wide != 0, bit / 2, bit % 2 != 0);
        halves_tie = is_wide != 0 && (which >> bit & 1u) != 0;
        return true;
      }
    }
  }
  return false;
}

/// Writes the rank of each record's number and its index; the same rank for all, which is soon sorted, if there is no number to go by. Nor is
/// there if neighbours say that the input may be in order, where others would find that out sooner.
/// Grid: any. Block: number_threads.
template <bool TriesOrdered, class Record>
__global__ void __launch_bounds__(number_threads)
  read_numbers(Record const* records,
               std::uint32_t n,
               number_notes* notes,
               std::uint32_t const* excluded,
               std::uint64_t* ranks,
               std::uint32_t* indices)
{
  __shared__ bool is_found, may_be_halves;
  __shared__ radix::record_number shared;

  runtime::wait_for_previous_kernel();
  if (threadIdx.x < 32)
  {
    radix::record_number chosen{};
    bool halves_tie  = false;
    bool const found = (TriesOrdered || notes->seen == merge::seen::both)
                    && hybrid::choose_number<words_of_record_v<Record>>(excluded, chosen, halves_tie);
    if (threadIdx.x == 0)
    {
      is_found      = found;
      may_be_halves = halves_tie;
      shared        = chosen;
      if (blockIdx.x == 0 && found)
      {
        notes->is_found   = 1;
        notes->number     = chosen;
        notes->halves_tie = halves_tie ? 1 : 0;
      }
    }
  }
  __syncthreads();
  radix::record_number const number = shared;
  bool const found                  = is_found;
  // -0 in the upper half alone is +0, whatever the lower half is.
  std::uint32_t const negative_zero = may_be_halves && number.is_float ? 0x80000000u : 0;
  std::uint32_t const begin         = blockIdx.x * (number_threads * numbers_at_once) + threadIdx.x;
  for (std::uint64_t first = begin; first < n; first += std::uint64_t{gridDim.x} * (number_threads * numbers_at_once))
  {
    std::uint32_t high[numbers_at_once], low[numbers_at_once];
#pragma unroll
    for (unsigned i = 0; i < numbers_at_once; ++i)
    {
      std::uint64_t const place = first + i * number_threads;
      high[i]                   = 0;
      low[i]                    = 0;
      if (found && place < n)
      {
        auto const* const words = reinterpret_cast<std::uint32_t const*>(records + place);
        std::uint32_t const own = words[number.word];
        high[i]                 = own == negative_zero ? 0 : own;
        low[i]                  = number.is_wide ? words[number.word - 1] : 0;
      }
    }
#pragma unroll
    for (unsigned i = 0; i < numbers_at_once; ++i)
    {
      std::uint64_t const place = first + i * number_threads;
      if (place < n)
      {
        ranks[place]   = found ? number.rank_of(high[i], low[i]) : 0;
        indices[place] = static_cast<std::uint32_t>(place);
      }
    }
  }
}

/// Whether a, which is number index_a of the input, goes in front of b in a stable sort of records that comp orders.
template <class Record, class Compare>
__device__ bool
goes_before(Record const& a, std::uint32_t index_a, Record const& b, std::uint32_t index_b, Compare& comp)
{
  return static_cast<bool>(comp(a, b)) || (index_a < index_b && !static_cast<bool>(comp(b, a)));
}

template <class Record, class Compare>
__device__ bool goes_before(Record const* records, std::uint32_t a, std::uint32_t b, Compare& comp)
{
  return hybrid::goes_before(records[a], a, records[b], b, comp);
}

/// Records that may be tied: those that a number does not tell apart, or, if the comparator may go by that alone, its upper half.
struct ties
{
  std::uint64_t const* ranks; // sorted
  std::uint32_t n;
  int dropped; // bits

  __device__ std::uint64_t part_of(std::uint64_t place) const
  {
    return ranks[place] >> dropped;
  }

  /// Whether a place's record may be tied with the next one, and few enough others to be settled: those most_ties away are not.
  __device__ bool has_few_at(std::uint64_t place) const
  {
    std::uint64_t const part = part_of(place);
    return place + 1 < n && part_of(place + 1) == part && (place + most_ties >= n || part_of(place + most_ties) != part)
        && (place < most_ties || part_of(place - most_ties) != part);
  }

  /// The stretch of places whose records are tied with that of `place`: no more than most_ties of them, or none.
  struct run
  {
    std::uint64_t begin;
    std::uint32_t count;
  };
  __device__ run run_of(std::uint64_t place) const
  {
    std::uint64_t const part = part_of(place);
    std::uint64_t begin = place, end = place + 1;
    while (begin > 0 && end - begin <= most_ties && part_of(begin - 1) == part)
    {
      --begin;
    }
    while (end < n && end - begin <= most_ties && part_of(end) == part)
    {
      ++end;
    }
    return {begin, end - begin <= most_ties ? static_cast<std::uint32_t>(end - begin) : 0};
  }
};

__device__ inline ties ties_of(number_notes const& notes, std::uint64_t const* ranks, std::uint32_t n)
{
  return {ranks, n, notes.halves_tie != 0 ? 32 : 0};
}

/// Asks the comparator about neighbours that may be tied with few others: a bit for each place whose record it does not want in front of the next.
/// Grid: any. Block: number_threads.
template <class Record, class Compare>
__global__ void __launch_bounds__(number_threads)
  ask_about_ties(Record const* records,
                 std::uint32_t n,
                 number_notes const* notes,
                 std::uint64_t const* ranks,
                 std::uint32_t const* indices,
                 std::uint32_t* wrong,
                 Compare comp)
{
  runtime::wait_for_previous_kernel();
  if (notes->is_found == 0)
  {
    return;
  }
  ties const halves        = ties_of(*notes, ranks, n);
  ties const wholes        = {ranks, n, 0};
  std::uint64_t const step = std::uint64_t{gridDim.x} * number_threads;
  // All lanes of a warp take part in every round.
  for (std::uint64_t base = std::uint64_t{blockIdx.x} * number_threads + threadIdx.x / 32 * 32; base < n; base += step)
  {
    std::uint64_t const i    = base + threadIdx.x % 32;
    bool const is_tied       = i + 1 < n && (halves.has_few_at(i) || wholes.has_few_at(i));
    bool const is_wrong      = is_tied && !hybrid::goes_before(records, indices[i], indices[i + 1], comp);
    std::uint32_t const word = __ballot_sync(block::all_lanes, is_wrong);
    if (threadIdx.x % 32 == 0)
    {
      wrong[base / 32] = word;
    }
  }
}

/// Sorts the records of every run of ties that has any in the wrong place: the comparator may go on to other fields, or mean the upper half of the
/// number alone. Runs of more than most_ties stay as they are; of upper halves, the runs of whole numbers in them are sorted.
/// Grid: any. Block: number_threads.
template <class Record, class Compare>
__global__ void __launch_bounds__(number_threads)
  settle_ties(Record const* records,
              std::uint32_t n,
              number_notes const* notes,
              std::uint64_t const* ranks,
              std::uint32_t* indices,
              std::uint32_t const* wrong,
              Compare comp)
{
  runtime::wait_for_previous_kernel();
  if (notes->is_found == 0)
  {
    return;
  }
  auto const is_wrong      = [&](std::uint64_t place) { return (wrong[place / 32] >> place % 32 & 1u) != 0; };
  std::uint64_t const step = std::uint64_t{gridDim.x} * number_threads;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * number_threads + threadIdx.x; i + 1 < n; i += step)
  {
    if (!is_wrong(i))
    {
      continue;
    }
    ties::run run = ties_of(*notes, ranks, n).run_of(i);
    if (run.count == 0)
    {
      run = ties{ranks, n, 0}.run_of(i);
    }
    bool is_first = true; // who finds the first wrong place of a run sorts it
    for (std::uint64_t place = run.begin; place < i; ++place)
    {
      is_first = is_first && !is_wrong(place);
    }
    if (run.count == 0 || !is_first)
    {
      continue;
    }
    std::uint32_t* const tied = indices + run.begin;
    for (std::uint32_t sorted = 1; sorted < run.count; ++sorted)
    {
      std::uint32_t const own = tied[sorted];
      std::uint32_t place     = sorted;
      while (place > 0 && !hybrid::goes_before(records, tied[place - 1], own, comp))
      {
        tied[place] = tied[place - 1];
        --place;
      }
      tied[place] = own;
    }
  }
}

/// Asks the comparator about all neighbours in the order of indices.
/// Grid: any. Block: number_threads.
template <class Record, class Compare>
__global__ void __launch_bounds__(number_threads) ask_about_indices(
  Record const* records, std::uint32_t n, number_notes* notes, std::uint32_t const* indices, Compare comp)
{
  runtime::wait_for_previous_kernel();
  if (notes->is_found == 0)
  {
    return;
  }
  std::uint64_t const step = std::uint64_t{gridDim.x} * number_threads;
  for (std::uint64_t i = blockIdx.x * number_threads + threadIdx.x; i + 1 < n; i += step)
  {
    if (!hybrid::goes_before(records, indices[i], indices[i + 1], comp))
    {
      notes->refuse();
    }
  }
}

/// The verdict, after all have been asked; and if it is no, indices as they were: in order.
/// Grid: any. Block: number_threads.
template <class Index>
__global__ void __launch_bounds__(number_threads)
  decide_about_indices(Index n, number_notes const* notes, Index* indices, block::sort_verdict* all)
{
  runtime::wait_for_previous_kernel();
  bool const is_sorted = notes->may_be_order();
  if (blockIdx.x == 0 && threadIdx.x == 0)
  {
    *all = is_sorted ? block::verdict::accepted : block::verdict::refused;
  }
  std::uint64_t const step = std::uint64_t{gridDim.x} * number_threads;
  for (std::uint64_t i = blockIdx.x * number_threads + threadIdx.x; !is_sorted && i < n; i += step)
  {
    indices[i] = static_cast<Index>(i);
  }
}

/// A stretch of the sorted order that is gathered at once.
struct gathered_part
{
  std::uint32_t begin, end; // places
  // Of the records from place `listed_from` on: that in front of `begin` is among them, if there is one.
  std::uint32_t const* indices;
  std::uint32_t listed_from;
  std::uint32_t* saved; // where indices from `saved_from` to `saved_end` are copied to
  std::uint32_t saved_from, saved_end;
};

template <class Record>
struct gather_shape
{
  using word                      = block::word_t<Record>;
  static constexpr unsigned words = sizeof(Record) / sizeof(word);
  // Odd, so that records side by side meet different banks of shared memory.
  static constexpr unsigned stride = words | 1;
};

template <class Record>
struct gather_storage
{
  alignas(16) char records[sizeof(block::word_t<Record>) * gather_shape<Record>::stride * (number_threads + 1)];
  std::uint32_t indices[number_threads + 1];

  __device__ block::word_t<Record>* words()
  {
    return reinterpret_cast<block::word_t<Record>*>(records);
  }
  __device__ Record const& record(unsigned place) const
  {
    return *reinterpret_cast<Record const*>(
      records + place * gather_shape<Record>::stride * sizeof(block::word_t<Record>));
  }
};

/// Gathers a part of the records, and of the values that belong to them, in the order of indices, and asks the comparator about neighbours.
/// Grid: any. Block: number_threads. Shared: gather_storage.
template <class Record, class Value, class Compare>
__global__ void __launch_bounds__(number_threads)
  gather_records(Record const* records,
                 Value const* values,
                 gathered_part part,
                 number_notes* notes,
                 Record* records_out,
                 Value* values_out,
                 Compare comp)
{
  using shape              = gather_shape<Record>;
  using word               = typename shape::word;
  constexpr unsigned words = shape::words;
  extern __shared__ uint4 shared_words[];
  auto& shared = *reinterpret_cast<gather_storage<Record>*>(shared_words);

  runtime::wait_for_previous_kernel();
  static_assert(words <= number_threads && alignof(Record) <= 16);
  // All threads of a block have to see the same, and blocks of this kernel write it.
  if (__syncthreads_or(notes->may_be_order()) == 0)
  {
    return;
  }
  auto const* const from   = reinterpret_cast<word const*>(records);
  std::uint64_t const step = std::uint64_t{gridDim.x} * number_threads;
  for (std::uint64_t i = part.saved_from + std::uint64_t{blockIdx.x} * number_threads + threadIdx.x; i < part.saved_end;
       i += step)
  {
    part.saved[i - part.saved_from] = part.indices[i - part.listed_from];
  }
  for (std::uint64_t begin = part.begin + std::uint64_t{blockIdx.x} * number_threads; begin < part.end; begin += step)
  {
    unsigned const count = part.end - begin < number_threads ? static_cast<unsigned>(part.end - begin) : number_threads;
    // Place 0 is the record in front of the first one.
    __syncthreads();
    for (unsigned place = threadIdx.x; place <= count; place += number_threads)
    {
      std::uint64_t const number = begin + place; // and one more
      shared.indices[place]      = part.indices[(number > 0 ? number - 1 : 0) - part.listed_from];
    }
    __syncthreads();
    word held[words];
    auto* const to = reinterpret_cast<word*>(records_out + begin);
#pragma unroll
    for (unsigned i = 0; i < words; ++i)
    {
      unsigned const at = i * number_threads + threadIdx.x;
      if (at < count * words)
      {
        held[i] = from[static_cast<std::size_t>(shared.indices[at / words + 1]) * words + at % words];
      }
    }
    if (threadIdx.x < words)
    {
      shared.words()[threadIdx.x] = from[static_cast<std::size_t>(shared.indices[0]) * words + threadIdx.x];
    }
#pragma unroll
    for (unsigned i = 0; i < words; ++i)
    {
      unsigned const at = i * number_threads + threadIdx.x;
      if (at < count * words)
      {
        shared.words()[(at / words + 1) * shape::stride + at % words] = held[i];
        to[at]                                                        = held[i];
      }
    }
    __syncthreads();
    if (threadIdx.x < count)
    {
      unsigned const own = threadIdx.x + 1;
      if constexpr (!std::is_same_v<Value, block::no_values>)
      {
        values_out[begin + threadIdx.x] = values[shared.indices[own]];
      }
      Record const& a = shared.record(own - 1);
      Record const& b = shared.record(own);
      if (begin + threadIdx.x > 0 && !hybrid::goes_before(a, shared.indices[own - 1], b, shared.indices[own], comp))
      {
        notes->refuse();
      }
    }
  }
}

/// Moves what has been gathered to where the input was, if the comparator agreed throughout, and says so.
/// Grid: any. Block: number_threads.
template <class Record, class Value>
__global__ void __launch_bounds__(number_threads)
  bring_home(Record const* records,
             Value const* values,
             std::uint32_t n,
             number_notes const* notes,
             Record* records_out,
             Value* values_out,
             block::sort_verdict* all)
{
  using word               = typename gather_shape<Record>::word;
  constexpr unsigned words = gather_shape<Record>::words;
  runtime::wait_for_previous_kernel();
  bool const is_sorted = notes->may_be_order();
  if (blockIdx.x == 0 && threadIdx.x == 0)
  {
    *all = is_sorted ? block::verdict::accepted : block::verdict::refused;
  }
  if (!is_sorted)
  {
    return;
  }
  auto const* const from   = reinterpret_cast<word const*>(records);
  auto* const to           = reinterpret_cast<word*>(records_out);
  std::uint64_t const step = std::uint64_t{gridDim.x} * number_threads;
  for (std::uint64_t begin = std::uint64_t{blockIdx.x} * number_threads; begin < n; begin += step)
  {
    unsigned const count = n - begin < number_threads ? static_cast<unsigned>(n - begin) : number_threads;

    auto const* const from_tile = from + begin * words;
    block::move_words<number_threads, words>(threadIdx.x, to + begin * words, count * words, [&](unsigned i) {
      return from_tile + i;
    });
    if constexpr (!std::is_same_v<Value, block::no_values>)
    {
      if (threadIdx.x < count)
      {
        values_out[begin + threadIdx.x] = values[begin + threadIdx.x];
      }
    }
  }
}

/// Sorts records, or indices that stand for them, by a number in them, or leaves them as they are; a verdict in device memory says which.
template <class Key, class Value, class Compare>
class by_number
{
  using records                     = records_of<Key, Compare>;
  using record                      = typename records::record;
  using rank                        = std::uint64_t;
  using index                       = std::uint32_t;
  using less                        = ::cuda::std::less<rank>;
  static constexpr bool with_values = !std::is_same_v<Value, block::no_values>;

  // Ranks, and what sorting them with indices takes, and then, at the end, indices lie in the room that records are gathered to. So what is
  // gathered last has to have its indices elsewhere.
  struct plan
  {
    std::size_t room = 0, values = 0, ranks = 0, sort = 0, notes = 0, excluded = 0, saved = 0;
    std::size_t indices = 0; // in the room
    std::size_t first   = 0; // records that do not reach them
    bool fits           = true;
    runtime::layout layout;

    explicit plan(std::size_t n)
    {
      runtime::layout sorting;
      std::size_t const own_ranks = sorting.add(n, sizeof(rank));
      std::size_t const own_sort  = sorting.add(radix::device::scratch_bytes<rank, index, less>(n), 1);
      if constexpr (records::are_elsewhere)
      {
        room = layout.add(1, sorting.bytes());
      }
      else
      {
        room    = layout.add(n, sizeof(record), alignof(record));
        indices = n * (sizeof(record) - sizeof(index));
        first   = indices / sizeof(record);
        fits    = sorting.bytes() <= indices;
        values  = with_values ? layout.add(n, sizeof(Value), alignof(Value)) : 0;
        saved   = layout.add(n - first + 1, sizeof(index));
      }
      ranks    = room + own_ranks;
      sort     = room + own_sort;
      notes    = layout.add(1, sizeof(number_notes));
      excluded = layout.add(words_of_record_v<record>, sizeof(std::uint32_t));
    }
  };

public:
  /// Whether types allow it. Where records are gathered to, ranks and indices have to fit twice, beside the indices themselves.
  static constexpr bool is_possible =
    has_numbers_v<record>
    && (records::are_elsewhere
          ? std::is_same_v<Key, index> && !with_values
          : radix::compares_values_v<Compare> && sizeof(record) > 2 * (sizeof(rank) + sizeof(index)));

  static constexpr std::size_t record_bytes = sizeof(record);

  /// Whether it can be tried for n > 1 elements.
  static bool can_sort(std::size_t n)
  {
    return n >= fewest_compared && n <= ~index{0} && plan(n).fits;
  }

  static std::size_t scratch_bytes(std::size_t n)
  {
    return plan(n).layout.bytes();
  }

  static void sort(
    cudaStream_t stream, void* scratch, Key* keys, Value* values, std::size_t n, block::sort_verdict* all, Compare comp)
  {
    plan const p(n);
    void* const base     = p.layout.base(scratch);
    auto* const notes    = runtime::at_offset<number_notes>(base, p.notes);
    auto* const excluded = runtime::at_offset<std::uint32_t>(base, p.excluded);
    auto* const ranks    = runtime::at_offset<rank>(base, p.ranks);
    auto const count     = static_cast<index>(n);
    auto const source    = source_of(keys, comp);
    index* const indices = [&] {
      if constexpr (records::are_elsewhere)
      {
        return keys;
      }
      else
      {
        return runtime::at_offset<index>(base, p.room + p.indices);
      }
    }();
    auto const blocks_for = [&](std::size_t per_block) {
      return std::min(runtime::blocks_for(n, per_block), runtime::multiprocessors() * number_blocks_per_sm);
    };
    runtime::launch_shape const of_all{blocks_for(number_threads), number_threads};

    runtime::check(
      cudaMemsetAsync(notes, 0, p.excluded - p.notes + words_of_record_v<record> * sizeof(std::uint32_t), stream),
      "gpusort: clearing of notes");
    runtime::launch(exclude_numbers<record, typename records::compare>,
                    {compared_pairs(n) / number_threads, number_threads},
                    stream,
                    source.first,
                    n,
                    notes,
                    excluded,
                    source.comp);
    runtime::launch(
      // An index in order moves nothing in the end; records by value are looked at once and left alone.
      read_numbers<records::are_elsewhere, record>,
      {blocks_for(number_threads * numbers_at_once), number_threads},
      stream,
      source.first,
      count,
      notes,
      excluded,
      ranks,
      indices);
    radix::device::sort<rank, index, less>(stream, runtime::at_offset<void>(base, p.sort), ranks, indices, n, {});
    auto* const wrong       = runtime::at_offset<std::uint32_t>(base, p.sort); // which is done
    auto const look_at_ties = [&](auto kernel) {
      runtime::launch(kernel, of_all, stream, source.first, count, notes, ranks, indices, wrong, source.comp);
    };
    look_at_ties(ask_about_ties<record, typename records::compare>);
    look_at_ties(settle_ties<record, typename records::compare>);
    if constexpr (records::are_elsewhere)
    {
      runtime::launch(ask_about_indices<record, typename records::compare>,
                      of_all,
                      stream,
                      source.first,
                      count,
                      notes,
                      indices,
                      source.comp);
      runtime::launch(decide_about_indices<index>, of_all, stream, count, notes, indices, all);
    }
    else
    {
      auto const first            = static_cast<index>(p.first);
      auto* const saved           = runtime::at_offset<index>(base, p.saved);
      auto* const records_room    = runtime::at_offset<record>(base, p.room);
      auto* const values_room     = with_values ? runtime::at_offset<Value>(base, p.values) : nullptr;
      gathered_part const parts[] = {{0, first, indices, 0, saved, first - 1, count},
                                     {first, count, saved, first - 1, nullptr, 0, 0}};
      for (gathered_part const& part : parts)
      {
        runtime::launch(
          gather_records<record, Value, Compare>,
          {std::min(runtime::blocks_for(part.end - part.begin, number_threads),
                    runtime::multiprocessors() * number_blocks_per_sm),
           number_threads,
           sizeof(gather_storage<record>)},
          stream,
          source.first,
          values,
          part,
          notes,
          records_room,
          values_room,
          comp);
      }
      runtime::launch(
        bring_home<record, Value>, of_all, stream, records_room, values_room, count, notes, keys, values, all);
    }
  }

private:
  struct source
  {
    record const* first;
    typename records::compare comp;
  };

  static source source_of(Key const* keys, Compare const& comp)
  {
    if constexpr (records::are_elsewhere)
    {
      (void) keys;
      return {records::first(comp), records::compare_of(comp)};
    }
    else
    {
      return {keys, comp};
    }
  }
};

} // namespace gpusort::hybrid
