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

/// The same for elements of `words` Words each, neighbouring threads moving neighbouring words. Any grid of move_threads.
template <class Word, class Index>
__global__ void __launch_bounds__(move_threads)
  gather_words(Word const* from, Index const* indices, Word* to, std::size_t n, unsigned words)
{
  runtime::wait_for_previous_kernel();
  for (std::size_t i = first_item(); i < n * words; i += item_stride())
  {
    std::size_t const element = i / words;
    to[i]                     = from[static_cast<std::size_t>(indices[element]) * words + (i - element * words)];
  }
}

/// Permutes `range` so that its i-th element is the one that was at indices[i]; `room` holds n elements.
template <class T, class Index>
void gather(cudaStream_t stream, T* range, Index const* indices, T* room, std::size_t n)
{
  if constexpr (is_bitwise_movable<T>::value)
  {
    using word               = block::word_t<T>;
    constexpr unsigned words = sizeof(T) / sizeof(word);
    runtime::launch(gather_words<word, Index>,
                    move_shape(n * words),
                    stream,
                    reinterpret_cast<word const*>(range),
                    indices,
                    reinterpret_cast<word*>(room),
                    n,
                    words);
    runtime::check(cudaMemcpyAsync(static_cast<void*>(range), room, n * sizeof(T), cudaMemcpyDeviceToDevice, stream),
                   "gpusort: copy of gathered elements");
  }
  else
  {
    runtime::launch(gather_objects<T, Index>, move_shape(n), stream, range, indices, room, n);
    runtime::launch(assign_back<T, T*>, move_shape(n), stream, room, range, n);
  }
}

} // namespace gpusort::dispatch
