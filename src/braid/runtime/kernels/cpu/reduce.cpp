// Sums over rows: x[R, C] -> y[C], and x[B, R, C] -> y[B, C]. Rows are added
// in order, columns are shared out among threads, so the result does not
// depend on their number.
#include "braid/runtime/kernels/cpu/cpu_kernels.h"
#include "braid/runtime/kernels/cpu/parallel_for.h"

namespace braid::runtime {
namespace {

template <class T>
Thunk make_run(const Call& c, const LoopsOf<T>& loops, int64_t sets,
               int64_t rows, int64_t columns) {
  // Blocks of columns that fill cache lines.
  int64_t width = rows * columns > 65536 ? 64 : columns;
  int64_t blocks = (columns + width - 1) / width;
  return [=, sum_rows = loops.sum_rows, y = c.out(0).as<T>(),
          x = c.in(0).as<T>()] {
    parallel_for(sets * blocks, 1 + 65536 / (rows * width + 1),
                 [&](int64_t from, int64_t to) {
                   for (int64_t i = from; i < to; ++i) {
                     int64_t set = i / blocks, first = i % blocks * width;
                     sum_rows(y + set * columns + first,
                              x + set * rows * columns + first, rows,
                              std::min(width, columns - first), columns);
                   }
                 });
  };
}

// The dims before the last one, all of them or all but the first.
Thunk prepare_sum(const Call& c, const Loops& loops, const Kernel& general) {
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
    return make_run(c, loops.f32, sets, rows, columns);
  if (x.dtype == DType::kFloat64) {
    return make_run(c, loops.f64, sets, rows, columns);
  }
  return general(c);
}

}  // namespace

void add_cpu_reduce(KernelTable& table, const Loops& loops) {
  table.add("sum", [loops, general = table.at("sum")](const Call& c) {
    return prepare_sum(c, loops, general);
  });
}

}  // namespace braid::runtime
