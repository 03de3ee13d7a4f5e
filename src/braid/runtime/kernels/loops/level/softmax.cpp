// Softmax of rows of which only the first columns are seen. All columns are
// computed, so that loops know their length; those not seen become 0.
#include "braid/runtime/kernels/loops/level/lanes.h"
#include "braid/runtime/kernels/loops/level/math.h"

namespace braid::runtime::BRAID_LEVEL {
namespace {

template <class T>
void softmax_row(T* y, const T* x, T scale, int64_t columns, int64_t seen) {
  const T lowest = -__builtin_inff();
  // As wide as float, lest places be compared in twice as many vectors.
  auto count = static_cast<int32_t>(columns),
       shown = static_cast<int32_t>(seen);
  BRAID_ELEMENTWISE
  for (int32_t i = 0; i < count; ++i) {
    y[i] = i < shown ? x[i] * scale : lowest;
  }
  T top = row_greatest(y, columns, lowest);
  if (top == lowest) top = T(0);  // nothing to see, unless it is NaN
  BRAID_ELEMENTWISE
  for (int64_t i = 0; i < columns; ++i) {
    T power = rough_exp<Twice>(y[i] - top);
    y[i] = y[i] == lowest ? T(0) : power;
  }
  T sum = lane_sum<T>(columns, [&](int64_t i) { return y[i]; });
  T factor = sum == T(0) ? T(0) : T(1) / sum;
  for (int64_t i = 0; i < columns; ++i) y[i] *= factor;
}

template <class T>
void softmax_row_backward(T* dx, const T* dy, const T* y, int64_t columns) {
  T inner = lane_sum<T>(columns, [&](int64_t i) { return dy[i] * y[i]; });
  BRAID_ELEMENTWISE
  for (int64_t i = 0; i < columns; ++i) dx[i] = (dy[i] - inner) * y[i];
}

}  // namespace

template <class T>
void add_softmax(LoopsOf<T>& loops) {
  loops.softmax_row = softmax_row<T>;
  loops.softmax_row_backward = softmax_row_backward<T>;
}

template void add_softmax(LoopsOf<float>& loops);
template void add_softmax(LoopsOf<double>& loops);

}  // namespace braid::runtime::BRAID_LEVEL
