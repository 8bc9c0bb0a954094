// The contract suite over keys of two bytes.
#include <testing/support/contract.cuh>

namespace gpusort::testing
{
INSTANTIATE_TYPED_TEST_SUITE_P(two_byte, contract, two_byte_cases, case_names);
} // namespace gpusort::testing
