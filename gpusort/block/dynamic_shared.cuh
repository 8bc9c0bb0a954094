// The dynamic shared memory of a block, for functions that are called out of line: told where it lies by a reference, they would take longer to
// read and write it.
#pragma once

#include <vector_types.h>

namespace gpusort::block
{

/// The block's dynamic shared memory as what its kernel has made of it.
template <class Storage>
__device__ Storage& dynamic_shared()
{
  extern __shared__ uint4 shared_words[];
  return *reinterpret_cast<Storage*>(shared_words);
}

} // namespace gpusort::block
