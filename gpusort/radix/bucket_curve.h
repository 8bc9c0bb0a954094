// Buckets of about as many keys each where keys are not evenly spread: how many of a sample lie below where, cell by cell.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace gpusort::radix
{

/// A cell of the positions that keys may have. Parts of 2^32 of all keys: those that lie below it, and those in it, which are taken for evenly spread.
struct alignas(8) curve_cell
{
  std::uint32_t below;
  std::uint32_t own;
};

/// Positions, as a power of two: so many that each cell has some for each of its buckets, and no more than bucket maps scale to.
inline constexpr int position_bits = 24;

/// Cells, as a power of two: a sample of 4096 has eight keys for each.
inline constexpr int curve_cells_log2 = 9;
inline constexpr int curve_cells      = 1 << curve_cells_log2;

/// Of a sample, in a cell and those around it: so many make its share certain enough, an eighth more or less. With 32 the fullest of 2^11 buckets of normally
/// distributed numbers has 1.7 times the mean, with 64 1.4; but where numbers crowd in a few cells, as products of even ones about zero, 2.1 and 2.8.
inline constexpr std::uint32_t enough_in_cells = 64;
inline constexpr int most_cells_aside          = 31; // on either side, that are asked

/// What a cell has of a sample, and, if that is little, what those around it have on average, in parts of 2^16 of a key. `up_to(i)`: of the sample, what lies in
/// cell i and those before.
template <class UpTo>
__host__ __device__ std::uint32_t around_cell(int cell, UpTo const& up_to)
{
  std::uint32_t own = 0;
  int first = cell, last = cell;
  for (int aside = 0; aside <= most_cells_aside && own < enough_in_cells; aside = 2 * aside + 1)
  {
    first = cell > aside ? cell - aside : 0;
    last  = cell + aside < curve_cells ? cell + aside : curve_cells - 1;
    own   = up_to(last) - (first > 0 ? up_to(first - 1) : 0);
  }
  return (own << 16) / static_cast<std::uint32_t>(last - first + 1);
}

/// What a cell has of all keys, as a number that means something beside those of the others only. That is as much as either of its neighbours has, because keys
/// may begin or end inside it. Never nothing: there may be keys where the sample has none.
template <class UpTo>
__host__ __device__ std::uint32_t share_of_cell(int cell, std::uint32_t samples, UpTo const& up_to)
{
  std::uint32_t most = around_cell(cell, up_to);
  for (int other = cell - 1; other <= cell + 1; other += 2)
  {
    std::uint32_t const its = other < 0 || other >= curve_cells ? 0 : around_cell(other, up_to);
    most                    = its < most ? most : its;
  }
  return most + ((samples << 16) >> (curve_cells_log2 + 4)) + 1;
}

/// The cell whose share is `own`, `below` those before it have together, and all have together.
__host__ __device__ inline curve_cell cell_of_share(std::uint64_t below, std::uint32_t own, std::uint64_t all)
{
  std::uint64_t const begin = (below << 32) / all;
  std::uint64_t const end   = ((below + own) << 32) / all;
  return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end - begin)};
}

/// The cell of a position.
__host__ __device__ constexpr std::uint32_t cell_of(std::uint32_t position)
{
  return position >> (position_bits - curve_cells_log2);
}

/// Maps ranks to buckets by such cells without ever inverting two of them. `Positions` maps them to positions.
template <class Positions>
struct curve_map
{
  Positions positions;
  curve_cell const* cells;
  int shift; // 32 less the buckets, as a power of two

  template <class Order, class Bits>
  __host__ __device__ std::uint32_t operator()(Order const& order, Bits rank) const
  {
    std::uint32_t const position = positions(order, rank);
    curve_cell const cell        = cells[cell_of(position)];
    std::uint32_t const within   = position << (32 - position_bits + curve_cells_log2); // part of 2^32 of the cell
    return (cell.below + static_cast<std::uint32_t>(static_cast<std::uint64_t>(within) * cell.own >> 32)) >> shift;
  }
};

template <class Map>
inline constexpr bool is_curve_v = false;
template <class Positions>
inline constexpr bool is_curve_v<curve_map<Positions>> = true;

} // namespace gpusort::radix
