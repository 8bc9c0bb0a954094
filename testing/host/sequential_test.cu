// The four algorithms in their sequential form, called directly, on the host. The oracle is the C++ library's stable sort.

#include <gpusort/hybrid/sequential.h>
#include <gpusort/merge/sequential.h>
#include <gpusort/quicksort/sequential.h>
#include <gpusort/radix/sequential.h>

#include <cuda/std/functional>
#include <cuda_fp16.h>
#include <gtest/gtest.h>
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/host_vector.h>
#include <thrust/iterator/reverse_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/tuple.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

// The heap of this program, which can be made to fail. nvcc takes these operators for device code too;
// inlined, g++ takes new and free for a mismatched pair.
inline bool heap_is_empty = false;

#if !defined(__CUDA_ARCH__)
[[gnu::noinline]] void* operator new(std::size_t bytes)
{
  void* const memory = heap_is_empty ? nullptr : std::malloc(bytes);
  if (memory == nullptr)
  {
    throw std::bad_alloc();
  }
  return memory;
}

[[gnu::noinline]] void operator delete(void* memory) noexcept
{
  std::free(memory);
}

[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept
{
  std::free(memory);
}
#endif

// Not an unnamed namespace: nvcc's device pass would find half of it unused.
namespace gpusort::testing
{

// The algorithms, and how their functions are called. `OwnMemory` says that the policy brings an allocator.

struct quick_form
{
  static constexpr char const* name = "quicksort";
  static constexpr bool is_stable   = false;
  template <bool OwnMemory, class Policy, class Iterator, class KeyOf, class Compare>
  static void sort(Policy& policy, Iterator first, Iterator last, KeyOf key_of, Compare comp)
  {
    gpusort::quick::sequential_sort(policy, first, last, key_of, comp);
  }
};

struct hybrid_form
{
  static constexpr char const* name = "hybrid";
  static constexpr bool is_stable   = true;
  template <bool OwnMemory, class Policy, class Iterator, class KeyOf, class Compare>
  static void sort(Policy& policy, Iterator first, Iterator last, KeyOf key_of, Compare comp)
  {
    gpusort::hybrid::sequential_sort<OwnMemory>(policy, first, last, key_of, comp);
  }
};

struct merge_form
{
  static constexpr char const* name = "merge";
  static constexpr bool is_stable   = true;
  template <bool OwnMemory, class Policy, class Iterator, class KeyOf, class Compare>
  static void sort(Policy& policy, Iterator first, Iterator last, KeyOf key_of, Compare comp)
  {
    gpusort::merge::sequential_sort<OwnMemory>(policy, first, last, key_of, comp);
  }
};

struct radix_form
{
  static constexpr char const* name = "radix";
  static constexpr bool is_stable   = true;
  template <bool OwnMemory, class Policy, class Iterator, class KeyOf, class Compare>
  static void sort(Policy& policy, Iterator first, Iterator last, KeyOf key_of, Compare comp)
  {
    gpusort::radix::sequential_sort<OwnMemory>(policy, first, last, key_of, comp);
  }
};

struct whole_element
{
  template <class T>
  __host__ __device__ T const& operator()(T const& element) const
  {
    return element;
  }
};

struct key_of_pair
{
  template <class Pair>
  __host__ __device__ decltype(auto) operator()(Pair const& pair) const
  {
    return thrust::get<0>(pair);
  }
};

template <class Form, class Iterator, class Compare>
void sort_keys(Iterator first, Iterator last, Compare comp)
{
  thrust::detail::seq_t policy;
  Form::template sort<false>(policy, first, last, whole_element{}, comp);
}

template <class Form, class KeyIterator, class ValueIterator, class Compare>
void sort_pairs(KeyIterator keys, std::ptrdiff_t n, ValueIterator values, Compare comp)
{
  thrust::detail::seq_t policy;
  auto const first = thrust::make_zip_iterator(thrust::make_tuple(keys, values));
  Form::template sort<false>(policy, first, first + n, key_of_pair{}, comp);
}

// Inputs.

constexpr char const* distributions[] = {
  "uniform", "sorted", "reversed", "constant", "two_values", "few_distinct", "organ_pipe", "nearly_sorted", "sawtooth"};

std::vector<std::uint64_t> numbers(std::string const& distribution, std::size_t n)
{
  std::mt19937_64 random(n + 7 * distribution.size());
  std::vector<std::uint64_t> x(n);
  for (std::size_t i = 0; i < n; ++i)
  {
    // clang-format off
    x[i] = distribution == "constant"     ? 42
         : distribution == "two_values"   ? random() % 2
         : distribution == "few_distinct" ? random() % 50
         : distribution == "organ_pipe"   ? std::min(i, n - i)
         : distribution == "sawtooth"     ? i % 97
                                          : random();
    // clang-format on
  }
  if (distribution == "sorted" || distribution == "reversed" || distribution == "nearly_sorted")
  {
    for (std::uint64_t& value : x)
    {
      value >>= 1; // no sign bit: sorted as every type
    }
    std::sort(x.begin(), x.end());
  }
  if (distribution == "reversed")
  {
    std::reverse(x.begin(), x.end());
  }
  if (distribution == "nearly_sorted")
  {
    for (std::size_t i = 0; i < n / 100; ++i)
    {
      std::swap(x[random() % n], x[random() % n]);
    }
  }
  return x;
}

template <class Key>
thrust::host_vector<Key> keys_of(std::string const& distribution, std::size_t n)
{
  std::vector<std::uint64_t> const x = numbers(distribution, n);
  thrust::host_vector<Key> keys(n);
  for (std::size_t i = 0; i < n; ++i)
  {
    if constexpr (std::is_same_v<Key, __half>)
    {
      keys[i] = __float2half(static_cast<float>(static_cast<std::int64_t>(x[i]) >> 48));
    }
    else if constexpr (std::is_same_v<Key, bool>)
    {
      keys[i] = x[i] % 2 == 1;
    }
    else if constexpr (sizeof(Key) == 16)
    {
      keys[i] = static_cast<Key>(static_cast<Key>(x[i]) << 64 | static_cast<Key>(x[i] * 0x9e3779b97f4a7c15u));
    }
    else if constexpr (std::is_floating_point_v<Key>)
    {
      keys[i] = static_cast<Key>(static_cast<std::int64_t>(x[i])) / 1024;
    }
    else
    {
      // The leading bits, so that the shape survives in short types.
      std::size_t const n_bits = 8 * sizeof(Key);
      keys[i] = static_cast<Key>(distribution == "uniform" || distribution == "sorted" ? x[i] >> (64 - n_bits) : x[i]);
    }
  }
  return keys;
}

// Checks.

template <class Key>
std::vector<std::array<unsigned char, sizeof(Key)>> bytes_in_order(thrust::host_vector<Key> const& keys)
{
  std::vector<std::array<unsigned char, sizeof(Key)>> bytes(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i)
  {
    std::memcpy(bytes[i].data(), &keys[i], sizeof(Key));
  }
  std::sort(bytes.begin(), bytes.end());
  return bytes;
}

template <class Key>
bool same_bytes(thrust::host_vector<Key> const& a, thrust::host_vector<Key> const& b)
{
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(Key)) == 0);
}

