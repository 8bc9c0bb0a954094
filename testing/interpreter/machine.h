// The machine that executes kernels: blocks of warps of lanes.
#pragma once

#include "instruction.h"
#include "shared_races.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace gpusort::interpreter
{

constexpr std::uint32_t multiprocessors              = 132; // of the device, as an H200 has them
constexpr std::uint32_t schedulers_of_multiprocessor = 4;

class device_memory;
struct block;
struct cluster;
struct warp;

/// What is asked for by environment variables; README.md describes them.
struct run_options
{
  bool races         = false;
  std::uint64_t seed = 0; // none
  bool trace         = false;

  static run_options of_environment();
};

struct launch_shape
{
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::array<std::uint32_t, 3> block{1, 1, 1};
  std::uint32_t dynamic_shared_bytes = 0;
  std::uint32_t cluster              = 1; // blocks along x

  std::uint32_t threads() const
  {
    return block[0] * block[1] * block[2];
  }
};

/// Memory that begins at a cache line.
class aligned_bytes
{
public:
  void resize(std::size_t bytes);
  std::uint8_t* data() const
  {
    return memory_.get();
  }

private:
  struct release
  {
    void operator()(std::uint8_t* memory) const;
  };

  std::unique_ptr<std::uint8_t, release> memory_;
};

/// A warp in a function: its registers, and where each of its lanes is. A lane is in one of the masks at a time, or has left.
struct frame
{
  warp* in                = nullptr;
  function const* code_of = nullptr;
  std::uint8_t* registers = nullptr;
  lane_mask alive         = 0;
  lane_mask ready         = 0;
  lane_mask at_warp_sync  = 0;
  lane_mask at_barrier    = 0;
  lane_mask at_cluster    = 0;
  lane_mask carry         = 0; // of additions with carry
  std::uint32_t base      = 0; // of the function's variables in the local memory of each lane
  std::array<std::uint32_t, warp_size> next{}; // instruction of each lane
};

struct warp
{
  block* in           = nullptr;
  std::uint32_t index = 0;
  std::uint32_t epoch = 1; // how often its lanes have met
  frame kernel;
  aligned_bytes registers;
  aligned_bytes local;
  std::size_t local_bytes = 0; // of a lane
  std::array<std::uint8_t, warp_size> barrier{}; // at which a lane waits
  std::array<std::uint64_t, warp_size> cluster_phase{}; // in which it arrived

  std::uint32_t first_thread() const
  {
    return index * warp_size;
  }
  std::uint8_t* local_of(unsigned lane) const
  {
    return local.data() + lane * local_bytes;
  }
};

struct barrier_state
{
  std::uint32_t arrived  = 0;
  std::uint32_t expected = 0; // all if zero
};

struct block
{
  launch_shape const* shape                   = nullptr;
  std::vector<std::uint8_t> const* parameters = nullptr;
  device_memory* memory                       = nullptr;
  cluster* in                                 = nullptr;
  std::uint32_t rank                          = 0; // in the cluster
  std::array<std::uint32_t, 3> index{};
  std::uint32_t alive        = 0; // threads
  std::uint32_t shared_bytes = 0;
  aligned_bytes shared;
  std::optional<shared_races> races;
  std::array<barrier_state, 16> barriers;
  std::vector<warp> warps;

  std::uint64_t shared_address() const
  {
    return reinterpret_cast<std::uint64_t>(shared.data());
  }
};

struct cluster
{
  std::vector<std::unique_ptr<block>> blocks;
  std::uint32_t alive   = 0; // threads
  std::uint32_t arrived = 0;
  std::uint64_t phase   = 0; // how often all have arrived
  bool sleeps           = false; // all that it did in its last round ended by sleeping

  bool all_left() const
  {
    return alive == 0;
  }
};

/// The instructions that warps have executed since the program began. The clock of the device goes as if all its schedulers had shared
/// them out.
std::uint64_t executed_instructions();

/// Ends the turn of the warp that runs where it next jumps backwards: it has nothing to do.
void end_turn();

/// Runs a kernel to its end.
void run_kernel(function& kernel, launch_shape const& shape, std::vector<std::uint8_t> const& parameters);

} // namespace gpusort::interpreter
