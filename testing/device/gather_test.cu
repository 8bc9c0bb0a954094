// Elements gathered by an index: which chunks are left alone, which move, and where those begin and end.
#include <testing/support/device_memory.cuh>
#include <testing/support/owned_memory.cuh>

#include <gpusort/dispatch/gather.cuh>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

namespace gpusort::dispatch
{
namespace
{

using gpusort::testing::guarded_array;
using gpusort::testing::host_array;
using gpusort::testing::require;

template <std::size_t Bytes, std::size_t Alignment>
struct alignas(Alignment) element
{
  unsigned char bytes[Bytes];
};

template <class T, class I>
struct kind
{
  using element = T;
  using index   = I;
};

template <class T>
T numbered(std::size_t number)
{
  T made{};
  for (std::size_t i = 0; i < sizeof(T); ++i)
  {
    made.bytes[i] = static_cast<unsigned char>((number + 1) * 0x9e3779b97f4a7c15u >> (8 * (i % 8)) ^ i);
  }
  return made;
}

/// Gathers n elements, `offset` elements behind an aligned address, and holds range and room against what they should be.
template <class Kind>
void check(std::vector<typename Kind::index> const& order, std::size_t offset)
{
  using T             = typename Kind::element;
  using index         = typename Kind::index;
  std::size_t const n = order.size();
  host_array<T> before(n), after(n);
  for (std::size_t i = 0; i < n; ++i)
  {
    before.data()[i] = numbered<T>(i);
    after.data()[i]  = numbered<T>(order[i]);
  }
  guarded_array<T> range(n);
  guarded_array<T> room(n);
  range.load(before, offset);
  host_array<T> untouched(n);
  std::memset(static_cast<void*>(untouched.data()), 0x5c, n * sizeof(T));
  room.load(untouched);
  auto const indices = gpusort::testing::allocate_on_device<index>(n);
  require(cudaMemcpy(indices.get(), order.data(), n * sizeof(index), cudaMemcpyHostToDevice), "indices");

  dispatch::gather(nullptr, range.begin(), static_cast<index const*>(indices.get()), room.begin(), n);
  require(cudaDeviceSynchronize(), "gather");
  EXPECT_TRUE(range.holds(after));

  // A chunk moves if any of the elements does that it has bytes of.
  host_array<T> in_room = untouched;
  for (std::size_t begin = 0; begin < n * sizeof(T); begin += chunk_bytes)
  {
    std::size_t const end  = std::min(begin + chunk_bytes, n * sizeof(T));
    std::size_t const last = (end - 1) / sizeof(T);
    bool moves             = false;
    for (std::size_t i = begin / sizeof(T); i <= last; ++i)
    {
      moves = moves || order[i] != i;
    }
    if (moves)
    {
      std::memcpy(reinterpret_cast<char*>(in_room.data()) + begin,
                  reinterpret_cast<char const*>(after.data()) + begin,
                  end - begin);
    }
  }
  EXPECT_TRUE(room.holds(in_room));
}

template <class Kind>
class Gather : public ::testing::Test
{
protected:
  using T     = typename Kind::element;
  using index = typename Kind::index;

  static std::vector<index> in_order(std::size_t n)
  {
    std::vector<index> order(n);
    std::iota(order.begin(), order.end(), index{0});
    return order;
  }
  /// Sizes around whole chunks, and around those that a block has.
  static std::vector<std::size_t> sizes()
  {
    std::size_t const chunk    = chunk_bytes / sizeof(T);
    std::size_t const of_block = chunk * (move_threads / 32);
    return {1, 2, chunk + 1, 2 * chunk - 1, 2 * chunk, 5 * chunk + 3, of_block, 2 * of_block + chunk + 1};
  }
};

using kinds =
  ::testing::Types<kind<element<17, 1>, std::uint32_t>,
                   kind<element<18, 2>, std::uint32_t>,
                   kind<element<36, 4>, std::uint32_t>,
                   kind<element<24, 8>, std::uint32_t>,
                   kind<element<24, 8>, std::uint64_t>,
                   kind<element<64, 8>, std::uint32_t>,
                   kind<element<48, 16>, std::uint32_t>,
                   kind<element<2048, 16>, std::uint32_t>>;
TYPED_TEST_SUITE(Gather, kinds);

TYPED_TEST(Gather, WhatIsInPlaceStaysThere)
{
  for (std::size_t const n : this->sizes())
  {
    check<TypeParam>(this->in_order(n), 0);
  }
}

TYPED_TEST(Gather, WhatIsReversedMoves)
{
  for (std::size_t const n : this->sizes())
  {
    for (std::size_t const offset : {0, 1})
    {
      auto order = this->in_order(n);
      std::reverse(order.begin(), order.end());
      check<TypeParam>(order, offset);
    }
  }
}

TYPED_TEST(Gather, TwoThatChangePlaces)
{
  for (std::size_t const n : this->sizes())
  {
    std::size_t const chunk = chunk_bytes / sizeof(typename TypeParam::element);
    for (std::size_t const a : {std::size_t{0}, chunk - 1, chunk, 2 * chunk, n / 2})
    {
      std::size_t const b = n - 1;
      if (a >= b)
      {
        continue;
      }
      auto order = this->in_order(n);
      std::swap(order[a], order[b]);
      check<TypeParam>(order, a % 2);
    }
  }
}

} // namespace
} // namespace gpusort::dispatch
