// Tensor: a typed, strided window on memory that somebody else owns. Plain
// data: everything above kernels works with this and never with libtorch.
#pragma once

#include <cstddef>

#include "braid/base/dtype.h"
#include "braid/base/shape.h"

namespace braid::runtime {

struct Tensor {
  std::byte* data = nullptr;  // null: a missing optional operand
  DType dtype = DType::kFloat32;
  Shape shape = {};
  Strides strides = {};  // in elements

  explicit operator bool() const { return data != nullptr; }
  int64_t numel() const { return num_elements(shape); }
  int64_t bytes() const { return numel() * item_bytes(dtype); }
  bool contiguous() const { return is_contiguous(shape, strides); }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
};

}  // namespace braid::runtime
