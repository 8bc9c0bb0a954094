// Point clouds from files: raw float32 xyz, ASCII xyz, PLY.
#pragma once

#include <string>
#include <vector>

namespace visibility
{

struct point
{
  float x, y, z;
};

using point_cloud = std::vector<point>;

/// A coordinate further out than this is no position in any unit: the file holds something else. It also keeps every
/// distance far inside the range of float32.
inline constexpr double largest_coordinate = 1e15;

enum class file_format
{
  automatic, // told from the contents, not from the name
  raw, // three little-endian float32 a vertex, nothing else
  ascii, // a vertex a line, further columns ignored
  ply // ASCII or binary, either byte order
};

/// The vertices of the file at `path`, in file order.
/// Throws: std::runtime_error, one line that names the file, if it cannot be read, is empty or truncated, contradicts
///   itself, or has a coordinate that is not finite or beyond largest_coordinate.
point_cloud read_point_cloud(std::string const& path, file_format format = file_format::automatic);

/// The contents of a file or a pipe. Throws: std::runtime_error, without the file's name, if there are none to be had.
std::vector<char> read_bytes(std::string const& path);

} // namespace visibility
