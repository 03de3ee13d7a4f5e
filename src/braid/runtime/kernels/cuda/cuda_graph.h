// What one pass issued to a CUDA stream and the streams forked from it,
// recorded to be issued again at once.
#pragma once

#include <memory>
#include <vector>

#include "braid/runtime/kernels/cuda/cuda_handles.h"
#include "braid/runtime/kernels/cuda/host_call.h"

namespace braid::runtime {

class CudaGraph {
 public:
  CudaGraph() = default;
  ~CudaGraph();
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  // Records what `body` issues to `stream` on this thread. When `body` throws,
  // the recording ends, the streams can be used again and the error goes on.
  void record(const CudaStream& stream, const Thunk& body);

  void launch(const CudaStream& stream) const;

  // Kept for as long as the graph may run them.
  HostCall& keep(Thunk run, HostErrors& errors);

 private:
  cudaGraphExec_t exec_ = nullptr;
  std::vector<std::unique_ptr<HostCall>> calls_;
};

}  // namespace braid::runtime
