// The relief of a planet, a grid of heights over latitude and longitude, as points on the globe.
#pragma once

#include "point_cloud.h"

namespace visibility
{

/// The points of a netCDF file's grid of heights in metres, row by row, around a sphere of the Earth's mean radius; x
/// towards 0 N 0 E, z towards the north pole. The grid is the variable ROSE (as in ETOPO5), or else the only one over two
/// axes in degrees_north and degrees_east, in either order. Cells that are marked as missing are left out.
/// Throws: std::runtime_error, one line that names the file.
point_cloud read_relief(std::string const& path);

} // namespace visibility
