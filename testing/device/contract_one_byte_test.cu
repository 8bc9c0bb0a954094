// The contract suite over keys of one byte.
#include <testing/support/contract.cuh>

namespace gpusort::testing
{
INSTANTIATE_TYPED_TEST_SUITE_P(one_byte, contract, one_byte_cases, case_names);
} // namespace gpusort::testing
