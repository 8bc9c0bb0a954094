#include <benchmarks/register_type.cuh>

namespace gpusort::benchmarks
{

template void register_type<u32, no_value, order::less>(options const&);
template void register_type<u32, no_value, order::greater>(options const&);

} // namespace gpusort::benchmarks
