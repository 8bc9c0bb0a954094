// Decoupled look-back over tiles, one chain per bucket: a tile learns how many elements of each bucket lie in the tiles
// before it without waiting for them to finish. Source: Merrill and Garland, single-pass prefix scan; Adinets, onesweep.
#pragma once

#include <cuda/atomic>

#include <cstddef>
#include <cstdint>

namespace gpusort::block
{

/// The words of a look-back: one for each tile and bucket, holding a state in two bits and a count in thirty.
///
/// The meaning of the states alternates from pass to pass (`epoch` 0, 1, 0 ...): the state in which a pass leaves
/// every word is the one that the next pass reads as empty, so that nothing has to be cleared between passes over
/// the same tiles. Words are empty in epoch 0 if they are zero, in epoch 1 if they are `left_behind`.
class look_back
{
public:
  static constexpr std::uint32_t max_count   = (std::uint32_t{1} << 30) - 1;
  static constexpr std::uint32_t left_behind = 2u << 30;

  __device__ look_back(std::uint32_t* words, int buckets, int epoch)
      : words_(words)
      , buckets_(buckets)
      , partial_(epoch == 0 ? 1u << 30 : 3u << 30)
      , inclusive_(epoch == 0 ? left_behind : 0u)
  {}

  /// Says how many elements of `bucket` are in `tile`. The first tile of a chain thereby completes its prefix.
  __device__ void publish_count(std::uint32_t tile, int bucket, std::uint32_t count, bool first) const
  {
    store(tile, bucket, (first ? inclusive_ : partial_) | count);
  }

  /// Waits for the tiles from `first_tile` to `tile` - 1 to publish, returns the number of their elements in `bucket`,
  /// and completes the prefix of `tile`, whose own `count` has been published. Called for tile > first_tile.
  __device__ std::uint32_t
  exclusive_prefix(std::uint32_t tile, std::uint32_t first_tile, int bucket, std::uint32_t count) const
  {
    // Several predecessors are read at once: the latency of one read is the latency of all.
    constexpr int window = 4;

    std::uint32_t sum  = 0;
    std::uint32_t next = tile; // words of tiles below `next` have not been added yet
    bool done          = false;
    while (!done)
    {
      std::uint32_t words[window];
#pragma unroll
      for (int i = 0; i < window; ++i)
      {
        bool const exists = next >= first_tile + 1 + i;
        words[i]          = exists ? load(next - 1 - i, bucket) : inclusive_;
      }
#pragma unroll
      for (int i = 0; i < window; ++i)
      {
        if (done)
        {
          continue;
        }
        std::uint32_t const state = words[i] & ~max_count;
        if (state == inclusive_)
        {
          sum += words[i] & max_count;
          done = true;
        }
        else if (state == partial_)
        {
          sum += words[i] & max_count;
          --next;
        }
        else
        {
          break; // not published yet: read again from here
        }
      }
    }
    store(tile, bucket, inclusive_ | (sum + count));
    return sum;
  }

private:
  using word_ref = ::cuda::atomic_ref<std::uint32_t, ::cuda::thread_scope_device>;

  __device__ std::uint32_t load(std::uint32_t tile, int bucket) const
  {
    return word_ref(words_[static_cast<std::size_t>(tile) * buckets_ + bucket]).load(::cuda::std::memory_order_relaxed);
  }

  // A word carries its whole message, so no other memory has to be ordered with it.
  __device__ void store(std::uint32_t tile, int bucket, std::uint32_t word) const
  {
    word_ref(words_[static_cast<std::size_t>(tile) * buckets_ + bucket]).store(word, ::cuda::std::memory_order_relaxed);
  }

  std::uint32_t* words_;
  int buckets_;
  std::uint32_t partial_;
  std::uint32_t inclusive_;
};

} // namespace gpusort::block
