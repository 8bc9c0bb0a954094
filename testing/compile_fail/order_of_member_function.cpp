// expect: cannot read a pointer to a member function.*write a function object or a lambda that calls it
#include <gpusort/order.h>
#include <gpusort/sort.h>

#include <thrust/execution_policy.h>

#include <vector>

struct circle
{
  int radius;
  int area() const
  {
    return 3 * radius * radius;
  }
};

int main()
{
  std::vector<circle> v{{3}, {1}, {2}};
  gpusort::sort(thrust::host, v.begin(), v.end(), gpusort::by(&circle::area));
}
