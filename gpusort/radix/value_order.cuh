// Whether an unknown comparator orders numbers as their values are ordered, or records by a number in them: a sample makes it likely,
// and then blocks sort by value and ask the comparator about all neighbours.
#pragma once

#include <gpusort/block/merge.cuh>
#include <gpusort/block/tile.cuh>
#include <gpusort/block/warp.cuh>
#include <gpusort/radix/findings.cuh>
#include <gpusort/radix/key_order.h>
#include <gpusort/radix/record_order.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace gpusort::radix
{

/// How a comparator orders a sample of keys: by which of their values, times 4, and in which direction.
namespace value_order
{
inline constexpr std::uint32_t other      = 0;
inline constexpr std::uint32_t ascending  = 1;
inline constexpr std::uint32_t descending = 2;

__host__ __device__ constexpr std::uint32_t by(unsigned field, bool descends)
{
  return field * 4 + (descends ? descending : ascending);
}
} // namespace value_order

/// The order of records that a tile goes by, among what is seen of it: the bits that it has, and those that it has not. So if that of several tiles is
/// put together, it shows whether they go by one order, as they do unless the comparator contradicts itself.
struct noted_order
{
  static constexpr int bits           = 8;
  static constexpr std::uint32_t mask = (std::uint32_t{1} << bits) - 1;

  __host__ __device__ static constexpr std::uint32_t note(std::uint32_t which)
  {
    return (which | (~which & mask) << bits) << seen::first_of_order;
  }
  __host__ __device__ static constexpr std::uint32_t which(std::uint32_t all_seen)
  {
    return all_seen >> seen::first_of_order & mask;
  }
  __host__ __device__ static constexpr bool is_one(std::uint32_t all_seen)
  {
    return (which(all_seen) & which(all_seen >> bits)) == 0;
  }
};

/// Whether a comparator may look at its keys' values; what compares numbers of elements does not.
template <class Compare>
inline constexpr bool compares_values_v = true;

template <class Key>
inline constexpr bool is_number_v = kind_of<Key>() != key_kind::none;

/// Whether blocks try to sort by value: keys are numbers of 4 or 8 bytes, or short records, and values no wider than 8 bytes.
template <class Key, class Value, class Compare>
inline constexpr bool tries_values_v =
  compares_values_v<Compare> && (is_number_v<Key> ? sizeof(Key) == 4 || sizeof(Key) == 8 : has_words_v<Key>)
  && sizeof(Value) <= 8;

/// Whether one block tries that with all of an input: with wider records, too.
template <class Key, class Value, class Compare>
inline constexpr bool tries_values_in_block_v =
  tries_values_v<Key, Value, Compare>
  || (compares_values_v<Compare> && !is_number_v<Key> && is_for_block_v<Key> && sizeof(Value) <= 8);

/// The values of numbers.
template <class Key, bool IsNumber = is_number_v<Key>>
struct values_of
{
  using bits  = bits_t<Key>; // what is sorted in place of a key
  using order = key_order_t<Key>;

  __host__ __device__ static constexpr order in(unsigned, bool descends)
  {
    bits const upward = kind_of<Key>() == key_kind::signed_integer ? order::sign_bit : bits{0};
    return {descends ? static_cast<bits>(~upward) : upward};
  }
};
/// Of records.
template <class Key>
struct values_of<Key, false>
{
  using bits  = record_words_t<Key>;
  using order = record_order<bits>;

  __host__ __device__ static constexpr order in(unsigned field, bool descends)
  {
    return order::of(field, descends);
  }
};

template <class Key>
using value_bits_t = typename values_of<Key>::bits;
template <class Key>
using value_order_t = typename values_of<Key>::order;

/// The order of values, upwards.
template <class Key>
__host__ __device__ constexpr value_order_t<Key> values_upwards()
{
  return values_of<Key>::in(0, false);
}

/// The order of values that has been found.
template <class Key>
__device__ value_order_t<Key> order_of_values(std::uint32_t which)
{
  return values_of<Key>::in(which / 4, which % 4 == value_order::descending);
}

/// A key as what is sorted in its place.
template <class Key>
__device__ value_bits_t<Key> value_bits_of(Key const& key)
{
  value_bits_t<Key> bits;
  std::memcpy(&bits, &reinterpret_cast<char const&>(key), sizeof(Key)); // records may have an operator &
  return bits;
}

/// How a comparator relates two keys.
struct relation
{
  bool is_behind, is_in_front; // the second key

  /// Whether ranks say the same, upwards or downwards.
  template <class Rank>
  __device__ bool goes_up(Rank first, Rank second) const
  {
    return (first < second) == is_behind && (second < first) == is_in_front;
  }
  template <class Rank>
  __device__ bool goes_down(Rank first, Rank second) const
  {
    return goes_up(second, first);
  }
};

/// Which kinds of numbers do not go as a pair of records does: bit 2 x kind, and the next one for the same downwards. The lower word is 0 where a number has
/// one word.
__device__ inline std::uint32_t
excluded_kinds(relation const& by, std::uint32_t high_a, std::uint32_t low_a, std::uint32_t high_b, std::uint32_t low_b)
{
  std::uint32_t excluded = 0;
#pragma unroll
  for (unsigned kind = 0; kind < record_number::kinds; ++kind)
  {
    auto const number = record_number::of(0, true, kind, false); // compared, those of 4 bytes are no other
    auto const rank_a = number.rank_of(high_a, low_a);
    auto const rank_b = number.rank_of(high_b, low_b);
    excluded |= by.goes_up(rank_a, rank_b) ? 0 : 1u << 2 * kind;
    excluded |= by.goes_down(rank_a, rank_b) ? 0 : 2u << 2 * kind;
  }
  return excluded;
}

/// Two records and how a comparator relates them.
template <class Key>
struct record_pair
{
  Key const& a;
  Key const& b;
  relation by;
};

/// The fields of records by which a comparator may go, as far as some pairs of them say, one after the other.
template <class Key>
class possible_fields
{
  using order                    = value_order_t<Key>;
  static constexpr unsigned ways = 2 * order::kinds; // of a number
  // Of threads, each of which looks at one number a round.
  static constexpr unsigned groups = order::numbers <= 8 ? 4 : 8;
  static constexpr unsigned rounds = (order::numbers + groups - 1) / groups;

public:
  /// pair_at(p): the p-th of `pairs()` pairs. Called by all threads of a block, who get the same fields, once in a kernel; a block has a multiple of
  /// 32 x groups threads.
  template <class PairAt>
  __device__ explicit possible_fields(PairAt pair_at)
  {
    __shared__ std::uint32_t excluded[order::numbers];
    excluded_ = excluded;
    if (threadIdx.x < order::numbers)
    {
      excluded[threadIdx.x] = 0;
    }
    // All words are under way before the first is looked at.
    record_pair<Key> const pair = pair_at(threadIdx.x % pairs());
    auto const* const words_a   = words_of(pair.a);
    auto const* const words_b   = words_of(pair.b);
    unsigned const first        = threadIdx.x / pairs();
    std::uint32_t high_a[rounds], low_a[rounds], high_b[rounds], low_b[rounds];
#pragma unroll
    for (unsigned r = 0; r < rounds; ++r)
    {
      unsigned const number = min(first + r * groups, order::numbers - 1);
      unsigned const high   = order::word_at(number);
      unsigned const low    = order::is_wide_at(number) ? high - 1 : high;
      high_a[r]             = words_a[high];
      low_a[r]              = words_a[low];
      high_b[r]             = words_b[high];
      low_b[r]              = words_b[low];
    }
    __syncthreads();
#pragma unroll
    for (unsigned r = 0; r < rounds; ++r)
    {
      unsigned const number   = first + r * groups;
      bool const is_wide      = order::is_wide_at(number);
      std::uint32_t const out = block::or_of_warp(
        radix::excluded_kinds(pair.by, high_a[r], is_wide ? low_a[r] : 0, high_b[r], is_wide ? low_b[r] : 0));
      if (threadIdx.x % 32 == 0 && number < order::numbers)
      {
        atomicOr(&excluded[number], out);
      }
    }
    __syncthreads();
  }

  __device__ static unsigned pairs()
  {
    return blockDim.x / groups;
  }

  /// The next one, or value_order::other, if there is none.
  __device__ std::uint32_t next()
  {
    for (; number_ < order::numbers; ++number_, way_ = 0)
    {
      std::uint32_t const left = ~excluded_[number_] & ((1u << ways) - 1) & (~0u << way_);
      if (left != 0)
      {
        auto const way = static_cast<unsigned>(__ffs(static_cast<int>(left))) - 1;
        way_           = way + 1;
        return value_order::by(number_ * order::kinds + way / 2, way % 2 != 0);
      }
    }
    return value_order::other;
  }

private:
  __device__ static std::uint32_t const* words_of(Key const& key)
  {
    return reinterpret_cast<std::uint32_t const*>(
      &reinterpret_cast<char const&>(key)); // records may have an operator &
  }

  std::uint32_t const* excluded_; // of each number, in shared memory
  unsigned number_ = 0; // that `next` goes on with
  unsigned way_    = 0;
};

/// How `count` > 0 keys are ordered that a comparator has sorted: at(i) is the i-th, where it lies. Called by all threads of a block, who get the
/// same answer.
template <int Threads, class Key, class At, class Compare>
__device__ std::uint32_t order_of_sorted(int count, At at, Compare& comp)
{
  static_assert(std::is_reference_v<decltype(at(0))>);
  auto const first = static_cast<int>(threadIdx.x) + 1;
  if constexpr (is_number_v<Key>)
  {
    auto const order = order_of_values<Key>(value_order::ascending);
    bool up = true, down = true;
    for (int i = first; i < count; i += Threads)
    {
      auto const before = order.rank_of(bits_of(at(i - 1)));
      auto const own    = order.rank_of(bits_of(at(i)));
      up                = up && before <= own;
      down              = down && own <= before;
    }
    bool const all_up   = __syncthreads_and(up) != 0;
    bool const all_down = __syncthreads_and(down) != 0;
    return all_up ? value_order::ascending : all_down ? value_order::descending : value_order::other;
  }
  else
  {
    auto const relation_of = [&](int i) { return relation{block::precedes(at(i - 1), at(i), comp), false}; };
    possible_fields<Key> possible([&](unsigned pair) {
      int const i      = min(static_cast<int>(pair) + 1, count - 1);
      int const before = max(i - 1, 0);
      return record_pair<Key>{at(before), at(i), {block::precedes(at(before), at(i), comp), false}};
    });
    for (std::uint32_t found = possible.next(); found != value_order::other; found = possible.next())
    {
      auto const order = order_of_values<Key>(found);
      bool is_right    = true;
      for (int i = first; i < count; i += Threads)
      {
        is_right = is_right
                && relation_of(i).goes_up(order.rank_of(radix::value_bits_of(at(i - 1))),
                                          order.rank_of(radix::value_bits_of(at(i))));
      }
      if (__syncthreads_and(is_right) != 0)
      {
        return found;
      }
    }
    return value_order::other;
  }
}

/// The number of one of `count` pairs of neighbours among n > 1 keys: evenly spread over them; with fewer pairs than that, some are compared
/// twice.
__device__ inline int pair_of_neighbours(unsigned number, unsigned count, int n)
{
  return static_cast<int>(number * static_cast<unsigned>(n - 1) / count);
}

/// What is seen of a few neighbours of n > 1 keys, one pair a thread: seen::not_upwards or not_downwards, if the comparator does not go
/// as values do. Called by all threads of a block, who get the same answer.
template <class Key, class Compare>
__device__ std::uint32_t seen_of_neighbours(Key const* keys, int n, Compare& comp)
{
  static_assert(is_number_v<Key>);
  auto const order  = values_upwards<Key>();
  int const at      = pair_of_neighbours(threadIdx.x, blockDim.x, n);
  Key const a       = keys[at];
  Key const b       = keys[at + 1];
  auto const rank_a = order.rank_of(bits_of(a));
  auto const rank_b = order.rank_of(bits_of(b));
  bool up = true, down = true;
  if (rank_a != rank_b)
  {
    up   = block::precedes(rank_a < rank_b ? a : b, rank_a < rank_b ? b : a, comp);
    down = !up;
  }
  bool const all_up   = __syncthreads_and(up) != 0;
  bool const all_down = __syncthreads_and(down) != 0;
  return (all_up ? 0 : seen::not_upwards) | (all_down ? 0 : seen::not_downwards);
}

/// How the comparator orders them.
template <class Key, class Compare>
__device__ std::uint32_t order_of_neighbours(Key const* keys, int n, Compare& comp)
{
  if constexpr (is_number_v<Key>)
  {
    std::uint32_t const found = radix::seen_of_neighbours(keys, n, comp);
    return (found & seen::not_upwards) == 0 ? value_order::ascending
         : (found & seen::not_downwards) == 0
           ? value_order::descending
           : value_order::other;
  }
  else
  {
    using fields = possible_fields<Key>;
    return fields([&](unsigned pair) {
             int const at  = pair_of_neighbours(pair, fields::pairs(), n);
             bool const up = block::precedes(keys[at], keys[at + 1], comp);
             return record_pair<Key>{
               keys[at], keys[at + 1], {up, !up && block::precedes(keys[at + 1], keys[at], comp)}};
           })
      .next();
  }
}

/// Asks a comparator whether it agrees that keys, which are neighbours in the order of values, are in its order as well, and
/// are equivalent only if they have one rank. So says all that have been asked one after another: they are as a stable sort
/// leaves them. Where it does not agree, `disagrees` says so.
template <class Key, class Compare, bool IsNumber = is_number_v<Key>>
struct asks_comparator
{
  static constexpr bool asks  = true;
  static constexpr bool mends = false;

  key_order_t<Key> order;
  std::uint32_t* disagrees; // or null
  Compare& comp;

  __device__ bool operator()(bits_t<Key> before, bits_t<Key> own) const
  {
    if (before == own)
    {
      return true;
    }
    Key a, b;
    std::memcpy(&a, &before, sizeof(Key));
    std::memcpy(&b, &own, sizeof(Key));
    bool const agrees = order.rank_of(before) == order.rank_of(own)
                        ? !block::precedes(a, b, comp) && !block::precedes(b, a, comp)
                        : block::precedes(a, b, comp);
    if (!agrees && disagrees != nullptr)
    {
      *disagrees = 1;
    }
    return agrees;
  }

  __device__ void note(int, int, bits_t<Key>) const
  {}

  __device__ bool all_agree(bool own) const
  {
    return __syncthreads_and(own) != 0;
  }
};

/// The same of records: those that are in order by a field may be in another by their comparator, which may go by other fields where
/// that is the same, and so they are mended, as long as that takes little. `disagrees` stays what it is: elsewhere they may agree.
template <class Key, class Compare>
struct asks_comparator<Key, Compare, false>
{
  static constexpr bool asks  = true;
  static constexpr bool mends = true;

  value_order_t<Key> order;
  std::uint32_t* disagrees; // or null
  Compare& comp;

  /// Whether two neighbours are as a stable sort leaves them. `came_first`: the first was in front of the second.
  __device__ bool operator()(value_bits_t<Key> const& before, value_bits_t<Key> const& own, bool came_first) const
  {
    // Not words looked at as a record; and records need have no default constructor.
    alignas(Key) char bytes[2][sizeof(Key)];
    std::memcpy(bytes[0], &before, sizeof(Key));
    std::memcpy(bytes[1], &own, sizeof(Key));
    auto const& a = *reinterpret_cast<Key const*>(bytes[0]);
    auto const& b = *reinterpret_cast<Key const*>(bytes[1]);
    return block::precedes(a, b, comp) || (came_first && !block::precedes(b, a, comp));
  }

  __device__ void note(int, int, value_bits_t<Key> const&) const
  {}

  __device__ bool all_agree(bool own) const
  {
    return __syncthreads_and(own) != 0;
  }
};

} // namespace gpusort::radix
