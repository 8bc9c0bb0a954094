// A user's element whose namespace has functions of the names that this library has: argument-dependent lookup finds them in every
// unqualified call with such an element, with an iterator over it, or with anything that has its type for a template argument.
#pragma once

#include <gpusort/order.h>

#if defined(__CUDACC__)
#  include <cuda_runtime_api.h>
#  define GPUSORT_TEST_BOTH __host__ __device__
#else
#  define GPUSORT_TEST_BOTH
#endif

namespace users_own
{

struct particle
{
  int cell;
  int number;
};

struct by_cell
{
  GPUSORT_TEST_BOTH bool operator()(particle const& a, particle const& b) const
  {
    return a.cell < b.cell;
  }
};

struct cell_of
{
  GPUSORT_TEST_BOTH int operator()(particle const& p) const
  {
    return p.cell;
  }
};

/// Takes any arguments, as well as our functions do or better, and must not be called.
#define GPUSORT_TEST_TAKE(name)                                                 \
  template <class... T>                                                         \
  void name(T&&...)                                                             \
  {                                                                             \
    static_assert(sizeof...(T) > 1000, #name " of the user's has been called"); \
  }

// clang-format off
GPUSORT_TEST_TAKE(add_elements) GPUSORT_TEST_TAKE(add_field) GPUSORT_TEST_TAKE(as_array) GPUSORT_TEST_TAKE(as_device_compare)
GPUSORT_TEST_TAKE(bits_of) GPUSORT_TEST_TAKE(bring_leftover_home) GPUSORT_TEST_TAKE(bucket_of) GPUSORT_TEST_TAKE(by) GPUSORT_TEST_TAKE(check)
GPUSORT_TEST_TAKE(choose_pivot) GPUSORT_TEST_TAKE(choose_splitters) GPUSORT_TEST_TAKE(compare_keys)
GPUSORT_TEST_TAKE(copy_slowly) GPUSORT_TEST_TAKE(count_digits) GPUSORT_TEST_TAKE(cut_by) GPUSORT_TEST_TAKE(cut_group) GPUSORT_TEST_TAKE(cut_leftover)
GPUSORT_TEST_TAKE(descending) GPUSORT_TEST_TAKE(device_scratch_bytes) GPUSORT_TEST_TAKE(element)
GPUSORT_TEST_TAKE(element_of_pair) GPUSORT_TEST_TAKE(elements_from) GPUSORT_TEST_TAKE(exclusive_sum)
GPUSORT_TEST_TAKE(field_bits) GPUSORT_TEST_TAKE(find_by_rank) GPUSORT_TEST_TAKE(fingerprint) GPUSORT_TEST_TAKE(for_each)
GPUSORT_TEST_TAKE(gather) GPUSORT_TEST_TAKE(glance_at_sample) GPUSORT_TEST_TAKE(heap_sort) GPUSORT_TEST_TAKE(insertion_sort)
GPUSORT_TEST_TAKE(is_cut_twice) GPUSORT_TEST_TAKE(key_of) GPUSORT_TEST_TAKE(keys) GPUSORT_TEST_TAKE(launch)
GPUSORT_TEST_TAKE(launch_look) GPUSORT_TEST_TAKE(leave_over) GPUSORT_TEST_TAKE(list_again) GPUSORT_TEST_TAKE(load_rows)
GPUSORT_TEST_TAKE(load_splitters) GPUSORT_TEST_TAKE(median) GPUSORT_TEST_TAKE(merge_leftover) GPUSORT_TEST_TAKE(merge_part_in_cluster)
GPUSORT_TEST_TAKE(merge_pass) GPUSORT_TEST_TAKE(merge_path) GPUSORT_TEST_TAKE(merge_path_of_lanes)
GPUSORT_TEST_TAKE(merge_path_of_warp) GPUSORT_TEST_TAKE(merge_place) GPUSORT_TEST_TAKE(move) GPUSORT_TEST_TAKE(move_tile)
GPUSORT_TEST_TAKE(pairs) GPUSORT_TEST_TAKE(partition_segment) GPUSORT_TEST_TAKE(partition_three_ways)
GPUSORT_TEST_TAKE(precedes) GPUSORT_TEST_TAKE(read_tile) GPUSORT_TEST_TAKE(recover_after) GPUSORT_TEST_TAKE(run)
GPUSORT_TEST_TAKE(sample_runs) GPUSORT_TEST_TAKE(scatter_by_digit) GPUSORT_TEST_TAKE(seen_of_neighbours)
GPUSORT_TEST_TAKE(sequential_sort) GPUSORT_TEST_TAKE(serial_merge) GPUSORT_TEST_TAKE(sift_down)
GPUSORT_TEST_TAKE(sort_on_device) GPUSORT_TEST_TAKE(sort_runs) GPUSORT_TEST_TAKE(sort_sequentially)
GPUSORT_TEST_TAKE(sort_with_buffer) GPUSORT_TEST_TAKE(split) GPUSORT_TEST_TAKE(stable_host_sort)
GPUSORT_TEST_TAKE(swap_elements) GPUSORT_TEST_TAKE(swap_places) GPUSORT_TEST_TAKE(temporary_bytes)
GPUSORT_TEST_TAKE(undo_reversal) GPUSORT_TEST_TAKE(value_bits_of) GPUSORT_TEST_TAKE(with) GPUSORT_TEST_TAKE(with_policy) GPUSORT_TEST_TAKE(with_tag)
GPUSORT_TEST_TAKE(workspace_bytes) GPUSORT_TEST_TAKE(write_back) GPUSORT_TEST_TAKE(write_tile)
// clang-format on

#undef GPUSORT_TEST_TAKE
#undef GPUSORT_TEST_BOTH

} // namespace users_own
