#include <benchmarks/register_type.cuh>

namespace gpusort::benchmarks
{

template void register_type<u32, u32, order::custom>(options const&);
template void register_type<f32, u32, order::custom>(options const&);
template void register_type<u64, u64, order::custom>(options const&);

} // namespace gpusort::benchmarks
