// The elements of a tensor in the order of its shape, wherever they lie.
#pragma once

#include "braid/runtime/tensor.h"

namespace braid::runtime {

// Calls visit(bytes from the first element) for each element, row-major.
template <class Visit>
void visit_elements(const Tensor& tensor, Visit visit) {
  Strides steps = contiguous_strides(tensor.shape);
  int64_t item = item_bytes(tensor.dtype);
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    int64_t at = 0, rest = i;
    for (size_t d = 0; d < tensor.shape.size(); ++d) {
      at += rest / steps[d] * tensor.strides[d];
      rest %= steps[d];
    }
    visit(at * item);
  }
}

}  // namespace braid::runtime
