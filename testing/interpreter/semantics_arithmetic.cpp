// Arithmetic, logic and moves. A handler is an operation on values and a shape that applies it to lanes.
#include "lanes.h"
#include "numbers.h"
#include "semantics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

namespace gpusort::interpreter
{
namespace
{

template <class T>
constexpr unsigned bits_in = sizeof(T) * 8;

// --- Shapes.

template <class T, class Operation>
void unary(frame& f, instruction const& i, lane_mask mask)
{
  T const* const a = lanes<T>(f, i.a);
  assign_each<T>(f, i.to, mask, [=](unsigned l) { return static_cast<T>(Operation{}(a[l])); });
}

template <class T, class Operation>
void binary(frame& f, instruction const& i, lane_mask mask)
{
  T const* const a = lanes<T>(f, i.a);
  T const* const b = lanes<T>(f, i.b);
  assign_each<T>(f, i.to, mask, [=](unsigned l) { return static_cast<T>(Operation{}(a[l], b[l])); });
}

template <class T, class Operation>
void ternary(frame& f, instruction const& i, lane_mask mask)
{
  T const* const a = lanes<T>(f, i.a);
  T const* const b = lanes<T>(f, i.b);
  T const* const c = lanes<T>(f, i.c);
  assign_each<T>(f, i.to, mask, [=](unsigned l) { return static_cast<T>(Operation{}(a[l], b[l], c[l])); });
}

/// For what takes long, lane by lane.
template <class T, class Operation>
void slow_binary(frame& f, instruction const& i, lane_mask mask)
{
  T* const to      = lanes<T>(f, i.to);
  T const* const a = lanes<T>(f, i.a);
  T const* const b = lanes<T>(f, i.b);
  each_lane(mask, [=](unsigned l) { to[l] = static_cast<T>(Operation{}(a[l], b[l])); });
}

/// The number of bits to shift by is a word.
template <class T, class Operation>
void shift(frame& f, instruction const& i, lane_mask mask)
{
  T const* const a             = lanes<T>(f, i.a);
  std::uint32_t const* const b = lanes<std::uint32_t>(f, i.b);
  assign_each<T>(f, i.to, mask, [=](unsigned l) { return Operation{}(a[l], b[l]); });
}

template <class T, class Operation>
void word_of(frame& f, instruction const& i, lane_mask mask)
{
  T const* const a = lanes<T>(f, i.a);
  assign_each<std::uint32_t>(f, i.to, mask, [=](unsigned l) { return Operation{}(a[l]); });
}

template <class Operation>
void of_masks(frame& f, instruction const& i, lane_mask mask)
{
  lane_mask const b = i.b == no_slot ? 0 : mask_at(f, i.b);
  assign_mask(f, i.to, Operation{}(mask_at(f, i.a), b), mask);
}

// --- Operations.

struct add
{
  template <class T>
  auto operator()(T a, T b) const
  {
    return a + b;
  }
};

struct subtract
{
  template <class T>
  auto operator()(T a, T b) const
  {
    return a - b;
  }
};

struct multiply
{
  template <class T>
  auto operator()(T a, T b) const
  {
    if constexpr (sizeof(T) == 2 && !is_floating<T>)
    {
      return std::uint32_t{a} * b; // which the product of two int may not hold
    }
    else
    {
      return a * b;
    }
  }
};

struct multiply_high
{
  template <class T>
  T operator()(T a, T b) const
  {
    using narrow = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
    using widest = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
    using wide   = std::conditional_t<sizeof(T) == 8, widest, narrow>;
    return static_cast<T>(static_cast<wide>(a) * static_cast<wide>(b) >> bits_in<T>);
  }
};

struct divide
{
  template <class T>
  T operator()(T a, T b) const
  {
    if constexpr (is_floating<T>)
    {
      return a / b;
    }
    else if (b == 0)
    {
      return static_cast<T>(~T{0});
    }
    else if (std::is_signed_v<T> && b == static_cast<T>(-1))
    {
      return static_cast<T>(0 - static_cast<std::uint64_t>(a));
    }
    else
    {
      return static_cast<T>(a / b);
    }
  }
};

struct remainder_of
{
  template <class T>
  T operator()(T a, T b) const
  {
    if (b == 0)
    {
      return a;
    }
    return std::is_signed_v<T> && b == static_cast<T>(-1) ? T{0} : static_cast<T>(a % b);
  }
};

/// Of a number and a NaN, both give the number.
struct minimum
{
  template <class T>
  T operator()(T a, T b) const
  {
    if constexpr (is_floating<T>)
    {
      return std::fmin(a, b);
    }
    else
    {
      return b < a ? b : a;
    }
  }
};

struct maximum
{
  template <class T>
  T operator()(T a, T b) const
  {
    if constexpr (is_floating<T>)
    {
      return std::fmax(a, b);
    }
    else
    {
      return a < b ? b : a;
    }
  }
};

struct bit_and
{
  template <class T>
  auto operator()(T a, T b) const
  {
    return a & b;
  }
};

struct bit_or
{
  template <class T>
  auto operator()(T a, T b) const
  {
    return a | b;
  }
};

struct bit_xor
{
  template <class T>
  auto operator()(T a, T b) const
  {
    return a ^ b;
  }
};

struct complement
{
  template <class T>
  auto operator()(T a, T = T{}) const
  {
    return ~a;
  }
};

struct negate
{
  template <class T>
  auto operator()(T a) const
  {
    return -a;
  }
};

struct absolute
{
  template <class T>
  auto operator()(T a) const
  {
    if constexpr (is_floating<T>)
    {
      return std::fabs(a);
    }
    else
    {
      auto const bits = static_cast<std::make_unsigned_t<T>>(a);
      return a < 0 ? -bits : bits;
    }
  }
};

struct square_root
{
  template <class T>
  auto operator()(T a) const
  {
    return std::sqrt(a);
  }
};

struct reciprocal
{
  template <class T>
  auto operator()(T a) const
  {
    return T{1} / a;
  }
};

struct fused_multiply_add
{
  template <class T>
  auto operator()(T a, T b, T c) const
  {
    return std::fma(a, b, c);
  }
};

template <class Multiply>
struct then_add
{
  template <class T>
  T operator()(T a, T b, T c) const
  {
    using bits = std::make_unsigned_t<T>; // whose overflow is defined
    return static_cast<T>(static_cast<bits>(Multiply{}(a, b)) + static_cast<bits>(c));
  }
};

template <class Operation>
struct on_both
{
  template <class T>
  pair_of<T> operator()(pair_of<T> a, pair_of<T> b) const
  {
    return {static_cast<T>(Operation{}(a.low, b.low)), static_cast<T>(Operation{}(a.high, b.high))};
  }
};

/// Shifts by more than all bits are shifts by all.
struct shift_left
{
  template <class T>
  T operator()(T a, std::uint32_t by) const
  {
    std::uint64_t const bits = static_cast<std::make_unsigned_t<T>>(a);
    return by < bits_in<T> ? static_cast<T>(bits << (by % 64)) : T{0};
  }
};

struct shift_right
{
  template <class T>
  T operator()(T a, std::uint32_t by) const
  {
    T const beyond = std::is_signed_v<T> && a < 0 ? static_cast<T>(-1) : T{0};
    return by < bits_in<T> ? static_cast<T>(a >> (by % bits_in<T>) ) : beyond;
  }
};

/// `size` ones from bit `begin` on.
template <bool Wraps>
struct bit_mask
{
  std::uint32_t operator()(std::uint32_t begin, std::uint32_t size) const
  {
    begin                   = Wraps ? begin % 32 : begin;
    size                    = Wraps ? size % 32 : size;
    std::uint32_t const low = ~shift_left{}(~std::uint32_t{0}, size);
    return shift_left{}(low, begin);
  }
};

struct count_ones
{
  template <class T>
  std::uint32_t operator()(T a) const
  {
    // By sums of ever more bits, since not every processor has an instruction, and vectors of it are rare.
    constexpr T all = static_cast<T>(~T{0});
    a               = static_cast<T>(a - (a >> 1 & all / 3));
    a               = static_cast<T>((a & all / 5) + (a >> 2 & all / 5));
    a               = static_cast<T>((a + (a >> 4)) & all / 17);
    return static_cast<std::uint32_t>(static_cast<T>(a * (all / 255)) >> (bits_in<T> - 8));
  }
};

struct count_leading_zeros
{
  template <class T>
  std::uint32_t operator()(T a) const
  {
    std::uint64_t const bits = a;
    return bits == 0 ? bits_in<T> : static_cast<std::uint32_t>(__builtin_clzll(bits)) - (64 - bits_in<T>);
  }
};

/// The highest bit that is not the sign.
template <bool AsShift>
struct find_highest
{
  template <class T>
  std::uint32_t operator()(T a) const
  {
    using bits        = std::make_unsigned_t<T>;
    bits const digits = static_cast<bits>(a < 0 ? ~a : a);
    if (digits == 0)
    {
      return ~std::uint32_t{0};
    }
    std::uint32_t const from_top = count_leading_zeros{}(digits);
    return AsShift ? from_top : bits_in<T> - 1 - from_top;
  }
};

struct reverse_bits
{
  template <class T>
  T operator()(T a) const
  {
    T result = 0;
    for (unsigned bit = 0; bit < bits_in<T>; ++bit)
    {
      result |= static_cast<T>((a >> bit & 1) << (bits_in<T> - 1 - bit));
    }
    return result;
  }
};

// --- Handlers of their own shape.

template <class T, class Wide, bool Adds>
void multiply_wide(frame& f, instruction const& i, lane_mask mask)
{
  using bits          = std::make_unsigned_t<Wide>;
  T const* const a    = lanes<T>(f, i.a);
  T const* const b    = lanes<T>(f, i.b);
  Wide const* const c = Adds ? lanes<Wide>(f, i.c) : nullptr;
  assign_each<Wide>(f, i.to, mask, [=](unsigned l) {
    auto const product = static_cast<bits>(Wide{a[l]}) * static_cast<bits>(Wide{b[l]});
    return static_cast<Wide>(product + (Adds ? static_cast<bits>(c[l]) : bits{0}));
  });
}

template <class T, bool Gives>
void set_carry(frame& f, unsigned lane, unsigned __int128 result)
{
  if constexpr (Gives)
  {
    bool const carries = (result >> bits_in<T> & 1) != 0;
    f.carry            = carries ? f.carry | only(lane) : f.carry & ~only(lane);
  }
}

/// A subtraction adds the complement and one, as the device does: its carry says that nothing was borrowed. Divisions of 128 bits
/// ask for it by an addition.
template <class T, bool Subtracts, bool TakesCarry, bool GivesCarry>
void with_carry(frame& f, instruction const& i, lane_mask mask)
{
  using wide       = unsigned __int128;
  T* const to      = lanes<T>(f, i.to);
  T const* const a = lanes<T>(f, i.a);
  T const* const b = lanes<T>(f, i.b);
  each_lane(mask, [&](unsigned l) {
    T const added     = Subtracts ? static_cast<T>(~b[l]) : b[l];
    wide const carry  = (TakesCarry ? holds(f.carry, l) : Subtracts) ? 1 : 0;
    wide const result = wide{a[l]} + added + carry;
    to[l]             = static_cast<T>(result);
    set_carry<T, GivesCarry>(f, l, result);
  });
}

/// Half of a product, with carry as above.
template <class T, bool High, bool TakesCarry, bool GivesCarry>
void multiply_add_with_carry(frame& f, instruction const& i, lane_mask mask)
{
  using wide       = unsigned __int128;
  T* const to      = lanes<T>(f, i.to);
  T const* const a = lanes<T>(f, i.a);
  T const* const b = lanes<T>(f, i.b);
  T const* const c = lanes<T>(f, i.c);
  each_lane(mask, [&](unsigned l) {
    T const product   = High ? multiply_high{}(a[l], b[l]) : static_cast<T>(a[l] * b[l]);
    wide const carry  = TakesCarry && holds(f.carry, l) ? 1 : 0;
    wide const result = wide{product} + c[l] + carry;
    to[l]             = static_cast<T>(result);
    set_carry<T, GivesCarry>(f, l, result);
  });
}

template <class T>
void select(frame& f, instruction const& i, lane_mask mask)
{
  T const* const a       = lanes<T>(f, i.a);
  T const* const b       = lanes<T>(f, i.b);
  lane_mask const chosen = mask_at(f, i.c);
  assign_each<T>(f, i.to, mask, [=](unsigned l) { return (chosen & lane_bits[l]) != 0 ? a[l] : b[l]; });
}

void select_predicate(frame& f, instruction const& i, lane_mask mask)
{
  lane_mask const chosen = mask_at(f, i.c);
  assign_mask(f, i.to, (chosen & mask_at(f, i.a)) | (~chosen & mask_at(f, i.b)), mask);
}

template <class T>
void move(frame& f, instruction const& i, lane_mask mask)
{
  T const* const a = lanes<T>(f, i.a);
  assign_each<T>(f, i.to, mask, [=](unsigned l) { return a[l]; });
}

void move_predicate(frame& f, instruction const& i, lane_mask mask)
{
  assign_mask(f, i.to, mask_at(f, i.a), mask);
}

template <class Part, class Whole>
void pack(frame& f, instruction const& i, lane_mask mask)
{
  Whole* const to = lanes<Whole>(f, i.to);
  each_lane(mask, [&](unsigned l) {
    Whole whole = 0;
    for (unsigned k = 0; k < sizeof(Whole) / sizeof(Part); ++k)
    {
      whole |= static_cast<Whole>(Whole{lanes<Part>(f, i.elements[k])[l]} << (k * bits_in<Part>) );
    }
    to[l] = whole;
  });
}

template <class Part, class Whole>
void unpack(frame& f, instruction const& i, lane_mask mask)
{
  Whole const* const a = lanes<Whole>(f, i.a);
  Whole wholes[warp_size]; // a part may take the place of the whole
  std::memcpy(wholes, a, sizeof wholes);
  for (unsigned k = 0; k < sizeof(Whole) / sizeof(Part); ++k)
  {
    if (i.elements[k] != no_slot)
    {
      assign_each<Part>(f, i.elements[k], mask, [&](unsigned l) {
        return static_cast<Part>(wholes[l] >> (k * bits_in<Part>) );
      });
    }
  }
}

/// `c` bits of `a` from bit `b` on; of a signed type, with the highest of them repeated.
template <class T>
void extract_bits(frame& f, instruction const& i, lane_mask mask)
{
  using bits = std::make_unsigned_t<T>;
  each_lane(mask, [&](unsigned l) {
    bits const a              = lanes<bits>(f, i.a)[l];
    std::uint32_t const begin = lanes<std::uint32_t>(f, i.b)[l] & 255;
    std::uint32_t const size  = lanes<std::uint32_t>(f, i.c)[l] & 255;
    bits const all            = static_cast<bits>(~bits{0});
    bits const low            = size < bits_in<T> ? static_cast<bits>(~(all << size)) : all;
    bool const negative =
      std::is_signed_v<T> && size != 0 && (a >> std::min(begin + size - 1, bits_in<T> - 1) & 1) != 0;
    bits const moved = begin < bits_in<T> ? static_cast<bits>(a >> begin) : bits{0};
    // Where `a` has no bits left, the sign is.
    bits const existing     = begin < bits_in<T> ? static_cast<bits>(all >> begin) : bits{0};
    lanes<bits>(f, i.to)[l] = static_cast<bits>((moved & low) | (negative ? ~(low & existing) : 0));
  });
}

/// `b` with the lowest `d` bits of `a` in place of its own from bit `c` on.
template <class T>
void insert_bits(frame& f, instruction const& i, lane_mask mask)
{
  each_lane(mask, [&](unsigned l) {
    std::uint32_t const begin = lanes<std::uint32_t>(f, i.c)[l] & 255;
    std::uint32_t const size  = lanes<std::uint32_t>(f, i.d)[l] & 255;
    T const low               = size < bits_in<T> ? static_cast<T>(~(~T{0} << size)) : static_cast<T>(~T{0});
    T const replaced          = begin < bits_in<T> ? static_cast<T>(low << begin) : T{0};
    T const moved             = begin < bits_in<T> ? static_cast<T>(lanes<T>(f, i.a)[l] << begin) : T{0};
    lanes<T>(f, i.to)[l]      = static_cast<T>((lanes<T>(f, i.b)[l] & ~replaced) | (moved & replaced));
  });
}

/// Four bytes of eight, each by four bits of `c`, of which one asks for its sign in every bit.
void permute_bytes(frame& f, instruction const& i, lane_mask mask)
{
  std::uint32_t const* const a = lanes<std::uint32_t>(f, i.a);
  std::uint32_t const* const b = lanes<std::uint32_t>(f, i.b);
  std::uint32_t const* const c = lanes<std::uint32_t>(f, i.c);
  std::uint32_t* const to      = lanes<std::uint32_t>(f, i.to);
  each_lane(mask, [=](unsigned l) {
    std::uint64_t const eight = a[l] | std::uint64_t{b[l]} << 32;
    std::uint32_t result      = 0;
    for (unsigned byte = 0; byte < 4; ++byte)
    {
      std::uint32_t const selector = c[l] >> (4 * byte);
      std::uint32_t const chosen   = static_cast<std::uint32_t>(eight >> (selector % 8 * 8)) & 0xFF;
      std::uint32_t const sign     = (chosen & 0x80) != 0 ? 0xFF : 0;
      result |= ((selector & 8) != 0 ? sign : chosen) << (8 * byte);
    }
    to[l] = result;
  });
}

/// Any function of three bits: bit 4a + 2b + c of `d`.
void logic_of_three(frame& f, instruction const& i, lane_mask mask)
{
  std::uint32_t const* const a = lanes<std::uint32_t>(f, i.a);
  std::uint32_t const* const b = lanes<std::uint32_t>(f, i.b);
  std::uint32_t const* const c = lanes<std::uint32_t>(f, i.c);
  std::uint32_t const table    = lanes<std::uint32_t>(f, i.d)[0];
  assign_each<std::uint32_t>(f, i.to, mask, [=](unsigned l) {
    std::uint32_t result = 0;
    for (unsigned row = 0; row < 8; ++row)
    {
      std::uint32_t const here =
        ((row & 4) != 0 ? a[l] : ~a[l]) & ((row & 2) != 0 ? b[l] : ~b[l]) & ((row & 1) != 0 ? c[l] : ~c[l]);
      result |= (table >> row & 1) != 0 ? here : 0;
    }
    return result;
  });
}

/// One word of two that are shifted together.
template <bool Right, bool Wraps>
void funnel_shift(frame& f, instruction const& i, lane_mask mask)
{
  std::uint32_t const* const a = lanes<std::uint32_t>(f, i.a);
  std::uint32_t const* const b = lanes<std::uint32_t>(f, i.b);
  std::uint32_t const* const c = lanes<std::uint32_t>(f, i.c);
  assign_each<std::uint32_t>(f, i.to, mask, [=](unsigned l) {
    std::uint64_t const both = a[l] | std::uint64_t{b[l]} << 32;
    std::uint32_t const by   = Wraps ? c[l] % 32 : std::min(c[l], 32u);
    return static_cast<std::uint32_t>(Right ? both >> by : both << by >> 32);
  });
}

// --- Which handler a type has.

// What does the same to integers with and without sign takes those without, whose overflow is defined.

template <class Operation>
handler unary_of_bits(type t)
{
  return for_integers(t, [](auto tag) -> handler {
    return unary<std::make_unsigned_t<type_in<decltype(tag)>>, Operation>;
  });
}

template <class Operation>
handler binary_of_bits(type t)
{
  return for_integers(t, [](auto tag) -> handler {
    return binary<std::make_unsigned_t<type_in<decltype(tag)>>, Operation>;
  });
}

template <class Operation>
handler unary_of_floats(type t)
{
  return for_floats(t, [](auto tag) -> handler { return unary<type_in<decltype(tag)>, Operation>; });
}

template <class Operation>
handler unary_of_wide_floats(type t)
{
  return for_wide_floats(t, [](auto tag) -> handler { return unary<type_in<decltype(tag)>, Operation>; });
}

template <class Operation>
handler binary_of_floats(type t)
{
  return for_floats(t, [](auto tag) -> handler { return binary<type_in<decltype(tag)>, Operation>; });
}

template <class Operation>
handler pairs(type t)
{
  switch (t)
  {
    case type::u16x2:
      return binary<pair_of<std::uint16_t>, on_both<Operation>>;
    case type::s16x2:
      return binary<pair_of<std::int16_t>, on_both<Operation>>;
    default:
      return nullptr;
  }
}

template <class Operation>
handler sum(type t)
{
  handler const of_pairs = pairs<Operation>(t);
  return of_pairs != nullptr ? of_pairs : is_float(t) ? binary_of_floats<Operation>(t) : binary_of_bits<Operation>(t);
}

template <class Operation>
handler extreme(type t)
{
  handler const of_pairs = pairs<Operation>(t);
  return of_pairs != nullptr
         ? of_pairs
         : for_numbers(t, [](auto tag) -> handler { return binary<type_in<decltype(tag)>, Operation>; });
}

template <class Operation>
handler logic(type t)
{
  return t == type::predicate ? of_masks<Operation> : binary_of_bits<Operation>(t);
}

handler complement_of(type t)
{
  return t == type::predicate ? of_masks<complement> : unary_of_bits<complement>(t);
}

handler negation(type t)
{
  return is_float(t) ? unary_of_floats<negate>(t) : unary_of_bits<negate>(t);
}

handler absolute_of(type t)
{
  switch (t)
  {
    case type::s16:
      return unary<std::int16_t, absolute>;
    case type::s32:
      return unary<std::int32_t, absolute>;
    case type::s64:
      return unary<std::int64_t, absolute>;
    default:
      return unary_of_floats<absolute>(t);
  }
}

handler high_product(type t)
{
  return for_integers(t, [](auto tag) -> handler { return binary<type_in<decltype(tag)>, multiply_high>; });
}

handler low_product_and_sum(type t)
{
  return for_integers(t, [](auto tag) -> handler {
    return ternary<std::make_unsigned_t<type_in<decltype(tag)>>, then_add<multiply>>;
  });
}

handler high_product_and_sum(type t)
{
  return for_integers(t, [](auto tag) -> handler { return ternary<type_in<decltype(tag)>, then_add<multiply_high>>; });
}

template <class Operation>
handler shift_of_integers(type t)
{
  return for_integers(t, [](auto tag) -> handler { return shift<type_in<decltype(tag)>, Operation>; });
}

template <class Operation>
handler word_of_unsigned(type t)
{
  return for_words(t, [](auto tag) -> handler {
    using bits = std::make_unsigned_t<type_in<decltype(tag)>>;
    return word_of<bits, Operation>;
  });
}

template <class Operation>
handler word_of_integer(type t)
{
  return for_words(t, [](auto tag) -> handler { return word_of<type_in<decltype(tag)>, Operation>; });
}

template <bool Subtracts, bool TakesCarry, bool GivesCarry>
handler carrying(type t)
{
  return for_words(t, [](auto tag) -> handler {
    using bits = std::make_unsigned_t<type_in<decltype(tag)>>;
    return with_carry<bits, Subtracts, TakesCarry, GivesCarry>;
  });
}

template <bool High, bool TakesCarry, bool GivesCarry>
handler carrying_product(type t)
{
  return for_words(t, [](auto tag) -> handler {
    using number = type_in<decltype(tag)>;
    if constexpr (High && std::is_signed_v<number>)
    {
      return nullptr; // its high half depends on the sign, and nobody carries into it
    }
    else
    {
      return multiply_add_with_carry<std::make_unsigned_t<number>, High, TakesCarry, GivesCarry>;
    }
  });
}

template <bool Adds>
handler wide_product(type t)
{
  switch (t)
  {
    case type::u16:
      return multiply_wide<std::uint16_t, std::uint32_t, Adds>;
    case type::s16:
      return multiply_wide<std::int16_t, std::int32_t, Adds>;
    case type::u32:
      return multiply_wide<std::uint32_t, std::uint64_t, Adds>;
    case type::s32:
      return multiply_wide<std::int32_t, std::int64_t, Adds>;
    default:
      return nullptr;
  }
}

/// Of halves there is none: a sum in float is rounded twice.
handler multiply_add_of_floats(type t)
{
  return for_wide_floats(t, [](auto tag) -> handler { return ternary<type_in<decltype(tag)>, fused_multiply_add>; });
}

handler division(type t)
{
  return is_float(t) ? for_wide_floats(t, [](auto tag) -> handler { return binary<type_in<decltype(tag)>, divide>; })
                     : for_integers(t, [](auto tag) -> handler { return slow_binary<type_in<decltype(tag)>, divide>; });
}

handler remainder_of_integers(type t)
{
  return for_integers(t, [](auto tag) -> handler { return slow_binary<type_in<decltype(tag)>, remainder_of>; });
}

handler reversal(type t)
{
  return for_words(t, [](auto tag) -> handler {
    using bits = std::make_unsigned_t<type_in<decltype(tag)>>;
    return unary<bits, reverse_bits>;
  });
}

handler extraction(type t)
{
  return for_words(t, [](auto tag) -> handler { return extract_bits<type_in<decltype(tag)>>; });
}

handler insertion(type t)
{
  return for_words(t, [](auto tag) -> handler {
    using bits = std::make_unsigned_t<type_in<decltype(tag)>>;
    return insert_bits<bits>;
  });
}

handler selection(type t)
{
  return t == type::predicate
         ? select_predicate
         : for_width(register_width(t), [](auto tag) -> handler { return select<type_in<decltype(tag)>>; });
}

template <handler Handler>
handler of_words(type t)
{
  return register_width(t) == 32 ? Handler : nullptr;
}

using table = std::unordered_map<std::string_view, simple_operation>;

table make_table()
{
  constexpr auto own       = operand_width::own;
  constexpr auto twice     = operand_width::twice;
  constexpr auto word      = operand_width::word;
  constexpr auto predicate = operand_width::predicate;
  return {
    {"add", {sum<add>, own, {own, own}}},
    {"sub", {sum<subtract>, own, {own, own}}},
    {"add.cc", {carrying<false, false, true>, own, {own, own}}},
    {"addc", {carrying<false, true, false>, own, {own, own}}},
    {"addc.cc", {carrying<false, true, true>, own, {own, own}}},
    {"sub.cc", {carrying<true, false, true>, own, {own, own}}},
    {"subc", {carrying<true, true, false>, own, {own, own}}},
    {"subc.cc", {carrying<true, true, true>, own, {own, own}}},
    {"mul", {binary_of_floats<multiply>, own, {own, own}}},
    {"mul.lo", {binary_of_bits<multiply>, own, {own, own}}},
    {"mul.hi", {high_product, own, {own, own}}},
    {"mul.wide", {wide_product<false>, twice, {own, own}}},
    {"mad", {multiply_add_of_floats, own, {own, own, own}}},
    {"mad.lo", {low_product_and_sum, own, {own, own, own}}},
    {"mad.hi", {high_product_and_sum, own, {own, own, own}}},
    {"mad.lo.cc", {carrying_product<false, false, true>, own, {own, own, own}}},
    {"mad.hi.cc", {carrying_product<true, false, true>, own, {own, own, own}}},
    {"madc.lo", {carrying_product<false, true, false>, own, {own, own, own}}},
    {"madc.hi", {carrying_product<true, true, false>, own, {own, own, own}}},
    {"madc.lo.cc", {carrying_product<false, true, true>, own, {own, own, own}}},
    {"madc.hi.cc", {carrying_product<true, true, true>, own, {own, own, own}}},
    {"mad.wide", {wide_product<true>, twice, {own, own, twice}}},
    {"fma", {multiply_add_of_floats, own, {own, own, own}}},
    {"div", {division, own, {own, own}}},
    {"rem", {remainder_of_integers, own, {own, own}}},
    {"min", {extreme<minimum>, own, {own, own}}},
    {"max", {extreme<maximum>, own, {own, own}}},
    {"neg", {negation, own, {own}}},
    {"abs", {absolute_of, own, {own}}},
    {"sqrt", {unary_of_wide_floats<square_root>, own, {own}}},
    {"rcp", {unary_of_wide_floats<reciprocal>, own, {own}}},
    {"and", {logic<bit_and>, own, {own, own}}},
    {"or", {logic<bit_or>, own, {own, own}}},
    {"xor", {logic<bit_xor>, own, {own, own}}},
    {"not", {complement_of, own, {own}}},
    {"shl", {shift_of_integers<shift_left>, own, {own, word}}},
    {"shr", {shift_of_integers<shift_right>, own, {own, word}}},
    {"shf.l.wrap", {of_words<funnel_shift<false, true>>, word, {word, word, word}}},
    {"shf.l.clamp", {of_words<funnel_shift<false, false>>, word, {word, word, word}}},
    {"shf.r.wrap", {of_words<funnel_shift<true, true>>, word, {word, word, word}}},
    {"shf.r.clamp", {of_words<funnel_shift<true, false>>, word, {word, word, word}}},
    {"popc", {word_of_unsigned<count_ones>, word, {own}}},
    {"clz", {word_of_unsigned<count_leading_zeros>, word, {own}}},
    {"bfind", {word_of_integer<find_highest<false>>, word, {own}}},
    {"bfind.shiftamt", {word_of_integer<find_highest<true>>, word, {own}}},
    {"brev", {reversal, own, {own}}},
    {"bfe", {extraction, own, {own, word, word}}},
    {"bfi", {insertion, own, {own, own, word, word}}},
    {"bmsk.clamp", {of_words<binary<std::uint32_t, bit_mask<false>>>, word, {word, word}}},
    {"bmsk.wrap", {of_words<binary<std::uint32_t, bit_mask<true>>>, word, {word, word}}},
    {"prmt", {of_words<permute_bytes>, word, {word, word, word}}},
    {"lop3", {of_words<logic_of_three>, word, {word, word, word, word}}},
    {"selp", {selection, own, {own, own, predicate}}},
  };
}

} // namespace

simple_operation const* find_simple_operation(std::string_view name)
{
  static table const operations = make_table();
  auto const found              = operations.find(name);
  return found == operations.end() ? nullptr : &found->second;
}

handler move_of_width(int width)
{
  return width == 1 ? move_predicate
                    : for_width(width, [](auto tag) -> handler { return move<type_in<decltype(tag)>>; });
}

handler pack_of_widths(int part, int whole)
{
  return whole == 32 && part == 16 ? pack<std::uint16_t, std::uint32_t>
       : whole == 64 && part == 16 ? pack<std::uint16_t, std::uint64_t>
       : whole == 64 && part == 32 ? pack<std::uint32_t, std::uint64_t>
                                   : nullptr;
}

handler unpack_of_widths(int part, int whole)
{
  return whole == 32 && part == 16 ? unpack<std::uint16_t, std::uint32_t>
       : whole == 64 && part == 16 ? unpack<std::uint16_t, std::uint64_t>
       : whole == 64 && part == 32 ? unpack<std::uint32_t, std::uint64_t>
                                   : nullptr;
}

} // namespace gpusort::interpreter
