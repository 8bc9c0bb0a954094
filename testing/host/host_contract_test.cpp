// The calls on the host, compiled by the host compiler alone: every function, every tag, every way to name the system.
#include <testing/support/inputs.h>

#include <gpusort/sort.h>
#include <gpusort/workspace.h>
#include <gtest/gtest.h>

#include <thrust/execution_policy.h>
#include <thrust/iterator/discard_iterator.h>
#include <thrust/iterator/permutation_iterator.h>
#include <thrust/iterator/reverse_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/sort.h>
#include <thrust/tuple.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

// Counts what is taken from the C++ library's heap, so that a test can say that a call took nothing. Not inlined: GCC
// takes the pair for a mismatched one where it sees only half of it.
static long news = 0;

[[gnu::noinline]] void* operator new(std::size_t bytes)
{
  ++news;
  if (void* const memory = std::malloc(bytes == 0 ? 1 : bytes))
  {
    return memory;
  }
  throw std::bad_alloc{};
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::nothrow_t const&) noexcept
{
  ++news;
  return std::malloc(bytes == 0 ? 1 : bytes);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept
{
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept
{
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::nothrow_t const&) noexcept
{
  std::free(memory);
}

namespace gpusort::testing
{
namespace
{

std::vector<int> positions_of(std::size_t n)
{
  std::vector<int> positions(n);
  std::iota(positions.begin(), positions.end(), 0);
  return positions;
}

/// Keys, their positions as values, and both as a stable sort leaves them, by the C++ library and nothing of ours.
template <class Key>
struct problem
{
  std::vector<Key> keys;
  std::vector<int> values;
  std::vector<Key> sorted_keys;
  std::vector<int> sorted_values;

  template <class Compare>
  problem(distribution d, std::size_t n, Compare comp)
      : keys(n)
      , values(positions_of(n))
  {
    generate(d, n + 3, keys.data(), n);
    sorted_values = values;
    std::stable_sort(sorted_values.begin(), sorted_values.end(), [&](int a, int b) {
      return comp(keys[static_cast<std::size_t>(a)], keys[static_cast<std::size_t>(b)]);
    });
    for (int const position : sorted_values)
    {
      sorted_keys.push_back(keys[static_cast<std::size_t>(position)]);
    }
  }
};

template <class Tag>
class host_contract : public ::testing::Test
{
public:
  /// Values that were moved with their keys: the ones of a stable sort, or some other order of equal keys.
  template <class Key>
  static void expect_sorted(problem<Key> const& p, std::vector<Key> const& keys, std::vector<int> const& values)
  {
    EXPECT_EQ(keys, p.sorted_keys);
    if (Tag::is_stable)
    {
      EXPECT_EQ(values, p.sorted_values);
      return;
    }
    std::vector<int> found = values;
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, p.values);
    for (std::size_t i = 0; i < values.size(); ++i)
    {
      ASSERT_EQ(p.keys[static_cast<std::size_t>(values[i])], keys[i]) << "value " << i << " left its key";
    }
  }

  /// Runs the four functions, with and without a comparator, on what `policy` stands for.
  template <class Policy, class Key, class Compare>
  static void check(Policy const& policy, problem<Key> const& p, Compare comp)
  {
    std::vector<Key> keys   = p.keys;
    std::vector<int> values = p.values;
    gpusort::sort(policy, keys.begin(), keys.end(), comp);
    EXPECT_EQ(keys, p.sorted_keys);

    keys = p.keys;
    gpusort::sort_by_key(policy, keys.data(), keys.data() + keys.size(), values.data(), comp);
    expect_sorted(p, keys, values);

    if constexpr (Tag::is_stable)
    {
      keys = p.keys;
      gpusort::stable_sort(policy, keys.data(), keys.data() + keys.size(), comp);
      EXPECT_EQ(keys, p.sorted_keys);

      keys   = p.keys;
      values = p.values;
      gpusort::stable_sort_by_key(policy, keys.begin(), keys.end(), values.begin(), comp);
      expect_sorted(p, keys, values);
    }
  }

  template <class Policy, class Key>
  static void check_ascending(Policy const& policy, problem<Key> const& p)
  {
    std::vector<Key> keys   = p.keys;
    std::vector<int> values = p.values;
    gpusort::sort(policy, keys.begin(), keys.end());
    EXPECT_EQ(keys, p.sorted_keys);

    keys = p.keys;
    gpusort::sort_by_key(policy, keys.begin(), keys.end(), values.begin());
    expect_sorted(p, keys, values);

    if constexpr (Tag::is_stable)
    {
      keys = p.keys;
      gpusort::stable_sort(policy, keys.begin(), keys.end());
      EXPECT_EQ(keys, p.sorted_keys);

      keys   = p.keys;
      values = p.values;
      gpusort::stable_sort_by_key(policy, keys.data(), keys.data() + keys.size(), values.data());
      expect_sorted(p, keys, values);
    }
  }
};

struct tag_names
{
  template <class Tag>
  static std::string GetName(int)
  {
    return std::is_same_v<Tag, quicksort_t>   ? "quicksort"
         : std::is_same_v<Tag, hybrid_sort_t> ? "hybrid_sort"
         : std::is_same_v<Tag, merge_sort_t>  ? "merge_sort"
         : std::is_same_v<Tag, radix_sort_t>  ? "radix_sort"
                                              : "automatic";
  }
};

using tags = ::testing::Types<automatic_t, quicksort_t, hybrid_sort_t, merge_sort_t, radix_sort_t>;
TYPED_TEST_SUITE(host_contract, tags, tag_names);

std::size_t const sizes[] = {0, 1, 2, 3, 15, 16, 17, 31, 32, 33, 100, 255, 256, 257, 1000, 4097, 20011};

TYPED_TEST(host_contract, EveryWayToNameTheSystem)
{
  TypeParam const tag{};
  for (std::size_t const n : sizes)
  {
    SCOPED_TRACE(n);
    problem<std::uint32_t> const p(distribution::zipf, n, std::less<>{});
    this->check_ascending(tag, p); // vectors and raw pointers mean the host
    this->check_ascending(tag(thrust::host), p);
    this->check_ascending(tag(thrust::seq), p);
    this->check_ascending(tag(thrust::cpp::par), p);
    problem<std::uint32_t> const downwards(distribution::few_distinct, n, std::greater<>{});
    this->check(tag, downwards, thrust::greater<std::uint32_t>{});
    this->check(tag(thrust::host), downwards, std::greater<>{});
    this->check(tag(thrust::seq), downwards, cuda::std::greater<std::uint32_t>{});
  }
}

TYPED_TEST(host_contract, EveryDistribution)
{
  TypeParam const tag{};
  for (distribution const d : all_distributions)
  {
    SCOPED_TRACE(name_of(d));
    this->check_ascending(tag(thrust::seq), problem<std::uint64_t>(d, 5003, std::less<>{}));
    this->check(tag(thrust::host), problem<float>(d, 5003, std::less<>{}), thrust::less<float>{});
    this->check(tag, problem<std::int16_t>(d, 5003, std::greater<>{}), std::greater<std::int16_t>{});
  }
}

TYPED_TEST(host_contract, LambdasThatOnlyTheHostCanCall)
{
  auto const by_digit = [](int a, int b) { return (a & 15) < (b & 15); };
  if constexpr (std::is_same_v<TypeParam, radix_sort_t>)
  {
    static_assert(!supports_v<TypeParam, int, decltype(by_digit)>);
  }
  else
  {
    TypeParam const tag{};
    std::map<int, int> calls; // nothing that device code could have
    auto const by_last_digit = [&calls](int a, int b) {
      ++calls[a & 1];
      return (a & 15) < (b & 15);
    };
    for (std::size_t const n : sizes)
    {
      problem<int> const p(distribution::uniform, n, by_digit);
      std::vector<int> keys = p.keys, values = p.values;
      gpusort::sort_by_key(tag(thrust::seq), keys.begin(), keys.end(), values.begin(), by_last_digit);
      std::vector<int> digits, expected;
      for (std::size_t i = 0; i < n; ++i)
      {
        digits.push_back(keys[i] & 15);
        expected.push_back(p.sorted_keys[i] & 15);
      }
      EXPECT_EQ(digits, expected);
      if (TypeParam::is_stable)
      {
        EXPECT_EQ(values, p.sorted_values);
      }
    }
    EXPECT_FALSE(calls.empty());
  }
}

TYPED_TEST(host_contract, FancyIterators)
{
  TypeParam const tag{};
  std::size_t const n = 3001;
  problem<int> const p(distribution::few_distinct, n, std::greater<>{});

  // Backwards, the least key comes last and equal keys are met from the end.
  std::vector<int> keys = p.keys;
  gpusort::sort(tag(thrust::seq), keys.rbegin(), keys.rend());
  EXPECT_EQ(keys, p.sorted_keys);

  keys = p.keys;
  gpusort::sort_by_key(
    tag(thrust::seq), keys.begin(), keys.end(), thrust::make_discard_iterator(), thrust::greater<int>{});
  EXPECT_EQ(keys, p.sorted_keys);

  std::vector<int> where(n), scattered(n), values = p.values, more_values = p.values;
  for (std::size_t i = 0; i < n; ++i)
  {
    where[i]                                      = static_cast<int>(i * 1009 % n);
    scattered[static_cast<std::size_t>(where[i])] = p.keys[i];
  }
  auto const permuted = thrust::make_permutation_iterator(scattered.begin(), where.begin());
  gpusort::sort_by_key(tag(thrust::seq),
                       permuted,
                       permuted + static_cast<std::ptrdiff_t>(n),
                       thrust::make_zip_iterator(thrust::make_tuple(values.begin(), more_values.begin())),
                       thrust::greater<int>{});
  for (std::size_t i = 0; i < n; ++i)
  {
    keys[i] = scattered[static_cast<std::size_t>(where[i])];
  }
  this->expect_sorted(p, keys, values);
  EXPECT_EQ(values, more_values);
}

struct owner
{
  std::unique_ptr<int> number;
};

TEST(HostContract, ElementsThatCanOnlyBeMoved)
{
  // The oracle is the C++ library's, which moves.
  std::vector<owner> owners;
  for (int i = 0; i < 1000; ++i)
  {
    owners.push_back({std::make_unique<int>(i * 7919 % 1000)});
  }
  gpusort::sort(owners.begin(), owners.end(), [](owner const& a, owner const& b) { return *a.number < *b.number; });
  for (int i = 0; i < 1000; ++i)
  {
    ASSERT_NE(owners[static_cast<std::size_t>(i)].number, nullptr);
    EXPECT_EQ(*owners[static_cast<std::size_t>(i)].number, i);
  }
}

TYPED_TEST(host_contract, StringsAndOtherOwners)
{
  if constexpr (!std::is_same_v<TypeParam, radix_sort_t>)
  {
    TypeParam const tag{};
    std::vector<std::string> words, expected;
    for (int i = 0; i < 2003; ++i)
    {
      words.push_back("a word long enough to be on the heap, number " + std::to_string(i * 7919 % 500));
    }
    expected = words;
    std::sort(expected.begin(), expected.end());
    gpusort::sort(tag(thrust::host), words.begin(), words.end(), std::less<>{});
    EXPECT_EQ(words, expected);
  }
  else
  {
    static_assert(!supports_v<TypeParam, std::string, std::less<>>);
  }
}

/// What the functions do without a policy and without a tag.
TEST(HostContract, NoPolicy)
{
  for (std::size_t const n : sizes)
  {
    SCOPED_TRACE(n);
    problem<int> const up(distribution::few_distinct, n, std::less<>{});
    problem<int> const down(distribution::few_distinct, n, std::greater<>{});

    std::vector<int> keys = up.keys;
    gpusort::sort(keys.begin(), keys.end());
    EXPECT_EQ(keys, up.sorted_keys);
    keys = up.keys;
    gpusort::stable_sort(keys.data(), keys.data() + n);
    EXPECT_EQ(keys, up.sorted_keys);
    keys = down.keys;
    gpusort::sort(keys.begin(), keys.end(), thrust::greater<int>{});
    EXPECT_EQ(keys, down.sorted_keys);
    keys = down.keys;
    gpusort::stable_sort(keys.begin(), keys.end(), [](int a, int b) { return a > b; });
    EXPECT_EQ(keys, down.sorted_keys);

    keys                    = up.keys;
    std::vector<int> values = up.values;
    gpusort::sort_by_key(keys.begin(), keys.end(), values.begin());
    EXPECT_EQ(keys, up.sorted_keys);
    EXPECT_EQ(values, up.sorted_values);
    keys   = up.keys;
    values = up.values;
    gpusort::stable_sort_by_key(keys.begin(), keys.end(), values.begin());
    EXPECT_EQ(values, up.sorted_values);
    keys   = down.keys;
    values = down.values;
    gpusort::sort_by_key(keys.begin(), keys.end(), values.begin(), std::greater<>{});
    EXPECT_EQ(values, down.sorted_values);
    keys   = down.keys;
    values = down.values;
    gpusort::stable_sort_by_key(keys.begin(), keys.end(), values.begin(), thrust::greater<int>{});
    EXPECT_EQ(keys, down.sorted_keys);
    EXPECT_EQ(values, down.sorted_values);
  }
}

TEST(HostContract, BarePolicies)
{
  problem<double> const p(distribution::gaussian, 5003, std::less<>{});
  auto const check = [&](auto const& policy) {
    std::vector<double> keys = p.keys;
    std::vector<int> values  = p.values;
    gpusort::sort(policy, keys.begin(), keys.end());
    EXPECT_EQ(keys, p.sorted_keys);
    keys = p.keys;
    gpusort::stable_sort(policy, keys.begin(), keys.end(), thrust::less<double>{});
    EXPECT_EQ(keys, p.sorted_keys);
    keys = p.keys;
    gpusort::sort_by_key(policy, keys.begin(), keys.end(), values.begin(), std::less<double>{});
    EXPECT_EQ(keys, p.sorted_keys);
    EXPECT_EQ(values, p.sorted_values);
    keys   = p.keys;
    values = p.values;
    gpusort::stable_sort_by_key(policy, keys.begin(), keys.end(), values.begin());
    EXPECT_EQ(keys, p.sorted_keys);
    EXPECT_EQ(values, p.sorted_values);
  };
  check(thrust::host);
  check(thrust::seq);
  check(thrust::cpp::par);
}

TEST(HostContract, IsWhatThrustDoes)
{
  problem<std::uint8_t> const p(distribution::uniform, 10007, std::less<>{});
  std::vector<std::uint8_t> ours = p.keys, thrusts = p.keys;
  std::vector<int> our_values = p.values, thrust_values = p.values;
  gpusort::sort_by_key(thrust::seq, ours.begin(), ours.end(), our_values.begin(), thrust::greater<std::uint8_t>{});
  thrust::stable_sort_by_key(
    thrust::seq, thrusts.begin(), thrusts.end(), thrust_values.begin(), thrust::greater<std::uint8_t>{});
  EXPECT_EQ(ours, thrusts);
  EXPECT_EQ(our_values, thrust_values);
}

/// A bare call gives the bytes that Thrust's gives. Thrust puts -0 before +0 on the host, where it is one key here as on the GPU.
template <class Key>
void check_beside_thrust(Key special, Key other_special)
{
  for (int const n : {2, 15, 40, 300, 10'007})
  {
    SCOPED_TRACE(n);
    std::vector<Key> input(static_cast<std::size_t>(n));
    std::vector<int> places(input.size());
    std::mt19937_64 random(static_cast<unsigned>(n));
    for (int i = 0; i < n; ++i)
    {
      auto const k = static_cast<std::size_t>(i);
      input[k]     = i % 7 == 3 ? special : i % 11 == 5 ? other_special : static_cast<Key>(random() % 1000) - Key{400};
      places[k]    = i;
    }
    auto const check = [&](auto sort_with, auto sort_pairs_with) {
      std::vector<Key> ours = input, thrusts = input;
      sort_with(std::true_type{}, ours);
      sort_with(std::false_type{}, thrusts);
      EXPECT_EQ(std::memcmp(ours.data(), thrusts.data(), ours.size() * sizeof(Key)), 0);
      ours = thrusts              = input;
      std::vector<int> our_values = places, thrust_values = places;
      sort_pairs_with(std::true_type{}, ours, our_values);
      sort_pairs_with(std::false_type{}, thrusts, thrust_values);
      EXPECT_EQ(std::memcmp(ours.data(), thrusts.data(), ours.size() * sizeof(Key)), 0);
      EXPECT_EQ(our_values, thrust_values);
    };
    check(
      [](auto is_ours, auto& keys) {
        if constexpr (is_ours.value)
        {
          gpusort::sort(keys.begin(), keys.end());
        }
        else
        {
          thrust::sort(keys.begin(), keys.end());
        }
      },
      [](auto is_ours, auto& keys, auto& values) {
        if constexpr (is_ours.value)
        {
          gpusort::stable_sort_by_key(keys.begin(), keys.end(), values.begin(), thrust::greater<Key>{});
        }
        else
        {
          thrust::stable_sort_by_key(keys.begin(), keys.end(), values.begin(), thrust::greater<Key>{});
        }
      });
  }
}

// Not signed integers: on the host Thrust 3.0.1 puts negative ones behind the others.
TEST(HostContract, NumbersAreSortedAsThrustDoes)
{
  check_beside_thrust<std::uint64_t>(std::numeric_limits<std::uint64_t>::max(), 0);
  check_beside_thrust<float>(std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::quiet_NaN());
  check_beside_thrust<double>(std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity());
}

TYPED_TEST(host_contract, NegativeRange)
{
  TypeParam const tag{};
  std::vector<int> keys = {3, 1, 2}, values = {0, 1, 2};
  EXPECT_THROW(gpusort::sort(tag(thrust::seq), keys.end(), keys.begin()), std::runtime_error);
  EXPECT_THROW(gpusort::sort(tag, keys.end(), keys.begin(), thrust::greater<int>{}), std::runtime_error);
  EXPECT_THROW(gpusort::sort_by_key(tag(thrust::host), keys.end(), keys.begin(), values.begin()), std::runtime_error);
  EXPECT_EQ(keys, (std::vector<int>{3, 1, 2}));
  EXPECT_EQ(values, (std::vector<int>{0, 1, 2}));
}

/// Host memory, counted; refuses when told to.
struct counting_allocator
{
  using value_type = char;

  static constexpr int capacity = 16;

  struct piece
  {
    char* memory;
    std::size_t bytes;
  };

  int calls                   = 0;
  int wrong_returns           = 0;
  bool refuses                = false;
  bool returns_null           = false;
  piece outstanding[capacity] = {};

  char* allocate(std::size_t n)
  {
    ++calls;
    auto* const place = find(nullptr);
    if (refuses || place == nullptr)
    {
      throw std::bad_alloc{};
    }
    if (returns_null)
    {
      return nullptr;
    }
    *place = {static_cast<char*>(std::malloc(n)), n};
    return place->memory;
  }
  void deallocate(char* memory, std::size_t n)
  {
    auto* const place = memory == nullptr ? nullptr : find(memory);
    if (place == nullptr || place->bytes != n)
    {
      ++wrong_returns;
      return;
    }
    std::free(memory);
    *place = {};
  }
  bool is_balanced() const
  {
    return wrong_returns == 0 && std::all_of(std::begin(outstanding), std::end(outstanding), [](piece const& p) {
             return p.memory == nullptr;
           });
  }

private:
  piece* find(char* memory)
  {
    auto* const place =
      std::find_if(std::begin(outstanding), std::end(outstanding), [&](piece const& p) { return p.memory == memory; });
    return place == std::end(outstanding) ? nullptr : place;
  }
};

TYPED_TEST(host_contract, AllocatorOfThePolicy)
{
  TypeParam const tag{};
  problem<int> const p(distribution::uniform, 5003, std::less<>{});
  std::vector<int> keys = p.keys, values = p.values;
  counting_allocator allocator;
  long const before = news;
  gpusort::sort_by_key(tag(thrust::seq(allocator)), keys.begin(), keys.end(), values.begin());
  EXPECT_EQ(news, before) << "memory came from elsewhere";
  this->expect_sorted(p, keys, values);
  EXPECT_TRUE(allocator.is_balanced());
  if (std::is_same_v<TypeParam, quicksort_t>)
  {
    EXPECT_EQ(allocator.calls, 0) << "quicksort works in place";
  }
  else
  {
    EXPECT_GT(allocator.calls, 0);
  }

  // Nothing is asked of it when there is nothing to sort.
  allocator.calls = 0;
  gpusort::sort(tag(thrust::seq(allocator)), keys.begin(), keys.begin());
  gpusort::sort(tag(thrust::seq(allocator)), keys.begin(), keys.begin() + 1);
  EXPECT_EQ(allocator.calls, 0);
}

TYPED_TEST(host_contract, AllocatorThatHasNothing)
{
  TypeParam const tag{};
  problem<int> const p(distribution::uniform, 5003, std::less<>{});
  for (bool const by_exception : {true, false})
  {
    SCOPED_TRACE(by_exception ? "throws" : "returns null");
    counting_allocator allocator;
    allocator.refuses      = by_exception;
    allocator.returns_null = !by_exception;
    std::vector<int> keys = p.keys, values = p.values;
    if constexpr (std::is_same_v<TypeParam, quicksort_t>)
    {
      gpusort::sort_by_key(tag(thrust::seq(allocator)), keys.begin(), keys.end(), values.begin());
      this->expect_sorted(p, keys, values);
    }
    else
    {
      EXPECT_THROW(gpusort::sort_by_key(tag(thrust::seq(allocator)), keys.begin(), keys.end(), values.begin()),
                   std::bad_alloc);
      EXPECT_EQ(keys, p.keys);
      EXPECT_EQ(values, p.values);
    }
    EXPECT_TRUE(allocator.is_balanced());
  }
}

TYPED_TEST(host_contract, ComparatorThatThrows)
{
  if constexpr (!std::is_same_v<TypeParam, radix_sort_t>)
  {
    TypeParam const tag{};
    problem<int> const p(distribution::uniform, 2003, std::less<>{});
    std::vector<int> keys = p.keys;
    int calls             = 0;
    auto const stops      = [&calls](int a, int b) {
      if (++calls == 5000)
      {
        throw std::domain_error("enough");
      }
      return a < b;
    };
    EXPECT_THROW(gpusort::sort(tag(thrust::seq), keys.begin(), keys.end(), stops), std::domain_error);
  }
  else
  {
    static_assert(!supports_v<TypeParam, int, bool (*)(int, int)>);
  }
}

TEST(HostContract, WorkspaceBytesWithoutAnAllocatorAreNone)
{
  std::vector<int> keys(100), values(100);
  EXPECT_EQ(gpusort::workspace_bytes(thrust::host, keys.begin(), keys.end()), 0u);
  EXPECT_EQ(gpusort::workspace_bytes(gpusort::merge_sort(thrust::seq), keys.begin(), keys.end(), std::less<>{}), 0u);
  EXPECT_EQ(gpusort::workspace_bytes_by_key(gpusort::radix_sort, keys.begin(), keys.end(), values.begin()), 0u);
}

/// Sorts keys, and keys with values, with a workspace of as many bytes as workspace_bytes says, and with none.
template <class Tag>
void check_workspace_of(Tag tag)
{
  for (std::size_t const n : {2u, 3u, 100u, 5000u})
  {
    SCOPED_TRACE(n);
    std::vector<long> const input = [&] {
      std::vector<long> made(n);
      for (std::size_t i = 0; i < n; ++i)
      {
        made[i] = static_cast<long>(i * 7919 % n) - 100;
      }
      return made;
    }();
    std::vector<long> keys = input;
    std::vector<char> values(n);
    std::vector<char> memory(n * 100 + 100'000);

    workspace nothing{nullptr, 0};
    auto const without      = tag(thrust::host(nothing));
    std::size_t const bytes = gpusort::workspace_bytes(without, keys.begin(), keys.end());
    if (bytes > 0)
    {
      EXPECT_THROW(gpusort::sort(without, keys.begin(), keys.end()), std::bad_alloc);
      EXPECT_EQ(keys, input);
    }
    ASSERT_LE(bytes, memory.size());
    if (bytes > 0 && n == 5000)
    {
      // Far more than is needed would be wrong as well.
      workspace half{memory.data(), bytes / 2};
      EXPECT_THROW(gpusort::sort(tag(thrust::host(half)), keys.begin(), keys.end()), std::bad_alloc);
    }
    workspace enough{memory.data(), bytes};
    gpusort::sort(tag(thrust::host(enough)), keys.begin(), keys.end());
    EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));

    keys = input;
    std::size_t const more =
      gpusort::workspace_bytes_by_key(without, keys.begin(), keys.end(), values.begin(), thrust::greater<long>());
    ASSERT_LE(more, memory.size());
    workspace enough_for_pairs{memory.data(), more};
    gpusort::sort_by_key(
      tag(thrust::host(enough_for_pairs)), keys.begin(), keys.end(), values.begin(), thrust::greater<long>());
    EXPECT_TRUE(std::is_sorted(keys.rbegin(), keys.rend()));
  }
}

TEST(HostContract, WorkspaceBytesOfAHostPolicyWithAnAllocator)
{
  check_workspace_of(gpusort::automatic);
  check_workspace_of(gpusort::merge_sort);
  check_workspace_of(gpusort::hybrid_sort);
  check_workspace_of(gpusort::radix_sort);
  check_workspace_of(gpusort::quicksort);
}

/// Thrust accepts it on the host.
struct takes_references
{
  bool operator()(int& a, int& b)
  {
    return a > b;
  }
};

TEST(HostContract, ComparatorsThatTakeReferences)
{
  std::vector<int> const input = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9,
                                  3, 2, 3, 8, 4, 6, 2, 6, 4, 3, 3, 8, 3, 2};
  auto const check             = [&](auto policy) {
    std::vector<int> keys = input, values = input;
    gpusort::sort(policy, keys.begin(), keys.end(), takes_references{});
    EXPECT_TRUE(std::is_sorted(keys.rbegin(), keys.rend()));
    keys = input;
    gpusort::sort_by_key(policy, keys.begin(), keys.end(), values.begin(), takes_references{});
    EXPECT_TRUE(std::is_sorted(keys.rbegin(), keys.rend()));
    EXPECT_EQ(values, keys);
  };
  check(thrust::host);
  check(gpusort::merge_sort(thrust::seq));
  check(gpusort::hybrid_sort(thrust::seq));
  check(gpusort::quicksort(thrust::seq));
}

TEST(Workspace, HandsOutItsMemoryAndTakesItBack)
{
  alignas(256) static char memory[1024];
  workspace ws{memory, sizeof(memory)};
  EXPECT_EQ(ws.allocate(1000), memory);
  EXPECT_THROW(ws.allocate(100), std::bad_alloc);
  ws.deallocate(memory, 1000);

  char* const first  = ws.allocate(100);
  char* const second = ws.allocate(100);
  EXPECT_EQ(first, memory);
  EXPECT_GE(second, first + 100);
  EXPECT_LE(second + 100, memory + sizeof(memory));
  ws.deallocate(second, 100);
  EXPECT_EQ(ws.allocate(100), second);
  ws.deallocate(second, 100);
  ws.deallocate(first, 100);
  EXPECT_EQ(ws.allocate(1024), memory);

  workspace none{nullptr, 1024};
  EXPECT_THROW(none.allocate(1), std::bad_alloc);
}

} // namespace
} // namespace gpusort::testing
