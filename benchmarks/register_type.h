// What gpusort_bench.cu knows of the other files: that each registers the benchmarks of some combinations of types.
#pragma once

#include <benchmarks/options.h>

namespace gpusort::benchmarks
{

/// Registers what `o` asks for with Google Benchmark, for one type of keys with one of values, in one order.
template <class Key, class Value, order Order>
void register_type(options const& o);

/// Results that were wrong and CUDA calls that failed so far.
int& failures();

} // namespace gpusort::benchmarks
