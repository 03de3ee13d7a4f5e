#include "braid/runtime/kernels/cuda/linear.h"

namespace braid::runtime {

void add_cuda_linear(KernelTable&, int, cudaStream_t) {}

}  // namespace braid::runtime
