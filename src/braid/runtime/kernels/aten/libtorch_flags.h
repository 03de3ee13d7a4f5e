// The switches of libtorch that change what its kernels compute, or how.
#pragma once

#include <ATen/Context.h>

#include <functional>
#include <vector>

namespace braid::runtime {

// While one lives, libtorch computes as in a process where nobody changed a
// switch, but in full precision and deterministically on CUDA. Then it is set
// as before. The switches are the process's: threads that use libtorch at the
// same time see them changed.
class LibtorchFlags {
 public:
  explicit LibtorchFlags(bool on_cuda);
  ~LibtorchFlags();
  LibtorchFlags(const LibtorchFlags&) = delete;
  LibtorchFlags& operator=(const LibtorchFlags&) = delete;

 private:
  void set_precision(at::Float32Backend backend, at::Float32Op op);
  void set_cuda();
  void set_matmul_on_cuda();
  void set_cudnn();

  std::vector<std::function<void()>> undo_;  // the last one first
};

}  // namespace braid::runtime
