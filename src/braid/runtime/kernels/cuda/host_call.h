// Functions that a CUDA stream runs on the host, and the errors they leave.
#pragma once

#include <cuda_runtime_api.h>

#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include "braid/runtime/kernels/kernel.h"

namespace braid::runtime {

// The first error since it was last thrown. Thread-safe.
class HostErrors {
 public:
  void keep(std::exception_ptr error) {
    std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
  }
  void throw_if_any() {
    std::lock_guard lock(mutex_);
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
};

// Must not call CUDA: it runs on a thread of the driver.
class HostCall {
 public:
  HostCall(Thunk run, HostErrors& errors)
      : run_(std::move(run)), errors_(errors) {}

  // For cudaLaunchHostFunc; `call` stays.
  static void CUDART_CB run_kept(void* call) {
    static_cast<HostCall*>(call)->run();
  }
  // The same; `call` is deleted afterwards.
  static void CUDART_CB run_once(void* call) {
    std::unique_ptr<HostCall>(static_cast<HostCall*>(call))->run();
  }

 private:
  void run() {
    try {
      run_();
    } catch (...) {
      errors_.keep(std::current_exception());
    }
  }

  Thunk run_;
  HostErrors& errors_;
};

}  // namespace braid::runtime
