#include "braid/runtime/kernels/loops/level/level.h"

namespace braid::runtime::BRAID_LEVEL {
namespace {

// Four rows at a time shorten the chain of dependent additions.
template <class T>
void sum_rows(T* __restrict y, const T* x, int64_t rows, int64_t columns,
              int64_t step) {
  for (int64_t c = 0; c < columns; ++c) y[c] = T(0);
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    const T *x0 = x + r * step, *x1 = x0 + step, *x2 = x1 + step,
            *x3 = x2 + step;
    for (int64_t c = 0; c < columns; ++c) {
      y[c] += (x0[c] + x1[c]) + (x2[c] + x3[c]);
    }
  }
  for (; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) y[c] += x[r * step + c];
  }
}

// In lanes, so that it becomes vector code.
template <class T, class Term>
BRAID_INLINE double sum_terms(const T* x, int64_t count, Term term) {
  constexpr int64_t kLanes = 8;
  double sums[kLanes] = {};
  int64_t whole = count / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    for (int64_t l = 0; l < kLanes; ++l) {
      sums[l] += term(static_cast<double>(x[i + l]));
    }
  }
  double sum = 0;
  for (int64_t i = whole; i < count; ++i) {
    sum += term(static_cast<double>(x[i]));
  }
  for (double s : sums) sum += s;
  return sum;
}

template <class T>
double sum(const T* x, int64_t count) {
  return sum_terms(x, count, [](double v) { return v; });
}

template <class T>
double sum_squares(const T* x, int64_t count) {
  return sum_terms(x, count, [](double v) { return v * v; });
}

}  // namespace

template <class T>
void add_reduce(LoopsOf<T>& loops) {
  loops.sum_rows = sum_rows<T>;
  loops.sum = sum<T>;
  loops.sum_squares = sum_squares<T>;
}

template void add_reduce(LoopsOf<float>& loops);
template void add_reduce(LoopsOf<double>& loops);

}  // namespace braid::runtime::BRAID_LEVEL
