#include <benchmarks/register_type.cuh>

namespace gpusort::benchmarks
{

template void register_type<u64, no_value, order::less>(options const&);
template void register_type<i64, no_value, order::less>(options const&);

} // namespace gpusort::benchmarks
