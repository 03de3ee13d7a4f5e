// Products of matrices on raw pointers, for kernels that consist of them.
#pragma once

#include "braid/runtime/kernels/kernel.h"
#include "braid/runtime/kernels/loops/loops.h"

namespace braid::runtime {

// A matrix as BLAS sees it. Row-major data is a transposed column-major one.
struct Matrix {
  const std::byte* data = nullptr;
  int64_t rows = 0, columns = 0;
  char order = 'N';  // 'N': rows lie contiguous; 'T': columns do
  int leading = 1;   // elements from one row (column) to the next
};

// Dimensions `row_dim` and the next of a tensor as a matrix; false when BLAS
// cannot read them.
bool make_matrix(const Tensor& t, size_t row_dim, Matrix& m);

// y[M, N] = a[M, K] * b[K, N], y row-major and no size 0; by loops of our own
// where they are as fast as BLAS, which depends on the sizes alone.
template <class T>
void multiply(const Matrix& a, const Matrix& b, T* y, const LoopsOf<T>& loops);

}  // namespace braid::runtime
