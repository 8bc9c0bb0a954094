// Work that comes in phases, for the blocks of one kernel: a phase begins when all of the one before is done.
#pragma once

#include <cuda/atomic>

#include <cstdint>

namespace gpusort::runtime
{

/// Hands out the tickets of one phase after the other. Unlike a barrier for the whole grid this needs no blocks that run at
/// the same time, and so no cooperative launch, which would wait for the kernels of other streams: a block waits only for
/// tickets that running blocks hold, and one that starts late finds the phase that it is time for.
/// In device memory; zero before the kernel, which is phase 0 with one ticket.
class phases
{
public:
  static constexpr std::uint32_t most_tickets = 1u << 24; // in a phase

  struct ticket
  {
    std::uint32_t phase;
    std::uint32_t number; // in the phase
    std::uint32_t count; // of the phase; 0: there is no more work
  };

  /// The next ticket, once its phase has begun. Called by one thread of a block, which holds no other ticket.
  __device__ ticket take()
  {
    word_ref const word(state_);
    while (true)
    {
      std::uint64_t const found = word.fetch_add(1, ::cuda::std::memory_order_acquire);
      ticket const own{phase_of(found), static_cast<std::uint32_t>(found & mask), count_of(found)};
      if (own.phase == ended)
      {
        return {own.phase, 0, 0};
      }
      if (own.number < own.count)
      {
        return own;
      }
      while (phase_of(word.load(::cuda::std::memory_order_acquire)) == own.phase)
      {
      }
    }
  }

  /// Says that what a ticket stands for is done, by all threads of the block before the last barrier. Returns true to the
  /// last one of a phase, who then calls begin or end. Called by the thread that took the ticket.
  __device__ bool finish(ticket const& own)
  {
    return done_ref(done_).fetch_add(1, ::cuda::std::memory_order_acq_rel) + 1 == own.count;
  }

  /// Begins the phase after `own`'s, of 1 to most_tickets tickets.
  __device__ void begin(ticket const& own, std::uint32_t count)
  {
    publish(own.phase + 1, count);
  }

  __device__ void end()
  {
    publish(ended, 1);
  }

  /// Whether no ticket has been taken yet.
  __device__ bool is_untouched() const
  {
    return *const_cast<std::uint64_t const volatile*>(&state_) == 0;
  }

private:
  static constexpr std::uint64_t mask  = most_tickets - 1;
  static constexpr std::uint32_t ended = 0xffff;

  using word_ref = ::cuda::atomic_ref<std::uint64_t, ::cuda::thread_scope_device>;
  using done_ref = ::cuda::atomic_ref<std::uint32_t, ::cuda::thread_scope_device>;

  __device__ static std::uint32_t phase_of(std::uint64_t word)
  {
    return static_cast<std::uint32_t>(word >> 48);
  }

  __device__ static std::uint32_t count_of(std::uint64_t word)
  {
    return static_cast<std::uint32_t>(word >> 24 & mask) + 1;
  }

  __device__ void publish(std::uint32_t phase, std::uint32_t count)
  {
    done_ = 0;
    word_ref(state_).store(std::uint64_t{phase} << 48 | static_cast<std::uint64_t>(count - 1) << 24,
                           ::cuda::std::memory_order_release);
  }

  // Phase in the upper 16 bits, then one less than its tickets, and in the lowest 24 bits how many were asked for: blocks
  // ask once a phase in vain.
  std::uint64_t state_;
  std::uint32_t done_;
};

} // namespace gpusort::runtime
