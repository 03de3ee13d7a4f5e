// Linear layers and matrix products of arrays by cuBLASLt: one call for all
// members, with a bias for each and the activation where the product is made.
// Builds without cuBLASLt have a stub in its place.
#pragma once

#include <cuda_runtime_api.h>

namespace braid::runtime {

class KernelTable;

// Rows `linear` and `matmul`, and those of convolutions that are products, for
// tensors on device `index`; what cuBLASLt cannot do is left to the kernels
// that the table holds before.
void add_cuda_linear(KernelTable& table, int index, cudaStream_t stream);

}  // namespace braid::runtime
