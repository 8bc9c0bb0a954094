// Records under comparators that go by a number in them: blocks sort by that number, and the comparator has the last word. Fields of
// each kind, comparators that look at more than one, and such that go by none; short records in buckets, in one wave and in one block, wide ones in that.
#include <testing/support/sorted_alike.cuh>
#include <testing/support/splitting.cuh>
#include <testing/support/times_asked.cuh>

#include <gpusort/hybrid/by_value.cuh>
#include <gpusort/merge/in_block.cuh>
#include <gpusort/sort.h>
#include <gtest/gtest.h>
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

namespace
{

using gpusort::testing::check;
using gpusort::testing::check_stable;
using gpusort::testing::in_a_hurry;
using gpusort::testing::mixed;
using gpusort::testing::most_in_block;
using gpusort::testing::split;
using gpusort::testing::times_asked;

struct point // words alone
{
  float first;
  std::int32_t second;
  std::uint32_t third;
};
struct event
{
  std::int64_t first;
  std::uint32_t second;
  float third;
};
struct sample
{
  std::uint64_t first;
  double second;
};
struct tagged
{
  std::int32_t first;
  float second;
};

// Wide ones, of words alone, and of words of 8 and 16 bytes.
struct line
{
  std::uint32_t before[4];
  float first;
  std::int32_t second;
  std::uint32_t third;
  std::uint32_t behind;
};
struct card
{
  std::uint64_t before[3];
  double first;
  std::int64_t second;
  std::int32_t third;
  std::uint32_t behind[5];
};
struct alignas(16) sheet
{
  std::int64_t first;
  float second;
  std::uint32_t third;
  std::uint64_t behind[4];
};
static_assert(sizeof(line) == 32 && sizeof(card) == 64 && sizeof(sheet) == 48);

// clang-format off
struct first  { template <class R> __host__ __device__ auto operator()(R const& r) const { return r.first; } };
struct second { template <class R> __host__ __device__ auto operator()(R const& r) const { return r.second; } };
struct third  { template <class R> __host__ __device__ auto operator()(R const& r) const { return r.third; } };
// What differs in the lowest bits alone is equivalent.
struct first_in_16s { template <class R> __host__ __device__ auto operator()(R const& r) const { return r.first / 16; } };
struct first_in_10s { template <class R> __host__ __device__ auto operator()(R const& r) const { return r.first / 10; } };
// No field.
struct product { template <class R> __host__ __device__ auto operator()(R const& r) const { return static_cast<std::uint32_t>(r.second) * 2654435761u; } };
// clang-format on

/// By what a function says of records.
template <class What, bool Descends = false>
struct by
{
  template <class Record>
  __host__ __device__ bool operator()(Record const& a, Record const& b) const
  {
    return Descends ? What{}(b) < What{}(a) : What{}(a) < What{}(b);
  }
};

/// The second field, downwards, where the first is the same.
struct by_first_then_second
{
  template <class Record>
  __host__ __device__ bool operator()(Record const& a, Record const& b) const
  {
    return a.first < b.first || (!(b.first < a.first) && b.second < a.second);
  }
};

template <class Number>
Number number_of(std::uint64_t i, std::uint64_t distinct)
{
  std::uint64_t const any = distinct == 0 ? mixed(i) : mixed(mixed(i) % distinct);
  if constexpr (std::is_floating_point_v<Number>)
  {
    // Both zeros are among them.
    return any % 1000 == 0 ? (any % 2000 == 0 ? Number{0} : -Number{0})
                           : static_cast<Number>(static_cast<std::int64_t>(any)) / static_cast<Number>(1ull << 33);
  }
  else
  {
    return static_cast<Number>(any);
  }
}

/// n records whose fields are any numbers, or each of few.
template <class Record>
std::vector<Record> records(std::size_t n, std::uint64_t distinct)
{
  std::vector<Record> all(n);
  for (std::size_t i = 0; i < n; ++i)
  {
    Record& one = all[i];
    for (std::size_t w = 0; w < sizeof(Record) / 4; ++w)
    {
      auto const any = static_cast<std::uint32_t>(mixed(17 * i + w));
      std::memcpy(reinterpret_cast<char*>(&one) + 4 * w, &any, 4);
    }
    one.first  = number_of<decltype(one.first)>(3 * i, distinct);
    one.second = number_of<decltype(one.second)>(3 * i + 1, distinct);
    if constexpr (!std::is_same_v<Record, sample> && !std::is_same_v<Record, tagged>)
    {
      one.third = number_of<decltype(one.third)>(3 * i + 2, distinct);
    }
  }
  return all;
}

/// One level of buckets, of several in a block and of as few as there can be, and two.
template <class Record>
std::vector<std::size_t> sizes()
{
  constexpr std::size_t most = most_in_block<Record, gpusort::block::no_values>;
  if (in_a_hurry())
  {
    return {5 * most};
  }
  return {most + 1, 2 * most + 77, 5 * most, 50'000, 130 * most, 1'000'003};
}

/// How many values a field has: any, some of them twice, many times, few.
std::vector<std::uint64_t> counts_of_values(std::size_t n)
{
  return in_a_hurry() ? std::vector<std::uint64_t>{0, n} : std::vector<std::uint64_t>{0, n, n / 40 + 1, 7};
}

/// Keys alone.
template <class Record, class Compare>
void check_alone(std::vector<Record> const& all, Compare comp)
{
  SCOPED_TRACE(all.size());
  gpusort::testing::stable_result<Record, std::uint32_t> const expected(all, comp);
  gpusort::testing::guarded_array<Record> room(all.size());
  Record* const at = room.load(all.data(), all.size(), 1);
  gpusort::stable_sort(split(thrust::device), at, at + all.size(), comp);
  EXPECT_TRUE(room.holds(expected.keys.data()));
}

/// f(records) for all sizes and numbers of values.
template <class Record, class F>
void for_records(F f)
{
  for (std::size_t const n : sizes<Record>())
  {
    for (std::uint64_t const distinct : counts_of_values(n))
    {
      SCOPED_TRACE(::testing::Message() << distinct << " values");
      f(records<Record>(n, distinct));
    }
  }
}

TEST(RecordValues, ByAField)
{
  for_records<event>([](auto const& all) {
    check<std::uint32_t>(all, by<first>{});
    check_alone(all, by<second, true>{});
    check_alone(all, by<third>{});
  });
}

TEST(RecordValues, OfWordsAlone)
{
  for_records<point>([](auto const& all) {
    check_alone(all, by<first>{});
    check_alone(all, by<second, true>{});
    check_alone(all, by<third>{});
  });
}

TEST(RecordValues, ByWideNumbers)
{
  for_records<sample>([](auto const& all) {
    check_alone(all, by<first>{});
    check_alone(all, by<second, true>{});
  });
}

TEST(RecordValues, OfEightBytes)
{
  for_records<tagged>([](auto const& all) {
    check_alone(all, by<first, true>{});
    check_alone(all, by<second>{});
  });
}

// The first field is the same for two, for some, for many, for most.
TEST(RecordValues, WhereTheNextFieldDecides)
{
  for (std::size_t const n : sizes<event>())
  {
    for (std::size_t const of_one : {std::size_t{2}, std::size_t{5}, std::size_t{60}, n / 4})
    {
      SCOPED_TRACE(of_one);
      std::vector<event> all = records<event>(n, 0);
      for (std::size_t i = 0; i < n; ++i)
      {
        all[i].first = static_cast<std::int64_t>(mixed(i) % (n / of_one + 1)) * 12'345;
      }
      check_stable<std::uint32_t>(all, by_first_then_second{}, split);
      check_stable<std::uint32_t>(all, by<first>{}, split);
    }
  }
}

// What a sample says is wrong elsewhere: of a wide number only the upper bits count, and here and there that is seen.
TEST(RecordValues, OfWhichOnlySomeBitsCount)
{
  for (std::size_t const n : sizes<event>())
  {
    std::vector<event> all = records<event>(n, 0);
    check_alone(all, by<first_in_16s>{});
    for (std::size_t i = 0; i < n; ++i)
    {
      all[i].first = static_cast<std::int64_t>(i % 1000 == 7 ? mixed(i) % 64 : mixed(i) >> 20 << 4);
    }
    check_alone(all, by<first_in_16s>{});
  }
}

TEST(RecordValues, ByNoField)
{
  for (std::size_t const n : sizes<event>())
  {
    check_alone(records<event>(n, 0), by<product>{});
  }
}

// NaNs make a comparator contradict itself: nothing is lost.
TEST(RecordValues, NaNsStay)
{
  for (std::size_t const n : sizes<tagged>())
  {
    for (std::size_t const one_in : {n / 2, std::size_t{100}, std::size_t{2}})
    {
      std::vector<tagged> all = records<tagged>(n, 0);
      for (std::size_t i = 0; i < n; ++i)
      {
        all[i].first  = static_cast<std::int32_t>(i);
        all[i].second = i % one_in == 1 ? std::numeric_limits<float>::quiet_NaN() : all[i].second;
      }
      thrust::device_vector<tagged> on_device(all.begin(), all.end());
      tagged* const at = thrust::raw_pointer_cast(on_device.data());
      gpusort::stable_sort(split(thrust::device), at, at + n, by<second>{});
      std::vector<tagged> sorted(n);
      thrust::copy(on_device.begin(), on_device.end(), sorted.begin());
      std::sort(sorted.begin(), sorted.end(), [](tagged const& a, tagged const& b) { return a.first < b.first; });
      EXPECT_EQ(std::memcmp(sorted.data(), all.data(), n * sizeof(tagged)), 0) << n << " records, one in " << one_in;
    }
  }
}

template <class Record, class... Compare>
void check_in_one_block(Compare... comps)
{
  using gpusort::merge::block_class;
  constexpr std::size_t few  = gpusort::merge::value_block<Record, std::uint32_t, block_class::few>::most;
  constexpr std::size_t many = gpusort::merge::value_block<Record, std::uint32_t, block_class::many>::most;
  for (std::size_t const n :
       {std::size_t{2},
        std::size_t{3},
        std::size_t{31},
        std::size_t{33},
        std::size_t{500},
        few - 1,
        few,
        few + 1,
        many - 1,
        many,
        many + 1})
  {
    SCOPED_TRACE(n);
    for (std::uint64_t const distinct : {std::uint64_t{0}, std::uint64_t{n}, std::uint64_t{7}, std::uint64_t{1}})
    {
      auto const all = records<Record>(n, distinct);
      (check_stable<std::uint32_t>(all, comps, gpusort::merge_sort), ...);
    }
  }
}

TEST(RecordValues, InOneBlock)
{
  check_in_one_block<event>(by<first>{}, by<third, true>{}, by_first_then_second{}, by<product>{});
}

TEST(RecordValues, OfWideWordsInOneBlock)
{
  check_in_one_block<line>(by<first>{}, by_first_then_second{});
}

TEST(RecordValues, OfSixtyFourBytesInOneBlock)
{
  check_in_one_block<card>(by<second, true>{}, by_first_then_second{}, by<product>{});
}

TEST(RecordValues, AlignedToSixteenBytesInOneBlock)
{
  check_in_one_block<sheet>(by<third>{});
}

/// What one wave of blocks tries, and one record less and more.
std::vector<std::size_t> sizes_of_one_wave()
{
  constexpr std::size_t least = gpusort::merge::least_records_in_wave;
  constexpr std::size_t most  = gpusort::radix::most_in_wave(16, 0, true);
  if (in_a_hurry())
  {
    return {least + 77};
  }
  return {least - 1, least, 2 * least + 7, 600'011, most - 1, most, most + 1};
}

/// Numbers that are denser about their middle.
template <class Record>
std::vector<Record> uneven_records(std::size_t n)
{
  std::vector<Record> all = records<Record>(n, 0);
  for (std::size_t i = 0; i < n; ++i)
  {
    std::uint64_t sum = 0;
    for (std::size_t k = 0; k < 4; ++k)
    {
      sum += mixed(4 * i + k) >> 36;
    }
    all[i].first = static_cast<decltype(all[i].first)>(sum);
  }
  return all;
}

/// Keys alone, and whatever else a wave leaves merged.
template <class Record, class Compare>
void check_merged(std::vector<Record> const& all, Compare comp)
{
  gpusort::testing::stable_result<Record, std::uint32_t> const expected(all, comp);
  gpusort::testing::guarded_array<Record> room(all.size());
  Record* const at = room.load(all.data(), all.size(), 1);
  gpusort::stable_sort(gpusort::merge_sort(thrust::device), at, at + all.size(), comp);
  EXPECT_TRUE(room.holds(expected.keys.data()));
}

/// f(records) for all sizes of a wave and numbers of values.
template <class Record, class F>
void for_waves(F f)
{
  for (std::size_t const n : sizes_of_one_wave())
  {
    for (std::uint64_t const distinct : counts_of_values(n))
    {
      SCOPED_TRACE(::testing::Message() << n << " records, " << distinct << " values");
      f(records<Record>(n, distinct));
    }
    SCOPED_TRACE(::testing::Message() << n << " uneven ones, or such of one value");
    if (!in_a_hurry())
    {
      f(records<Record>(n, 1));
    }
    f(uneven_records<Record>(n));
  }
}

TEST(RecordValues, InOneWave)
{
  for_waves<event>([](auto const& all) {
    check_stable<std::uint64_t>(all, by<first>{}, gpusort::hybrid_sort);
    check_merged(all, by<third, true>{});
    check_merged(all, by_first_then_second{});
    check_merged(all, by<product>{});
  });
}

TEST(RecordValues, OfWordsAloneInOneWave)
{
  for_waves<point>([](auto const& all) {
    check_merged(all, by<first>{});
    check_merged(all, by<second, true>{});
  });
}

TEST(RecordValues, OfWideNumbersInOneWave)
{
  for_waves<sample>([](auto const& all) {
    check_merged(all, by<first>{});
    check_merged(all, by<second, true>{});
  });
}

TEST(RecordValues, OfEightBytesInOneWave)
{
  for_waves<tagged>([](auto const& all) {
    check_merged(all, by<first, true>{});
    check_merged(all, by<second>{});
  });
}

// Another field is nearly in the same order, and neighbours say that it may be the one.
TEST(RecordValues, OfTwoFieldsNearlyAlikeInOneWave)
{
  for (std::size_t const n : sizes_of_one_wave())
  {
    SCOPED_TRACE(n);
    auto all = records<sample>(n, 0);
    for (std::size_t i = 0; i < n; ++i)
    {
      all[i].first  = mixed(i / 3000) + i % 3000;
      all[i].second = static_cast<double>(i % 3000 == 77 ? 5 : all[i].first);
    }
    check_merged(all, by<first>{});
    check_merged(all, by<second, true>{});
  }
}

// Blocks agree about all they see, but for a neighbour, or for the edge of a bucket: of a wide number only the upper bits count.
TEST(RecordValues, OfWhichOnlySomeBitsCountInOneWave)
{
  for (std::size_t const n : sizes_of_one_wave())
  {
    SCOPED_TRACE(n);
    auto all = records<event>(n, 0);
    check_merged(all, by<first_in_16s>{});
    if (in_a_hurry())
    {
      continue;
    }
    for (std::size_t i = 0; i < n; ++i)
    {
      all[i].first = static_cast<std::int64_t>(i % 1000 == 7 ? mixed(i) % 64 : mixed(i) >> 20 << 4);
    }
    check_merged(all, by<first_in_16s>{});
    // Many buckets end amid what is equivalent.
    for (std::size_t i = 0; i < n; ++i)
    {
      all[i].first = static_cast<std::int64_t>(mixed(i) % (n * 4));
    }
    check_merged(all, by<first_in_10s>{});
  }
}

/// By one field in some blocks, and by another in others; and content with everything in a kernel of as many blocks as sort the buckets of a wave.
struct by_another_in_each_block
{
  __device__ bool operator()(event const& a, event const& b) const
  {
    return gridDim.x == gpusort::radix::radix_size || (blockIdx.x % 2 == 0 ? a.first < b.first : a.second < b.second);
  }
};

// Tiles that go by different numbers make no order, but all has to be there in the end.
TEST(RecordValues, StayInOneWaveWhereBlocksDisagree)
{
  auto const by_bytes = [](event const& a, event const& b) { return std::memcmp(&a, &b, sizeof(event)) < 0; };
  for (std::size_t const n : sizes_of_one_wave())
  {
    for (std::uint64_t const distinct : {std::uint64_t{7}, std::uint64_t{300}, std::uint64_t{0}})
    {
      SCOPED_TRACE(::testing::Message() << n << " records, " << distinct << " values");
      auto all = records<event>(n, distinct);
      for (std::size_t i = 0; i < n; ++i)
      {
        all[i].third = static_cast<float>(i);
      }
      gpusort::testing::guarded_array<event> room(n);
      event* const at = room.load(all.data(), n, 1);
      gpusort::stable_sort(gpusort::merge_sort(thrust::device), at, at + n, by_another_in_each_block{});
      std::vector<event> sorted(n);
      gpusort::testing::require(cudaMemcpy(sorted.data(), at, n * sizeof(event), cudaMemcpyDeviceToHost), "records");
      EXPECT_TRUE(room.holds(sorted.data())) << "guards";
      std::sort(sorted.begin(), sorted.end(), by_bytes);
      std::sort(all.begin(), all.end(), by_bytes);
      EXPECT_TRUE(gpusort::testing::are_same(sorted, all));
    }
  }
}

template <class Compare, class Algorithm>
double asked_for_each_by(std::vector<event> const& all, Algorithm algorithm)
{
  thrust::device_vector<event> on_device(all.begin(), all.end());
  event* const at                = thrust::raw_pointer_cast(on_device.data());
  unsigned long long const asked = times_asked<Compare>([&](auto comp) {
    gpusort::stable_sort(algorithm(thrust::device), at, at + all.size(), comp);
  });
  return static_cast<double>(asked) / static_cast<double>(all.size());
}
template <class Compare>
double asked_for_each(std::vector<event> const& all)
{
  return asked_for_each_by<Compare>(all, split);
}

// A search for a key's bucket asks as often as a bucket's number has bits; then one question says that neighbours are in order, where merging
// takes one for each round and more.
TEST(RecordValues, AreAskedAboutOnceInABucket)
{
  auto all              = records<event>(100'000, 0);
  double const by_field = asked_for_each<by<second>>(all);
  EXPECT_LT(by_field, 9.5);
  EXPECT_GT(asked_for_each<by<product>>(all), by_field + 6);
  // Nor are they merged where 150 share each of a few values: two that do are asked about both ways.
  for (event& one : all)
  {
    one.second %= all.size() / 150;
  }
  EXPECT_LT(asked_for_each<by<second>>(all), 13);
}

// Each neighbour in the end, once more in buckets whose short tokens do not tell all records apart, and in the beginning a pair for each thread of a tile,
// both ways. To merge takes ten times as many.
TEST(RecordValues, AreAskedAboutThreeTimesAtMostInAWave)
{
  if (gpusort::runtime::multiprocessors() * 2 < gpusort::radix::radix_size)
  {
    GTEST_SKIP() << "this device cannot run all blocks of a wave at once";
  }
  auto const all = records<event>(300'007, 0);
  double least   = 1e9;
  // Blocks do not wait for each other as long as other programs, or a sanitizer, may make them take; then all is merged.
  for (int i = 0; i < (in_a_hurry() ? 1 : 10) && least > 3; ++i)
  {
    least = std::min(least, asked_for_each_by<by<first>>(all, gpusort::merge_sort));
  }
  EXPECT_GE(least, 0.99);
  if (!in_a_hurry())
  {
    EXPECT_LE(least, 3);
  }
}

} // namespace
