// What instructions do. Each family of instructions has one file, semantics_*.cpp, which gives the handlers of its members for
// the types that they are asked for; a null handler says that there is none.
#pragma once

#include "instruction.h"

#include <string_view>
#include <vector>

namespace gpusort::interpreter
{

enum class type : std::uint8_t
{
  none,
  predicate,
  u8,
  s8,
  u16,
  s16,
  u32,
  s32,
  u64,
  s64,
  f16,
  bf16,
  f32,
  f64,
  u16x2,
  s16x2
};

/// The type that a suffix of an instruction names; types of bits are unsigned.
type parse_type(std::string_view name);

/// Of the registers that hold a type: 1 for a predicate, otherwise 16, 32 or 64.
int register_width(type t);

bool is_float(type t);

// --- Arithmetic, logic, moves: a destination and up to four sources.

enum class operand_width : std::uint8_t
{
  own, // of the instruction's type
  twice, // as wide
  word, // 32 bits
  predicate
};

struct simple_operation
{
  handler (*handler_of)(type);
  operand_width to;
  std::vector<operand_width> from;
};

/// By the name without type, rounding and other hints: `add`, `mul.wide`, `shf.l.wrap`. Null if there is none.
simple_operation const* find_simple_operation(std::string_view name);

handler move_of_width(int width);
handler pack_of_widths(int part, int whole);
handler unpack_of_widths(int part, int whole);

// --- Comparisons, whose result may be combined with a predicate.

enum class combination : std::uint8_t
{
  none,
  conjunction,
  disjunction,
  exclusive
};

handler comparison(std::string_view relation, combination with, type t);

// --- Conversions. A register may be wider than the type that it holds.

enum class rounding : std::uint8_t
{
  none,
  nearest,
  towards_zero,
  down,
  up
};

handler conversion(type to, int to_width, type from, int from_width, rounding how);

// --- Memory.

enum class space : std::uint8_t
{
  generic,
  global,
  shared,
  local,
  kernel_parameter,
  of_frame, // parameters of calls: offsets in the frame
  pointed_to // parameters by an address in a register
};

handler load(space from, type t, int width);
handler store(space to, type t, int width);
handler atomic(space at, std::string_view operation, type t);

handler address_in_frame();
handler copy_in_frame();
handler address_of_kernel_parameter();
handler shared_to_generic();
handler generic_to_shared();
handler map_to_block_of_cluster(int width);
handler is_in_space(space which);

/// malloc, free and what else device code calls without containing it. Null if the interpreter does not have it.
using library_function = void (*)(frame&, instruction const&, call_site const&, lane_mask);
library_function find_library_function(std::string_view name);

// --- Warps.

handler shuffle(std::string_view mode);
handler vote(std::string_view mode);
handler match(std::string_view mode, type t);
handler reduction(std::string_view operation, type t);
handler elect();
handler active_mask();

// --- Others.

enum class clock : std::uint8_t
{
  cycles,
  nanoseconds
};

handler read_clock(clock which, int width);
handler sleep_a_turn();
handler do_nothing();
handler trap();
handler unsupported();

} // namespace gpusort::interpreter
