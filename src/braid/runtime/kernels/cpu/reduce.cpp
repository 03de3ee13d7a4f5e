// Sums over rows: x[R, C] -> y[C], and x[B, R, C] -> y[B, C]. Rows are added
// in order, columns are shared out among threads, so the result does not
// depend on their number.
#include <ATen/Parallel.h>

#include "braid/runtime/kernels/cpu/cpu_kernels.h"
#include "braid/runtime/kernels/cpu/vectorize.h"

namespace braid::runtime {
namespace {

// Four running sums per column shorten the chain of dependent additions.
template <class T>
BRAID_INLINE void sum_rows(T* y, const T* x, int64_t rows, int64_t columns,
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

BRAID_VECTORIZE void sum_rows_f32(float* y, const float* x, int64_t rows,
                                  int64_t columns, int64_t step) {
  sum_rows(y, x, rows, columns, step);
}

BRAID_VECTORIZE void sum_rows_f64(double* y, const double* x, int64_t rows,
                                  int64_t columns, int64_t step) {
  sum_rows(y, x, rows, columns, step);
}

void sum_rows_of(float* y, const float* x, int64_t rows, int64_t columns,
                 int64_t step) {
  sum_rows_f32(y, x, rows, columns, step);
}

void sum_rows_of(double* y, const double* x, int64_t rows, int64_t columns,
                 int64_t step) {
  sum_rows_f64(y, x, rows, columns, step);
}

template <class T>
Run make_run(const Call& c, int64_t sets, int64_t rows, int64_t columns) {
  // Blocks of columns that fill cache lines.
  int64_t width = rows * columns > 65536 ? 64 : columns;
  int64_t blocks = (columns + width - 1) / width;
  return [=, y = c.out(0).as<T>(), x = c.in(0).as<T>()] {
    at::parallel_for(0, sets * blocks, 1 + 65536 / (rows * width + 1),
                     [&](int64_t from, int64_t to) {
                       for (int64_t i = from; i < to; ++i) {
                         int64_t set = i / blocks, first = i % blocks * width;
                         sum_rows_of(y + set * columns + first,
                                     x + set * rows * columns + first, rows,
                                     std::min(width, columns - first), columns);
                       }
                     });
  };
}

// The dims before the last one, all of them or all but the first.
Run prepare_sum(const Call& c, const Kernel& general) {
  const Tensor& x = c.in(0);
  const Ints& dims = c.attrs().ints("dims");
  auto rank = static_cast<int64_t>(x.shape.size());
  int64_t first = rank - 1 - static_cast<int64_t>(dims.size());
  bool rows_only = rank >= 2 && !dims.empty() && first >= 0 && first <= 1;
  for (size_t i = 0; i < dims.size() && rows_only; ++i) {
    rows_only = dims[i] == first + static_cast<int64_t>(i);
  }
  if (!rows_only || !x.contiguous() || x.numel() == 0) return general(c);
  int64_t sets = first == 1 ? x.shape[0] : 1;
  int64_t columns = x.shape.back();
  int64_t rows = x.numel() / sets / columns;
  if (x.dtype == DType::kFloat32)
    return make_run<float>(c, sets, rows, columns);
  if (x.dtype == DType::kFloat64) {
    return make_run<double>(c, sets, rows, columns);
  }
  return general(c);
}

}  // namespace

void add_cpu_reduce(KernelTable& table) {
  table.add("sum", [general = table.at("sum")](const Call& c) {
    return prepare_sum(c, general);
  });
}

}  // namespace braid::runtime
