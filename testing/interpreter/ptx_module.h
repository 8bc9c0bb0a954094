// The text of a PTX module, taken apart into declarations and statements. What instructions mean is in decode.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace gpusort::interpreter
{

/// Text that is not understood, or asks for what the interpreter does not have.
struct not_supported : std::runtime_error
{
  using std::runtime_error::runtime_error;
};

/// `.align 8 .b8 name[80]`, in any state space.
struct declaration
{
  static constexpr std::size_t unsized = ~std::size_t{0};

  std::string_view name;
  std::string_view type; // of an element, without the dot
  std::size_t alignment = 1;
  std::size_t size      = 0; // bytes of all elements; `unsized` for `name[]`
};

struct parameter : declaration
{
  std::size_t offset = 0; // in the memory that holds all of them
};

struct device_variable : declaration
{
  std::vector<std::string_view> initial_values; // fewer than elements, or none: the others are zero
};

enum class statement_kind
{
  open_scope,
  close_scope,
  label, // the text is its name
  branch_targets, // of the label just before; the text is their list
  registers, // the text is what follows `.reg`
  shared_variable,
  frame_variable, // .local, or a .param of a call
  instruction
};

struct statement
{
  statement_kind kind;
  std::string_view text;
  int line;
};

struct function_text
{
  std::string_view name;
  bool is_kernel = false;
  std::vector<parameter> parameters;
  std::vector<parameter> results;
  std::string_view body;
  int first_line = 0;
};

/// Everything refers to the text, which therefore stays where it is.
class ptx_module
{
public:
  explicit ptx_module(std::string text);
  ptx_module(ptx_module const&)            = delete;
  ptx_module& operator=(ptx_module const&) = delete;

  int architecture = 0; // 90 for sm_90
  std::vector<function_text> functions;
  std::vector<device_variable> variables;
  std::vector<declaration> shared_variables;

private:
  void read_function(std::string_view head, std::size_t body_begin, std::size_t body_end);
  void read_variable(std::string_view text);

  std::string text_;
  std::vector<std::size_t> line_ends_;
};

std::vector<statement> statements_of(function_text const& function);

declaration parse_declaration(std::string_view text);

/// The bytes of a type such as u32 or b8.
std::size_t size_of_type(std::string_view type);

/// A number as PTX writes it: 42, -1, 0x2A, 7U, 0f3F800000, 0d3FF0000000000000; as the bits of a register of `width` bits,
/// into which a float may have to be widened. False if the text is no number.
bool parse_number(std::string_view text, int width, std::uint64_t& value);

bool is_name_character(char c);
std::string_view trimmed(std::string_view text);

/// The parts of a list, of which brackets and braces are one part.
std::vector<std::string_view> split(std::string_view text, char separator);

/// What is between the first and the last character: brackets, braces or parentheses.
std::string_view inside(std::string_view text);

constexpr std::size_t round_up(std::size_t size, std::size_t alignment)
{
  return (size + alignment - 1) / alignment * alignment;
}

} // namespace gpusort::interpreter
