// The kernel that sorts the buckets of keys alone, by itself: buckets of every size, in either array, listed and not, by bins and by digits. And
// what lanes sort of a bin, and blocks of tokens that bins do not sort.
#include <testing/support/owned_memory.cuh>

#include <gpusort/block/dynamic_shared.cuh>
#include <gpusort/block/lane_sort.cuh>
#include <gpusort/block/token_sort.cuh>
#include <gpusort/radix/by_buckets.cuh>
#include <gpusort/radix/key_order.h>
#include <gpusort/runtime/launch.cuh>

#include <gtest/gtest.h>

#include <cuda_runtime.h>
#include <thrust/device_vector.h>
#include <thrust/functional.h>
#include <thrust/host_vector.h>
#include <thrust/sequence.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

namespace gpusort::testing
{
namespace
{

using radix::sort_class;

constexpr int buckets_log2 = 8;
constexpr int buckets      = 1 << buckets_log2;

std::uint64_t mixed(std::uint64_t x)
{
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// What the keys of a bucket are like.
enum class kind
{
  even,
  alike,
  few, // values
  twins, // of 256 values far apart: bins that are alike
  crowds, // of 8: the same
  multiples, // and one more, each: the lowest bits of all are the same
  nearly_multiples, // but for one
  close, // all but a few
  six, // of each of some values far apart, each a little off: more bins than are listed, in large buckets
  most_of_lanes, // the same, bins that a few lanes just sort
  more_than_lanes, // one too many: bins that warps sort
  most_of_pairs, // two of each lane
  more_than_pairs,
  most_of_long, // bins of long keys that warps just sort
  more_than_long,
  most_of_warp, // bins that warps just sort
  more_than_warp, // one too many: digit by digit
  clustered, // closer together the lower they are: bins of all sizes
  zeros, // among others, of both signs: floats keep their order, by digits
  in_order
};
constexpr kind kinds[] = {
  kind::even,
  kind::alike,
  kind::few,
  kind::twins,
  kind::crowds,
  kind::multiples,
  kind::nearly_multiples,
  kind::close,
  kind::six,
  kind::most_of_lanes,
  kind::more_than_lanes,
  kind::most_of_pairs,
  kind::more_than_pairs,
  kind::most_of_long,
  kind::more_than_long,
  kind::most_of_warp,
  kind::more_than_warp,
  kind::clustered,
  kind::zeros,
  kind::in_order};

/// A key of `group`, one of fewer than 4096 that are far apart, and `offset`, of a few that are close to each other.
template <class Key>
Key far_and_near(std::uint64_t group, std::uint64_t offset)
{
  if constexpr (std::is_floating_point_v<Key>)
  {
    return static_cast<Key>(4096 + group) + static_cast<Key>(offset) * static_cast<Key>(0x1p-11);
  }
  else
  {
    return static_cast<Key>((group << (sizeof(Key) * 8 - 13)) + offset);
  }
}

/// Key number i of n, in no order.
template <class Key>
Key make_key(kind which, std::size_t i, std::size_t n)
{
  using bits            = radix::bits_t<Key>;
  constexpr int width   = static_cast<int>(sizeof(bits)) * 8;
  std::uint64_t const a = mixed(i * 3 + n), b = mixed(a);
  bool const is_float  = std::is_floating_point_v<Key>;
  auto const from_bits = [](bits image) {
    Key key{};
    std::memcpy(&key, &image, sizeof key);
    return key;
  };
  // So many of each group.
  auto const together = [&](std::size_t count) {
    return far_and_near<Key>(i % (n / count + 1) * 4096 / (n / count + 1), b % 1024);
  };
  switch (which)
  {
    case kind::even:
      return is_float ? static_cast<Key>(1) + static_cast<Key>(a >> 44) * static_cast<Key>(0x1p-20)
                      : from_bits(static_cast<bits>(a));
    case kind::alike:
      return static_cast<Key>(42);
    case kind::few:
      return static_cast<Key>(a % 7);
    case kind::twins:
      return far_and_near<Key>(i * 16 % 4096, 0);
    case kind::crowds:
      return far_and_near<Key>(i % 8 * 512, 0);
    case kind::multiples:
      return far_and_near<Key>(a % 4096, 1);
    case kind::nearly_multiples:
      return far_and_near<Key>(a % 4096, i == n / 3 ? 4 : 1);
    case kind::close:
      return far_and_near<Key>(a % 100 == 0 ? 4000 : 0, b % 4);
    case kind::six:
      return together(6);
    case kind::most_of_lanes:
      return together(16);
    case kind::more_than_lanes:
      return together(17);
    case kind::most_of_pairs:
      return together(64);
    case kind::more_than_pairs:
      return together(65);
    case kind::most_of_long:
      return together(128);
    case kind::more_than_long:
      return together(129);
    case kind::most_of_warp:
      return together(256);
    case kind::more_than_warp:
      return together(257);
    case kind::clustered:
      // A bit is set in one key of eight.
      return is_float ? static_cast<Key>(1) + static_cast<Key>((a & b & mixed(b)) >> 44) * static_cast<Key>(0x1p-20)
                      : from_bits(static_cast<bits>(a & b & mixed(b)));
    case kind::zeros:
      return a % 3 == 0 ? from_bits(is_float ? bits{1} << (width - 1) : bits{0})
           : a % 3 == 1 ? static_cast<Key>(0)
                        : from_bits(static_cast<bits>(b >> 4));
    default:
      return static_cast<Key>(i);
  }
}

/// Sizes of buckets: each of the first few, the edges of what threads read at once and of what bins there are, the most.
std::vector<int> sizes_of_buckets(int most)
{
  bool const in_a_hurry = std::getenv("GPUSORT_TEST_STEP") != nullptr;
  std::vector<int> sizes;
  for (int bucket = 0; bucket < buckets; ++bucket)
  {
    int const edges[] = {256, 512, 1024, 2048, 4096, 4608, 8192, 9216, 16384, most, most - 1};
    int const size =
      bucket < 40       ? bucket
      : bucket % 3 == 0 ? edges[bucket / 3 % 11] + bucket % 5 - 2
      : bucket % 3 == 1 ? static_cast<int>(mixed(static_cast<std::uint64_t>(bucket)) % static_cast<unsigned>(most))
                        : most - bucket % 7;
    sizes.push_back(in_a_hurry && bucket >= 40 && bucket % 16 != 0 ? 0 : std::min(size, most));
  }
  return sizes;
}

/// The lowest bits that ranks of multiples have in common.
template <class Key>
constexpr int alike_in_multiples()
{
  // See far_and_near.
  return std::is_floating_point_v<Key> ? std::numeric_limits<Key>::digits - 13 : static_cast<int>(sizeof(Key)) * 8 - 13;
}

/// Buckets of these sizes, of keys `make(i, size)`; or, with a Value, of pairs with their numbers. `likely_alike`: the lowest bits that all ranks are said to
/// have in common.
template <class Key, class Compare, sort_class Class, class Value = block::no_values, class Make>
void check_buckets(std::vector<int> const& sizes, Make make, int from, int likely_alike = 0)
{
  using bits            = radix::bits_t<Key>;
  constexpr bool floats = radix::kind_of<Key>() == radix::key_kind::floating_point;
  using sorter          = radix::bucket_sort<bits, floats, Class, Value>;
  constexpr bool pairs  = !std::is_same_v<Value, block::no_values>;
  using value           = std::conditional_t<pairs, Value, char>;
  auto const order      = radix::make_key_order<Key, Compare>();
  std::vector<std::uint64_t> begins{0};
  std::vector<bits> keys;
  for (int size : sizes)
  {
    for (int i = 0; i < size; ++i)
    {
      Key const key = make(static_cast<std::size_t>(i), static_cast<std::size_t>(size));
      bits image{};
      std::memcpy(&image, &key, sizeof key);
      keys.push_back(image);
    }
    begins.push_back(keys.size());
  }
  std::vector<std::uint32_t> sources(keys.size()); // of what is sorted
  std::iota(sources.begin(), sources.end(), 0u);
  std::vector<value> const numbers(sources.begin(), sources.end());
  for (int bucket = 0; bucket < buckets; ++bucket)
  {
    std::stable_sort(sources.begin() + static_cast<std::ptrdiff_t>(begins[bucket]),
                     sources.begin() + static_cast<std::ptrdiff_t>(begins[bucket + 1]),
                     [&](std::uint32_t a, std::uint32_t b) { return order.rank_of(keys[a]) < order.rank_of(keys[b]); });
  }

  thrust::device_vector<bits> arrays[2]  = {thrust::device_vector<bits>(keys.size()),
                                            thrust::device_vector<bits>(keys.size())};
  thrust::device_vector<value> values[2] = {thrust::device_vector<value>(keys.size()),
                                            thrust::device_vector<value>(keys.size())};
  arrays[from]                           = keys;
  values[from]                           = numbers;
  thrust::device_vector<std::uint64_t> begins_on_device(begins.begin(), begins.end());
  radix::findings<bits> found{};
  found.buckets[0]   = buckets;
  found.lowest_alike = likely_alike;
  // Those of the first array are all that fit, those of the second are listed, the last one first.
  bool const are_listed = from == 1;
  thrust::device_vector<std::uint32_t> list;
  if (are_listed)
  {
    list.resize(buckets);
    thrust::sequence(list.rbegin(), list.rend());
    found.listed = buckets;
  }
  device_variable<radix::findings<bits>> const findings(found);
  radix::bucket_table const table{
    buckets_log2,
    nullptr,
    thrust::raw_pointer_cast(begins_on_device.data()),
    thrust::raw_pointer_cast(list.data()),
    nullptr,
    0};
  radix::buffers<bits, Value> at{
    {thrust::raw_pointer_cast(arrays[0].data()), thrust::raw_pointer_cast(arrays[1].data())}, {}};
  if constexpr (pairs)
  {
    at.values[0] = thrust::raw_pointer_cast(values[0].data());
    at.values[1] = thrust::raw_pointer_cast(values[1].data());
  }
  runtime::launch(
    radix::sort_buckets<bits, floats, Class, Value>,
    {64, sorter::threads, sizeof(typename sorter::shared_storage)},
    nullptr,
    order,
    findings.get(),
    table,
    are_listed ? radix::which_buckets::listed : radix::which_buckets::all,
    from,
    at);
  require(cudaDeviceSynchronize(), "sort of buckets");

  thrust::host_vector<bits> const sorted         = arrays[0];
  thrust::host_vector<value> const values_sorted = values[0];
  for (int bucket = 0; bucket < buckets; ++bucket)
  {
    std::size_t wrong = 0;
    for (std::size_t i = begins[bucket]; i < begins[bucket + 1]; ++i)
    {
      wrong += sorted[i] != keys[sources[i]] || (pairs && values_sorted[i] != numbers[sources[i]]);
    }
    ASSERT_EQ(wrong, 0u) << "bucket " << bucket << " of " << sizes[static_cast<std::size_t>(bucket)] << " keys";
  }
}

template <class Key, class Compare, sort_class Class>
void check_kind(kind which, int from)
{
  using sorter = radix::bucket_sort<radix::bits_t<Key>, std::is_floating_point_v<Key>, Class>;
  // Right of some, and not of others, which blocks have to find out.
  constexpr int right = alike_in_multiples<Key>();
  int const likely =
    which == kind::twins || which == kind::crowds || which == kind::multiples ? right - from
    : which == kind::nearly_multiples                                         ? right
    : from == 1                                                               ? 12
                                                                              : 0;
  check_buckets<Key, Compare, Class>(
    sizes_of_buckets(sorter::most),
    [=](std::size_t i, std::size_t n) { return make_key<Key>(which, i, n); },
    from,
    likely);
}

template <class Key, sort_class Class>
void check()
{
  // Long buckets want more shared memory than some devices have: there the sort takes another way.
  using sorter = radix::bucket_sort<radix::bits_t<Key>, std::is_floating_point_v<Key>, Class>;
  if (sizeof(typename sorter::shared_storage) > runtime::shared_bytes_of_device())
  {
    GTEST_SKIP() << "no such blocks on this device";
  }
  for (kind which : kinds)
  {
    for (int from = 0; from < 2; ++from)
    {
      SCOPED_TRACE(::testing::Message() << "kind " << static_cast<int>(which) << " from array " << from);
      check_kind<Key, thrust::less<Key>, Class>(which, from);
      check_kind<Key, thrust::greater<Key>, Class>(which, from);
    }
  }
}

TEST(BucketSort, FourBytes)
{
  check<std::uint32_t, sort_class::bucket>();
}

TEST(BucketSort, Floats)
{
  check<float, sort_class::bucket>();
}

TEST(BucketSort, EightBytes)
{
  check<std::int64_t, sort_class::bucket>();
}

TEST(BucketSort, Doubles)
{
  check<double, sort_class::bucket>();
}

TEST(BucketSort, LongOfFourBytes)
{
  check<std::int32_t, sort_class::long_bucket>();
}

TEST(BucketSort, LongOfFloats)
{
  check<float, sort_class::long_bucket>();
}

TEST(BucketSort, LongOfEightBytes)
{
  check<std::uint64_t, sort_class::long_bucket>();
}

TEST(BucketSort, LongOfDoubles)
{
  check<double, sort_class::long_bucket>();
}

/// Ranks that lie within a range of `span`, from `least` on, in no order, of which every `step`-th occurs.
struct close_ranks
{
  std::uint32_t least;
  std::uint32_t span;
  std::uint32_t step;
  bool has_ends; // both ends occur

  std::uint32_t operator()(std::size_t i, std::size_t n) const
  {
    if (has_ends && i < 2)
    {
      return i == 0 ? least : least + span - 1;
    }
    return least + static_cast<std::uint32_t>(mixed(i * 3 + n) % span / step * step);
  }
};

template <class Key>
void check_counted()
{
  using bits       = radix::bits_t<Key>;
  using sorter     = radix::bucket_sort<bits, std::is_floating_point_v<Key>, sort_class::counted_bucket>;
  using compare    = thrust::less<Key>;
  auto const order = radix::make_key_order<Key, compare>();
  if (sizeof(typename sorter::shared_storage) > runtime::shared_bytes_of_device())
  {
    GTEST_SKIP() << "no such blocks on this device";
  }
  bool const in_a_hurry = std::getenv("GPUSORT_TEST_STEP") != nullptr;
  std::vector<int> sizes;
  for (int bucket = 0; bucket < buckets; ++bucket)
  {
    int const some[] = {0, 33, 1023, 1024, 1025, 4096, 8191, 8193, 16384, 30000, 65535, 65536, 66000};
    sizes.push_back(bucket < 36 ? bucket : bucket < 49 ? some[bucket - 36] : bucket == 49 ? 150000 : 0);
    if (in_a_hurry && (sizes.back() > 8193 || (bucket > 3 && bucket < 31)))
    {
      sizes.back() = 0;
    }
  }
  for (close_ranks const ranks :
       {close_ranks{0, 1 << 16, 1, false},
        close_ranks{0x7fff0000, 1 << 16, 1, true},
        close_ranks{0x80000000, 1 << 16, 64, true},
        close_ranks{0xffff0000, 1 << 16, 1, true},
        close_ranks{0x12345678, (1 << 16) - 56, 1, true}, // whose groups are just all different
        close_ranks{0x12345678, (1 << 16) - 55, 1, true}, // whose last is the first once more
        close_ranks{0x80000001, 1 << 16, 1, true}, // too far apart by a group
        close_ranks{0x9ffff000, 1 << 20, 1, true},
        close_ranks{0x9ffffff0, 1000, 1, true},
        close_ranks{0xa0000003, 64, 1, false},
        close_ranks{0xa0000003, 8, 1, false},
        close_ranks{0xb000003f, 2, 1, false}, // more of each than half a word holds
        close_ranks{0xb0000000, 1, 1, false},
        close_ranks{0xb0000000, 1 << 16, 1 << 15, false}})
  {
    for (int from = 0; from < 2; ++from)
    {
      SCOPED_TRACE(::testing::Message() << ranks.span << " ranks from " << ranks.least << ", in array " << from);
      auto const make = [=](std::size_t i, std::size_t n) {
        bits const image = order.bits_of_rank(ranks(i, n));
        Key key{};
        std::memcpy(&key, &image, sizeof key);
        return key;
      };
      check_buckets<Key, compare, sort_class::counted_bucket>(sizes, make, from);
    }
  }
  // Far apart for the most part, or of both zeros.
  for (kind which : {kind::even, kind::alike, kind::few, kind::zeros, kind::in_order})
  {
    SCOPED_TRACE(::testing::Message() << "kind " << static_cast<int>(which));
    check_buckets<Key, thrust::greater<Key>, sort_class::counted_bucket>(
      sizes, [=](std::size_t i, std::size_t n) { return make_key<Key>(which, i, n); }, 0);
  }
}

/// Pairs whose keys are close enough for tokens that have their places, too, and others.
TEST(BucketSort, LongOfPairs)
{
  using key     = std::uint32_t;
  using sorter  = radix::bucket_sort<key, false, sort_class::long_bucket, std::uint32_t>;
  using compare = thrust::greater<key>;
  if (sizeof(sorter::shared_storage) > runtime::shared_bytes_of_device())
  {
    GTEST_SKIP() << "no such blocks on this device";
  }
  auto const order = radix::make_key_order<key, compare>();
  auto const sizes = sizes_of_buckets(sorter::most);
  for (int from = 0; from < 2; ++from)
  {
    for (close_ranks const ranks :
         {close_ranks{0, 1 << 16, 1, true},
          close_ranks{0x12345678, 1 << 17, 1, true}, // the most that tokens have room for
          close_ranks{0x12345678, (1 << 17) + 1, 1, true},
          close_ranks{0x12345678, 1 << 17, 1 << 12, false},
          close_ranks{0x12345, 1 << 30, 1 << 14, false}, // their lowest bits say nothing
          close_ranks{0x12345678, 100, 1, false}})
    {
      SCOPED_TRACE(::testing::Message() << ranks.span << " ranks from " << ranks.least << ", in array " << from);
      auto const make = [=](std::size_t i, std::size_t n) { return order.bits_of_rank(ranks(i, n)); };
      // Right where all ranks are multiples of the step and one more; the last one's tokens are short enough by that.
      check_buckets<key, compare, sort_class::long_bucket, std::uint32_t>(
        sizes, make, from, ranks.step == 1 ? 0 : block::log2_of(static_cast<int>(ranks.step)));
    }
    check_buckets<key, compare, sort_class::long_bucket, std::uint16_t>(
      sizes, [](std::size_t i, std::size_t n) { return close_ranks{0x12345678, 1 << 16, 1, true}(i, n); }, from);
    for (kind which :
         {kind::even,
          kind::alike,
          kind::twins,
          kind::crowds,
          kind::multiples,
          kind::nearly_multiples,
          kind::zeros,
          kind::in_order})
    {
      SCOPED_TRACE(::testing::Message() << "kind " << static_cast<int>(which));
      check_buckets<key, compare, sort_class::long_bucket, std::uint32_t>(
        sizes,
        [=](std::size_t i, std::size_t n) { return make_key<key>(which, i, n); },
        from,
        alike_in_multiples<key>());
      check_buckets<float, thrust::less<float>, sort_class::long_bucket, std::uint32_t>(
        sizes,
        [=](std::size_t i, std::size_t n) { return make_key<float>(which, i, n); },
        from,
        alike_in_multiples<float>());
    }
  }
}

TEST(BucketSort, CountedOfFourBytes)
{
  check_counted<std::uint32_t>();
}

TEST(BucketSort, CountedOfFloats)
{
  check_counted<float>();
}

/// Groups of `Lanes` sort rows of `stride` integers, of which each has its number, or less where that is more than fits.
template <class Token, int Lanes, int Items>
__global__ void sort_rows(Token* rows, std::uint32_t stride)
{
  using sorter              = block::lane_sort<Lanes, Items>;
  std::uint32_t const row   = (blockIdx.x * blockDim.x + threadIdx.x) / Lanes;
  std::uint32_t const count = row < sorter::most ? row : sorter::most;
  sorter::template sort<Token>(count, [=](std::uint32_t i) -> Token& { return rows[row * stride + i]; });
}

template <class Token, int Lanes, int Items>
void check_lanes()
{
  constexpr std::uint32_t most   = Lanes * Items;
  constexpr std::uint32_t stride = most + 1; // one behind, that nobody may touch
  constexpr int threads          = 128;
  constexpr std::uint32_t rows   = (most + 1 + threads) / threads * threads;
  for (std::uint64_t const values : {std::uint64_t{2}, std::uint64_t{40}, ~std::uint64_t{0}})
  {
    std::vector<Token> expected;
    for (std::uint32_t i = 0; i < rows * stride; ++i)
    {
      // The greatest value, with which places that are free are filled, is among them.
      std::uint64_t const drawn = mixed(i) % values;
      expected.push_back(static_cast<Token>(drawn % 2 == 0 ? ~drawn : drawn));
    }
    thrust::device_vector<Token> tokens = expected;
    for (std::uint32_t row = 0; row < rows; ++row)
    {
      auto const begin = expected.begin() + row * stride;
      std::sort(begin, begin + std::min(row, most));
    }
    runtime::launch(
      sort_rows<Token, Lanes, Items>, {rows * Lanes / threads, threads}, nullptr, tokens.data().get(), stride);
    require(cudaDeviceSynchronize(), "sort by lanes");
    thrust::host_vector<Token> const sorted = tokens;
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), sorted.begin())) << values << " values";
  }
}

