// The functions of the CUDA runtime that tests use, and those by which nvcc's programs register their kernels. Whatever a stream is
// given is done at once, unless the stream is being captured.
#include <cuda_runtime_api.h>

#include "device_memory.h"
#include "machine.h"
#include "report.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace gpusort::interpreter
{
namespace
{

// The device, which is like an H200 but for the size of its memory.
constexpr std::size_t memory_of_device        = std::size_t{16} << 30;
constexpr int threads_of_multiprocessor       = 2048;
constexpr int blocks_of_multiprocessor        = 32;
constexpr int registers_of_multiprocessor     = 65536;
constexpr int most_threads_of_block           = 1024;
constexpr int shared_of_multiprocessor        = 228 * 1024;
constexpr int shared_reserved                 = 1024; // for each block
constexpr int most_shared_of_block            = 227 * 1024;
constexpr int shared_of_block                 = 48 * 1024; // without asking for more
constexpr int most_blocks_of_portable_cluster = 8;
constexpr int most_blocks_of_cluster          = 16;
constexpr int l2_cache                        = 60 << 20;
constexpr std::size_t device_heap             = 8 << 20;
constexpr int cuda_version                    = 13000;

/// The PTX of a translation unit, read when the first of its kernels or variables is asked for.
struct registered_module
{
  std::string ptx;
  std::unique_ptr<program> loaded;

  program& load()
  {
    if (loaded == nullptr)
    {
      try
      {
        loaded = std::make_unique<program>(std::move(ptx));
      }
      catch (not_supported const& problem)
      {
        stop(std::string("a module cannot be read: ") + problem.what());
      }
    }
    return *loaded;
  }
};

struct registered_kernel
{
  registered_module* in;
  std::string name;
  std::size_t most_dynamic_shared = shared_of_block;
  bool may_have_large_clusters    = false;

  function& decoded() const
  {
    program& all     = in->load();
    auto const found = all.functions.find(name);
    if (found == all.functions.end())
    {
      stop("there is no kernel " + readable_name(name));
    }
    decode(*found->second);
    return *found->second;
  }
};

struct registered_variable
{
  registered_module* in;
  std::string name;
};

struct graph_node
{
  cudaGraphNodeType kind;
  std::function<void()> run;
  launch_shape shape; // of a kernel
};

struct graph
{
  std::vector<graph_node> nodes;
};

struct stream
{
  std::unique_ptr<graph> captured; // while it is
  bool invalidated = false; // the capture, by a wait
};

struct event
{
  std::chrono::steady_clock::time_point recorded;
};

/// What threads share. They call one function at a time, and kernels run within such a call.
struct runtime
{
  std::recursive_mutex mutex;
  std::unordered_map<void const*, registered_kernel> kernels;
  std::unordered_set<void const*> handles; // of kernels: their addresses
  std::unordered_map<void const*, registered_variable> variables;
  std::size_t allocated = 0;

  /// Never destroyed: destructors of tests still free.
  static runtime& instance()
  {
    static runtime& only = *new runtime;
    return only;
  }
};

/// The runtime, while no other thread has it.
class locked_runtime
{
public:
  runtime* operator->() const
  {
    return &runtime::instance();
  }

private:
  std::lock_guard<std::recursive_mutex> lock_{runtime::instance().mutex};
};

struct launch_configuration
{
  dim3 grid, block;
  std::size_t shared = 0;
  cudaStream_t on    = nullptr;
};

thread_local cudaError_t last_error = cudaSuccess;
thread_local launch_configuration pushed;

cudaError_t result(cudaError_t error)
{
  last_error = error == cudaSuccess ? last_error : error;
  return error;
}

/// Null for the streams that always exist.
stream* own_stream(cudaStream_t handle)
{
  constexpr std::uintptr_t most_special = 16;
  return reinterpret_cast<std::uintptr_t>(handle) > most_special ? reinterpret_cast<stream*>(handle) : nullptr;
}

bool is_captured(cudaStream_t handle)
{
  stream const* const own = own_stream(handle);
  return own != nullptr && own->captured != nullptr;
}

void enqueue(cudaStream_t handle, cudaGraphNodeType kind, std::function<void()> work, launch_shape const& shape = {})
{
  if (is_captured(handle))
  {
    own_stream(handle)->captured->nodes.push_back({kind, std::move(work), shape});
  }
  else
  {
    work();
  }
}

/// By the address of the host's function, or by a handle.
registered_kernel* find_kernel(void const* name)
{
  locked_runtime const all;
  if (all->handles.count(name) != 0)
  {
    return static_cast<registered_kernel*>(const_cast<void*>(name));
  }
  auto const found = all->kernels.find(name);
  return found == all->kernels.end() ? nullptr : &found->second;
}

unsigned cluster_of(cudaLaunchConfig_t const& configuration)
{
  for (unsigned k = 0; k < configuration.numAttrs; ++k)
  {
    if (configuration.attrs[k].id == cudaLaunchAttributeClusterDimension)
    {
      return configuration.attrs[k].val.clusterDim.x;
    }
  }
  return 1;
}

cudaError_t check_launch(registered_kernel const& kernel, function const& f, launch_shape const& shape)
{
  constexpr std::uint64_t most_blocks_along_y_and_z = 65535;
  bool const is_empty = std::any_of(shape.grid.begin(), shape.grid.end(), [](auto n) { return n == 0; })
                     || std::any_of(shape.block.begin(), shape.block.end(), [](auto n) { return n == 0; });
  std::uint64_t const threads = std::uint64_t{shape.block[0]} * shape.block[1] * shape.block[2];
  if (is_empty || threads > most_threads_of_block || shape.grid[1] > most_blocks_along_y_and_z
      || shape.grid[2] > most_blocks_along_y_and_z)
  {
    return cudaErrorInvalidConfiguration;
  }
  if (shape.dynamic_shared_bytes > kernel.most_dynamic_shared
      || shape.dynamic_shared_bytes + f.shared_bytes > most_shared_of_block)
  {
    return cudaErrorInvalidValue;
  }
  unsigned const most = kernel.may_have_large_clusters ? most_blocks_of_cluster : most_blocks_of_portable_cluster;
  return shape.cluster == 0 || shape.cluster > most || shape.grid[0] % shape.cluster != 0
         ? cudaErrorInvalidClusterSize
         : cudaSuccess;
}

cudaError_t launch(void const* name, launch_configuration const& how, void** arguments, unsigned cluster)
{
  locked_runtime const lock;
  registered_kernel const* const kernel = find_kernel(name);
  if (kernel == nullptr)
  {
    return result(cudaErrorInvalidDeviceFunction);
  }
  function& f = kernel->decoded();
  launch_shape shape;
  shape.grid                 = {how.grid.x, how.grid.y, how.grid.z};
  shape.block                = {how.block.x, how.block.y, how.block.z};
  shape.dynamic_shared_bytes = static_cast<std::uint32_t>(std::min<std::size_t>(how.shared, ~std::uint32_t{0}));
  shape.cluster              = cluster;
  cudaError_t const problem  = check_launch(*kernel, f, shape);
  if (problem != cudaSuccess)
  {
    return result(problem);
  }
  std::vector<parameter> const& declared = f.text.parameters;
  std::vector<std::uint8_t> parameters(declared.empty() ? 0 : declared.back().offset + declared.back().size);
  for (std::size_t k = 0; k < declared.size(); ++k)
  {
    std::memcpy(parameters.data() + declared[k].offset, arguments[k], declared[k].size);
  }
  auto run = [&f, shape, parameters = std::move(parameters)] {
    if (run_options::of_environment().trace)
    {
      std::fprintf(
        stderr,
        "gpusort interpreter: %s, (%u, %u, %u) blocks of (%u, %u, %u), in clusters of %u, %u bytes\n",
        readable_name(std::string(f.text.name)).c_str(),
        shape.grid[0],
        shape.grid[1],
        shape.grid[2],
        shape.block[0],
        shape.block[1],
        shape.block[2],
        shape.cluster,
        shape.dynamic_shared_bytes);
    }
    run_kernel(f, shape, parameters);
  };
  enqueue(how.on, cudaGraphNodeTypeKernel, std::move(run), shape);
  return cudaSuccess;
}

void copy(void* to, void const* from, std::size_t n)
{
  device_memory& memory = device_memory::instance();
  if (!memory.may_access(to, n) || !memory.may_access(from, n))
  {
    stop("cudaMemcpy out of bounds, of " + std::to_string(n) + " bytes");
  }
  if (n != 0)
  {
    std::memmove(to, from, n);
    memory.mark_written(to, n);
  }
}

void set(void* to, int value, std::size_t n)
{
  device_memory& memory = device_memory::instance();
  if (!memory.may_access(to, n))
  {
    stop("cudaMemset out of bounds, of " + std::to_string(n) + " bytes");
  }
  if (n != 0)
  {
    std::memset(to, value, n);
    memory.mark_written(to, n);
  }
}

std::uint8_t* address_of(void const* symbol)
{
  locked_runtime const all;
  auto const found = all->variables.find(symbol);
  if (found == all->variables.end())
  {
    stop("a symbol that is no variable of the device");
  }
  program& in         = found->second.in->load();
  auto const variable = in.variables.find(found->second.name);
  if (variable == in.variables.end())
  {
    stop("there is no variable " + found->second.name);
  }
  return variable->second;
}

struct error_text
{
  cudaError_t error;
  char const* name;
  char const* text;
};

error_text describe(cudaError_t error)
{
  static constexpr error_text all[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidClusterSize, "cudaErrorInvalidClusterSize", "invalid cluster size"},
    {cudaErrorStreamCaptureUnsupported,
     "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {cudaErrorStreamCaptureInvalidated,
     "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {cudaErrorIllegalState, "cudaErrorIllegalState", "the operation cannot be performed in the present state"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
  };
  auto const found =
    std::find_if(std::begin(all), std::end(all), [=](error_text const& e) { return e.error == error; });
  return found != std::end(all) ? *found : error_text{error, "cudaErrorOfAnotherKind", "an error of another kind"};
}

int attribute(cudaDeviceAttr which)
{
  switch (which)
  {
    case cudaDevAttrMultiProcessorCount:
      return multiprocessors;
    case cudaDevAttrComputeCapabilityMajor:
      return 9;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      return shared_of_block;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return most_shared_of_block;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      return shared_of_multiprocessor;
    case cudaDevAttrReservedSharedMemoryPerBlock:
      return shared_reserved;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      return threads_of_multiprocessor;
    case cudaDevAttrMaxThreadsPerBlock:
      return most_threads_of_block;
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      return blocks_of_multiprocessor;
    case cudaDevAttrMaxRegistersPerMultiprocessor:
    case cudaDevAttrMaxRegistersPerBlock:
      return registers_of_multiprocessor;
    case cudaDevAttrMaxGridDimX:
      return 2147483647;
    case cudaDevAttrWarpSize:
      return warp_size;
    case cudaDevAttrL2CacheSize:
      return l2_cache;
    case cudaDevAttrMemoryPoolsSupported:
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrClusterLaunch:
    case cudaDevAttrConcurrentKernels:
      return 1;
    default:
      return 0;
  }
}

/// The PTX in what nvcc makes of a translation unit: a header, then entries with headers of their own.
std::string find_ptx(std::uint8_t const* image)
{
  constexpr std::uint16_t kind_of_ptx = 1;
  auto const number                   = [](auto type, std::uint8_t const* at) {
    std::memcpy(&type, at, sizeof type);
    return type;
  };
  std::uint8_t const* at        = image + number(std::uint16_t{}, image + 6);
  std::uint8_t const* const end = at + number(std::uint64_t{}, image + 8);
  while (at < end)
  {
    std::uint32_t const header = number(std::uint32_t{}, at + 4);
    std::uint64_t const size   = number(std::uint64_t{}, at + 8);
    char const* const content  = reinterpret_cast<char const*>(at + header);
    std::string text(content, std::find(content, content + size, '\0'));
    if (number(std::uint16_t{}, at) == kind_of_ptx && text.find(".version") != std::string::npos)
    {
      return text;
    }
    at += header + size;
  }
  stop("a program holds no plain PTX: it has to be compiled for a virtual architecture, "
       "nvcc -gencode arch=compute_90,code=compute_90 -no-compress");
}

} // namespace
} // namespace gpusort::interpreter

