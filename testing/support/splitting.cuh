// Hybrid sort and quicksort that split what they would rather merge, so that tests meet their kernels with few elements.
#pragma once

#include <gpusort/algorithm.h>
#include <gpusort/hybrid/device.cuh>
#include <gpusort/quicksort/device.cuh>
#include <gpusort/sort.h>

namespace gpusort::testing
{

struct splitting_form : hybrid::stable_form
{
  static constexpr bool merges_small_inputs = false;
};
struct splitting_quick_form : quick::unstable_form
{
  static constexpr bool merges_small_inputs = false;
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

inline constexpr split_t split{};
inline constexpr quick_split_t quick_split{};

/// The most elements that one block sorts.
template <class Key, class Value>
inline constexpr std::size_t most_in_block = hybrid::most_of_v<Key, Value>;

} // namespace gpusort::testing

template <>
struct gpusort::device_backend<gpusort::testing::split_t>
    : gpusort::hybrid::sample_sort<gpusort::testing::splitting_form>
{};
template <>
struct gpusort::device_backend<gpusort::testing::quick_split_t>
    : gpusort::hybrid::sample_sort<gpusort::testing::splitting_quick_form>
{};