TEST(LaneSort, EverySizeOfGroup)
{
  check_lanes<std::uint32_t, 8, 2>();
  check_lanes<std::uint64_t, 8, 2>();
  check_lanes<std::uint32_t, 32, 2>();
  check_lanes<std::uint64_t, 32, 2>();
  check_lanes<std::uint64_t, 32, 4>();
  check_lanes<std::uint32_t, 32, 8>();
  check_lanes<std::uint64_t, 32, 8>();
}

/// Room for tokens, and what is behind it.
template <class Sorter, int Threads>
struct tokens_and_behind
{
  typename Sorter::room tokens;
  unsigned behind[Threads];
};

/// Each block sorts a row of `Most` tokens, of which it has counts[block], and says whether it has touched what is behind its room for them.
template <class Token, int Threads, int Most, int RunItems>
__global__ void sort_tokens(Token* rows, unsigned const* counts, unsigned* touched)
{
  using sorter                 = block::token_sort<Token, Threads, Most, RunItems>;
  constexpr unsigned untouched = 0x5a5a5a5a;
  auto& shared                 = block::dynamic_shared<tokens_and_behind<sorter, Threads>>();
  Token* const row             = rows + blockIdx.x * Most;
  unsigned const count         = counts[blockIdx.x];
  shared.behind[threadIdx.x]   = untouched;
  for (unsigned i = threadIdx.x; i < count; i += Threads)
  {
    shared.tokens[i] = row[i];
  }
  sorter::sort(shared.tokens, count);
  for (unsigned i = threadIdx.x; i < count; i += Threads)
  {
    row[i] = shared.tokens[i];
  }
  if (shared.behind[threadIdx.x] != untouched)
  {
    *touched = 1;
  }
}

