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

/// The values of numbers.
template <class Key, bool IsNumber = is_number_v<Key>>
struct values_of
{
  using bits                       = bits_t<Key>; // what is sorted in place of a key
  using order                      = key_order_t<Key>;
  static constexpr unsigned fields = 1;

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
  using bits                       = record_words_t<Key>;
  using order                      = record_order<bits>;
  static constexpr unsigned fields = order::fields;

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

/// The fields of records by which a comparator may go, as far as pairs of them say: a bit each.
template <class Key>
struct possible_fields
{
  static_assert(values_of<Key>::fields <= 32);

  std::uint32_t up   = ~std::uint32_t{0};
  std::uint32_t down = ~std::uint32_t{0};

  __device__ void relate(Key const& a, Key const& b, relation const& by)
  {
    auto const first  = radix::value_bits_of(a);
    auto const second = radix::value_bits_of(b);
    up                = 0;
    down              = 0;
#pragma unroll
    for (unsigned field = 0; field < values_of<Key>::fields; ++field)
    {
      auto const order  = values_of<Key>::in(field, false);
      auto const rank_a = order.rank_of(first);
      auto const rank_b = order.rank_of(second);
      up |= by.goes_up(rank_a, rank_b) ? std::uint32_t{1} << field : 0;
      down |= by.goes_down(rank_a, rank_b) ? std::uint32_t{1} << field : 0;
    }
  }

  /// Those that all threads of a block think possible. Called by all of them, once in a kernel.
  __device__ void of_block()
  {
    __shared__ std::uint32_t excluded[2];
    if (threadIdx.x == 0)
    {
      excluded[0] = 0;
      excluded[1] = 0;
    }
    __syncthreads();
    std::uint32_t const not_up   = block::or_of_warp(~up);
    std::uint32_t const not_down = block::or_of_warp(~down);
    if (threadIdx.x % 32 == 0)
    {
      atomicOr(&excluded[0], not_up);
      atomicOr(&excluded[1], not_down);
    }
    __syncthreads();
    constexpr std::uint32_t all = ~std::uint32_t{0} >> (32 - values_of<Key>::fields);
    up                          = ~excluded[0] & all;
    down                        = ~excluded[1] & all;
  }

  /// The first of them.
  __device__ std::uint32_t first() const
  {
    std::uint32_t const any = up | down;
    auto const field        = static_cast<unsigned>(__ffs(static_cast<int>(any))) - 1;
    return any == 0 ? value_order::other : value_order::by(field, (up >> field & 1) == 0);
  }

  __device__ void exclude(std::uint32_t order)
  {
    (order % 4 == value_order::descending ? down : up) &= ~(std::uint32_t{1} << order / 4);
  }
};

/// How `count` keys are ordered that a comparator has sorted: at(i) is the i-th. Called by all threads of a block, who get the
/// same answer.
template <int Threads, class Key, class At, class Compare>
__device__ std::uint32_t order_of_sorted(int count, At at, Compare& comp)
{
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
    possible_fields<Key> possible; // a pair of each thread rules out nearly all
    if (first < count)
    {
      possible.relate(at(first - 1), at(first), relation_of(first));
    }
    possible.of_block();
    for (std::uint32_t found = possible.first(); found != value_order::other; found = possible.first())
    {
      auto const order = order_of_values<Key>(found);
      bool is_right    = true;
      for (int i = first + Threads; i < count; i += Threads)
      {
        is_right = is_right
                && relation_of(i).goes_up(order.rank_of(radix::value_bits_of(at(i - 1))),
                                          order.rank_of(radix::value_bits_of(at(i))));
      }
      if (__syncthreads_and(is_right) != 0)
      {
        return found;
      }
      possible.exclude(found);
    }
    return value_order::other;
  }
}

/// The number of the thread's pair of neighbours among n > 1 keys: evenly spread over them; with fewer pairs than threads, some are compared
/// twice.
__device__ inline int pair_of_thread(int n)
{
  return static_cast<int>(threadIdx.x * static_cast<unsigned>(n - 1) / blockDim.x);
}

/// What is seen of a few neighbours of n > 1 keys, one pair a thread: seen::not_upwards or not_downwards, if the comparator does not go
/// as values do. Called by all threads of a block, who get the same answer.
template <class Key, class Compare>
__device__ std::uint32_t seen_of_neighbours(Key const* keys, int n, Compare& comp)
{
  static_assert(is_number_v<Key>);
  auto const order  = values_upwards<Key>();
  int const at      = pair_of_thread(n);
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
    int const at  = pair_of_thread(n);
    Key const a   = keys[at];
    Key const b   = keys[at + 1];
    bool const up = block::precedes(a, b, comp);
    possible_fields<Key> possible;
    possible.relate(a, b, {up, !up && block::precedes(b, a, comp)});
    possible.of_block();
    return possible.first();
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
