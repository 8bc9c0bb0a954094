// What tests make their inputs from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace gpusort::testing
{

/// A number that looks random.
inline std::uint64_t mixed(std::uint64_t i)
{
  i = (i + 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
  i = (i ^ (i >> 29)) * 0x94d049bb133111ebu;
  return i ^ (i >> 32);
}

/// Whether few sizes will do: under a sanitizer, and in the interpreter, everything takes long.
inline bool in_a_hurry()
{
  return std::getenv("GPUSORT_TEST_STEP") != nullptr;
}

/// n keys, each made from its position.
template <class Key, class Make>
std::vector<Key> keys_from(std::size_t n, Make make)
{
  std::vector<Key> keys(n);
  for (std::size_t i = 0; i < n; ++i)
  {
    keys[i] = make(i);
  }
  return keys;
}

} // namespace gpusort::testing
