// Sorts by comparisons beside the C++ library's, bit by bit.
#pragma once

#include <testing/support/cases.h>
#include <testing/support/device_memory.cuh>
#include <testing/support/splitting.cuh>

#include <gpusort/sort.h>
#include <gtest/gtest.h>
#include <thrust/execution_policy.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace gpusort::testing
{

template <class T>
bool are_same(std::vector<T> const& a, std::vector<T> const& b)
{
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/// Sorts keys alone and with their positions as values, and compares with the C++ library's stable sort, bit by bit.
template <class Value, class Key, class Compare, class Tag>
void check_stable(std::vector<Key> const& keys, Compare comp, Tag tag)
{
  std::size_t const n = keys.size();
  stable_result<Key, Value> const expected(keys, comp);
  guarded_array<Key> room(n);
  guarded_array<Value> values(n);
  Key* first     = room.load(keys.data(), n, 1);
  Value* carried = values.load(expected.positions.data(), n, 3);
  gpusort::stable_sort_by_key(tag(thrust::device), first, first + n, carried, comp);
  EXPECT_TRUE(room.holds(expected.keys.data())) << "keys with values";
  EXPECT_TRUE(values.holds(expected.sorted_positions.data())) << "values";
  first = room.load(keys.data(), n, 3);
  gpusort::stable_sort(tag(thrust::device), first, first + n, comp);
  EXPECT_TRUE(room.holds(expected.keys.data())) << "keys alone";
}

/// The same by splitting, and quicksort, which does not keep equivalent keys in order.
template <class Value, class Key, class Compare>
void check(std::vector<Key> const& keys, Compare comp)
{
  std::size_t const n = keys.size();
  SCOPED_TRACE(n);
  check_stable<Value>(keys, comp, split);
  guarded_array<Key> room(n);
  Key* const first = room.load(keys.data(), n, 2);
  gpusort::sort(quick_split(thrust::device), first, first + n, comp);
  std::vector<Key> sorted = keys, out(n);
  require(cudaMemcpy(out.data(), first, n * sizeof(Key), cudaMemcpyDeviceToHost), "keys");
  EXPECT_TRUE(room.holds(out.data())) << "guards";
  EXPECT_TRUE(std::is_sorted(out.begin(), out.end(), comp)) << "quicksort";
  auto const by_bits = [](Key const& a, Key const& b) { return std::memcmp(&a, &b, sizeof(Key)) < 0; };
  std::sort(out.begin(), out.end(), by_bits);
  std::sort(sorted.begin(), sorted.end(), by_bits);
  EXPECT_TRUE(are_same(out, sorted)) << "quicksort: other keys";
}

} // namespace gpusort::testing
