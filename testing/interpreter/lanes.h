// Registers as handlers see them: 32 values beside each other, so that loops over lanes become vector instructions.
#pragma once

#include "machine.h"

#include <cstring>

namespace gpusort::interpreter
{

template <class T>
T* lanes(frame& f, slot s)
{
  return reinterpret_cast<T*>(f.registers + s);
}

inline lane_mask& mask_at(frame& f, slot s)
{
  return *lanes<lane_mask>(f, s);
}

inline unsigned lowest_lane(lane_mask mask)
{
  return static_cast<unsigned>(__builtin_ctz(mask));
}

inline lane_mask only(unsigned lane)
{
  return lane_mask{1} << lane;
}

namespace detail
{

constexpr std::array<lane_mask, warp_size> make_lane_bits()
{
  std::array<lane_mask, warp_size> bits{};
  for (unsigned lane = 0; lane < warp_size; ++lane)
  {
    bits[lane] = lane_mask{1} << lane;
  }
  return bits;
}

} // namespace detail

/// For loops over all lanes, since few processors shift the parts of a vector by different numbers.
constexpr std::array<lane_mask, warp_size> lane_bits = detail::make_lane_bits();

inline bool holds(lane_mask mask, unsigned lane)
{
  return (mask >> lane & 1) != 0;
}

inline unsigned count(lane_mask mask)
{
  return static_cast<unsigned>(__builtin_popcount(mask));
}

/// Calls `visit` with each lane of a mask.
template <class Visit>
void each_lane(lane_mask mask, Visit visit)
{
  for (; mask != 0; mask &= mask - 1)
  {
    visit(lowest_lane(mask));
  }
}

/// Gives the lanes of a mask their results.
template <class T>
void assign(T* to, T const (&results)[warp_size], lane_mask mask)
{
  if (mask == all_lanes)
  {
    std::memcpy(to, results, sizeof results);
  }
  else
  {
    for (unsigned lane = 0; lane < warp_size; ++lane)
    {
      to[lane] = (mask & lane_bits[lane]) != 0 ? results[lane] : to[lane];
    }
  }
}

/// The same for results that cost nothing and can do no harm in the other lanes: all are computed.
template <class T, class Compute>
void assign_each(frame& f, slot to, lane_mask mask, Compute compute)
{
  T results[warp_size];
  for (unsigned lane = 0; lane < warp_size; ++lane)
  {
    results[lane] = compute(lane);
  }
  assign(lanes<T>(f, to), results, mask);
}

/// Does nothing for a destination that the instruction leaves out.
inline void assign_mask(frame& f, slot to, lane_mask results, lane_mask mask)
{
  if (to != no_slot)
  {
    lane_mask& all = mask_at(f, to);
    all            = (all & ~mask) | (results & mask);
  }
}

/// The lanes for which a test holds. The tests are bytes first, of which a multiplication gathers eight.
template <class Test>
lane_mask mask_where(Test test)
{
  std::uint8_t bytes[warp_size];
  for (unsigned lane = 0; lane < warp_size; ++lane)
  {
    bytes[lane] = test(lane) ? 1 : 0;
  }
  lane_mask mask = 0;
  for (unsigned first = 0; first < warp_size; first += 8)
  {
    std::uint64_t eight = 0;
    std::memcpy(&eight, bytes + first, sizeof eight);
    mask |= static_cast<lane_mask>(eight * 0x0102040810204080 >> 56) << first;
  }
  return mask;
}

} // namespace gpusort::interpreter
