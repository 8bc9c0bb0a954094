// Decoded functions: what a warp executes.
#pragma once

#include "ptx_module.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gpusort::interpreter
{

constexpr unsigned warp_size = 32;

/// One bit a lane.
using lane_mask               = std::uint32_t;
constexpr lane_mask all_lanes = ~lane_mask{0};

/// Where a register is in the memory of a frame, in bytes: 32 values, or one mask if it is a predicate.
using slot             = std::int32_t;
constexpr slot no_slot = -1;

struct frame;
struct instruction;

/// Executes an instruction for the lanes of a mask, of which there is at least one.
using handler = void (*)(frame&, instruction const&, lane_mask);

/// Who decides what is executed next. All but `next` are the machine's business.
enum class flow : std::uint8_t
{
  next,
  branch, // to `target`
  branch_by_table, // to one of branch_tables[target]
  leave,
  exit,
  call, // calls[target]
  warp_sync, // executed once the lanes in the mask `d` are there
  barrier, // number `a`, for `b` threads or all
  cluster_arrive,
  cluster_wait
};

/// What a barrier tells the threads about their predicates `c`.
enum class barrier_result : std::uint8_t
{
  none,
  count,
  any,
  all
};

struct instruction
{
  handler execute       = nullptr;
  flow control          = flow::next;
  barrier_result result = barrier_result::none;
  bool guard_negated    = false;
  bool source_negated   = false; // a predicate among the sources
  bool wide_address     = false; // the register of the address has 64 bits
  bool writes_elements  = false;
  std::uint8_t count    = 1; // of elements
  slot guard            = no_slot;
  slot to               = no_slot;
  slot predicate_to     = no_slot;
  slot a                = no_slot;
  slot b                = no_slot;
  slot c                = no_slot;
  slot d                = no_slot;
  std::array<slot, 4> elements{no_slot, no_slot, no_slot, no_slot}; // of a vector
  std::int32_t target    = 0;
  std::int32_t line      = 0;
  std::int64_t immediate = 0; // added to the register of an address
};

/// Calls pass arguments and results in the frames of caller and callee; offsets are in the caller's.
struct call_site
{
  std::string_view callee; // if it is known
  slot pointer = no_slot; // otherwise
  std::vector<std::uint32_t> arguments;
  std::vector<std::uint32_t> results;
};

/// Bytes that are copied within a frame.
struct frame_copy
{
  std::uint32_t from;
  std::uint32_t to;
  std::uint32_t size;
};

enum class special_register : std::uint8_t
{
  thread_x,
  thread_y,
  thread_z,
  block_size_x,
  block_size_y,
  block_size_z,
  block_x,
  block_y,
  block_z,
  grid_size_x,
  grid_size_y,
  grid_size_z,
  lane,
  warp,
  lanes_below,
  lanes_up_to,
  lanes_above,
  lanes_from,
  lane_alone,
  rank_in_cluster,
  cluster_size,
  cluster,
  clusters,
  multiprocessor,
  dynamic_shared_bytes,
  shared_bytes,
  zero,
  one
};

struct program;

struct function
{
  function(program& whole, function_text const& written)
      : in(whole)
      , text(written)
  {}

  program& in;
  function_text const& text;

  bool decoded = false;
  std::vector<instruction> code;
  std::vector<std::string_view> code_text; // beside each instruction
  std::vector<std::vector<std::int32_t>> branch_tables;
  std::vector<call_site> calls;
  std::vector<frame_copy> copies;
  std::vector<std::uint32_t> parameters; // of a .func: where they are in its frame
  std::vector<std::uint32_t> results;

  std::uint32_t register_bytes = 0;
  std::uint32_t constants_at   = 0; // slots that no instruction writes
  std::vector<std::uint8_t> constants;
  std::vector<std::pair<slot, special_register>> specials;
  std::uint32_t frame_bytes  = 0; // of each lane: local variables, and parameters of calls
  std::uint32_t shared_bytes = 0; // whose size is known
};

/// A module with its variables in device memory. A pointer to a device function is the address of a `function`.
struct program
{
  explicit program(std::string ptx);

  ptx_module ptx;
  std::map<std::string_view, std::unique_ptr<function>> functions;
  std::map<std::uint64_t, function*> by_address;
  std::map<std::string_view, std::uint8_t*> variables;
};

/// The function, decoded if it has not been yet. What cannot be decoded is a fault when it is executed.
void decode(function& f);

/// A register of the text, before it has a slot.
struct virtual_register
{
  int width          = 32; // 1: a predicate; otherwise 16, 32 or 64 bits
  bool is_constant   = false; // a constant or special register, which no instruction writes
  std::uint64_t bits = 0; // of a constant
  int special        = -1; // of a special_register
};

/// Replaces the numbers of registers in the instructions of f by slots, which registers share that are never needed at once.
void assign_slots(function& f, std::vector<virtual_register> const& registers);

} // namespace gpusort::interpreter
