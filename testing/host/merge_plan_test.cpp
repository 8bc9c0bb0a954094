// How merge sort means to sort an input of any size: in plans for all kinds of element, nothing is left out, and nothing has more
// than a block holds.
#include <gpusort/merge/tuning.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpusort::merge
{
namespace
{

struct element
{
  std::size_t key_bytes, value_bytes;
};

constexpr input_class all_classes[] = {input_class::tiny, input_class::small, input_class::medium};

many_way_shape shape_for(element const& e, input_class c)
{
  return many_way_shape_for(e.key_bytes, e.value_bytes, c);
}

/// The class that is chosen for n elements.
input_class class_of(element const& e, std::uint64_t n)
{
  return class_for(n, shape_for(e, input_class::tiny), shape_for(e, input_class::small));
}

std::vector<element> elements()
{
  return {{1, 0},
          {2, 0},
          {2, 32},
          {3, 0},
          {4, 0},
          {4, 4},
          {4, 16},
          {8, 0},
          {8, 4},
          {8, 8},
          {12, 0},
          {16, 0},
          {16, 16},
          {24, 0},
          {24, 4},
          {32, 0},
          {64, 0},
          {64, 8}};
}

std::vector<std::uint64_t> sizes()
{
  std::vector<std::uint64_t> all;
  for (int log2 = 1; log2 <= 20; ++log2)
  {
    std::uint64_t const n = std::uint64_t{1} << log2;
    all.insert(all.end(), {n - 1, n, n + 1, n + n / 3, n + n / 2});
  }
  return all;
}

void check_pass(many_way_pass const& pass, std::uint64_t n, many_way_shape const& shape)
{
  ASSERT_GE(pass.ways, 2u);
  EXPECT_LE(pass.ways, most_ways(shape));
  EXPECT_GE(1u << pass.log2_ways, pass.ways);
  EXPECT_LT(1u << (pass.log2_ways - 1), pass.ways);

  // Samples of a run reach to its end, and those of a group fit a block, lists apart by an odd number.
  std::uint64_t const group = std::uint64_t{pass.ways} * pass.run < n ? std::uint64_t{pass.ways} * pass.run : n;
  std::uint64_t const whole = group / pass.run;
  std::uint64_t const rest  = (group % pass.run + pass.step - 1) / pass.step;
  std::uint64_t const count = whole * pass.of_run + rest;
  auto const most = static_cast<std::uint64_t>(shape.threads) * static_cast<std::uint64_t>(shape.sample_items);
  EXPECT_GE(pass.of_run, 2u);
  EXPECT_GE(std::uint64_t{pass.of_run} * pass.step, pass.run);
  EXPECT_LT(std::uint64_t{pass.of_run - 1} * pass.step, pass.run);
  EXPECT_LE(count, most);
  EXPECT_LE(whole * (pass.of_run | 1u) + rest, most + 32);
  for (std::uint64_t i = 0; i < count; ++i)
  {
    ASSERT_EQ(i * pass.inverse_of_run >> 32, i / pass.of_run);
  }

  // Blocks have all samples, and what may lie between two splitters, gaps included, fits.
  ASSERT_GE(pass.samples, 1u);
  EXPECT_GE(std::uint64_t{pass.blocks} * pass.samples, count);
  auto const items = static_cast<std::uint64_t>(shape.merge_items);
  EXPECT_LE(std::uint64_t{pass.samples + pass.ways} * pass.step + pass.ways * (items - 1),
            static_cast<std::uint64_t>(shape.threads) * items);
}

TEST(ManyWayPlan, MergesAllAndHasRoomForAll)
{
  for (element const e : elements())
  {
    for (input_class const c : all_classes)
    {
      many_way_shape const shape = shape_for(e, c);
      for (std::uint64_t const n : sizes())
      {
        SCOPED_TRACE(::testing::Message() << e.key_bytes << " and " << e.value_bytes << " bytes, n = " << n);
        many_way_plan const plan = many_way_plan_for(n, shape);
        if (!plan.is_possible)
        {
          continue;
        }
        EXPECT_LE(plan.tile, static_cast<std::uint32_t>(shape.threads * shape.sort_items));
        std::uint64_t run = plan.tile;
        for (int pass = 0; pass < plan.passes; ++pass)
        {
          EXPECT_EQ(plan.pass[pass].run, run);
          EXPECT_LT(run, n);
          check_pass(plan.pass[pass], n, shape);
          run *= plan.pass[pass].ways;
        }
        EXPECT_GE(run, n);
      }
    }
  }
}

TEST(ManyWayPlan, IsPossibleForWhatFitsItsClass)
{
  for (element const e : elements())
  {
    for (std::uint64_t const n : sizes())
    {
      SCOPED_TRACE(::testing::Message() << e.key_bytes << " and " << e.value_bytes << " bytes, n = " << n);
      input_class const c      = class_of(e, n);
      many_way_plan const plan = many_way_plan_for(n, shape_for(e, c));
      if (c != input_class::medium)
      {
        EXPECT_TRUE(plan.is_possible);
        EXPECT_LE(plan.passes, 1);
      }
      // As far as automatic asks for it: 8 MB and a million elements. Wide elements go to hybrid sort where a plan ends.
      else if (n * (e.key_bytes + e.value_bytes) <= 1u << 23 && e.key_bytes <= 16 && e.value_bytes <= 16)
      {
        EXPECT_TRUE(plan.is_possible);
      }
    }
  }
}

TEST(ManyWayPlan, TakesTheFirstClassOfWhichABlockIsEnough)
{
  for (element const e : elements())
  {
    SCOPED_TRACE(::testing::Message() << e.key_bytes << " and " << e.value_bytes << " bytes");
    many_way_shape const tiny   = shape_for(e, input_class::tiny);
    many_way_shape const small  = shape_for(e, input_class::small);
    std::uint64_t const of_tiny = tile_of(tiny), of_small = tile_of(small);
    ASSERT_LT(of_tiny, of_small);
    EXPECT_EQ(class_of(e, 1), input_class::tiny);
    EXPECT_EQ(class_of(e, of_tiny), input_class::tiny);
    EXPECT_EQ(class_of(e, of_tiny + 1), input_class::small);
    EXPECT_EQ(class_of(e, of_small), input_class::small);
    EXPECT_EQ(class_of(e, of_small + 1), input_class::tiny);
    EXPECT_EQ(class_of(e, of_tiny * most_ways(tiny)), input_class::tiny);
    EXPECT_EQ(class_of(e, of_tiny * most_ways(tiny) + 1), input_class::small);
    EXPECT_EQ(class_of(e, of_small * most_ways(small)), input_class::small);
    EXPECT_EQ(class_of(e, of_small * most_ways(small) + 1), input_class::medium);
    EXPECT_EQ(many_way_plan_for(of_tiny, tiny).passes, 0);
    EXPECT_EQ(many_way_plan_for(of_small, small).passes, 0);
  }
}

TEST(ManyWayPlan, GivesAllMultiprocessorsAsManyTiles)
{
  for (element const e : elements())
  {
    many_way_shape const shape = shape_for(e, input_class::medium);
    std::uint64_t const most   = tile_of(shape);
    for (std::uint64_t const n : sizes())
    {
      SCOPED_TRACE(::testing::Message() << e.key_bytes << " and " << e.value_bytes << " bytes, n = " << n);
      many_way_plan const plan = many_way_plan_for(n, shape);
      if (!plan.is_possible || plan.passes < 2 || plan.tile == most || plan.tile == least_tile)
      {
        continue;
      }
      // Nearly as many as are sorted at once, or as in two rounds, or three.
      std::uint64_t const tiles  = (n + plan.tile - 1) / plan.tile;
      std::uint64_t const rounds = (tiles + most_tiles_at_once - 1) / most_tiles_at_once;
      EXPECT_GE(tiles, rounds * tiles_to_spread * 9 / 10);
      EXPECT_GT(n, (rounds - 1) * most_tiles_at_once * most);
    }
  }
}

TEST(ManyWayPlan, HasFewBlocksInTwoPasses)
{
  auto const ways_of = [](std::uint64_t n, element e) {
    many_way_plan const plan = many_way_plan_for(n, shape_for(e, class_of(e, n)));
    return std::vector<std::uint32_t>{plan.tile, plan.pass[0].ways, plan.pass[1].ways};
  };
  using numbers = std::vector<std::uint32_t>;
  // A power of two, as blocks merge in pairs.
  EXPECT_EQ(ways_of(1 << 20, {4, 0}), (numbers{8192, 16, 8}));
  // More in front, where blocks of the second pass lack room for samples.
  EXPECT_EQ(ways_of(1 << 20, {4, 4}), (numbers{4096, 32, 8}));
  // As many tiles for each multiprocessor would not fit two passes of about as many ways.
  EXPECT_EQ(ways_of(540'000, {16, 0}), (numbers{3584, 32, 5}));
  // Smaller tiles, but not a pass more: 16-byte keys, where plans of even tiles end.
  EXPECT_EQ(many_way_plan_of(626'483, 16, 0).passes, 2);
  for (element const e : elements())
  {
    for (std::uint64_t const n : sizes())
    {
      SCOPED_TRACE(::testing::Message() << e.key_bytes << " and " << e.value_bytes << " bytes, n = " << n);
      many_way_shape const shape = shape_for(e, class_of(e, n));
      many_way_plan const plan   = many_way_plan_for(n, shape);
      if (plan.is_possible && plan.passes == 2)
      {
        many_way_plan const even = many_way_plan_of_ways(n, plan.tile, 2, 0, shape);
        EXPECT_TRUE(!even.is_possible
                    || plan.blocks_of(static_cast<std::uint32_t>(n)) <= even.blocks_of(static_cast<std::uint32_t>(n)));
      }
    }
  }
}

TEST(ManyWayPlan, SamplesTakeLittleRoom)
{
  for (element const e : elements())
  {
    for (std::uint64_t n = 1 << 16; n <= 1 << 20; n *= 2)
    {
      SCOPED_TRACE(::testing::Message() << e.key_bytes << " and " << e.value_bytes << " bytes, n = " << n);
      many_way_plan const plan = many_way_plan_for(n, shape_for(e, class_of(e, n)));
      if (!plan.is_possible)
      {
        continue;
      }
      std::uint64_t const samples = samples_of(plan, n, 0) + samples_of(plan, n, 1);
      EXPECT_LE(static_cast<double>(samples * e.key_bytes),
                0.03 * static_cast<double>(n * (e.key_bytes + e.value_bytes)));
    }
  }
}

TEST(PassSchedule, MergesAllRunsInAsFewPassesAsCanBe)
{
  for (std::uint64_t runs = 1; runs <= 5000; ++runs)
  {
    SCOPED_TRACE(runs);
    pass_schedule const schedule(runs);
    std::uint64_t merged = 1; // first runs of a run
    for (int pass = 0; pass < schedule.passes(); ++pass)
    {
      EXPECT_EQ(std::uint64_t{1} << schedule.log2_run(pass), merged);
      EXPECT_GE(schedule.log2_of(pass), 1);
      EXPECT_LE(schedule.log2_of(pass), log2_ways);
      merged <<= schedule.log2_of(pass);
    }
    EXPECT_GE(merged, runs);
    EXPECT_LT(merged / 2, runs);
    std::uint64_t fewest = 1;
    for (int pass = 1; pass < schedule.passes(); ++pass)
    {
      fewest *= most_runs;
    }
    EXPECT_TRUE(schedule.passes() == 0 || fewest < runs) << "one pass less would do";
  }
}

TEST(FirstRun, FitsTheBlocksThatSortAndMergeIt)
{
  for (element const e : elements())
  {
    SCOPED_TRACE(::testing::Message() << e.key_bytes << " and " << e.value_bytes << " bytes");
    tile_shape const sorting = sort_shape_for(e.key_bytes, e.value_bytes);
    tile_shape const merging = merge_shape_for(e.key_bytes, e.value_bytes);
    int const run            = first_run_for(e.key_bytes, e.value_bytes);
    EXPECT_LE(run, sorting.tile());
    // Where runs end in a tile, each of the others may leave a thread with one item.
    EXPECT_LE(2 * run + (most_runs - 1) * (merging.items - 1), merging.tile());
    EXPECT_GT(2 * run + 2 + (most_runs - 1) * (merging.items - 1), merging.tile());
    EXPECT_EQ(sorting.items % 2, 1);
    EXPECT_EQ(merging.items % 2, 1);
    EXPECT_EQ(32 % cut_lanes, 0);
    EXPECT_EQ(merging.threads % 32, 0);
  }
}

TEST(RootOf, IsTheLeastWhosePowerIsEnough)
{
  EXPECT_EQ(root_of(1, 3), 1u);
  EXPECT_EQ(root_of(8, 3), 2u);
  EXPECT_EQ(root_of(9, 3), 3u);
  EXPECT_EQ(root_of(32, 1), 32u);
  EXPECT_EQ(root_of(122, 2), 12u);
}

} // namespace
} // namespace gpusort::merge
