#include <benchmarks/register_type.cuh>

namespace gpusort::benchmarks
{

template void register_type<u8, no_value, order::less>(options const&);
template void register_type<u16, no_value, order::less>(options const&);

} // namespace gpusort::benchmarks