template <class Token, int Threads, int Most, int RunItems = block::most_run_items_v<Token>>
void check_tokens()
{
  std::vector<unsigned> const counts = {
    0,          1,          2,          7,        8,   9,   31,  33,  127,  128,  129,  255,      256,
    257,        511,        512,        513,      519, 520, 521, 767, 1023, 1024, 1025, Most / 2, Most / 2 + 1,
    Most - 257, Most - 256, Most - 255, Most - 1, Most};
  for (std::uint64_t const values : {std::uint64_t{2}, std::uint64_t{40}, ~std::uint64_t{0}})
  {
    std::vector<Token> expected;
    for (std::size_t i = 0; i < counts.size() * Most; ++i)
    {
      // The greatest value, which stands for none, is among them.
      std::uint64_t const drawn = mixed(i) % values;
      expected.push_back(static_cast<Token>(drawn % 2 == 0 ? ~drawn : drawn));
    }
    thrust::device_vector<Token> tokens       = expected;
    thrust::device_vector<unsigned> of_blocks = counts;
    thrust::device_vector<unsigned> touched(1);
    for (std::size_t row = 0; row < counts.size(); ++row)
    {
      auto const begin = expected.begin() + static_cast<std::ptrdiff_t>(row * Most);
      std::sort(begin, begin + counts[row]);
    }
    runtime::launch(
      sort_tokens<Token, Threads, Most, RunItems>,
      {counts.size(), Threads, sizeof(tokens_and_behind<block::token_sort<Token, Threads, Most, RunItems>, Threads>)},
      nullptr,
      tokens.data().get(),
      static_cast<unsigned const*>(of_blocks.data().get()),
      touched.data().get());
    require(cudaDeviceSynchronize(), "sort tokens");
    thrust::host_vector<Token> const sorted = tokens;
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), sorted.begin())) << values << " values";
    ASSERT_EQ(touched[0], 0u) << values << " values";
  }
}

TEST(TokenSort, SizesAboutRunsAndTiles)
{
  check_tokens<std::uint32_t, 512, 2048>();
  check_tokens<std::uint64_t, 512, 2048>();
  check_tokens<std::uint32_t, 512, 4608>();
  check_tokens<std::uint64_t, 512, 4608>();
  check_tokens<std::uint32_t, 512, 9216>();
  check_tokens<std::uint32_t, 256, 4096>();
  check_tokens<std::uint32_t, 512, 1536, 4>();
  check_tokens<std::uint64_t, 512, 1536, 4>();
  check_tokens<std::uint64_t, 512, 8192>();
  check_tokens<unsigned __int128, 512, 8192>();
  check_tokens<unsigned __int128, 512, 1536, 4>();
}

} // namespace
} // namespace gpusort::testing