/// Positions of `keys` in the order of a stable sort.
template <class Key, class Compare>
std::vector<std::uint32_t> oracle(thrust::host_vector<Key> const& keys, Compare comp)
{
  std::vector<std::uint32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0u);
  Key const* const k = keys.data();
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return comp(k[a], k[b]); });
  return order;
}

/// Sorts keys alone and pairs, and compares both with the oracle. Keys have no padding.
template <class Form, class Key, class Compare>
void expect_sorted(thrust::host_vector<Key> const& input, Compare comp)
{
  std::size_t const n                    = input.size();
  std::vector<std::uint32_t> const order = oracle(input, comp);
  thrust::host_vector<Key> expected(n);
  for (std::size_t i = 0; i < n; ++i)
  {
    expected[i] = input[order[i]];
  }
  auto const in_order = [&](thrust::host_vector<Key> const& keys) {
    for (std::size_t i = 0; i < n; ++i)
    {
      if (comp(keys[i], expected[i]) || comp(expected[i], keys[i]))
      {
        return false;
      }
    }
    return true;
  };

  thrust::host_vector<Key> keys = input;
  sort_keys<Form>(keys.data(), keys.data() + n, comp);
  if (Form::is_stable)
  {
    ASSERT_TRUE(same_bytes(keys, expected)) << "keys alone";
  }
  else
  {
    ASSERT_TRUE(in_order(keys)) << "keys alone";
    ASSERT_EQ(bytes_in_order(keys), bytes_in_order(input)) << "keys alone";
  }

  keys = input;
  std::vector<std::uint32_t> values(n);
  std::iota(values.begin(), values.end(), 0u);
  sort_pairs<Form>(keys.data(), static_cast<std::ptrdiff_t>(n), values.data(), comp);
  if (Form::is_stable)
  {
    ASSERT_EQ(values, order) << "values";
    ASSERT_TRUE(same_bytes(keys, expected)) << "keys with values";
  }
  else
  {
    ASSERT_TRUE(in_order(keys)) << "keys with values";
    std::vector<bool> seen(n, false);
    for (std::size_t i = 0; i < n; ++i)
    {
      ASSERT_LT(values[i], n);
      ASSERT_FALSE(seen[values[i]]) << "a value came out twice";
      seen[values[i]] = true;
      ASSERT_EQ(std::memcmp(&keys[i], &input[values[i]], sizeof(Key)), 0) << "a value lost its key";
    }
  }
}

struct form_names
{
  template <class Form>
  static std::string GetName(int)
  {
    return Form::name;
  }
};

template <class Form>
class every_form : public ::testing::Test
{};
using all_forms = ::testing::Types<quick_form, hybrid_form, merge_form, radix_form>;
TYPED_TEST_SUITE(every_form, all_forms, form_names);

template <class Form>
class comparing_form : public ::testing::Test
{};
using comparing_forms = ::testing::Types<quick_form, hybrid_form, merge_form>;
TYPED_TEST_SUITE(comparing_form, comparing_forms, form_names);

template <class Form>
class form_with_memory : public ::testing::Test
{};
using forms_with_memory = ::testing::Types<hybrid_form, merge_form, radix_form>;
TYPED_TEST_SUITE(form_with_memory, forms_with_memory, form_names);

// Around run and bucket lengths: 16 and 2048, and several splits deep.
constexpr std::size_t sizes[] = {0,   1,   2,   3,   15,   16,   17,   31,   32,    33,
                                 100, 127, 128, 129, 1000, 2047, 2048, 2049, 10007, 100000};

