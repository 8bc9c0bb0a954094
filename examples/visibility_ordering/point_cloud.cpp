#include "point_cloud.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <system_error>

namespace visibility
{
std::vector<char> read_bytes(std::string const& path)
{
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
  {
    throw std::runtime_error("it is a directory");
  }
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file)
  {
    throw std::runtime_error(std::strerror(errno));
  }
  // In growing pieces, because a pipe does not know its size.
  std::vector<char> bytes;
  std::size_t used = 0;
  do
  {
    bytes.resize(std::max<std::size_t>(1 << 16, 2 * used));
    used += std::fread(bytes.data() + used, 1, bytes.size() - used, file.get());
  } while (used == bytes.size());
  if (std::ferror(file.get()))
  {
    throw std::runtime_error("it cannot be read");
  }
  if (used == 0)
  {
    throw std::runtime_error("it is empty");
  }
  bytes.resize(used);
  return bytes;
}

namespace
{

std::string excerpt(std::string_view text)
{
  // Messages stay one short line of plain text, whatever the file holds.
  constexpr std::size_t longest = 24;
  std::string out               = "'";
  for (char c : text.substr(0, longest))
  {
    out += c >= ' ' && c <= '~' ? c : '?';
  }
  return out + (text.size() > longest ? "...'" : "'");
}

void append(point_cloud& points, double x, double y, double z)
{
  for (double coordinate : {x, y, z})
  {
    if (!std::isfinite(coordinate))
    {
      throw std::runtime_error("vertex " + std::to_string(points.size()) + " has a coordinate that is not finite");
    }
    if (std::fabs(coordinate) > largest_coordinate)
    {
      throw std::runtime_error("vertex " + std::to_string(points.size())
                               + " has a coordinate beyond 1e15: this is no point cloud, or not in this format");
    }
  }
  points.push_back({static_cast<float>(x), static_cast<float>(y), static_cast<float>(z)});
}

template <class Unsigned>
Unsigned load_unsigned(char const* bytes, bool big_endian)
{
  Unsigned value = 0;
  for (std::size_t i = 0; i < sizeof(Unsigned); ++i)
  {
    std::size_t const shift = 8 * (big_endian ? sizeof(Unsigned) - 1 - i : i);
    value |= static_cast<Unsigned>(static_cast<Unsigned>(static_cast<unsigned char>(bytes[i])) << shift);
  }
  return value;
}

template <class To, class From>
To bits_as(From from)
{
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(To));
  return to;
}

/// The number that `token` spells, if it spells one and nothing else.
std::optional<double> parse_number(std::string_view token)
{
  if (token.size() > 1 && token.front() == '+' && token[1] != '-')
  {
    token.remove_prefix(1);
  }
  double value           = 0;
  auto const [end, code] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (code == std::errc::invalid_argument || end != token.data() + token.size())
  {
    return std::nullopt;
  }
  // Out of range is either too small to tell from zero, or too large, which append refuses.
  if (code == std::errc::result_out_of_range)
  {
    bool const tiny = token.find("e-") != token.npos || token.find("E-") != token.npos;
    value           = tiny ? 0.0 : std::numeric_limits<double>::max();
  }
  return value;
}

std::optional<std::uint64_t> parse_count(std::string_view token)
{
  std::uint64_t value    = 0;
  auto const [end, code] = std::from_chars(token.data(), token.data() + token.size(), value);
  return code == std::errc{} && end == token.data() + token.size() ? std::optional(value) : std::nullopt;
}

/// Hands out `text` piece by piece, each without the separators around it.
class tokenizer
{
public:
  tokenizer(std::string_view text, std::string_view separators)
      : rest_(text)
      , separators_(separators)
  {}

  /// The next piece, or an empty one at the end.
  std::string_view next()
  {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(separators_), rest_.size()));
    std::string_view const token = rest_.substr(0, rest_.find_first_of(separators_));
    rest_.remove_prefix(token.size());
    return token;
  }

private:
  std::string_view rest_;
  std::string_view separators_;
};

// ---------------------------------------------------------------------------------------------------------------------
// Raw

point_cloud read_raw(std::vector<char> const& bytes)
{
  constexpr std::size_t point_bytes = 3 * sizeof(float);
  if (bytes.size() % point_bytes != 0)
  {
    throw std::runtime_error("its " + std::to_string(bytes.size())
                             + " bytes are not a multiple of 12, three float32 a vertex: truncated, or no point cloud");
  }
  point_cloud points;
  points.reserve(bytes.size() / point_bytes);
  for (char const* p = bytes.data(); p != bytes.data() + bytes.size(); p += point_bytes)
  {
    auto const coordinate = [p](int i) { return bits_as<float>(load_unsigned<std::uint32_t>(p + 4 * i, false)); };
    append(points, coordinate(0), coordinate(1), coordinate(2));
  }
  return points;
}

