// Elements of any size and alignment that show when they have been torn.
#pragma once

#include <testing/support/device_memory.cuh>

#include <cstddef>
#include <vector>

namespace gpusort::testing
{

/// An element of `Bytes` bytes aligned to `Alignment`, ordered by its first three bytes.
template <std::size_t Bytes, std::size_t Alignment>
struct alignas(Alignment) sized
{
  static_assert(Bytes >= 3 && Bytes % Alignment == 0);
  unsigned char bytes[Bytes];

  __host__ __device__ unsigned number() const
  {
    return bytes[0] | unsigned{bytes[1]} << 8 | unsigned{bytes[2]} << 16;
  }
};

/// The element that stands for a number: every byte depends on it, so that a torn copy is seen.
template <class Element>
Element element_of(unsigned number)
{
  Element e;
  for (std::size_t i = 0; i < sizeof(e.bytes); ++i)
  {
    e.bytes[i] =
      i < 3 ? static_cast<unsigned char>(number >> (8 * i)) : static_cast<unsigned char>(number * 167 + i * 13);
  }
  return e;
}

struct by_number
{
  template <class Element>
  __host__ __device__ bool operator()(Element const& a, Element const& b) const
  {
    return a.number() < b.number();
  }
};

/// Many equal numbers when few are asked for.
inline std::vector<unsigned> numbers(std::size_t n, unsigned distinct)
{
  std::vector<unsigned> result(n);
  for (std::size_t i = 0; i < n; ++i)
  {
    result[i] = static_cast<unsigned>((i * 2654435761u >> 8) % distinct);
  }
  return result;
}

template <class Element>
host_array<Element> elements(std::vector<unsigned> const& numbers)
{
  host_array<Element> result(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i)
  {
    result[i] = element_of<Element>(numbers[i]);
  }
  return result;
}

} // namespace gpusort::testing