template <class Form, class Key>
void expect_sorted_everywhere(std::size_t largest)
{
  for (char const* const distribution : distributions)
  {
    for (std::size_t const n : sizes)
    {
      if (n > largest)
      {
        continue;
      }
      SCOPED_TRACE(std::string(distribution) + ", n = " + std::to_string(n));
      thrust::host_vector<Key> const input = keys_of<Key>(distribution, n);
      expect_sorted<Form>(input, thrust::less<Key>{});
      if (::testing::Test::HasFatalFailure())
      {
        return;
      }
    }
  }
}

// clang-format off
TYPED_TEST(every_form, sorts_u8)     { expect_sorted_everywhere<TypeParam, std::uint8_t>(2049); }
TYPED_TEST(every_form, sorts_i16)    { expect_sorted_everywhere<TypeParam, std::int16_t>(2049); }
TYPED_TEST(every_form, sorts_u32)    { expect_sorted_everywhere<TypeParam, std::uint32_t>(100000); }
TYPED_TEST(every_form, sorts_i32)    { expect_sorted_everywhere<TypeParam, std::int32_t>(10007); }
TYPED_TEST(every_form, sorts_u64)    { expect_sorted_everywhere<TypeParam, std::uint64_t>(10007); }
TYPED_TEST(every_form, sorts_i64)    { expect_sorted_everywhere<TypeParam, std::int64_t>(2049); }
TYPED_TEST(every_form, sorts_u128)   { expect_sorted_everywhere<TypeParam, unsigned __int128>(2049); }
TYPED_TEST(every_form, sorts_i128)   { expect_sorted_everywhere<TypeParam, __int128>(2049); }
TYPED_TEST(every_form, sorts_float)  { expect_sorted_everywhere<TypeParam, float>(10007); }
TYPED_TEST(every_form, sorts_double) { expect_sorted_everywhere<TypeParam, double>(2049); }
TYPED_TEST(every_form, sorts_half)   { expect_sorted_everywhere<TypeParam, __half>(2049); }
TYPED_TEST(every_form, sorts_bool)   { expect_sorted_everywhere<TypeParam, bool>(2049); }
// clang-format on

TYPED_TEST(every_form, takes_less_and_greater_of_all_three_namespaces)
{
  thrust::host_vector<std::int32_t> const input = keys_of<std::int32_t>("uniform", 5000);
  expect_sorted<TypeParam>(input, thrust::less<>{});
  expect_sorted<TypeParam>(input, thrust::greater<>{});
  expect_sorted<TypeParam>(input, thrust::greater<std::int32_t>{});
  expect_sorted<TypeParam>(input, cuda::std::less<std::int32_t>{});
  expect_sorted<TypeParam>(input, cuda::std::greater<>{});
  expect_sorted<TypeParam>(input, std::less<>{});
  expect_sorted<TypeParam>(input, std::greater<std::int32_t>{});
}

// Ties under these comparators are common, so a stable form has to keep them in order.

bool by_low_byte(std::uint32_t const& a, std::uint32_t const& b)
{
  return (a & 255) < (b & 255);
}

struct counting_less
{
  std::size_t* calls;
  std::uint32_t own_calls = 0;
  bool operator()(std::uint32_t a, std::uint32_t b) // not const
  {
    ++own_calls;
    ++*calls;
    return a % 1000 < b % 1000;
  }
};

// Not in the body of the test: that is a private function, where nvcc takes no such lambda.
template <class Form>
void expect_sorted_by_host_and_device_lambda(thrust::host_vector<std::uint32_t> const& input, std::uint32_t mask)
{
  expect_sorted<Form>(input, [mask] __host__ __device__(std::uint32_t a, std::uint32_t b) {
    return (b & mask) < (a & mask);
  });
}

TYPED_TEST(comparing_form, takes_any_comparator)
{
  for (std::size_t const n : {33u, 2049u, 20000u})
  {
    thrust::host_vector<std::uint32_t> const input = keys_of<std::uint32_t>("uniform", n);
    expect_sorted<TypeParam>(input, &by_low_byte);

    std::uint32_t const mask = 0x155;
    expect_sorted<TypeParam>(input, [mask](std::uint32_t a, std::uint32_t b) { return (a & mask) < (b & mask); });
    expect_sorted_by_host_and_device_lambda<TypeParam>(input, mask);

    std::size_t calls = 0;
    expect_sorted<TypeParam>(input, counting_less{&calls});
    EXPECT_GT(calls, n);
  }
}

TYPED_TEST(comparing_form, takes_a_key_out_of_a_record)
{
  struct record
  {
    double weight;
    std::int32_t cell;
    std::uint32_t position;
  };
  std::vector<record> records;
  for (std::uint64_t const x : numbers("few_distinct", 3000))
  {
    records.push_back({0.5, static_cast<std::int32_t>(x), static_cast<std::uint32_t>(records.size())});
  }
  thrust::detail::seq_t policy;
  auto const cell_of = [](record const& r) -> std::int32_t const& { return r.cell; };
  TypeParam::template sort<false>(policy, records.begin(), records.end(), cell_of, std::greater<std::int32_t>{});
  for (std::size_t i = 1; i < records.size(); ++i)
  {
    ASSERT_GE(records[i - 1].cell, records[i].cell);
    if (TypeParam::is_stable && records[i - 1].cell == records[i].cell)
    {
      ASSERT_LT(records[i - 1].position, records[i].position);
    }
  }
}

