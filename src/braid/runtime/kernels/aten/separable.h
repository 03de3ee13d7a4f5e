// Gradients of maps that are one matrix per spatial dimension (means over
// windows, interpolation). libtorch adds them up in no fixed order on CUDA;
// products with the matrices have one.
#pragma once

#include <ATen/ATen.h>

#include <vector>

namespace braid::runtime {

// dx[N, C, I...] from dy[N, C, O...] and a matrix [I, O] per dimension.
at::Tensor separable_backward(at::Tensor dy,
                              const std::vector<at::Tensor>& matrices);

}  // namespace braid::runtime
