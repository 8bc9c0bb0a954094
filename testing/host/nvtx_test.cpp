// Every call opens an NVTX range that is named after the function, and closes it. The test takes the place of a profiler.
#include <gpusort/sort.h>

#include <gtest/gtest.h>
#include <nvtx3/nvToolsExt.h>

#include <thrust/execution_policy.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace
{

std::vector<std::string> opened;
int depth = 0;

int push(char const* name)
{
  opened.emplace_back(name);
  return depth++;
}

int pop()
{
  return --depth;
}

template <class Function>
void* as_pointer(Function* function)
{
  return reinterpret_cast<void*>(function);
}

int install(NvtxGetExportTableFunc_t get_export_table)
{
  auto const* callbacks   = static_cast<NvtxExportTableCallbacks const*>(get_export_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size           = 0;
  if (callbacks == nullptr || callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size) == 0
      || size <= NVTX_CBID_CORE_RangePop)
  {
    return 0;
  }
  *table[NVTX_CBID_CORE_RangePushA] = reinterpret_cast<NvtxFunctionPointer>(as_pointer(push));
  *table[NVTX_CBID_CORE_RangePop]   = reinterpret_cast<NvtxFunctionPointer>(as_pointer(pop));
  return 1;
}

// NVTX looks here before its first event.
[[maybe_unused]] bool const installed = (InitializeInjectionNvtx2_fnptr = install) != nullptr;

struct nvtx : ::testing::Test
{
  void SetUp() override
  {
    opened.clear();
  }
  void expect(std::vector<std::string> const& names)
  {
    EXPECT_EQ(opened, names);
    EXPECT_EQ(depth, 0) << "a range was left open";
  }
  std::vector<int> keys   = {3, 1, 2};
  std::vector<int> values = {30, 10, 20};
};

TEST_F(nvtx, EveryFunctionHasItsRange)
{
  gpusort::sort(keys.begin(), keys.end());
  gpusort::stable_sort(thrust::seq, keys.begin(), keys.end());
  gpusort::sort_by_key(gpusort::merge_sort, keys.begin(), keys.end(), values.begin());
  gpusort::stable_sort_by_key(gpusort::radix_sort(thrust::host), keys.begin(), keys.end(), values.begin());
  expect({"gpusort::sort", "gpusort::stable_sort", "gpusort::sort_by_key", "gpusort::stable_sort_by_key"});
}

TEST_F(nvtx, EmptyRangesToo)
{
  gpusort::sort(keys.begin(), keys.begin());
  expect({"gpusort::sort"});
}

TEST_F(nvtx, ClosedWhenTheCallThrows)
{
  EXPECT_THROW(gpusort::sort(thrust::seq, keys.end(), keys.begin()), std::runtime_error);
  auto const fails = [](int, int) -> bool { throw std::logic_error("no order"); };
  EXPECT_THROW(gpusort::stable_sort(thrust::seq, keys.begin(), keys.end(), fails), std::logic_error);
  expect({"gpusort::sort", "gpusort::stable_sort"});
}

} // namespace
