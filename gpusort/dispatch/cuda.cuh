// The CUDA system: what is staged, what is sorted by index, one scratch allocation, and the back end's kernels.
#pragma once

#include <gpusort/algorithm.h>
#include <gpusort/dispatch/backends.h>
#include <gpusort/dispatch/elements.h>
#include <gpusort/dispatch/gather.cuh>
#include <gpusort/dispatch/system.h>
#include <gpusort/hybrid/by_number.cuh>
#include <gpusort/radix/fields.h>
#include <gpusort/radix/value_order.cuh>
#include <gpusort/runtime/layout.h>
#include <gpusort/runtime/scratch.cuh>

#include <thrust/system/cuda/detail/util.h>
#include <thrust/type_traits/unwrap_contiguous_iterator.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpusort::dispatch
{

/// Compares elements through their indices, so that the elements themselves need not move.
template <class Key, class Compare, class Index>
struct compare_at
{
  Key const* keys;
  Compare comp;

  __device__ bool operator()(Index a, Index b)
  {
    return static_cast<bool>(comp(keys[a], keys[b]));
  }
};

} // namespace gpusort::dispatch

/// What radix sort can read of a key, it can read through the key's index.
template <class Key, class Compare, class Index>
struct gpusort::radix::image_of<Index, gpusort::dispatch::compare_at<Key, Compare, Index>, void>
{
  static constexpr int bits = image_of<Key, Compare>::bits;

  template <class Word>
  __device__ static Word read(dispatch::compare_at<Key, Compare, Index> const& at, Index index, int low)
  {
    return image_of<Key, Compare>::template read<Word>(at.comp, at.keys[index], low);
  }
};

/// The values of numbers of elements say nothing.
template <class Key, class Compare, class Index>
inline constexpr bool gpusort::radix::compares_values_v<gpusort::dispatch::compare_at<Key, Compare, Index>> = false;

/// What numbers of up to 2^32 elements stand for.
template <class Key, class Compare>
struct gpusort::hybrid::records_of<std::uint32_t, gpusort::dispatch::compare_at<Key, Compare, std::uint32_t>>
{
  using record                        = Key;
  using compare                       = Compare;
  static constexpr bool are_elsewhere = true;

  static Key const* first(dispatch::compare_at<Key, Compare, std::uint32_t> const& at)
  {
    return at.keys;
  }
  static Compare const& compare_of(dispatch::compare_at<Key, Compare, std::uint32_t> const& at)
  {
    return at.comp;
  }
};

namespace gpusort::dispatch
{

template <class Key, class Compare, class Index>
inline constexpr bool is_expensive_at_index_v<compare_at<Key, Compare, Index>> = is_expensive_v<Compare>;

/// How one call is carried out, decided from types: which of keys and values the back end moves, and which are gathered
/// once by a sorted index. `Value` is no_value for keys alone.
template <class Algorithm, class Key, class Value, class Compare>
struct device_call
{
  static constexpr bool with_values   = !std::is_same_v<Value, no_value>;
  static constexpr bool keys_direct   = moves_keys_v<Algorithm, Key, Value, Compare>;
  static constexpr bool values_direct = !with_values || moves_directly_v<Value>;
  static constexpr bool direct        = keys_direct && values_direct;

  using backend = device_backend<Algorithm>;

  // Where each piece of scratch lies, as offsets.
  struct plan
  {
    runtime::layout layout;
    std::size_t staged_keys   = 0;
    std::size_t staged_values = 0;
    std::size_t indices       = 0;
    std::size_t backend       = 0;
    std::size_t room          = 0;
  };

  /// Calls f with an unsigned integer that can number n elements.
  template <class F>
  static decltype(auto) with_index(std::size_t n, F f)
  {
    return n <= (std::size_t{1} << 32) ? f(std::uint32_t{}) : f(std::uint64_t{});
  }

  template <class Index>
  static std::size_t backend_bytes(std::size_t n)
  {
    if constexpr (direct)
    {
      return backend::template scratch_bytes<Key, Value, Compare>(n);
    }
    else if constexpr (keys_direct)
    {
      return backend::template scratch_bytes<Key, Index, Compare>(n);
    }
    else
    {
      return backend::template scratch_bytes<Index, no_value, compare_at<Key, Compare, Index>>(n);
    }
  }

  static plan make_plan(std::size_t n, bool stage_keys, bool stage_values)
  {
    plan p;
    if (stage_keys)
    {
      p.staged_keys = p.layout.add(n, sizeof(Key), alignof(Key));
    }
    if constexpr (with_values)
    {
      if (stage_values)
      {
        p.staged_values = p.layout.add(n, sizeof(Value), alignof(Value));
      }
    }
    if constexpr (direct)
    {
      p.backend = p.layout.add(backend_bytes<void>(n), 1);
    }
    else
    {
      with_index(n, [&](auto index) {
        using index_type = decltype(index);
        p.indices        = p.layout.add(n, sizeof(index_type));
        // The back end is done with its scratch when the gathering begins: they share the room.
        std::size_t bytes     = backend_bytes<index_type>(n);
        std::size_t alignment = 1;
        auto share            = [&](auto direct_element, std::size_t element_bytes, std::size_t element_alignment) {
          if constexpr (!decltype(direct_element)::value)
          {
            bytes     = bytes > n * element_bytes ? bytes : n * element_bytes;
            alignment = alignment > element_alignment ? alignment : element_alignment;
          }
        };
        share(std::bool_constant<keys_direct>{}, sizeof(Key), alignof(Key));
        share(std::bool_constant<!with_values>{}, sizeof(Value), alignof(Value));
        p.backend = p.layout.add(bytes, 1, alignment);
        p.room    = p.backend;
      });
    }
    return p;
  }

