// The dynamic shared memory of a block, for functions that are not inlined: of what a reference refers to, the compiler would not know there that it
// is shared memory, which takes longer to read and write.
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
