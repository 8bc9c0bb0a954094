#include <benchmarks/register_type.cuh>

namespace gpusort::benchmarks
{

template void register_type<f32, u32, order::less>(options const&);
template void register_type<f32, u32, order::greater>(options const&);

} // namespace gpusort::benchmarks
