// Sorts elements whose namespace has functions of our names: none of ours may be looked up there.
#include <testing/support/taken_names.h>

#include <gpusort/sort.h>
#include <gpusort/workspace.h>
#include <gtest/gtest.h>
#include <thrust/execution_policy.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace
{

using users_own::by_cell;
using users_own::particle;

std::vector<particle> particles(int n)
{
  std::vector<particle> all(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i)
  {
    all[static_cast<std::size_t>(i)] = {i * 37 % 101, i};
  }
  return all;
}

template <class Tag, class Compare>
void sorts(Tag tag, Compare comp)
{
  std::vector<particle> const input = particles(500);
  auto const is_sorted              = [](std::vector<particle> const& all) {
    return std::is_sorted(all.begin(), all.end(), by_cell{});
  };
  std::vector<particle> all = input;
  gpusort::sort(tag, all.begin(), all.end(), comp);
  EXPECT_TRUE(is_sorted(all));

  all                          = input;
  std::vector<particle> values = input;
  gpusort::sort_by_key(tag, all.begin(), all.end(), values.begin(), comp);
  EXPECT_TRUE(is_sorted(all) && is_sorted(values));

  all = input;
  gpusort::sort(tag, all.rbegin(), all.rend(), comp);
  std::reverse(all.begin(), all.end());
  EXPECT_TRUE(is_sorted(all));
  EXPECT_EQ(gpusort::workspace_bytes(tag(thrust::host), all.begin(), all.end(), comp), 0u);
}

TEST(TakenNames, AreNotCalled)
{
  sorts(gpusort::automatic, by_cell{});
  sorts(gpusort::quicksort, by_cell{});
  sorts(gpusort::hybrid_sort, by_cell{});
  sorts(gpusort::merge_sort, by_cell{});
  sorts(gpusort::radix_sort, gpusort::by(users_own::cell_of{}));
}

} // namespace
