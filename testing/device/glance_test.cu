// What a glance at a large input finds out, of inputs small enough to say what that should be.
#include <testing/support/owned_memory.cuh>

#include <gpusort/radix/glance.cuh>
#include <gtest/gtest.h>
#include <thrust/device_vector.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace gpusort::radix
{
namespace
{

template <class Key>
struct outcome
{
  findings<bits_t<Key>> found;
  bool is_sorted() const
  {
    return found.decided != 0 && found.reverses == 0;
  }
  bool is_reversed() const
  {
    return found.decided != 0 && found.reverses != 0;
  }
};

template <class Key, class Compare = thrust::less<Key>>
outcome<Key>
glance(std::vector<Key> const& keys, bool with_values = false, unsigned blocks = 3, std::size_t skipped = 0)
{
  using bits              = bits_t<Key>;
  constexpr bool is_float = kind_of<Key>() == key_kind::floating_point;
  thrust::device_vector<Key> const on_device(keys.begin(), keys.end());
  auto const found = gpusort::testing::allocate_on_device<findings<bits>>(1);
  gpusort::testing::require(cudaMemset(found.get(), 0, sizeof(findings<bits>)), "clear");
  glance_at_order<bits, is_float><<<blocks, glance_threads>>>(
    reinterpret_cast<bits const*>(thrust::raw_pointer_cast(on_device.data())) + skipped,
    keys.size() - skipped,
    make_key_order<Key, Compare>(),
    with_values,
    found.get());
  gpusort::testing::require(cudaGetLastError(), "launch");
  gpusort::testing::require(cudaDeviceSynchronize(), "glance");
  outcome<Key> all{};
  gpusort::testing::require(cudaMemcpy(&all.found, found.get(), sizeof all.found, cudaMemcpyDeviceToHost), "read");
  return all;
}

std::vector<std::size_t> sizes()
{
  std::size_t const step = glance_threads / 32 * glance_chunk<std::uint32_t>;
  return {glance_threads, glance_threads + 1, 5000, step, step + 1, 3 * step, 7 * step + 77};
}

template <class Key, class Make>
std::vector<Key> keys_by(std::size_t n, Make make)
{
  std::vector<Key> keys;
  for (std::size_t i = 0; i < n; ++i)
  {
    keys.push_back(static_cast<Key>(make(i)));
  }
  return keys;
}

TEST(Glance, SeesAnOrder)
{
  for (std::size_t const n : sizes())
  {
    SCOPED_TRACE(n);
    auto const up   = keys_by<std::uint32_t>(n, [](std::size_t i) { return 7 * i; });
    auto const down = keys_by<std::int64_t>(n, [=](std::size_t i) { return 3 * static_cast<std::int64_t>(n / 2 - i); });
    auto const steps = keys_by<std::uint32_t>(n, [=](std::size_t i) { return (n - i) / 5; });
    auto const same  = keys_by<double>(n, [](std::size_t) { return -1.5; });
    EXPECT_TRUE(glance(up).is_sorted());
    EXPECT_TRUE((glance<std::uint32_t, thrust::greater<std::uint32_t>>(up, true).is_reversed()));
    EXPECT_TRUE(glance(down).is_reversed());
    EXPECT_TRUE(glance(down, true).is_reversed());
    EXPECT_TRUE(glance(steps).is_reversed());
    // A reversal would change the order of what is alike.
    EXPECT_EQ(glance(steps, true).found.decided, 0u);
    EXPECT_TRUE((glance<std::uint32_t, thrust::greater<std::uint32_t>>(steps, true).is_sorted()));
    EXPECT_TRUE(glance(same).is_sorted());
    EXPECT_TRUE(glance(same, true).is_sorted());
  }
}

// Wherever it is: where a row, a chunk and the input begin and end, too.
TEST(Glance, SeesOneThatIsOutOfOrder)
{
  for (std::size_t const n : sizes())
  {
    for (std::size_t const at :
         {std::size_t{0}, std::size_t{1}, std::size_t{31}, std::size_t{1023}, n / 2, n - 2, n - 1})
    {
      SCOPED_TRACE(::testing::Message() << at << " of " << n);
      auto up   = keys_by<std::uint32_t>(n, [](std::size_t i) { return 7 * i + 7; });
      auto down = keys_by<std::uint64_t>(n, [=](std::size_t i) { return 7 * (n - i); });
      auto same = keys_by<float>(n, [](std::size_t) { return 2.5; });
      up[at]    = at == 0 ? 15 : 7 * static_cast<std::uint32_t>(at) - 1;
      down[at]  = at == 0 ? 0 : down[at] + 8;
      same[at]  = at % 2 == 0 ? 1.0f : 3.0f;
      EXPECT_EQ(glance(up).found.decided, 0u);
      EXPECT_EQ(glance(down).found.decided, 0u);
      auto const of_same = glance(same);
      bool const sorts   = at == (same[at] < 2 ? 0 : n - 1);
      bool const turns   = at == (same[at] < 2 ? n - 1 : 0);
      EXPECT_EQ(of_same.is_sorted(), sorts);
      EXPECT_EQ(of_same.is_reversed(), turns);
    }
  }
}

// Vectors of keys begin where addresses say, chunks of them later, and neither is to hide a pair.
template <class Key>
void find_what_is_out_of_order_behind(std::size_t skipped)
{
  std::size_t const chunk = glance_chunk<bits_t<Key>>;
  std::size_t const n     = glance_threads + 2 * chunk + 5;
  SCOPED_TRACE(::testing::Message() << sizeof(Key) << " bytes, all but " << skipped);
  auto const up = keys_by<Key>(n, [=](std::size_t i) { return 1 + i * 100 / n; });
  EXPECT_TRUE(glance(up, true, 2, skipped).is_sorted());
  EXPECT_EQ((glance<Key, thrust::greater<Key>>(up, true, 2, skipped).found.decided), 0u);
  std::vector<std::size_t> places = {skipped, n - 1, n - 2, n - 6};
  for (std::size_t edge : {chunk, 2 * chunk, 3 * chunk, n - chunk})
  {
    for (std::size_t at = edge - 17; at <= std::min(n - 1, edge + 17); ++at)
    {
      places.push_back(at);
    }
  }
  for (std::size_t const at : places)
  {
    auto keys = up;
    keys[at]  = at == skipped ? 101 : 0;
    EXPECT_EQ(glance(keys, false, 2, skipped).found.decided, 0u) << at << " of " << n;
  }
}

TEST(Glance, WhereverKeysBegin)
{
  for (std::size_t skipped = 0; skipped < 4; ++skipped)
  {
    find_what_is_out_of_order_behind<std::uint8_t>(5 * skipped);
    find_what_is_out_of_order_behind<std::int16_t>(3 * skipped);
    find_what_is_out_of_order_behind<std::uint32_t>(skipped);
    find_what_is_out_of_order_behind<double>(skipped);
  }
  find_what_is_out_of_order_behind<unsigned __int128>(1);
}

// They are alike, but a reversal of keys that are made of nothing else would exchange them.
TEST(Glance, TellsZerosApart)
{
  auto keys  = keys_by<float>(5000, [](std::size_t i) { return 5000.0 - static_cast<double>(i); });
  keys[4999] = 0.0f;
  keys[4998] = -0.0f;
  EXPECT_EQ(glance(keys).found.decided, 0u);
  EXPECT_TRUE((glance<float, thrust::greater<float>>(keys).is_sorted()));
  keys[4998] = 0.0f;
  EXPECT_TRUE(glance(keys).is_reversed());

  // The last key may be the one behind the last chunk, or follow it.
  for (std::size_t const n :
       {2 * glance_chunk<std::uint32_t>, 2 * glance_chunk<std::uint32_t> + 1, 2 * glance_chunk<std::uint32_t> + 2})
  {
    auto down   = keys_by<float>(n, [=](std::size_t i) { return static_cast<double>(n - i); });
    down[n - 2] = 0.0f;
    down[n - 1] = -0.0f;
    EXPECT_EQ(glance(down).found.decided, 0u) << n;
    down[n - 1] = 0.0f;
    EXPECT_TRUE(glance(down).is_reversed()) << n;
  }
}

TEST(Glance, LeavesOthersAlone)
{
  for (std::size_t const n : sizes())
  {
    auto const any   = keys_by<std::uint32_t>(n, [](std::size_t i) { return i * 2654435761u; });
    auto const found = glance(any).found;
    EXPECT_EQ(found.decided, 0u);
    EXPECT_EQ(found.order_blocks, 0u) << "more than the sample was looked at";
  }
}

} // namespace
} // namespace gpusort::radix
