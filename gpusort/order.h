// Orders of structs by their fields, for every algorithm to call and for radix sort to read.
#pragma once

#include <gpusort/radix/fields.h>

#include <type_traits>

namespace gpusort
{

namespace detail
{
template <class Part>
__host__ __device__ constexpr typename radix::part<Part>::type make_part(Part part)
{
  static_assert(
    !std::is_member_function_pointer_v<Part>,
    "gpusort: gpusort::by and gpusort::descending cannot read a pointer to a member function, which kernels could not "
    "call; write a function object or a lambda that calls it.");
#if defined(__CUDACC_EXTENDED_LAMBDA__)
  static_assert(!__nv_is_extended_device_lambda_closure_type(Part)
                  || __nv_is_extended_host_device_lambda_closure_type(Part)
                  || __nv_is_extended_device_lambda_with_preserved_return_type(Part),
                "gpusort: what a __device__ lambda returns cannot be seen in host code: make the projection __host__ "
                "__device__, or state its type, as in [] __device__ (particle const& p) -> float { ... }.");
#endif
  if constexpr (std::is_same_v<typename radix::part<Part>::type, Part>)
  {
    return part;
  }
  else
  {
    return {{part}};
  }
}
} // namespace detail

/// The order of keys by their fields, ascending, the first that differs deciding:
/// ```
/// auto const order = gpusort::by(&particle::cell, gpusort::descending(&particle::mass));
/// gpusort::sort(particles.begin(), particles.end(), order);
/// ```
/// Effect: a comparator, callable wherever a `less` is, that radix sort reads in place of calling it: has_radix_order_v
///   holds. A part is a pointer to a data member; a projection, callable with `Key const&` where the sort runs, when it is
///   const, whose result has a radix order: a number, a bool, an enum without operators of its own, or a tuple or pair of
///   these; or another order, whose fields stand in its place. Keys may be tuples, as behind a zip_iterator.
///   Floats are ordered -NaN, -inf ... -0 and +0 equal ... +inf, +NaN, by every algorithm: unlike `<`, a strict weak
///   ordering whatever the keys are.
/// Complexity: a comparison reads all fields of both keys. Radix sort is O(n x bytes of all fields together), in which a
///   bool counts one bit.
/// Stability: keys whose fields are all equal are equivalent.
/// Memory: none. For radix sort's, which depends on the order's type, ask workspace_bytes with the order.
/// Requires: projections that give the same field whenever they are called with the same key. A `__device__` lambda has to
///   state its result's type.
/// Throws: nothing of its own.
template <class... Parts>
__host__ __device__ constexpr auto by(Parts... parts)
{
  static_assert(sizeof...(Parts) > 0, "gpusort: gpusort::by needs at least one field to order by.");
  return radix::field_order<false, typename radix::part<Parts>::type...>(detail::make_part(parts)...);
}

/// The reverse of `by(parts...)`.
/// Effect: an order like any other. As a part of one it reverses its own fields and no others, so
///   `by(a, descending(b, c), d)` is ascending by a and d, and `descending(by(a, descending(b)))` is descending by a and
///   ascending by b. Equivalent keys are the same, and a stable sort keeps them in input order.
/// Everything else: as for by.
template <class... Parts>
__host__ __device__ constexpr auto descending(Parts... parts)
{
  static_assert(sizeof...(Parts) > 0, "gpusort: gpusort::descending needs at least one field to order by.");
  return radix::field_order<true, typename radix::part<Parts>::type...>(detail::make_part(parts)...);
}

} // namespace gpusort
