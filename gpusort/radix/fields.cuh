// Radix sort on the GPU of keys of several fields: their images are written out and sorted, the keys moving with them.
#pragma once

#include <gpusort/algorithm.h>
#include <gpusort/block/tile.cuh>
#include <gpusort/block/words.cuh>
#include <gpusort/radix/device.cuh>
#include <gpusort/radix/fields.h>
#include <gpusort/radix/tuning.h>
#include <gpusort/runtime/dependency.cuh>
#include <gpusort/runtime/launch.cuh>
#include <gpusort/runtime/layout.h>

#include <cuda/std/functional>

#include <cstddef>
#include <type_traits>

namespace gpusort::radix
{

/// words[i] is the Word of the image of keys[i] that begins at bit Low.
/// Grid: a block for image_threads x images_at_once keys. Block: image_threads.
template <int Low, class Word, class Key, class Compare>
__global__ void __launch_bounds__(image_threads) read_images(Key const* keys, Word* words, std::size_t n, Compare comp)
{
  constexpr int tile = image_threads * images_at_once;
  runtime::wait_for_previous_kernel();
  std::size_t const begin = static_cast<std::size_t>(blockIdx.x) * tile;
  int const size          = n - begin < tile ? static_cast<int>(n - begin) : tile;
  block::move_tile<image_threads, images_at_once>(
    size,
    [&](int place) {
      return image_of<Key, Compare>::template read<Word>(comp, keys[begin + static_cast<std::size_t>(place)], Low);
    },
    words + begin);
}

/// The `device_backend` of radix_sort where the image is not the key itself. Stable. One sort of words by `Device`, a device_with, for each
/// 128 bits of the image, the least significant first, each moving the keys with the words.
template <class Device>
struct device_by_fields
{
  template <class Key, class Value, class Compare>
  static std::size_t scratch_bytes(std::size_t n)
  {
    return plan<Key, Compare>(n).layout.bytes();
  }

  template <class Key, class Value, class Compare>
  static void sort(cudaStream_t stream, void* scratch, Key* keys, Value*, std::size_t n, Compare comp)
  {
    static_assert(std::is_same_v<Value, no_value>, "whoever has values sorts an index by the images of keys");
    sort_from<0>(stream, plan<Key, Compare>(n), scratch, keys, n, comp);
  }

private:
  template <class Key, class Compare>
  struct plan
  {
    using word = word_of_bits_t<image_of<Key, Compare>::bits>; // the first word, and none is wider

    std::size_t words = 0, sort = 0;
    runtime::layout layout;

    explicit plan(std::size_t n)
    {
      words = layout.add(n, sizeof(word));
      sort  = layout.add(sort_bytes<0>(n), 1);
    }

    /// Scratch for the sorts from bit Low on: they take turns with one piece.
    template <int Low>
    static std::size_t sort_bytes(std::size_t n)
    {
      if constexpr (Low < image_of<Key, Compare>::bits)
      {
        using word = word_of_bits_t<image_of<Key, Compare>::bits - Low>;
        std::size_t const own =
          Device::template scratch_bytes<word, block::words_of_t<Key>, ::cuda::std::less<word>>(n);
        std::size_t const later = sort_bytes<Low + max_window_bits>(n);
        return own < later ? later : own;
      }
      else
      {
        return 0;
      }
    }
  };

  /// Sorts by the bits of the image from Low on; by those below, the keys are sorted already.
  template <int Low, class Key, class Compare>
  static void sort_from(
    cudaStream_t stream, plan<Key, Compare> const& p, void* scratch, Key* keys, std::size_t n, Compare const& comp)
  {
    if constexpr (Low < image_of<Key, Compare>::bits)
    {
      using word  = word_of_bits_t<image_of<Key, Compare>::bits - Low>;
      using moved = block::words_of_t<Key>;

      void* const base  = p.layout.base(scratch);
      word* const words = runtime::at_offset<word>(base, p.words);
      runtime::launch(read_images<Low, word, Key, Compare>,
                      {runtime::blocks_for(n, image_threads * images_at_once), image_threads},
                      stream,
                      keys,
                      words,
                      n,
                      comp);
      Device::template sort<word, moved, ::cuda::std::less<word>>(
        stream, runtime::at_offset<void>(base, p.sort), words, reinterpret_cast<moved*>(keys), n, {});
      sort_from<Low + max_window_bits>(stream, p, scratch, keys, n, comp);
    }
  }
};

} // namespace gpusort::radix
