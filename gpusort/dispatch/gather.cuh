// Staging and gathering: the kernels that move whole elements between a range and scratch memory.
#pragma once

#include <gpusort/block/words.cuh>
#include <gpusort/dispatch/elements.h>
#include <gpusort/runtime/dependency.cuh>
#include <gpusort/runtime/launch.cuh>

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

namespace gpusort::dispatch
{

inline constexpr int move_threads          = 256;
inline constexpr std::size_t max_blocks    = std::size_t{1} << 20;
inline constexpr int items_per_move_thread = 4;

__device__ inline std::size_t first_item()
{
  return static_cast<std::size_t>(blockIdx.x) * move_threads + threadIdx.x;
}

__device__ inline std::size_t item_stride()
{
  return static_cast<std::size_t>(gridDim.x) * move_threads;
}

inline runtime::launch_shape move_shape(std::size_t n)
{
  std::size_t const blocks = runtime::blocks_for(n, move_threads * items_per_move_thread);
  return {blocks < max_blocks ? blocks : max_blocks, move_threads};
}

/// to[i] is constructed from from[i]. Any grid of move_threads.
template <class Iterator, class T>
__global__ void __launch_bounds__(move_threads) construct_copy(Iterator from, T* to, std::size_t n)
{
  runtime::wait_for_previous_kernel();
  for (std::size_t i = first_item(); i < n; i += item_stride())
  {
    ::new (static_cast<void*>(to + i)) T(from[static_cast<std::ptrdiff_t>(i)]);
  }
}

/// to[i] is assigned from from[i], which is destroyed. Any grid of move_threads.
template <class T, class Iterator>
__global__ void __launch_bounds__(move_threads) assign_back(T* from, Iterator to, std::size_t n)
{
  runtime::wait_for_previous_kernel();
  for (std::size_t i = first_item(); i < n; i += item_stride())
  {
    to[static_cast<std::ptrdiff_t>(i)] = std::move(from[i]);
    from[i].~T();
  }
}

/// indices[i] = i. Any grid of move_threads.
template <class Index>
__global__ void __launch_bounds__(move_threads) enumerate(Index* indices, std::size_t n)
{
  runtime::wait_for_previous_kernel();
  for (std::size_t i = first_item(); i < n; i += item_stride())
  {
    indices[i] = static_cast<Index>(i);
  }
}

/// to[i] is constructed from from[indices[i]]. Any grid of move_threads.
template <class T, class Index>
__global__ void __launch_bounds__(move_threads)
  gather_objects(T const* from, Index const* indices, T* to, std::size_t n)
{
  runtime::wait_for_previous_kernel();
  for (std::size_t i = first_item(); i < n; i += item_stride())
  {
    ::new (static_cast<void*>(to + i)) T(from[indices[i]]);
  }
}

/// A warp gathers elements, or brings them back, in chunks of so many bytes, but for chunks that hold nothing that has to move. Measured on an H100
/// with CUDA 13.0, us, random and in order: 2^24 elements of 64 bytes in chunks of 1 KB 1,671 and 269, 2 KB 1,673 and 172, 4 KB 1,725 and 122; word by word,
/// with a copy by the driver, 1,752 and 1,550; 2^20 of 24 bytes 53.6 and 14.9, 56.0 and 12.2, 57.1 and 12.3; 54.5 and 44.8.
inline constexpr unsigned chunk_bytes = 2048;

inline runtime::launch_shape chunk_shape(std::size_t bytes)
{
  std::size_t const blocks = runtime::blocks_for(bytes, chunk_bytes * (move_threads / 32));
  return {blocks < max_blocks ? blocks : max_blocks, move_threads};
}

/// A chunk of an array of elements, of `end` words altogether, that begins with its word number `begin`.
template <class Word, unsigned WordsOfElement>
struct word_chunk
{
  static constexpr unsigned most = chunk_bytes / sizeof(Word);

  std::size_t begin;
  unsigned count;
  std::size_t first; // element, of which `skipped` words are in front of the chunk
  unsigned skipped;

  __device__ word_chunk(std::size_t begin, std::size_t end)
      : begin(begin)
      , count(end - begin < most ? static_cast<unsigned>(end - begin) : most)
      , first(begin / WordsOfElement)
      , skipped(static_cast<unsigned>(begin - first * WordsOfElement))
  {}

