// How a block reads what tiles have of a bucket as if it lay side by side: runs that are long, short and empty, more tiles than the tables of a block
// list at once, and parts that begin anywhere.
#include <testing/support/cases.h>
#include <testing/support/device_memory.cuh>

#include <gpusort/block/runs.cuh>
#include <gtest/gtest.h>
#include <thrust/copy.h>
#include <thrust/device_vector.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace
{

namespace block = gpusort::block;
using gpusort::testing::in_a_hurry;

using key   = std::uint32_t;
using value = std::uint64_t;

constexpr unsigned buckets = 8;

/// Reads `size` elements of a source: keys in rows that warps take in turns, as bins are filled, and then values in rows side by side, as
/// tiles are merged.
template <int Threads, int Most>
__global__ void __launch_bounds__(Threads)
  read_runs(block::segment_tiles tiles,
            unsigned first,
            unsigned last,
            std::uint64_t skip,
            int size,
            key const* keys,
            value const* values,
            key* keys_out,
            value* values_out)
{
  using source = block::run_source<key, value, Threads, Most>;
  __shared__ typename source::shared_storage shared;
  constexpr int items = Most / Threads;
  int const warp      = static_cast<int>(threadIdx.x) / 32;
  int const lane      = static_cast<int>(threadIdx.x) % 32;
  source elements(shared, tiles, first, last, skip, keys, values);
  key held[items];
  elements.template load_keys<Threads / 32>(held, size, warp);
  for (int i = 0; i < items; ++i)
  {
    int const place = i * Threads + static_cast<int>(threadIdx.x);
    if (place < size)
    {
      keys_out[place] = held[i];
    }
  }
  elements.finish_load();
  value held_values[items];
  elements.load_values(held_values, size, warp * items);
  for (int i = 0; i < items; ++i)
  {
    int const place = (warp * items + i) * 32 + lane;
    if (place < size)
    {
      values_out[place] = held_values[i];
    }
  }
}

/// What tiles have of buckets.
enum class share
{
  even,
  often_none,
  all_of_one_bucket, // which changes every few tiles: runs as long as tiles
  half_of_one_bucket
};

struct segment
{
  std::vector<std::uint16_t> starts; // tiles x buckets
  std::vector<unsigned long long> before; // groups x buckets
  std::vector<std::vector<std::uint32_t>> places; // of each bucket's elements in the segment, in order
  std::size_t size = 0;
};

/// Elements of an array that has more in front of the segment, and tells by each where it is.
struct elements
{
  static constexpr std::size_t in_front = 37;

  std::vector<key> keys;
  std::vector<value> values;
  thrust::device_vector<key> device_keys;
  thrust::device_vector<value> device_values;

  explicit elements(std::size_t of_segment)
      : keys(in_front + of_segment)
      , values(in_front + of_segment)
  {
    for (std::size_t i = 0; i < keys.size(); ++i)
    {
      keys[i]   = static_cast<key>(i * 2654435761u);
      values[i] = ~std::uint64_t{i};
    }
    device_keys   = keys;
    device_values = values;
  }

  /// How many of the elements that are at `places` of the segment are not read where they belong.
  template <int Threads, int Most>
  std::size_t read_wrongly(block::segment_tiles const& tiles,
                           unsigned first,
                           unsigned last,
                           std::size_t skip,
                           std::vector<std::uint32_t> const& places) const
  {
    std::size_t const size = places.size();
    thrust::device_vector<key> read_keys(size, 7);
    thrust::device_vector<value> read_values(size, 7);
    read_runs<Threads, Most><<<1, Threads>>>(
      tiles,
      first,
      last,
      skip,
      static_cast<int>(size),
      thrust::raw_pointer_cast(device_keys.data()),
      thrust::raw_pointer_cast(device_values.data()),
      thrust::raw_pointer_cast(read_keys.data()),
      thrust::raw_pointer_cast(read_values.data()));
    gpusort::testing::require(cudaGetLastError(), "launch");
    std::vector<key> found_keys(size);
    std::vector<value> found_values(size);
    thrust::copy(read_keys.begin(), read_keys.end(), found_keys.begin());
    thrust::copy(read_values.begin(), read_values.end(), found_values.begin());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < size; ++i)
    {
      std::size_t const place = in_front + places[i];
      wrong += found_keys[i] != keys[place] || found_values[i] != values[place] ? 1 : 0;
    }
    return wrong;
  }
};

