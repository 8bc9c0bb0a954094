// Structs by their fields: an order that says which fields decide, and in which direction, is sorted by radix, where a
// comparator with the same meaning could only be called.
#include "has_gpu.h"

#include <gpusort/order.h>
#include <gpusort/sort.h>

#include <thrust/device_vector.h>
#include <thrust/host_vector.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <type_traits>

struct particle
{
  unsigned cell;
  float mass;
  float speed[3];
};

struct energy_of
{
  __host__ __device__ float operator()(particle const& p) const
  {
    return p.mass * (p.speed[0] * p.speed[0] + p.speed[1] * p.speed[1] + p.speed[2] * p.speed[2]) / 2;
  }
};

template <class Vector, class Order, class Compare>
bool sorts(thrust::host_vector<particle> const& input, Order order, Compare same_meaning)
{
  static_assert(gpusort::has_radix_order_v<particle, Order>);
  static_assert(std::is_same_v<gpusort::selected_t<particle, Order>, gpusort::radix_sort_t>);

  Vector particles = input;
  gpusort::stable_sort(particles.begin(), particles.end(), order);

  thrust::host_vector<particle> expected = input, out = particles;
  std::stable_sort(expected.begin(), expected.end(), same_meaning);
  return std::equal(out.begin(), out.end(), expected.begin(), [](particle const& a, particle const& b) {
    return a.cell == b.cell && a.mass == b.mass && std::equal(a.speed, a.speed + 3, b.speed);
  });
}

template <class Vector>
bool sorts(thrust::host_vector<particle> const& input)
{
  // By cell; within a cell the heaviest first. Pointers to members will do where a field is a number.
  bool const by_members = sorts<Vector>(
    input,
    gpusort::by(&particle::cell, gpusort::descending(&particle::mass)),
    [](particle const& a, particle const& b) { return a.cell != b.cell ? a.cell < b.cell : a.mass > b.mass; });

  // A field may be computed: by a function object, or a lambda for host and device.
  auto const is_odd = [] __host__ __device__(particle const& p) { return p.cell % 2 != 0; };
  bool const by_functions =
    sorts<Vector>(input, gpusort::by(is_odd, energy_of{}), [=](particle const& a, particle const& b) {
      return is_odd(a) != is_odd(b) ? is_odd(b) : energy_of{}(a) < energy_of{}(b);
    });
  return by_members && by_functions;
}

int main()
{
  thrust::host_vector<particle> input(200000);
  std::mt19937 random(4);
  for (particle& p : input)
  {
    p.cell = static_cast<unsigned>(random()) % 1000;
    p.mass = static_cast<float>(random() % 4096) / 64;
    for (float& speed : p.speed)
    {
      speed = static_cast<float>(random() % 256);
    }
  }
  return report(
    has_gpu() ? sorts<thrust::device_vector<particle>>(input) : sorts<thrust::host_vector<particle>>(input));
}
