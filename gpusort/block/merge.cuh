// Merging two sorted runs: where a diagonal cuts them (merge path), and the serial merge.
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

/// Takes the next `count` <= Items keys of the stable merge of keys[a, a_end) and keys[b, b_end); source[i] says where
/// out[i] was. Afterwards a is where the first run was left. Where fewer than `count` keys
/// are left, what lies behind the first run is taken for the rest, and one place behind the last may be read.
template <bool Full, int Items, class Key, class Source, class Compare>
__device__ void serial_merge(
  Key const* keys,
  int& a,
  int a_end,
  int b,
  int b_end,
  int count,
  Key (&out)[Items],
  Source (&source)[Items],
  Compare& comp)
{
  Key key_a = keys[a];
  Key key_b = keys[b];
#pragma unroll
  for (int i = 0; i < Items; ++i)
  {
    if (Full || i < count)
    {
      bool const from_b = b < b_end && (a >= a_end || block::precedes(key_b, key_a, comp));
      out[i]            = from_b ? key_b : key_a;
      source[i]         = static_cast<Source>(from_b ? b : a);
      if (from_b)
      {
        key_b = keys[++b];
      }
      else
      {
        key_a = keys[++a];
      }
    }
  }
}

} // namespace gpusort::block
