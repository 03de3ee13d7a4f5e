// Averages of whole planes: adaptive pooling to one element, x[R, S] -> y[R],
// and its gradient. Elements are added in a fixed order, planes are shared out
// among threads.
#include <algorithm>

#include "braid/runtime/kernels/cpu/cpu_kernels.h"
#include "braid/runtime/kernels/cpu/parallel_for.h"

namespace braid::runtime {
namespace {

constexpr int64_t kGrain = 32768;

template <class T>
Thunk average(const Call& c, const LoopsOf<T>& loops) {
  int64_t planes = c.out(0).numel(), size = c.in(0).numel() / planes;
  return [=, x = c.in(0).as<T>(), y = c.out(0).as<T>(), sum = loops.sum] {
    parallel_for(planes, 1 + kGrain / size, [&](int64_t from, int64_t to) {
      for (int64_t p = from; p < to; ++p) {
        y[p] =
            static_cast<T>(sum(x + p * size, size) / static_cast<double>(size));
      }
    });
  };
}

template <class T>
Thunk average_backward(const Call& c, const LoopsOf<T>&) {
  int64_t planes = c.in(0).numel(), size = c.out(0).numel() / planes;
  return [=, dy = c.in(0).as<T>(), dx = c.out(0).as<T>()] {
    parallel_for(planes, 1 + kGrain / size, [&](int64_t from, int64_t to) {
      for (int64_t p = from; p < to; ++p) {
        std::fill_n(dx + p * size, size, dy[p] / static_cast<T>(size));
      }
    });
  };
}

// Row-major floats, all `dims` dimensions of the smaller one are of size 1.
bool fits(const Call& c, const Tensor& small, size_t dims) {
  const Tensor &x = c.in(0), &y = c.out(0);
  bool single =
      std::all_of(small.shape.end() - static_cast<int64_t>(dims),
                  small.shape.end(), [](int64_t n) { return n == 1; });
  return has_loops(x.dtype) && single && x.contiguous() && y.contiguous() &&
         x.numel() > 0 && y.numel() > 0;
}

}  // namespace

void add_cpu_average(KernelTable& table, const Loops& loops) {
  for (size_t dims : {1, 2, 3}) {
    std::string op = "adaptive_avg_pool" + std::to_string(dims) + "d";
    add_own(
        table, loops, op,
        [dims](const Call& c) { return fits(c, c.out(0), dims); },
        [](const Call& c, const auto& l) { return average(c, l); });
    add_own(
        table, loops, op + "_backward",
        [dims](const Call& c) { return fits(c, c.in(0), dims); },
        [](const Call& c, const auto& l) { return average_backward(c, l); });
  }
}

}  // namespace braid::runtime
