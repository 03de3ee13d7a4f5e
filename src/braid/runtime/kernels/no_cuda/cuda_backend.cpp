#include "braid/runtime/kernels/cuda_backend.h"

#include "braid/base/error.h"

namespace braid::runtime {

namespace {

[[noreturn]] void fail_without_cuda(int index) {
  fail_world(
      "[device] cuda:{} is not available: this build has no CUDA\n"
      "HINT: use the device cpu, or build with a CUDA build of torch and nvcc",
      index);
}

}  // namespace

std::vector<plan::DeviceInfo> cuda_devices() { return {}; }

KernelTable cuda_kernels(int index) { fail_without_cuda(index); }

std::unique_ptr<Backend> make_cuda_backend(const KernelTable&,
                                           const CudaOptions& options) {
  fail_without_cuda(options.index);
}

}  // namespace braid::runtime
