// Sorts a few unsigned integers in the registers of a few lanes.
// Source: Batcher's bitonic sort, in the form in which all comparisons go the same way.
#pragma once

#include <gpusort/block/warp.cuh>

#include <cstdint>

namespace gpusort::block
{

template <class Token>
__device__ void put_in_order(Token& a, Token& b)
{
  if constexpr (sizeof(Token) == 8)
  {
    // By words: the compiler would make a minimum and a maximum of it, each of which compares.
    asm("{\n"
        "  .reg .pred ordered;\n"
        "  .reg .b32 a0, a1, b0, b1, low, high;\n"
        "  setp.lt.u64 ordered, %0, %1;\n"
        "  mov.b64 {a0, a1}, %0;\n"
        "  mov.b64 {b0, b1}, %1;\n"
        "  selp.b32 low, a0, b0, ordered;\n"
        "  selp.b32 high, a1, b1, ordered;\n"
        "  selp.b32 b0, b0, a0, ordered;\n"
        "  selp.b32 b1, b1, a1, ordered;\n"
        "  mov.b64 %0, {low, high};\n"
        "  mov.b64 %1, {b0, b1};\n"
        "}\n"
        : "+l"(a), "+l"(b));
  }
  else
  {
    Token const less    = a < b ? a : b;
    Token const greater = a < b ? b : a;
    a                   = less;
    b                   = greater;
  }
}

/// Groups of `Lanes` neighbouring lanes sort up to `Lanes` x `Items` integers each. Not stable, which equal integers do not tell.
/// `Rolled`: in loops, which take far less room for instructions, by more registers.
template <int Lanes, int Items, bool Rolled = false>
class lane_sort
{
  static_assert(Lanes <= 32 && (Lanes & (Lanes - 1)) == 0 && Items >= 2 && (Items & (Items - 1)) == 0);
  static_assert(!Rolled || Lanes == 32, "how often a loop runs depends on how many a group has");

public:
  static constexpr std::uint32_t lanes = Lanes;
  static constexpr std::uint32_t most  = Lanes * Items;

  /// Sorts the `count` integers, at(i), that the calling lane's group has. count <= most. Called by all lanes of a warp.
  template <class Token, class At>
  __device__ static void sort(std::uint32_t count, At at)
  {
    std::uint32_t const lane   = threadIdx.x % Lanes;
    std::uint32_t const number = lane * Items; // of the lane's first, before and after
    Token own[Items];
#pragma unroll
    for (std::uint32_t i = 0; i < Items; ++i)
    {
      own[i] = number + i < count ? at(number + i) : static_cast<Token>(~Token{0});
    }
    merge_runs<2>(own, lane, count);
#pragma unroll
    for (std::uint32_t i = 0; i < Items; ++i)
    {
      if (number + i < count)
      {
        at(number + i) = own[i];
      }
    }
  }

private:
  /// Makes runs of `Run` integers of sorted halves, and goes on with longer ones until one has all.
  template <std::uint32_t Run, class Token>
  __device__ static void merge_runs(Token (&own)[Items], std::uint32_t lane, std::uint32_t count)
  {
    if constexpr (Rolled && Run > Items)
    {
#pragma unroll 1
      for (std::uint32_t lanes_of_run = 2; lanes_of_run <= Lanes && lanes_of_run * Items / 2 < count; lanes_of_run *= 2)
      {
        compare_ends_of_lanes(own, lane, lanes_of_run);
#pragma unroll 1
        for (std::uint32_t distance = lanes_of_run / 4; distance > 0; distance /= 2)
        {
          compare_lanes(own, lane, distance);
        }
        compare_at<Items / 2>(own, lane);
      }
    }
    else if constexpr (Run <= most)
    {
      if (Lanes == 32 && Run == most && count <= most / 2)
      {
        return; // the upper half is empty, for all lanes of the warp
      }
      compare_ends<Run>(own, lane);
      compare_at<Run / 4>(own, lane);
      merge_runs<2 * Run>(own, lane, count);
    }
  }

