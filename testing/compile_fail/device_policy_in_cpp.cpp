// expect: sorting on the GPU needs a CUDA compiler: move this call to a file that nvcc compiles
#include <gpusort/sort.h>

#include <thrust/execution_policy.h>

void sort_on_the_gpu(int* first, int* last)
{
  gpusort::sort(thrust::device, first, last);
}