TYPED_TEST(every_form, sorts_through_reverse_iterators)
{
  thrust::host_vector<std::uint32_t> keys = keys_of<std::uint32_t>("uniform", 5000);
  thrust::host_vector<std::uint32_t> expected(keys);
  std::sort(expected.begin(), expected.end(), std::greater<>{});
  sort_keys<TypeParam>(
    thrust::make_reverse_iterator(keys.end()), thrust::make_reverse_iterator(keys.begin()), thrust::less<>{});
  EXPECT_TRUE(same_bytes(keys, expected));
}

struct both_fields
{
  template <class A, class B>
  __host__ __device__ bool operator()(A const& a, B const& b) const
  {
    return thrust::get<0>(a) != thrust::get<0>(b)
           ? thrust::get<0>(a) < thrust::get<0>(b)
           : thrust::get<1>(a) < thrust::get<1>(b);
  }
};

TYPED_TEST(comparing_form, sorts_keys_that_are_proxies)
{
  thrust::host_vector<std::uint32_t> a      = keys_of<std::uint32_t>("few_distinct", 5000);
  thrust::host_vector<float> b              = keys_of<float>("uniform", 5000);
  thrust::host_vector<std::uint32_t> values = keys_of<std::uint32_t>("sawtooth", 5000);
  std::vector<std::tuple<std::uint32_t, float, std::uint32_t>> expected;
  for (std::size_t i = 0; i < a.size(); ++i)
  {
    expected.emplace_back(a[i], b[i], values[i]);
  }
  std::sort(expected.begin(), expected.end());

  auto const keys       = thrust::make_zip_iterator(thrust::make_tuple(a.data(), b.data()));
  auto a_alone          = a;
  auto b_alone          = b;
  auto const keys_alone = thrust::make_zip_iterator(thrust::make_tuple(a_alone.data(), b_alone.data()));
  sort_keys<TypeParam>(keys_alone, keys_alone + 5000, both_fields{});
  sort_pairs<TypeParam>(keys, 5000, values.data(), both_fields{});
  for (std::size_t i = 0; i < a.size(); ++i)
  {
    ASSERT_EQ(std::make_tuple(a[i], b[i], values[i]), expected[i]);
    ASSERT_EQ(a_alone[i], a[i]);
    ASSERT_EQ(b_alone[i], b[i]);
  }
}

TYPED_TEST(every_form, moves_values_that_are_a_zip_of_two)
{
  thrust::host_vector<std::uint32_t> keys = keys_of<std::uint32_t>("uniform", 5000);
  thrust::host_vector<std::uint32_t> const input(keys);
  std::vector<std::uint32_t> first(5000);
  std::vector<double> second(5000);
  std::iota(first.begin(), first.end(), 0u);
  std::iota(second.begin(), second.end(), 0.0);
  sort_pairs<TypeParam>(
    keys.data(), 5000, thrust::make_zip_iterator(thrust::make_tuple(first.data(), second.data())), thrust::greater<>{});
  for (std::size_t i = 0; i < keys.size(); ++i)
  {
    ASSERT_TRUE(i == 0 || keys[i - 1] >= keys[i]);
    ASSERT_EQ(keys[i], input[first[i]]);
    ASSERT_EQ(second[i], first[i]);
  }
}

// Radix order of floats, by a rank that is computed another way: sign and magnitude.

std::int64_t float_rank(float x)
{
  std::uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof(x));
  std::int64_t const magnitude = bits & 0x7fffffffu;
  return bits >> 31 != 0 ? -magnitude : magnitude;
}

struct rank_less
{
  bool operator()(float a, float b) const
  {
    return float_rank(a) < float_rank(b);
  }
};

TEST(radix_form_of_floats, orders_zeros_infinities_and_nans)
{
  float const inf        = std::numeric_limits<float>::infinity();
  float const nan        = std::numeric_limits<float>::quiet_NaN();
  float const tiny       = std::numeric_limits<float>::denorm_min();
  float const specials[] = {-nan, -inf, -1e30f, -1.0f, -tiny, -0.0f, 0.0f, tiny, 1.0f, 1e30f, inf, nan};
  thrust::host_vector<float> input;
  std::mt19937 random(3);
  for (int i = 0; i < 3000; ++i)
  {
    input.push_back(specials[random() % 12]);
  }

  for (bool const ascending : {true, false})
  {
    std::vector<std::uint32_t> const order =
      ascending ? oracle(input, rank_less{}) : oracle(input, [](float a, float b) { return rank_less{}(b, a); });
    thrust::host_vector<float> expected;
    for (std::uint32_t const i : order)
    {
      expected.push_back(input[i]);
    }
    thrust::host_vector<float> alone = input;
    thrust::host_vector<float> keys  = input;
    std::vector<std::uint32_t> values(input.size());
    std::iota(values.begin(), values.end(), 0u);
    if (ascending)
    {
      sort_keys<radix_form>(alone.data(), alone.data() + alone.size(), thrust::less<float>{});
      sort_pairs<radix_form>(keys.data(), 3000, values.data(), thrust::less<float>{});
    }
    else
    {
      sort_keys<radix_form>(alone.data(), alone.data() + alone.size(), thrust::greater<float>{});
      sort_pairs<radix_form>(keys.data(), 3000, values.data(), thrust::greater<float>{});
    }
    EXPECT_TRUE(same_bytes(alone, expected));
    EXPECT_TRUE(same_bytes(keys, expected));
    EXPECT_EQ(values, order);
  }
}

