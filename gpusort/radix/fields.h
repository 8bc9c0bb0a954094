// Keys of several fields read as one unsigned integer, their image. Each field is read by its key_order, the first one
// is the most significant, and there is nothing between them. Whoever compares keys, counts their digits or cuts them
// into words asks the same function for a window of the image, and so cannot disagree with the others.
#pragma once

#include <gpusort/radix/key_order.h>

#include <cuda/std/detail/__config>
#include <cuda/std/tuple>
#include <cuda/std/utility>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace gpusort::radix
{

// Values that radix can read: numbers, and pairs and tuples of such values.

/// Bits of a T in an image: a bool takes one. 0 if T has no radix order under `<`.
template <class T>
__host__ __device__ constexpr int field_bits();

/// The sum, or 0 if one of them is.
template <class... Bits>
__host__ __device__ constexpr int all_or_none(Bits... bits)
{
  return ((bits > 0) && ... && true) ? (0 + ... + bits) : 0;
}

/// Types that `<` compares element by element. std::tuple is none of them here: its elements cannot be read in device
/// code, those of std::pair can.
template <class T>
struct composite
{
  static constexpr bool known = false;
};
template <class... T>
struct composite_of
{
  static constexpr bool known = true;
  using indices               = std::index_sequence_for<T...>;
  __host__ __device__ static constexpr int bits()
  {
    return all_or_none(field_bits<T>()...);
  }
};
// clang-format off
template <class... T> struct composite<::cuda::std::tuple<T...>> : composite_of<T...> {};
template <class T, class U> struct composite<::cuda::std::pair<T, U>> : composite_of<T, U> {};
template <class T, class U> struct composite<std::pair<T, U>> : composite_of<T, U> {};
// clang-format on

// A program may have a `<` of its own for pairs and tuples of its types, which its namespace leads to. Of a class derived from one, every operator
// that would do for it does, and competes with those below, which are as good as the libraries' or better, but no better than any of a program's. The two sides are of two types, as in key_order.h.
namespace probe
{
template <class Composite, int Side>
struct derived_from : Composite
{};

// clang-format off
template <class... T> none operator<(::cuda::std::tuple<T...> const&, ::cuda::std::tuple<T...> const&);
template <class... T> none operator>(::cuda::std::tuple<T...> const&, ::cuda::std::tuple<T...> const&);
template <class T, class U> none operator<(::cuda::std::pair<T, U> const&, ::cuda::std::pair<T, U> const&);
template <class T, class U> none operator>(::cuda::std::pair<T, U> const&, ::cuda::std::pair<T, U> const&);
template <class T, class U> none operator<(std::pair<T, U> const&, std::pair<T, U> const&);
template <class T, class U> none operator>(std::pair<T, U> const&, std::pair<T, U> const&);
// clang-format on

template <class Composite>
using less_of =
  decltype(std::declval<derived_from<Composite, 0> const&>() < std::declval<derived_from<Composite, 1> const&>());
template <class Composite>
using greater_of =
  decltype(std::declval<derived_from<Composite, 0> const&>() > std::declval<derived_from<Composite, 1> const&>());

// Who provides `<=>` in place of them, as std::pair does from C++20 on, is worse than those below: then there is another as good as they are.
template <class Composite>
inline constexpr bool has_library_operators = true;
#if defined(__cpp_lib_three_way_comparison)
template <class T, class U>
inline constexpr bool has_library_operators<std::pair<T, U>> = false;
#endif

template <template <class> class Comparison, class Composite, class = void>
struct is_own : std::bool_constant<!has_library_operators<Composite>>
{};
template <template <class> class Comparison, class Composite>
struct is_own<Comparison, Composite, std::void_t<Comparison<Composite>>>
    : std::bool_constant<!std::is_same_v<Comparison<Composite>, none>>
{};
} // namespace probe

/// The bits of a Composite's elements, or 0 if a program compares it by an operator of its own. That is asked only where it matters: the
/// operator may be a template that does not compile.
template <class Composite, template <class> class Comparison>
__host__ __device__ constexpr int composite_bits()
{
  if constexpr (composite<Composite>::bits() > 0)
  {
    return probe::is_own<Comparison, Composite>::value ? 0 : composite<Composite>::bits();
  }
  else
  {
    return 0;
  }
}

template <std::size_t I, class... T>
__host__ __device__ auto const& element(::cuda::std::tuple<T...> const& tuple)
{
  return ::cuda::std::get<I>(tuple);
}

template <std::size_t I, class Pair>
__host__ __device__ auto const& element_of_pair(Pair const& pair)
{
  if constexpr (I == 0)
  {
    return pair.first;
  }
  else
  {
    return pair.second;
  }
}

template <std::size_t I, class T, class U>
__host__ __device__ auto const& element(::cuda::std::pair<T, U> const& pair)
{
  return element_of_pair<I>(pair);
}

template <std::size_t I, class T, class U>
__host__ __device__ auto const& element(std::pair<T, U> const& pair)
{
  return element_of_pair<I>(pair);
}

template <class T>
__host__ __device__ constexpr int field_bits()
{
  if constexpr (std::is_same_v<T, bool>)
  {
    return 1;
  }
  else if constexpr (kind_of<T>() != key_kind::none)
  {
    return has_built_in_order<T>::less && !probe::defines_three_way<T>::value ? static_cast<int>(sizeof(T)) * 8 : 0;
  }
  else if constexpr (composite<T>::known)
  {
    return composite_bits<T, probe::less_of>();
  }
  else
  {
    return 0;
  }
}

// Images.

/// The bits of an image from bit `low` on, as many as a Word holds.
template <class Word>
struct window
{
  int low;
  Word bits = 0;

  /// Puts in what the window shows of a field whose lowest bit is bit `at` of the image.
  template <class Rank>
  __host__ __device__ void add(Rank rank, int at)
  {
    int const shift = at - low;
    if (shift >= 0 && shift < static_cast<int>(sizeof(Word)) * 8)
    {
      bits = static_cast<Word>(bits | static_cast<Word>(static_cast<Word>(rank) << shift));
    }
    if (shift < 0 && -shift < static_cast<int>(sizeof(Rank)) * 8)
    {
      bits = static_cast<Word>(bits | static_cast<Word>(rank >> -shift));
    }
  }
};

template <bool Descending, class Word, class T>
__host__ __device__ void add_field(window<Word>& to, T const& value, int at);

template <bool Descending, class Word, class T, std::size_t... I>
__host__ __device__ void add_elements(window<Word>& to, T const& value, int end, std::index_sequence<I...>)
{
  ((end -= field_bits<std::decay_t<decltype(element<I>(value))>>(), add_field<Descending>(to, element<I>(value), end)),
   ...);
}

/// Puts a value into its field_bits from bit `at` of the image on.
template <bool Descending, class Word, class T>
__host__ __device__ void add_field(window<Word>& to, T const& value, int at)
{
  if constexpr (composite<T>::known)
  {
    add_elements<Descending>(to, value, at + composite<T>::bits(), typename composite<T>::indices{});
  }
  else if constexpr (std::is_same_v<T, bool>)
  {
    to.add(static_cast<std::uint8_t>(value != Descending), at);
  }
  else
  {
    bits_t<T> const rank = make_key_order<T, ::cuda::std::less<void>>().rank_of(bits_of(value));
    to.add(Descending ? static_cast<bits_t<T>>(~rank) : rank, at);
  }
}

/// The widest window: what one sort of words can order.
inline constexpr int max_window_bits = 128;

/// The smallest word that holds so many bits; of more, the widest window.
template <int Bits>
using word_of_bits_t =
  typename unsigned_of_size<Bits <= 8    ? 1
                            : Bits <= 16 ? 2
                            : Bits <= 32 ? 4
                            : Bits <= 64 ? 8
                                         : 16>::type;

// Orders.

/// As what a projection is called. In host code a __device__ lambda is a stand-in that knows what the lambda returns, if
/// the lambda states it, but whose call operator is not const.
#if defined(__CUDACC_EXTENDED_LAMBDA__)
template <class Function>
using called_t = std::conditional_t<__nv_is_extended_device_lambda_closure_type(Function), Function&, Function const&>;
#else
template <class Function>
using called_t = Function const&;
#endif

/// A function of the key, as a part of an order: its result is a field.
template <class Function>
struct projection
{
  Function function;

  template <class Key>
  using result_t = std::decay_t<decltype(std::declval<called_t<Function>>()(std::declval<Key const&>()))>;

  template <class Key, class = void>
  struct is_callable : std::false_type
  {};
  template <class Key>
  struct is_callable<Key, std::void_t<result_t<Key>>> : std::true_type
  {};

  template <class Key>
  __host__ __device__ static constexpr bool reads()
  {
    return is_callable<Key>::value;
  }

  template <class Key>
  __host__ __device__ static constexpr int bits()
  {
    if constexpr (is_callable<Key>::value)
    {
      return field_bits<result_t<Key>>();
    }
    else
    {
      return 0;
    }
  }

  _CCCL_EXEC_CHECK_DISABLE
  template <bool Reverse, class Word, class Key>
  __host__ __device__ void add_to(window<Word>& to, Key const& key, int at) const
  {
    result_t<Key> const field = function(key); // a copy: the key may be a temporary that a proxy was converted to
    add_field<Reverse>(to, field, at);
  }
};

/// Reads a data member.
template <class Struct, class Field>
struct member
{
  using pointer_type = Field Struct::*; // what nvcc makes of the bare declaration, g++ warns of

  pointer_type pointer;

  __host__ __device__ std::decay_t<Field> operator()(Struct const& key) const
  {
    return key.*pointer;
  }
};

/// The order of keys by the fields that its parts read, the first that differs deciding: what gpusort::by and
/// gpusort::descending return. Parts are projections and orders. -0 and +0 are one number, NaNs lie at the ends.
template <bool Descending, class... Parts>
class field_order
{
public:
  __host__ __device__ explicit constexpr field_order(Parts... parts)
      : parts_(parts...)
  {}

  /// Whether every projection can be called with a Key.
  template <class Key>
  __host__ __device__ static constexpr bool reads()
  {
    return (Parts::template reads<Key>() && ...);
  }

  /// Bits of a Key's image; 0 if what a projection returns has no radix order.
  template <class Key>
  __host__ __device__ static constexpr int bits()
  {
    return all_or_none(Parts::template bits<Key>()...);
  }

  /// The Word of the key's image that begins at bit `low`.
  template <class Word, class Key>
  __host__ __device__ Word image(Key const& key, int low = 0) const
  {
    window<Word> seen{low};
    add_to<false>(seen, key, 0);
    return seen.bits;
  }

  /// Puts the key's image into `to`, from its bit `at` on.
  template <bool Reverse, class Word, class Key>
  __host__ __device__ void add_to(window<Word>& to, Key const& key, int at) const
  {
    add_parts<Reverse != Descending>(to, key, at + bits<Key>(), std::index_sequence_for<Parts...>{});
  }

  /// Whether a goes before b. Keys may be seen through proxies.
  template <class A, class B>
  __host__ __device__ bool operator()(A const& a, B const& b) const
  {
    static_assert(
      reads<A>() && reads<B>(),
      "gpusort: a projection of gpusort::by cannot be called with the keys: it has to be callable when it is "
      "const, or a pointer to a data member.");
    static_assert(
      !reads<A>() || bits<A>() > 0,
      "gpusort: what a projection of gpusort::by returns has no radix order: it has to be a number, a bool, an "
      "enum without operators of its own, or a tuple or pair of these; for other keys sort by a comparator "
      "instead.");
    if constexpr (bits<A>() > 0 && bits<A>() == bits<B>())
    {
      for (int low = (bits<A>() - 1) / max_window_bits * max_window_bits; low >= 0; low -= max_window_bits)
      {
        auto const x = image<word_of_bits_t<bits<A>()>>(a, low);
        auto const y = image<word_of_bits_t<bits<A>()>>(b, low);
        if (x != y)
        {
          return x < y;
        }
      }
    }
    return false;
  }

private:
  template <bool Reverse, class Word, class Key, std::size_t... I>
  __host__ __device__ void add_parts(window<Word>& to, Key const& key, int end, std::index_sequence<I...>) const
  {
    ((end -= Parts::template bits<Key>(), ::cuda::std::get<I>(parts_).template add_to<Reverse>(to, key, end)), ...);
  }

  ::cuda::std::tuple<Parts...> parts_;
};

// What a user may write as a part: a function, a pointer to a data member, an order.
// clang-format off
template <class T> struct part { using type = projection<T>; };
template <class Struct, class Field> struct part<Field Struct::*> { using type = projection<member<Struct, Field>>; };
template <bool Descending, class... Parts> struct part<field_order<Descending, Parts...>> { using type = field_order<Descending, Parts...>; };
// clang-format on

/// How Keys are read under Compare. `bits` is 0 if they cannot be; otherwise
/// `template <class Word> static Word read(Compare const&, Key const&, int low)` is a window of the image.
template <class Key, class Compare, class = void>
struct image_of
{
  static constexpr int bits = 0;
};

template <class Key, class Compare>
struct image_of<Key, Compare, std::enable_if_t<has_key_order_v<Key, Compare>>>
{
  static constexpr int bits = static_cast<int>(sizeof(Key)) * 8;

  template <class Word>
  __host__ __device__ static Word read(Compare const&, Key const& key, int low)
  {
    window<Word> seen{low};
    seen.add(make_key_order<Key, Compare>().rank_of(bits_of(key)), 0);
    return seen.bits;
  }
};

// `a > b` of pairs and tuples is `b < a`, which asks `<` of the elements.
template <class Key, class Compare>
struct image_of<Key,
                Compare,
                std::enable_if_t<composite<Key>::known && (is_less_v<Compare, Key> || is_greater_v<Compare, Key>)>>
{
  static constexpr int bits =
    is_greater_v<Compare, Key> && composite_bits<Key, probe::greater_of>() == 0 ? 0 : field_bits<Key>();

  template <class Word>
  __host__ __device__ static Word read(Compare const&, Key const& key, int low)
  {
    window<Word> seen{low};
    add_field<is_greater_v<Compare, Key>>(seen, key, 0);
    return seen.bits;
  }
};

template <class Key, bool Descending, class... Parts>
struct image_of<Key, field_order<Descending, Parts...>, void>
{
  using order               = field_order<Descending, Parts...>;
  static constexpr int bits = order::template bits<Key>();

  template <class Word>
  __host__ __device__ static Word read(order const& comp, Key const& key, int low)
  {
    return comp.template image<Word>(key, low);
  }
};

template <class Key, class Compare>
inline constexpr bool has_image_v = image_of<Key, Compare>::bits > 0;

} // namespace gpusort::radix
