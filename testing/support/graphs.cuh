// Captures what a call enqueues, so that a test can look at it and run it again.
#pragma once

#include <testing/support/device_memory.cuh>

#include <cuda_runtime.h>

#include <cstddef>
#include <utility>
#include <vector>

namespace gpusort::testing
{

class captured_call
{
public:
  /// Captures what `call` enqueues on `stream`. Global mode: a cudaMalloc, a cudaFree or a wait inside the call fails.
  template <class Call>
  captured_call(cudaStream_t stream, Call call)
  {
    require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "begin of capture");
    try
    {
      call();
    }
    catch (...)
    {
      (void) cudaStreamEndCapture(stream, &graph_);
      (void) cudaGetLastError();
      throw;
    }
    require(cudaStreamEndCapture(stream, &graph_), "end of capture");
  }
  captured_call(captured_call const&)            = delete;
  captured_call& operator=(captured_call const&) = delete;
  ~captured_call()
  {
    if (executable_ != nullptr)
    {
      (void) cudaGraphExecDestroy(executable_);
    }
    if (graph_ != nullptr)
    {
      (void) cudaGraphDestroy(graph_);
    }
  }

  std::size_t nodes() const
  {
    std::size_t count = 0;
    require(cudaGraphGetNodes(graph_, nullptr, &count), "nodes of a graph");
    return count;
  }

  std::size_t nodes_of(cudaGraphNodeType wanted) const
  {
    std::size_t count = nodes();
    std::vector<cudaGraphNode_t> all(count);
    require(cudaGraphGetNodes(graph_, all.data(), &count), "nodes of a graph");
    std::size_t found = 0;
    for (cudaGraphNode_t const node : all)
    {
      cudaGraphNodeType type{};
      require(cudaGraphNodeGetType(node, &type), "type of a node");
      found += type == wanted;
    }
    return found;
  }

  /// Blocks and threads of its kernel, if that is all it is.
  std::pair<unsigned, unsigned> shape_of_only_kernel() const
  {
    if (nodes() != 1 || nodes_of(cudaGraphNodeTypeKernel) != 1)
    {
      return {0, 0};
    }
    cudaGraphNode_t only{};
    std::size_t count = 1;
    require(cudaGraphGetNodes(graph_, &only, &count), "nodes of a graph");
    cudaKernelNodeParams kernel{};
    require(cudaGraphKernelNodeGetParams(only, &kernel), "kernel of a node");
    return {kernel.gridDim.x, kernel.blockDim.x};
  }

  void launch(cudaStream_t stream)
  {
    if (executable_ == nullptr)
    {
      require(cudaGraphInstantiate(&executable_, graph_, 0), "graph");
    }
    require(cudaGraphLaunch(executable_, stream), "launch of a graph");
  }

private:
  cudaGraph_t graph_          = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

} // namespace gpusort::testing
