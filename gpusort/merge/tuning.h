// Numbers of the merge sort, each with where it was measured.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace gpusort::merge
{

/// What a block sorts or merges at once.
struct tile_shape
{
  int threads;
  int items; // a thread; odd, so that threads side by side meet different banks of shared memory
  int blocks; // a multiprocessor: what registers are shared out for

  __host__ __device__ constexpr int tile() const
  {
    return threads * items;
  }
};

/// The blocks that sort the first runs, of keys and values of so many bytes. Measured on an H200 with CUDA 13.0, uniform keys, custom
/// comparator, in ms for the whole sort of 2^28, with the runners-up: u32 10.1 (128 x 33 for 8 blocks: 10.2; 512 x 9 for 3: 11.4); u64
/// 18.5 (192 x 17 for 5: 18.3, 128 x 25 for 6: 19.5); pairs of u32 20.4 (256 x 9 for 5: 21.2, 512 x 5 for 2: 22.9); pairs of u64 31.5
/// (128 x 17 for 5: 32.0).
__host__ __device__ constexpr tile_shape sort_shape_for(std::size_t key_bytes, std::size_t value_bytes)
{
  std::size_t const widest = key_bytes > value_bytes ? key_bytes : value_bytes;
  if (widest <= 4)
  {
    return value_bytes == 0 ? tile_shape{256, 17, 6} : tile_shape{128, 17, 8};
  }
  if (widest <= 8)
  {
    return value_bytes == 0 ? tile_shape{256, 13, 5} : tile_shape{256, 9, 4};
  }
  if (widest <= 16)
  {
    return {256, 7, 3};
  }
  return widest <= 64 ? tile_shape{256, 3, 3} : tile_shape{192, 3, 3};
}

/// Runs that a pass merges into one, as a power of two. Measured like merge_shape_for, with the best shape of 4 ways for comparison:
/// u32 9.9 (9.8), u64 17.7 (17.9), pairs of u32 19.5 (19.7), pairs of u64 29.7 (31.5), 16 bytes 19.6 (20.3), 64 bytes 14.1 (17.1). At
/// 2^24: u32 0.59 (0.59), u64 1.04 (1.07), pairs of u32 1.07 (1.16), pairs of u64 1.65 (1.79).
inline constexpr int log2_ways = 3;
inline constexpr int most_runs = 1 << log2_ways;

/// Elements of a run that lanes try at once where they cut it. 4 of 8 runs, by a warp: u32 2^28 10.2 ms in place of 9.9, 2^24 0.56 in
/// place of 0.59.
inline constexpr int cut_probes = 2;

/// Lanes that cut the runs of a tile.
inline constexpr int cut_lanes = cut_probes * most_runs;

/// The blocks that merge runs, of keys and values of so many bytes. Measured on an H200 with CUDA 13.0, uniform keys, custom
/// comparator, in ms for the whole sort: u32, 2^28: 9.9; u64, 2^28: 17.7 (256 x 23 for 3 blocks: 18.2; 192 x 25 for 4: 18.4);
/// pairs of u32, 2^28: 19.5 (256 x 17 for 5: 23.5); pairs of u64, 2^28: 29.7 (192 x 17 for 4: 30.9); 16 bytes, 2^27: 19.6 (256 x 13
/// for 2: 21.0). Smaller tiles take longer, because more of them have to be cut: of 128 threads, u32 11.8, u64 19.6, pairs of u32 23.1.
/// 64 bytes, 2^24: 14.6 with 192 x 5 and no gaps between keys (256 x 5 for 3, for which not every device has room: 14.1; 2^22: 3.4 and
/// 3.6); with gaps there is room for 160 x 5. Shapes for 32 and 96 bytes were not varied.
__host__ __device__ constexpr tile_shape merge_shape_for(std::size_t key_bytes, std::size_t value_bytes)
{
  std::size_t const widest = key_bytes > value_bytes ? key_bytes : value_bytes;
  if (widest <= 4)
  {
    return value_bytes == 0 ? tile_shape{256, 33, 4} : tile_shape{256, 17, 4};
  }
  if (widest <= 8)
  {
    return value_bytes == 0 ? tile_shape{256, 25, 3} : tile_shape{256, 17, 3};
  }
  if (widest <= 16)
  {
    return {192, 13, 3};
  }
  return widest <= 32 ? tile_shape{256, 5, 3} : widest <= 64 ? tile_shape{160, 5, 3} : tile_shape{96, 5, 3};
}

/// Elements of a first run: a tile of the passes has two. They leave as many places free as there can be where several runs end in a
/// tile, of which each begins with a thread.
__host__ __device__ constexpr int first_run_for(std::size_t key_bytes, std::size_t value_bytes)
{
  tile_shape const shape = merge_shape_for(key_bytes, value_bytes);
  return (shape.tile() - (most_runs - 1) * (shape.items - 1)) / 2;
}

/// The kernels that look at the input: the first at so many pairs a thread, the second at all of it.
inline constexpr int look_threads               = 512;
inline constexpr int glance_rows                = 4;
inline constexpr std::size_t look_blocks_per_sm = 4;

/// Elements that a thread has under way.
__host__ __device__ constexpr int look_rows_for(std::size_t key_bytes)
{
  return key_bytes <= 4 ? 8 : 4;
}

/// The passes that merge sorted runs, of which each makes one of up to most_runs: all but the first one of as many as that.
struct pass_schedule
{
  int doublings = 0; // of runs

  __host__ __device__ constexpr explicit pass_schedule(std::uint64_t runs)
  {
    while (std::uint64_t{1} << doublings < runs)
    {
      ++doublings;
    }
  }

  __host__ __device__ constexpr int passes() const
  {
    return (doublings + log2_ways - 1) / log2_ways;
  }
  /// First runs of a run that a pass reads, as a power of two.
  __host__ __device__ constexpr int log2_run(int pass) const
  {
    return pass == 0 ? 0 : doublings - (passes() - pass) * log2_ways;
  }
  /// Runs that it merges into one, as a power of two.
  __host__ __device__ constexpr int log2_of(int pass) const
  {
    return log2_run(pass + 1) - log2_run(pass);
  }
};

/// The blocks that sort inputs of small and of medium size: tiles, and then what many sorted runs have of a part of the order.
struct many_way_shape
{
  int threads;
  int sort_items; // a thread, in a tile
  int merge_items;
  int sample_items;
  int blocks; // a multiprocessor: what registers are shared out for

  constexpr bool operator==(many_way_shape const& other) const
  {
    return threads == other.threads && sort_items == other.sort_items && merge_items == other.merge_items
        && sample_items == other.sample_items && blocks == other.blocks;
  }
};

/// Tiny and small inputs are merged in one pass. What counts there is how soon a block is done: it has as few elements a thread as
/// leave no more tiles than can be merged at once. Medium ones need large tiles.
enum class input_class
{
  tiny,
  small,
  medium
};

/// Keys and values of so many bytes. Measured on an H200 with CUDA 13.0, uniform keys, custom comparator, us for the whole
/// sort, with what others take. Tiny: u32, 2^10 9.4 (10.9 with 3 items, 11.5 with 5, 13.1 with 9), 2^14 19.7 (20.3, 21.2,
/// 23.3); u64, 2^14 21.2 (21.8 with 3, 22.8 with 5); 16 bytes, 2^14 24.0 (23.3 with 1, but 2^10 17.8 in place of 12.6; 23.6
/// with 3); 64 bytes, 2^13 35 (40 with 256 x 3, 36 with 512 x 1). Small: u32, 2^16 24.4 (25.9 with 9, 7 and 7 items, 29
/// tiny; but those took 2^17 as well, in 29.2, which medium ones take 30.5 for); u64 27 (30.6 tiny), pairs of u32 28 (36.7
/// tiny), of u64 31 (35.6 tiny), 16 bytes 33 (36.6 tiny), 64 bytes 91 (101 tiny; 2^13 50 with 5, 5 and 4, for which not
/// every device has room, and 41 with 3). Medium: u32, 2^20 68 (119 with 9, 7 and 7; 82 with 17, 15 and 15; 79 for 2
/// blocks); pairs of u32, 2^19 64 (72 with 17, 11 and 15); u64, 2^20 104 (138 with 9 of each); pairs of u64, 2^18 59 (66
/// with 11 of each); 16 bytes, 2^19 115 (175 with 5, 5 and 3).
__host__ __device__ constexpr many_way_shape
many_way_shape_for(std::size_t key_bytes, std::size_t value_bytes, input_class c)
{
  std::size_t const widest = key_bytes > value_bytes ? key_bytes : value_bytes;
  bool const is_alone      = value_bytes == 0;
  if (c == input_class::tiny)
  {
    return widest <= 16 ? many_way_shape{512, 2, 2, 5, 1}
         : widest <= 64 ? many_way_shape{256, 2, 2, 3, 1}
                        : many_way_shape{256, 2, 2, 2, 1};
  }
  if (c == input_class::small)
  {
    return widest <= 4  ? many_way_shape{512, 5, is_alone ? 7 : 5, 7, 2}
         : widest <= 8  ? many_way_shape{512, 5, 5, is_alone ? 7 : 5, 2}
         : widest <= 16 ? many_way_shape{512, 5, 5, 3, 2}
         : widest <= 32 ? many_way_shape{256, 5, 5, 3, 2}
         : widest <= 64 ? many_way_shape{256, 3, 3, 3, 2}
                        : many_way_shape{256, 2, 2, 2, 2};
  }
  if (widest <= 4)
  {
    return is_alone ? many_way_shape{512, 17, 11, 15, 3} : many_way_shape{512, 13, 9, 11, 2};
  }
  if (widest <= 8)
  {
    return is_alone ? many_way_shape{512, 11, 11, 11, 2} : many_way_shape{512, 9, 9, 9, 2};
  }
  if (widest <= 16)
  {
    return is_alone ? many_way_shape{512, 7, 7, 6, 2} : many_way_shape{512, 5, 5, 5, 2};
  }
  return many_way_shape_for(key_bytes, value_bytes, input_class::small);
}

/// Lanes that search together where a splitter cuts a run.
inline constexpr int lanes_of_search = 8;

/// A pass that merges groups of runs.
struct many_way_pass
{
  std::uint32_t run; // elements
  std::uint32_t ways; // runs of a group
  int log2_ways; // of the next power of two
  std::uint32_t step; // from one sample of a run to the next
  std::uint32_t of_run; // samples
  std::uint32_t inverse_of_run; // 2^32 / of_run, rounded up: divides all that is less than 2^16
  std::uint32_t samples; // of the group, from one splitter to the next
  std::uint32_t blocks; // of a group

  /// Blocks of all groups of n elements.
  __host__ __device__ constexpr std::uint32_t blocks_of(std::uint32_t n) const
  {
    std::uint32_t const group = ways * run;
    return (n / group + (n % group != 0 ? 1 : 0)) * blocks;
  }
};

inline constexpr int most_many_way_passes = 3;

/// How an input is sorted.
struct many_way_plan
{
  bool is_possible;
  std::uint32_t tile; // elements
  int passes;
  many_way_pass pass[most_many_way_passes];

  /// Blocks of all passes over n elements.
  constexpr std::uint32_t blocks_of(std::uint32_t n) const
  {
    std::uint32_t blocks = 0;
    for (int number = 0; number < passes; ++number)
    {
      blocks += pass[number].blocks_of(n);
    }
    return blocks;
  }
};

/// The least tile of an input of several, how many tiles give nearly every multiprocessor of an H200 one, and how many each one.
inline constexpr std::uint64_t least_tile         = 1024;
inline constexpr std::uint64_t tiles_to_spread    = 128;
inline constexpr std::uint64_t most_tiles_at_once = 132;

/// Of so many elements one may be sampled for the sake of fewer blocks: samples take no more than 3 % of their room.
inline constexpr std::uint64_t elements_a_sample = 34;

/// Runs that a block can merge: a search for either end of each.
__host__ __device__ constexpr std::uint32_t most_ways(many_way_shape const& shape)
{
  int const searches = shape.threads / (2 * lanes_of_search);
  return static_cast<std::uint32_t>(searches < 32 ? searches : 32);
}

/// A pass over n elements in runs of `run`. Between two splitters are as many samples of the group as suffice for half a tile,
/// or fewer, if a block cannot hold that many samples of the group: none, if it cannot be done.
constexpr many_way_pass
many_way_pass_for(std::uint64_t n, std::uint64_t run, std::uint32_t ways, many_way_shape const& shape)
{
  auto const items   = static_cast<std::uint64_t>(shape.merge_items);
  auto const threads = static_cast<std::uint64_t>(shape.threads);
  // Where runs end, a thread may have one item only.
  std::uint64_t const tile   = threads * items - ways * (items - 1);
  std::uint64_t const group  = ways * run < n ? ways * run : n;
  std::uint64_t const most   = threads * static_cast<std::uint64_t>(shape.sample_items) - ways;
  std::uint64_t const even   = tile / (2 * ways);
  std::uint64_t const fewest = (group + most - 1) / most;
  std::uint64_t const wanted = even > fewest ? even : fewest;
  std::uint64_t const step   = wanted < run / 2 ? wanted : run / 2;
  std::uint64_t const of_run = (run + step - 1) / step;
  std::uint64_t const fit    = tile / step;

  many_way_pass pass{};
  pass.run  = static_cast<std::uint32_t>(run);
  pass.ways = ways;
  while (1u << pass.log2_ways < ways)
  {
    ++pass.log2_ways;
  }
  pass.step           = static_cast<std::uint32_t>(step);
  pass.of_run         = static_cast<std::uint32_t>(of_run);
  pass.inverse_of_run = ~std::uint32_t{0} / pass.of_run + 1;
  if (fit > ways && step >= fewest)
  {
    pass.samples = static_cast<std::uint32_t>(fit - ways);
    pass.blocks  = static_cast<std::uint32_t>((ways * of_run + pass.samples - 1) / pass.samples);
  }
  return pass;
}

/// The least number whose `exponent`-th power is not less than n.
constexpr std::uint32_t root_of(std::uint64_t n, int exponent)
{
  for (std::uint32_t root = 1;; ++root)
  {
    std::uint64_t power = 1;
    for (int i = 0; i < exponent; ++i)
    {
      power *= root;
    }
    if (power >= n)
    {
      return root;
    }
  }
}

/// The sort of n elements in tiles of `tile` and so many passes, if that is possible: the first has `first` ways, or about as many as each of the others, if
/// that is 0.
constexpr many_way_plan
many_way_plan_of_ways(std::uint64_t n, std::uint64_t tile, int passes, std::uint32_t first, many_way_shape const& shape)
{
  many_way_plan plan{};
  plan.is_possible  = true;
  plan.tile         = static_cast<std::uint32_t>(tile);
  std::uint64_t run = tile;
  while (run < n && plan.is_possible)
  {
    bool const has_pass      = plan.passes < passes;
    bool const is_given      = plan.passes == 0 && first != 0;
    std::uint32_t const ways = !has_pass ? 0 : is_given ? first : root_of((n + run - 1) / run, passes - plan.passes);
    plan.is_possible         = ways > 0 && ways <= most_ways(shape);
    if (plan.is_possible)
    {
      many_way_pass const pass = many_way_pass_for(n, run, ways, shape);
      plan.is_possible         = 4 * pass.samples >= ways; // or tiles would be too small
      plan.pass[plan.passes++] = pass;
      run *= ways;
    }
  }
  return plan;
}

/// The most samples that a pass of those with numbers `parity`, `parity` + 2 and so on takes of n elements: two lists take turns.
constexpr std::uint64_t samples_of(many_way_plan const& plan, std::uint64_t n, int parity)
{
  std::uint64_t most = 0;
  for (int pass = parity; pass < plan.passes; pass += 2)
  {
    std::uint64_t const run     = plan.pass[pass].run;
    std::uint64_t const samples = (n + run - 1) / run * plan.pass[pass].of_run;
    most                        = most < samples ? samples : most;
  }
  return most;
}

/// The same. Of two passes the first has about as many ways as the second one, or a power of two of them and no fewer, by which there are the fewest blocks:
/// blocks merge in pairs, and those of a second pass may lack room for the samples of many ways.
constexpr many_way_plan many_way_plan_with(std::uint64_t n, std::uint64_t tile, int passes, many_way_shape const& shape)
{
  auto const count   = static_cast<std::uint32_t>(n);
  many_way_plan best = many_way_plan_of_ways(n, tile, passes, 0, shape);
  if (best.is_possible && passes == 2)
  {
    for (std::uint32_t ways = 2; ways <= most_ways(shape); ways *= 2)
    {
      if (ways >= best.pass[1].ways)
      {
        many_way_plan const plan = many_way_plan_of_ways(n, tile, passes, ways, shape);
        bool const is_better     = plan.is_possible && plan.blocks_of(count) < best.blocks_of(count);
        bool const has_room      = (samples_of(plan, n, 0) + samples_of(plan, n, 1)) * elements_a_sample <= n;
        best                     = is_better && has_room ? plan : best;
      }
    }
  }
  return best;
}

/// Elements that a block of a shape sorts.
__host__ __device__ constexpr std::uint64_t tile_of(many_way_shape const& shape)
{
  return static_cast<std::uint64_t>(shape.threads) * static_cast<std::uint64_t>(shape.sort_items);
}

/// The sort of n elements in as few passes as do.
constexpr many_way_plan many_way_plan_for(std::uint64_t n, many_way_shape const& shape)
{
  auto const count = static_cast<std::uint32_t>(n);
  auto const most  = tile_of(shape);
  auto const least = most < least_tile ? most : least_tile;
  many_way_plan plan{};
  plan.is_possible = n <= most;
  plan.tile        = static_cast<std::uint32_t>(most);
  for (int passes = 1; passes <= most_many_way_passes && !plan.is_possible; ++passes)
  {
    // One pass takes tiles as small as its ways allow; more passes one for each multiprocessor, or as few for each as blocks can sort. Measured on an H200 with
    // CUDA 13.0: see "Tiles for all multiprocessors" in docs/performance.md.
    std::uint64_t const fewest = (n + most - 1) / most;
    std::uint64_t const rounds = (fewest + most_tiles_at_once - 1) / most_tiles_at_once;
    std::uint64_t const even   = fewest < tiles_to_spread * rounds ? tiles_to_spread * rounds : fewest;
    std::uint64_t const tiles  = passes == 1 ? most_ways(shape) : even;
    std::uint64_t const spread = (n + tiles - 1) / tiles;
    std::uint64_t const tile   = spread < least ? least : spread < most ? spread : most;
    plan                       = many_way_plan_with(n, tile, passes, shape);
    if (passes > 1 && rounds > 1)
    {
      many_way_plan const full = many_way_plan_with(n, most, passes, shape);
      bool const is_worse      = !plan.is_possible || plan.blocks_of(count) > full.blocks_of(count) / 8 * 9;
      plan                     = full.is_possible && is_worse ? full : plan;
    }
  }
  return plan;
}

/// The blocks that sort n elements: the first class of which one can alone, or else of which as many can as are merged in one pass.
constexpr input_class class_for(std::uint64_t n, many_way_shape const& tiny, many_way_shape const& small)
{
  bool const is_alone = n <= tile_of(small);
  if (n <= tile_of(tiny) * (is_alone ? 1 : most_ways(tiny)))
  {
    return input_class::tiny;
  }
  return n <= tile_of(small) * (is_alone ? 1 : most_ways(small)) ? input_class::small : input_class::medium;
}

/// The sort of n elements of so many bytes.
constexpr input_class class_of(std::uint64_t n, std::size_t key_bytes, std::size_t value_bytes)
{
  return class_for(n,
                   many_way_shape_for(key_bytes, value_bytes, input_class::tiny),
                   many_way_shape_for(key_bytes, value_bytes, input_class::small));
}
constexpr many_way_plan many_way_plan_of(std::uint64_t n, std::size_t key_bytes, std::size_t value_bytes)
{
  return many_way_plan_for(n, many_way_shape_for(key_bytes, value_bytes, class_of(n, key_bytes, value_bytes)));
}

/// The one block that sorts an input by value, or by merging where the comparator sorts in another way.
enum class block_class
{
  few,
  many
};

struct one_block_shape
{
  int threads;
  int items; // a thread
};

/// For what was measured see most_in_block (choice.h); of records of 64 bytes, in one block and merged, us: 2^10 16.8, 26, 2^11 22.5, 27.5; 2^9 14.5, 18.
__host__ __device__ constexpr one_block_shape
one_block_shape_for(block_class c, std::size_t key_bytes, std::size_t value_bytes)
{
  if (key_bytes > 32)
  {
    return {512, c == block_class::few ? 1 : 4};
  }
  bool const takes_fewer = value_bytes != 0 || key_bytes > 8;
  return {512, c == block_class::few ? 2 : takes_fewer ? 5 : 9};
}

/// Blocks of the largest cluster that sorts an input: see most_in_cluster (choice.h).
inline constexpr unsigned most_cluster_blocks = 8;

/// Few comparisons: bytes of indices that a block sorts or merges, and how many of these a thread writes: each of its searches asks up to 12 times, so
/// that of 64 elements 0.16 times for each. Where a tile is sorted half as many, for twice the threads, up to so many elements altogether. Counted for
/// random keys, in n log2 n: 2^12 0.99, 2^16 1.03, 2^20 1.01, 2^24 1.03, 2^26 1.04; for those that ask most, 1.097 at 69,632. Half as many at all sizes:
/// 1.101 at 278,528.
inline constexpr std::size_t sparing_tile_bytes   = 16384;
inline constexpr int sparing_items                = 64;
inline constexpr std::size_t most_for_short_parts = std::size_t{1} << 17;
inline constexpr int sparing_cut_threads          = 128;

/// The least input whose order is looked at before it is sorted so: a glance asks 2048 times.
inline constexpr std::size_t least_to_look_sparingly = std::size_t{1} << 16;

} // namespace gpusort::merge
