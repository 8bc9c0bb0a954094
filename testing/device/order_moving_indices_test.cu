// Orders by fields under which keys stay where they are while their images and indices are sorted.
#include <testing/support/order_cases.cuh>

namespace gpusort::testing
{
INSTANTIATE_TYPED_TEST_SUITE_P(indices, order, cases_that_move_indices, case_names);
} // namespace gpusort::testing