// ---------------------------------------------------------------------------------------------------------------------
// ASCII

point_cloud read_ascii(std::string_view text)
{
  point_cloud points;
  std::optional<std::uint64_t> promised;
  for (std::size_t number = 1; !text.empty(); ++number)
  {
    std::string_view const line = text.substr(0, text.find_first_of("\r\n"));
    text.remove_prefix(line.size());
    text.remove_prefix(text.substr(0, 2) == "\r\n" ? 2 : std::min<std::size_t>(1, text.size()));

    tokenizer tokens(line, " \t,;");
    std::string_view const first = tokens.next();
    if (first.empty() || first.front() == '#' || first.substr(0, 2) == "//")
    {
      continue;
    }
    std::string_view const second = tokens.next();
    // Some writers say on a line of its own how many vertices follow.
    if (second.empty() && points.empty() && !promised && parse_count(first))
    {
      promised = parse_count(first);
      continue;
    }
    std::string_view const third = tokens.next();
    auto const x = parse_number(first), y = parse_number(second), z = parse_number(third);
    if (!x || !y || !z)
    {
      throw std::runtime_error(
        "line " + std::to_string(number) + " does not begin with three numbers: " + excerpt(line));
    }
    append(points, *x, *y, *z);
  }
  if (promised && *promised != points.size())
  {
    throw std::runtime_error(
      "it promises " + std::to_string(*promised) + " vertices and holds " + std::to_string(points.size()));
  }
  return points;
}

// ---------------------------------------------------------------------------------------------------------------------
// PLY: a header of elements and their properties, then the elements, one after the other, as text or binary

enum class scalar
{
  i8,
  u8,
  i16,
  u16,
  i32,
  u32,
  f32,
  f64
};

constexpr std::size_t size_of(scalar type)
{
  switch (type)
  {
    case scalar::i8:
    case scalar::u8:
      return 1;
    case scalar::i16:
    case scalar::u16:
      return 2;
    case scalar::f64:
      return 8;
    default:
      return 4;
  }
}

scalar parse_scalar(std::string_view name)
{
  struct named
  {
    std::string_view name, sized_name;
    scalar type;
  };
  constexpr named names[] = {
    {"char", "int8", scalar::i8},
    {"uchar", "uint8", scalar::u8},
    {"short", "int16", scalar::i16},
    {"ushort", "uint16", scalar::u16},
    {"int", "int32", scalar::i32},
    {"uint", "uint32", scalar::u32},
    {"float", "float32", scalar::f32},
    {"double", "float64", scalar::f64}};
  for (named const& n : names)
  {
    if (name == n.name || name == n.sized_name)
    {
      return n.type;
    }
  }
  throw std::runtime_error("its header has a property of unknown type " + excerpt(name));
}

struct property
{
  std::string name;
  scalar type;
  std::optional<scalar> count_type; // of a list
};

struct element
{
  std::string name;
  std::uint64_t count;
  std::vector<property> properties;
};

enum class encoding
{
  ascii,
  little_endian,
  big_endian
};

struct ply_header
{
  encoding data;
  std::vector<element> elements;
  std::size_t bytes;
};

