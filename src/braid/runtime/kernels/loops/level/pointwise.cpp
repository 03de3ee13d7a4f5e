// Simple arithmetic only: what needs transcendental functions is libtorch's.
#include "braid/runtime/kernels/loops/level/level.h"

namespace braid::runtime::BRAID_LEVEL {
namespace {

// NaN stays NaN.
template <class T>
void relu(T* y, const T* a, const T*, int64_t n) {
  BRAID_ELEMENTWISE
  for (int64_t i = 0; i < n; ++i) y[i] = a[i] < T(0) ? T(0) : a[i];
}

template <class T>
void relu_backward(T* y, const T* a, const T* b, int64_t n) {
  BRAID_ELEMENTWISE
  for (int64_t i = 0; i < n; ++i) y[i] = b[i] <= T(0) ? T(0) : a[i];
}

template <class T>
void add(T* y, const T* a, const T* b, int64_t n) {
  BRAID_ELEMENTWISE
  for (int64_t i = 0; i < n; ++i) y[i] = a[i] + b[i];
}

template <class T>
void sub(T* y, const T* a, const T* b, int64_t n) {
  BRAID_ELEMENTWISE
  for (int64_t i = 0; i < n; ++i) y[i] = a[i] - b[i];
}

template <class T>
void mul(T* y, const T* a, const T* b, int64_t n) {
  BRAID_ELEMENTWISE
  for (int64_t i = 0; i < n; ++i) y[i] = a[i] * b[i];
}

template <class T>
void drop(T* y, const T* x, const uint32_t* words, uint32_t kept, T factor,
          int64_t n) {
  BRAID_ELEMENTWISE
  for (int64_t i = 0; i < n; ++i) {
    y[i] = words[i] >= kept ? x[i] * factor : T(0);
  }
}

}  // namespace

template <class T>
void add_pointwise(LoopsOf<T>& loops) {
  loops.relu = relu<T>;
  loops.relu_backward = relu_backward<T>;
  loops.add = add<T>;
  loops.sub = sub<T>;
  loops.mul = mul<T>;
  loops.drop = drop<T>;
}

template void add_pointwise(LoopsOf<float>& loops);
template void add_pointwise(LoopsOf<double>& loops);

}  // namespace braid::runtime::BRAID_LEVEL
