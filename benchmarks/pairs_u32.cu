#include <benchmarks/register_type.cuh>

namespace gpusort::benchmarks
{

template void register_type<u32, u32, order::less>(options const&);
template void register_type<u32, b16, order::less>(options const&);

} // namespace gpusort::benchmarks
