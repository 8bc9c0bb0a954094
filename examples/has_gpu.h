// What every example asks first.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdio>

/// Whether there is a GPU; says so if there is none, because the example then runs on the host.
inline bool has_gpu()
{
  int devices = 0;
  if (cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0)
  {
    return true;
  }
  std::printf("no GPU here: running on the host\n");
  return false;
}

/// An example's exit status.
inline int report(bool is_right)
{
  std::printf(is_right ? "sorted as it should be\n" : "WRONG ORDER\n");
  return is_right ? 0 : 1;
}
