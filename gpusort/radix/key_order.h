// How a key is read as an unsigned integer that sorts like it: the one place that knows about signs, floats and direction.
#pragma once

#include <cuda/std/functional>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory> // std::less and std::greater, in every library known; <functional> brings containers
#include <type_traits>

// Compared by identity only: a user who sorts them includes their headers.
struct __half;
struct __nv_bfloat16;

namespace gpusort::radix
{

enum class key_kind
{
  none,
  unsigned_integer,
  signed_integer,
  floating_point
};

// A compiler that is asked to be pedantic is told that these are meant.
__extension__ using int128  = __int128;
__extension__ using uint128 = unsigned __int128;

template <class Key>
__host__ __device__ constexpr key_kind kind_of()
{
  if constexpr (std::is_enum_v<Key>)
  {
    return kind_of<std::underlying_type_t<Key>>();
  }
  else if constexpr (std::is_same_v<Key, float> || std::is_same_v<Key, double> || std::is_same_v<Key, __half>
                     || std::is_same_v<Key, __nv_bfloat16>)
  {
    return key_kind::floating_point;
  }
  else if constexpr (std::is_same_v<Key, int128>)
  {
    return key_kind::signed_integer;
  }
  else if constexpr (std::is_same_v<Key, uint128>)
  {
    return key_kind::unsigned_integer;
  }
  else if constexpr (std::is_integral_v<Key>)
  {
    return std::is_signed_v<Key> ? key_kind::signed_integer : key_kind::unsigned_integer;
  }
  else
  {
    return key_kind::none;
  }
}

// A program may specialise less and greater, those of std and those of cuda::std, which Thrust's are, for its own types. The libraries give
// theirs a base for its argument types: one without is the program's. A program's that has that base, too, cannot be told from theirs.
template <class T, template <class, class, class> class Base, class Argument>
Base<T, T, bool> base_for(Base<Argument, Argument, bool> const*);
template <class T>
void base_for(...);

template <template <class> class Function, class T, bool = std::is_enum_v<T> || std::is_class_v<T>>
inline constexpr bool is_specialised_v = false;
template <template <class> class Function, class T>
inline constexpr bool is_specialised_v<Function, T, true> =
  !std::is_convertible_v<Function<T> const*,
                         decltype(radix::base_for<T>(static_cast<Function<int> const*>(nullptr))) const*>;

// Function<Key> is looked at where it is what compares, and nowhere else: a program may be about to specialise it.
template <template <class> class Function, class Compare, class Key>
inline constexpr bool is_library_form_v = std::is_same_v<Compare, Function<void>>;
template <template <class> class Function, class Key>
inline constexpr bool is_library_form_v<Function, Function<Key>, Key> = !is_specialised_v<Function, Key>;

template <class Compare, class Key>
inline constexpr bool is_less_v =
  is_library_form_v<std::less, Compare, Key> || is_library_form_v<::cuda::std::less, Compare, Key>;

template <class Compare, class Key>
inline constexpr bool is_greater_v =
  is_library_form_v<std::greater, Compare, Key> || is_library_form_v<::cuda::std::greater, Compare, Key>;

// Whether an enum defines < or > itself is found out by a competitor with the same parameters: against an operator of the
// enum's the expression is ambiguous, against the built-in one the competitor wins. Asking for a call of `operator<` by
// name would be simpler, but nvcc hands that on to the host compiler as an infix expression. The two sides are of two types, which an operator
// for two of whatever type does not take.
namespace probe
{
struct none
{};

template <class Enum>
struct right_operand
{
  operator Enum() const;
};

template <class Enum>
struct less_operand : right_operand<Enum>
{
  friend none operator<(Enum, Enum)
  {
    return {};
  }
};

template <class Enum>
struct greater_operand : right_operand<Enum>
{
  friend none operator>(Enum, Enum)
  {
    return {};
  }
};

template <class Enum, class = void>
struct defines_less : std::true_type
{};
template <class Enum>
struct defines_less<Enum,
                    std::enable_if_t<std::is_same_v<decltype(less_operand<Enum>{} < right_operand<Enum>{}), none>>>
    : std::false_type
{};

template <class Enum, class = void>
struct defines_greater : std::true_type
{};
template <class Enum>
struct defines_greater<
  Enum,
  std::enable_if_t<std::is_same_v<decltype(greater_operand<Enum>{} > right_operand<Enum>{}), none>>> : std::false_type
{};

// From C++20 on pairs ask `<=>` of their elements, which an enum may define beside the `<` that it is born with.
template <class Enum, class = void>
struct defines_three_way : std::false_type
{};
#if defined(__cpp_impl_three_way_comparison)
// clang-format off: it writes C++17, where the operator is two
template <class Enum>
struct three_way_operand : right_operand<Enum>
{
  friend none operator<=>(Enum, Enum) { return {}; }
};
template <class Enum, class = void>
struct has_no_better_three_way : std::false_type {};
template <class Enum>
struct has_no_better_three_way<Enum, std::enable_if_t<std::is_same_v<decltype(three_way_operand<Enum>{} <=> right_operand<Enum>{}), none>>> : std::true_type {};
// clang-format on
template <class Enum>
struct defines_three_way<Enum, std::enable_if_t<std::is_enum_v<Enum>>>
    : std::bool_constant<!has_no_better_three_way<Enum>::value>
{};
#endif
} // namespace probe

/// Whether comparing Keys is what the language does, and not an operator of their own.
template <class Key, bool IsEnum = std::is_enum_v<Key>>
struct has_built_in_order
{
  static constexpr bool less    = true;
  static constexpr bool greater = true;
};
template <class Key>
struct has_built_in_order<Key, true>
{
  static constexpr bool less    = !probe::defines_less<Key>::value;
  static constexpr bool greater = !probe::defines_greater<Key>::value;
};

template <class Key, class Compare>
inline constexpr bool has_key_order_v =
  kind_of<Key>() != key_kind::none
  && ((is_less_v<Compare, Key> && has_built_in_order<Key>::less)
      || (is_greater_v<Compare, Key> && has_built_in_order<Key>::greater));

// clang-format off
template <std::size_t Bytes> struct unsigned_of_size;
template <> struct unsigned_of_size<1>  { using type = std::uint8_t; };
template <> struct unsigned_of_size<2>  { using type = std::uint16_t; };
template <> struct unsigned_of_size<4>  { using type = std::uint32_t; };
template <> struct unsigned_of_size<8>  { using type = std::uint64_t; };
template <> struct unsigned_of_size<16> { using type = uint128; };
// clang-format on

/// The unsigned integer that holds the bits of a Key.
template <class Key>
using bits_t = typename unsigned_of_size<sizeof(Key)>::type;

/// How many different keys of so many bits there are, where they are few.
template <class Bits>
inline constexpr int key_values = 1 << (sizeof(Bits) * 8);

inline constexpr int digit_bits = 8;
inline constexpr int radix_size = 1 << digit_bits;

/// Maps the bits of a key to the unsigned integer whose order is the key's order. Signedness and direction are run-time
/// data, so that one kernel serves every integer type of a size, both ways; floats need two more instructions a key and
/// are a type of their own. Floats order as -NaN, -inf ... -0 = +0 ... +inf, +NaN.
template <class Bits, bool IsFloat>
struct key_order
{
  using rank                       = Bits;
  static constexpr bool tells_keys = true; // a rank does, but for keys that it `loses`
  static constexpr bool may_lose   = IsFloat; // some, all of one rank

