#include <benchmarks/register_type.cuh>

namespace gpusort::benchmarks
{

template void register_type<r16, no_value, order::scrambled>(options const&);
template void register_type<r64, no_value, order::scrambled>(options const&);

} // namespace gpusort::benchmarks
