// What block-wide sorts by bins do where these are too full.
#pragma once

namespace gpusort::block
{

/// What becomes of bins that are too full for a warp, whose tokens are not alike.
enum class full_bins
{
  give_up, // others sort all
  split, // again, if all threads can hold one's tokens; otherwise others sort all
  split_few // the same, but where more than a few bins take a warp long, too full or not, others sort all: it takes them as long, whatever
  // tokens are
};

} // namespace gpusort::block
