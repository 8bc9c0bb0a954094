// The contract suite over keys of eight bytes.
#include <testing/support/contract.cuh>

namespace gpusort::testing
{
INSTANTIATE_TYPED_TEST_SUITE_P(eight_byte, contract, eight_byte_cases, case_names);
} // namespace gpusort::testing
