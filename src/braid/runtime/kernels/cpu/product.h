// Products of matrices on raw pointers, for kernels that consist of them.
#pragma once

#include "braid/runtime/kernels/loops/loops.h"
#include "braid/runtime/kernels/product.h"

namespace braid::runtime {

// y[M, N] = a[M, K] * b[K, N], y row-major and no size 0; by loops of our own
// where they are as fast as BLAS, which depends on the sizes alone.
template <class T>
void multiply(const Matrix& a, const Matrix& b, T* y, const LoopsOf<T>& loops);

}  // namespace braid::runtime
