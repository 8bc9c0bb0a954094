// What the lanes of a warp find out together, for unsigned integers of any width.
#pragma once

#include <cstdint>

namespace gpusort::block
{

inline constexpr std::uint32_t all_lanes = ~std::uint32_t{0};

template <class Bits>
inline constexpr int words_of_v = sizeof(Bits) < 4 ? 1 : static_cast<int>(sizeof(Bits)) / 4;

/// The i-th 32-bit word of a value, the least significant being the 0-th.
template <class Bits>
__device__ std::uint32_t word_of(Bits value, int i)
{
  return static_cast<std::uint32_t>(value >> (i * 32));
}

/// f of the 32-bit words of a value, put together again. f is a function of all lanes of a warp.
template <class Bits, class F>
__device__ Bits by_words(Bits value, F f)
{
  Bits result{};
#pragma unroll
  for (int i = 0; i < words_of_v<Bits>; ++i)
  {
    result |= static_cast<Bits>(static_cast<Bits>(f(word_of(value, i))) << (i * 32));
  }
  return result;
}

/// The next lane's value; the last lane's is that of the first.
template <class Bits>
__device__ Bits from_lane_behind(Bits value)
{
  int const lane = static_cast<int>(threadIdx.x + 1) % 32;
  return by_words(value, [lane](std::uint32_t word) { return __shfl_sync(all_lanes, word, lane); });
}

__device__ inline std::uint32_t least_word_of_warp(std::uint32_t word)
{
#if __CUDA_ARCH__ >= 800
  return __reduce_min_sync(all_lanes, word);
#else
  for (int step = 16; step > 0; step /= 2)
  {
    std::uint32_t const other = __shfl_xor_sync(all_lanes, word, step);
    word                      = other < word ? other : word;
  }
  return word;
#endif
}

__device__ inline std::uint32_t or_of_warp(std::uint32_t word)
{
#if __CUDA_ARCH__ >= 800
  return __reduce_or_sync(all_lanes, word);
#else
  for (int step = 16; step > 0; step /= 2)
  {
    word |= __shfl_xor_sync(all_lanes, word, step);
  }
  return word;
#endif
}

/// Sets the bits of all lanes' values in words that other warps may set bits in, too. Called by all lanes.
template <class Bits>
__device__ void set_bits_of_warp(std::uint32_t* words, Bits value)
{
#pragma unroll
  for (int w = 0; w < words_of_v<Bits>; ++w)
  {
    std::uint32_t const word = or_of_warp(word_of(value, w));
    if (threadIdx.x % 32 == 0)
    {
      atomicOr(&words[w], word);
    }
  }
}

__device__ inline std::uint32_t sum_of_warp(std::uint32_t word)
{
#if __CUDA_ARCH__ >= 800
  return __reduce_add_sync(all_lanes, word);
#else
  for (int step = 16; step > 0; step /= 2)
  {
    word += __shfl_xor_sync(all_lanes, word, step);
  }
  return word;
#endif
}

/// The lanes of a warp that have what the first one has. Where they count values by adding to what all lanes share, they would wait for each other: the
/// first one counts for all of them. Made by all lanes.
class crowd
{
public:
  __device__ explicit crowd(unsigned value)
      : is_in_(value == __shfl_sync(all_lanes, value, 0))
      , lanes_(__ballot_sync(all_lanes, is_in_))
  {}

  __device__ bool is_all() const
  {
    return lanes_ == all_lanes;
  }

  /// Whether they are so many that counting them at once takes no longer than they would wait: of two crowds of 16 the second one would wait as long as
  /// both.
  __device__ bool is_large() const
  {
    return __popc(lanes_) >= 24;
  }

  /// Whether the calling lane counts, and then for how many.
  __device__ bool has_to_count() const
  {
    return is_first() || !is_in_;
  }
  __device__ std::uint32_t share() const
  {
    return is_first() ? static_cast<std::uint32_t>(__popc(lanes_)) : 1;
  }

  /// How many values there were before that of the calling lane, if lanes that have to count have found `before`. Called by all lanes.
  __device__ std::uint32_t number(std::uint32_t before) const
  {
    std::uint32_t const lower = (std::uint32_t{1} << threadIdx.x % 32) - 1;
    std::uint32_t const first = __shfl_sync(all_lanes, before, 0);
    return is_in_ ? first + static_cast<std::uint32_t>(__popc(lanes_ & lower)) : before;
  }

private:
  __device__ static bool is_first()
  {
    return threadIdx.x % 32 == 0;
  }

  bool is_in_; // the calling lane
  std::uint32_t lanes_;
};

/// Whether all lanes have the same.
__device__ inline bool all_alike(unsigned value)
{
  return crowd(value).is_all();
}

/// The least value of the warp's lanes: the least of the most significant words, then the least of the next ones among
/// the lanes that still have it.
template <class Bits>
__device__ Bits least_of_warp(Bits value)
{
  Bits least{};
  bool in_race = true;
#pragma unroll
  for (int i = words_of_v<Bits> - 1; i >= 0; --i)
  {
    std::uint32_t const own  = in_race ? word_of(value, i) : ~std::uint32_t{0};
    std::uint32_t const best = least_word_of_warp(own);
    in_race                  = in_race && own == best;
    least |= static_cast<Bits>(static_cast<Bits>(best) << (i * 32));
  }
  return least;
}

template <class Bits>
__device__ Bits greatest_of_warp(Bits value)
{
  return static_cast<Bits>(~least_of_warp(static_cast<Bits>(~value)));
}

/// Inclusive prefix sum over the lanes.
template <class T>
__device__ T inclusive_sum_of_warp(T value)
{
  int const lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int step = 1; step < 32; step *= 2)
  {
    T const other = __shfl_up_sync(all_lanes, value, step);
    value += lane >= step ? other : T{0};
  }
  return value;
}

} // namespace gpusort::block
