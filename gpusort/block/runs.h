// The number that whoever makes tiles of runs shares with runs.cuh.
#pragma once

#include <cstdint>

namespace gpusort::block
{

/// Tiles whose elements of each bucket are counted together.
inline constexpr std::uint32_t tiles_of_group = 64;

} // namespace gpusort::block
