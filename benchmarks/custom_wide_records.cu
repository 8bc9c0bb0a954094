#include <benchmarks/register_type.cuh>

namespace gpusort::benchmarks
{

template void register_type<r32, no_value, order::custom>(options const&);
template void register_type<r96, no_value, order::custom>(options const&);
template void register_type<r256, no_value, order::custom>(options const&);

} // namespace gpusort::benchmarks
