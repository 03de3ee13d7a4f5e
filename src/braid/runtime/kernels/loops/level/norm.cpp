// Layer normalisation of rows.
#include "braid/runtime/kernels/loops/level/lanes.h"

namespace braid::runtime::BRAID_LEVEL {
namespace {

template <class T>
BRAID_INLINE void forward_row(T* y, const T* x, const T* w, const T* b,
                              int64_t columns, double eps, T& mean, T& rstd) {
  auto n = static_cast<T>(columns);
  T m = lane_sum<T>(columns, [&](int64_t i) { return x[i]; }) / n;
  T var =
      lane_sum<T>(columns, [&](int64_t i) { return (x[i] - m) * (x[i] - m); }) /
      n;
  T r = T(1) / std::sqrt(var + static_cast<T>(eps));
  if (w && b) {
    BRAID_ELEMENTWISE
    for (int64_t i = 0; i < columns; ++i) y[i] = (x[i] - m) * r * w[i] + b[i];
  } else if (w) {
    BRAID_ELEMENTWISE
    for (int64_t i = 0; i < columns; ++i) y[i] = (x[i] - m) * r * w[i];
  } else {
    BRAID_ELEMENTWISE
    for (int64_t i = 0; i < columns; ++i) {
      y[i] = (x[i] - m) * r + (b ? b[i] : T(0));
    }
  }
  mean = m;
  rstd = r;
}

template <class T>
void forward(T* y, const T* x, const T* w, const T* b, int64_t rows,
             int64_t columns, double eps, T* mean, T* rstd) {
  for (int64_t r = 0; r < rows; ++r) {
    forward_row(y + r * columns, x + r * columns, w, b, columns, eps, mean[r],
                rstd[r]);
  }
}

// Adds the row to dw and db, then writes dx.
template <class T>
BRAID_INLINE void backward_row(T* dx, const T* dy, const T* x, const T* w,
                               T mean, T rstd, int64_t columns, T* dw, T* db) {
  auto n = static_cast<T>(columns);
  auto scaled = [&](int64_t i) { return w ? dy[i] * w[i] : dy[i]; };
  T sum = lane_sum<T>(columns, [&](int64_t i) { return scaled(i); }) / n;
  T dot =
      lane_sum<T>(columns,
                  [&](int64_t i) { return scaled(i) * (x[i] - mean) * rstd; }) /
      n;
  BRAID_ELEMENTWISE
  for (int64_t i = 0; i < columns; ++i) {
    T normal = (x[i] - mean) * rstd;
    T g = dy[i];
    dw[i] += g * normal;
    db[i] += g;
    dx[i] = ((w ? g * w[i] : g) - sum - normal * dot) * rstd;
  }
}

template <class T>
void backward(T* dx, const T* dy, const T* x, const T* w, const T* mean,
              const T* rstd, int64_t rows, int64_t columns, T* dw, T* db) {
  for (int64_t r = 0; r < rows; ++r) {
    backward_row(dx + r * columns, dy + r * columns, x + r * columns, w,
                 mean[r], rstd[r], columns, dw, db);
  }
}

}  // namespace

template <class T>
void add_norm(LoopsOf<T>& loops) {
  loops.layer_norm = forward<T>;
  loops.layer_norm_backward = backward<T>;
}

template void add_norm(LoopsOf<float>& loops);
template void add_norm(LoopsOf<double>& loops);

}  // namespace braid::runtime::BRAID_LEVEL
