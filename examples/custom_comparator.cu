// Own key types and comparators: any strict weak ordering, on any trivially copyable type.
#include "has_gpu.h"

#include <gpusort/sort.h>

#include <thrust/device_vector.h>
#include <thrust/host_vector.h>

#include <algorithm>
#include <random>
#include <type_traits>

struct particle
{
  unsigned cell;
  float mass;
};

// By cell; within a cell the heaviest first.
struct by_cell_and_mass
{
  __host__ __device__ bool operator()(particle const& a, particle const& b) const
  {
    return a.cell != b.cell ? a.cell < b.cell : a.mass > b.mass;
  }
};

// Nobody can read what a comparator compares, so automatic runs the merge sort, and radix_sort would not compile.
// sort_by_fields.cu says the same order in a way that radix sort can read.
static_assert(std::is_same_v<gpusort::selected_t<particle, by_cell_and_mass>, gpusort::merge_sort_t>);

template <class Vector>
bool sorts(thrust::host_vector<particle> const& input)
{
  Vector particles = input;
  gpusort::sort(particles.begin(), particles.end(), by_cell_and_mass{});
  thrust::host_vector<particle> out = particles;
  bool const first                  = std::is_sorted(out.begin(), out.end(), by_cell_and_mass{});

  // A lambda does as well; stable_sort keeps the order by mass among particles that are now equivalent.
  auto const by_cell_parity = []
    __host__ __device__(particle const& a, particle const& b) { return a.cell % 2 < b.cell % 2; };
  gpusort::stable_sort(particles.begin(), particles.end(), by_cell_parity);
  out               = particles;
  auto const parity = [](particle const& a, particle const& b) { return a.cell % 2 < b.cell % 2; };
  auto const is_odd = [](particle const& p) { return p.cell % 2 != 0; };
  auto const odd    = std::find_if(out.begin(), out.end(), is_odd);
  bool const second = std::is_sorted(out.begin(), out.end(), parity);
  bool const ordered =
    std::is_sorted(out.begin(), odd, by_cell_and_mass{}) && std::is_sorted(odd, out.end(), by_cell_and_mass{});
  return first && second && ordered;
}

int main()
{
  thrust::host_vector<particle> input(200000);
  std::mt19937 random(2);
  for (particle& p : input)
  {
    p.cell = static_cast<unsigned>(random()) % 1000;
    p.mass = static_cast<float>(random() % 4096) / 64;
  }
  return report(
    has_gpu() ? sorts<thrust::device_vector<particle>>(input) : sorts<thrust::host_vector<particle>>(input));
}
