// Rows of logits: logsumexp, and softmax from it. Rows of few columns are
// worked on side by side.
#include "braid/runtime/kernels/loops/level/lanes.h"
#include "braid/runtime/kernels/loops/level/math.h"

namespace braid::runtime::BRAID_LEVEL {
namespace {

constexpr int64_t kLanes = 16;
constexpr int64_t kFewColumns = 32;

// An infinite logit makes NaN here and there, as it should; NaN too.
template <class T>
BRAID_INLINE T long_total(const T* x, int64_t columns) {
  T largest = row_greatest<T>(x, columns, -__builtin_inff());
  T sum = lane_sum<T>(
      columns, [&](int64_t i) { return rough_exp<Twice>(x[i] - largest); });
  return largest + std::log(sum);
}

// `rows` is at most kLanes. The exponentials of all rows are one loop.
template <class T>
BRAID_INLINE void short_totals(T* totals, const T* x, int64_t rows,
                               int64_t columns) {
  T powers[kLanes * kFewColumns], largest[kLanes] = {}, sums[kLanes] = {};
  for (int64_t r = 0; r < rows; ++r) {
    const T* row = x + r * columns;
    T top = row[0];
    for (int64_t c = 1; c < columns; ++c) top = row[c] > top ? row[c] : top;
    for (int64_t c = 0; c < columns; ++c)
      powers[r * columns + c] = row[c] - top;
    largest[r] = top;
  }
  for (int64_t i = 0; i < rows * columns; ++i)
    powers[i] = rough_exp<Twice>(powers[i]);
  for (int64_t r = 0; r < rows; ++r) {
    T sum = 0;
    for (int64_t c = 0; c < columns; ++c) sum += powers[r * columns + c];
    sums[r] = sum;
  }
  for (int64_t r = 0; r < rows; ++r)
    totals[r] = largest[r] + log_of_sum(sums[r]);
}

template <class T>
void log_sum_exp(T* totals, const T* x, int64_t rows, int64_t columns) {
  if (columns >= kFewColumns) {
    for (int64_t r = 0; r < rows; ++r) {
      totals[r] = long_total(x + r * columns, columns);
    }
    return;
  }
  for (int64_t r = 0; r < rows; r += kLanes) {
    short_totals(totals + r, x + r * columns,
                 rows - r < kLanes ? rows - r : kLanes, columns);
  }
}

template <class T>
BRAID_INLINE void softmax_row(T* y, const T* x, T total, T shift, T factor,
                              int64_t columns) {
  BRAID_ELEMENTWISE
  for (int64_t c = 0; c < columns; ++c) {
    y[c] = (rough_exp<Twice>(x[c] - total) - shift) * factor;
  }
}

template <class T>
void scaled_softmax(T* y, const T* x, const T* totals, T shift, T factor,
                    int64_t rows, int64_t columns) {
  if (columns >= kFewColumns) {
    for (int64_t r = 0; r < rows; ++r) {
      softmax_row(y + r * columns, x + r * columns, totals[r], shift, factor,
                  columns);
    }
    return;
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      y[r * columns + c] = x[r * columns + c] - totals[r];
    }
  }
  softmax_row<T>(y, y, T(0), shift, factor, rows * columns);
}

}  // namespace

template <class T>
void add_loss(LoopsOf<T>& loops) {
  loops.log_sum_exp = log_sum_exp<T>;
  loops.scaled_softmax = scaled_softmax<T>;
}

template void add_loss(LoopsOf<float>& loops);
template void add_loss(LoopsOf<double>& loops);

}  // namespace braid::runtime::BRAID_LEVEL
