// The memory of the device, with the state of every byte of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <type_traits>

namespace gpusort::interpreter
{

/// What an access may be accused of.
enum class access_error
{
  none,
  out_of_bounds,
  not_written // yet, but read
};

/// A range of addresses that nothing else uses, and beside it as many bytes of states. Pages of both take memory once touched.
class device_memory
{
public:
  static device_memory& instance();

  /// At least one byte behind what is allocated belongs to nobody.
  std::uint8_t* allocate(std::size_t bytes);
  void free(void* memory);
  bool is_allocation(void* memory) const;
  std::size_t size_of(void* memory) const;

  bool contains(std::uint64_t address) const
  {
    return address - begin_ < capacity;
  }
  bool contains(void const* address) const
  {
    return contains(reinterpret_cast<std::uint64_t>(address));
  }

  /// The access of an instruction, aligned to its size. What is written counts as written from then on.
  template <int Bytes, bool Reads, bool Writes>
  access_error access(std::uint64_t address)
  {
    // The states of all bytes as one number.
    using states = std::conditional_t<
      Bytes == 1,
      std::uint8_t,
      std::conditional_t<Bytes == 2, std::uint16_t, std::conditional_t<Bytes == 4, std::uint32_t, std::uint64_t>>>;
    constexpr states ones    = static_cast<states>(~states{0}) / 255;
    std::uint8_t* const here = states_ + (address - begin_);
    states all;
    std::memcpy(&all, here, Bytes);
    if ((~all & ones * allocated) != 0)
    {
      return access_error::out_of_bounds;
    }
    if constexpr (Writes)
    {
      std::memset(here, valid, Bytes);
    }
    return Reads && (~all & ones * written) != 0 ? access_error::not_written : access_error::none;
  }

  /// Whether n bytes are all allocated, or are not the device's.
  bool may_access(void const* address, std::size_t n) const;
  void mark_written(void const* address, std::size_t n);

  // Memory of the host that kernels may use.
  void share(void* memory, std::size_t bytes);
  void take_back(void* memory);
  bool shared_by_host(std::uint64_t address, std::size_t n) const;

private:
  device_memory();

  static constexpr std::uint64_t capacity = std::uint64_t{1} << 37;

  static constexpr std::uint8_t allocated = 1;
  static constexpr std::uint8_t written   = 2;
  static constexpr std::uint8_t valid     = allocated | written;

  std::uint64_t begin_  = 0;
  std::uint8_t* states_ = nullptr;
  std::uint64_t unused_ = 4096; // the offset behind all that was ever allocated
  std::map<std::uint64_t, std::size_t> sizes_; // by offset
  std::map<std::size_t, std::deque<std::uint64_t>> freed_; // by room, the longest ago first
  std::map<std::uint64_t, std::size_t> of_host_; // sizes by address
};

} // namespace gpusort::interpreter
