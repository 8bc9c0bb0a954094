// A number inside a record, read as an unsigned integer that sorts like it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::radix
{

/// The words of a record.
template <std::size_t Bytes, std::size_t Alignment>
struct alignas(Alignment) record_words
{
  static_assert(Bytes % 4 == 0 && Alignment >= 4);
  std::uint32_t at[Bytes / 4];
};

template <class Record>
using record_words_t = record_words<sizeof(Record), alignof(Record)>;

/// Whether records are made of words, in which numbers may be found.
template <class Record>
inline constexpr bool is_made_of_words_v =
  std::is_trivially_copyable_v<Record> && sizeof(Record) >= 8 && sizeof(Record) % 4 == 0 && alignof(Record) % 4 == 0;

/// Whether they are so short, too, that they move as they are; and whether one block looks into them.
template <class Record>
inline constexpr bool has_words_v = is_made_of_words_v<Record> && sizeof(Record) <= 16;
template <class Record>
inline constexpr bool is_for_block_v = is_made_of_words_v<Record> && sizeof(Record) <= 64;

/// A number in a record, told by its words: of 8 bytes or of 4; unsigned, signed, or floating-point; upwards or downwards. Numbers of 4
/// bytes have ranks of 4.
struct record_number
{
  using rank = std::uint64_t;

  static constexpr unsigned kinds = 3;
  static constexpr rank sign_bit  = rank{1} << 63;

  rank flip;
  unsigned word; // the highest of the number
  bool is_wide;
  bool is_float;

  __host__ __device__ static constexpr record_number of(unsigned word, bool is_wide, unsigned kind, bool descends)
  {
    rank const flip = kind == 1 ? sign_bit : rank{0};
    return {descends ? ~flip : flip, word, is_wide, kind == 2};
  }

  /// `low` is 0 where the number has one word.
  __host__ __device__ rank rank_of(std::uint32_t high, std::uint32_t low) const
  {
    rank bits = rank{high} << 32 | low;
    if (is_float)
    {
      bits = bits > sign_bit ? ~bits : bits | sign_bit; // -0 is +0
    }
    // Those of 4 bytes have no more bits than that, so that there is a bin for each of a few values.
    return (bits ^ flip) >> (is_wide ? 0 : 32);
  }
};

/// Maps records to the order of one of the numbers that may be in them: of 8 bytes, where records are aligned to so many, or of 4.
template <class Words>
struct record_order : record_number
{
  static constexpr bool tells_keys = false; // a rank does not
  static constexpr bool may_lose   = true;

  static constexpr unsigned words   = sizeof(Words) / 4;
  static constexpr unsigned wide    = alignof(Words) >= 8 ? words / 2 : 0; // numbers of 8 bytes
  static constexpr unsigned numbers = wide + words; // the first are the wide ones
  static constexpr unsigned fields  = kinds * numbers; // as each of the kinds

  /// Whether a number is one of 8 bytes, and its highest word.
  __host__ __device__ static constexpr bool is_wide_at(unsigned number)
  {
    return number + 1 <= wide;
  }
  __host__ __device__ static constexpr unsigned word_at(unsigned number)
  {
    return is_wide_at(number) ? number * 2 + 1 : number - wide;
  }

  /// Upwards by the number that `field` says, or downwards.
  __host__ __device__ static constexpr record_order of(unsigned field, bool descends)
  {
    unsigned const number = field / kinds;
    return {record_number::of(word_at(number), is_wide_at(number), field % kinds, descends)};
  }

  __host__ __device__ rank rank_of(Words const& record) const
  {
    std::uint32_t high = 0, low = 0;
    if constexpr (words > 4) // in memory
    {
      high = record.at[word];
      low  = is_wide ? record.at[word - 1] : 0;
    }
    else
    {
      // No loop: before it is unrolled, compilers take the records that a thread holds for an array in memory.
      std::uint32_t const second = record.at[1];
      std::uint32_t const third  = record.at[words > 2 ? 2 : 0];
      high = word == 0 ? record.at[0] : word == 1 ? second : word == 2 ? third : record.at[words > 3 ? 3 : 0];
      low  = !is_wide ? 0 : word == 1 ? record.at[0] : third;
    }
    return record_number::rank_of(high, low);
  }

  /// Records are never made of their ranks.
  __host__ __device__ bool loses(Words const&) const
  {
    return true;
  }
};

} // namespace gpusort::radix
