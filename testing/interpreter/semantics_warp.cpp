// Instructions in which lanes learn from each other. Except for the last, the machine executes them once all lanes that take part
// are there.
#include "lanes.h"
#include "numbers.h"
#include "report.h"
#include "semantics.h"

#include <algorithm>
#include <chrono>

namespace gpusort::interpreter
{
namespace
{

enum class shuffle_mode
{
  up,
  down,
  butterfly,
  index
};

/// `b` is the distance or the lane; `c` says where the segment of a lane ends, and in its second byte which bits of lanes are
/// fixed within a segment. A lane without a source keeps its value.
template <shuffle_mode Mode>
void shuffle_lanes(frame& f, instruction const& i, lane_mask mask)
{
  std::uint32_t values[warp_size];
  std::memcpy(values, lanes<std::uint32_t>(f, i.a), sizeof values);
  std::uint32_t const* const b = lanes<std::uint32_t>(f, i.b);
  std::uint32_t const* const c = lanes<std::uint32_t>(f, i.c);
  std::uint32_t* const to      = i.to == no_slot ? nullptr : lanes<std::uint32_t>(f, i.to);
  lane_mask in_segment         = 0;
  each_lane(mask, [&](unsigned l) {
    unsigned const by    = b[l] % warp_size;
    unsigned const fixed = c[l] >> 8 & 31;
    unsigned const first = l & fixed;
    unsigned const bound = first | (c[l] & ~fixed & 31);
    unsigned source      = 0;
    bool valid           = false;
    switch (Mode)
    {
      case shuffle_mode::up:
        source = l - by; // wraps around if there is none
        valid  = static_cast<int>(source) >= static_cast<int>(bound);
        break;
      case shuffle_mode::down:
        source = l + by;
        valid  = source <= bound;
        break;
      case shuffle_mode::butterfly:
        source = l ^ by;
        valid  = source <= bound;
        break;
      case shuffle_mode::index:
        source = first | (by & ~fixed);
        valid  = source <= bound;
        break;
    }
    source = valid ? source : l;
    if (!holds(mask, source))
    {
      finding({f, i, l}, "shuffle from a lane that does not take part", source);
    }
    if (to != nullptr)
    {
      to[l] = values[source];
    }
    in_segment |= valid ? only(l) : 0;
  });
  assign_mask(f, i.predicate_to, in_segment, mask);
}

lane_mask votes(frame& f, instruction const& i, lane_mask mask)
{
  lane_mask const predicate = mask_at(f, i.a);
  return mask & (i.source_negated ? ~predicate : predicate);
}

void ballot(frame& f, instruction const& i, lane_mask mask)
{
  lane_mask const all = votes(f, i, mask);
  assign_each<lane_mask>(f, i.to, mask, [=](unsigned) { return all; });
}

template <bool OrNone, bool OrSome>
void vote_whether_all(frame& f, instruction const& i, lane_mask mask)
{
  lane_mask const all = votes(f, i, mask);
  bool const holds    = all == mask || (OrNone && all == 0) || (OrSome && all != 0);
  assign_mask(f, i.to, holds ? all_lanes : 0, mask);
}

template <class T>
lane_mask lanes_alike(T const* values, unsigned lane, lane_mask mask)
{
  T const value = values[lane];
  return mask & mask_where([=](unsigned l) { return values[l] == value; });
}

template <class T>
void match_any(frame& f, instruction const& i, lane_mask mask)
{
  T const* const values = lanes<T>(f, i.a);
  lane_mask results[warp_size]{};
  each_lane(mask, [&](unsigned l) { results[l] = lanes_alike(values, l, mask); });
  assign(lanes<lane_mask>(f, i.to), results, mask);
}

template <class T>
void match_all(frame& f, instruction const& i, lane_mask mask)
{
  bool const alike = lanes_alike(lanes<T>(f, i.a), lowest_lane(mask), mask) == mask;
  if (i.to != no_slot)
  {
    assign_each<lane_mask>(f, i.to, mask, [=](unsigned) { return alike ? mask : 0; });
  }
  assign_mask(f, i.predicate_to, alike ? all_lanes : 0, mask);
}

template <class T, class Combine>
void reduce(frame& f, instruction const& i, lane_mask mask, Combine combine)
{
  T const* const values = lanes<T>(f, i.a);
  T result              = values[lowest_lane(mask)];
  each_lane(mask & (mask - 1), [&](unsigned l) { result = combine(result, values[l]); });
  assign_each<T>(f, i.to, mask, [=](unsigned) { return result; });
}

template <class T>
handler reduction_of(std::string_view operation)
{
  using bits = std::make_unsigned_t<T>;
  if (operation == "add")
  {
    return [](frame& f, instruction const& i, lane_mask mask) {
      reduce<bits>(f, i, mask, [](bits a, bits b) { return a + b; });
    };
  }
  if (operation == "min")
  {
    return [](frame& f, instruction const& i, lane_mask mask) {
      reduce<T>(f, i, mask, [](T a, T b) { return std::min(a, b); });
    };
  }
  if (operation == "max")
  {
    return [](frame& f, instruction const& i, lane_mask mask) {
      reduce<T>(f, i, mask, [](T a, T b) { return std::max(a, b); });
    };
  }
  if (operation == "and")
  {
    return [](frame& f, instruction const& i, lane_mask mask) {
      reduce<bits>(f, i, mask, [](bits a, bits b) { return a & b; });
    };
  }
  if (operation == "or")
  {
    return [](frame& f, instruction const& i, lane_mask mask) {
      reduce<bits>(f, i, mask, [](bits a, bits b) { return a | b; });
    };
  }
  if (operation == "xor")
  {
    return [](frame& f, instruction const& i, lane_mask mask) {
      reduce<bits>(f, i, mask, [](bits a, bits b) { return a ^ b; });
    };
  }
  return nullptr;
}

void elect_lowest(frame& f, instruction const& i, lane_mask mask)
{
  unsigned const lowest = lowest_lane(mask);
  if (i.to != no_slot)
  {
    assign_each<std::uint32_t>(f, i.to, mask, [=](unsigned) { return lowest; });
  }
  assign_mask(f, i.predicate_to, only(lowest), mask);
}

void lanes_here(frame& f, instruction const& i, lane_mask mask)
{
  assign_each<lane_mask>(f, i.to, mask, [=](unsigned) { return mask; });
}

template <class T, clock Which>
void time_now(frame& f, instruction const& i, lane_mask mask)
{
  std::uint64_t now = executed_instructions() / (std::uint64_t{multiprocessors} * schedulers_of_multiprocessor);
  if constexpr (Which == clock::nanoseconds)
  {
    auto const since = std::chrono::steady_clock::now().time_since_epoch();
    now              = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
  }
  assign_each<T>(f, i.to, mask, [=](unsigned) { return static_cast<T>(now); });
}

} // namespace

handler shuffle(std::string_view mode)
{
  return mode == "up"   ? shuffle_lanes<shuffle_mode::up>
       : mode == "down" ? shuffle_lanes<shuffle_mode::down>
       : mode == "bfly" ? shuffle_lanes<shuffle_mode::butterfly>
       : mode == "idx"  ? shuffle_lanes<shuffle_mode::index>
                        : nullptr;
}

handler vote(std::string_view mode)
{
  return mode == "ballot" ? ballot
       : mode == "all"    ? vote_whether_all<false, false>
       : mode == "any"    ? vote_whether_all<false, true>
       : mode == "uni"    ? vote_whether_all<true, false>
                          : nullptr;
}

handler match(std::string_view mode, type t)
{
  return for_words(t, [=](auto tag) -> handler {
    using bits = std::make_unsigned_t<type_in<decltype(tag)>>;
    return mode == "any" ? match_any<bits> : mode == "all" ? match_all<bits> : nullptr;
  });
}

handler reduction(std::string_view operation, type t)
{
  return t == type::s32 ? reduction_of<std::int32_t>(operation)
       : t == type::u32 ? reduction_of<std::uint32_t>(operation)
                        : nullptr;
}

handler elect()
{
  return elect_lowest;
}

handler active_mask()
{
  return lanes_here;
}

handler sleep_a_turn()
{
  return [](frame&, instruction const&, lane_mask) { end_turn(); };
}

handler read_clock(clock which, int width)
{
  return for_width(width, [=](auto tag) -> handler {
    using number = type_in<decltype(tag)>;
    return which == clock::cycles ? time_now<number, clock::cycles> : time_now<number, clock::nanoseconds>;
  });
}

handler do_nothing()
{
  return [](frame&, instruction const&, lane_mask) {};
}

handler trap()
{
  return [](frame& f, instruction const& i, lane_mask mask) { fault({f, i, lowest_lane(mask)}, "trap"); };
}

handler unsupported()
{
  return [](frame& f, instruction const& i, lane_mask mask) {
    fault({f, i, lowest_lane(mask)}, "the interpreter does not support this instruction");
  };
}

} // namespace gpusort::interpreter
