// Keys with values in several arrays: a zip_iterator makes one value of them, and no array of structs is needed.
#include "has_gpu.h"

#include <gpusort/sort.h>

#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/tuple.h>

#include <random>

template <template <class...> class Vector>
bool sorts(std::size_t n)
{
  thrust::host_vector<unsigned> cells(n), ids(n);
  thrust::host_vector<float> masses(n);
  std::mt19937 random(3);
  for (std::size_t i = 0; i < n; ++i)
  {
    cells[i]  = random() % 5000;
    ids[i]    = static_cast<unsigned>(i);
    masses[i] = static_cast<float>(i) / 2;
  }

  Vector<unsigned> keys = cells, id = ids;
  Vector<float> mass = masses;
  auto const values  = thrust::make_zip_iterator(thrust::make_tuple(id.begin(), mass.begin()));
  gpusort::stable_sort_by_key(keys.begin(), keys.end(), values);

  thrust::host_vector<unsigned> const sorted_cells = keys, sorted_ids = id;
  thrust::host_vector<float> const sorted_masses = mass;
  for (std::size_t i = 0; i < n; ++i)
  {
    unsigned const from = sorted_ids[i];
    bool const together = sorted_cells[i] == cells[from] && sorted_masses[i] == masses[from];
    bool const in_order = i == 0 || sorted_cells[i - 1] < sorted_cells[i]
                       || (sorted_cells[i - 1] == sorted_cells[i] && sorted_ids[i - 1] < from); // ties in input order
    if (!together || !in_order)
    {
      return false;
    }
  }
  return true;
}

int main()
{
  constexpr std::size_t n = 300000;
  return report(has_gpu() ? sorts<thrust::device_vector>(n) : sorts<thrust::host_vector>(n));
}
