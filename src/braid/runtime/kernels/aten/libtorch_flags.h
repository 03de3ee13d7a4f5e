// The switches of libtorch that change what its kernels compute, or how.
#pragma once

namespace braid::runtime {

// While one lives, libtorch computes as in a process where nobody changed a
// switch, but in full precision and deterministically on CUDA. When the last
// one in any thread is gone it is set as before. The switches are the
// process's: threads that use libtorch at the same time see them changed.
class LibtorchFlags {
 public:
  explicit LibtorchFlags(bool on_cuda);
  ~LibtorchFlags();
  LibtorchFlags(const LibtorchFlags&) = delete;
  LibtorchFlags& operator=(const LibtorchFlags&) = delete;

 private:
  bool on_cuda_;
};

}  // namespace braid::runtime
