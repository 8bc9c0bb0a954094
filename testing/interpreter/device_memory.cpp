#include "device_memory.h"

#include "report.h"

#include <algorithm>
#include <iterator>

#include <sys/mman.h>

namespace gpusort::interpreter
{
namespace
{

// What is new holds this, so that nobody is lucky with zeros; for larger memory it would take too long.
constexpr int garbage             = 0xAB;
constexpr std::size_t most_filled = std::size_t{64} << 20;

// Pages of what is freed go back to the system from this size on.
constexpr std::size_t least_returned = std::size_t{1} << 20;
constexpr std::uint64_t page         = 4096;

// So many freed pieces of a size lie idle before one is used again: a use after free is likely to meet memory of nobody.
constexpr std::size_t idle_pieces = 8;

std::size_t room_of(std::size_t bytes)
{
  constexpr std::size_t alignment = 256;
  return (bytes / alignment + 1) * alignment;
}

std::uint8_t* reserve(std::size_t bytes)
{
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
  {
    stop("cannot reserve addresses for the memory of the device");
  }
  return static_cast<std::uint8_t*>(memory);
}

std::uint8_t* pointer(std::uint64_t address)
{
  return reinterpret_cast<std::uint8_t*>(address);
}

} // namespace

device_memory& device_memory::instance()
{
  // Never destroyed: destructors of tests still free.
  static device_memory& only = *new device_memory;
  return only;
}

device_memory::device_memory()
    : begin_(reinterpret_cast<std::uint64_t>(reserve(capacity)))
    , states_(reserve(capacity))
{}

std::uint8_t* device_memory::allocate(std::size_t bytes)
{
  std::size_t const room           = room_of(bytes);
  std::deque<std::uint64_t>& freed = freed_[room];
  std::uint64_t offset             = unused_;
  if (freed.size() > idle_pieces)
  {
    offset = freed.front();
    freed.pop_front();
  }
  else
  {
    unused_ += room;
    if (unused_ > capacity)
    {
      stop("no addresses are left for the memory of the device");
    }
  }
  sizes_[offset] = bytes;
  std::memset(states_ + offset, allocated, bytes);
  std::uint8_t* const memory = pointer(begin_ + offset);
  if (bytes < most_filled)
  {
    std::memset(memory, garbage, bytes);
  }
  return memory;
}

void device_memory::free(void* memory)
{
  auto const found = sizes_.find(reinterpret_cast<std::uint64_t>(memory) - begin_);
  if (found == sizes_.end())
  {
    stop("memory is freed that is not allocated");
  }
  auto const [offset, bytes] = *found;
  sizes_.erase(found);
  std::memset(states_ + offset, 0, bytes);
  if (bytes > least_returned)
  {
    std::uint64_t const first = (offset + page - 1) / page * page;
    std::uint64_t const last  = (offset + bytes) / page * page;
    madvise(pointer(begin_ + first), last - first, MADV_DONTNEED);
    madvise(states_ + first, last - first, MADV_DONTNEED);
  }
  freed_[room_of(bytes)].push_back(offset);
}

bool device_memory::is_allocation(void* memory) const
{
  return sizes_.count(reinterpret_cast<std::uint64_t>(memory) - begin_) != 0;
}

std::size_t device_memory::size_of(void* memory) const
{
  return sizes_.at(reinterpret_cast<std::uint64_t>(memory) - begin_);
}

bool device_memory::may_access(void const* address, std::size_t n) const
{
  if (!contains(address))
  {
    return true;
  }
  std::uint64_t const offset = reinterpret_cast<std::uint64_t>(address) - begin_;
  if (n > capacity - offset)
  {
    return false;
  }
  return std::all_of(states_ + offset, states_ + offset + n, [](std::uint8_t state) {
    return (state & allocated) != 0;
  });
}

void device_memory::mark_written(void const* address, std::size_t n)
{
  if (contains(address))
  {
    std::memset(states_ + (reinterpret_cast<std::uint64_t>(address) - begin_), valid, n);
  }
}

void device_memory::share(void* memory, std::size_t bytes)
{
  of_host_[reinterpret_cast<std::uint64_t>(memory)] = bytes;
}

void device_memory::take_back(void* memory)
{
  of_host_.erase(reinterpret_cast<std::uint64_t>(memory));
}

bool device_memory::shared_by_host(std::uint64_t address, std::size_t n) const
{
  auto const above = of_host_.upper_bound(address);
  if (above == of_host_.begin())
  {
    return false;
  }
  auto const [begin, bytes] = *std::prev(above);
  return address - begin < bytes && n <= bytes - (address - begin);
}

} // namespace gpusort::interpreter