ply_header parse_ply_header(std::string_view file)
{
  // The first line shows how lines end. Guessing at each line would swallow data: binary data may begin with \n.
  std::string_view const after_magic = file.substr(3);
  std::string_view const line_end    = after_magic.substr(0, 2) == "\r\n" ? "\r\n" : after_magic.substr(0, 1);

  ply_header header{};
  bool has_format = false;
  for (std::size_t begin = 3 + line_end.size();;)
  {
    std::size_t const end = file.find(line_end, begin);
    if (end == file.npos)
    {
      throw std::runtime_error("its PLY header has no end");
    }
    std::string_view const line = file.substr(begin, end - begin);
    begin                       = end + line_end.size();

    tokenizer words(line, " \t");
    std::string_view const keyword = words.next();
    if (keyword == "end_header")
    {
      header.bytes = begin;
      break;
    }
    if (keyword == "format")
    {
      std::string_view const name = words.next();
      if (name != "ascii" && name != "binary_little_endian" && name != "binary_big_endian")
      {
        throw std::runtime_error("its PLY format is unknown: " + excerpt(name));
      }
      header.data = name == "ascii"                ? encoding::ascii
                  : name == "binary_little_endian" ? encoding::little_endian
                                                   : encoding::big_endian;
      has_format  = true;
    }
    else if (keyword == "element")
    {
      std::string_view const name = words.next();
      auto const count            = parse_count(words.next());
      if (!count)
      {
        throw std::runtime_error("its header has a line without a count: " + excerpt(line));
      }
      header.elements.push_back({std::string(name), *count, {}});
    }
    else if (keyword == "property")
    {
      if (header.elements.empty())
      {
        throw std::runtime_error("its header has a property before the first element");
      }
      std::string_view type = words.next();
      std::optional<scalar> count_type;
      if (type == "list")
      {
        count_type = parse_scalar(words.next());
        type       = words.next();
        if (*count_type == scalar::f32 || *count_type == scalar::f64)
        {
          throw std::runtime_error("its header counts a list in floating point: " + excerpt(line));
        }
      }
      header.elements.back().properties.push_back({std::string(words.next()), parse_scalar(type), count_type});
    }
    else if (keyword != "comment" && keyword != "obj_info" && !keyword.empty())
    {
      throw std::runtime_error("its PLY header has an unknown line: " + excerpt(line));
    }
  }
  if (!has_format)
  {
    throw std::runtime_error("its PLY header names no format");
  }
  return header;
}

[[noreturn]] void throw_truncated()
{
  throw std::runtime_error("it is truncated: it ends before the elements that its header promises");
}

class text_values
{
public:
  explicit text_values(std::string_view data)
      : data_size_(data.size())
      , tokens_(data, " \t\r\n")
  {}

  double read(scalar)
  {
    std::string_view const token = tokens_.next();
    if (token.empty())
    {
      throw_truncated();
    }
    auto const number = parse_number(token);
    if (!number)
    {
      throw std::runtime_error("its data has " + excerpt(token) + " where a number should be");
    }
    return *number;
  }

  void skip(scalar type, std::uint64_t count)
  {
    for (std::uint64_t i = 0; i < count; ++i)
    {
      read(type);
    }
  }

  /// Whether `count` numbers of this type could be here: each is a digit at least.
  bool may_hold(std::uint64_t count, scalar) const
  {
    return count <= data_size_;
  }

  bool at_end()
  {
    return tokens_.next().empty();
  }

private:
  std::size_t data_size_;
  tokenizer tokens_;
};

class binary_values
{
public:
  binary_values(std::string_view data, bool big_endian)
      : rest_(data)
      , big_endian_(big_endian)
  {}

  double read(scalar type)
  {
    char const* const bytes = take(size_of(type));
    switch (type)
    {
      case scalar::i8:
        return bits_as<std::int8_t>(load_unsigned<std::uint8_t>(bytes, big_endian_));
      case scalar::u8:
        return load_unsigned<std::uint8_t>(bytes, big_endian_);
      case scalar::i16:
        return bits_as<std::int16_t>(load_unsigned<std::uint16_t>(bytes, big_endian_));
      case scalar::u16:
        return load_unsigned<std::uint16_t>(bytes, big_endian_);
      case scalar::i32:
        return bits_as<std::int32_t>(load_unsigned<std::uint32_t>(bytes, big_endian_));
      case scalar::u32:
        return load_unsigned<std::uint32_t>(bytes, big_endian_);
      case scalar::f32:
        return bits_as<float>(load_unsigned<std::uint32_t>(bytes, big_endian_));
      case scalar::f64:
        return bits_as<double>(load_unsigned<std::uint64_t>(bytes, big_endian_));
    }
    throw std::logic_error("a scalar type without a size");
  }

  void skip(scalar type, std::uint64_t count)
  {
    if (!may_hold(count, type))
    {
      throw_truncated();
    }
    take(static_cast<std::size_t>(count) * size_of(type));
  }

  bool may_hold(std::uint64_t count, scalar type) const
  {
    return count <= rest_.size() / size_of(type);
  }

  /// Some writers end even binary files with a line end.
  bool at_end() const
  {
    return rest_.find_first_not_of("\r\n") == rest_.npos;
  }

private:
  char const* take(std::size_t bytes)
  {
    if (bytes > rest_.size())
    {
      throw_truncated();
    }
    char const* const p = rest_.data();
    rest_.remove_prefix(bytes);
    return p;
  }

  std::string_view rest_;
  bool big_endian_;
};

