// What the interpreter has to say about a kernel: faults, which end the process, and findings, after which it goes on.
#pragma once

#include <cstdint>
#include <string>

namespace gpusort::interpreter
{

struct frame;
struct instruction;

/// A lane at an instruction.
struct place
{
  frame const& at;
  instruction const& what;
  unsigned lane;
  std::uint8_t const* written = nullptr; // what a store is about to write, if that is known
};

/// Ends the process. For what is wrong outside of kernels.
[[noreturn]] void stop(std::string const& message);

/// Ends the process with what is wrong and where. `value` is an address, or what else the message is about.
[[noreturn, gnu::cold]] void fault(place const& where, char const* what, std::uint64_t value = 0);

/// Prints the first finding at each instruction. The process ends with exit code 9 then, whatever main returns.
[[gnu::cold]] void finding(place const& where, char const* what, std::uint64_t value, int other_line = 0);

std::string readable_name(std::string const& symbol);

} // namespace gpusort::interpreter