segment make_segment(std::uint32_t tiles, std::uint32_t tile, share shares, std::mt19937& random)
{
  segment made;
  made.places.resize(buckets);
  made.size = std::size_t{tile} * tiles - (tile > 1 ? tile / 3 : 0); // the last tile is not full
  for (std::uint32_t t = 0; t < tiles; ++t)
  {
    if (t % block::tiles_of_group == 0)
    {
      for (auto const& of_bucket : made.places)
      {
        made.before.push_back(of_bucket.size());
      }
    }
    auto const size = static_cast<std::uint32_t>(std::min<std::size_t>(tile, made.size - std::size_t{t} * tile));
    std::vector<std::uint32_t> ends(buckets, size);
    for (unsigned b = 0; b + 1 < buckets; ++b)
    {
      switch (shares)
      {
        case share::even:
          ends[b] = size * (b + 1) / buckets;
          break;
        case share::often_none:
          ends[b] = random() % 3 == 0 ? static_cast<std::uint32_t>(random() % (size + 1)) : b > 0 ? ends[b - 1] : 0;
          ends[b] = b > 0 ? std::max(ends[b], ends[b - 1]) : ends[b];
          break;
        case share::all_of_one_bucket:
          ends[b] = b < t / 5 % buckets ? 0 : size;
          break;
        case share::half_of_one_bucket:
          ends[b] = b < 2 ? size * b / 4 : size * (buckets + b - 2) / (2 * buckets);
          break;
      }
    }
    for (unsigned b = 0; b < buckets; ++b)
    {
      std::uint32_t const begin = b == 0 ? 0 : ends[b - 1];
      made.starts.push_back(static_cast<std::uint16_t>(begin));
      for (std::uint32_t i = begin; i < ends[b]; ++i)
      {
        made.places[b].push_back(t * tile + i);
      }
    }
  }
  return made;
}

template <int Threads, int Most>
void check_segment(std::uint32_t tiles, std::uint32_t tile, share shares)
{
  SCOPED_TRACE(::testing::Message() << tiles << " tiles of " << tile << ", shares " << static_cast<int>(shares) << ", "
                                    << Threads << " threads");
  std::mt19937 random(tiles * 31 + tile);
  segment const all = make_segment(tiles, tile, shares, random);
  elements const of_segment(all.size);
  thrust::device_vector<std::uint16_t> const starts(all.starts.begin(), all.starts.end());
  thrust::device_vector<unsigned long long> const before(all.before.begin(), all.before.end());
  block::segment_tiles const of_tiles{
    thrust::raw_pointer_cast(starts.data()),
    thrust::raw_pointer_cast(before.data()),
    elements::in_front,
    all.size,
    tiles,
    static_cast<int>(buckets),
    static_cast<int>(tile)};

  auto const check = [&](unsigned first, unsigned last, std::size_t skip) {
    // Of several buckets each tile has one run.
    std::vector<std::uint32_t> places;
    for (unsigned b = first; b < last; ++b)
    {
      places.insert(places.end(), all.places[b].begin(), all.places[b].end());
    }
    std::sort(places.begin(), places.end());
    if (skip >= places.size())
    {
      return;
    }
    auto const begin       = places.begin() + static_cast<std::ptrdiff_t>(skip);
    std::size_t const size = std::min<std::size_t>(places.size() - skip, Most);
    std::vector<std::uint32_t> const read(begin, begin + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ((of_segment.read_wrongly<Threads, Most>(of_tiles, first, last, skip, read)), 0u)
      << "of " << size << " elements of buckets " << first << " to " << last << " from number " << skip;
  };
  for (unsigned b = 0; b < buckets; ++b)
  {
    std::size_t const size = all.places[b].size();
    check(b, b + 1, 0);
    for (std::size_t const skip : {std::size_t{1}, std::size_t{Most}, size / 2, size - std::min<std::size_t>(size, 33)})
    {
      if (skip > 0)
      {
        check(b, b + 1, skip);
      }
    }
  }
  check(0, buckets, 0);
  check(2, 5, 0);
  check(buckets - 3, buckets, 0);
}

template <int Threads, int Most>
void check_all()
{
  // The tables of a block list as many tiles as it has threads.
  std::vector<std::uint32_t> counts{1, 7, Threads - 1, Threads, 2 * Threads + 3};
  if (!in_a_hurry())
  {
    counts.insert(counts.end(), {2, 63, 64, 65, 3 * Threads, 1000});
  }
  for (std::uint32_t const tiles : counts)
  {
    for (std::uint32_t const tile : {1u, 40u, 2000u})
    {
      if (in_a_hurry() && tile == 2000 && tiles > 7)
      {
        continue;
      }
      for (share const shares : {share::even, share::often_none, share::all_of_one_bucket, share::half_of_one_bucket})
      {
        check_segment<Threads, Most>(tiles, tile, shares);
      }
    }
  }
}

TEST(Runs, AreReadAsIfTheyLaySideBySide)
{
  check_all<64, 512>();
}

TEST(Runs, OfMoreRowsThanTiles)
{
  check_all<128, 4096>();
}

TEST(Runs, OfOneTileNeedNoTables)
{
  // Without places where runs begin all elements lie side by side.
  constexpr std::size_t size = 500;
  elements const of_segment(size);
  std::vector<std::uint32_t> places(size);
  std::iota(places.begin(), places.end(), 0u);
  block::segment_tiles const of_tiles{nullptr, nullptr, elements::in_front, size, 1, 1, static_cast<int>(size)};
  EXPECT_EQ((of_segment.read_wrongly<64, 512>(of_tiles, 0, 1, 0, places)), 0u);
}

} // namespace