TEST(radix_form_of_integers, skips_digits_that_do_not_differ)
{
  // 1 and 3 mixed digits end in different buffers; the constant ones are not zero.
  for (std::uint64_t const mask : {0xffull << 8, 0xff00ffull << 24, 0xffull << 56, 0ull})
  {
    thrust::host_vector<std::uint64_t> input = keys_of<std::uint64_t>("uniform", 3000);
    for (std::uint64_t& x : input)
    {
      x = (x & mask) | (0x1122334455667788ull & ~mask);
    }
    expect_sorted<radix_form>(input, thrust::less<>{});
    expect_sorted<radix_form>(input, thrust::greater<>{});
  }
}

// Elements with an owner: nothing may leak, whatever happens.

struct owner
{
  static inline int alive = 0;

  std::unique_ptr<std::uint32_t> key;
  std::uint32_t position = 0;

  owner()
  {
    ++alive;
  }
  owner(std::uint32_t k, std::uint32_t p)
      : key(new std::uint32_t(k))
      , position(p)
  {
    ++alive;
  }
  owner(owner const& other)
      : key(other.key ? new std::uint32_t(*other.key) : nullptr)
      , position(other.position)
  {
    ++alive;
  }
  owner(owner&& other) noexcept
      : key(std::move(other.key))
      , position(other.position)
  {
    ++alive;
  }
  owner& operator=(owner const& other)
  {
    return *this = owner(other);
  }
  owner& operator=(owner&& other) noexcept
  {
    key      = std::move(other.key);
    position = other.position;
    return *this;
  }
  ~owner()
  {
    --alive;
  }
};

std::vector<owner> owners(std::size_t n)
{
  std::vector<owner> range;
  range.reserve(n);
  for (std::uint64_t const x : numbers("few_distinct", n))
  {
    range.emplace_back(static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(range.size()));
  }
  return range;
}

struct owner_less
{
  bool operator()(owner const& a, owner const& b) const
  {
    return *a.key < *b.key; // a moved-from owner has none
  }
};

TYPED_TEST(comparing_form, keeps_elements_that_own_memory)
{
  for (std::size_t const n : {1u, 2u, 100u, 2049u, 10007u})
  {
    {
      std::vector<owner> range = owners(n);
      sort_keys<TypeParam>(range.begin(), range.end(), owner_less{});
      EXPECT_EQ(owner::alive, static_cast<int>(n));
      std::vector<bool> seen(n, false);
      for (std::size_t i = 0; i < n; ++i)
      {
        ASSERT_NE(range[i].key, nullptr);
        ASSERT_FALSE(seen[range[i].position]);
        seen[range[i].position] = true;
        if (i > 0)
        {
          ASSERT_FALSE(owner_less{}(range[i], range[i - 1]));
          if (TypeParam::is_stable && *range[i - 1].key == *range[i].key)
          {
            ASSERT_LT(range[i - 1].position, range[i].position);
          }
        }
      }
    }
    EXPECT_EQ(owner::alive, 0);
  }
}

TYPED_TEST(comparing_form, pairs_keys_with_values_that_own_memory)
{
  std::vector<std::string> keys;
  std::vector<owner> values = owners(3000);
  for (owner const& o : values)
  {
    keys.push_back("a key too long to be kept inside the string itself: " + std::to_string(*o.key));
  }
  sort_pairs<TypeParam>(keys.data(), 3000, values.data(), std::less<>{});
  for (std::size_t i = 0; i < keys.size(); ++i)
  {
    ASSERT_TRUE(i == 0 || keys[i - 1] <= keys[i]);
    ASSERT_NE(values[i].key, nullptr);
    ASSERT_EQ(keys[i].substr(keys[i].rfind(' ') + 1), std::to_string(*values[i].key));
  }
  EXPECT_EQ(owner::alive, 3000);
}

// Allocators.

struct allocator_state
{
  int calls                = 0;
  int fail_at_call         = -1;
  bool fails_by_null       = false;
  std::ptrdiff_t bytes_out = 0;
};

struct out_of_pool : std::exception
{};

/// Hands out addresses that are aligned for nothing but char, as an allocator of char may.
struct char_allocator
{
  using value_type = char;
  allocator_state* state;

  char* allocate(std::size_t bytes)
  {
    if (state->calls++ == state->fail_at_call)
    {
      if (state->fails_by_null)
      {
        return nullptr;
      }
      throw out_of_pool();
    }
    state->bytes_out += static_cast<std::ptrdiff_t>(bytes);
    return static_cast<char*>(std::malloc(bytes + 1)) + 1;
  }
  void deallocate(char* memory, std::size_t bytes)
  {
    state->bytes_out -= static_cast<std::ptrdiff_t>(bytes);
    std::free(memory - 1);
  }
};

