// Digit by digit, the least significant first: one kernel counts, one moves; of few tiles one does both.
#pragma once

#include <gpusort/block/bit_width.h>
#include <gpusort/block/dynamic_shared.cuh>
#include <gpusort/block/partition.cuh>
#include <gpusort/block/tile.cuh>
#include <gpusort/block/warp.cuh>
#include <gpusort/block/words.cuh>
#include <gpusort/radix/few_values.cuh>
#include <gpusort/radix/findings.cuh>
#include <gpusort/radix/key_order.h>
#include <gpusort/radix/tuning.h>
#include <gpusort/runtime/dependency.cuh>
#include <gpusort/runtime/residency.cuh>

#include <cuda/atomic>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::radix
{

/// Adds to the bins of each digit the keys that have been counted by value, and finds out where values begin in the output and
/// which digits tell them apart: a bit for each. Returns to each lane whether all n keys have been counted so. Called by one warp,
/// with a tally of some.
template <class Bits, bool IsFloat, int Threads>
__device__ bool begin_values(value_tally<Bits, Threads> const& tally,
                             key_order<Bits, IsFloat> const& order,
                             std::size_t n,
                             std::uint64_t* bins,
                             few_values<Bits>& values,
                             std::uint32_t& telling)
{
  constexpr int each   = most_values / 32; // of a lane
  auto const first     = static_cast<int>(threadIdx.x) % 32 * each;
  std::uint32_t digits = 0;
  std::uint64_t sum    = 0;
  std::uint64_t size[each];
#pragma unroll
  for (int i = 0; i < each; ++i)
  {
    int const number = first + i;
    size[i]          = number < tally.count() ? __ldcg(values.begins + number) : 0;
    sum += size[i];
    if (number < tally.count())
    {
      Bits const rank     = tally.rank(number);
      values.keys[number] = order.bits_of_rank(rank);
#pragma unroll
      for (int d = 0; d < key_order<Bits, IsFloat>::digits; ++d)
      {
        unsigned const digit = static_cast<unsigned>(rank >> (d * digit_bits)) & (radix_size - 1);
        atomicAdd(reinterpret_cast<unsigned long long*>(bins + d * radix_size + digit),
                  static_cast<unsigned long long>(size[i]));
      }
      if (number > 0)
      {
        // The highest digit in which any two values differ is one of those in which neighbours do.
        digits |= 1u << (block::bit_width(static_cast<Bits>(rank ^ tally.rank(number - 1))) - 1) / digit_bits;
      }
    }
  }
  telling                     = block::or_of_warp(digits);
  std::uint64_t const through = block::inclusive_sum_of_warp(sum);
  std::uint64_t begin         = through - sum;
#pragma unroll
  for (int i = 0; i < each; ++i)
  {
    values.begins[first + i] = begin;
    begin += size[i];
  }
  return __shfl_sync(block::all_lanes, through, 31) == n;
}

/// Lists the values of an input in which one digit varies, as that digit's bins have them. Called by all threads of a block.
template <class Bits, bool IsFloat>
__device__ void list_values_of_digit(
  key_order<Bits, IsFloat> const& order, Bits any_key, int digit, std::uint64_t const* bins, few_values<Bits>& values)
{
  Bits const mask  = static_cast<Bits>(Bits{radix_size - 1} << (digit * digit_bits));
  Bits const alike = static_cast<Bits>(order.rank_of(any_key) & ~mask);
  for (unsigned own = threadIdx.x; own < radix_size; own += blockDim.x)
  {
    values.keys[own]   = order.bits_of_rank(static_cast<Bits>(alike | static_cast<Bits>(own) << (digit * digit_bits)));
    values.begins[own] = bins[digit * radix_size + own];
  }
  if (threadIdx.x == 0)
  {
    values.count = radix_size;
  }
}

/// How the digits of an input are counted.
struct digit_counting
{
  std::uint32_t blocks; // that share it out; none if a launch before has done it
  int rows; // keys that a thread reads at once, up to histogram_items
  int copies_log2; // of a block's counts: (digits x radix_size << copies_log2) words
  bool with_values;
  bool may_mix; // moves to buckets follow, which can make the first pass
  bool leaves; // what would take least_digits_to_leave passes or more is left to others
};

/// Shared memory of a block that counts, beside its counts.
template <class Bits, bool IsFloat, int Threads>
struct counting_storage
{
  static constexpr int digits = key_order<Bits, IsFloat>::digits;

  typename value_tally<Bits, Threads>::shared_storage values;
  bool varies[digits];
  bool is_crowded[digits];
};

/// Called by all threads of a block; a barrier has to follow.
template <int Threads>
__device__ void clear_counts(std::uint32_t* counts, int digits, digit_counting const& how)
{
  int const words = digits * radix_size << how.copies_log2;
  for (int i = static_cast<int>(threadIdx.x); i < words; i += Threads)
  {
    counts[i] = 0;
  }
}

/// The part of block `number` in this: reads the keys once, counts every digit, turns the counts into where
/// each digit's keys begin in the output, and finds out whether the keys are in order or reversed, which digits never
/// vary, and, if there are few values, which digits tell them apart; keys alone of which one digit varies have few. Called by all threads of a
/// block. Returns whether it is the last of these blocks: then all is found.
/// Before: `counts` of the block and bins are zero. After: bins[d x radix_size + b] is the number of keys whose digit d is below b; the look-back
/// words are empty; `found` is complete. But if keys are left to others, the verdict is 0, nothing is to be moved, and bins may be zero.
template <class Bits, bool IsFloat, int Threads>
__device__ bool count_part(
  counting_storage<Bits, IsFloat, Threads>& shared,
  std::uint32_t* counts, // [digits][radix_size][copies]
  std::uint32_t number,
  digit_counting const& how,
  Bits const* keys_at_home,
  Bits const* keys_in_tiles,
  key_order<Bits, IsFloat> const& order,
  std::uint64_t* bins,
  findings<Bits>* found,
  tiling const& work)
{
  constexpr int digits  = key_order<Bits, IsFloat>::digits;
  constexpr int words   = digits * radix_size;
  constexpr int items   = histogram_items(sizeof(Bits));
  int const rows        = how.rows;
  int const copies_log2 = how.copies_log2;

  Bits const* const keys = found->in_tiles != 0 ? keys_in_tiles : keys_at_home;
  clear_status(work, number, how.blocks);
  value_tally<Bits, Threads> values(shared.values);
  if constexpr (digits > 1) // what has one digit moves once, however few values there are
  {
    values.list(keys, work.n, order);
  }
  __syncthreads();
  if (how.leaves && found->uneven_digits >= least_digits_to_leave && values.count() == 0)
  {
    // Asked any sooner, this takes registers that counting has no room for.
    return is_last_block(found->digit_blocks, how.blocks);
  }

  // A block meets fewer than 2^32 keys: memory for more does not exist.
  int const copy            = static_cast<int>(threadIdx.x) & ((1 << copies_log2) - 1);
  auto const count_by_digit = [&](Bits rank) {
#pragma unroll
    for (int d = 0; d < digits; ++d)
    {
      unsigned const digit = static_cast<unsigned>(rank >> (d * digit_bits)) & (radix_size - 1);
      atomicAdd(&counts[((d * radix_size + digit) << copies_log2) + copy], 1u);
    }
  };
  std::size_t const n     = work.n;
  std::size_t const chunk = static_cast<std::size_t>(rows) * Threads;
  std::uint32_t all_seen  = 0;
  auto const count_all    = [&](auto const& count) {
    for (std::size_t begin = static_cast<std::size_t>(number) * chunk; begin < n;
         begin += static_cast<std::size_t>(how.blocks) * chunk)
    {
      // A warp stops looking at neighbours once it has met both directions: on most inputs, at once.
      bool const compares = (all_seen & seen::no_longer) != seen::no_longer;
      warp_ranks<Bits, items> ranks;
      ranks.read(keys, begin + threadIdx.x / 32 * static_cast<unsigned>(rows) * 32, rows, n, compares);
      all_seen |= ranks.rank(order);
      if (compares)
      {
        all_seen |= ranks.compare_neighbours(rows);
      }
#pragma unroll
      for (int i = 0; i < items; ++i)
      {
        if (ranks.holds(i, rows))
        {
          count(ranks.at[i]);
        }
      }
    }
  };
  if (values.count() == 0)
  {
    count_all(count_by_digit);
  }
  else
  {
    count_all([&](Bits rank) {
      if (!values.add(rank))
      {
        count_by_digit(rank);
      }
    });
  }
  note_seen(*found, block::or_of_warp(all_seen));
  __syncthreads();

  values.add_to(found->values.begins);
  for (int i = static_cast<int>(threadIdx.x); i < words; i += Threads)
  {
    std::uint32_t sum = 0;
    for (int c = 0; c < 1 << copies_log2; ++c)
    {
      sum += counts[(i << copies_log2) + c];
    }
    if (sum != 0)
    {
      atomicAdd(reinterpret_cast<unsigned long long*>(bins + i), static_cast<unsigned long long>(sum));
    }
  }
  if (!is_last_block(found->digit_blocks, how.blocks))
  {
    return false;
  }
  if (threadIdx.x == 0)
  {
    found->verdict = block::verdict::accepted; // until passes are known
  }
  std::uint32_t telling = 0;
  bool is_few           = false;
  if (values.count() > 0)
  {
    if (threadIdx.x < 32)
    {
      is_few = begin_values(values, order, n, bins, found->values, telling);
    }
    is_few = __syncthreads_or(is_few) != 0;
  }
  // A warp a digit: 32 lanes x 8 bins.
  int const lane = static_cast<int>(threadIdx.x) % 32;
  for (int d = static_cast<int>(threadIdx.x) / 32; d < digits; d += Threads / 32)
  {
    constexpr int bins_per_lane = radix_size / 32;
    std::uint64_t* const row    = bins + d * radix_size + lane * bins_per_lane;
    std::uint64_t bin[bins_per_lane];
    std::uint64_t sum  = 0;
    std::uint64_t most = 0;
#pragma unroll
    for (int i = 0; i < bins_per_lane; ++i)
    {
      bin[i] = __ldcg(reinterpret_cast<unsigned long long const*>(row + i));
      sum += bin[i];
      most = most < bin[i] ? bin[i] : most;
    }
    std::uint64_t begin = block::inclusive_sum_of_warp(sum) - sum;
#pragma unroll
    for (int i = 0; i < bins_per_lane; ++i)
    {
      row[i] = begin;
      begin += bin[i];
    }
    bool const is_constant = __any_sync(block::all_lanes, most == n);
    bool const is_full     = __any_sync(block::all_lanes, most > n / crowd_of_digit);
    if (lane == 0)
    {
      shared.varies[d]     = !is_constant;
      shared.is_crowded[d] = is_full;
    }
  }
  __syncthreads();
  std::uint32_t const all = *const_cast<std::uint32_t volatile*>(&found->seen);
  bool const tells_equal  = how.with_values || (all & seen::twin) != 0;
  int varying = 0, last_varying = 0; // digits
#pragma unroll
  for (int d = 0; d < digits; ++d)
  {
    varying += shared.varies[d] ? 1 : 0;
    last_varying = shared.varies[d] ? d : last_varying;
  }
  input_order const order_of_input = order_of_seen(all, tells_equal);
  if (order_of_input == input_order::none && !tells_equal && !is_few && varying == 1)
  {
    list_values_of_digit(order, keys[0], last_varying, bins, found->values);
    return true;
  }
  if (threadIdx.x != 0)
  {
    return true;
  }
  if (order_of_input != input_order::none) // `decided` stays as it is: blocks may ask whether they count
  {
    found->reverses = order_of_input == input_order::reversed ? 1 : 0;
    return true;
  }
  if (is_few && !tells_equal)
  {
    found->values.count = static_cast<std::uint32_t>(values.count());
    return true;
  }
  std::uint32_t passes = 0;
  for (int d = 0; d < digits; ++d)
  {
    if (shared.varies[d] && (!is_few || (telling >> d & 1u) != 0))
    {
      found->digit_of_pass[passes++] = d;
    }
  }
  if (how.leaves && passes >= least_digits_to_leave)
  {
    found->verdict = 0;
    return true;
  }
  found->passes = passes;
  if constexpr (sizeof(Bits) <= 4)
  {
    if (how.may_mix && !tells_equal && !shared.is_crowded[found->digit_of_pass[0]])
    {
      found->mixes = 1;
      found->map   = bucket_map<Bits>::of_ranks();
    }
  }
  return true;
}

/// Unless it has been decided already what to do: count_part, by all blocks.
/// Grid: how.blocks. Block: histogram_threads. Shared: the counts.
template <class Bits, bool IsFloat>
__global__ void __launch_bounds__(histogram_threads,
                                  runtime::resident_blocks(histogram_threads, resident_blocks_per_sm))
  count_digits(Bits const* keys_at_home,
               Bits const* keys_in_tiles,
               key_order<Bits, IsFloat> order,
               digit_counting how,
               std::uint64_t* bins,
               findings<Bits>* found,
               tiling work)
{
  extern __shared__ std::uint32_t counts[];
  __shared__ counting_storage<Bits, IsFloat, histogram_threads> shared;
  clear_counts<histogram_threads>(counts, key_order<Bits, IsFloat>::digits, how);
  runtime::wait_for_previous_kernel();
  if (found->decided != 0)
  {
    accept_decided(found);
    return;
  }
  count_part(shared, counts, blockIdx.x, how, keys_at_home, keys_in_tiles, order, bins, found, work);
}

/// The bucket of a key is one of its digits: `order.digit(key, d)`, read as the byte it is, in fewer instructions. Aligned so that one
/// load gets all of it.
template <class Bits, bool IsFloat>
class alignas(16) digit_of
{
public:
  __device__ digit_of(key_order<Bits, IsFloat> const& order, int d)
      : d_(d)
      , flip_(static_cast<unsigned>(order.flip >> (d * digit_bits)) & (radix_size - 1))
      , flip_of_negative_(flip_ ^ (radix_size - 1))
      , sign_(static_cast<unsigned>(order.sign_bit >> (d * digit_bits)) & (radix_size - 1))
  {}

  __device__ unsigned operator()(Bits key) const
  {
    unsigned const byte = byte_of(key);
    if constexpr (IsFloat) // see rank_of
    {
      return (byte | sign_) ^ (key > key_order<Bits, IsFloat>::sign_bit ? flip_of_negative_ : flip_);
    }
    return byte ^ flip_;
  }

private:
  __device__ unsigned byte_of(Bits key) const
  {
    static_assert(digit_bits == 8);
    if constexpr (sizeof(Bits) <= 4)
    {
      return __byte_perm(key, 0, 0x4440u | static_cast<unsigned>(d_));
    }
    else
    {
      auto half = static_cast<std::uint64_t>(key);
      if constexpr (sizeof(Bits) > 8)
      {
        half = d_ < 8 ? half : static_cast<std::uint64_t>(key >> 64);
      }
      auto const low  = static_cast<unsigned>(half);
      auto const high = static_cast<unsigned>(half >> 32);
      return __byte_perm(low, high, static_cast<unsigned>(d_) % 8) & (radix_size - 1);
    }
  }

  int d_;
  unsigned flip_;
  unsigned flip_of_negative_;
  unsigned sign_;
};

template <class Bits, bool IsFloat, class Value>
using digit_partition = pass_by<Bits, Value, digit_of<Bits, IsFloat>>;

/// Where the keys of a part go in the pass `number`, which is by `digit`.
__device__ inline block::partition_work
work_of_pass(std::uint64_t const* bins, int digit, std::uint32_t number, input_part const& part, tiling const& work)
{
  bool const whole = part.size == work.n;
  return {part.number == 0 ? bins + digit * radix_size : part.begins(),
          part.begins_behind(),
          1,
          radix_size,
          work.status,
          whole && number % 2 != 0 ? 1 : 0};
}

/// Swaps the elements [begin, end) of the first half of n elements with their mirror images.
template <int Threads, class T>
__device__ void swap_ends_slowly(T* elements, std::size_t n, std::size_t begin, std::size_t end)
{
  for (std::size_t i = begin + threadIdx.x; i < end; i += Threads)
  {
    T const first       = elements[i];
    elements[i]         = elements[n - 1 - i];
    elements[n - 1 - i] = first;
  }
}

/// Whether passes that are phases of one launch end the sort: with an even number of digits, an odd number of passes leaves a phase
/// that can bring the result back.
constexpr bool phases_finish(int digits)
{
  return digits % 2 == 0;
}

/// Phases of such a launch. After a wave there is one more: from the second arrays it is an even number of passes that has to be
/// brought back.
constexpr int phases_for(int digits, bool in_wave)
{
  return in_wave ? digits + 1 : digits;
}

/// Writes the places [begin, end) of the sorted keys of an input of few values.
template <int Threads, class Bits>
__device__ void write_values(few_values<Bits> const& values, std::uint64_t begin, std::uint64_t end, Bits* keys)
{
  std::uint64_t place       = begin + threadIdx.x;
  std::uint32_t number      = values.at(place);
  std::uint32_t const count = values.count;
  for (; place < end; place += Threads)
  {
    while (number + 1 < count && values.begins[number + 1] <= place)
    {
      ++number;
    }
    keys[place] = values.keys[number];
  }
}

/// What finish_at_home does, for one tile of an input whose passes are phases of one launch.
template <class Bits, class Value, int Threads>
__device__ void
finish_tile(findings<Bits> const& found, std::size_t begin, tiling const& work, buffers<Bits, Value> const& at)
{
  constexpr bool with_values = !std::is_same_v<Value, block::no_values>;
  bool const reverses        = found.reverses != 0;
  std::size_t const all      = reverses ? work.n / 2 : work.n;
  std::size_t const end      = all - begin < static_cast<std::size_t>(work.tile) ? all : begin + work.tile;
  if (begin >= all)
  {
    return;
  }
  if (found.values.count != 0)
  {
    write_values<Threads>(found.values, begin, end, at.keys[0]);
    return;
  }
  if (reverses)
  {
    swap_ends_slowly<Threads>(at.keys[0], work.n, begin, end);
    if constexpr (with_values)
    {
      swap_ends_slowly<Threads>(at.values[0], work.n, begin, end);
    }
    return;
  }
  block::copy_slowly<Threads>(static_cast<int>(end - begin), at.keys[1] + begin, at.keys[0] + begin);
  if constexpr (with_values)
  {
    block::copy_slowly<Threads>(static_cast<int>(end - begin), at.values[1] + begin, at.values[0] + begin);
  }
}

/// Shared memory of a block that counts in a launch of passes.
template <class Bits, bool IsFloat, int Threads>
struct counting_room
{
  counting_storage<Bits, IsFloat, Threads> storage;
  std::uint32_t counts[key_order<Bits, IsFloat>::digits * radix_size]; // and copies
};

/// The part of block `number` in the counting of digits, in a launch of passes; if it is the last, those who wait are told. Called by all
/// threads, a barrier since shared memory was used.
template <class Bits, bool IsFloat, int Threads>
__device__ __noinline__ void count_before_passes(
  std::uint32_t number,
  digit_counting how,
  Bits const* keys_at_home,
  Bits const* keys_in_tiles,
  key_order<Bits, IsFloat> order,
  std::uint64_t* bins,
  findings<Bits>* found,
  tiling work)
{
  auto& shared = block::dynamic_shared<counting_room<Bits, IsFloat, Threads>>();
  clear_counts<Threads>(shared.counts, key_order<Bits, IsFloat>::digits, how);
  if (count_part(shared.storage, shared.counts, number, how, keys_at_home, keys_in_tiles, order, bins, found, work))
  {
    __syncthreads(); // all that was found is written
    if (threadIdx.x == 0)
    {
      ::cuda::atomic_ref<std::uint32_t, ::cuda::thread_scope_device>(found->digits_counted)
        .store(1, ::cuda::std::memory_order_release);
    }
  }
}

/// Moves keys and values of a tile of a part of the input to where their digits belong, in input order, between the first and
/// the second arrays: in one of the passes from `first` to before `last` of those that `found` says there are. They are phases
/// of one kernel, if the part is all of the input and there are several: a ticket stands for a tile of a pass, and its block waits
/// until the pass before is done; a last phase finishes, if that takes anything. Then the first tickets may stand for parts of the counting of digits,
/// for which the others wait. Not a first pass that mixes: move_to_buckets makes that. Called by all threads.
/// Before: tickets[first] is zero; digits have been counted, or are by this launch; the look-back words are empty, or left behind by the pass before, unless the
/// launch counts.
template <class Bits, bool IsFloat, class Value>
__device__ void move_by_digits(
  typename digit_partition<Bits, IsFloat, Value>::shared_storage& shared,
  key_order<Bits, IsFloat> const& order,
  digit_counting const& counting,
  findings<Bits>* found,
  std::uint64_t* bins,
  std::uint32_t* tickets,
  std::uint32_t first,
  std::uint32_t last,
  input_part const& part,
  tiling const& work,
  buffers<Bits, Value> const& at)
{
  using partition       = digit_partition<Bits, IsFloat, Value>;
  using counter         = ::cuda::atomic_ref<std::uint32_t, ::cuda::thread_scope_device>;
  bool const has_phases = last - first > 1; // of the launch, whose tickets they share
  bool const counts     = counting.blocks != 0 && found->decided == 0;
  std::uint32_t passes = 0, behind = 0; // that there are in all; the last of this launch
  bool only_finishes  = false;
  auto const has_work = [&] {
    passes = found->passes;
    behind = passes < last ? passes : last;
    // Tiles may be in order when the input is not: then no pass moves them, and they still have to be brought back. They cannot be
    // reversed: each would be one bucket, as it was in the input, which the wave has looked at.
    bool const is_in_tiles = found->in_tiles != 0 && passes == 0;
    only_finishes          = has_phases && (found->reverses != 0 || found->values.count != 0 || is_in_tiles);
    return (first < behind || only_finishes) && (first > 0 || found->mixes == 0);
  };
  if (!counts && !has_work())
  {
    return;
  }
  std::uint32_t tile = partition::take_tile(shared, tickets + first);
  if (counts)
  {
    if (tile < counting.blocks)
    {
      count_before_passes<Bits, IsFloat, partition::threads>(
        tile, counting, at.keys[0], at.keys[1], order, bins, found, work);
      return;
    }
    tile -= counting.blocks;
    if (threadIdx.x == 0)
    {
      while (counter(found->digits_counted).load(::cuda::std::memory_order_acquire) == 0)
      {
      }
    }
    __syncthreads();
    if (!has_work())
    {
      return;
    }
  }
  counter const done(found->tiles_done);
  int digit          = only_finishes ? 0 : found->digit_of_pass[first];
  std::uint32_t pass = first;
  if (has_phases)
  {
    std::uint32_t const phase = tile / work.tiles;
    tile -= phase * work.tiles;
    pass += phase;
    bool const finishes = only_finishes || (passes + found->in_tiles) % 2 != 0;
    if (pass > behind || (pass == behind && !finishes))
    {
      return;
    }
    if (phase > 0)
    {
      if (threadIdx.x == 0)
      {
        while (done.load(::cuda::std::memory_order_acquire) < phase * work.tiles)
        {
        }
      }
      __syncthreads();
    }
    if (pass == behind)
    {
      finish_tile<Bits, Value, partition::threads>(*found, static_cast<std::size_t>(tile) * work.tile, work, at);
      return;
    }
    digit = found->digit_of_pass[pass];
  }
  else if (tile >= work.tiles)
  {
    return; // a block for a spare tile of a level of buckets
  }
  bool const from_home = (pass + found->in_tiles) % 2 == 0;
  partition::move_tile(
    shared,
    digit_of<Bits, IsFloat>(order, digit),
    work_of_pass(bins, digit, pass, part, work),
    block::place_in({part.begin, part.size, 0}, 0, tile, work.tile),
    from_home ? at.keys[0] : at.keys[1],
    from_home ? at.keys[1] : at.keys[0],
    from_home ? at.values[0] : at.values[1],
    from_home ? at.values[1] : at.values[0]);
  if (has_phases)
  {
    __syncthreads(); // all of the tile is written
    if (threadIdx.x == 0)
    {
      done.fetch_add(1, ::cuda::std::memory_order_release);
    }
  }
}

template <class T>
__device__ T reversed(T element)
{
  return element;
}
template <class T, std::size_t Bytes>
__device__ block::vector_of<T, Bytes> reversed(block::vector_of<T, Bytes> elements)
{
  block::vector_of<T, Bytes> turned;
#pragma unroll
  for (int i = 0; i < elements.count; ++i)
  {
    turned.at[i] = elements.at[elements.count - 1 - i];
  }
  return turned;
}

/// Swaps a block's share [begin, end) of the first half of n elements with their mirror images. Equal keys, if there are
/// any, cannot be told apart.
template <int Items, class T>
__device__ void swap_ends(T* elements, std::size_t n, std::size_t begin, std::size_t end)
{
  constexpr int step = home_threads * Items;
  int const size     = end - begin < step ? static_cast<int>(end - begin) : step;
  T* const front     = elements + begin;
  T* const mirrored  = elements + (n - 1 - begin); // from here on backwards
  T first[Items];
  T last[Items];
  block::read_tile<home_threads>(first, size, [&](int place) { return front[place]; });
  block::read_tile<home_threads>(last, size, [&](int place) { return mirrored[-place]; });
#pragma unroll
  for (int i = 0; i < Items; ++i)
  {
    int const place = i * home_threads + static_cast<int>(threadIdx.x);
    if (place < size)
    {
      front[place]     = radix::reversed(last[i]);
      mirrored[-place] = radix::reversed(first[i]);
    }
  }
}

/// Reverses n elements, together with all blocks of the grid.
template <int Items, class T>
__device__ void reverse_by_blocks(T* elements, std::size_t n)
{
  constexpr std::size_t step = std::size_t{home_threads} * Items;
  for (std::size_t begin = blockIdx.x * step; begin < n / 2; begin += gridDim.x * step)
  {
    radix::swap_ends<Items>(elements, n, begin, n / 2);
  }
}

/// The same, by vectors where these make an even number of them that do not cross the elements' ends.
template <class T>
__device__ void reverse(T* elements, std::size_t n)
{
  if constexpr (sizeof(T) == 4 || sizeof(T) == 8)
  {
    using vector = block::vector_of<T, 16>;
    if (reinterpret_cast<std::uintptr_t>(elements) % sizeof(vector) == 0 && n % (2 * vector::count) == 0)
    {
      radix::reverse_by_blocks<vectors_reversed_at_once>(reinterpret_cast<vector*>(elements), n / vector::count);
      return;
    }
  }
  radix::reverse_by_blocks<reversed_at_once>(elements, n);
}

/// Elements that a block of finish_at_home moves at once.
template <class Bits, class Value>
inline constexpr int home_step = home_threads * moved_at_once(sizeof(Bits), value_bytes_v<Value>);

/// After the passes: brings keys and values back to the caller's arrays, if they are in the second ones; or reverses them, or
/// writes the few values that keys have, if that is all there is to do.
/// Grid: any. Block: home_threads.
template <class Bits, class Value>
__global__ void __launch_bounds__(home_threads)
  finish_at_home(findings<Bits> const* found, std::size_t n, buffers<Bits, Value> at)
{
  constexpr bool with_values = !std::is_same_v<Value, block::no_values>;
  constexpr int items        = moved_at_once(sizeof(Bits), value_bytes_v<Value>);
  constexpr int step         = home_step<Bits, Value>;
  runtime::wait_for_previous_kernel();
  bool const reverses = found->reverses != 0;
  bool const is_few   = found->values.count != 0;
  if (!reverses && !is_few && (found->passes + found->in_tiles) % 2 == 0)
  {
    return;
  }
  if (reverses)
  {
    radix::reverse(at.keys[0], n);
    if constexpr (with_values)
    {
      radix::reverse(at.values[0], n);
    }
    return;
  }
  for (std::size_t begin = static_cast<std::size_t>(blockIdx.x) * step; begin < n;
       begin += static_cast<std::size_t>(gridDim.x) * step)
  {
    if (is_few)
    {
      write_values<home_threads>(found->values, begin, n - begin < step ? n : begin + step, at.keys[0]);
    }
    else
    {
      int const size = n - begin < step ? static_cast<int>(n - begin) : step;
      block::move_tile<home_threads, items>(
        size, [&](int place) { return at.keys[1][begin + place]; }, at.keys[0] + begin);
      if constexpr (with_values)
      {
        block::move_tile<home_threads, items>(
          size, [&](int place) { return at.values[1][begin + place]; }, at.values[0] + begin);
      }
    }
  }
}

} // namespace gpusort::radix
