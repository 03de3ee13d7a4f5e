// Types of tensors as kernels know them.
#pragma once

#include "braid/base/dtype.h"
#include "braid/runtime/kernels/cuda/cuda_kernels.h"

namespace braid::runtime::cuda {

// Of floats.
inline Item item_of(DType dtype) {
  switch (dtype) {
    case DType::kBFloat16: return Item::kBFloat16;
    case DType::kFloat16: return Item::kFloat16;
    case DType::kFloat64: return Item::kFloat64;
    default: return Item::kFloat32;
  }
}

}  // namespace braid::runtime::cuda
