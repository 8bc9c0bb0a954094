// Merging sorted runs: where a diagonal cuts two of them (merge path), or several; and the serial merge of two.
// Source: Green, McColl, Bader, merge path; Satish, Harris and Garland, section IV.
#pragma once

#include <gpusort/block/warp.cuh>

#include <cuda/std/detail/__config>

#include <cstddef>
#include <cstdint>

namespace gpusort::block
{

/// How many of the first `diagonal` elements of the stable merge of a[0, a_size) and b[0, b_size) come from a. For any
/// comparator the answer is one that the sizes allow. Complexity: O(log min(diagonal, sizes)) comparisons.
_CCCL_EXEC_CHECK_DISABLE
template <class Size, class A, class B, class Compare>
__host__ __device__ Size merge_path(Size diagonal, A a, Size a_size, B b, Size b_size, Compare& comp)
{
  Size taken = diagonal > b_size ? diagonal - b_size : 0;
  Size open  = (diagonal < a_size ? diagonal : a_size) - taken; // how many more there may be
  // What is compared next does not depend on a branch, and how often not on the elements.
  while (open > 0)
  {
    Size const half = open - open / 2;
    Size const more = taken + half;
    taken           = comp(b[diagonal - more], a[more - 1]) ? taken : more;
    open -= half;
  }
  return taken;
}

/// comp(a, b) of copies: an order that reads members through pointers, which it has at run time only, then addresses these
/// two and not a thread's whole array, which would have to leave its registers.
template <class Key, class Compare>
__device__ bool precedes(Key a, Key b, Compare& comp)
{
  return static_cast<bool>(comp(a, b));
}

/// Adds `step` to a or to b: one instruction for each, where the compiler would make two.
__device__ inline void add_to_one_of(bool is_a, unsigned& a, unsigned& b, unsigned step)
{
  asm("{\n"
      "  .reg .pred chosen;\n"
      "  setp.ne.u32 chosen, %2, 0;\n"
      "  @chosen add.u32 %0, %0, %3;\n"
      "  @!chosen add.u32 %1, %1, %3;\n"
      "}\n"
      : "+r"(a), "+r"(b)
      : "r"(static_cast<unsigned>(is_a)), "r"(step));
}

/// merge_path by a warp, for runs that take long to read: lanes try places that are spread evenly over what is open. a and b are
/// functions of a number. All lanes call it with the same arguments, and get the same answer.
template <class A, class B, class Compare>
__device__ int merge_path_of_warp(int diagonal, A a, int a_size, B b, int b_size, Compare& comp)
{
  int const lane = static_cast<int>(threadIdx.x) % 32;
  int taken      = diagonal > b_size ? diagonal - b_size : 0;
  int open       = (diagonal < a_size ? diagonal : a_size) - taken;
  while (open > 0)
  {
    int const width     = (open + 32) / 33;
    int const more      = taken + (lane + 1) * width;
    bool const is_taken = more <= taken + open && !block::precedes(b(diagonal - more), a(more - 1), comp);
    int const count     = __popc(__ballot_sync(all_lanes, is_taken));
    int const left      = open - count * width;
    taken += count * width;
    open =
      count < 32 && left >= width ? width - 1 : left; // the first that is not taken has been asked, or there is none
  }
  return taken;
}

/// How many of the first `rank` elements of the stable merge of several sorted runs come from the run of the calling lane. Ways x Probes
/// neighbouring lanes find that together, the first Probes of them for the first run, and so on; each passes how many elements its own run has, from
/// keys[r x run] on for the r-th, and otherwise they pass the same. All lanes of a warp call it; `probed`, in shared memory, has room for a key of each
/// of them. keys[0] is an element, which lanes that have none to try compare, and `rank` no more than the sizes add up to. For any comparator the
/// answers are some that the sizes allow, and add up to it. Complexity: O(log of the sizes) rounds, in which each lane reads an element and compares it
/// with all others.
template <int Probes, int Ways, class Size, class Key, class Compare>
__device__ Size merge_path_of_lanes(Key* probed, Size rank, Key const* keys, std::size_t run, Size size, Compare& comp)
{
  constexpr int lanes          = Ways * Probes;
  constexpr std::uint32_t mask = lanes < 32 ? (1u << lanes % 32) - 1 : all_lanes;
  static_assert(32 % lanes == 0);
  int const lane             = static_cast<int>(threadIdx.x) % 32;
  int const first            = lane / lanes * lanes; // of those that search together
  int const own              = lane % lanes / Probes; // run
  constexpr auto most_probes = static_cast<Size>(Probes);
  Size const place           = static_cast<Size>(lane % Probes); // of the own probe among those of the run
  auto const sum_of_runs     = [](Size of_run) {
#pragma unroll
    for (int step = Probes; step < lanes; step *= 2)
    {
      of_run += __shfl_xor_sync(all_lanes, of_run, step);
    }
    return of_run;
  };
  // Of what is open of a run, the last elements of `Probes` equal parts are tried, or all, if there are fewer.
  auto const part_of  = [](Size open) { return open > most_probes ? open / (most_probes + 1) : Size{1}; };
  auto const count_of = [](Size open) { return open < most_probes ? open : most_probes; };

  Size taken  = 0;
  Size open   = size < rank ? size : rank; // elements from there on
  Size wanted = rank; // of what is open of all
  Size all    = sum_of_runs(open);
  for (;;)
  {
    bool const is_open = wanted > 0 && wanted < all;
    if (!__any_sync(all_lanes, is_open))
    {
      break;
    }
    Size const part    = part_of(open);
    Size const count   = count_of(open);
    bool const probes  = is_open && place < count;
    Size const in_open = (place + 1) * part - 1;
    // Those that have none to try read any, so that all can be compared with all.
    Key const key = keys[probes ? static_cast<std::size_t>(own) * run + taken + in_open : 0];
    probed[lane]  = key;
    __syncwarp();
    // At least and at most so many open elements go before the own one.
    Size least = in_open, most = in_open;
#pragma unroll
    for (int r = 0; r < Ways; ++r)
    {
      Size const open_of_other  = __shfl_sync(all_lanes, open, first + r * Probes);
      Size const part_of_other  = part_of(open_of_other);
      Size const count_of_other = count_of(open_of_other);
      Size before               = 0;
#pragma unroll
      for (int p = 0; p < Probes; ++p)
      {
        Key const other        = probed[first + r * Probes + p];
        bool const is_in_front = r < own; // then equivalent keys go before the own one
        bool const goes_before =
          block::precedes(is_in_front ? key : other, is_in_front ? other : key, comp) != is_in_front;
        before += goes_before && static_cast<Size>(p) < count_of_other ? 1 : 0;
      }
      Size const some = before * part_of_other;
      least += r == own ? 0 : some;
      most += r == own ? 0 : before < count_of_other ? some + part_of_other - 1 : open_of_other;
    }
    std::uint32_t const takes  = __ballot_sync(all_lanes, probes && most < wanted) >> first & mask;
    std::uint32_t const drops  = __ballot_sync(all_lanes, probes && least >= wanted) >> first & mask;
    std::uint32_t const of_run = ((1u << Probes) - 1) << own * Probes;
    auto const dropped         = static_cast<Size>(__popc(drops & of_run));
    Size const from            = static_cast<Size>(__popc(takes & of_run)) * part;
    Size const to              = dropped > 0 ? (count - dropped + 1) * part - 1 : open;
    Size const sure            = sum_of_runs(from);
    Size const left            = sum_of_runs(to - from);
    // One probe at least says something, unless the comparator contradicts itself.
    bool const is_possible = (__ballot_sync(all_lanes, from > to) >> first & mask) == 0 && (takes | drops) != 0
                          && sure <= wanted && wanted - sure <= left;
    if (is_open)
    {
      open = to - from;
      taken += from;
      wanted -= sure;
      all = left;
    }
    if (__any_sync(all_lanes, is_open && !is_possible))
    {
      Size before = 0; // elements of the runs in front
#pragma unroll
      for (int r = 0; r + 1 < Ways; ++r)
      {
        Size const other = __shfl_sync(all_lanes, size, first + r * Probes);
        before += r < own ? other : 0;
      }
      if (is_open && !is_possible)
      {
        Size const behind = before < rank ? rank - before : 0;
        taken             = size < behind ? size : behind;
        wanted            = 0;
      }
    }
    __syncwarp(); // probed may be written again
  }
  return taken + (wanted > 0 ? open : 0);
}

/// Takes the next `Items` keys of the stable merge of keys[a, a_end) and keys[b, b_end); source[i] says where
/// out[i] was. Afterwards a is where the first run was left. Where fewer keys are left, what lies behind the first run is taken for the
/// rest. Places behind the runs are read, up to the last one that is taken and one more, and may be compared: they have to hold keys.
/// `StaysInside`: none behind the second run are, because other threads may write there; an instruction more for each key.
/// Complexity: `Items` comparisons.
template <bool StaysInside, int Items, class Key, class Source, class Compare>
__device__ void serial_merge(
  Key const* keys, int& a, int a_end, int b, int b_end, Key (&out)[Items], Source (&source)[Items], Compare& comp)
{
  // Places as bytes, which addresses are made of by one addition.
  constexpr auto stride   = static_cast<unsigned>(sizeof(Key));
  auto const* const bytes = reinterpret_cast<char const*>(keys);
  unsigned at_a           = static_cast<unsigned>(a) * stride;
  unsigned at_b           = static_cast<unsigned>(b) * stride;
  unsigned const end_a    = static_cast<unsigned>(a_end) * stride;
  unsigned const end_b    = static_cast<unsigned>(b_end) * stride;
  Key key_a               = keys[a];
  Key key_b               = keys[b];
#pragma unroll
  for (int i = 0; i < Items; ++i)
  {
    // Asked whether or not a run has ended: a branch would take longer.
    bool const goes_before = block::precedes(key_b, key_a, comp);
    bool const is_from_b   = (goes_before | (at_a >= end_a)) & (at_b < end_b);
    unsigned const at      = is_from_b ? at_b : at_a;
    unsigned const behind  = StaysInside ? ::min(at + stride, end_b - stride) : at + stride;
    Key const next         = *reinterpret_cast<Key const*>(bytes + behind);
    out[i]                 = is_from_b ? key_b : key_a;
    source[i]              = static_cast<Source>(at / stride);
    key_b                  = is_from_b ? next : key_b;
    key_a                  = is_from_b ? key_a : next;
    block::add_to_one_of(is_from_b, at_b, at_a, stride);
  }
  a = static_cast<int>(at_a / stride);
}

} // namespace gpusort::block
