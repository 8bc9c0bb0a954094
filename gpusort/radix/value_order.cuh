// Whether an unknown comparator orders numbers as their values are ordered: a sample makes it likely, and then blocks sort by
// value and ask the comparator about all neighbours.
#pragma once

#include <gpusort/block/merge.cuh>
#include <gpusort/block/tile.cuh>
#include <gpusort/radix/findings.cuh>
#include <gpusort/radix/key_order.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace gpusort::radix
{

/// How a comparator orders a sample of numbers.
namespace value_order
{
inline constexpr std::uint32_t other      = 0;
inline constexpr std::uint32_t ascending  = 1;
inline constexpr std::uint32_t descending = 2;
} // namespace value_order

/// Whether a comparator may look at its keys' values; what compares numbers of elements does not.
template <class Compare>
inline constexpr bool compares_values_v = true;

/// Whether blocks try to sort by value: keys are numbers of 4 or 8 bytes, and values no wider.
template <class Key, class Value, class Compare>
inline constexpr bool tries_values_v =
  compares_values_v<Compare> && kind_of<Key>() != key_kind::none && (sizeof(Key) == 4 || sizeof(Key) == 8)
  && sizeof(Value) <= 8;

/// The order of values, upwards.
template <class Key>
__host__ __device__ constexpr key_order_t<Key> values_upwards()
{
  using order = key_order_t<Key>;
  return {kind_of<Key>() == key_kind::signed_integer ? order::sign_bit : bits_t<Key>{0}};
}

/// The order of values, upwards or downwards.
template <class Key>
__device__ key_order_t<Key> order_of_values(std::uint32_t which)
{
  bits_t<Key> const upward = values_upwards<Key>().flip;
  return {which == value_order::descending ? static_cast<bits_t<Key>>(~upward) : upward};
}

/// How `count` keys are ordered that a comparator has sorted: at(i) is the i-th. Called by all threads of a block, who get the
/// same answer.
template <int Threads, class Key, class At>
__device__ std::uint32_t order_of_sorted(int count, At at)
{
  auto const order = order_of_values<Key>(value_order::ascending);
  bool up = true, down = true;
  for (int i = static_cast<int>(threadIdx.x) + 1; i < count; i += Threads)
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

/// What is seen of a few neighbours of n > 1 keys, one pair a thread: seen::not_upwards or not_downwards, if the comparator does not go
/// as values do. Called by all threads of a block, who get the same answer.
template <class Key, class Compare>
__device__ std::uint32_t seen_of_neighbours(Key const* keys, int n, Compare& comp)
{
  auto const order = values_upwards<Key>();
  // Evenly spread over the keys; with fewer pairs than threads, some are compared twice.
  int const at      = static_cast<int>(threadIdx.x * static_cast<unsigned>(n - 1) / blockDim.x);
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
  std::uint32_t const found = radix::seen_of_neighbours(keys, n, comp);
  return (found & seen::not_upwards) == 0 ? value_order::ascending
       : (found & seen::not_downwards) == 0
         ? value_order::descending
         : value_order::other;
}

/// Asks a comparator whether it agrees that keys, which are neighbours in the order of values, are in its order as well, and
/// are equivalent only if they have one rank. So says all that have been asked one after another: they are as a stable sort
/// leaves them. Where it does not agree, `disagrees` says so.
template <class Key, class Compare>
struct asks_comparator
{
  static constexpr bool asks = true;

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

} // namespace gpusort::radix
