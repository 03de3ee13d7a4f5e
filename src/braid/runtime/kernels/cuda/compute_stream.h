// The stream that a CUDA device computes on, together with the memory that
// cuBLAS keeps for it.
#pragma once

#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "braid/runtime/kernels/cuda/cuda_handles.h"

namespace braid::runtime {

class ComputeStream {
 public:
  // The device must be the current one, and there must be a CudaScratchUse.
  explicit ComputeStream(c10::DeviceIndex index);
  ~ComputeStream();
  ComputeStream(ComputeStream&& other) = default;
  ComputeStream& operator=(ComputeStream&&) = delete;

  c10::DeviceIndex index() const { return index_; }
  const CudaStream& stream() const { return stream_; }
  // Device memory that cuBLAS took for it on the thread that made it.
  int64_t blas_bytes() const { return blas_bytes_; }

  // cuBLAS keeps memory per thread for good. It must not ask for it while a
  // kernel runs, or it would lie in that kernel's workspace: call this first
  // on every thread.
  void ready_thread() const;

  // While it lives, libtorch works on this device and this stream.
  class Current : public c10::cuda::CUDAStreamGuard {
   public:
    explicit Current(const ComputeStream& compute)
        : CUDAStreamGuard(c10::cuda::getStreamFromExternal(
              compute.stream_.get(), compute.index_)) {}
  };

 private:
  c10::DeviceIndex index_;
  CudaStream stream_;
  uint64_t id_;  // in the process
  int64_t blas_bytes_ = 0;
};

}  // namespace braid::runtime
