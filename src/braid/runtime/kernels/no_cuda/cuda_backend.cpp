#include "braid/runtime/kernels/cuda_backend.h"

#include "braid/base/error.h"

namespace braid::runtime {

bool has_cuda() { return false; }

std::unique_ptr<Backend> make_cuda_backend(const KernelTable&,
                                           const CudaOptions& options) {
  fail_world(
      "[device] cuda:{} is not available: this build has no CUDA\n"
      "HINT: use --device cpu, or build with a CUDA build of torch and nvcc",
      options.index);
}

}  // namespace braid::runtime
