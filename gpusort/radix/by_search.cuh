// Sorts small inputs by the blocks of a cluster, in one launch and in the same time whatever the keys are: each block sorts a share of the input and
// shows it to all others, and then each element searches every other share for how many come before it, which says where it goes. Stable.
// Source: Satish, Harris and Garland, section IV: an element of one of two runs that are merged finds its place by binary search
// in the other; here in all runs at once, first those of the warps of a block, then those of the blocks.
#pragma once

#include <gpusort/block/dynamic_shared.cuh>
#include <gpusort/block/warp.cuh>
#include <gpusort/radix/findings.cuh>
#include <gpusort/radix/key_order.h>
#include <gpusort/radix/tuning.h>
#include <gpusort/runtime/cluster.cuh>
#include <gpusort/runtime/dependency.cuh>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::radix
{

template <class Bits>
struct search_storage
{
  // Shorter ones would take no fewer instructions.
  using rank                   = std::conditional_t<(sizeof(Bits) < 4), std::uint32_t, Bits>;
  static constexpr int threads = search_threads(sizeof(Bits)); // at the most
  static constexpr int runs    = 1 + static_cast<int>(most_cluster_blocks);

  alignas(16) rank unsorted[threads];
  // Sorted runs are followed by each rank's successor, and a run of the greatest rank.
  rank of_warps[2 * threads + 32];
  rank of_groups[2 * threads + search_group]; // of warps
  std::uint32_t below_in_warps[threads / 32]; // ranks that are less than the greatest there is
  std::uint32_t below_in_shares[most_cluster_blocks];
  // Of sorted elements, in the block's share of the input.
  std::uint16_t origins_in_groups[threads];
  std::uint16_t origins[threads];
  // A run of the greatest rank; and those of the blocks, of later ones than this each rank's successor. Each has a place for every thread of the block.
  alignas(16) rank shares[runs * threads];

  /// What so many threads of so many blocks take: the less it is, the sooner multiprocessors that do something else have room for it.
  static constexpr std::size_t bytes_for(int threads_of_block, unsigned blocks)
  {
    return sizeof(search_storage)
         - static_cast<std::size_t>(runs * threads - (1 + static_cast<int>(blocks)) * threads_of_block) * sizeof(rank);
  }

  static_assert(threads % search_group == 0, "the last group is filled up");
};

/// The next integer, if there is one. A rank is less than another if its successor is not greater, unless that is the greatest there is.
template <class Rank>
__device__ Rank successor(Rank rank)
{
  auto const next = static_cast<Rank>(rank + 1);
  return next == 0 ? rank : next;
}

/// Whether a < b, or, if `or_equal`, a <= b. Without branches, which compilers make of the comparison of 16 bytes.
template <class Rank>
__device__ bool is_less(Rank a, Rank b, bool or_equal)
{
  if constexpr (sizeof(Rank) > 8)
  {
    auto const a_high = static_cast<std::uint64_t>(a >> 64), b_high = static_cast<std::uint64_t>(b >> 64);
    bool const low = radix::is_less(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b), or_equal);
    return (a_high < b_high) | ((a_high == b_high) & low);
  }
  else
  {
    return (a < b) | ((a == b) & or_equal);
  }
}

/// at[r] is the place of the first of `size` > 0 sorted ranks, and is moved behind those that are not greater than `own`.
template <class Rank, int Runs>
__device__ void search_runs(Rank const* ranks, int size, Rank own, int (&at)[Runs])
{
  Rank found[Runs]; // all are under way before the first is looked at
  int open = size;
#pragma unroll 1
  while (open > 1)
  {
    int const half = open / 2;
#pragma unroll
    for (int r = 0; r < Runs; ++r)
    {
      found[r] = ranks[at[r] + half - 1];
    }
#pragma unroll
    for (int r = 0; r < Runs; ++r)
    {
      at[r] += radix::is_less(found[r], own, true) ? half : 0;
    }
    open -= half;
  }
#pragma unroll
  for (int r = 0; r < Runs; ++r)
  {
    at[r] += radix::is_less(ranks[at[r]], own, true) ? 1 : 0;
  }
}

