// Streams and events of CUDA that clean up after themselves, and the check of
// every CUDA call.
#pragma once

#include <cuda_runtime_api.h>

#include <utility>

#include "braid/base/error.h"

namespace braid::runtime {

// Throws std::runtime_error with the call and the reason.
inline void check_cuda(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // a plain error must not reach the next call
  fail_world("[device] {} failed: {} ({})", call, cudaGetErrorString(status),
             cudaGetErrorName(status));
}

// A stream that never waits for the default stream.
class CudaStream {
 public:
  CudaStream() {
    check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking),
               "cudaStreamCreate");
  }
  ~CudaStream() {
    if (stream_) cudaStreamDestroy(stream_);
  }
  CudaStream(CudaStream&& other) noexcept
      : stream_(std::exchange(other.stream_, nullptr)) {}
  CudaStream& operator=(CudaStream&&) = delete;

  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class CudaEvent {
 public:
  CudaEvent() {
    check_cuda(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming),
               "cudaEventCreate");
  }
  ~CudaEvent() {
    if (event_) cudaEventDestroy(event_);
  }
  CudaEvent(CudaEvent&& other) noexcept
      : event_(std::exchange(other.event_, nullptr)) {}
  CudaEvent& operator=(CudaEvent&&) = delete;

  void record(const CudaStream& stream) {
    check_cuda(cudaEventRecord(event_, stream.get()), "cudaEventRecord");
  }
  // What is issued to `stream` from here on comes after the last record.
  void hold(const CudaStream& stream) const {
    check_cuda(cudaStreamWaitEvent(stream.get(), event_, 0),
               "cudaStreamWaitEvent");
  }
  // The host waits for the last record.
  void await() const {
    check_cuda(cudaEventSynchronize(event_), "cudaEventSynchronize");
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace braid::runtime
