// The contract suite over records, and a type that is not trivially copyable.
#include <testing/support/contract.cuh>

namespace gpusort::testing
{
INSTANTIATE_TYPED_TEST_SUITE_P(record, contract, record_cases, case_names);
} // namespace gpusort::testing
