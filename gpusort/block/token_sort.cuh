// Sorts tokens, unsigned integers in shared memory, however close to each other they are, for what bins do not sort, and samples: warps sort runs
// in their registers, and pairs of runs are merged until one is left. As long for any tokens.
// Source: Batcher's bitonic sort and merge; a diagonal cuts each pair of runs where a thread's part begins, as Green, McColl and Bader have it.
#pragma once

#include <gpusort/block/lane_sort.cuh>
#include <gpusort/block/merge.cuh>

namespace gpusort::block
{

/// As many tokens of a run as a lane's registers have room for.
template <class Token>
inline constexpr int most_run_items_v = sizeof(Token) <= 4 ? 16 : 8;

/// Up to `Most` tokens, by `Threads` threads. Not stable, which only tokens tell that are alike. `RunItems`: tokens that each lane of a warp has of a run:
/// more of them spare merges, and leave warps without a run where tokens are few.
template <class Token, int Threads, int Most, int RunItems = most_run_items_v<Token>>
class token_sort
{
  static constexpr unsigned together = 8; // tokens that a thread merges at once: a power of two
  static constexpr unsigned groups   = (Most + Threads * together - 1) / (Threads * together); // of these, of a thread
  using run_of_warp                  = lane_sort<32, RunItems, true>;

  // A gap of one token behind every 128 bytes: lanes that read some neighbours each meet on few banks.
  static constexpr unsigned row = 128 / sizeof(Token);
  static_assert(row % together == 0 && run_of_warp::most % together == 0);

  __host__ __device__ static constexpr unsigned index_of(unsigned i)
  {
    return i + i / row;
  }

public:
  /// Room for the tokens. Merges read and write behind the last one, less than a thread takes at once.
  class room
  {
    Token tokens_[index_of(Most + together)];

  public:
    __device__ Token& operator[](unsigned i)
    {
      return tokens_[index_of(i)];
    }
    __device__ Token const& operator[](unsigned i) const
    {
      return tokens_[index_of(i)];
    }
  };

  /// Sorts the first n tokens. n <= Most. Called by all threads of a block; begins and ends with a barrier.
  __device__ static void sort(room& tokens, unsigned n)
  {
    __syncthreads();
#pragma unroll 1
    for (unsigned first = threadIdx.x / 32 * run_of_warp::most; first < n; first += Threads / 32 * run_of_warp::most)
    {
      unsigned const left = n - first;
      run_of_warp::template sort<Token>(left < run_of_warp::most ? left : run_of_warp::most, [&](unsigned i) -> Token& {
        return tokens[first + i];
      });
    }
    __syncthreads();
#pragma unroll 1
    for (unsigned run = run_of_warp::most; run < n; run *= 2)
    {
      Token held[groups][together];
#pragma unroll
      for (unsigned g = 0; g < groups; ++g)
      {
        if (has_partner(first_of(g), run, n))
        {
          merge(tokens, first_of(g), run, n, held[g]);
        }
      }
      __syncthreads();
#pragma unroll
      for (unsigned g = 0; g < groups; ++g)
      {
        if (has_partner(first_of(g), run, n))
        {
          Token* const to = &tokens[first_of(g)]; // no gap comes before the last of these
#pragma unroll
          for (unsigned i = 0; i < together; ++i)
          {
            to[i] = held[g][i];
          }
        }
      }
      __syncthreads();
    }
  }

private:
  struct run_in
  {
    room const& tokens;
    unsigned begin;

    __device__ Token operator[](unsigned i) const
    {
      return tokens[begin + i];
    }
  };

  struct less
  {
    __device__ bool operator()(Token a, Token b) const
    {
      return a < b;
    }
  };

  /// The number of the first token of a thread's g-th group.
  __device__ static unsigned first_of(unsigned g)
  {
    return (g * Threads + threadIdx.x) * together;
  }

  /// Whether there is a run behind that of token number `first`, or in front, to merge it with, of n tokens.
  __device__ static bool has_partner(unsigned first, unsigned run, unsigned n)
  {
    return first < n && (first & ~(2 * run - 1)) + run < n;
  }

  /// The tokens from number `first` on, when pairs of runs of `run` tokens, of n in all, have been merged; behind the last one, the greatest there is.
  __device__ static void merge(room const& tokens, unsigned first, unsigned run, unsigned n, Token (&merged)[together])
  {
    constexpr auto greatest = static_cast<Token>(~Token{0});
    auto const up_to_all    = [n](unsigned end) { return end < n ? end : n; };
    unsigned const begin    = first & ~(2 * run - 1);
    unsigned const middle   = up_to_all(begin + run);
    unsigned const end      = up_to_all(begin + 2 * run);
    less before{};
    unsigned const taken = block::merge_path(
      first - begin, run_in{tokens, begin}, middle - begin, run_in{tokens, middle}, end - middle, before);
    unsigned const front = begin + taken;
    unsigned const back  = middle + (first - begin - taken);
    // Of as many of either run, one forwards and one backwards, the lesser of each two are the first of both.
#pragma unroll
    for (unsigned i = 0; i < together; ++i)
    {
      unsigned const from_back = back + together - 1 - i;
      Token const a            = tokens[front + i];
      Token const b            = tokens[from_back];
      Token const of_front     = front + i < middle ? a : greatest;
      Token const of_back      = from_back < end ? b : greatest;
      merged[i]                = of_back < of_front ? of_back : of_front;
    }
#pragma unroll
    for (unsigned distance = together / 2; distance > 0; distance /= 2)
    {
#pragma unroll
      for (unsigned i = 0; i < together; ++i)
      {
        if ((i & distance) == 0)
        {
          put_in_order(merged[i], merged[i + distance]);
        }
      }
    }
  }
};

} // namespace gpusort::block
