// The main of the GPU tests. Without a GPU they count as skipped; with GPUSORT_REQUIRE_GPU=1, as failed.

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace
{

// What ctest's SKIP_RETURN_CODE is set to.
constexpr int skipped = 77;

bool gpu_required()
{
  char const* const value = std::getenv("GPUSORT_REQUIRE_GPU");
  return value != nullptr && std::strcmp(value, "1") == 0;
}

} // namespace

int main(int argc, char** argv)
{
  testing::InitGoogleTest(&argc, argv);
  if (testing::GTEST_FLAG(list_tests))
  {
    return RUN_ALL_TESTS();
  }

  int devices              = 0;
  cudaError_t const status = cudaGetDeviceCount(&devices);
  if (status == cudaSuccess && devices > 0)
  {
    return RUN_ALL_TESTS();
  }
  std::printf("%s no GPU: %d tests not run (%s)\n",
              gpu_required() ? "[  FAILED  ]" : "[  SKIPPED ]",
              testing::UnitTest::GetInstance()->total_test_count(),
              status == cudaSuccess ? "no device" : cudaGetErrorString(status));
  return gpu_required() ? 1 : skipped;
}
