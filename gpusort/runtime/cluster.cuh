// The blocks of a cluster, which meet at a barrier and read and write each other's shared memory. A block of a launch without clusters, or
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

/// A barrier for all threads of a cluster in two steps: what they wrote before they arrive, to shared or device memory, all see that have waited. Each
/// thread takes both, by turns.
__device__ inline void arrive_at_cluster()
{
#if __CUDA_ARCH__ >= 900
  __cluster_barrier_arrive();
#endif
}
__device__ inline void wait_for_cluster()
{
#if __CUDA_ARCH__ >= 900
  __cluster_barrier_wait();
#else
  __syncthreads();
#endif
}

/// Arrives at a barrier behind which nobody looks at what was written before: it says that this thread has begun.
__device__ inline void begin_in_cluster()
{
#if __CUDA_ARCH__ >= 900
  __cluster_barrier_arrive_relaxed();
#endif
}

/// Both at once.
__device__ inline void sync_cluster()
{
  arrive_at_cluster();
  wait_for_cluster();
}

/// The object in a block's shared memory that is where `shared` is in this one's. Blocks may not leave while others read or write.
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
