// expect: what a projection of gpusort::by returns has no radix order.*for other keys sort by a comparator instead
#include <gpusort/order.h>
#include <gpusort/sort.h>

#include <thrust/execution_policy.h>

#include <string>
#include <vector>

struct person
{
  int age;
  std::string name;
};

int main()
{
  std::vector<person> v{{3, "c"}, {1, "a"}};
  gpusort::sort(thrust::host, v.begin(), v.end(), gpusort::by(&person::age, &person::name));
}