TYPED_TEST(comparing_form, leaves_nothing_behind_when_the_comparator_throws)
{
  for (std::size_t const n : {20u, 1000u, 5000u})
  {
    for (std::size_t const allowed : {std::size_t{0}, std::size_t{1}, n / 2, 2 * n, 6 * n})
    {
      bool threw            = false;
      allocator_state state = {};
      {
        char_allocator allocator{&state};
        auto policy              = thrust::seq(allocator);
        std::vector<owner> range = owners(n);
        std::size_t calls        = 0;
        auto const comp          = [&](owner const& a, owner const& b) {
          if (calls++ == allowed)
          {
            throw std::runtime_error("no more");
          }
          return owner_less{}(a, b);
        };
        try
        {
          TypeParam::template sort<true>(policy, range.begin(), range.end(), whole_element{}, comp);
        }
        catch (std::runtime_error const&)
        {
          threw = true;
        }
        EXPECT_EQ(threw, calls > allowed);
        EXPECT_EQ(owner::alive, static_cast<int>(n));
        EXPECT_EQ(state.bytes_out, 0);
      }
      EXPECT_TRUE(threw || allowed > n) << n << " elements with " << allowed << " comparisons";
      EXPECT_EQ(owner::alive, 0);
    }
  }
}

TYPED_TEST(form_with_memory, takes_the_policys_memory_and_gives_it_back)
{
  allocator_state state = {};
  char_allocator allocator{&state};
  auto policy                                     = thrust::seq(allocator);
  thrust::host_vector<unsigned __int128> const in = keys_of<unsigned __int128>("uniform", 5000);
  thrust::host_vector<unsigned __int128> keys     = in;
  thrust::host_vector<unsigned __int128> expected = in;
  std::sort(expected.begin(), expected.end());
  auto const first = keys.data();

  heap_is_empty = true;
  TypeParam::template sort<true>(policy, first, first + 5000, whole_element{}, thrust::less<unsigned __int128>{});
  heap_is_empty = false;

  EXPECT_TRUE(same_bytes(keys, expected));
  EXPECT_GT(state.calls, 0);
  EXPECT_EQ(state.bytes_out, 0);

  int const calls = state.calls;
  TypeParam::template sort<true>(policy, first, first + 1, whole_element{}, thrust::less<unsigned __int128>{});
  TypeParam::template sort<true>(policy, first, first, whole_element{}, thrust::less<unsigned __int128>{});
  EXPECT_EQ(state.calls, calls) << "nothing to sort, nothing to allocate";
}

TYPED_TEST(form_with_memory, leaves_the_range_alone_when_the_allocator_fails)
{
  thrust::host_vector<std::uint32_t> const input = keys_of<std::uint32_t>("uniform", 5000);
  for (bool const by_null : {false, true})
  {
    int failures = 0;
    for (int call = 0;; ++call)
    {
      allocator_state state = {};
      state.fail_at_call    = call;
      state.fails_by_null   = by_null;
      char_allocator allocator{&state};
      auto policy                             = thrust::seq(allocator);
      thrust::host_vector<std::uint32_t> keys = input;
      auto const sort                         = [&] {
        TypeParam::template sort<true>(
          policy, keys.data(), keys.data() + keys.size(), whole_element{}, thrust::less<std::uint32_t>{});
      };
      bool threw = false;
      try
      {
        sort();
      }
      catch (std::bad_alloc const&)
      {
        threw = true;
        EXPECT_TRUE(by_null) << "the allocator's own exception has to pass through";
      }
      catch (out_of_pool const&)
      {
        threw = true;
        EXPECT_FALSE(by_null);
      }
      EXPECT_EQ(state.bytes_out, 0);
      if (!threw)
      {
        EXPECT_LE(state.calls, call) << "a failed allocation went unnoticed";
        break;
      }
      ++failures;
      EXPECT_TRUE(same_bytes(keys, input));
    }
    EXPECT_GE(failures, 1);
  }
}

TYPED_TEST(form_with_memory, leaves_the_range_alone_when_the_heap_is_empty)
{
  thrust::host_vector<std::uint32_t> const input = keys_of<std::uint32_t>("uniform", 5000);
  thrust::host_vector<std::uint32_t> keys        = input;
  bool threw                                     = false;
  heap_is_empty                                  = true;
  try
  {
    sort_keys<TypeParam>(keys.data(), keys.data() + keys.size(), thrust::less<std::uint32_t>{});
  }
  catch (std::bad_alloc const&)
  {
    threw = true;
  }
  heap_is_empty = false;
  EXPECT_TRUE(threw);
  EXPECT_TRUE(same_bytes(keys, input));
}

struct copy_refused : std::exception
{};

struct reluctant
{
  static inline int alive       = 0;
  static inline int copies_left = 0;
  std::uint32_t key;

  explicit reluctant(std::uint32_t k)
      : key(k)
  {
    ++alive;
  }
  reluctant(reluctant const& other)
      : key(other.key)
  {
    if (copies_left-- == 0)
    {
      throw copy_refused();
    }
    ++alive;
  }
  reluctant& operator=(reluctant const&) = default;
  ~reluctant()
  {
    --alive;
  }
};

TEST(temporary, destroys_the_copies_it_made_when_one_fails)
{
  std::vector<reluctant> range;
  range.reserve(10);
  for (std::uint32_t i = 0; i < 10; ++i)
  {
    range.emplace_back(i);
  }
  allocator_state state = {};
  char_allocator allocator{&state};
  auto policy = thrust::seq(allocator);
  using copy  = gpusort::runtime::temporary<true, reluctant, decltype(policy)>;

  reluctant::copies_left = 7;
  EXPECT_THROW(copy(policy, range.begin(), 10), copy_refused);
  EXPECT_EQ(reluctant::alive, 10);
  EXPECT_EQ(state.bytes_out, 0);

  reluctant::copies_left = 100;
  {
    copy const made(policy, range.begin(), 10);
    EXPECT_EQ(reluctant::alive, 20);
    EXPECT_GE(state.bytes_out, static_cast<std::ptrdiff_t>(10 * sizeof(reluctant)));
    for (std::uint32_t i = 0; i < 10; ++i)
    {
      EXPECT_EQ(made.data()[i].key, i);
    }
  }
  EXPECT_EQ(reluctant::alive, 10);
  EXPECT_EQ(state.bytes_out, 0);

  copy const empty(policy, range.begin(), 0);
  EXPECT_EQ(empty.data(), nullptr);
}

