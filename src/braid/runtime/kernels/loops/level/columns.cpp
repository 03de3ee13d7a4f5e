// Normalisation of columns. Four rows are added in T, such sums in double:
// as near as sums in double alone, and faster.
#include "braid/runtime/kernels/loops/level/level.h"

namespace braid::runtime::BRAID_LEVEL {
namespace {

// sums[c] of term(r, c) over all rows.
template <class F>
BRAID_INLINE void sum_terms(double* __restrict sums, int64_t rows,
                            int64_t columns, F&& term) {
  for (int64_t c = 0; c < columns; ++c) sums[c] = 0;
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    for (int64_t c = 0; c < columns; ++c) {
      sums[c] += static_cast<double>((term(r, c) + term(r + 1, c)) +
                                     (term(r + 2, c) + term(r + 3, c)));
    }
  }
  for (; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      sums[c] += static_cast<double>(term(r, c));
    }
  }
}

template <class T>
void column_sums(double* sums, const T* x, int64_t rows, int64_t columns,
                 int64_t step) {
  sum_terms(sums, rows, columns,
            [&](int64_t r, int64_t c) { return x[r * step + c]; });
}

template <class T>
void column_squares(double* sums, const T* x, const T* mean, int64_t rows,
                    int64_t columns, int64_t step) {
  sum_terms(sums, rows, columns, [&](int64_t r, int64_t c) {
    T apart = x[r * step + c] - mean[c];
    return apart * apart;
  });
}

template <class T>
void column_pairs(double* sums, double* dots, const T* dy, const T* x,
                  const T* mean, int64_t rows, int64_t columns, int64_t step) {
  column_sums(sums, dy, rows, columns, step);
  sum_terms(dots, rows, columns, [&](int64_t r, int64_t c) {
    return dy[r * step + c] * (x[r * step + c] - mean[c]);
  });
}

template <class T>
void scale_columns(T* y, const T* x, const T* scale, const T* shift,
                   int64_t rows, int64_t columns, int64_t step) {
  for (int64_t r = 0; r < rows; ++r) {
    T* to = y + r * step;
    const T* from = x + r * step;
    BRAID_ELEMENTWISE
    for (int64_t c = 0; c < columns; ++c) {
      to[c] = from[c] * scale[c] + shift[c];
    }
  }
}

template <class T>
void norm_columns_backward(T* dx, const T* dy, const T* x,
                           const NormColumns<T>& at, int64_t rows,
                           int64_t columns, int64_t step) {
  const NormColumns<T> n = at;  // known not to change in the loop
  for (int64_t r = 0; r < rows; ++r) {
    T* to = dx + r * step;
    const T *g = dy + r * step, *from = x + r * step;
    BRAID_ELEMENTWISE
    for (int64_t c = 0; c < columns; ++c) {
      T along = (from[c] - n.mean[c]) * n.slope[c];
      to[c] = (g[c] - n.shift[c] - along) * n.scale[c];
    }
  }
}

}  // namespace

template <class T>
void add_columns(LoopsOf<T>& loops) {
  loops.column_sums = column_sums<T>;
  loops.column_squares = column_squares<T>;
  loops.column_pairs = column_pairs<T>;
  loops.scale_columns = scale_columns<T>;
  loops.norm_columns_backward = norm_columns_backward<T>;
}

template void add_columns(LoopsOf<float>& loops);
template void add_columns(LoopsOf<double>& loops);

}  // namespace braid::runtime::BRAID_LEVEL
