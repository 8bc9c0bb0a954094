// How the blocks of a launch share out works that take longer or less long: whoever is done takes the next one.
#pragma once

#include <cuda_runtime.h>

namespace gpusort::block
{

/// Numbers of works, in the order in which blocks ask for them.
template <class Number>
class work_queue
{
public:
  /// `taken`: how many works blocks have taken from the queue, none before the launch. `slot`: in shared memory. `given`: works that blocks have without
  /// asking, those with the lowest numbers; a launch whose blocks wait for each other's works can have none.
  __device__ work_queue(Number* taken, Number& slot, Number given)
      : taken_(taken)
      , slot_(slot)
      , given_(given)
  {}

  /// The number of a work that no block has had before, or, when all are taken, one that is not less than theirs: below half of what a Number
  /// holds. Called by all threads of a block, who get the same; begins and ends with a barrier: other shared memory of the work before may be used
  /// again. `told`: what the first thread says, and after that what all have been told.
  __device__ Number next(bool& told)
  {
    __syncthreads();
    if (threadIdx.x == 0)
    {
      slot_ = (ahead_ == none ? take() : ahead_) << 1 | (told ? 1 : 0);
    }
    __syncthreads();
    ahead_          = none;
    Number const of = slot_;
    told            = (of & 1) != 0;
    return of >> 1;
  }
  __device__ Number next()
  {
    bool told = false;
    return next(told);
  }

  /// Takes the work that `next` will return, so that nobody waits for it then. Called by the first thread of a block at least, once a work.
  __device__ void look_ahead()
  {
    if (threadIdx.x == 0)
    {
      ahead_ = take();
    }
  }

private:
  static constexpr Number none = ~Number{0};

  __device__ Number take() const
  {
    return given_ + atomicAdd(taken_, Number{1});
  }

  Number* taken_;
  Number& slot_;
  Number given_;
  Number ahead_ = none; // of the first thread
};

} // namespace gpusort::block
