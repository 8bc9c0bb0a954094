#include "relief.h"

#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>

#if __has_include(<netcdf.h>)
#  include <netcdf.h>
#  include <netcdf_mem.h>

namespace visibility
{
namespace
{

void check(int status)
{
  if (status != NC_NOERR)
  {
    throw std::runtime_error(std::string("not readable as netCDF: ") + nc_strerror(status));
  }
}

/// A netCDF file, read from memory: on disk the library takes what a truncated file lacks for zeros.
class dataset
{
public:
  explicit dataset(std::string const& path)
      : bytes_(read_bytes(path))
  {
    check(nc_open_mem(path.c_str(), NC_NOWRITE, bytes_.size(), bytes_.data(), &id_));
  }
  dataset(dataset const&)            = delete;
  dataset& operator=(dataset const&) = delete;
  ~dataset()
  {
    nc_close(id_);
  }
  int id() const
  {
    return id_;
  }

private:
  std::vector<char> bytes_;
  int id_ = -1;
};

void read_all(int file, int variable, std::vector<double>& values)
{
  if (nc_get_var_double(file, variable, values.data()) != NC_NOERR)
  {
    throw std::runtime_error("it is truncated: its data cannot be read");
  }
}

std::string text_attribute(int file, int variable, char const* name)
{
  std::size_t length = 0;
  nc_type type       = NC_NAT;
  if (nc_inq_att(file, variable, name, &type, &length) != NC_NOERR || type != NC_CHAR)
  {
    return {};
  }
  std::string text(length, '\0');
  check(nc_get_att_text(file, variable, name, text.data()));
  return text.substr(0, text.find('\0'));
}

double number_attribute(int file, int variable, char const* name, double otherwise)
{
  std::size_t length = 0;
  double value       = otherwise;
  bool const is_one  = nc_inq_attlen(file, variable, name, &length) == NC_NOERR && length == 1;
  return is_one && nc_get_att_double(file, variable, name, &value) == NC_NOERR ? value : otherwise;
}

/// One axis of the grid: its positions in degrees.
struct axis
{
  bool is_latitude = false;
  std::vector<double> degrees;
};

/// Reads the coordinate variable of a dimension; without one, or if it is no angle, the axis comes back empty.
axis read_axis(int file, int dimension)
{
  char name[NC_MAX_NAME + 1];
  std::size_t length = 0;
  check(nc_inq_dim(file, dimension, name, &length));
  int variable = -1, dimensions = 0;
  if (nc_inq_varid(file, name, &variable) != NC_NOERR || nc_inq_varndims(file, variable, &dimensions) != NC_NOERR
      || dimensions != 1)
  {
    return {};
  }
  std::string const units = text_attribute(file, variable, "units");
  if (units != "degrees_north" && units != "degrees_east")
  {
    return {};
  }
  axis a;
  a.is_latitude = units == "degrees_north";
  a.degrees.resize(length);
  read_all(file, variable, a.degrees);
  return a;
}

struct grid
{
  int variable = -1;
  axis slow, fast;
};

/// The grid in a variable, or variable = -1 if it is none.
grid grid_of(int file, int variable)
{
  int dimensions = 0, id[NC_MAX_VAR_DIMS];
  nc_type type   = NC_NAT;
  check(nc_inq_vartype(file, variable, &type));
  check(nc_inq_varndims(file, variable, &dimensions));
  if (dimensions != 2 || type == NC_CHAR)
  {
    return {};
  }
  check(nc_inq_vardimid(file, variable, id));
  grid g{variable, read_axis(file, id[0]), read_axis(file, id[1])};
  bool const is_globe = !g.slow.degrees.empty() && !g.fast.degrees.empty() && g.slow.is_latitude != g.fast.is_latitude;
  return is_globe ? g : grid{};
}

grid find_grid(int file)
{
  int named = -1;
  if (nc_inq_varid(file, "ROSE", &named) == NC_NOERR)
  {
    grid g = grid_of(file, named);
    if (g.variable >= 0)
    {
      return g;
    }
  }
  int variables = 0;
  check(nc_inq_nvars(file, &variables));
  grid found;
  for (int variable = 0; variable < variables; ++variable)
  {
    grid g = grid_of(file, variable);
    if (g.variable >= 0 && found.variable >= 0)
    {
      throw std::runtime_error("it has several grids over latitude and longitude, and none is named ROSE");
    }
    if (g.variable >= 0)
    {
      found = g;
    }
  }
  if (found.variable < 0)
  {
    throw std::runtime_error("it has no grid of heights over degrees_north and degrees_east");
  }
  return found;
}

struct direction
{
  double sine, cosine;
};

std::vector<direction> directions(axis const& a)
{
  double const limit  = a.is_latitude ? 90.0 : 720.0;
  double const radian = std::acos(-1.0) / 180.0;
  std::vector<direction> out;
  out.reserve(a.degrees.size());
  for (double degrees : a.degrees)
  {
    if (!(std::fabs(degrees) <= limit))
    {
      throw std::runtime_error("it has a latitude or longitude that is no angle in degrees");
    }
    out.push_back({std::sin(degrees * radian), std::cos(degrees * radian)});
  }
  return out;
}

point_cloud read_globe(std::string const& path)
{
  constexpr double mean_earth_radius = 6371000.0; // metres
  constexpr double largest_height    = 1e5; // ten times what the Earth has

  dataset const file(path);
  grid const g = find_grid(file.id());

  std::size_t const rows = g.slow.degrees.size(), columns = g.fast.degrees.size();
  std::vector<double> heights(rows * columns);
  read_all(file.id(), g.variable, heights);

  double const none    = std::numeric_limits<double>::quiet_NaN();
  double const fill    = number_attribute(file.id(), g.variable, "_FillValue", none);
  double const missing = number_attribute(file.id(), g.variable, "missing_value", none);
  double const scale   = number_attribute(file.id(), g.variable, "scale_factor", 1.0);
  double const offset  = number_attribute(file.id(), g.variable, "add_offset", 0.0);

  std::vector<direction> const slow = directions(g.slow), fast = directions(g.fast);
  point_cloud points;
  points.reserve(heights.size());
  for (std::size_t i = 0; i < heights.size(); ++i)
  {
    // Fill values are compared as stored, before unpacking, and NaN marks missing cells too.
    if (std::isnan(heights[i]) || heights[i] == fill || heights[i] == missing)
    {
      continue;
    }
    double const height = heights[i] * scale + offset;
    if (!(std::fabs(height) <= largest_height))
    {
      throw std::runtime_error("it has heights that are not metres above the sea");
    }
    direction const a         = slow[i / columns];
    direction const b         = fast[i % columns];
    direction const latitude  = g.slow.is_latitude ? a : b;
    direction const longitude = g.slow.is_latitude ? b : a;
    double const r            = mean_earth_radius + height;
    points.push_back({static_cast<float>(r * latitude.cosine * longitude.cosine),
                      static_cast<float>(r * latitude.cosine * longitude.sine),
                      static_cast<float>(r * latitude.sine)});
  }
  if (points.empty())
  {
    throw std::runtime_error("it has no heights");
  }
  return points;
}

} // namespace

point_cloud read_relief(std::string const& path)
{
  try
  {
    return read_globe(path);
  }
  catch (std::runtime_error const& error)
  {
    throw std::runtime_error(path + ": " + error.what());
  }
}

} // namespace visibility

#else

namespace visibility
{

point_cloud read_relief(std::string const& path)
{
  throw std::runtime_error(path + ": cannot be read: this program was built without the netCDF library");
}

} // namespace visibility

#endif
