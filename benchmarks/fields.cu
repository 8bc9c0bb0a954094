#include <benchmarks/register_type.cuh>

namespace gpusort::benchmarks
{

template void register_type<two_words, no_value, order::fields>(options const&);
template void register_type<r16, no_value, order::fields>(options const&);
template void register_type<r32, no_value, order::fields>(options const&);

} // namespace gpusort::benchmarks
