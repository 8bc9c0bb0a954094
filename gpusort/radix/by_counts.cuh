// By counting: keys of one or two bytes, without values, are counted value by value and written anew. No key moves.
// Source: Satish, Harris and Garland, section III, count digits before they move keys; here the count of a digit that is all
// of the key says what the output is.
#pragma once

#include <gpusort/block/prefix_sum.cuh>
#include <gpusort/block/warp.cuh>
#include <gpusort/radix/key_order.h>
#include <gpusort/radix/tuning.h>
#include <gpusort/runtime/dependency.cuh>
#include <gpusort/runtime/launch.cuh>
#include <gpusort/runtime/residency.cuh>

#include <cuda/atomic>
#include <cuda/std/utility>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::radix
{

/// Keys as vectors of 16 bytes: the first and the last of them may lie outside in part.
template <class Bits>
struct key_vectors
{
  static constexpr int per_vector = 16 / static_cast<int>(sizeof(Bits));

  Bits* keys;
  std::size_t n;
  int skew; // places of the first vector in front of the first key

  __host__ __device__ key_vectors(Bits* keys_, std::size_t n_)
      : keys(keys_)
      , n(n_)
      , skew(static_cast<int>(reinterpret_cast<std::uintptr_t>(keys_) % 16 / sizeof(Bits)))
  {}

  __host__ __device__ std::size_t count() const
  {
    return runtime::blocks_for(n + static_cast<std::size_t>(skew), per_vector);
  }

  /// The same without the last, if that lies outside in part.
  __device__ std::size_t count_before_end() const
  {
    return (n + static_cast<std::size_t>(skew)) / per_vector;
  }

  /// Whether vector v has keys in all places.
  __device__ bool is_whole(std::size_t v) const
  {
    return (v > 0 || skew == 0) && v < count_before_end();
  }

  __device__ auto* at(std::size_t v) const
  {
    using vector = std::conditional_t<std::is_const_v<Bits>, uint4 const, uint4>;
    return reinterpret_cast<vector*>(keys + v * per_vector - skew);
  }

  /// f(number of the key, place) for the keys of a vector that has fewer than there are places.
  template <class F>
  __device__ void for_each_of_part(std::size_t v, F f) const
  {
#pragma unroll 1
    for (int place = 0; place < per_vector; ++place)
    {
      std::size_t const key = v * per_vector + static_cast<std::size_t>(place) - static_cast<std::size_t>(skew);
      if (key < n) // in front of the first, the number wraps around
      {
        f(key, place);
      }
    }
  }
};

/// The counts of all keys, in device memory.
struct value_counts
{
  std::uint64_t* words; // zero before the sort
  bool in_halves; // two counts in a word, which are sure to be below 2^32

  __device__ void add(std::uint32_t value, std::uint64_t keys) const
  {
    add_words(in_halves ? value / 2 : value, in_halves && value % 2 != 0 ? keys << 32 : keys);
  }

  /// Adds to the counts of an even value and of the next one.
  __device__ void add_two(std::uint32_t even, std::uint32_t keys, std::uint32_t keys_of_next) const
  {
    if (in_halves)
    {
      add_words(even / 2, keys | static_cast<std::uint64_t>(keys_of_next) << 32);
    }
    else
    {
      add_words(even, keys);
      add_words(even + 1, keys_of_next);
    }
  }

  __device__ std::uint64_t operator[](std::uint32_t value) const
  {
    return in_halves ? __ldcg(reinterpret_cast<std::uint32_t const*>(words) + value)
                     : __ldcg(reinterpret_cast<unsigned long long const*>(words) + value);
  }

  /// The counts of four values, of which the first is a multiple of four.
  __device__ void read_four(std::uint32_t first, std::uint64_t (&sizes)[4]) const
  {
    if (in_halves)
    {
      uint4 const four = __ldcg(reinterpret_cast<uint4 const*>(words) + first / 4);
      sizes[0]         = four.x;
      sizes[1]         = four.y;
      sizes[2]         = four.z;
      sizes[3]         = four.w;
    }
    else
    {
#pragma unroll
      for (std::uint32_t i = 0; i < 4; ++i)
      {
        sizes[i] = __ldcg(reinterpret_cast<unsigned long long const*>(words) + first + i);
      }
    }
  }

private:
  __device__ void add_words(std::uint32_t at, std::uint64_t keys) const
  {
    atomicAdd(reinterpret_cast<unsigned long long*>(words + at), static_cast<unsigned long long>(keys));
  }
};

/// Whether two counts of n keys share a word.
constexpr bool counts_in_halves(std::size_t n)
{
  return n >> 32 == 0;
}

/// Where the keys of each rank begin in the output, in device memory.
struct rank_begins
{
  void* words;
  bool in_halves; // 32 bits each

  __device__ std::uint64_t operator[](std::uint32_t rank) const
  {
    return in_halves ? static_cast<std::uint32_t const*>(words)[rank] : static_cast<std::uint64_t const*>(words)[rank];
  }

  /// Where five ranks begin, the first of which is a multiple of four.
  __device__ void read_five(std::uint32_t first, std::uint64_t (&begins)[5]) const
  {
    if (in_halves)
    {
      uint4 const four = static_cast<uint4 const*>(words)[first / 4];
      begins[0]        = four.x;
      begins[1]        = four.y;
      begins[2]        = four.z;
      begins[3]        = four.w;
    }
    else
    {
#pragma unroll
      for (std::uint32_t i = 0; i < 4; ++i)
      {
        begins[i] = (*this)[first + i];
      }
    }
    begins[4] = (*this)[first + 4];
  }

  /// Notes where four ranks begin, the first of which is a multiple of four, and has so many keys before it.
  __device__ void write_four(std::uint32_t first, std::uint64_t before, std::uint64_t const (&sizes)[4]) const
  {
    std::uint64_t const begins[4] = {
      before, before + sizes[0], before + sizes[0] + sizes[1], before + sizes[0] + sizes[1] + sizes[2]};
    if (in_halves)
    {
      static_cast<uint4*>(words)[first / 4] =
        uint4{static_cast<std::uint32_t>(begins[0]),
              static_cast<std::uint32_t>(begins[1]),
              static_cast<std::uint32_t>(begins[2]),
              static_cast<std::uint32_t>(begins[3])};
    }
    else
    {
#pragma unroll
      for (std::uint32_t i = 0; i < 4; ++i)
      {
        static_cast<std::uint64_t*>(words)[first + i] = begins[i];
      }
    }
  }

  __device__ void write_end(std::uint32_t ranks, std::uint64_t n) const
  {
    if (in_halves)
    {
      static_cast<std::uint32_t*>(words)[ranks] = static_cast<std::uint32_t>(n);
    }
    else
    {
      static_cast<std::uint64_t*>(words)[ranks] = n;
    }
  }
};

/// Words of all counts of n keys.
template <class Bits>
constexpr std::size_t count_words(std::size_t n)
{
  return std::size_t{key_values<Bits>} / (counts_in_halves(n) ? 2 : 1);
}

/// Words that say where all ranks of n keys begin, and where the last one ends.
template <class Bits>
constexpr std::size_t rank_words(std::size_t n)
{
  return counts_in_halves(n) ? key_values<Bits> / 2 + 1 : key_values<Bits> + 1;
}

/// Counts of a block's keys of one byte, in shared memory: every value has one for each lane, so that lanes never meet.
struct byte_tally
{
  static constexpr std::size_t bytes = 256 * 32 * sizeof(std::uint32_t);

  std::uint32_t* counts; // [value][lane]

  __device__ void clear() const
  {
    for (unsigned i = threadIdx.x; i < 256 * 32 / 4; i += blockDim.x)
    {
      reinterpret_cast<uint4*>(counts)[i] = uint4{0, 0, 0, 0};
    }
  }

  __device__ void count(std::uint8_t value) const
  {
    atomicAdd(&counts[value * 32u + threadIdx.x % 32], 1u);
  }

  __device__ void count(uint4 const& vector)
  {
    std::uint32_t const words[4] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
    for (int i = 0; i < 16; ++i)
    {
      count(static_cast<std::uint8_t>(words[i / 4] >> (i % 4 * 8)));
    }
  }

  __device__ void look_for_crowd(std::uint32_t) const
  {}
  __device__ void settle() const
  {}

  /// Of one value. Lanes that ask for different ones do not wait for each other.
  __device__ std::uint32_t sum_of(std::uint8_t value) const
  {
    std::uint32_t sum = 0;
#pragma unroll 8
    for (unsigned i = 0; i < 32; ++i)
    {
      sum += counts[value * 32u + (threadIdx.x + i) % 32];
    }
    return sum;
  }

  /// Adds all to the counts in device memory. Called by all threads, after a barrier.
  __device__ void hand_in(value_counts const& all) const
  {
    if (threadIdx.x < 128)
    {
      std::uint32_t const even = threadIdx.x * 2;
      all.add_two(even, sum_of(static_cast<std::uint8_t>(even)), sum_of(static_cast<std::uint8_t>(even + 1)));
    }
  }
};

/// The place of a value's count among those of all values of two bytes. The bank of shared memory depends on all bits but the lowest, so that
/// values in which few bits are set seldom meet, nor do those a power of two apart. Its own inverse; of two values at once, one in either
/// half.
__host__ __device__ constexpr std::uint32_t spread_over_banks(std::uint32_t values)
{
  return values ^ (((values >> 5) ^ (values >> 10)) & 0x003e003e);
}

/// Counts of a block's keys of two bytes, two in a word: of all values, or of as many neighbours as there is room for, 2^14 at least. Within, a
/// value is known by its place.
template <bool All>
class short_tally
{
public:
  /// Keys that a block may count between two calls of `settle`.
  static constexpr int most_at_once = 1 << 15;

  __device__ short_tally(std::uint32_t* words, int words_log2, std::uint32_t range, value_counts const& all)
      : words_(words)
      , words_log2_(words_log2)
      , first_(range << (words_log2 + 1))
      , all_(all)
      , crowds_{{first_, 0}, {first_ + 1, 0}}
  {}

  __device__ void clear() const
  {
    for (unsigned i = threadIdx.x; i < (1u << words_log2_) / 4; i += blockDim.x)
    {
      reinterpret_cast<uint4*>(words_)[i] = uint4{0, 0, 0, 0};
    }
  }

  __device__ void count(std::uint32_t value)
  {
    count_beside<0>(spread_over_banks(value), 1);
  }

  __device__ void count(uint4 const& vector)
  {
    if (((vector.x ^ vector.y) | (vector.z ^ vector.w) | (vector.x ^ vector.z)
         | (vector.x ^ __funnelshift_l(vector.x, vector.x, 16)))
        == 0)
    {
      count_beside<2>(spread_over_banks(vector.x) & 0xffff, 8);
    }
    else if (crowded_ == 0)
    {
      count_beside<0>(vector);
    }
    else if (crowded_ == 1)
    {
      count_beside<1>(vector);
    }
    else
    {
      count_beside<2>(vector);
    }
  }

  /// Looks for two values that the lanes of the warp have often: each lane counts these for itself. `sample` is any key of the
  /// lane.
  __device__ void look_for_crowd(std::uint32_t sample)
  {
    constexpr int many  = 3;
    sample              = spread_over_banks(sample);
    auto const lanes_of = [&](std::uint32_t place) { return __popc(__ballot_sync(block::all_lanes, sample == place)); };
    int sizes[2]        = {lanes_of(crowds_[0].place), lanes_of(crowds_[1].place)};
    auto const order    = [&] {
      if (sizes[1] > sizes[0])
      {
        ::cuda::std::swap(crowds_[0], crowds_[1]);
        ::cuda::std::swap(sizes[0], sizes[1]);
      }
    };
    order();
    unsigned const others =
      __ballot_sync(block::all_lanes, sample != crowds_[0].place && sample != crowds_[1].place && in_range(sample));
    if (others != 0)
    {
      std::uint32_t const next = __shfl_sync(block::all_lanes, sample, __ffs(static_cast<int>(others)) - 1);
      int const size           = lanes_of(next);
      if (size >= many && size > sizes[1])
      {
        hand_in(crowds_[1]);
        crowds_[1] = {next, 0};
        sizes[1]   = size;
        order();
      }
    }
    crowded_ = (sizes[0] >= many ? 1 : 0) + (sizes[1] >= many ? 1 : 0);
  }

  /// Hands in what counts have beyond half of what they can hold. Called by all threads.
  __device__ void settle() const
  {
    constexpr unsigned at_once = 2; // vectors: a divisor of what each thread has of 2^13 words
    __syncthreads();
#pragma unroll 4
    for (unsigned first = threadIdx.x; first < (1u << words_log2_) / 4; first += at_once * count_threads)
    {
      std::uint32_t any = 0;
#pragma unroll
      for (unsigned i = 0; i < at_once; ++i)
      {
        uint4 const four = reinterpret_cast<uint4 const*>(words_)[first + i * count_threads];
        any |= four.x | four.y | four.z | four.w;
      }
      if ((any & upper_halves) != 0)
      {
        for (unsigned i = 0; i < at_once * 4; ++i)
        {
          unsigned const at          = (first + i / 4 * count_threads) * 4 + i % 4;
          std::uint32_t const halves = words_[at] & upper_halves;
          if (halves != 0)
          {
            words_[at] -= halves;
            all_.add_two(even_value_at(at), halves & 0xffff, halves >> 16);
          }
        }
      }
    }
    __syncthreads();
  }

  /// Adds all to the counts in device memory. Called by all threads, after a barrier.
  __device__ void hand_in()
  {
    hand_in(crowds_[0]);
    hand_in(crowds_[1]);
    // Blocks begin at different places, so that they do not all wait for the same.
    std::uint32_t const turn = (blockIdx.x * 0x9e3779b9u) >> 17;
#pragma unroll 4
    for (unsigned i = threadIdx.x; i < 1u << words_log2_; i += count_threads)
    {
      std::uint32_t const at   = (i + turn) % (1u << words_log2_);
      std::uint32_t const word = words_[at];
      if (word != 0)
      {
        all_.add_two(even_value_at(at), word & 0xffff, word >> 16);
      }
    }
  }

private:
  static constexpr std::uint32_t upper_halves = 0x80008000; // of what two counts of a word can hold

  /// A value that lanes count for themselves.
  struct crowd
  {
    std::uint32_t place;
    std::uint32_t keys; // of this lane
  };

  __device__ std::uint32_t even_value_at(std::uint32_t word) const
  {
    return spread_over_banks(first_ + word * 2);
  }

  __device__ bool in_range(std::uint32_t place) const
  {
    return All || (place - first_) >> (words_log2_ + 1) == 0;
  }

  /// Counts keys, those of the first `Crowds` crowds for this lane.
  template <int Crowds>
  __device__ void count_beside(std::uint32_t place, std::uint32_t keys)
  {
    bool is_counted = in_range(place);
#pragma unroll
    for (int i = 0; i < Crowds; ++i)
    {
      bool const is_in_crowd = place == crowds_[i].place;
      crowds_[i].keys += is_in_crowd ? keys : 0;
      is_counted = is_counted && !is_in_crowd;
    }
    if (is_counted)
    {
      atomicAdd(&words_[(All ? place : place - first_) / 2], place % 2 != 0 ? keys << 16 : keys);
    }
  }

  template <int Crowds>
  __device__ void count_beside(uint4 const& vector)
  {
    std::uint32_t const words[4] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
    for (std::uint32_t const two : words)
    {
      std::uint32_t const places = spread_over_banks(two);
      count_beside<Crowds>(places & 0xffff, 1);
      count_beside<Crowds>(places >> 16, 1);
    }
  }

  __device__ void hand_in(crowd const& c) const
  {
    std::uint32_t const sum = block::sum_of_warp(c.keys);
    if (threadIdx.x % 32 == 0 && sum != 0)
    {
      all_.add(spread_over_banks(c.place), sum);
    }
  }

  std::uint32_t* words_;
  int words_log2_;
  std::uint32_t first_; // place
  value_counts all_;
  crowd crowds_[2]; // the larger one first
  int crowded_ = 0; // how many of them lanes have often here
};

/// Counts the keys that this block has of those of the grid: up to count_rows vectors a thread, and then again. Called by all
/// threads.
template <class Bits, class Tally>
__device__ void count_share(key_vectors<Bits const> const& keys, int rows, Tally& tally)
{
  std::size_t const vectors = keys.count();
  std::size_t const chunk   = static_cast<std::size_t>(rows) * count_threads;
  std::size_t const stride  = gridDim.x * chunk;
  // A warp's rows are neighbours, so that what is alike in the input often is in a warp.
  std::size_t const own = threadIdx.x / 32 * static_cast<unsigned>(rows) * 32 + threadIdx.x % 32;
  auto const is_full    = [&](std::size_t begin) {
    return begin + chunk <= keys.count_before_end() && (begin != 0 || keys.skew == 0);
  };
  uint4 ahead[count_rows];
  auto const load = [&](std::size_t begin) {
    if (is_full(begin))
    {
      auto* const from = keys.at(begin + own);
#pragma unroll
      for (int row = 0; row < count_rows; ++row)
      {
        if (row < rows)
        {
          ahead[row] = from[row * 32];
        }
      }
    }
  };
  load(blockIdx.x * chunk);
  for (std::size_t begin = blockIdx.x * chunk; begin < vectors; begin += stride)
  {
    if (is_full(begin))
    {
      uint4 now[count_rows];
#pragma unroll
      for (int row = 0; row < count_rows; ++row)
      {
        now[row] = ahead[row];
      }
      load(begin + stride);
      tally.look_for_crowd(now[0].x & 0xffff);
#pragma unroll
      for (int row = 0; row < count_rows; ++row)
      {
        if (row < rows)
        {
          tally.count(now[row]);
        }
      }
    }
    else
    {
      load(begin + stride);
      // A lane without a sample has one that no other has.
      tally.look_for_crowd(keys.is_whole(begin + own) ? keys.at(begin + own)->x & 0xffff : threadIdx.x);
#pragma unroll 1
      for (int row = 0; row < rows; ++row)
      {
        std::size_t const v = begin + own + static_cast<std::size_t>(row) * 32;
        if (keys.is_whole(v))
        {
          tally.count(*keys.at(v));
        }
        else if (v < vectors)
        {
          keys.for_each_of_part(v, [&](std::size_t key, int) { tally.count(keys.keys[key]); });
        }
      }
    }
    if (begin + stride < vectors)
    {
      tally.settle();
    }
  }
}

/// Counts all keys by value.
/// Grid: any. Block: count_threads. Shared: byte_tally's, or 2^words_log2 words: 2^15, if All. A thread reads `rows` vectors at
/// once, up to count_rows.
/// Before: counts are zero.
template <class Bits, bool All>
__global__ void __launch_bounds__(count_threads)
  count_keys(Bits const* keys, std::size_t n, int rows, int words_log2, value_counts counts)
{
  extern __shared__ uint4 shared_words[];
  auto* const words = reinterpret_cast<std::uint32_t*>(shared_words);
  key_vectors<Bits const> const vectors(keys, n);
  if constexpr (sizeof(Bits) == 1)
  {
    byte_tally tally{words};
    tally.clear();
    runtime::wait_for_previous_kernel();
    __syncthreads();
    count_share(vectors, rows, tally);
    __syncthreads();
    tally.hand_in(counts);
  }
  else
  {
    static_assert(count_threads * count_rows * key_vectors<Bits>::per_vector <= short_tally<All>::most_at_once);
    words_log2 = All ? 15 : words_log2;
    for (std::uint32_t range = 0; range < 1u << (15 - words_log2); ++range)
    {
      short_tally<All> tally(words, words_log2, range, counts);
      tally.clear();
      if (range == 0)
      {
        runtime::wait_for_previous_kernel();
      }
      __syncthreads();
      count_share(vectors, rows, tally);
      __syncthreads();
      tally.hand_in();
      __syncthreads();
    }
  }
}

/// What blocks hand on to those behind them, in device memory; zero before. A block's number is its ticket, so that all before
/// it run already.
template <int Blocks>
struct handed_on
{
  std::uint32_t tickets;
  std::uint64_t sums[Blocks]; // of each block, and 1

  using sum = ::cuda::atomic_ref<std::uint64_t, ::cuda::thread_scope_device>;

  /// Called by all threads.
  __device__ unsigned take_ticket()
  {
    __shared__ unsigned ticket;
    if (threadIdx.x == 0)
    {
      ticket = atomicAdd(&tickets, 1u);
    }
    __syncthreads();
    return ticket;
  }

  __device__ void hand_on(unsigned number, std::uint64_t value)
  {
    sum(sums[number]).store(value + 1, ::cuda::std::memory_order_release);
  }

  __device__ std::uint64_t wait_for(unsigned number)
  {
    std::uint64_t found = 0;
    while ((found = sum(sums[number]).load(::cuda::std::memory_order_acquire)) == 0)
    {
    }
    return found - 1;
  }
};

/// Blocks of begin_ranks.
template <class Bits>
inline constexpr int rank_blocks = key_values<Bits> / ranks_of_block;

/// begins[r] = how many keys have a rank below r. Here -0 and +0 have ranks of their own.
/// Grid: rank_blocks. Block: rank_threads.
/// Before: counts are complete, *blocks is zero.
template <class Bits, bool IsFloat>
__global__ void __launch_bounds__(rank_threads)
  begin_ranks(key_order<Bits, IsFloat> order,
              value_counts counts,
              std::size_t n,
              rank_begins begins,
              handed_on<rank_blocks<Bits>>* blocks)
{
  constexpr std::uint32_t ranks = key_values<Bits>;
  static_assert(ranks % ranks_of_block == 0 && rank_blocks<Bits> <= 32);
  __shared__ block::warp_sums<std::uint64_t, rank_threads> sums;
  runtime::wait_for_previous_kernel();
  // Four ranks are four values side by side, in the same order or in the other.
  auto const read = [&](std::uint32_t rank, std::uint64_t(&sizes)[4]) {
    std::uint32_t const value = order.bits_of_rank(static_cast<Bits>(rank));
    counts.read_four(value & ~3u, sizes);
    if (value % 4 != 0)
    {
      ::cuda::std::swap(sizes[0], sizes[3]);
      ::cuda::std::swap(sizes[1], sizes[2]);
    }
  };
  unsigned const number   = blocks->take_ticket();
  std::uint32_t const own = number * ranks_of_block + threadIdx.x * 4;
  std::uint64_t sizes[4];
  read(own, sizes);
  std::uint64_t const sum = sizes[0] + sizes[1] + sizes[2] + sizes[3];
  std::uint64_t begin     = block::exclusive_sum<rank_threads>(sums, sum);
  if (threadIdx.x == rank_threads - 1)
  {
    blocks->hand_on(number, begin + sum);
  }
  unsigned const lane          = threadIdx.x % 32;
  std::uint64_t const of_other = lane < number ? blocks->wait_for(lane) : 0;
  begin += __shfl_sync(block::all_lanes, block::inclusive_sum_of_warp(of_other), 31);
  begins.write_four(own, begin, sizes);
  if (own + 4 == ranks)
  {
    begins.write_end(ranks, n);
  }
}

/// Zeros of either sign, which have to keep their order if there are both.
struct zeros
{
  std::uint64_t begin; // in the output
  std::uint64_t count; // 0, unless there are both

  template <class Bits>
  __device__ static zeros of(key_order<Bits, true> const& order, rank_begins const& begins)
  {
    auto const rank           = static_cast<std::uint32_t>(order.rank_of(0)); // of +0; that of -0 is next to it
    std::uint32_t const lower = order.bits_of_rank(static_cast<Bits>(rank + 1)) == order.sign_bit ? rank : rank - 1;
    std::uint64_t const first = begins[lower], second = begins[lower + 1], end = begins[lower + 2];
    return {first, first < second && second < end ? end - first : 0};
  }
};

/// The signs of all zeros in the order of the input, if there are zeros of both signs; in device memory, zero before.
struct zero_signs
{
  std::uint32_t* bits; // of -0 set
  handed_on<zero_blocks>* in_shares; // zeros in each block's share of the input

  __device__ bool is_negative(std::uint64_t zero) const
  {
    return (bits[zero / 32] >> (zero % 32) & 1) != 0;
  }
};

/// One of so many shares of `all`, each about as large as the others.
struct share_of
{
  std::size_t begin, end;

  __device__ share_of(std::size_t all, unsigned number, unsigned shares)
      : begin(all * number / shares)
      , end(all * (number + 1) / shares)
  {}
};

/// Of a thread's vectors, zero_threads apart from `first` on and before `end`: bit i of found[row], whether the key in place i
/// is a zero, and bit 16 + i, whether it is -0. Returns whether there are any.
template <class Bits>
__device__ bool
find_zeros(key_vectors<Bits const> const& keys, std::size_t first, std::size_t end, std::uint32_t (&found)[zero_rows])
{
  constexpr Bits sign_bit = key_order<Bits, true>::sign_bit;
  auto const find         = [](Bits key, int place) {
    return static_cast<Bits>(key & ~sign_bit) == 0 ? (key == 0 ? 1u : 0x10001u) << place : 0;
  };
  uint4 vectors[zero_rows];
#pragma unroll
  for (int row = 0; row < zero_rows; ++row)
  {
    std::size_t const v = first + static_cast<std::size_t>(row) * zero_threads;
    vectors[row]        = v < end && keys.is_whole(v) ? *keys.at(v) : uint4{~0u, ~0u, ~0u, ~0u};
  }
  std::uint32_t any = 0;
#pragma unroll
  for (int row = 0; row < zero_rows; ++row)
  {
    std::size_t const v          = first + static_cast<std::size_t>(row) * zero_threads;
    std::uint32_t const words[4] = {vectors[row].x, vectors[row].y, vectors[row].z, vectors[row].w};
    found[row]                   = 0;
#pragma unroll
    for (int i = 0; i < key_vectors<Bits const>::per_vector; ++i)
    {
      found[row] |= find(static_cast<Bits>(words[i / 2] >> (i % 2 * 16)), i);
    }
    if (v < end && !keys.is_whole(v))
    {
      keys.for_each_of_part(v, [&](std::size_t key, int place) { found[row] |= find(keys.keys[key], place); });
    }
    any |= found[row];
  }
  return any != 0;
}

/// If there are zeros of both signs: lists their signs in the order of the input. Reads all keys twice: first to know how many
/// zeros there are in each block's share.
/// Grid: zero_blocks. Block: zero_threads.
/// Before: begins are complete, signs and what they hand on zero. After: so are signs, if there are zeros of both.
template <class Bits>
__global__ void __launch_bounds__(zero_threads)
  list_signs(Bits const* keys, std::size_t n, key_order<Bits, true> order, rank_begins begins, zero_signs signs)
{
  runtime::wait_for_previous_kernel();
  if (zeros::of(order, begins).count == 0)
  {
    return;
  }
  __shared__ block::warp_sums<std::uint64_t, zero_threads> sums;
  __shared__ std::uint64_t all;
  auto const sum_before = [&](std::uint64_t own) {
    std::uint64_t const before = block::exclusive_sum<zero_threads>(sums, own);
    if (threadIdx.x == zero_threads - 1)
    {
      all = before + own;
    }
    __syncthreads();
    return before;
  };
  key_vectors<Bits const> const vectors(keys, n);
  static_assert(zero_blocks <= zero_threads);
  unsigned const number = signs.in_shares->take_ticket();
  share_of const share(vectors.count(), number, gridDim.x);
  std::uint32_t own = 0;
  for (std::size_t v = share.begin + threadIdx.x; v < share.end; v += zero_threads * zero_rows)
  {
    std::uint32_t found[zero_rows];
    if (find_zeros(vectors, v, share.end, found))
    {
#pragma unroll
      for (std::uint32_t const of_row : found)
      {
        own += __popc(of_row & 0xffff);
      }
    }
  }
  sum_before(own);
  if (threadIdx.x == 0)
  {
    signs.in_shares->hand_on(number, all);
  }
  std::uint64_t const of_other = threadIdx.x < number ? signs.in_shares->wait_for(threadIdx.x) : 0;
  __syncthreads(); // the sum has been read
  sum_before(of_other);
  std::uint64_t next = all; // zero
  for (std::size_t begin = share.begin; begin < share.end; begin += zero_threads * zero_rows)
  {
    std::uint32_t found[zero_rows];
    bool const any = find_zeros(vectors, begin + threadIdx.x, share.end, found);
    if (__syncthreads_or(any) == 0)
    {
      continue;
    }
#pragma unroll
    for (std::uint32_t const of_row : found)
    {
      std::uint64_t zero = next + sum_before(static_cast<std::uint64_t>(__popc(of_row & 0xffff)));
      for (std::uint32_t left = of_row & 0xffff; left != 0; left &= left - 1, ++zero)
      {
        if ((of_row >> (16 + __ffs(static_cast<int>(left)) - 1) & 1) != 0)
        {
          atomicOr(signs.bits + zero / 32, 1u << (zero % 32));
        }
      }
      next += all;
    }
  }
}

/// The keys of an output of which it is known where each rank begins.
template <class Bits, bool IsFloat>
struct ranked_keys
{
  key_order<Bits, IsFloat> order;
  zeros of_both_signs{};
  zero_signs signs{};

  /// The key in a place of the output, whose rank this is.
  __device__ Bits at(std::uint32_t rank, std::uint64_t place) const
  {
    if constexpr (IsFloat)
    {
      std::uint64_t const zero = place - of_both_signs.begin;
      if (zero < of_both_signs.count)
      {
        return signs.is_negative(zero) ? order.sign_bit : Bits{0};
      }
    }
    return order.bits_of_rank(static_cast<Bits>(rank));
  }

  /// Whether all keys of a rank are the same.
  __device__ bool are_alike(std::uint32_t rank) const
  {
    return !IsFloat || of_both_signs.count == 0
        || static_cast<Bits>(order.bits_of_rank(static_cast<Bits>(rank)) & ~order.sign_bit) != 0;
  }
};

/// Writes sorted keys, of which all that is known is where each rank begins: a tile marks the first place of every rank in it,
/// and then each place has the greatest rank that is marked up to there.
template <class Bits, bool IsFloat, int Threads, int Rows>
class rank_writer
{
  using vectors_type              = key_vectors<Bits>;
  static constexpr int per_vector = vectors_type::per_vector;
  static constexpr int rows       = Rows;
  static constexpr int warps      = Threads / 32;

public:
  static constexpr int tile_vectors = Threads * rows;

  __host__ __device__ static std::size_t tiles_of(vectors_type const& keys)
  {
    return runtime::blocks_for(keys.count(), tile_vectors);
  }

  struct shared_storage
  {
    uint4 marks[tile_vectors];
    std::uint32_t last_marked[rows * warps]; // of each warp, row by row
  };

  /// Writes the tiles from `tile` up to `end`, which may be none; nothing if all keys are one, which lie there already. begins: where each rank begins, and
  /// behind the last, n. Called by all threads; shared memory may be used again after a barrier.
  __device__ static void write(shared_storage& shared,
                               ranked_keys<Bits, IsFloat> const& keys,
                               vectors_type const& to,
                               rank_begins const& begins,
                               std::size_t tile,
                               std::size_t end)
  {
    if (tile == end)
    {
      return;
    }
    auto const place_of  = [&](std::size_t vector) { return vector * per_vector - static_cast<std::size_t>(to.skew); };
    std::uint32_t lowest = find_rank(begins, tile == 0 ? 0 : place_of(tile * tile_vectors));
    if (begins[lowest + 1] - begins[lowest] == to.n)
    {
      return;
    }
#pragma unroll
    for (int row = 0; row < rows; ++row)
    {
      shared.marks[row * Threads + threadIdx.x] = uint4{0, 0, 0, 0};
    }
    __syncthreads();
    for (; tile < end; ++tile)
    {
      std::size_t const first  = tile * tile_vectors;
      std::size_t const behind = place_of(first + tile_vectors);
      std::uint32_t const highest =
        mark_ranks(shared, begins, lowest, place_of(first), (behind < to.n ? behind : to.n) - 1);
      uint4 held[rows];
      if (highest == lowest && keys.are_alike(lowest))
      {
#pragma unroll
        for (uint4& vector : held)
        {
          vector = filled_with(keys.at(lowest, tile == 0 ? 0 : place_of(first)));
        }
      }
      else
      {
        take_marks(shared, keys, place_of(first), lowest, held);
      }
      lowest = highest;
#pragma unroll
      for (int row = 0; row < rows; ++row)
      {
        std::size_t const v = first + static_cast<std::size_t>(row * Threads) + threadIdx.x;
        if (to.is_whole(v))
        {
          *to.at(v) = held[row];
        }
        else if (v < to.count())
        {
          to.for_each_of_part(v, [&](std::size_t key, int place) { to.keys[key] = key_in(held[row], place); });
        }
      }
    }
  }

private:
  /// The rank of the key in a place: the last that begins no later.
  __device__ static std::uint32_t find_rank(rank_begins const& begins, std::uint64_t place)
  {
    std::uint32_t rank = 0;
    for (std::uint32_t among = key_values<Bits>; among > 1;)
    {
      std::uint32_t const stride = among > Threads ? among / Threads : 1;
      std::uint32_t const own    = threadIdx.x * stride;
      bool const is_before       = own < among && begins[rank + own] <= place;
      rank += (__syncthreads_count(is_before) - 1) * stride;
      among = stride;
    }
    return rank;
  }

  __device__ static Bits key_in(uint4 const& vector, int place)
  {
    int const word_of        = place * static_cast<int>(sizeof(Bits)) / 4;
    std::uint32_t const word = word_of == 0 ? vector.x : word_of == 1 ? vector.y : word_of == 2 ? vector.z : vector.w;
    return static_cast<Bits>(word >> (place * static_cast<int>(sizeof(Bits)) % 4 * 8));
  }

  /// Marks the first place of every rank above `lowest` that begins up to the last place of a tile. Returns the rank of the key in that place.
  /// After: a barrier.
  __device__ static std::uint32_t mark_ranks(
    shared_storage& shared,
    rank_begins const& begins,
    std::uint32_t lowest,
    std::size_t first_place,
    std::size_t last_place)
  {
    auto const mark = [&](std::uint32_t rank, std::uint64_t begin) {
      reinterpret_cast<Bits*>(shared.marks)[begin - first_place] = static_cast<Bits>(rank);
    };
    std::uint32_t const own = lowest + 1 + threadIdx.x;
    bool is_here            = false;
    if (own < key_values<Bits>)
    {
      std::uint64_t const begin = begins[own], end = begins[own + 1];
      is_here = begin <= last_place;
      if (is_here && begin < end)
      {
        mark(own, begin);
      }
    }
    int const here = __syncthreads_count(is_here);
    if (here < Threads)
    {
      return lowest + here;
    }
    std::uint32_t const highest = find_rank(begins, last_place);
#pragma unroll 4
    for (std::uint32_t four = (lowest + 1 + Threads) / 4 + threadIdx.x; four <= highest / 4; four += Threads)
    {
      std::uint64_t found[5];
      begins.read_five(four * 4, found);
#pragma unroll
      for (std::uint32_t i = 0; i < 4; ++i)
      {
        std::uint32_t const rank = four * 4 + i;
        if (found[i] < found[i + 1] && rank <= highest)
        {
          mark(rank, found[i]);
        }
      }
    }
    __syncthreads();
    return highest;
  }

  /// The keys of a tile whose ranks have been marked, the first of which has the rank `lowest` or one that is marked. Unmarks all.
  __device__ static void take_marks(shared_storage& shared,
                                    ranked_keys<Bits, IsFloat> const& keys,
                                    std::size_t first_place,
                                    std::uint32_t lowest,
                                    uint4 (&held)[rows])
  {
    int const warp = static_cast<int>(threadIdx.x) / 32;
    int const lane = static_cast<int>(threadIdx.x) % 32;
    std::uint32_t before[rows]; // the greatest rank marked in the warp's vectors before
#pragma unroll
    for (int row = 0; row < rows; ++row)
    {
      held[row]           = shared.marks[row * Threads + threadIdx.x];
      std::uint32_t up_to = 0;
      before[row]         = 0;
      if (__any_sync(block::all_lanes, has_marks(held[row])))
      {
        shared.marks[row * Threads + threadIdx.x] = uint4{0, 0, 0, 0};
        up_to                                     = inclusive_greatest_of_warp(greatest_in(held[row]));
        std::uint32_t const previous              = __shfl_up_sync(block::all_lanes, up_to, 1);
        before[row]                               = lane == 0 ? 0 : previous;
      }
      if (lane == 31)
      {
        shared.last_marked[row * warps + warp] = up_to;
      }
    }
    __syncthreads();
#pragma unroll
    for (int row = 0; row < rows; ++row)
    {
      std::uint32_t of_others = lowest;
#pragma unroll
      for (int i = 0; i < rows * warps; i += 32)
      {
        of_others = i + lane < row * warps + warp ? max(of_others, shared.last_marked[i + lane]) : of_others;
      }
      std::uint32_t rank = max(before[row], block::greatest_of_warp(of_others));
      write_ranks(
        keys, rank, first_place + static_cast<std::uint64_t>(row * Threads + threadIdx.x) * per_vector, held[row]);
    }
  }

  __device__ static bool has_marks(uint4 const& vector)
  {
    return (vector.x | vector.y | vector.z | vector.w) != 0;
  }

  __device__ static uint4 filled_with(Bits key)
  {
    std::uint32_t const word = key * (sizeof(Bits) == 1 ? 0x01010101u : 0x00010001u);
    return {word, word, word, word};
  }

  __device__ static std::uint32_t greatest_in(uint4 const& vector)
  {
    if constexpr (sizeof(Bits) == 1)
    {
      std::uint32_t const four = __vmaxu4(__vmaxu4(vector.x, vector.y), __vmaxu4(vector.z, vector.w));
      std::uint32_t const two  = __vmaxu4(four, four >> 16);
      return max(two & 0xff, two >> 8 & 0xff);
    }
    else
    {
      std::uint32_t const two = __vmaxu2(__vmaxu2(vector.x, vector.y), __vmaxu2(vector.z, vector.w));
      return max(two & 0xffff, two >> 16);
    }
  }

  __device__ static std::uint32_t inclusive_greatest_of_warp(std::uint32_t value)
  {
#pragma unroll
    for (int step = 1; step < 32; step *= 2)
    {
      std::uint32_t const other = __shfl_up_sync(block::all_lanes, value, step);
      value                     = max(value, other); // without a lane there, the lane's own
    }
    return value;
  }

  /// Replaces marks by the keys of the greatest rank up to each place.
  __device__ static void
  write_ranks(ranked_keys<Bits, IsFloat> const& keys, std::uint32_t rank, std::uint64_t first_place, uint4& vector)
  {
    if (!has_marks(vector) && keys.are_alike(rank))
    {
      vector = filled_with(keys.at(rank, first_place));
      return;
    }
    constexpr int per_word        = 4 / static_cast<int>(sizeof(Bits));
    constexpr int bits            = static_cast<int>(sizeof(Bits)) * 8;
    std::uint32_t* const words[4] = {&vector.x, &vector.y, &vector.z, &vector.w};
#pragma unroll
    for (int w = 0; w < 4; ++w)
    {
      std::uint32_t word = 0;
#pragma unroll
      for (int i = 0; i < per_word; ++i)
      {
        rank = max(rank, *words[w] >> (i * bits) & (key_values<Bits> - 1));
        word |= static_cast<std::uint32_t>(keys.at(rank, first_place + w * per_word + i)) << (i * bits);
      }
      *words[w] = word;
    }
  }
};

/// Writes all keys of two bytes anew.
/// Grid: no more blocks than rank_writer has tiles. Block: write_threads. Shared: its storage, by itself.
/// Before: begins are complete, and signs where there are zeros of both.
template <class Bits, bool IsFloat>
__global__ void __launch_bounds__(write_threads, runtime::resident_blocks(write_threads, write_blocks_per_sm))
  write_ranked(Bits* keys, std::size_t n, key_order<Bits, IsFloat> order, rank_begins begins, zero_signs signs)
{
  using writer = rank_writer<Bits, IsFloat, write_threads, write_rows>;
  __shared__ typename writer::shared_storage shared;
  runtime::wait_for_previous_kernel();
  ranked_keys<Bits, IsFloat> ranked{order};
  if constexpr (IsFloat)
  {
    ranked.of_both_signs = zeros::of(order, begins);
    ranked.signs         = signs;
  }
  key_vectors<Bits> const to(keys, n);
  constexpr unsigned shares = write_shares(IsFloat);
  for (unsigned number = blockIdx.x; number < shares * gridDim.x; number += gridDim.x)
  {
    share_of const share(writer::tiles_of(to), number, shares * gridDim.x);
    writer::write(shared, ranked, to, begins, share.begin, share.end);
    __syncthreads();
  }
}

/// Where the keys of each rank begin, of keys of one byte, in shared memory.
struct byte_begins
{
  block::warp_sums<std::uint64_t, key_values<std::uint8_t>> sums;
  std::uint64_t begins[key_values<std::uint8_t> + 1];

  /// size_of(r): how many keys have rank r. Called by all threads; a barrier has to follow.
  template <class SizeOf>
  __device__ rank_begins find(std::size_t n, SizeOf size_of)
  {
    constexpr int ranks       = key_values<std::uint8_t>;
    std::uint64_t const size  = threadIdx.x < ranks ? size_of(threadIdx.x) : 0;
    std::uint64_t const begin = block::exclusive_sum<ranks>(sums, size);
    if (threadIdx.x < ranks)
    {
      begins[threadIdx.x] = begin;
    }
    if (threadIdx.x == 0)
    {
      begins[ranks] = n;
    }
    return {begins, false};
  }
};

/// Writes all keys of one byte anew.
/// Grid: no more blocks than rank_writer has tiles. Block: write_threads. Shared: its storage, by itself.
/// Before: counts are complete.
template <class Bits>
__global__ void __launch_bounds__(write_threads, runtime::resident_blocks(write_threads, write_blocks_per_sm))
  write_bytes(Bits* keys, std::size_t n, key_order<Bits, false> order, value_counts counts)
{
  using writer = rank_writer<Bits, false, write_threads, write_rows>;
  __shared__ typename writer::shared_storage shared;
  __shared__ byte_begins begins;
  runtime::wait_for_previous_kernel();
  rank_begins const found =
    begins.find(n, [&](unsigned rank) { return counts[order.bits_of_rank(static_cast<Bits>(rank))]; });
  __syncthreads();
  key_vectors<Bits> const to(keys, n);
  share_of const share(writer::tiles_of(to), blockIdx.x, gridDim.x);
  writer::write(shared, {order}, to, found, share.begin, share.end);
}

/// What one block needs to count and write keys of one byte.
struct bytes_in_block_storage
{
  using writer = rank_writer<std::uint8_t, false, count_threads, 1>;
  union
  {
    uint4 counts[byte_tally::bytes / sizeof(uint4)];
    writer::shared_storage written;
  };
  byte_begins begins;
};

/// Counts keys of one byte, most_bytes_in_block at most, and writes them anew.
/// Grid: one block. Block: count_threads. Shared: bytes_in_block_storage.
template <class Bits>
__global__ void __launch_bounds__(count_threads)
  sort_bytes_in_block(Bits* keys, std::size_t n, key_order<Bits, false> order)
{
  static_assert(sizeof(Bits) == 1);
  extern __shared__ uint4 shared_words[];
  auto& shared = *reinterpret_cast<bytes_in_block_storage*>(shared_words);
  byte_tally tally{reinterpret_cast<std::uint32_t*>(shared.counts)};
  tally.clear();
  runtime::wait_for_previous_kernel();
  __syncthreads();
  count_share(key_vectors<Bits const>(keys, n), 1, tally);
  __syncthreads();
  rank_begins const begins =
    shared.begins.find(n, [&](unsigned rank) { return tally.sum_of(order.bits_of_rank(static_cast<Bits>(rank))); });
  __syncthreads();
  key_vectors<Bits> const to(keys, n);
  using writer = bytes_in_block_storage::writer;
  writer::write(shared.written, {order}, to, begins, 0, writer::tiles_of(to));
}

} // namespace gpusort::radix