TEST(quicksort_form, allocates_nothing)
{
  thrust::host_vector<std::uint32_t> keys = keys_of<std::uint32_t>("uniform", 100000);
  heap_is_empty                           = true;
  sort_keys<quick_form>(keys.data(), keys.data() + keys.size(), thrust::less<std::uint32_t>{});
  heap_is_empty = false;
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
}

// Comparators that are no orderings: the sort ends, stays inside the range and loses nothing.

template <class Form, class Compare>
void expect_permutation(thrust::host_vector<float> const& input, Compare comp)
{
  constexpr std::size_t guards = 64;
  constexpr float guard        = -12345.5f;
  std::size_t const n          = input.size();
  thrust::host_vector<float> padded(n + 2 * guards, guard);
  std::copy(input.begin(), input.end(), padded.begin() + guards);
  bool strayed     = false;
  auto const watch = [&](float a, float b) {
    strayed = strayed || a == guard || b == guard;
    return comp(a, b);
  };
  sort_keys<Form>(padded.data() + guards, padded.data() + guards + n, watch);
  EXPECT_FALSE(strayed) << "the comparator was shown an element from outside";
  for (std::size_t i = 0; i < guards; ++i)
  {
    ASSERT_EQ(padded[i], guard);
    ASSERT_EQ(padded[guards + n + i], guard);
  }
  thrust::host_vector<float> const output(padded.begin() + guards, padded.begin() + guards + n);
  EXPECT_EQ(bytes_in_order(output), bytes_in_order(input));
}

TYPED_TEST(comparing_form, survives_comparators_that_lie)
{
  for (std::size_t const n : {2u, 3u, 17u, 100u, 1000u, 2049u, 20000u})
  {
    for (char const* const distribution : {"uniform", "sorted", "constant", "few_distinct"})
    {
      SCOPED_TRACE(std::string(distribution) + ", n = " + std::to_string(n));
      thrust::host_vector<float> const input = keys_of<float>(distribution, n);
      expect_permutation<TypeParam>(input, [](float, float) { return true; });
      expect_permutation<TypeParam>(input, [](float, float) { return false; });
      expect_permutation<TypeParam>(input, std::less_equal<>{});
      expect_permutation<TypeParam>(input, std::not_equal_to<>{});
      std::mt19937 random(5);
      expect_permutation<TypeParam>(input, [&](float, float) { return (random() & 1) != 0; });

      thrust::host_vector<float> with_nans = input;
      for (std::size_t i = 0; i < n; i += 3)
      {
        with_nans[i] = std::numeric_limits<float>::quiet_NaN();
      }
      expect_permutation<TypeParam>(with_nans, std::less<>{});
    }
  }
}

// McIlroy, A Killer Adversary for Quicksort (1999): values are decided only when they are compared, so that every pivot
// turns out to be nearly the smallest.
class adversary
{
public:
  explicit adversary(std::size_t n)
      : value_(n, gas(n))
  {}

  bool less(std::size_t a, std::size_t b)
  {
    ++comparisons;
    if (is_gas(a) && is_gas(b))
    {
      freeze(a == candidate_ ? a : b);
    }
    if (is_gas(a))
    {
      candidate_ = a;
    }
    else if (is_gas(b))
    {
      candidate_ = b;
    }
    return value_[a] < value_[b];
  }

  std::vector<std::size_t> const& values() const
  {
    return value_;
  }

  std::size_t comparisons = 0;

private:
  static std::size_t gas(std::size_t n)
  {
    return n;
  }
  bool is_gas(std::size_t i) const
  {
    return value_[i] == gas(value_.size());
  }
  void freeze(std::size_t i)
  {
    value_[i] = solid_++;
  }

  std::vector<std::size_t> value_;
  std::size_t solid_     = 0;
  std::size_t candidate_ = 0;
};

TYPED_TEST(comparing_form, stays_n_log_n_against_a_killer_adversary)
{
  for (std::size_t const n : {1000u, 10000u, 100000u})
  {
    double const bound = 7.0 * static_cast<double>(n) * std::log2(static_cast<double>(n));
    adversary opponent(n);
    std::vector<std::size_t> items(n);
    std::iota(items.begin(), items.end(), std::size_t{0});
    sort_keys<TypeParam>(items.data(), items.data() + n, [&](std::size_t a, std::size_t b) {
      return opponent.less(a, b);
    });
    EXPECT_LT(static_cast<double>(opponent.comparisons), bound);
    for (std::size_t i = 1; i < n; ++i)
    {
      ASSERT_LE(opponent.values()[items[i - 1]], opponent.values()[items[i]]);
    }

    // The sequence that the adversary ended up with is a killer for the same algorithm again.
    std::vector<std::size_t> killer = opponent.values();
    std::size_t comparisons         = 0;
    sort_keys<TypeParam>(killer.data(), killer.data() + n, [&](std::size_t a, std::size_t b) {
      ++comparisons;
      return a < b;
    });
    EXPECT_LT(static_cast<double>(comparisons), bound);
    EXPECT_TRUE(std::is_sorted(killer.begin(), killer.end()));
  }
}

