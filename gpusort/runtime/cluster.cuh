// The blocks of a cluster, which meet at a barrier and read each other's shared memory. A block of a launch without clusters, or
// of code for devices older than compute capability 9.0, is a cluster by itself.
#pragma once

namespace gpusort::runtime
{

__device__ inline unsigned cluster_size()
{
#if __CUDA_ARCH__ >= 900
  return __clusterSizeInBlocks();
#else
  return 1;
#endif
}

/// The number of this block in its cluster.
__device__ inline unsigned block_of_cluster()
{
#if __CUDA_ARCH__ >= 900
  return __clusterRelativeBlockRank();
#else
  return 0;
#endif
}

/// A barrier for all threads of a cluster: what they wrote before, to shared or device memory, all see afterwards.
__device__ inline void sync_cluster()
{
#if __CUDA_ARCH__ >= 900
  __cluster_barrier_arrive();
  __cluster_barrier_wait();
#else
  __syncthreads();
#endif
}

/// The object in a block's shared memory that is where `shared` is in this one's. Blocks may not leave while others read.
template <class T>
__device__ T* in_block(T* shared, unsigned block)
{
#if __CUDA_ARCH__ >= 900
  return static_cast<T*>(__cluster_map_shared_rank(shared, block));
#else
  return shared;
#endif
}

} // namespace gpusort::runtime
