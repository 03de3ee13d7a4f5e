// The CUDA device, where this build has one.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "braid/runtime/backend.h"

namespace braid::runtime {

struct CudaOptions {
  int index = 0;
  int64_t limit_bytes = kNoLimit;
};

// The CUDA devices that can be used here.
std::vector<plan::DeviceInfo> cuda_devices();
inline bool has_cuda() { return !cuda_devices().empty(); }

// Every kernel for tensors on a CUDA device; they run on its default stream.
// Throws when this build has no CUDA.
KernelTable cuda_kernels(int index);

// Borrows the CPU kernels for updates on the host. Throws when there is no
// device, or when this build has no CUDA.
std::unique_ptr<Backend> make_cuda_backend(const KernelTable& cpu_kernels,
                                           const CudaOptions& options);

}  // namespace braid::runtime
