// Loads, stores, atomics, and addresses.
#include "device_memory.h"
#include "lanes.h"
#include "numbers.h"
#include "report.h"
#include "semantics.h"

#include <algorithm>
#include <cstdio>
#include <unordered_map>

namespace gpusort::interpreter
{
namespace
{

/// A 32-bit address of another block's shared memory has the rank, plus one, in its highest byte.
constexpr unsigned window_bits         = 24;
constexpr std::uint64_t in_window_mask = (std::uint64_t{1} << window_bits) - 1;

constexpr bool reads(access_kind kind)
{
  return kind == access_kind::read || kind == access_kind::atomic;
}

constexpr bool writes(access_kind kind)
{
  return kind != access_kind::read;
}

block& block_of(frame const& f)
{
  return *f.in->in;
}

bool in_shared(block const& b, std::uint64_t address)
{
  return address - b.shared_address() < b.shared_bytes;
}

/// The other block of the cluster in whose shared memory an address is, or null.
block* other_block_at(block const& b, std::uint64_t address)
{
  for (std::unique_ptr<block> const& other : b.in->blocks)
  {
    if (in_shared(*other, address))
    {
      return other.get();
    }
  }
  return nullptr;
}

template <int Bytes>
void check_alignment(place const& where, std::uint64_t address)
{
  if (address % Bytes != 0)
  {
    fault(where, "misaligned access", address);
  }
}

[[gnu::noinline]] void look_for_race(place const& where, access_kind kind, std::uint32_t offset, std::uint32_t bytes)
{
  warp const& w              = *where.at.in;
  bool const changes_nothing = kind == access_kind::write && where.written != nullptr
                            && std::memcmp(w.in->shared.data() + offset, where.written, bytes) == 0;
  kind             = changes_nothing ? access_kind::rewrite : kind;
  race const found = w.in->races->note(
    {kind,
     offset,
     bytes,
     static_cast<std::uint16_t>(w.index),
     static_cast<std::uint8_t>(where.lane),
     w.epoch,
     where.what.line});
  if (found.what != nullptr)
  {
    finding(where, found.what, offset, found.other_line);
  }
}

template <int Bytes, access_kind Kind>
[[gnu::always_inline]] inline std::uint8_t* at_shared(place const& where, std::uint64_t address)
{
  check_alignment<Bytes>(where, address);
  block& b = block_of(where.at);
  if (address + Bytes > b.shared_bytes)
  {
    std::uint64_t const rank   = address >> window_bits;
    std::uint64_t const offset = address & in_window_mask;
    if (rank >= 1 && rank <= b.in->blocks.size() && offset + Bytes <= b.shared_bytes)
    {
      return b.in->blocks[rank - 1]->shared.data() + offset;
    }
    fault(where, "access out of bounds of shared memory", address);
  }
  if (b.races)
  {
    look_for_race(where, Kind, static_cast<std::uint32_t>(address), Bytes);
  }
  return b.shared.data() + address;
}

/// What is neither the device's nor a block's: the frames of the warp, the parameters of the kernel, and what the host shares.
template <int Bytes>
void check_elsewhere(place const& where, std::uint64_t address)
{
  warp const& w                               = *where.at.in;
  std::vector<std::uint8_t> const& parameters = *w.in->parameters;
  auto const within                           = [=](void const* begin, std::size_t bytes) {
    std::uint64_t const offset = address - reinterpret_cast<std::uint64_t>(begin);
    return offset < bytes && offset + Bytes <= bytes;
  };
  if (!within(w.local.data(), w.local_bytes * warp_size) && !within(parameters.data(), parameters.size())
      && !w.in->memory->shared_by_host(address, Bytes))
  {
    fault(where, "access out of bounds: there is no memory", address);
  }
}

template <int Bytes, access_kind Kind>
[[gnu::always_inline]] inline std::uint8_t* at_global(place const& where, std::uint64_t address)
{
  check_alignment<Bytes>(where, address);
  device_memory& memory = *block_of(where.at).memory;
  if (memory.contains(address))
  {
    switch (memory.access<Bytes, reads(Kind), writes(Kind)>(address))
    {
      case access_error::none:
        break;
      case access_error::out_of_bounds:
        fault(where, writes(Kind) ? "write out of bounds" : "read out of bounds", address);
      case access_error::not_written:
        finding(where, "read of uninitialised memory", address);
    }
  }
  else
  {
    check_elsewhere<Bytes>(where, address);
  }
  return reinterpret_cast<std::uint8_t*>(address);
}

template <int Bytes>
std::uint8_t* at_local(place const& where, std::uint64_t address)
{
  check_alignment<Bytes>(where, address);
  std::uint64_t const begin = reinterpret_cast<std::uint64_t>(where.at.in->local_of(where.lane));
  std::uint64_t const bytes = where.at.in->local_bytes;
  if (address - begin >= bytes || address - begin + Bytes > bytes)
  {
    fault(where, "access out of bounds of local memory", address);
  }
  return reinterpret_cast<std::uint8_t*>(address);
}

template <int Bytes, access_kind Kind>
[[gnu::always_inline]] inline std::uint8_t* at_generic(place const& where, std::uint64_t address)
{
  block& own = block_of(where.at);
  if (in_shared(own, address))
  {
    return at_shared<Bytes, Kind>(where, address - own.shared_address());
  }
  if (own.in->blocks.size() > 1)
  {
    if (block* const other = other_block_at(own, address))
    {
      check_alignment<Bytes>(where, address);
      if (!in_shared(*other, address + Bytes - 1))
      {
        fault(where, "access out of bounds of another block's shared memory", address);
      }
      return reinterpret_cast<std::uint8_t*>(address);
    }
  }
  return at_global<Bytes, Kind>(where, address);
}

/// Where an access of some bytes goes, after all checks.
template <space Space, int Bytes, access_kind Kind>
[[gnu::always_inline]] inline std::uint8_t* memory_at(place const& where, std::uint64_t address)
{
  if constexpr (Space == space::shared)
  {
    return at_shared<Bytes, Kind>(where, address);
  }
  else if constexpr (Space == space::global)
  {
    return at_global<Bytes, Kind>(where, address);
  }
  else if constexpr (Space == space::local)
  {
    return at_local<Bytes>(where, address);
  }
  else if constexpr (Space == space::generic)
  {
    return at_generic<Bytes, Kind>(where, address);
  }
  else if constexpr (Space == space::of_frame)
  {
    return where.at.in->local_of(where.lane) + where.at.base + address;
  }
  else if constexpr (Space == space::kernel_parameter)
  {
    // The declared parameters end before the memory that holds them does.
    return const_cast<std::uint8_t*>(block_of(where.at).parameters->data()) + address;
  }
  else
  {
    check_elsewhere<Bytes>(where, address);
    return reinterpret_cast<std::uint8_t*>(address);
  }
}

std::uint64_t address_for(frame& f, instruction const& i, unsigned lane)
{
  if (i.a == no_slot)
  {
    return static_cast<std::uint64_t>(i.immediate);
  }
  return i.wide_address ? lanes<std::uint64_t>(f, i.a)[lane] + static_cast<std::uint64_t>(i.immediate)
                        : lanes<std::uint32_t>(f, i.a)[lane] + static_cast<std::uint32_t>(i.immediate);
}

/// An access to all of a vector is aligned to all of it.
template <class T>
void check_vector_alignment(place const& where, std::uint64_t address)
{
  if (address % (sizeof(T) * where.what.count) != 0)
  {
    fault(where, "misaligned access of a vector", address);
  }
}

template <space Space>
constexpr bool needs_vector_alignment =
  Space != space::kernel_parameter && Space != space::of_frame && Space != space::pointed_to;

template <space Space, class T, class Register>
void load_lanes(frame& f, instruction const& i, lane_mask mask)
{
  if (i.count == 1)
  {
    Register* const to = lanes<Register>(f, i.elements[0]);
    each_lane(mask, [&](unsigned l) {
      T value;
      std::memcpy(
        &value, memory_at<Space, sizeof(T), access_kind::read>({f, i, l}, address_for(f, i, l)), sizeof value);
      to[l] = static_cast<Register>(value);
    });
    return;
  }
  each_lane(mask, [&](unsigned l) {
    place const where{f, i, l};
    std::uint64_t const address = address_for(f, i, l);
    if constexpr (needs_vector_alignment<Space>)
    {
      check_vector_alignment<T>(where, address);
    }
    // All before any is written: the address may be in a register that is.
    T values[4];
    for (unsigned k = 0; k < i.count; ++k)
    {
      std::memcpy(
        &values[k], memory_at<Space, sizeof(T), access_kind::read>(where, address + k * sizeof(T)), sizeof(T));
    }
    for (unsigned k = 0; k < i.count; ++k)
    {
      if (i.elements[k] != no_slot)
      {
        lanes<Register>(f, i.elements[k])[l] = static_cast<Register>(values[k]);
      }
    }
  });
}

template <space Space, class T, class Register>
void store_lanes(frame& f, instruction const& i, lane_mask mask)
{
  each_lane(mask, [&](unsigned l) {
    place where{f, i, l};
    std::uint64_t const address = address_for(f, i, l);
    if constexpr (needs_vector_alignment<Space>)
    {
      check_vector_alignment<T>(where, address);
    }
    for (unsigned k = 0; k < i.count; ++k)
    {
      T const value = static_cast<T>(lanes<Register>(f, i.elements[k])[l]);
      where.written = reinterpret_cast<std::uint8_t const*>(&value);
      std::memcpy(memory_at<Space, sizeof(T), access_kind::write>(where, address + k * sizeof(T)), &value, sizeof(T));
    }
  });
}

// --- Atomics: what becomes of the old value.

struct atomic_add
{
  template <class T>
  T operator()(T old, T b, T) const
  {
    if constexpr (is_floating<T>)
    {
      return old + b;
    }
    else
    {
      return static_cast<T>(static_cast<std::uint64_t>(old) + static_cast<std::uint64_t>(b));
    }
  }
};

struct atomic_exchange
{
  template <class T>
  T operator()(T, T b, T) const
  {
    return b;
  }
};

struct atomic_compare_and_swap
{
  template <class T>
  T operator()(T old, T b, T c) const
  {
    return old == b ? c : old;
  }
};

struct atomic_minimum
{
  template <class T>
  T operator()(T old, T b, T) const
  {
    return std::min(old, b);
  }
};

struct atomic_maximum
{
  template <class T>
  T operator()(T old, T b, T) const
  {
    return std::max(old, b);
  }
};

struct atomic_and
{
  template <class T>
  T operator()(T old, T b, T) const
  {
    return old & b;
  }
};

struct atomic_or
{
  template <class T>
  T operator()(T old, T b, T) const
  {
    return old | b;
  }
};

struct atomic_xor
{
  template <class T>
  T operator()(T old, T b, T) const
  {
    return old ^ b;
  }
};

/// Counts up to b, then from zero.
struct atomic_increment
{
  template <class T>
  T operator()(T old, T b, T) const
  {
    return old >= b ? T{0} : static_cast<T>(old + 1);
  }
};

struct atomic_decrement
{
  template <class T>
  T operator()(T old, T b, T) const
  {
    return old == 0 || old > b ? b : static_cast<T>(old - 1);
  }
};

template <class Operation>
constexpr access_kind kind_of =
  std::is_same_v<Operation, atomic_exchange> ? access_kind::exchange : access_kind::atomic;

template <space Space, class T, class Operation>
void atomic_lanes(frame& f, instruction const& i, lane_mask mask)
{
  T const* const b = lanes<T>(f, i.b);
  T const* const c = lanes<T>(f, i.c == no_slot ? i.b : i.c);
  T* const to      = i.to == no_slot ? nullptr : lanes<T>(f, i.to);
  each_lane(mask, [&](unsigned l) {
    std::uint8_t* const memory = memory_at<Space, sizeof(T), kind_of<Operation>>({f, i, l}, address_for(f, i, l));
    T old;
    std::memcpy(&old, memory, sizeof old);
    T const changed = Operation{}(old, b[l], c[l]);
    std::memcpy(memory, &changed, sizeof changed);
    if (to != nullptr)
    {
      to[l] = old;
    }
  });
}

template <space Space, class Operation>
handler atomic_of_integers(type t)
{
  return for_integers(t, [](auto tag) -> handler { return atomic_lanes<Space, type_in<decltype(tag)>, Operation>; });
}

template <space Space, class Operation>
handler atomic_of_numbers(type t)
{
  return is_float(t)
         ? for_wide_floats(t,
                           [](auto tag) -> handler { return atomic_lanes<Space, type_in<decltype(tag)>, Operation>; })
         : atomic_of_integers<Space, Operation>(t);
}

template <space Space>
handler atomic_in(std::string_view operation, type t)
{
  static std::unordered_map<std::string_view, handler (*)(type)> const handlers = {
    {"add", atomic_of_numbers<Space, atomic_add>},
    {"exch", atomic_of_numbers<Space, atomic_exchange>},
    {"cas", atomic_of_integers<Space, atomic_compare_and_swap>},
    {"min", atomic_of_integers<Space, atomic_minimum>},
    {"max", atomic_of_integers<Space, atomic_maximum>},
    {"and", atomic_of_integers<Space, atomic_and>},
    {"or", atomic_of_integers<Space, atomic_or>},
    {"xor", atomic_of_integers<Space, atomic_xor>},
    {"inc", atomic_of_integers<Space, atomic_increment>},
    {"dec", atomic_of_integers<Space, atomic_decrement>},
  };
  auto const found = handlers.find(operation);
  return found == handlers.end() ? nullptr : found->second(t);
}

/// Calls `make` with the type in memory and the type of the register, which is at least as wide.
template <class Make>
handler for_moved(type t, int width, Make make)
{
  // Loads and stores move bits, whatever they mean.
  type const bits =
    t == type::f16 || t == type::bf16 ? type::u16
    : t == type::f32                  ? type::u32
    : t == type::f64                  ? type::u64
                                      : t;
  return for_integers_and_bytes(bits, [=](auto moved) -> handler {
    return for_width(width, [=](auto holder) -> handler {
      if constexpr (sizeof(type_in<decltype(holder)>) >= sizeof(type_in<decltype(moved)>))
      {
        return make(moved, holder);
      }
      else
      {
        return nullptr;
      }
    });
  });
}

template <space Space>
handler load_from(type t, int width)
{
  return for_moved(t, width, [](auto moved, auto holder) -> handler {
    return load_lanes<Space, type_in<decltype(moved)>, type_in<decltype(holder)>>;
  });
}

template <space Space>
handler store_to(type t, int width)
{
  return for_moved(t, width, [](auto moved, auto holder) -> handler {
    return store_lanes<Space, std::make_unsigned_t<type_in<decltype(moved)>>, type_in<decltype(holder)>>;
  });
}

// --- Addresses.

void frame_address(frame& f, instruction const& i, lane_mask mask)
{
  std::uint64_t* const to = lanes<std::uint64_t>(f, i.to);
  each_lane(mask, [&](unsigned l) {
    to[l] = reinterpret_cast<std::uint64_t>(f.in->local_of(l) + f.base) + static_cast<std::uint64_t>(i.immediate);
  });
}

void copy_lanes(frame& f, instruction const& i, lane_mask mask)
{
  frame_copy const& what = f.code_of->copies[static_cast<std::size_t>(i.target)];
  each_lane(mask, [&](unsigned l) {
    std::uint8_t* const begin = f.in->local_of(l) + f.base;
    std::memcpy(begin + what.to, begin + what.from, what.size);
  });
}

void parameter_address(frame& f, instruction const& i, lane_mask mask)
{
  auto const begin = reinterpret_cast<std::uint64_t>(block_of(f).parameters->data());
  assign_each<std::uint64_t>(f, i.to, mask, [&](unsigned) { return begin + static_cast<std::uint64_t>(i.immediate); });
}

void generic_of_shared(frame& f, instruction const& i, lane_mask mask)
{
  block const& own             = block_of(f);
  std::uint64_t const* const a = lanes<std::uint64_t>(f, i.a);
  assign_each<std::uint64_t>(f, i.to, mask, [&](unsigned l) {
    std::uint64_t const rank = a[l] >> window_bits;
    bool const in_a_window   = rank >= 1 && rank <= own.in->blocks.size();
    return in_a_window ? own.in->blocks[rank - 1]->shared_address() + (a[l] & in_window_mask)
                       : own.shared_address() + a[l];
  });
}

void shared_of_generic(frame& f, instruction const& i, lane_mask mask)
{
  block const& own             = block_of(f);
  std::uint64_t const* const a = lanes<std::uint64_t>(f, i.a);
  assign_each<std::uint64_t>(f, i.to, mask, [&](unsigned l) {
    block const* const other = in_shared(own, a[l]) ? nullptr : other_block_at(own, a[l]);
    return other == nullptr ? a[l] - own.shared_address()
                            : a[l] - other->shared_address() + ((other->rank + std::uint64_t{1}) << window_bits);
  });
}

/// The same place in the shared memory of block `b` of the cluster.
template <class T>
void map_to_block(frame& f, instruction const& i, lane_mask mask)
{
  block const& own = block_of(f);
  each_lane(mask, [&](unsigned l) {
    place const where{f, i, l};
    T const address          = lanes<T>(f, i.a)[l];
    std::uint32_t const rank = lanes<std::uint32_t>(f, i.b)[l];
    if (rank >= own.in->blocks.size())
    {
      fault(where, "there is no such block in the cluster", rank);
    }
    if constexpr (sizeof(T) == 8)
    {
      std::uint64_t const offset = address - own.shared_address();
      if (offset > own.shared_bytes)
      {
        fault(where, "not an address of shared memory", address);
      }
      lanes<T>(f, i.to)[l] = own.in->blocks[rank]->shared_address() + offset;
    }
    else
    {
      lanes<T>(f, i.to)[l] = static_cast<T>((address & in_window_mask) | (rank + 1) << window_bits);
    }
  });
}

template <space Space>
void is_address_in(frame& f, instruction const& i, lane_mask mask)
{
  lane_mask result = 0;
  each_lane(mask, [&](unsigned l) {
    std::uint64_t const address = lanes<std::uint64_t>(f, i.a)[l];
    bool const shared           = in_shared(block_of(f), address);
    bool const local = address - reinterpret_cast<std::uint64_t>(f.in->local.data()) < f.in->local_bytes * warp_size;
    bool const here  = Space == space::shared ? shared : Space == space::local ? local : !shared && !local;
    result |= here ? only(l) : 0;
  });
  assign_mask(f, i.to, result, mask);
}

// --- Functions that kernels call and do not contain.

std::uint8_t* in_frame(frame const& f, unsigned lane, std::uint32_t offset)
{
  return f.in->local_of(lane) + f.base + offset;
}

std::uint64_t argument(frame const& f, unsigned lane, call_site const& call)
{
  std::uint64_t value = 0;
  std::memcpy(&value, in_frame(f, lane, call.arguments.at(0)), sizeof value);
  return value;
}

void call_malloc(frame& f, instruction const&, call_site const& call, lane_mask mask)
{
  constexpr std::uint64_t most = std::uint64_t{64} << 20; // more does not fit the heap of a device
  each_lane(mask, [&](unsigned l) {
    std::uint64_t const bytes  = argument(f, l, call);
    std::uint8_t* const memory = bytes > most ? nullptr : block_of(f).memory->allocate(bytes);
    std::memcpy(in_frame(f, l, call.results.at(0)), &memory, sizeof memory);
  });
}

void call_free(frame& f, instruction const& i, call_site const& call, lane_mask mask)
{
  each_lane(mask, [&](unsigned l) {
    std::uint64_t const address = argument(f, l, call);
    auto* const memory          = reinterpret_cast<void*>(address);
    if (memory != nullptr && !block_of(f).memory->is_allocation(memory))
    {
      fault({f, i, l}, "free of what is not allocated", address);
    }
    if (memory != nullptr)
    {
      block_of(f).memory->free(memory);
    }
  });
}

/// Prints the format alone.
void call_printf(frame& f, instruction const&, call_site const& call, lane_mask mask)
{
  each_lane(mask, [&](unsigned l) { std::printf("%s", reinterpret_cast<char const*>(argument(f, l, call))); });
}

void call_assertion(frame& f, instruction const& i, call_site const& call, lane_mask mask)
{
  unsigned const lane = lowest_lane(mask);
  std::printf("%s\n", reinterpret_cast<char const*>(argument(f, lane, call)));
  fault({f, i, lane}, "an assertion does not hold");
}

} // namespace

handler load(space from, type t, int width)
{
  switch (from)
  {
    case space::generic:
      return load_from<space::generic>(t, width);
    case space::global:
      return load_from<space::global>(t, width);
    case space::shared:
      return load_from<space::shared>(t, width);
    case space::local:
      return load_from<space::local>(t, width);
    case space::kernel_parameter:
      return load_from<space::kernel_parameter>(t, width);
    case space::of_frame:
      return load_from<space::of_frame>(t, width);
    default:
      return load_from<space::pointed_to>(t, width);
  }
}

handler store(space to, type t, int width)
{
  switch (to)
  {
    case space::generic:
      return store_to<space::generic>(t, width);
    case space::global:
      return store_to<space::global>(t, width);
    case space::shared:
      return store_to<space::shared>(t, width);
    case space::local:
      return store_to<space::local>(t, width);
    case space::of_frame:
      return store_to<space::of_frame>(t, width);
    default:
      return nullptr;
  }
}

handler atomic(space at, std::string_view operation, type t)
{
  return at == space::shared ? atomic_in<space::shared>(operation, t)
       : at == space::global ? atomic_in<space::global>(operation, t)
                             : atomic_in<space::generic>(operation, t);
}

handler address_in_frame()
{
  return frame_address;
}

handler copy_in_frame()
{
  return copy_lanes;
}

handler address_of_kernel_parameter()
{
  return parameter_address;
}

handler shared_to_generic()
{
  return generic_of_shared;
}

handler generic_to_shared()
{
  return shared_of_generic;
}

handler map_to_block_of_cluster(int width)
{
  return width == 64 ? map_to_block<std::uint64_t> : map_to_block<std::uint32_t>;
}

handler is_in_space(space which)
{
  return which == space::shared ? is_address_in<space::shared>
       : which == space::local  ? is_address_in<space::local>
                                : is_address_in<space::global>;
}

library_function find_library_function(std::string_view name)
{
  return name == "malloc"       ? call_malloc
       : name == "free"         ? call_free
       : name == "vprintf"      ? call_printf
       : name == "__assertfail" ? call_assertion
                                : nullptr;
}

} // namespace gpusort::interpreter
