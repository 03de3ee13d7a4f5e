// Elements of a strided tensor in the order of a shape that it broadcasts to,
// some at a time.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "braid/runtime/tensor.h"

namespace braid::runtime {

template <class T>
class Gather {
 public:
  // Borrows the tensor's memory.
  Gather(const Tensor& x, const Shape& shape) : data_(x.as<T>()) {
    size_t added = shape.size() - x.shape.size();
    for (size_t d = 0; d < shape.size(); ++d) {
      bool repeats = d < added || x.shape[d - added] == 1;
      add_dim(shape[d], repeats ? 0 : x.strides[d - added]);
    }
    if (dims_.empty()) dims_.push_back({1, 0});
  }

  // to[count] = elements from `first` on. `to` lies apart.
  void operator()(T* to, int64_t first, int64_t count) const {
    const Dim inner = dims_.back();
    int64_t row = first / inner.size, column = first % inner.size;
    while (count > 0) {
      int64_t run = std::min(count, inner.size - column);
      copy(to, data_ + row_start(row) + column * inner.stride, inner.stride,
           run);
      to += run;
      count -= run;
      column = 0;
      ++row;
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
    return dims_.size() > 1 ? start + row * dims_[0].stride : 0;
  }

  static void copy(T* to, const T* from, int64_t stride, int64_t count) {
    if (stride == 0) {
      std::fill_n(to, count, *from);
    } else if (stride == 1) {
      std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
    } else {
      for (int64_t i = 0; i < count; ++i) to[i] = from[i * stride];
    }
  }

  const T* data_;
  std::vector<Dim> dims_;  // from the outermost
};

}  // namespace braid::runtime
