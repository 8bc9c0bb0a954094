// The contract suite over keys of sixteen bytes.
#include <testing/support/contract.cuh>

namespace gpusort::testing
{
INSTANTIATE_TYPED_TEST_SUITE_P(sixteen_byte, contract, sixteen_byte_cases, case_names);
} // namespace gpusort::testing
