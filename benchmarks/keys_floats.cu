#include <benchmarks/register_type.cuh>

namespace gpusort::benchmarks
{

template void register_type<f32, no_value, order::less>(options const&);
template void register_type<f64, no_value, order::less>(options const&);

} // namespace gpusort::benchmarks
