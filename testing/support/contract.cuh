// The contract suite: what every algorithm does with every kind of key, value and order.
#pragma once

#include <testing/support/device_memory.cuh>
#include <testing/support/inputs.h>
#include <testing/support/oracle.cuh>
#include <testing/support/types.cuh>

#include <gpusort/hybrid/tuning.h>
#include <gpusort/merge/choice.h>
#include <gpusort/merge/tuning.h>
#include <gpusort/radix/tuning.h>
#include <gpusort/sort.h>
#include <gtest/gtest.h>

#include <thrust/execution_policy.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace gpusort::testing
{

template <class Key, class Value, class Order>
struct contract_case
{
  using key   = Key;
  using value = Value;
  using order = Order;
};

struct case_names
{
  template <class Case>
  static std::string GetName(int)
  {
    return std::string(name_of_type<typename Case::key>::value) + "_with_" + name_of_type<typename Case::value>::value
         + "_by_" + Case::order::name;
  }
};

// How the cases are chosen. Keys come in classes by width; a class of m keys has one case for each of the ten orders, and
// the order's number o decides the rest: key o mod m, value (o + o / 5 + class) mod 5. So every class meets every order, every
// class meets every kind of value twice, every order meets every kind of value, and every key comes with an ascending or
// descending natural order and, but for one, a comparator that only merge sort can use. Keys that come without values
// never, or only with such a comparator, are sorted alone by thrust::less besides.
using orders =
  std::tuple<thrust_less,
             cuda_std_less,
             std_less,
             thrust_greater,
             cuda_std_greater,
             std_greater,
             lambda,
             function_object,
             function_pointer,
             reverse_projection>;

using value_kinds = std::tuple<no_value, std::uint32_t, std::uint64_t, sixteen_bytes, zip_of_two>;

template <std::size_t Class, class... Keys>
struct key_class
{
  template <std::size_t Order>
  using case_of =
    contract_case<std::tuple_element_t<Order % sizeof...(Keys), std::tuple<Keys...>>,
                  std::tuple_element_t<(Order + Order / 5 + Class) % std::tuple_size_v<value_kinds>, value_kinds>,
                  std::tuple_element_t<Order, orders>>;

  template <class... Alone, std::size_t... O>
  static ::testing::Types<case_of<O>..., contract_case<Alone, no_value, thrust_less>...>
    pick(std::index_sequence<O...>);

  template <class... Alone>
  using cases_and = decltype(pick<Alone...>(std::make_index_sequence<std::tuple_size_v<orders>>{}));
};

using one_byte_cases = key_class<0, std::uint8_t, std::int8_t, bool>::cases_and<std::int8_t, bool>;
using two_byte_cases = key_class<1, std::uint16_t, __half, std::int16_t, __nv_bfloat16, level>::
  cases_and<std::uint16_t, __half, std::int16_t, __nv_bfloat16>;
using four_byte_cases    = key_class<2, std::uint32_t, std::int32_t, float>::cases_and<std::int32_t, float>;
using eight_byte_cases   = key_class<3, std::uint64_t, double, std::int64_t>::cases_and<std::uint64_t, double>;
using sixteen_byte_cases = key_class<4, unsigned __int128, __int128>::cases_and<unsigned __int128>;
using record_cases       = key_class<5, three_words, cache_line, rich_key>::cases_and<cache_line, rich_key>;

/// Sizes at which a kernel with tiles of `tile` elements changes its behaviour.
inline std::vector<std::size_t> tile_edges(std::size_t tile)
{
  return {tile - 1, tile, tile + 1, 2 * tile - 1, 2 * tile, 2 * tile + 1, 3 * tile + tile / 2, 5 * tile + 1};
}

/// Sizes from nothing to several tiles, with the edges of the tiles that the back ends have for a case.
template <class Key, class Value>
std::vector<std::size_t> sizes()
{
  std::vector<std::size_t> all = {0, 1, 2, 3, 5, 17, 100, 1000, 10007, 30011, 120'011};
  for (std::size_t edge = 32; edge <= 4096; edge *= 2)
  {
    all.insert(all.end(), {edge - 1, edge, edge + 1});
  }
  auto const add = [&](int threads, int items) {
    std::vector<std::size_t> const edges =
      tile_edges(static_cast<std::size_t>(threads) * static_cast<std::size_t>(items));
    all.insert(all.end(), edges.begin(), edges.end());
  };
  // Elements that are sorted by index have the tiles of 4-byte keys or values.
  constexpr std::size_t value_bytes = std::is_same_v<Value, no_value> ? 0 : sizeof(Value);
  for (std::size_t const key_bytes : {sizeof(Key), sizeof(std::uint32_t)})
  {
    for (std::size_t const moved_bytes : {value_bytes, sizeof(std::uint32_t)})
    {
      auto const digits = radix::pass_shape_for(key_bytes, moved_bytes);
      auto const bucket = hybrid::sort_shape_for(key_bytes, moved_bytes);
      add(digits.threads, digits.items);
      add(2, merge::first_run_for(key_bytes, moved_bytes));
      add(bucket.threads, bucket.items);
      for (merge::input_class const c : {merge::input_class::tiny, merge::input_class::small})
      {
        auto const merged = merge::many_way_shape_for(key_bytes, moved_bytes, c);
        add(merged.threads, merged.sort_items);
      }
      for (radix::sort_class const c : {radix::sort_class::small, radix::sort_class::medium})
      {
        auto const whole = radix::sort_shape_for(key_bytes, moved_bytes, c);
        add(whole.threads, whole.items);
      }
      std::size_t const most_by_search =
        radix::most_cluster_blocks * static_cast<std::size_t>(radix::search_threads(key_bytes));
      all.insert(all.end(), {most_by_search, most_by_search + 1});
      for (unsigned const blocks : radix::cluster_blocks)
      {
        std::size_t const most = radix::most_in_cluster(blocks);
        all.insert(all.end(), {most - 1, most, most + 1});
      }
    }
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

/// Orders in which quicksort is run as well, one of a library and one of the user's: what it has of its own does not depend on which.
template <class Order>
inline constexpr bool is_for_quicksort_v = std::is_same_v<Order, std_less> || std::is_same_v<Order, function_object>;

/// Sorts keys of a distribution with every algorithm and with Thrust, each from the same input. A named type, because an
/// extended lambda may not be made inside a call that a generic lambda leads to.
template <class Key, class Value, bool WithQuicksort>
struct check_every_algorithm
{
  device_range<Key, Value>& room;
  distribution d;
  std::size_t n;
  std::size_t offset;

  template <class Ours, class Thrusts, class Hosts>
  void operator()(Ours ours, Thrusts thrusts, Hosts hosts) const
  {
    expectation<Key, Value> const e(keys_of<Key>(d, n, n + 1), hosts);
    EXPECT_TRUE(room.matches_thrust(e, offset, thrusts)) << "thrust::stable_sort";
    with_both_functions(e, thrust::device, ours, "automatic");
    with_both_functions(e, gpusort::merge_sort(thrust::device), ours, "merge_sort");
    with_both_functions(e, gpusort::hybrid_sort(thrust::device), ours, "hybrid_sort");
    if constexpr (gpusort::supports_v<gpusort::radix_sort_t, Key, Ours>)
    {
      with_both_functions(e, gpusort::radix_sort(thrust::device), ours, "radix_sort");
    }
    if constexpr (WithQuicksort)
    {
      auto const policy = gpusort::quicksort(thrust::device);
      EXPECT_TRUE(room.matches_in_some_order(
        e,
        offset,
        [&](auto first, auto last) { gpusort::sort(policy, first, last, ours); },
        [&](auto first, auto last, auto attached) { gpusort::sort_by_key(policy, first, last, attached, ours); },
        hosts))
        << "quicksort";
    }
  }

private:
  template <class Policy, class Compare>
  void with_both_functions(expectation<Key, Value> const& e, Policy policy, Compare comp, char const* algorithm) const
  {
    EXPECT_TRUE(room.matches(
      e,
      offset,
      [&](auto first, auto last) { gpusort::stable_sort(policy, first, last, comp); },
      [&](auto first, auto last, auto attached) { gpusort::stable_sort_by_key(policy, first, last, attached, comp); }))
      << "stable, " << algorithm;
    // Each of these algorithms is stable whatever it is called through.
    EXPECT_TRUE(room.matches(
      e,
      offset,
      [&](auto first, auto last) { gpusort::sort(policy, first, last, comp); },
      [&](auto first, auto last, auto attached) { gpusort::sort_by_key(policy, first, last, attached, comp); }))
      << "sort, " << algorithm;
  }
};

template <class Case>
class contract : public ::testing::Test
{
public:
  using key   = typename Case::key;
  using value = typename Case::value;

  void check(device_range<key, value>& room, distribution d, std::size_t n, std::size_t offset)
  {
    SCOPED_TRACE(::testing::Message() << n << " keys, " << name_of(d) << ", " << offset << " past an aligned address");
    constexpr bool with_quicksort = is_for_quicksort_v<typename Case::order>;
    Case::order::template with<key>(check_every_algorithm<key, value, with_quicksort>{room, d, n, offset});
  }
};

inline constexpr std::size_t offsets[] = {0, 1, 3};

/// Under a sanitizer everything takes long: with GPUSORT_TEST_STEP=k only every k-th size and distribution is run.
inline std::size_t step()
{
  char const* const value = std::getenv("GPUSORT_TEST_STEP");
  int const step          = value == nullptr ? 1 : std::atoi(value);
  return step < 1 ? 1 : static_cast<std::size_t>(step);
}

TYPED_TEST_SUITE_P(contract);

TYPED_TEST_P(contract, EverySize)
{
  std::vector<std::size_t> const all = sizes<typename TestFixture::key, typename TestFixture::value>();
  device_range<typename TestFixture::key, typename TestFixture::value> room(all.back());
  for (std::size_t i = 0; i < all.size() && !this->HasFailure(); i += step())
  {
    // The numbers of distributions and offsets are coprime: over the sizes, they meet in many pairs.
    this->check(room, all_distributions[i * 5 % std::size(all_distributions)], all[i], offsets[i / step() % 3]);
  }
}

TYPED_TEST_P(contract, EveryDistribution)
{
  // A radix sort of the first is that of a cluster; comparisons of the second try one wave.
  static_assert(merge::least_in_wave < 70'009);
  std::size_t const several[] = {40'009, step() == 1 ? std::size_t{140'009} : std::size_t{70'009}};
  device_range<typename TestFixture::key, typename TestFixture::value> room(several[1]);
  for (std::size_t i = 0; i < std::size(all_distributions); i += step())
  {
    for (std::size_t const n : several)
    {
      this->check(room, all_distributions[i], n, 1);
    }
  }
}

TYPED_TEST_P(contract, Million)
{
  std::size_t const n = 2'300'003;
  device_range<typename TestFixture::key, typename TestFixture::value> room(n);
  this->check(room, distribution::uniform, n, 3);
  this->check(room, distribution::few_distinct, n, 0);
}

REGISTER_TYPED_TEST_SUITE_P(contract, EverySize, EveryDistribution, Million);

} // namespace gpusort::testing