  /// Sorts two arrays on the stream.
  static void
  sort_arrays(cudaStream_t stream, void* base, plan const& p, Key* keys, Value* values, std::size_t n, Compare comp)
  {
    void* const scratch = runtime::at_offset<void>(base, p.backend);
    if constexpr (direct)
    {
      backend::template sort<Key, Value, Compare>(stream, scratch, keys, values, n, comp);
    }
    else
    {
      with_index(n, [&](auto index) {
        using index_type    = decltype(index);
        index_type* indices = runtime::at_offset<index_type>(base, p.indices);
        runtime::launch(enumerate<index_type>, move_shape(n), stream, indices, n);
        if constexpr (keys_direct)
        {
          backend::template sort<Key, index_type, Compare>(stream, scratch, keys, indices, n, comp);
        }
        else
        {
          using through_index = compare_at<Key, Compare, index_type>;
          backend::template sort<index_type, no_value, through_index>(
            stream, scratch, indices, nullptr, n, through_index{keys, comp});
          dispatch::gather(stream, keys, indices, runtime::at_offset<Key>(base, p.room), n);
        }
        if constexpr (with_values)
        {
          dispatch::gather(stream, values, indices, runtime::at_offset<Value>(base, p.room), n);
        }
      });
    }
  }
};

// value_of_t of something that is no iterator must not be looked at.
template <class Iterator, bool = has_values_v<Iterator>>
struct device_value
{
  using type = no_value;
};
template <class Iterator>
struct device_value<Iterator, true>
{
  using type = value_of_t<Iterator>;
};

template <class Iterator>
inline constexpr bool needs_staging_v = has_values_v<Iterator> && !thrust::is_contiguous_iterator_v<Iterator>;

/// Whether T may be moved by words and have padding, which construction leaves unwritten and the words include.
template <class T>
inline constexpr bool moves_padding_v =
  is_bitwise_movable<T>::value && !std::is_arithmetic_v<T> && !std::has_unique_object_representations_v<T>;

/// A range as an array: itself if it is one, a copy in scratch memory otherwise.
template <class T, class Iterator>
T* as_array(cudaStream_t stream, Iterator first, T* staged, std::size_t n)
{
  if constexpr (!has_values_v<Iterator>)
  {
    return nullptr;
  }
  else if constexpr (needs_staging_v<Iterator>)
  {
    if constexpr (moves_padding_v<T>)
    {
      runtime::check(cudaMemsetAsync(static_cast<void*>(staged), 0, n * sizeof(T), stream),
                     "gpusort: clearing of staged elements");
    }
    runtime::launch(construct_copy<Iterator, T>, move_shape(n), stream, first, staged, n);
    return staged;
  }
  else
  {
    return thrust::unwrap_contiguous_iterator(first);
  }
}

template <class T, class Iterator>
void write_back(cudaStream_t stream, T* sorted, Iterator first, std::size_t n)
{
  if constexpr (needs_staging_v<Iterator>)
  {
    runtime::launch(assign_back<T, Iterator>, move_shape(n), stream, sorted, first, n);
  }
}

template <class Algorithm, class KeyIterator, class ValueIterator, class Compare>
using device_call_for =
  device_call<Algorithm, value_of_t<KeyIterator>, typename device_value<ValueIterator>::type, Compare>;

/// Bytes of scratch memory that sort_on_device takes from the policy.
template <class Algorithm, class KeyIterator, class ValueIterator, class Compare>
std::size_t device_scratch_bytes(std::size_t n)
{
  using call = device_call_for<Algorithm, KeyIterator, ValueIterator, Compare>;
  return call::make_plan(n, needs_staging_v<KeyIterator>, needs_staging_v<ValueIterator>).layout.bytes();
}

/// Sorts n >= 2 elements under a CUDA policy.
template <class Algorithm, class Policy, class KeyIterator, class ValueIterator, class Compare>
void sort_on_device(Policy& policy, KeyIterator keys_first, std::size_t n, ValueIterator values_first, Compare comp)
{
  using call  = device_call_for<Algorithm, KeyIterator, ValueIterator, Compare>;
  using key   = value_of_t<KeyIterator>;
  using value = typename device_value<ValueIterator>::type;

  cudaStream_t const stream = thrust::cuda_cub::stream(policy);
  auto const plan           = call::make_plan(n, needs_staging_v<KeyIterator>, needs_staging_v<ValueIterator>);
  runtime::device_scratch<has_own_memory_v<Policy>, Policy> scratch(policy, stream, plan.layout.bytes());
  void* const base = plan.layout.base(scratch.data());

  key* const keys = dispatch::as_array<key>(stream, keys_first, runtime::at_offset<key>(base, plan.staged_keys), n);
  value* const values =
    dispatch::as_array<value>(stream, values_first, runtime::at_offset<value>(base, plan.staged_values), n);

  call::sort_arrays(stream, base, plan, keys, values, n, comp);

  dispatch::write_back(stream, keys, keys_first, n);
  dispatch::write_back(stream, values, values_first, n);
  // A policy that waits does so while the scratch is its own: its allocator need not know about streams.
  runtime::check(thrust::cuda_cub::synchronize_optional(policy), "gpusort: sort");
}

} // namespace gpusort::dispatch
