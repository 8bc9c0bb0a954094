// Wide records under comparators that go by a number in them: the numbers are sorted with an index, and the comparator has the last word.
// Fields of each kind and place, comparators that look at more than one, such that a sample does not know, and such that go by none.
#include <testing/support/device_memory.cuh>
#include <testing/support/sorted_alike.cuh>

#include <gpusort/hybrid/by_number.cuh>
#include <gpusort/sort.h>
#include <gpusort/workspace.h>
#include <gtest/gtest.h>
#include <nv/target>
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

namespace
{

using gpusort::testing::check_stable;
using gpusort::testing::guarded_array;
using gpusort::testing::in_a_hurry;
using gpusort::testing::mixed;

constexpr std::size_t least = 10'000;

/// Hybrid sort that tries small inputs, too.
struct by_number_form : gpusort::hybrid::stable_form
{
  static constexpr std::size_t least_by_number(std::size_t)
  {
    return least;
  }
};
struct by_number_t : gpusort::algorithm<by_number_t>
{
  static constexpr bool is_stable = true;
  template <class Key, class Compare>
  static constexpr bool supports = true;
};
constexpr by_number_t by_number{};

} // namespace

template <>
struct gpusort::device_backend<by_number_t> : gpusort::hybrid::sample_sort<by_number_form>
{};

namespace
{

/// Numbers of 8 bytes and of 4, and more bytes, which say where a record came from.
template <std::size_t Bytes>
struct alignas(8) record
{
  std::int64_t first;
  double second;
  std::uint32_t third;
  float fourth;
  std::uint32_t rest[(Bytes - 24) / 4];
};
static_assert(sizeof(record<32>) == 32 && sizeof(record<96>) == 96 && sizeof(record<200>) == 200);

/// Words alone.
struct words
{
  std::int32_t first;
  float second;
  std::uint32_t third;
  std::int32_t fourth;
  std::uint32_t rest[3];
};
static_assert(sizeof(words) == 28);

/// What comparators go by. All are one type, because each of them would bring kernels of its own.
enum class what
{
  first,
  second,
  third,
  fourth,
  first_then_second, // the second field, downwards, where the first is the same
  upper_half, // of the first field
  product, // no field
  next_of_third, // as the third field, but for the greatest of all, which comes first
  // Comparators that contradict themselves:
  always,
  first_or_equal,
  sometimes,
  seldom_wrong, // by a number, but for one pair in eight thousand or so
  rarely_wrong // one in a hundred thousand or so, which a sample may miss
};

struct order
{
  what by;
  bool descends             = false;
  unsigned long long* asked = nullptr; // counts how often it is, unless it is null

