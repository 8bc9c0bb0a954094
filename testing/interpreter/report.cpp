#include "report.h"

#include "machine.h"

#include <cstdio>
#include <cstdlib>
#include <set>

#include <cxxabi.h>

namespace gpusort::interpreter
{
namespace
{

/// Says at the end of the process what was found.
class verdict
{
public:
  /// Whether it is the first at the instruction.
  bool add(instruction const& at)
  {
    return places_.insert(&at).second;
  }

  ~verdict()
  {
    if (!places_.empty())
    {
      std::fprintf(stderr, "gpusort interpreter: %zu findings\n", places_.size());
      std::fflush(nullptr);
      std::_Exit(exit_code);
    }
  }

private:
  static constexpr int exit_code = 9;

  std::set<instruction const*> places_;
};

verdict findings;

void print(place const& where, char const* kind, char const* what, std::uint64_t value, int other_line)
{
  warp const& w               = *where.at.in;
  block const& b              = *w.in;
  function const& f           = *where.at.code_of;
  std::string_view const text = f.code_text[static_cast<std::size_t>(&where.what - f.code.data())];
  std::string const name      = readable_name(std::string(f.text.name));
  std::string const other     = other_line == 0 ? "" : ", the other access in line " + std::to_string(other_line);
  std::fflush(stdout);
  std::fprintf(
    stderr,
    "gpusort interpreter: %s: %s (0x%llx)%s\n"
    "  in %s\n"
    "  block (%u, %u, %u) of (%u, %u, %u), thread %u of %u\n"
    "  line %d: %.*s\n",
    kind,
    what,
    static_cast<unsigned long long>(value),
    other.c_str(),
    name.c_str(),
    b.index[0],
    b.index[1],
    b.index[2],
    b.shape->grid[0],
    b.shape->grid[1],
    b.shape->grid[2],
    w.first_thread() + where.lane,
    b.shape->threads(),
    where.what.line,
    static_cast<int>(text.size()),
    text.data());
}

} // namespace

std::string readable_name(std::string const& symbol)
{
  int status            = 0;
  char* const demangled = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  std::string result    = status == 0 ? demangled : symbol;
  std::free(demangled);
  return result;
}

void stop(std::string const& message)
{
  std::fflush(stdout);
  std::fprintf(stderr, "gpusort interpreter: %s\n", message.c_str());
  std::abort();
}

void fault(place const& where, char const* what, std::uint64_t value)
{
  print(where, "fault", what, value, 0);
  std::abort();
}

void finding(place const& where, char const* what, std::uint64_t value, int other_line)
{
  if (findings.add(where.what))
  {
    print(where, "finding", what, value, other_line);
  }
}

} // namespace gpusort::interpreter