  /// Whether the elements that it has words of are not all where they belong. Called by all lanes of a warp.
  template <class Index>
  __device__ bool moves(Index const* indices) const
  {
    bool any = false;
    for (unsigned i = threadIdx.x % 32; i <= (skipped + count - 1) / WordsOfElement; i += 32)
    {
      any |= indices[first + i] != first + i;
    }
    return __any_sync(~0u, any) != 0;
  }
};

/// act(chunk) for the chunks of n elements in which something moves, by all lanes of a warp. Any grid of move_threads.
template <class Word, unsigned WordsOfElement, class Index, class Act>
__device__ void for_each_moving_chunk(Index const* indices, std::size_t n, Act act)
{
  using chunk            = word_chunk<Word, WordsOfElement>;
  std::size_t const end  = n * WordsOfElement;
  std::size_t const step = item_stride() / 32 * chunk::most;
  for (std::size_t begin = first_item() / 32 * chunk::most; begin < end; begin += step)
  {
    chunk const one(begin, end);
    if (one.moves(indices))
    {
      act(one);
    }
  }
}

/// As block::move_words, by a warp of which each lane has several words under way.
template <class Word, class At>
__device__ void move_words(Word* to, unsigned count, At at)
{
  block::move_words<32, items_per_move_thread>(threadIdx.x % 32, to, count, at);
}

/// Element i of `to` becomes a copy of element indices[i] of `from`, but for chunks in which nothing moves. Any grid of move_threads.
template <class Word, unsigned WordsOfElement, class Index>
__global__ void __launch_bounds__(move_threads)
  gather_words(Word const* from, Index const* indices, Word* to, std::size_t n)
{
  runtime::wait_for_previous_kernel();
  dispatch::for_each_moving_chunk<Word, WordsOfElement>(indices, n, [&](auto const& chunk) {
    dispatch::move_words(to + chunk.begin, chunk.count, [&](unsigned i) {
      unsigned const element = (chunk.skipped + i) / WordsOfElement;
      return from + static_cast<std::size_t>(indices[chunk.first + element]) * WordsOfElement
           + (chunk.skipped + i) % WordsOfElement;
    });
  });
}

/// Copies the chunks that gather_words has gathered to where they belong, by the widest words that lie there. Any grid of move_threads.
template <class Word, unsigned WordsOfElement, class Index>
__global__ void __launch_bounds__(move_threads)
  bring_words_back(Word const* gathered, Index const* indices, Word* to, std::size_t n)
{
  runtime::wait_for_previous_kernel();
  bool const is_aligned = reinterpret_cast<std::uintptr_t>(to) % sizeof(uint4) == 0
                       && reinterpret_cast<std::uintptr_t>(gathered) % sizeof(uint4) == 0;
  dispatch::for_each_moving_chunk<Word, WordsOfElement>(indices, n, [&](auto const& chunk) {
    if (is_aligned && chunk.count == chunk.most)
    {
      auto const* const from = reinterpret_cast<uint4 const*>(gathered + chunk.begin);
      dispatch::move_words(reinterpret_cast<uint4*>(to + chunk.begin),
                           chunk_bytes / unsigned{sizeof(uint4)},
                           [&](unsigned i) { return from + i; });
    }
    else
    {
      Word const* const from = gathered + chunk.begin;
      dispatch::move_words(to + chunk.begin, chunk.count, [&](unsigned i) { return from + i; });
    }
  });
}

/// Permutes `range` so that its i-th element is the one that was at indices[i]; `room` holds n elements.
template <class T, class Index>
void gather(cudaStream_t stream, T* range, Index const* indices, T* room, std::size_t n)
{
  if constexpr (is_bitwise_movable<T>::value)
  {
    using word               = block::word_t<T>;
    constexpr unsigned words = sizeof(T) / sizeof(word);
    auto* const own          = reinterpret_cast<word*>(range);
    auto* const gathered     = reinterpret_cast<word*>(room);
    auto const shape         = chunk_shape(n * sizeof(T));
    runtime::launch(gather_words<word, words, Index>, shape, stream, own, indices, gathered, n);
    runtime::launch(bring_words_back<word, words, Index>, shape, stream, gathered, indices, own, n);
  }
  else
  {
    runtime::launch(gather_objects<T, Index>, move_shape(n), stream, range, indices, room, n);
    runtime::launch(assign_back<T, T*>, move_shape(n), stream, room, range, n);
  }
}

} // namespace gpusort::dispatch