  template <class Record>
  __host__ __device__ bool operator()(Record const& a, Record const& b) const
  {
    NV_IF_TARGET(NV_IS_DEVICE, (if (asked != nullptr) { atomicAdd(asked, 1ull); }));
    return descends ? precedes(b, a) : precedes(a, b);
  }

private:
  // Not inlined, which takes the compiler minutes.
  template <class Record>
  __noinline__ __host__ __device__ bool precedes(Record const& a, Record const& b) const
  {
    switch (by)
    {
      case what::first:
        return a.first < b.first;
      case what::second:
        return a.second < b.second;
      case what::third:
        return a.third < b.third;
      case what::fourth:
        return a.fourth < b.fourth;
      case what::first_then_second:
        return a.first < b.first || (!(b.first < a.first) && b.second < a.second);
      case what::upper_half:
        return a.first >> (4 * sizeof(a.first)) < b.first >> (4 * sizeof(a.first));
      case what::product:
        return a.third * 2654435761u < b.third * 2654435761u;
      case what::next_of_third:
        return a.third + 1u < b.third + 1u;
      case what::always:
        return true;
      case what::first_or_equal:
        return a.first <= b.first;
      case what::sometimes:
        return (a.third * 31 + b.third) % 3 == 0;
      case what::seldom_wrong:
        return (a.first < b.first) != ((a.third ^ (b.third * 2654435761u)) % 8192 == 0);
      case what::rarely_wrong:
        return (a.first < b.first) != ((a.third ^ (b.third * 2654435761u)) % 131072 == 0);
    }
    return false;
  }
};

template <class Number>
Number number_of(std::uint64_t i, std::uint64_t distinct)
{
  std::uint64_t const any = distinct == 0 ? mixed(i) : mixed(mixed(i) % distinct);
  if constexpr (std::is_floating_point_v<Number>)
  {
    return static_cast<Number>(static_cast<std::int64_t>(any)) / static_cast<Number>(1ull << 33);
  }
  else
  {
    return static_cast<Number>(any);
  }
}

/// Makes floating-point fields of so many records zero, +0 and -0 by turns.
template <class Record>
void set_zeros(std::vector<Record>& all, std::size_t count)
{
  for (std::size_t i = 0; i < count; ++i)
  {
    Record& one = all[mixed(i) % all.size()];
    one.second  = i % 2 == 0 ? 0.0f : -0.0f;
    if constexpr (std::is_floating_point_v<decltype(one.fourth)>)
    {
      one.fourth = i % 2 == 0 ? -0.0f : 0.0f;
    }
  }
}

/// n records whose fields are any numbers, or each of so many.
template <class Record>
std::vector<Record> records(std::size_t n, std::uint64_t distinct)
{
  std::vector<Record> all(n);
  for (std::size_t i = 0; i < n; ++i)
  {
    Record& one = all[i];
    std::memset(static_cast<void*>(&one), static_cast<int>(i % 251), sizeof(Record));
    one.first   = number_of<decltype(one.first)>(4 * i, distinct);
    one.second  = number_of<decltype(one.second)>(4 * i + 1, distinct);
    one.third   = number_of<decltype(one.third)>(4 * i + 2, distinct);
    one.fourth  = number_of<decltype(one.fourth)>(4 * i + 3, distinct);
    one.rest[0] = static_cast<std::uint32_t>(i);
  }
  set_zeros(all, 16);
  return all;
}

std::vector<std::size_t> sizes()
{
  return in_a_hurry() ? std::vector<std::size_t>{least}
                      : std::vector<std::size_t>{least - 1, least, least + 257, 70'003, 1'000'003};
}

/// How many values a field has: any, some of them twice, many times, few.
std::vector<std::uint64_t> counts_of_values(std::size_t n)
{
  return in_a_hurry() ? std::vector<std::uint64_t>{n} : std::vector<std::uint64_t>{0, n, n / 40 + 1, 7};
}

/// Sorts records, and if there are to be values, with their positions, and compares with the C++ library's stable sort.
template <bool WithValues = false, class Record>
void check(std::vector<Record> const& input, order comp)
{
  if constexpr (WithValues)
  {
    check_stable<std::uint32_t>(input, comp, by_number);
  }
  else
  {
    guarded_array<Record> room(input.size());
    Record* const keys = room.load(input.data(), input.size(), 1);
    gpusort::stable_sort(by_number(thrust::device), keys, keys + input.size(), comp);
    std::vector<Record> expected = input;
    std::stable_sort(expected.begin(), expected.end(), comp);
    EXPECT_TRUE(room.holds(expected.data()));
  }
}

/// How often a comparator is asked where records are sorted, for each of them.
template <class Record>
double times_asked(std::vector<Record> const& input, order comp)
{
  thrust::device_vector<unsigned long long> asked(1);
  comp.asked = thrust::raw_pointer_cast(asked.data());
  check(input, comp);
  return static_cast<double>(asked[0]) / static_cast<double>(input.size());
}

// About each pair of neighbours twice at most, and up to three pairs for each 32 records beforehand.
constexpr double times_if_accepted = 2.5;

template <class Record, bool WithValues = false>
void check_field(what field, bool descends = false)
{
  for (std::size_t const n : sizes())
  {
    for (std::uint64_t const distinct : counts_of_values(n))
    {
      SCOPED_TRACE(::testing::Message() << n << " records, " << distinct << " values");
      auto const input = records<Record>(n, distinct);
      check<WithValues>(input, order{field, descends});
      if (n >= least && (distinct == 0 || distinct == n))
      {
        EXPECT_LE(times_asked(input, order{field, descends}), times_if_accepted) << "it went another way";
      }
    }
  }
}

TEST(ByNumber, EveryKindOfNumber)
{
  check_field<record<64>, true>(what::first);
  check_field<record<32>>(what::second, true);
  check_field<record<96>>(what::third, true);
  check_field<record<64>, true>(what::fourth);
  check_field<words>(what::first, true);
  check_field<words>(what::second);
  if (!in_a_hurry())
  {
    check_field<record<64>>(what::first, true);
    check_field<record<32>>(what::second);
    check_field<record<96>>(what::third);
    check_field<record<64>>(what::fourth, true);
    check_field<words>(what::third);
    check_field<words>(what::fourth);
  }
}

// Records that are sorted by index in any case. With values, it is the index that moves with keys.
TEST(ByNumber, RecordsElsewhere)
{
  check_field<record<200>, true>(what::first);
  if (!in_a_hurry())
  {
    check_field<record<200>>(what::second, true);
  }
}

TEST(ByNumber, AsksTwiceARecord)
{
  std::size_t const n = in_a_hurry() ? least + 1 : 300'007;
  EXPECT_LE(times_asked(records<record<64>>(n, 0), {what::first}), times_if_accepted);
  EXPECT_LE(times_asked(records<record<64>>(n, 0), {what::third, true}), times_if_accepted);
  EXPECT_LE(times_asked(records<record<200>>(n, 0), {what::second}), times_if_accepted);
  // Few values are told from the upper half of a number.
  EXPECT_LE(times_asked(records<record<64>>(n, 7), {what::fourth}), times_if_accepted);
  // And what goes by none is sorted in another way.
  EXPECT_GT(times_asked(records<record<64>>(n, 0), {what::product}), 2 * times_if_accepted);
}

// Where a number does not tell records apart, the comparator may go on: if few are the same, they change places.
TEST(ByNumber, OtherFieldsWhereTheNumberIsTheSame)
{
  std::size_t const n = in_a_hurry() ? least + 1 : 300'007;
  EXPECT_LE(times_asked(records<record<64>>(n, 2 * n), {what::first_then_second}), 2 * times_if_accepted);
  check<true>(records<record<64>>(n, n / 8), {what::first_then_second});
  check(records<record<200>>(n, n), {what::first_then_second});
  // Numbers of 8 bytes whose upper halves are all the same.
  auto small = records<record<64>>(n, 0);
  for (std::size_t i = 0; i < n; ++i)
  {
    small[i].first = static_cast<std::int64_t>(mixed(i) % (64 * n));
  }
  EXPECT_LE(times_asked(small, {what::first_then_second}), 2 * times_if_accepted);
  if (!in_a_hurry())
  {
    for (std::uint64_t const distinct : {n / 31, n / 33, n / 100, std::size_t{7}})
    {
      check<true>(records<record<64>>(n, distinct), {what::first_then_second});
    }
  }
}

// Four bytes that are the upper half of eight, of which the lower half says something else.
TEST(ByNumber, UpperHalves)
{
  std::size_t const n = in_a_hurry() ? least + 1 : 300'007;
  std::vector<std::uint64_t> counts{n};
  if (!in_a_hurry())
  {
    counts = {0, n, n / 12, n / 100, 7};
  }
  for (std::uint64_t const distinct : counts)
  {
    SCOPED_TRACE(distinct);
    auto input = records<record<64>>(n, 0);
    for (std::size_t i = 0; i < n; ++i)
    {
      std::uint64_t const half = number_of<std::uint64_t>(i, distinct) >> 32;
      input[i].first           = static_cast<std::int64_t>(half << 32 | static_cast<std::uint32_t>(mixed(n + i)));
    }
    double const asked = times_asked(input, {what::upper_half});
    if (distinct == 0 || distinct >= n)
    {
      EXPECT_LE(asked, 2 * times_if_accepted);
    }
    check<true>(input, {what::upper_half, true});
  }
}

// More of both zeros than are settled one by one, in 8 bytes, in 4, and in 4 that are the upper half of 8 where a sample does not say so.
TEST(ByNumber, ManyZeros)
{
  std::size_t const n = in_a_hurry() ? least + 1 : 300'007;
  auto input          = records<record<64>>(n, 0);
  set_zeros(input, n / 100);
  check<true>(input, {what::second});
  check<true>(input, {what::fourth});
  auto small = records<words>(n, 0);
  set_zeros(small, n / 100);
  check(small, {what::second, true});
}

// One record of many is elsewhere than its number says: no pair that is compared beforehand need have it.
TEST(ByNumber, OneRecordThatASampleDoesNotKnow)
{
  std::size_t const n = in_a_hurry() ? least + 1 : 300'007;
  auto input          = records<record<64>>(n, 0);
  auto large          = records<record<200>>(n, 0);
  for (std::size_t i = 0; i < n; ++i)
  {
    input[i].third &= 0x7fffffffu;
    large[i].third &= 0x7fffffffu;
  }
  for (std::size_t const at : {std::size_t{1}, n / 2, n - 1})
  {
    std::uint32_t const held = input[at].third;
    input[at].third          = ~0u;
    large[at].third          = ~0u;
    check<true>(input, {what::next_of_third});
    check(large, {what::next_of_third});
    input[at].third = held;
    large[at].third = held;
  }
}

template <class Record>
void check_in_order(std::size_t n, double most_asked)
{
  auto input = records<Record>(n, n / 3);
  std::stable_sort(input.begin(), input.end(), order{what::first});
  check<true>(input, {what::first});
  check<true>(input, {what::first, true});
  EXPECT_LE(times_asked(input, {what::first}), most_asked);
  std::swap(input[n / 3], input[n / 2]);
  check<true>(input, {what::first});
  for (std::size_t i = 0; i < n; ++i)
  {
    input[i].first = 5;
  }
  check<true>(input, {what::first});
  EXPECT_LE(times_asked(input, {what::first}), most_asked);
}

// Records that move themselves are looked at. Of others the numbers are sorted all the same.
TEST(ByNumber, InputsInOrder)
{
  std::size_t const n = in_a_hurry() ? least + 1 : 100'003;
  check_in_order<record<64>>(n, 40);
  check_in_order<record<200>>(n, 2 * times_if_accepted); // records that are tied are asked about once more
}

template <class Record>
void check_liar(std::size_t n, what lie, std::uint32_t salt = 0)
{
  auto input = records<Record>(n, n);
  for (Record& one : input)
  {
    one.third += salt;
  }
  guarded_array<Record> room(n);
  Record* const keys = room.load(input.data(), n, 1);
  gpusort::stable_sort(by_number(thrust::device), keys, keys + n, order{lie});
  auto const sorted = room.read();
  std::vector<Record> out(sorted.data(), sorted.data() + n);
  EXPECT_TRUE(room.holds(out.data())) << "guards";
  std::sort(out.begin(), out.end(), [](Record const& a, Record const& b) { return a.rest[0] < b.rest[0]; });
  EXPECT_TRUE(gpusort::testing::are_same(out, input)) << "a permutation";
}

TEST(ByNumber, ComparatorsThatLie)
{
  std::size_t const n = in_a_hurry() ? least : 100'003;
  check_liar<record<64>>(n, what::seldom_wrong);
  check_liar<record<200>>(n, what::first_or_equal);
  if (!in_a_hurry())
  {
    for (what const lie : {what::always, what::first_or_equal, what::sometimes, what::seldom_wrong})
    {
      check_liar<record<64>>(n, lie);
      check_liar<record<200>>(n, lie);
    }
  }
}

// Some blocks find a pair in the wrong order while others begin to gather. All rounds but a few get so far.
TEST(ByNumber, RefusedWhileOthersGather)
{
  for (std::uint32_t round = 0; round < (in_a_hurry() ? 2u : 100u); ++round)
  {
    SCOPED_TRACE(round);
    check_liar<record<32>>(in_a_hurry() ? least : 300'003, what::rarely_wrong, round);
  }
}

// Ranks and indices lie where records are gathered to.
TEST(ByNumber, ScratchIsThatOfASplit)
{
  using record           = record<64>;
  std::size_t const n    = std::size_t{1} << 22;
  record* const keys     = nullptr;
  std::size_t const most = n * sizeof(record) + n * sizeof(record) / 20;
  EXPECT_LE(gpusort::workspace_bytes(by_number(thrust::cuda::par), keys, keys + n, order{what::first}), most);
}

} // namespace
