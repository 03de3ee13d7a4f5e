// Elements of a strided tensor in the order of a shape that it broadcasts to,
// some at a time.
#pragma once

#include <algorithm>
#include <vector>

#include "braid/runtime/kernels/loops/loops.h"
#include "braid/runtime/tensor.h"

namespace braid::runtime {

template <class T>
class Gather {
 public:
  // Borrows the tensor's memory.
  Gather(const Tensor& x, const Shape& shape, const LoopsOf<T>& loops)
      : data_(x.as<T>()), rows_(loops.gather_rows) {
    size_t added = shape.size() - x.shape.size();
    for (size_t d = 0; d < shape.size(); ++d) {
      bool repeats = d < added || x.shape[d - added] == 1;
      add_dim(shape[d], repeats ? 0 : x.strides[d - added]);
    }
    while (dims_.size() < 2) dims_.insert(dims_.begin(), {1, 0});
  }

  // Elements after which all begins anew; all of them when it never does.
  int64_t period() const {
    int64_t elements = 1;
    for (size_t d = 1; d < dims_.size(); ++d) elements *= dims_[d].size;
    if (dims_[0].size == 1 && dims_[1].stride == 0) return 1;
    return dims_[0].stride == 0 && dims_[0].size > 1 ? elements
                                                     : elements * dims_[0].size;
  }

  // to[count] = elements from `first` on. `to` lies apart.
  void operator()(T* to, int64_t first, int64_t count) const {
    const Dim inner = dims_.back(), outer = dims_[dims_.size() - 2];
    while (count > 0) {
      int64_t row = first / inner.size, column = first % inner.size;
      bool whole = column == 0 && count >= inner.size;
      int64_t left = outer.size - row % outer.size;
      int64_t rows = whole ? std::min(left, count / inner.size) : 1;
      int64_t columns =
          whole ? inner.size : std::min(count, inner.size - column);
      rows_(to, data_ + row_start(row) + column * inner.stride, rows, columns,
            outer.stride, inner.stride);
      to += rows * columns;
      first += rows * columns;
      count -= rows * columns;
    }
  }

 private:
  struct Dim {
    int64_t size, stride;
  };

  // A dimension that goes on where the one before it ends is a part of that.
  void add_dim(int64_t size, int64_t stride) {
    if (size == 1) return;
    if (!dims_.empty() && dims_.back().stride == stride * size) {
      dims_.back() = {dims_.back().size * size, stride};
    } else {
      dims_.push_back({size, stride});
    }
  }

  int64_t row_start(int64_t row) const {
    int64_t start = 0;
    for (size_t d = dims_.size() - 1; d-- > 1;) {
      start += row % dims_[d].size * dims_[d].stride;
      row /= dims_[d].size;
    }
    return start + row * dims_[0].stride;
  }

  const T* data_;
  decltype(LoopsOf<T>::gather_rows) rows_;
  std::vector<Dim> dims_;  // from the outermost, at least two
};

}  // namespace braid::runtime