  static constexpr int digits    = static_cast<int>(sizeof(Bits)) * 8 / digit_bits;
  static constexpr Bits sign_bit = static_cast<Bits>(Bits{1} << (sizeof(Bits) * 8 - 1));

  Bits flip;

  __host__ __device__ Bits rank_of(Bits bits) const
  {
    if constexpr (IsFloat)
    {
      // -0, which has no bit but the sign's, is +0.
      bits = static_cast<Bits>(bits > sign_bit ? ~bits : bits | sign_bit);
    }
    return static_cast<Bits>(bits ^ flip);
  }

  /// The key of a rank; of those that share it, +0.
  __host__ __device__ Bits bits_of_rank(Bits of) const
  {
    Bits bits = static_cast<Bits>(of ^ flip);
    if constexpr (IsFloat)
    {
      bits = static_cast<Bits>(bits ^ ((bits & sign_bit) ? sign_bit : static_cast<Bits>(~Bits{0})));
    }
    return bits;
  }

  /// Whether bits_of_rank does not give the key back.
  __host__ __device__ bool loses(Bits bits) const
  {
    return IsFloat && bits == sign_bit;
  }

  /// The d-th digit of a key, the least significant being the 0-th.
  __host__ __device__ unsigned digit(Bits bits, int d) const
  {
    return static_cast<unsigned>(rank_of(bits) >> (d * digit_bits)) & (radix_size - 1);
  }
};

template <class Key>
using key_order_t = key_order<bits_t<Key>, kind_of<Key>() == key_kind::floating_point>;

/// The order of Keys under Compare, which has_key_order_v accepts.
template <class Key, class Compare>
__host__ __device__ constexpr key_order_t<Key> make_key_order()
{
  static_assert(has_key_order_v<Key, Compare>);
  using bits          = bits_t<Key>;
  using order         = key_order_t<Key>;
  constexpr bits flip = kind_of<Key>() == key_kind::signed_integer ? order::sign_bit : bits{0};
  return {is_greater_v<Compare, Key> ? static_cast<bits>(~flip) : flip};
}

template <class Key>
__host__ __device__ bits_t<Key> bits_of(Key const& key)
{
  bits_t<Key> bits;
  std::memcpy(&bits, &key, sizeof(Key));
  return bits;
}

/// Compares keys by their ranks: as Compare does, and NaNs as radix sort orders them.
template <class Key, class Compare>
struct rank_compare
{
  __host__ __device__ bool operator()(Key const& a, Key const& b) const
  {
    auto const order = make_key_order<Key, Compare>();
    return order.rank_of(radix::bits_of(a)) < order.rank_of(radix::bits_of(b));
  }
};

} // namespace gpusort::radix
