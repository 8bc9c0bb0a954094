#include <benchmarks/register_type.cuh>

namespace gpusort::benchmarks
{

template void register_type<u64, u32, order::less>(options const&);
template void register_type<u64, u64, order::less>(options const&);

} // namespace gpusort::benchmarks
