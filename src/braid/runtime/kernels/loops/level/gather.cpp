// Copies of strided rows, with short rows in mind: broadcast operands have
// rows of a few elements.
#include "braid/runtime/kernels/loops/level/level.h"

namespace braid::runtime::BRAID_LEVEL {
namespace {

constexpr int64_t kLanes = 16;

// Each element of a column, `columns` times.
template <class T>
void repeat_elements(T* to, const T* from, int64_t rows, int64_t columns,
                     int64_t row_step) {
  int64_t whole = columns / kLanes * kLanes;
  for (int64_t r = 0; r < rows; ++r, to += columns) {
    const T value = from[r * row_step];
    for (int64_t c = 0; c < whole; c += kLanes) {
      for (int64_t l = 0; l < kLanes; ++l) to[c + l] = value;
    }
    for (int64_t c = whole; c < columns; ++c) to[c] = value;
  }
}

template <class T>
void copy_row(T* to, const T* from, int64_t columns, int64_t step) {
  if (step == 1) {
    BRAID_ELEMENTWISE
    for (int64_t c = 0; c < columns; ++c) to[c] = from[c];
  } else {
    for (int64_t c = 0; c < columns; ++c) to[c] = from[c * step];
  }
}

// What is there already is copied, twice as much each time.
template <class T>
void repeat_row(T* to, int64_t there, int64_t count) {
  while (there < count) {
    int64_t more = there < count - there ? there : count - there;
    std::memcpy(to + there, to, static_cast<size_t>(more) * sizeof(T));
    there += more;
  }
}

template <class T>
void gather_rows(T* to, const T* from, int64_t rows, int64_t columns,
                 int64_t row_step, int64_t column_step) {
  if (column_step == 0) {
    return repeat_elements(to, from, rows, columns, row_step);
  }
  if (row_step == 0) {
    copy_row(to, from, columns, column_step);
    return repeat_row(to, columns, rows * columns);
  }
  for (int64_t r = 0; r < rows; ++r) {
    copy_row(to + r * columns, from + r * row_step, columns, column_step);
  }
}

}  // namespace

template <class T>
void add_gather(LoopsOf<T>& loops) {
  loops.gather_rows = gather_rows<T>;
}

template void add_gather(LoopsOf<float>& loops);
template void add_gather(LoopsOf<double>& loops);

}  // namespace braid::runtime::BRAID_LEVEL
