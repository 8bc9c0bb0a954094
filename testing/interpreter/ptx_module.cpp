#include "ptx_module.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <cstring>

namespace gpusort::interpreter
{
namespace
{

bool is_space(char c)
{
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}

bool is_digit(char c)
{
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

bool starts_with(std::string_view text, std::string_view beginning)
{
  return text.substr(0, beginning.size()) == beginning;
}

bool contains(std::string_view text, std::string_view part)
{
  return text.find(part) != std::string_view::npos;
}

/// Where a quoted text that begins at `at` ends: behind its second quote.
std::size_t behind_quotes(std::string_view text, std::size_t at)
{
  std::size_t const quote = text.find('"', at + 1);
  return quote == std::string_view::npos ? text.size() : quote + 1;
}

/// Blanks take the place of comments, so that lines keep their numbers.
void remove_comments(std::string& text)
{
  std::size_t at = 0;
  // Nearly all characters of tens of megabytes are neither.
  auto const find_next = [&] {
    auto const begins = [](char c) { return c == '/' || c == '"'; };
    at                = static_cast<std::size_t>(std::find_if(text.begin() + at, text.end(), begins) - text.begin());
    return at < text.size();
  };
  while (find_next())
  {
    if (text[at] == '"')
    {
      at = behind_quotes(text, at);
      continue;
    }
    char const next = at + 1 < text.size() ? text[at + 1] : ' ';
    std::size_t const end =
      next == '/'   ? std::min(text.find('\n', at), text.size())
      : next == '*' ? std::min(text.find("*/", at + 2), text.size() - 2) + 2
                    : at + 1;
    if (next == '/' || next == '*')
    {
      std::replace_if(text.begin() + at, text.begin() + end, [](char c) { return c != '\n'; }, ' ');
    }
    at = end;
  }
}

/// Behind the brace that closes the one at `open`.
std::size_t behind_braces(std::string_view text, std::size_t open)
{
  int depth      = 0;
  std::size_t at = open;
  do
  {
    if (at >= text.size())
    {
      throw not_supported("a brace that is never closed");
    }
    if (text[at] == '"')
    {
      at = behind_quotes(text, at);
      continue;
    }
    depth += text[at] == '{' ? 1 : text[at] == '}' ? -1 : 0;
    ++at;
  } while (depth > 0);
  return at;
}

std::size_t skip_space(std::string_view text, std::size_t at)
{
  while (at < text.size() && is_space(text[at]))
  {
    ++at;
  }
  return at;
}

std::size_t skip_name(std::string_view text, std::size_t at)
{
  while (at < text.size() && is_name_character(text[at]))
  {
    ++at;
  }
  return at;
}

/// The first of `characters` at or behind `at`, quoted texts left out.
std::size_t find_unquoted(std::string_view text, std::size_t at, std::string_view characters)
{
  while (at < text.size() && !contains(characters, text.substr(at, 1)))
  {
    at = text[at] == '"' ? behind_quotes(text, at) : at + 1;
  }
  return at;
}

std::vector<parameter> parse_parameters(std::string_view list)
{
  std::vector<parameter> parameters;
  std::size_t end = 0;
  for (std::string_view const text : split(list, ','))
  {
    parameter p{parse_declaration(text)};
    p.offset = round_up(end, p.alignment);
    end      = p.offset + p.size;
    parameters.push_back(p);
  }
  return parameters;
}

} // namespace

bool is_name_character(char c)
{
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%';
}

std::string_view trimmed(std::string_view text)
{
  while (!text.empty() && is_space(text.front()))
  {
    text.remove_prefix(1);
  }
  while (!text.empty() && is_space(text.back()))
  {
    text.remove_suffix(1);
  }
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator)
{
  std::vector<std::string_view> parts;
  int depth         = 0;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size(); ++at)
  {
    char const c = text[at];
    depth += c == '{' || c == '[' || c == '(' ? 1 : c == '}' || c == ']' || c == ')' ? -1 : 0;
    if (c == separator && depth == 0)
    {
      parts.push_back(trimmed(text.substr(begin, at - begin)));
      begin = at + 1;
    }
  }
  std::string_view const last = trimmed(text.substr(begin));
  if (!last.empty() || !parts.empty())
  {
    parts.push_back(last);
  }
  return parts;
}

std::string_view inside(std::string_view text)
{
  return text.size() < 2 ? std::string_view{} : trimmed(text.substr(1, text.size() - 2));
}

std::size_t size_of_type(std::string_view type)
{
  std::size_t const digits = type.find_first_of("0123456789");
  int bits                 = 0;
  if (digits != std::string_view::npos)
  {
    std::from_chars(type.data() + digits, type.data() + type.size(), bits);
  }
  if (bits < 8)
  {
    throw not_supported("a type that is no number of bytes");
  }
  return static_cast<std::size_t>(bits) / 8;
}

bool parse_number(std::string_view text, int width, std::uint64_t& value)
{
  bool const negative = !text.empty() && text.front() == '-';
  text.remove_prefix(negative ? 1 : 0);
  if (text.empty() || !is_digit(text.front()))
  {
    return false;
  }
  char const kind   = text.size() > 2 && text[0] == '0' ? text[1] : ' ';
  bool const single = (kind == 'f' || kind == 'F') && text.size() == 10;
  bool const twice  = (kind == 'd' || kind == 'D') && text.size() == 18;
  int base          = 10;
  if (single || twice || kind == 'x' || kind == 'X')
  {
    base = 16;
    text.remove_prefix(2);
  }
  char const* const end = text.data() + text.size();
  auto const parsed     = std::from_chars(text.data(), end, value, base);
  if (parsed.ec != std::errc{} || (parsed.ptr != end && *parsed.ptr != 'U'))
  {
    return false;
  }
  if (single && width == 64)
  {
    auto const bits = static_cast<std::uint32_t>(value);
    float number    = 0;
    std::memcpy(&number, &bits, sizeof number);
    double const wide = number;
    std::memcpy(&value, &wide, sizeof value);
  }
  value = negative ? 0 - value : value;
  return true;
}

declaration parse_declaration(std::string_view text)
{
  declaration result;
  std::size_t element = 0;
  bool aligned        = false;
  std::size_t at      = skip_space(text, 0);
  while (at < text.size() && text[at] == '.')
  {
    std::size_t const end        = skip_name(text, at + 1);
    std::string_view const word  = text.substr(at + 1, end - at - 1);
    std::size_t const next       = skip_space(text, end);
    bool const could_be_type     = word.size() >= 2 && contains("busf", word.substr(0, 1)) && is_digit(word[1]);
    std::uint64_t alignment      = 0;
    std::size_t const number_end = skip_name(text, next);
    at                           = next;
    if (word == "align" && parse_number(text.substr(next, number_end - next), 64, alignment))
    {
      result.alignment = alignment;
      aligned          = true;
      at               = skip_space(text, number_end);
    }
    else if (could_be_type)
    {
      result.type = word;
      element     = size_of_type(word);
    }
  }
  std::size_t const name_end = skip_name(text, at);
  result.name                = text.substr(at, name_end - at);
  if (result.name.empty() || element == 0)
  {
    throw not_supported("a declaration without a name or a type");
  }
  result.alignment = aligned ? result.alignment : element;
  result.size      = element;
  std::size_t open = text.find('[', name_end);
  while (open != std::string_view::npos)
  {
    std::size_t const close = std::min(text.find(']', open), text.size());
    std::uint64_t elements  = 0;
    bool const sized        = parse_number(trimmed(text.substr(open + 1, close - open - 1)), 64, elements);
    result.size             = sized ? result.size * elements : declaration::unsized;
    open                    = text.find('[', close);
  }
  return result;
}

ptx_module::ptx_module(std::string module_text)
    : text_(std::move(module_text))
{
  remove_comments(text_);
  for (std::size_t at = text_.find('\n'); at != std::string::npos; at = text_.find('\n', at + 1))
  {
    line_ends_.push_back(at);
  }

  std::string_view const text = text_;
  std::size_t at              = skip_space(text, 0);
  while (at < text.size())
  {
    std::size_t const end       = find_unquoted(text, at, ";{=\n");
    std::string_view const line = text.substr(at, end - at);
    if (starts_with(line, ".version") || starts_with(line, ".target") || starts_with(line, ".address_size")
        || starts_with(line, ".file"))
    {
      std::size_t const name = line.find("sm_");
      if (starts_with(line, ".target") && name != std::string_view::npos)
      {
        std::from_chars(line.data() + name + 3, line.data() + line.size(), architecture);
      }
      at = skip_space(text, text.find('\n', at));
      continue;
    }
    std::size_t const head_end  = find_unquoted(text, at, ";{=");
    std::string_view const head = text.substr(at, head_end - at);
    if (head_end == text.size())
    {
      throw not_supported("a directive that never ends: " + std::string(head.substr(0, 80)));
    }
    if (starts_with(head, ".section"))
    {
      at = behind_braces(text, head_end);
    }
    else if (contains(head, ".func") || contains(head, ".entry"))
    {
      bool const defined = text[head_end] == '{';
      at                 = defined ? behind_braces(text, head_end) : head_end + 1;
      if (defined)
      {
        read_function(head, head_end + 1, at - 1);
      }
    }
    else
    {
      std::size_t const semicolon = find_unquoted(text, at, ";");
      read_variable(text.substr(at, semicolon - at));
      at = semicolon + 1;
    }
    at = skip_space(text, at);
  }
}

/// `.visible .entry name(parameters) directives` or `.func (results) name(parameters)`.
void ptx_module::read_function(std::string_view head, std::size_t body_begin, std::size_t body_end)
{
  function_text f;
  std::size_t const entry = head.find(".entry");
  f.is_kernel             = entry != std::string_view::npos;
  std::size_t at          = f.is_kernel ? entry + 6 : head.find(".func") + 5;
  at                      = skip_space(head, at);
  if (starts_with(head.substr(at), ".noreturn"))
  {
    at = skip_space(head, at + 9);
  }
  auto const take_list = [&] {
    std::size_t const close     = head.find(')', at);
    std::string_view const list = head.substr(at + 1, close - at - 1);
    at                          = skip_space(head, close + 1);
    return parse_parameters(list);
  };
  if (head[at] == '(')
  {
    f.results = take_list();
  }
  std::size_t const name_end = skip_name(head, at);
  f.name                     = head.substr(at, name_end - at);
  at                         = skip_space(head, name_end);
  if (at < head.size() && head[at] == '(')
  {
    f.parameters = take_list();
  }
  f.body            = std::string_view(text_).substr(body_begin, body_end - body_begin);
  auto const before = std::lower_bound(line_ends_.begin(), line_ends_.end(), body_begin) - line_ends_.begin();
  f.first_line      = 1 + static_cast<int>(before);
  functions.push_back(std::move(f));
}

void ptx_module::read_variable(std::string_view text)
{
  std::size_t const equals         = text.find('=');
  std::string_view const variable  = text.substr(0, equals);
  std::string_view const beginning = variable.substr(0, variable.find('['));
  if (contains(beginning, ".shared"))
  {
    shared_variables.push_back(parse_declaration(variable));
  }
  else if ((contains(beginning, ".global") || contains(beginning, ".const")) && !contains(beginning, ".extern"))
  {
    device_variable v{parse_declaration(variable), {}};
    if (equals != std::string_view::npos)
    {
      std::string_view const values = trimmed(text.substr(equals + 1));
      v.initial_values              = split(values.front() == '{' ? inside(values) : values, ',');
    }
    variables.push_back(std::move(v));
  }
}

std::vector<statement> statements_of(function_text const& function)
{
  std::vector<statement> statements;
  std::string_view const text = function.body;
  std::size_t counted         = 0;
  int line                    = function.first_line;
  auto const add              = [&](statement_kind kind, std::string_view part) {
    statements.push_back({kind, trimmed(part), line});
  };

  std::size_t at = skip_space(text, 0);
  while (at < text.size())
  {
    line += static_cast<int>(std::count(text.begin() + counted, text.begin() + at, '\n'));
    counted = at;

    std::size_t const name_end = skip_name(text, at);
    std::size_t const colon    = skip_space(text, name_end);
    if (text[at] == '{' || text[at] == '}')
    {
      add(text[at] == '{' ? statement_kind::open_scope : statement_kind::close_scope, {});
      at = skip_space(text, at + 1);
      continue;
    }
    if (name_end > at && colon < text.size() && text[colon] == ':')
    {
      add(statement_kind::label, text.substr(at, name_end - at));
      at = skip_space(text, colon + 1);
      continue;
    }
    std::size_t const word_end  = skip_name(text, at + 1);
    std::string_view const word = text.substr(at, word_end - at);
    if (word == ".loc" || word == ".file")
    {
      at = skip_space(text, std::min(text.find('\n', at), text.size()));
      continue;
    }
    std::size_t const end           = find_unquoted(text, at, ";");
    std::string_view const whole    = text.substr(at, end - at);
    std::string_view const operands = text.substr(word_end, end - word_end);
    if (word == ".reg")
    {
      add(statement_kind::registers, operands);
    }
    else if (word == ".shared")
    {
      add(statement_kind::shared_variable, whole);
    }
    else if (word == ".local" || word == ".param")
    {
      add(statement_kind::frame_variable, whole);
    }
    else if (word == ".branchtargets")
    {
      add(statement_kind::branch_targets, operands);
    }
    else if (!whole.empty() && word != ".pragma" && word != ".callprototype")
    {
      add(statement_kind::instruction, whole);
    }
    at = skip_space(text, end + 1);
  }
  return statements;
}

} // namespace gpusort::interpreter
