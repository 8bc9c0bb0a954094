// Races on the shared memory of a block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpusort::interpreter
{

enum class access_kind : std::uint8_t
{
  read,
  write,
  rewrite, // a write of what is there
  atomic,
  exchange // an atomic that does not look at what was there
};

struct shared_access
{
  access_kind kind;
  std::uint32_t offset;
  std::uint32_t bytes;
  std::uint16_t warp;
  std::uint8_t lane;
  std::uint32_t warp_epoch; // how often the lanes of the warp have met
  int line;
};

struct race
{
  char const* what = nullptr; // none if null
  int other_line   = 0;
};

/// Remembers who wrote and who read each byte last. Two accesses of which one writes are a race unless the block was at a
/// barrier in between; of one warp, unless its lanes met, or they are the same instruction's. Two writes of the same value are none.
class shared_races
{
public:
  explicit shared_races(std::size_t bytes)
      : bytes_(bytes)
  {}

  race note(shared_access const& access);

  /// The block has been at a barrier.
  void begin_epoch()
  {
    ++epoch_;
  }

private:
  enum class readers : std::uint8_t
  {
    one_lane,
    one_warp,
    many_warps
  };

  struct last_access
  {
    std::uint32_t epoch = 0; // none before the first
    std::uint32_t warp_epoch;
    int line;
    std::uint16_t warp;
    std::uint8_t lane;
  };

  struct byte_history
  {
    last_access write;
    last_access read;
    bool atomic; // the write
    readers who;
  };

  static bool is_atomic(access_kind kind)
  {
    return kind == access_kind::atomic || kind == access_kind::exchange;
  }

  race against_write(byte_history const& byte, shared_access const& access) const;
  race against_reads(byte_history const& byte, shared_access const& access) const;
  void remember(byte_history& byte, shared_access const& access) const;

  std::vector<byte_history> bytes_;
  std::uint32_t epoch_ = 1;
};

} // namespace gpusort::interpreter
