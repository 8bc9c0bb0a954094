// Orders by fields under which keys move with their images.
#include <testing/support/order_cases.cuh>

namespace gpusort::testing
{
INSTANTIATE_TYPED_TEST_SUITE_P(keys, order, cases_that_move_keys, case_names);
} // namespace gpusort::testing
