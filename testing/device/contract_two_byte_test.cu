// The contract suite over keys of two bytes, and what it has none of: numbers that are none, and zeros of both signs, with values.
#include <testing/support/contract.cuh>
#include <testing/support/inputs.h>

#include <gpusort/radix/key_order.h>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace gpusort::testing
{
INSTANTIATE_TYPED_TEST_SUITE_P(two_byte, contract, two_byte_cases, case_names);

/// Any bits, of which every third are those of a NaN, an infinity or a zero.
template <class Key>
host_array<Key> any_numbers(std::size_t n)
{
  // The exponent's bits of a half are among those of a bfloat16.
  std::uint16_t const special[] = {0x0000, 0x8000, 0x7f80, 0xff80, 0x7c00, 0xfc00, 0x7fff, 0xffff, 0x7fc1, 0xffc1};
  host_array<Key> keys(n);
  for (std::size_t i = 0; i < n; ++i)
  {
    std::uint64_t const random = inputs::mix(i);
    auto const bits =
      random % 3 == 0 ? special[random / 3 % std::size(special)] : static_cast<std::uint16_t>(random >> 20);
    std::memcpy(static_cast<void*>(&keys[i]), &bits, sizeof bits);
  }
  return keys;
}

template <class Key, class Compare>
void check_with_values(std::size_t n, Compare comp)
{
  SCOPED_TRACE(::testing::Message() << n << " keys, " << name_of_type<Key>::value);
  host_array<Key> const keys = any_numbers<Key>(n);
  std::vector<std::uint64_t> positions(n);
  std::iota(positions.begin(), positions.end(), std::uint64_t{0});
  guarded_array<Key> room(n);
  guarded_array<std::uint64_t> values(n);
  Key* const first           = room.load(keys.data(), n, 1);
  std::uint64_t* const carry = values.load(positions.data(), n, 1);
  gpusort::stable_sort_by_key(gpusort::radix_sort(thrust::device), first, first + n, carry, comp);

  auto const order = radix::make_key_order<Key, Compare>();
  std::stable_sort(positions.begin(), positions.end(), [&](std::uint64_t a, std::uint64_t b) {
    return order.rank_of(radix::bits_of(keys[a])) < order.rank_of(radix::bits_of(keys[b]));
  });
  host_array<Key> sorted(n);
  for (std::size_t i = 0; i < n; ++i)
  {
    sorted[i] = keys[positions[i]];
  }
  EXPECT_TRUE(room.holds(sorted.data())) << "keys";
  EXPECT_TRUE(values.holds(positions.data())) << "values";
}

TEST(TwoBytes, NansAndZerosKeepTheirValues)
{
  for (std::size_t const n : {1000u, 4097u, 20'011u, 70'003u})
  {
    check_with_values<__half>(n, ::cuda::std::less<__half>{});
    check_with_values<__half>(n, ::cuda::std::greater<__half>{});
    check_with_values<__nv_bfloat16>(n, ::cuda::std::less<__nv_bfloat16>{});
    check_with_values<__nv_bfloat16>(n, ::cuda::std::greater<__nv_bfloat16>{});
  }
}
} // namespace gpusort::testing
