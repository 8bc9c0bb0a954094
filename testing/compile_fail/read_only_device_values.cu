// expect: this range can be read only
#include <gpusort/sort.h>

#include <thrust/device_vector.h>

int main()
{
  thrust::device_vector<int> keys(3);
  thrust::device_vector<int> const values(3);
  gpusort::sort_by_key(keys.begin(), keys.end(), values.begin());
}
