#include "braid/runtime/kernels/cuda/compute_stream.h"

#include <ATen/cuda/CUDAContextLight.h>

#include <atomic>

#include "braid/runtime/kernels/cuda/cuda_scratch.h"

namespace braid::runtime {
namespace {

uint64_t next_id() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

void drop(at::cuda::WorkspaceMapWithMutex& workspaces, cudaStream_t stream) {
  std::unique_lock lock(workspaces.mutex);
  std::erase_if(workspaces.map, [stream](const auto& item) {
    return std::get<1>(item.first) == stream;
  });
}

}  // namespace

ComputeStream::ComputeStream(c10::DeviceIndex index)
    : index_(index), id_(next_id()) {
  Current current(*this);
  blas_bytes_ = torch_cuda_bytes([this] { ready_thread(); });
}

ComputeStream::~ComputeStream() {
  if (!stream_.get()) return;  // moved from
  drop(at::cuda::cublas_handle_stream_to_workspace(), stream_.get());
  drop(at::cuda::cublaslt_handle_stream_to_workspace(), stream_.get());
}

void ComputeStream::ready_thread() const {
  thread_local uint64_t ready = 0;  // the stream that this thread used last
  if (ready == id_) return;
  at::cuda::getCurrentCUDABlasHandle();
  at::cuda::getCUDABlasLtWorkspace();
  ready = id_;
}

}  // namespace braid::runtime
