// What a sort has to give: by the C++ library on the host, and by Thrust on the device.
#pragma once

#include <testing/support/device_memory.cuh>
#include <testing/support/types.cuh>

#include <gpusort/dispatch/stable_host_sort.h>
#include <gpusort/sort.h>

#include <thrust/execution_policy.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/sort.h>
#include <thrust/tuple.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace gpusort::testing
{

/// Elements by their bytes, key and values one after the other.
using rows = std::vector<std::string>;

template <class T>
void append_to(rows& all, host_array<T> const& array)
{
  for (std::size_t i = 0; i < all.size(); ++i)
  {
    all[i].append(reinterpret_cast<char const*>(array.data() + i), sizeof(T));
  }
}

// Values of one kind: made, loaded beside the keys, compared. The three kinds have the same members.
template <class Value>
class values
{
public:
  class on_host
  {
  public:
    explicit on_host(std::size_t n)
        : array(n)
    {
      for (std::size_t i = 0; i < n; ++i)
      {
        array[i] = value_at<Value>(i);
      }
    }
    Value* begin()
    {
      return array.data();
    }
    void append_to(rows& all) const
    {
      testing::append_to(all, array);
    }
    host_array<Value> array;
  };

  explicit values(std::size_t capacity)
      : array_(capacity)
  {}
  Value* load(on_host const& from, std::size_t offset)
  {
    return array_.load(from.array, offset);
  }
  ::testing::AssertionResult hold(on_host const& expected) const
  {
    return array_.holds(expected.array);
  }
  on_host read() const
  {
    on_host copy(0);
    copy.array = array_.read();
    return copy;
  }

private:
  guarded_array<Value> array_;
};

template <>
class values<no_value>
{
public:
  struct on_host
  {
    explicit on_host(std::size_t)
    {}
    void append_to(rows&) const
    {}
  };
  explicit values(std::size_t)
  {}
  on_host read() const
  {
    return on_host(0);
  }
  void load(on_host const&, std::size_t)
  {}
  ::testing::AssertionResult hold(on_host const&) const
  {
    return ::testing::AssertionSuccess();
  }
};

template <>
class values<zip_of_two>
{
  // Of one width: Thrust copies its staged pairs as bytes, and initcheck would find padding between the two.
  using first_values  = values<std::uint64_t>;
  using second_values = values<std::uint64_t>;

public:
  class on_host
  {
  public:
    explicit on_host(std::size_t n)
        : first(n)
        , second(n)
    {}
    auto begin()
    {
      return thrust::make_zip_iterator(thrust::make_tuple(first.begin(), second.begin()));
    }
    void append_to(rows& all) const
    {
      first.append_to(all);
      second.append_to(all);
    }
    first_values::on_host first;
    second_values::on_host second;
  };

  explicit values(std::size_t capacity)
      : first_(capacity)
      , second_(capacity)
  {}
  auto load(on_host const& from, std::size_t offset)
  {
    return thrust::make_zip_iterator(
      thrust::make_tuple(first_.load(from.first, offset), second_.load(from.second, offset)));
  }
  ::testing::AssertionResult hold(on_host const& expected) const
  {
    ::testing::AssertionResult const first = first_.hold(expected.first);
    return first ? second_.hold(expected.second) : first;
  }
  on_host read() const
  {
    on_host copy(0);
    copy.first  = first_.read();
    copy.second = second_.read();
    return copy;
  }

private:
  first_values first_;
  second_values second_;
};

/// A range of keys with values, and what it is when sorted.
template <class Key, class Value>
struct expectation
{
  using host_values = typename values<Value>::on_host;

  host_array<Key> keys;
  host_values attached;
  host_array<Key> sorted_keys;
  host_values sorted_attached;

  /// Sorts `input` with the oracle, the C++ library's stable sort.
  template <class Compare>
  expectation(host_array<Key> input, Compare comp)
      : keys(std::move(input))
      , attached(keys.size())
      , sorted_keys(keys)
      , sorted_attached(keys.size())
  {
    if constexpr (std::is_same_v<Value, no_value>)
    {
      std::stable_sort(sorted_keys.begin(), sorted_keys.end(), comp);
    }
    else
    {
      auto const pairs = thrust::make_zip_iterator(sorted_keys.begin(), sorted_attached.begin());
      gpusort::dispatch::stable_host_sort(
        pairs,
        pairs + static_cast<std::ptrdiff_t>(keys.size()),
        [](auto const& pair) -> Key const& { return thrust::get<0>(pair); },
        comp);
    }
  }
};

/// Room on the device for the expectations of one type.
template <class Key, class Value>
class device_range
{
public:
  explicit device_range(std::size_t capacity)
      : keys_(capacity)
      , attached_(capacity)
  {}

  /// Loads the input, calls sort_keys(first, last) or sort_pairs(first, last, values), and compares everything.
  template <class SortKeys, class SortPairs>
  ::testing::AssertionResult
  matches(expectation<Key, Value> const& e, std::size_t offset, SortKeys sort_keys, SortPairs sort_pairs)
  {
    sort(e, offset, sort_keys, sort_pairs);
    ::testing::AssertionResult const keys = keys_.holds(e.sorted_keys);
    return keys ? attached_.hold(e.sorted_attached) : keys;
  }

  /// The same for a sort that is not stable: the keys are in order, they are the input's, with their values, and the guards are whole.
  template <class SortKeys, class SortPairs, class Compare>
  ::testing::AssertionResult matches_in_some_order(
    expectation<Key, Value> const& e, std::size_t offset, SortKeys sort_keys, SortPairs sort_pairs, Compare comp)
  {
    sort(e, offset, sort_keys, sort_pairs);
    host_array<Key> const keys                              = keys_.read();
    typename expectation<Key, Value>::host_values const own = attached_.read();
    ::testing::AssertionResult const key_guards             = keys_.holds(keys);
    ::testing::AssertionResult const guards                 = key_guards ? attached_.hold(own) : key_guards;
    if (!guards)
    {
      return guards;
    }
    if (!std::is_sorted(keys.begin(), keys.end(), comp))
    {
      return ::testing::AssertionFailure() << "keys are not in order";
    }
    rows actual(keys.size()), expected(keys.size());
    append_to(actual, keys);
    own.append_to(actual);
    append_to(expected, e.keys);
    e.attached.append_to(expected);
    std::sort(actual.begin(), actual.end());
    std::sort(expected.begin(), expected.end());
    return actual == expected ? ::testing::AssertionSuccess()
                              : ::testing::AssertionFailure() << "elements are not those of the input";
  }

  /// Thrust's stable sort of the input gives what the oracle gives.
  template <class Compare>
  ::testing::AssertionResult matches_thrust(expectation<Key, Value> const& e, std::size_t offset, Compare comp)
  {
    return matches(
      e,
      offset,
      [&](auto first, auto last) { thrust::stable_sort(thrust::device, first, last, comp); },
      [&](auto first, auto last, auto attached) {
        thrust::stable_sort_by_key(thrust::device, first, last, attached, comp);
      });
  }

private:
  template <class SortKeys, class SortPairs>
  void sort(expectation<Key, Value> const& e, std::size_t offset, SortKeys& sort_keys, SortPairs& sort_pairs)
  {
    Key* const first = keys_.load(e.keys, offset);
    if constexpr (std::is_same_v<Value, no_value>)
    {
      sort_keys(first, first + e.keys.size());
    }
    else
    {
      sort_pairs(first, first + e.keys.size(), attached_.load(e.attached, offset));
    }
  }

  guarded_array<Key> keys_;
  values<Value> attached_;
};

} // namespace gpusort::testing