  /// Compares the i-th integer of each run from its front with the i-th from its end.
  template <std::uint32_t Run, class Token>
  __device__ static void compare_ends(Token (&own)[Items], std::uint32_t lane)
  {
    if constexpr (Run <= Items)
    {
#pragma unroll
      for (std::uint32_t i = 0; i < Items; ++i)
      {
        std::uint32_t const other = i ^ (Run - 1);
        if (i < other)
        {
          put_in_order(own[i], own[other]);
        }
      }
    }
    else
    {
      compare_ends_of_lanes(own, lane, Run / Items);
    }
  }
  template <class Token>
  __device__ static void compare_ends_of_lanes(Token (&own)[Items], std::uint32_t lane, std::uint32_t lanes_of_run)
  {
    bool const is_lower = (lane & (lanes_of_run / 2)) == 0;
    if constexpr (Rolled)
    {
      compare_with_lane(own, lanes_of_run - 1, is_lower, [](std::uint32_t i) { return Items - 1 - i; });
    }
    else
    {
#pragma unroll
      for (std::uint32_t i = 0; i < Items / 2; ++i)
      {
        Token const front  = of_lane(own[i], lanes_of_run - 1);
        Token const end    = of_lane(own[Items - 1 - i], lanes_of_run - 1);
        own[i]             = lesser_or_greater(own[i], end, is_lower);
        own[Items - 1 - i] = lesser_or_greater(own[Items - 1 - i], front, is_lower);
      }
    }
  }

  /// Compares integers that are `Distance` apart, then those half as far.
  template <std::uint32_t Distance, class Token>
  __device__ static void compare_at(Token (&own)[Items], std::uint32_t lane)
  {
    if constexpr (Distance > 0)
    {
      if constexpr (Distance < Items)
      {
#pragma unroll
        for (std::uint32_t i = 0; i < Items; ++i)
        {
          if ((i & Distance) == 0)
          {
            put_in_order(own[i], own[i + Distance]);
          }
        }
      }
      else
      {
        compare_lanes(own, lane, Distance / Items);
      }
      compare_at<Distance / 2>(own, lane);
    }
  }
  template <class Token>
  __device__ static void compare_lanes(Token (&own)[Items], std::uint32_t lane, std::uint32_t distance)
  {
    bool const is_lower = (lane & distance) == 0;
    if constexpr (Rolled)
    {
      compare_with_lane(own, distance, is_lower, [](std::uint32_t i) { return i; });
    }
    else
    {
#pragma unroll
      for (std::uint32_t i = 0; i < Items; ++i)
      {
        own[i] = lesser_or_greater(own[i], of_lane(own[i], distance), is_lower);
      }
    }
  }

  /// The same where registers are no concern: all shuffles are under way before the first is waited for.
  template <class Token, class Partner>
  __device__ static void compare_with_lane(Token (&own)[Items], std::uint32_t mask, bool is_lower, Partner partner)
  {
    Token others[Items];
#pragma unroll
    for (std::uint32_t i = 0; i < Items; ++i)
    {
      others[i] = of_lane(own[i], mask);
    }
#pragma unroll
    for (std::uint32_t i = 0; i < Items; ++i)
    {
      own[i] = lesser_or_greater(own[i], others[partner(i)], is_lower);
    }
  }

  /// What the lane has whose number differs by the bits of `mask`.
  template <class Token>
  __device__ static Token of_lane(Token own, std::uint32_t mask)
  {
    return by_words(own,
                    [mask](std::uint32_t word) { return __shfl_xor_sync(all_lanes, word, static_cast<int>(mask)); });
  }

  template <class Token>
  __device__ static Token lesser_or_greater(Token own, Token other, bool lesser)
  {
    return (other < own) == lesser ? other : own;
  }
};

} // namespace gpusort::block