/// Reads one element. Calls coordinate(i, value) for the i-th property, if it is a single value.
template <class Values, class Coordinate>
void read_element(Values& values, element const& e, Coordinate coordinate)
{
  for (std::size_t i = 0; i < e.properties.size(); ++i)
  {
    property const& p = e.properties[i];
    if (!p.count_type)
    {
      coordinate(i, values.read(p.type));
      continue;
    }
    double const count = values.read(*p.count_type);
    if (!(count >= 0) || count > 4294967295.0 || count != std::floor(count))
    {
      throw std::runtime_error("it has a list of impossible length in element " + excerpt(e.name));
    }
    values.skip(p.type, static_cast<std::uint64_t>(count));
  }
}

std::size_t index_of(element const& vertices, std::string_view name)
{
  auto const found = std::find_if(vertices.properties.begin(), vertices.properties.end(), [&](property const& p) {
    return p.name == name && !p.count_type;
  });
  if (found == vertices.properties.end())
  {
    throw std::runtime_error("its vertices have no property " + std::string(name));
  }
  return static_cast<std::size_t>(found - vertices.properties.begin());
}

template <class Values>
point_cloud read_elements(Values values, std::vector<element> const& elements)
{
  point_cloud points;
  bool has_vertices = false;
  for (element const& e : elements)
  {
    if (e.properties.empty())
    {
      continue;
    }
    // Before any memory is taken or any loop entered on the word of a header.
    property const& first = e.properties.front();
    if (!values.may_hold(e.count, first.count_type.value_or(first.type)))
    {
      throw_truncated();
    }
    if (e.name != "vertex")
    {
      for (std::uint64_t i = 0; i < e.count; ++i)
      {
        read_element(values, e, [](std::size_t, double) {});
      }
      continue;
    }
    if (has_vertices)
    {
      throw std::runtime_error("its header has two elements named vertex");
    }
    has_vertices        = true;
    std::size_t const x = index_of(e, "x"), y = index_of(e, "y"), z = index_of(e, "z");
    points.reserve(static_cast<std::size_t>(e.count));
    std::vector<double> vertex(e.properties.size());
    for (std::uint64_t i = 0; i < e.count; ++i)
    {
      read_element(values, e, [&](std::size_t property, double value) { vertex[property] = value; });
      append(points, vertex[x], vertex[y], vertex[z]);
    }
  }
  if (!has_vertices)
  {
    throw std::runtime_error("its header has no vertices");
  }
  if (!values.at_end())
  {
    throw std::runtime_error("it goes on after the elements that its header promises");
  }
  return points;
}

bool is_ply(std::string_view file)
{
  return file.substr(0, 4) == "ply\n" || file.substr(0, 4) == "ply\r";
}

point_cloud read_ply(std::string_view file)
{
  if (!is_ply(file))
  {
    throw std::runtime_error("it does not begin with the line 'ply'");
  }
  ply_header const header     = parse_ply_header(file);
  std::string_view const data = file.substr(header.bytes);
  return header.data == encoding::ascii
         ? read_elements(text_values(data), header.elements)
         : read_elements(binary_values(data, header.data == encoding::big_endian), header.elements);
}

// ---------------------------------------------------------------------------------------------------------------------

/// Twelve bytes of coordinates are all printable about once in 100,000 times, and a real cloud has many more.
bool is_text(std::string_view file)
{
  std::string_view const beginning = file.substr(0, 4096);
  return std::all_of(beginning.begin(), beginning.end(), [](char c) {
    return (c >= ' ' && c <= '~') || c == '\t' || c == '\r' || c == '\n';
  });
}

file_format format_of(std::string_view file, std::string const& path)
{
  // A name that says PLY is taken at its word, so that a damaged one is not read as something else.
  if (is_ply(file) || std::filesystem::path(path).extension() == ".ply")
  {
    return file_format::ply;
  }
  if (file.substr(0, 3) == "CDF" || file.substr(0, 4) == "\x89HDF")
  {
    throw std::runtime_error("it is a netCDF file, not a point cloud; --relief reads grids of heights");
  }
  return is_text(file) ? file_format::ascii : file_format::raw;
}

} // namespace

point_cloud read_point_cloud(std::string const& path, file_format format)
{
  try
  {
    std::vector<char> const bytes = read_bytes(path);
    std::string_view const file(bytes.data(), bytes.size());
    if (format == file_format::automatic)
    {
      format = format_of(file, path);
    }
    point_cloud points = format == file_format::ply   ? read_ply(file)
                       : format == file_format::ascii ? read_ascii(file)
                                                      : read_raw(bytes);
    if (points.empty())
    {
      throw std::runtime_error("it has no vertices");
    }
    return points;
  }
  catch (std::runtime_error const& error)
  {
    throw std::runtime_error(path + ": " + error.what());
  }
}

} // namespace visibility
