// The contract suite over keys of four bytes.
#include <testing/support/contract.cuh>

namespace gpusort::testing
{
INSTANTIATE_TYPED_TEST_SUITE_P(four_byte, contract, four_byte_cases, case_names);
} // namespace gpusort::testing