/// Sorted runs of `size` ranks each, of which those behind run `number` have the successors of their ranks. `begin_of(r)` is where run r begins in `ranks`, and
/// `none` where one of the greatest rank does. `below_in(r)`: how many ranks of run r are not the greatest.
template <class Rank, class BeginOf, class BelowIn>
struct sorted_runs
{
  Rank const* ranks;
  int count, size, number;
  BeginOf begin_of;
  int none;
  BelowIn below_in;

  /// How many ranks of other runs come before `own` of run `number`, which searches `AtOnce` of them at once.
  template <int AtOnce>
  __device__ int count_before(Rank own) const
  {
    if (own == static_cast<Rank>(~Rank{0})) // which has no successor
    {
      int before = number * size;
#pragma unroll 1
      for (int r = number + 1; r < count; ++r)
      {
        before += below_in(r);
      }
      return before;
    }
    int before = 0;
#pragma unroll 1
    for (int first = 0; first < count; first += AtOnce)
    {
      int at[AtOnce];
#pragma unroll
      for (int i = 0; i < AtOnce; ++i)
      {
        int const r = first + i;
        at[i]       = r < count && r != number ? begin_of(r) : none;
        before -= at[i];
      }
      radix::search_runs(ranks, size, own, at);
#pragma unroll
      for (int const place : at)
      {
        before += place;
      }
    }
    return before;
  }
};
template <class Rank, class BeginOf, class BelowIn>
sorted_runs(Rank const*, int, int, int, BeginOf, int, BelowIn) -> sorted_runs<Rank, BeginOf, BelowIn>;

/// How many of the lanes' ranks come before the calling lane's: of equal ones, those of lower lanes. `ranks`: theirs, in shared memory.
template <class Rank>
__device__ int count_before_in_warp(Rank const* ranks, Rank own)
{
  constexpr int at_once = sizeof(Rank) < 16 ? 16 / static_cast<int>(sizeof(Rank)) : 1;
  struct alignas(16) some
  {
    Rank at[at_once];
  };
  int const lane = static_cast<int>(threadIdx.x) % 32;
  int before     = 0;
#pragma unroll
  for (int first = 0; first < 32; first += at_once)
  {
    some const others = *reinterpret_cast<some const*>(ranks + first);
#pragma unroll
    for (int i = 0; i < at_once; ++i)
    {
      before += radix::is_less(others.at[i], own, first + i < lane) ? 1 : 0;
    }
  }
  return before;
}

/// Sorts the ranks of a block, one a thread, and notes which thread each is of: those of a warp, then those of a group of warps, then all. Returns how many are
/// not the greatest. Called by all threads; has to be followed by a barrier.
template <class Bits, class Rank = typename search_storage<Bits>::rank>
__device__ int sort_share(search_storage<Bits>& shared, Rank own, Rank* sorted)
{
  constexpr auto greatest   = static_cast<Rank>(~Rank{0});
  constexpr int group_warps = search_group / 32;
  int const thread          = static_cast<int>(threadIdx.x);
  constexpr int most        = search_storage<Bits>::threads;
  int const warp            = thread / 32;
  int const warps           = static_cast<int>(blockDim.x) / 32;
  int const first_warp      = warp / group_warps * group_warps; // of the group
  int const first           = first_warp * 32;
  auto const below_in       = [&](int w) { return static_cast<int>(shared.below_in_warps[w]); };

  shared.unsorted[thread] = own;
  if (thread < 32)
  {
    shared.of_warps[2 * most + thread] = greatest;
  }
  __syncwarp();
  int place                     = warp * 32 + radix::count_before_in_warp(shared.unsorted + warp * 32, own);
  std::uint32_t const is_below  = __ballot_sync(block::all_lanes, own != greatest);
  shared.of_warps[place]        = own;
  shared.of_warps[most + place] = radix::successor(own);
  if (thread % 32 == 0)
  {
    shared.below_in_warps[warp] = static_cast<std::uint32_t>(__popc(is_below));
  }
  int const below    = __syncthreads_count(own != greatest);
  int const in_group = warp - first_warp;
  sorted_runs const of_warps{
    shared.of_warps,
    warps - first_warp < group_warps ? warps - first_warp : group_warps,
    32,
    in_group,
    [=](int w) { return first + w * 32 + (w > in_group ? most : 0); },
    2 * most,
    [=](int w) { return below_in(first_warp + w); }};
  place -= in_group * 32;
  place += of_warps.template count_before<group_warps>(own);
  int origin = thread;
  if (warps > group_warps)
  {
    shared.of_groups[place]         = own;
    shared.of_groups[most + place]  = radix::successor(own);
    shared.origins_in_groups[place] = static_cast<std::uint16_t>(thread);
    int const groups                = (warps + group_warps - 1) / group_warps;
    if (thread < search_group)
    {
      shared.of_groups[2 * most + thread] = greatest;
      int const behind                    = warps * 32 + thread; // the last group may have fewer warps
      if (behind < groups * search_group)
      {
        shared.of_groups[behind]        = greatest;
        shared.of_groups[most + behind] = greatest;
      }
    }
    __syncthreads();
    // From here on threads have neighbours, so that what they read is close together.
    own             = shared.of_groups[thread];
    origin          = shared.origins_in_groups[thread];
    int const group = thread / search_group;
    sorted_runs const of_groups{
      shared.of_groups,
      groups,
      search_group,
      group,
      [=](int g) { return g * search_group + (g > group ? most : 0); },
      2 * most,
      [=](int g) {
        int below = 0;
        for (int w = g * group_warps; w < warps && w < (g + 1) * group_warps; ++w)
        {
          below += below_in(w);
        }
        return below;
      }};
    place = thread - group * search_group + of_groups.template count_before<most / search_group>(own);
  }
  sorted[place]         = own;
  shared.origins[place] = static_cast<std::uint16_t>(origin);
  return below;
}

