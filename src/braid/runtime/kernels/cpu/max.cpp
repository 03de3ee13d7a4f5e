// Max pooling of [N, C, H, W] by windows of 2 x 2, and the greatest along the
// last dimension.
#include <limits>

#include "braid/runtime/kernels/cpu/cpu_kernels.h"
#include "braid/runtime/kernels/cpu/parallel_for.h"

namespace braid::runtime {
namespace {

// Floats whose rows are dense; outputs are row-major.
bool has_dense_rows(const Call& c) {
  const Tensor& x = c.in(0);
  return has_loops(x.dtype) && !x.shape.empty() &&
         (x.strides.back() == 1 || x.shape.back() == 1) &&
         c.out(0).contiguous() && c.out(1).contiguous() && c.out(0).numel() > 0;
}

// Windows of 2 x 2 side by side, none of them over the border.
bool fits_pool(const Call& c) {
  const Shape &x = c.in(0).shape, &y = c.out(0).shape;
  auto all = [&](const char* name, int64_t value) {
    return c.attrs().ints(name) == Ints{value, value};
  };
  bool halves = all("kernel", 2) && all("stride", 2) && all("padding", 0) &&
                (!c.attrs().has("dilation") || all("dilation", 1));
  // Places are counted in 32 bits.
  return halves && has_dense_rows(c) && c.in(0).contiguous() &&
         2 * y[2] <= x[2] && 2 * y[3] <= x[3] &&
         x[2] * x[3] < std::numeric_limits<int32_t>::max();
}

template <class T>
Thunk prepare_pool(const Call& c, const LoopsOf<T>& loops) {
  const Shape &x = c.in(0).shape, &y = c.out(0).shape;
  return [pool = loops.pool_halves, planes = x[0] * x[1], inputs = x[2] * x[3],
          width = x[3], rows = y[2], columns = y[3], from = c.in(0).as<T>(),
          to = c.out(0).as<T>(), places = c.out(1).as<int64_t>()] {
    int64_t outputs = rows * columns;
    parallel_for(planes, 1 + 16384 / inputs, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        pool(to + p * outputs, places + p * outputs, from + p * inputs, rows,
             columns, width);
      }
    });
  };
}

// Where row r of a tensor begins, counted in elements.
int64_t row_offset(const Tensor& x, int64_t r) {
  int64_t offset = 0;
  for (size_t d = x.shape.size() - 1; d-- > 0;) {
    offset += r % x.shape[d] * x.strides[d];
    r /= x.shape[d];
  }
  return offset;
}

template <class T>
Thunk prepare_max(const Call& c, const LoopsOf<T>& loops) {
  return [row_max = loops.row_max, rows = c.out(0).numel(), x = c.in(0),
          y = c.out(0).as<T>(), places = c.out(1).as<int64_t>()] {
    int64_t columns = x.shape.back();
    parallel_for(rows, 1 + 32768 / columns, [&](int64_t from, int64_t to) {
      for (int64_t r = from; r < to; ++r) {
        row_max(y + r, places + r, x.as<T>() + row_offset(x, r), columns);
      }
    });
  };
}

bool fits_max(const Call& c) {
  const Shape& x = c.in(0).shape;
  return has_dense_rows(c) &&
         c.attrs().integer("dim") == static_cast<int64_t>(x.size()) - 1 &&
         x.back() < std::numeric_limits<int32_t>::max();
}

}  // namespace

void add_cpu_max(KernelTable& table, const Loops& loops) {
  add_own(table, loops, "max_pool2d", fits_pool,
          [](const Call& c, const auto& l) { return prepare_pool(c, l); });
  add_own(table, loops, "max", fits_max,
          [](const Call& c, const auto& l) { return prepare_max(c, l); });
}

}  // namespace braid::runtime
