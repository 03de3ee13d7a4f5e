#include "braid/runtime/kernels/aten/separable.h"

namespace braid::runtime {

at::Tensor separable_backward(at::Tensor dy,
                              const std::vector<at::Tensor>& matrices) {
  int64_t dim = 2;
  for (const at::Tensor& matrix : matrices) {
    dy = at::matmul(dy.transpose(dim, -1), matrix.t()).transpose(dim, -1);
    ++dim;
  }
  return dy;
}

}  // namespace braid::runtime