TYPED_TEST(comparing_form, compares_little_when_there_is_little_to_do)
{
  constexpr std::size_t n = 100000;
  for (char const* const distribution : distributions)
  {
    thrust::host_vector<std::uint32_t> keys = keys_of<std::uint32_t>(distribution, n);
    std::size_t comparisons                 = 0;
    sort_keys<TypeParam>(keys.data(), keys.data() + n, [&](std::uint32_t a, std::uint32_t b) {
      ++comparisons;
      return a < b;
    });
    // log2 n is 16.6; two comparisons tell less, equal and greater apart.
    EXPECT_LT(comparisons, n * 34) << distribution;
    if (std::string(distribution) == "constant" && !std::is_same_v<TypeParam, merge_form>)
    {
      EXPECT_LT(comparisons, n * 6) << "equivalent elements are done after one pass";
    }
  }
}

// The pieces.

TEST(quicksort_form, heap_sort_sorts)
{
  for (std::size_t n = 0; n < 200; ++n)
  {
    thrust::host_vector<std::uint32_t> keys = keys_of<std::uint32_t>(n % 2 == 0 ? "uniform" : "few_distinct", n);
    thrust::host_vector<std::uint32_t> const expected = [&] {
      thrust::host_vector<std::uint32_t> copy = keys;
      std::sort(copy.begin(), copy.end());
      return copy;
    }();
    thrust::less<std::uint32_t> less;
    gpusort::quick::heap_sort(keys.data(), static_cast<std::ptrdiff_t>(n), less);
    ASSERT_TRUE(same_bytes(keys, expected)) << n;
  }
}

TEST(quicksort_form, median_is_the_middle_of_every_order_of_three)
{
  thrust::less<int> less;
  for (int a = 0; a < 3; ++a)
  {
    for (int b = 0; b < 3; ++b)
    {
      for (int c = 0; c < 3; ++c)
      {
        int const x[] = {a, b, c};
        int sorted[]  = {a, b, c};
        std::sort(sorted, sorted + 3);
        EXPECT_EQ(*gpusort::quick::median(x, x + 1, x + 2, less), sorted[1]);
      }
    }
  }
}

TEST(quicksort_form, partition_leaves_three_parts)
{
  thrust::less<std::uint32_t> less;
  for (char const* const distribution : distributions)
  {
    for (std::size_t const n : {1u, 2u, 3u, 50u, 1000u})
    {
      thrust::host_vector<std::uint32_t> keys = keys_of<std::uint32_t>(distribution, n);
      auto const input                        = bytes_in_order(keys);
      std::uint32_t* const first              = keys.data();
      std::uint32_t* const last               = first + n;
      std::uint32_t const pivot               = first[n / 2];
      auto const bounds                       = gpusort::quick::partition_three_ways(first, last, first + n / 2, less);
      EXPECT_TRUE(std::all_of(first, bounds.less_end, [&](std::uint32_t x) { return x < pivot; }));
      EXPECT_TRUE(std::all_of(bounds.less_end, bounds.greater_begin, [&](std::uint32_t x) { return x == pivot; }));
      EXPECT_TRUE(std::all_of(bounds.greater_begin, last, [&](std::uint32_t x) { return x > pivot; }));
      EXPECT_LT(bounds.less_end, bounds.greater_begin);
      EXPECT_EQ(bytes_in_order(keys), input);
    }
  }
}

TEST(hybrid_form_split, makes_buckets_of_fair_size_in_order)
{
  constexpr std::size_t n = 50000;
  thrust::less<std::uint32_t> less;
  for (char const* const distribution : {"uniform", "sorted", "reversed", "nearly_sorted", "organ_pipe"})
  {
    thrust::host_vector<std::uint32_t> keys = keys_of<std::uint32_t>(distribution, n);
    std::vector<std::uint32_t> buffer(n);
    std::vector<unsigned char> bucket(n);
    std::ptrdiff_t bucket_end[gpusort::hybrid::buckets];
    gpusort::hybrid::split(keys.data(), n, buffer.data(), bucket.data(), bucket_end, less);
    EXPECT_EQ(bucket_end[gpusort::hybrid::buckets - 1], static_cast<std::ptrdiff_t>(n));
    std::ptrdiff_t begin = 0;
    std::uint32_t before = 0; // the largest key so far
    for (int b = 0; b < gpusort::hybrid::buckets; ++b)
    {
      std::ptrdiff_t const end = bucket_end[b];
      ASSERT_LE(begin, end);
      EXPECT_LT(end - begin, static_cast<std::ptrdiff_t>(n / 16 * 3)) << distribution << ", bucket " << b;
      if (begin < end)
      {
        auto const range = std::minmax_element(keys.data() + begin, keys.data() + end);
        EXPECT_TRUE(begin == 0 || before < *range.first) << distribution << ", bucket " << b;
        before = *range.second;
        if (b % 2 == 1)
        {
          EXPECT_EQ(*range.first, *range.second) << "a bucket of equivalent keys";
        }
      }
      begin = end;
    }
  }
}

} // namespace gpusort::testing
