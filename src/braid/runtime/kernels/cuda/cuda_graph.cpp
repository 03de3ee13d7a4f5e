#include "braid/runtime/kernels/cuda/cuda_graph.h"

namespace braid::runtime {

CudaGraph::~CudaGraph() {
  if (exec_) cudaGraphExecDestroy(exec_);
}

void CudaGraph::record(const CudaStream& stream, const Thunk& body) {
  check_cuda(
      cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal),
      "cudaStreamBeginCapture");
  cudaGraph_t graph = nullptr;
  try {
    body();
  } catch (...) {
    cudaStreamEndCapture(stream.get(), &graph);
    if (graph) cudaGraphDestroy(graph);
    cudaGetLastError();
    throw;
  }
  check_cuda(cudaStreamEndCapture(stream.get(), &graph),
             "cudaStreamEndCapture");
  cudaError_t status = cudaGraphInstantiate(&exec_, graph, 0);
  cudaGraphDestroy(graph);
  check_cuda(status, "cudaGraphInstantiate");
}

void CudaGraph::launch(const CudaStream& stream) const {
  check_cuda(cudaGraphLaunch(exec_, stream.get()), "cudaGraphLaunch");
}

HostCall& CudaGraph::keep(Thunk run, HostErrors& errors) {
  calls_.push_back(std::make_unique<HostCall>(std::move(run), errors));
  return *calls_.back();
}

}  // namespace braid::runtime