/// Sorts n elements where they are. Each block has `share` of them, the last ones fewer or none.
/// Grid: one cluster, with share x blocks >= n. Block: `share` threads, rounded up to whole warps. Shared: search_storage::bytes_for that.
template <class Bits, bool IsFloat, class Value>
__global__ void __launch_bounds__(search_storage<Bits>::threads)
  sort_by_search(key_order<Bits, IsFloat> order, int n, int share, Bits* keys, Value* values)
{
  using storage           = search_storage<Bits>;
  using rank_type         = typename storage::rank;
  constexpr auto greatest = static_cast<rank_type>(~rank_type{0});
  auto& shared            = block::dynamic_shared<storage>();
  int const thread        = static_cast<int>(threadIdx.x);
  int const threads       = static_cast<int>(blockDim.x);
  int const number        = static_cast<int>(runtime::block_of_cluster());
  int const blocks        = static_cast<int>(runtime::cluster_size());
  int const begin         = number * share;
  bool const has_element  = thread < share && begin + thread < n;

  runtime::wait_for_previous_kernel();
  runtime::begin_in_cluster();

  // Places past the end have the greatest rank, behind all elements that have it too, before and after.
  rank_type own              = has_element ? static_cast<rank_type>(order.rank_of(keys[begin + thread])) : greatest;
  rank_type* const own_share = &shared.shares[(1 + number) * threads];
  shared.shares[thread]      = greatest;
  int const below            = radix::sort_share(shared, own, own_share);
  __syncthreads();

  // Threads have neighbours. All elements are read before the first is written.
  own              = own_share[thread];
  int const origin = begin + shared.origins[thread];
  Bits key         = order.bits_of_rank(static_cast<Bits>(own));
  Value value{};
  if (has_element)
  {
    if constexpr (IsFloat)
    {
      key = keys[origin]; // zeros of both signs share a rank
    }
    if constexpr (!std::is_empty_v<Value>)
    {
      value = values[origin];
    }
  }
  runtime::wait_for_cluster(); // all blocks have begun
  rank_type const next = radix::successor(own);
#pragma unroll 8
  for (int b = 0; b < blocks; ++b)
  {
    *runtime::in_block(&own_share[thread], static_cast<unsigned>(b)) = b < number ? next : own;
  }
  if (thread < blocks)
  {
    *runtime::in_block(&shared.below_in_shares[number], static_cast<unsigned>(thread)) =
      static_cast<std::uint32_t>(below);
  }
  runtime::sync_cluster();
  sorted_runs const of_blocks{
    shared.shares,
    blocks,
    share,
    number,
    [=](int b) { return (1 + b) * threads; },
    0,
    [&](int b) { return static_cast<int>(shared.below_in_shares[b]); }};
  int const place = thread + of_blocks.template count_before<8>(own);
  if (has_element)
  {
    keys[place] = key;
    if constexpr (!std::is_empty_v<Value>)
    {
      values[place] = value;
    }
  }
}

} // namespace gpusort::radix
