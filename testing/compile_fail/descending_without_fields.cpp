// expect: gpusort::descending needs at least one field
#include <gpusort/order.h>

auto const order = gpusort::descending();
