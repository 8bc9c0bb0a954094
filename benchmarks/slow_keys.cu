#include <benchmarks/register_type.cuh>

namespace gpusort::benchmarks
{

template void register_type<u32, no_value, order::slow>(options const&);
template void register_type<u32, no_value, order::expensive>(options const&);

} // namespace gpusort::benchmarks