using namespace gpusort::interpreter;

extern "C"
{

  // --- What nvcc calls. A module's handle is its address.

  void** __cudaRegisterFatBinary(void* wrapper)
  {
    struct fat_binary
    {
      int magic;
      int version;
      std::uint8_t const* image;
      void* file;
    };
    auto* const module = new registered_module{find_ptx(static_cast<fat_binary*>(wrapper)->image), nullptr};
    return reinterpret_cast<void**>(module);
  }

  void __cudaRegisterFatBinaryEnd(void**)
  {}

  void __cudaUnregisterFatBinary(void**)
  {}

  char __cudaInitModule(void**)
  {
    return 1;
  }

  void __cudaRegisterFunction(
    void** module, char const* host, char*, char const* name, int, void*, void*, void*, void*, int*)
  {
    locked_runtime const all;
    registered_kernel& kernel = all->kernels[host];
    kernel.in                 = reinterpret_cast<registered_module*>(module);
    kernel.name               = name;
    all->handles.insert(&kernel);
  }

  void __cudaRegisterVar(void** module, char* host, char*, char const* name, int, std::size_t, int, int)
  {
    locked_runtime()->variables[host] = {reinterpret_cast<registered_module*>(module), name};
  }

  cudaError_t __cudaGetKernel(cudaKernel_t* kernel, void const* host)
  {
    registered_kernel* const found = find_kernel(host);
    *kernel                        = reinterpret_cast<cudaKernel_t>(found);
    return found == nullptr ? result(cudaErrorInvalidDeviceFunction) : cudaSuccess;
  }

  unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared, CUstream_st* on)
  {
    pushed = {grid, block, shared, on};
    return 0;
  }

  cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* on)
  {
    *grid                           = pushed.grid;
    *block                          = pushed.block;
    *shared                         = pushed.shared;
    *static_cast<cudaStream_t*>(on) = pushed.on;
    return cudaSuccess;
  }

  cudaError_t
  __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared, cudaStream_t on)
  {
    return launch(kernel, {grid, block, shared, on}, arguments, 1);
  }

  // --- Kernels.

  cudaError_t
  cudaLaunchKernel(void const* kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared, cudaStream_t on)
  {
    return launch(kernel, {grid, block, shared, on}, arguments, 1);
  }

  cudaError_t cudaLaunchKernelExC(cudaLaunchConfig_t const* how, void const* kernel, void** arguments)
  {
    return launch(
      kernel, {how->gridDim, how->blockDim, how->dynamicSmemBytes, how->stream}, arguments, cluster_of(*how));
  }

  cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, void const* name)
  {
    locked_runtime const lock;
    registered_kernel const* const kernel = find_kernel(name);
    if (kernel == nullptr)
    {
      return result(cudaErrorInvalidDeviceFunction);
    }
    *attributes                           = {};
    attributes->sharedSizeBytes           = kernel->decoded().shared_bytes;
    attributes->maxThreadsPerBlock        = most_threads_of_block;
    attributes->numRegs                   = 32;
    attributes->ptxVersion                = kernel->in->load().ptx.architecture;
    attributes->binaryVersion             = attributes->ptxVersion;
    attributes->maxDynamicSharedSizeBytes = static_cast<int>(kernel->most_dynamic_shared);
    return cudaSuccess;
  }

  cudaError_t cudaFuncSetAttribute(void const* name, cudaFuncAttribute which, int value)
  {
    locked_runtime const lock;
    registered_kernel* const kernel = find_kernel(name);
    if (kernel == nullptr)
    {
      return result(cudaErrorInvalidDeviceFunction);
    }
    if (which == cudaFuncAttributeMaxDynamicSharedMemorySize)
    {
      if (value > most_shared_of_block)
      {
        return result(cudaErrorInvalidValue);
      }
      kernel->most_dynamic_shared = static_cast<std::size_t>(std::max(shared_of_block, value));
    }
    if (which == cudaFuncAttributeNonPortableClusterSizeAllowed)
    {
      kernel->may_have_large_clusters = value != 0;
    }
    return cudaSuccess;
  }

  cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, void const* name, int threads, std::size_t shared, unsigned)
  {
    locked_runtime const lock;
    registered_kernel const* const kernel = find_kernel(name);
    if (kernel == nullptr)
    {
      return result(cudaErrorInvalidDeviceFunction);
    }
    std::size_t const shared_of_one = shared + kernel->decoded().shared_bytes + shared_reserved;
    *blocks                         = std::min({blocks_of_multiprocessor,
                                                threads_of_multiprocessor / std::max(1, threads),
                                                static_cast<int>(shared_of_multiprocessor / shared_of_one)});
    return cudaSuccess;
  }

  cudaError_t
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void const* name, int threads, std::size_t shared)
  {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, name, threads, shared, 0);
  }

  cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, void const*, cudaLaunchConfig_t const* how)
  {
    int const size = static_cast<int>(cluster_of(*how));
    *clusters      = size > most_blocks_of_cluster ? 0 : static_cast<int>(multiprocessors) / size;
    return cudaSuccess;
  }

  // --- Memory.

  cudaError_t cudaMalloc(void** memory, std::size_t n)
  {
    locked_runtime const all;
    if (n > memory_of_device - all->allocated)
    {
      return result(cudaErrorMemoryAllocation);
    }
    all->allocated += n;
    *memory = n == 0 ? nullptr : device_memory::instance().allocate(n);
    return cudaSuccess;
  }

  cudaError_t cudaFree(void* memory)
  {
    locked_runtime const all;
    if (memory == nullptr)
    {
      return cudaSuccess;
    }
    device_memory& device = device_memory::instance();
    if (!device.is_allocation(memory))
    {
      stop("cudaFree of what is not allocated");
    }
    all->allocated -= device.size_of(memory);
    device.free(memory);
    return cudaSuccess;
  }

  cudaError_t cudaMallocAsync(void** memory, std::size_t n, cudaStream_t on)
  {
    locked_runtime const lock;
    cudaError_t const problem = cudaMalloc(memory, n);
    if (problem == cudaSuccess && is_captured(on))
    {
      enqueue(on, cudaGraphNodeTypeMemAlloc, [] {});
    }
    return problem;
  }

  /// What a graph allocates stays, since it may be launched again.
  cudaError_t cudaFreeAsync(void* memory, cudaStream_t on)
  {
    locked_runtime const lock;
    if (is_captured(on))
    {
      enqueue(on, cudaGraphNodeTypeMemFree, [] {});
      return cudaSuccess;
    }
    return cudaFree(memory);
  }

  cudaError_t cudaMallocFromPoolAsync(void** memory, std::size_t n, cudaMemPool_t, cudaStream_t on)
  {
    return cudaMallocAsync(memory, n, on);
  }

  cudaError_t cudaMallocManaged(void** memory, std::size_t n, unsigned)
  {
    return cudaMalloc(memory, n);
  }

  cudaError_t cudaMallocHost(void** memory, std::size_t n)
  {
    locked_runtime const lock;
    *memory = std::calloc(1, std::max<std::size_t>(n, 1));
    if (*memory == nullptr)
    {
      return result(cudaErrorMemoryAllocation);
    }
    device_memory::instance().share(*memory, n);
    return cudaSuccess;
  }

  cudaError_t cudaHostAlloc(void** memory, std::size_t n, unsigned)
  {
    return cudaMallocHost(memory, n);
  }

  cudaError_t cudaFreeHost(void* memory)
  {
    locked_runtime const lock;
    device_memory::instance().take_back(memory);
    std::free(memory);
    return cudaSuccess;
  }

  cudaError_t cudaMemcpyAsync(void* to, void const* from, std::size_t n, cudaMemcpyKind, cudaStream_t on)
  {
    locked_runtime const lock;
    enqueue(on, cudaGraphNodeTypeMemcpy, [=] { copy(to, from, n); });
    return cudaSuccess;
  }

  cudaError_t cudaMemcpy(void* to, void const* from, std::size_t n, cudaMemcpyKind kind)
  {
    return cudaMemcpyAsync(to, from, n, kind, nullptr);
  }

  cudaError_t cudaMemsetAsync(void* to, int value, std::size_t n, cudaStream_t on)
  {
    locked_runtime const lock;
    enqueue(on, cudaGraphNodeTypeMemset, [=] { set(to, value, n); });
    return cudaSuccess;
  }

  cudaError_t cudaMemset(void* to, int value, std::size_t n)
  {
    return cudaMemsetAsync(to, value, n, nullptr);
  }

  cudaError_t cudaGetSymbolAddress(void** address, void const* symbol)
  {
    *address = address_of(symbol);
    return cudaSuccess;
  }

  cudaError_t cudaMemcpyFromSymbolAsync(
    void* to, void const* symbol, std::size_t n, std::size_t offset, cudaMemcpyKind kind, cudaStream_t on)
  {
    return cudaMemcpyAsync(to, address_of(symbol) + offset, n, kind, on);
  }

  cudaError_t cudaMemcpyFromSymbol(void* to, void const* symbol, std::size_t n, std::size_t offset, cudaMemcpyKind kind)
  {
    return cudaMemcpyFromSymbolAsync(to, symbol, n, offset, kind, nullptr);
  }

  cudaError_t cudaMemcpyToSymbolAsync(
    void const* symbol, void const* from, std::size_t n, std::size_t offset, cudaMemcpyKind kind, cudaStream_t on)
  {
    return cudaMemcpyAsync(address_of(symbol) + offset, from, n, kind, on);
  }

  cudaError_t
  cudaMemcpyToSymbol(void const* symbol, void const* from, std::size_t n, std::size_t offset, cudaMemcpyKind kind)
  {
    return cudaMemcpyToSymbolAsync(symbol, from, n, offset, kind, nullptr);
  }

  cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total)
  {
    *total = memory_of_device;
    *free  = memory_of_device - locked_runtime()->allocated;
    return cudaSuccess;
  }

  cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, void const* address)
  {
    bool const on_device      = device_memory::instance().contains(address);
    *attributes               = {};
    attributes->type          = on_device ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
    attributes->devicePointer = const_cast<void*>(address);
    return cudaSuccess;
  }

  // Pools: there is one, whatever its name.

  cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int)
  {
    *pool = reinterpret_cast<cudaMemPool_t>(&runtime::instance());
    return cudaSuccess;
  }

  cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, cudaMemPoolProps const*)
  {
    return cudaDeviceGetDefaultMemPool(pool, 0);
  }

  cudaError_t cudaMemPoolDestroy(cudaMemPool_t)
  {
    return cudaSuccess;
  }

  cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*)
  {
    return cudaSuccess;
  }

  cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t, cudaMemPoolAttr, void* value)
  {
    std::uint64_t const nothing = 0;
    std::memcpy(value, &nothing, sizeof nothing);
    return cudaSuccess;
  }

  cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, std::size_t)
  {
    return cudaSuccess;
  }

  // --- Streams, graphs and events.

  cudaError_t cudaStreamCreate(cudaStream_t* handle)
  {
    *handle = reinterpret_cast<cudaStream_t>(new stream);
    return cudaSuccess;
  }

  cudaError_t cudaStreamCreateWithFlags(cudaStream_t* handle, unsigned)
  {
    return cudaStreamCreate(handle);
  }

  cudaError_t cudaStreamCreateWithPriority(cudaStream_t* handle, unsigned, int)
  {
    return cudaStreamCreate(handle);
  }

  cudaError_t cudaStreamDestroy(cudaStream_t handle)
  {
    delete own_stream(handle);
    return cudaSuccess;
  }

  cudaError_t cudaStreamSynchronize(cudaStream_t handle)
  {
    if (is_captured(handle))
    {
      own_stream(handle)->invalidated = true;
      return result(cudaErrorStreamCaptureUnsupported);
    }
    return cudaSuccess;
  }

  cudaError_t cudaStreamQuery(cudaStream_t)
  {
    return cudaSuccess;
  }

  cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned)
  {
    return cudaSuccess;
  }

  cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode)
  {
    if (own_stream(handle) == nullptr || is_captured(handle))
    {
      return result(cudaErrorStreamCaptureUnsupported);
    }
    own_stream(handle)->captured = std::make_unique<graph>();
    return cudaSuccess;
  }

  cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* captured)
  {
    if (!is_captured(handle))
    {
      return result(cudaErrorIllegalState);
    }
    std::unique_ptr<graph> recorded = std::move(own_stream(handle)->captured);
    if (std::exchange(own_stream(handle)->invalidated, false))
    {
      *captured = nullptr;
      return result(cudaErrorStreamCaptureInvalidated);
    }
    *captured = reinterpret_cast<cudaGraph_t>(recorded.release());
    return cudaSuccess;
  }

  cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status)
  {
    *status = !is_captured(handle)            ? cudaStreamCaptureStatusNone
            : own_stream(handle)->invalidated ? cudaStreamCaptureStatusInvalidated
                                              : cudaStreamCaptureStatusActive;
    return cudaSuccess;
  }

  cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t of, unsigned long long)
  {
    *executable = reinterpret_cast<cudaGraphExec_t>(new graph(*reinterpret_cast<graph*>(of)));
    return cudaSuccess;
  }

  cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t of, unsigned long long flags)
  {
    return cudaGraphInstantiate(executable, of, flags);
  }

  cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t)
  {
    locked_runtime const lock;
    for (graph_node const& node : reinterpret_cast<graph*>(executable)->nodes)
    {
      node.run();
    }
    return cudaSuccess;
  }

  cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable)
  {
    delete reinterpret_cast<graph*>(executable);
    return cudaSuccess;
  }

  cudaError_t cudaGraphDestroy(cudaGraph_t handle)
  {
    delete reinterpret_cast<graph*>(handle);
    return cudaSuccess;
  }

  cudaError_t cudaGraphGetNodes(cudaGraph_t handle, cudaGraphNode_t* nodes, std::size_t* n)
  {
    std::vector<graph_node>& all = reinterpret_cast<graph*>(handle)->nodes;
    for (std::size_t k = 0; nodes != nullptr && k < std::min(*n, all.size()); ++k)
    {
      nodes[k] = reinterpret_cast<cudaGraphNode_t>(&all[k]);
    }
    *n = all.size();
    return cudaSuccess;
  }

  cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type)
  {
    *type = reinterpret_cast<graph_node*>(node)->kind;
    return cudaSuccess;
  }

  cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* parameters)
  {
    launch_shape const& shape  = reinterpret_cast<graph_node*>(node)->shape;
    *parameters                = {};
    parameters->gridDim        = dim3(shape.grid[0], shape.grid[1], shape.grid[2]);
    parameters->blockDim       = dim3(shape.block[0], shape.block[1], shape.block[2]);
    parameters->sharedMemBytes = shape.dynamic_shared_bytes;
    return cudaSuccess;
  }

  cudaError_t cudaEventCreate(cudaEvent_t* handle)
  {
    *handle = reinterpret_cast<cudaEvent_t>(new event);
    return cudaSuccess;
  }

  cudaError_t cudaEventCreateWithFlags(cudaEvent_t* handle, unsigned)
  {
    return cudaEventCreate(handle);
  }

  cudaError_t cudaEventDestroy(cudaEvent_t handle)
  {
    delete reinterpret_cast<event*>(handle);
    return cudaSuccess;
  }

  cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t)
  {
    reinterpret_cast<event*>(handle)->recorded = std::chrono::steady_clock::now();
    return cudaSuccess;
  }

  cudaError_t cudaEventSynchronize(cudaEvent_t)
  {
    return cudaSuccess;
  }

  cudaError_t cudaEventQuery(cudaEvent_t)
  {
    return cudaSuccess;
  }

  cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end)
  {
    auto const elapsed = reinterpret_cast<event*>(end)->recorded - reinterpret_cast<event*>(begin)->recorded;
    *milliseconds      = std::chrono::duration<float, std::milli>(elapsed).count();
    return cudaSuccess;
  }

  // --- The device.

  cudaError_t cudaGetDevice(int* device)
  {
    *device = 0;
    return cudaSuccess;
  }

  cudaError_t cudaSetDevice(int device)
  {
    return device == 0 ? cudaSuccess : result(cudaErrorInvalidDevice);
  }

  cudaError_t cudaGetDeviceCount(int* n)
  {
    *n = 1;
    return cudaSuccess;
  }

  cudaError_t cudaDeviceSynchronize()
  {
    return cudaSuccess;
  }

  cudaError_t cudaDeviceReset()
  {
    return cudaSuccess;
  }

  cudaError_t cudaDeviceSetLimit(cudaLimit, std::size_t)
  {
    return cudaSuccess;
  }

  cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit)
  {
    *value = device_heap;
    return cudaSuccess;
  }

  cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int)
  {
    *value = attribute(which);
    return cudaSuccess;
  }

  cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int)
  {
    *properties = {};
    std::strcpy(properties->name, "gpusort interpreter");
    properties->major                       = attribute(cudaDevAttrComputeCapabilityMajor);
    properties->multiProcessorCount         = multiprocessors;
    properties->warpSize                    = warp_size;
    properties->maxThreadsPerBlock          = most_threads_of_block;
    properties->maxThreadsPerMultiProcessor = threads_of_multiprocessor;
    properties->maxBlocksPerMultiProcessor  = blocks_of_multiprocessor;
    properties->maxThreadsDim[0]            = most_threads_of_block;
    properties->maxThreadsDim[1]            = most_threads_of_block;
    properties->maxThreadsDim[2]            = 64;
    properties->maxGridSize[0]              = attribute(cudaDevAttrMaxGridDimX);
    properties->maxGridSize[1]              = 65535;
    properties->maxGridSize[2]              = 65535;
    properties->sharedMemPerBlock           = shared_of_block;
    properties->sharedMemPerBlockOptin      = most_shared_of_block;
    properties->sharedMemPerMultiprocessor  = shared_of_multiprocessor;
    properties->reservedSharedMemPerBlock   = shared_reserved;
    properties->regsPerBlock                = registers_of_multiprocessor;
    properties->regsPerMultiprocessor       = registers_of_multiprocessor;
    properties->totalGlobalMem              = memory_of_device;
    properties->l2CacheSize                 = l2_cache;
    return cudaSuccess;
  }

  cudaError_t cudaDriverGetVersion(int* version)
  {
    *version = cuda_version;
    return cudaSuccess;
  }

  cudaError_t cudaRuntimeGetVersion(int* version)
  {
    *version = cuda_version;
    return cudaSuccess;
  }

  /// The only function of the driver that anybody asks for is the one that tells contexts apart.
  cudaError_t cudaGetDriverEntryPointByVersion(
    char const*, void** address, unsigned, unsigned long long, cudaDriverEntryPointQueryResult* found)
  {
    auto* const context_id = +[](void*, unsigned long long* id) {
      *id = 1;
      return 0;
    };
    *address = reinterpret_cast<void*>(context_id);
    if (found != nullptr)
    {
      *found = cudaDriverEntryPointSuccess;
    }
    return cudaSuccess;
  }

  // --- Errors.

  cudaError_t cudaGetLastError()
  {
    return std::exchange(last_error, cudaSuccess);
  }

  cudaError_t cudaPeekAtLastError()
  {
    return last_error;
  }

  char const* cudaGetErrorString(cudaError_t error)
  {
    return describe(error).text;
  }

  char const* cudaGetErrorName(cudaError_t error)
  {
    return describe(error).name;
  }

} // extern "C"
