// Plain bytes as tensors of libtorch.
#pragma once

#include <ATen/ATen.h>

#include <cstring>
#include <span>

#include "braid/runtime/kernels/aten/bind.h"

namespace braid::parity {

// A copy.
inline at::Tensor from_bytes(std::span<const std::byte> bytes,
                             const Shape& shape, DType dtype) {
  at::Tensor t =
      at::empty(shape, at::TensorOptions(runtime::scalar_type(dtype)));
  if (!bytes.empty()) std::memcpy(t.data_ptr(), bytes.data(), bytes.size());
  return t;
}

}  // namespace braid::parity
