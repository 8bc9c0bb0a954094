// Hybrid sort and quicksort that split what they would rather merge, into few buckets a level if need be, so that tests meet all
// their kernels and levels with few elements; and what stable sorts by comparisons have to give.
#pragma once

#include <gpusort/algorithm.h>
#include <gpusort/hybrid/device.cuh>
#include <gpusort/quicksort/device.cuh>
#include <gpusort/sort.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace gpusort::testing
{

struct splitting_form : hybrid::stable_form
{
  static constexpr bool merges_small_inputs = false;
  static constexpr bool tries_numbers       = false;
};
struct splitting_quick_form : quick::unstable_form
{
  static constexpr bool merges_small_inputs = false;
};

/// Levels of up to eight buckets: as many levels as there can be, for few elements.
struct deep_form : splitting_form
{
  static constexpr int log2_of_level = 3;
};
struct deep_quick_form : splitting_quick_form
{
  static constexpr int log2_of_level = 3;
};

/// For more elements than a block sorts.
struct split_t : algorithm<split_t>
{
  static constexpr bool is_stable = true;
  template <class Key, class Compare>
  static constexpr bool supports = true;
};
struct quick_split_t : algorithm<quick_split_t>
{
  static constexpr bool is_stable = false;
  template <class Key, class Compare>
  static constexpr bool supports = true;
};

struct deep_split_t : algorithm<deep_split_t>
{
  static constexpr bool is_stable = true;
  template <class Key, class Compare>
  static constexpr bool supports = true;
};
struct deep_quick_split_t : algorithm<deep_quick_split_t>
{
  static constexpr bool is_stable = false;
  template <class Key, class Compare>
  static constexpr bool supports = true;
};

inline constexpr split_t split{};
inline constexpr quick_split_t quick_split{};
inline constexpr deep_split_t deep_split{};
inline constexpr deep_quick_split_t deep_quick_split{};

/// The most elements that one block sorts.
template <class Key, class Value>
inline constexpr std::size_t most_in_block = hybrid::most_of_v<Key, Value>;

/// How many keys of n a first level chooses its splitters by, those at hybrid::sampled_place(i, n / that).
template <class Key, class Value, class Compare, class Form = hybrid::stable_form>
std::size_t sampled_of(std::size_t n)
{
  using plan = typename hybrid::sample_sort<Form>::template plan<Key, Value, Compare>;
  plan const whole(n);
  constexpr auto shape       = hybrid::sample_shape_for(sizeof(Key));
  int const log2             = whole.depth.log2[0];
  std::uint64_t const wanted = (n >> log2) + 1;
  int const buckets          = hybrid::buckets_for(n, wanted, log2);
  return static_cast<std::size_t>(hybrid::samples_for(n, buckets, wanted, plan::most, shape.threads * shape.items));
}

/// What the C++ library's stable sort makes of keys, and of values that are their positions.
template <class Key, class Value>
struct stable_result
{
  std::vector<Key> keys;
  std::vector<Value> positions, sorted_positions;

  template <class Compare>
  stable_result(std::vector<Key> const& input, Compare comp)
      : keys(input.size())
      , positions(input.size())
      , sorted_positions(input.size())
  {
    std::size_t const n = input.size();
    std::vector<std::uint32_t> order(n);
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return comp(input[a], input[b]);
    });
    for (std::size_t i = 0; i < n; ++i)
    {
      keys[i]             = input[order[i]];
      positions[i]        = static_cast<Value>(i);
      sorted_positions[i] = static_cast<Value>(order[i]);
    }
  }
};

} // namespace gpusort::testing

template <>
struct gpusort::device_backend<gpusort::testing::split_t>
    : gpusort::hybrid::sample_sort<gpusort::testing::splitting_form>
{};
template <>
struct gpusort::device_backend<gpusort::testing::quick_split_t>
    : gpusort::hybrid::sample_sort<gpusort::testing::splitting_quick_form>
{};
template <>
struct gpusort::device_backend<gpusort::testing::deep_split_t>
    : gpusort::hybrid::sample_sort<gpusort::testing::deep_form>
{};
template <>
struct gpusort::device_backend<gpusort::testing::deep_quick_split_t>
    : gpusort::hybrid::sample_sort<gpusort::testing::deep_quick_form>
{};
