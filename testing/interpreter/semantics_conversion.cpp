// Comparisons and conversions.
#include "lanes.h"
#include "numbers.h"
#include "semantics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gpusort::interpreter
{
namespace
{

// --- Relations. Those that end in u hold for NaNs too, the others do not.

struct equal
{
  template <class T>
  bool operator()(T a, T b) const
  {
    return a == b;
  }
};

struct less
{
  template <class T>
  bool operator()(T a, T b) const
  {
    return a < b;
  }
};

struct less_or_equal
{
  template <class T>
  bool operator()(T a, T b) const
  {
    return a <= b;
  }
};

struct not_equal
{
  template <class T>
  bool operator()(T a, T b) const
  {
    return is_floating<T> ? a < b || b < a : a != b;
  }
};

struct ordered
{
  template <class T>
  bool operator()(T a, T b) const
  {
    return a == a && b == b;
  }
};

template <class Relation>
struct swapped
{
  template <class T>
  bool operator()(T a, T b) const
  {
    return Relation{}(b, a);
  }
};

template <class Relation>
struct no
{
  template <class T>
  bool operator()(T a, T b) const
  {
    return !Relation{}(a, b);
  }
};

template <class T, class Relation, combination With>
void compare(frame& f, instruction const& i, lane_mask mask)
{
  T const* const a    = lanes<T>(f, i.a);
  T const* const b    = lanes<T>(f, i.b);
  lane_mask holds     = mask_where([=](unsigned l) { return Relation{}(a[l], b[l]); });
  lane_mask otherwise = ~holds;
  if constexpr (With != combination::none)
  {
    lane_mask const other = i.source_negated ? ~mask_at(f, i.c) : mask_at(f, i.c);
    auto const combined   = [=](lane_mask m) {
      return With == combination::conjunction ? m & other : With == combination::disjunction ? m | other : m ^ other;
    };
    holds     = combined(holds);
    otherwise = combined(otherwise);
  }
  assign_mask(f, i.to, holds, mask);
  assign_mask(f, i.predicate_to, otherwise, mask);
}

template <class Relation>
handler comparison_by(combination with, type t)
{
  return for_numbers(t, [=](auto tag) -> handler {
    using number = type_in<decltype(tag)>;
    switch (with)
    {
      case combination::none:
        return compare<number, Relation, combination::none>;
      case combination::conjunction:
        return compare<number, Relation, combination::conjunction>;
      case combination::disjunction:
        return compare<number, Relation, combination::disjunction>;
      default:
        return compare<number, Relation, combination::exclusive>;
    }
  });
}

// --- Conversions.

template <class FromRegister, class From, class To, class ToRegister>
void convert_integer(frame& f, instruction const& i, lane_mask mask)
{
  FromRegister const* const a = lanes<FromRegister>(f, i.a);
  assign_each<ToRegister>(f, i.to, mask, [=](unsigned l) {
    return static_cast<ToRegister>(static_cast<To>(static_cast<From>(a[l])));
  });
}

template <class T>
T rounded(T x, rounding how)
{
  switch (how)
  {
    case rounding::nearest:
      return std::nearbyint(x);
    case rounding::towards_zero:
      return std::trunc(x);
    case rounding::down:
      return std::floor(x);
    case rounding::up:
      return std::ceil(x);
    default:
      return x;
  }
}

/// What does not fit becomes the nearest that does, NaN zero.
template <class From, rounding How, class To, class ToRegister>
void convert_to_integer(frame& f, instruction const& i, lane_mask mask)
{
  using wide                = std::conditional_t<is_half<From>, float, From>;
  constexpr To most         = std::numeric_limits<To>::max();
  constexpr To least        = std::numeric_limits<To>::min();
  From const* const a       = lanes<From>(f, i.a);
  ToRegister* const results = lanes<ToRegister>(f, i.to);
  each_lane(mask, [=](unsigned l) {
    wide const x = rounded(static_cast<wide>(a[l]), How);
    To const to  = x != x                        ? To{0}
                 : x >= static_cast<wide>(most)  ? most
                 : x <= static_cast<wide>(least) ? least
                                                 : static_cast<To>(x);
    results[l]   = static_cast<ToRegister>(to);
  });
}

/// Rounds to the nearest, or towards zero.
template <class FromRegister, class From, rounding How, class To>
void convert_from_integer(frame& f, instruction const& i, lane_mask mask)
{
  FromRegister const* const a = lanes<FromRegister>(f, i.a);
  To* const results           = lanes<To>(f, i.to);
  each_lane(mask, [=](unsigned l) {
    From const from = static_cast<From>(a[l]);
    To to           = static_cast<To>(from);
    if constexpr (How == rounding::towards_zero && !is_half<To>)
    {
      long double const exact = from;
      if (std::fabs(static_cast<long double>(to)) > std::fabs(exact))
      {
        to = std::nextafter(to, To{0});
      }
    }
    results[l] = to;
  });
}

template <class From, rounding How, class To>
void convert_float(frame& f, instruction const& i, lane_mask mask)
{
  using wide          = std::conditional_t<is_half<From>, float, From>;
  From const* const a = lanes<From>(f, i.a);
  To* const results   = lanes<To>(f, i.to);
  each_lane(mask, [=](unsigned l) { results[l] = static_cast<To>(rounded(static_cast<wide>(a[l]), How)); });
}

template <class Make>
handler for_rounding(rounding how, Make make)
{
  switch (how)
  {
    case rounding::nearest:
      return make(std::integral_constant<rounding, rounding::nearest>{});
    case rounding::towards_zero:
      return make(std::integral_constant<rounding, rounding::towards_zero>{});
    case rounding::down:
      return make(std::integral_constant<rounding, rounding::down>{});
    case rounding::up:
      return make(std::integral_constant<rounding, rounding::up>{});
    default:
      return make(std::integral_constant<rounding, rounding::none>{});
  }
}

/// An integer and the register, at least as wide, that holds it.
template <class Make>
handler for_held_integer(type t, int width, Make make)
{
  return for_integers_and_bytes(t, [=](auto integer) -> handler {
    return for_width(width, [=](auto holder) -> handler {
      if constexpr (sizeof(type_in<decltype(holder)>) >= sizeof(type_in<decltype(integer)>))
      {
        return make(integer, holder);
      }
      else
      {
        return nullptr;
      }
    });
  });
}

handler integer_conversion(type to, int to_width, type from, int from_width)
{
  return for_held_integer(from, from_width, [=](auto source, auto source_register) -> handler {
    return for_held_integer(to, to_width, [=](auto result, auto result_register) -> handler {
      return convert_integer<type_in<decltype(source_register)>,
                             type_in<decltype(source)>,
                             type_in<decltype(result)>,
                             type_in<decltype(result_register)>>;
    });
  });
}

handler conversion_to_integer(type to, int to_width, type from, rounding how)
{
  return for_floats(from, [=](auto source) -> handler {
    return for_held_integer(to, to_width, [=](auto result, auto result_register) -> handler {
      return for_rounding(how, [=](auto mode) -> handler {
        return convert_to_integer<type_in<decltype(source)>,
                                  decltype(mode)::value,
                                  type_in<decltype(result)>,
                                  type_in<decltype(result_register)>>;
      });
    });
  });
}

handler conversion_from_integer(type to, type from, int from_width, rounding how)
{
  return for_held_integer(from, from_width, [=](auto source, auto source_register) -> handler {
    return for_floats(to, [=](auto result) -> handler {
      using float_type = type_in<decltype(result)>;
      if constexpr (std::is_same_v<float_type, bfloat>)
      {
        return nullptr; // would be rounded twice
      }
      else
      {
        using integer = type_in<decltype(source)>;
        using holder  = type_in<decltype(source_register)>;
        return how == rounding::towards_zero ? convert_from_integer<holder, integer, rounding::towards_zero, float_type>
             : how == rounding::none         ? convert_from_integer<holder, integer, rounding::none, float_type>
                                             : nullptr;
      }
    });
  });
}

handler float_conversion(type to, type from, rounding how)
{
  bool const rounds_twice = from == type::f64 && register_width(to) == 16;
  bool const rounds_half  = how != rounding::none && register_width(to) == 16;
  if (rounds_twice || rounds_half)
  {
    return nullptr;
  }
  return for_floats(from, [=](auto source) -> handler {
    return for_floats(to, [=](auto result) -> handler {
      return for_rounding(how, [=](auto mode) -> handler {
        return convert_float<type_in<decltype(source)>, decltype(mode)::value, type_in<decltype(result)>>;
      });
    });
  });
}

} // namespace

handler comparison(std::string_view relation, combination with, type t)
{
  if (relation == "eq")
  {
    return comparison_by<equal>(with, t);
  }
  if (relation == "ne")
  {
    return comparison_by<not_equal>(with, t);
  }
  if (relation == "lt" || relation == "lo")
  {
    return comparison_by<less>(with, t);
  }
  if (relation == "le" || relation == "ls")
  {
    return comparison_by<less_or_equal>(with, t);
  }
  if (relation == "gt" || relation == "hi")
  {
    return comparison_by<swapped<less>>(with, t);
  }
  if (relation == "ge" || relation == "hs")
  {
    return comparison_by<swapped<less_or_equal>>(with, t);
  }
  if (!is_float(t))
  {
    return nullptr;
  }
  if (relation == "equ")
  {
    return comparison_by<no<not_equal>>(with, t);
  }
  if (relation == "neu")
  {
    return comparison_by<no<equal>>(with, t);
  }
  if (relation == "ltu")
  {
    return comparison_by<no<swapped<less_or_equal>>>(with, t);
  }
  if (relation == "leu")
  {
    return comparison_by<no<swapped<less>>>(with, t);
  }
  if (relation == "gtu")
  {
    return comparison_by<no<less_or_equal>>(with, t);
  }
  if (relation == "geu")
  {
    return comparison_by<no<less>>(with, t);
  }
  if (relation == "num")
  {
    return comparison_by<ordered>(with, t);
  }
  return relation == "nan" ? comparison_by<no<ordered>>(with, t) : nullptr;
}

handler conversion(type to, int to_width, type from, int from_width, rounding how)
{
  if (is_float(from) && is_float(to))
  {
    return float_conversion(to, from, how);
  }
  if (is_float(from))
  {
    return conversion_to_integer(to, to_width, from, how);
  }
  return is_float(to) ? conversion_from_integer(to, from, from_width, how)
                      : integer_conversion(to, to_width, from, from_width);
}

type parse_type(std::string_view name)
{
  struct entry
  {
    std::string_view name;
    type means;
  };
  static constexpr entry all[] = {
    {"pred", type::predicate}, {"b8", type::u8},   {"u8", type::u8},       {"s8", type::s8},       {"b16", type::u16},
    {"u16", type::u16},        {"s16", type::s16}, {"b32", type::u32},     {"u32", type::u32},     {"s32", type::s32},
    {"b64", type::u64},        {"u64", type::u64}, {"s64", type::s64},     {"f16", type::f16},     {"bf16", type::bf16},
    {"f32", type::f32},        {"f64", type::f64}, {"u16x2", type::u16x2}, {"s16x2", type::s16x2},
  };
  auto const found = std::find_if(std::begin(all), std::end(all), [&](entry const& e) { return e.name == name; });
  return found == std::end(all) ? type::none : found->means;
}

int register_width(type t)
{
  switch (t)
  {
    case type::none:
      return 0;
    case type::predicate:
      return 1;
    case type::u8:
    case type::s8:
    case type::u16:
    case type::s16:
    case type::f16:
    case type::bf16:
      return 16;
    case type::u64:
    case type::s64:
    case type::f64:
      return 64;
    default:
      return 32;
  }
}

bool is_float(type t)
{
  return t == type::f16 || t == type::bf16 || t == type::f32 || t == type::f64;
}

} // namespace gpusort::interpreter
