// What block-wide sorts by bins do where these are too full.
#pragma once

namespace gpusort::block
{

/// What becomes of bins that are too full for a warp, whose tokens are not alike. Where it says that others sort all, that takes them as long
/// whatever tokens are; so where more than a few bins take a warp long, split_few leaves all to them too.
enum class full_bins
{
  give_up, // others sort all
  split, // again, if all threads can hold one's tokens; otherwise others sort all
  split_few // the same, if there are few long ones
};

/// Whether any bin is split.
constexpr bool splits_bins(full_bins full)
{
  return full != full_bins::give_up;
}

} // namespace gpusort::block
