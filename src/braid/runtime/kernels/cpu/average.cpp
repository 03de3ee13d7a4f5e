// Averages of whole planes: adaptive pooling to one element, x[R, S] -> y[R],
// and its gradient. Elements are added in a fixed order, planes are shared out
// among threads.
#include <algorithm>

#include "braid/runtime/kernels/cpu/cpu_kernels.h"
#include "braid/runtime/kernels/cpu/parallel_for.h"

namespace braid::runtime {
namespace {

constexpr int64_t kGrain = 32768;

// In lanes, so that additions do not wait for each other.
template <class T>
double sum(const T* x, int64_t count) {
  constexpr int64_t kLanes = 4;
  double sums[kLanes] = {};
  int64_t whole = count / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    for (int64_t l = 0; l < kLanes; ++l) {
      sums[l] += static_cast<double>(x[i + l]);
    }
  }
  for (int64_t i = whole; i < count; ++i) {
    sums[0] += static_cast<double>(x[i]);
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

template <class T>
Thunk average(const Call& c) {
  int64_t planes = c.out(0).numel(), size = c.in(0).numel() / planes;
  return [=, x = c.in(0).as<T>(), y = c.out(0).as<T>()] {
    parallel_for(planes, 1 + kGrain / size, [&](int64_t from, int64_t to) {
      for (int64_t p = from; p < to; ++p) {
        y[p] =
            static_cast<T>(sum(x + p * size, size) / static_cast<double>(size));
      }
    });
  };
}

template <class T>
Thunk average_backward(const Call& c) {
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
  bool floats = x.dtype == DType::kFloat32 || x.dtype == DType::kFloat64;
  bool single =
      std::all_of(small.shape.end() - static_cast<int64_t>(dims),
                  small.shape.end(), [](int64_t n) { return n == 1; });
  return floats && single && x.contiguous() && y.contiguous() &&
         x.numel() > 0 && y.numel() > 0;
}

}  // namespace

void add_cpu_average(KernelTable& table) {
  for (size_t dims : {1, 2, 3}) {
    std::string op = "adaptive_avg_pool" + std::to_string(dims) + "d";
    std::string backward = op + "_backward";
    table.add(op, [dims, general = table.at(op)](const Call& c) {
      if (!fits(c, c.out(0), dims)) return general(c);
      return c.in(0).dtype == DType::kFloat64 ? average<double>(c)
                                              : average<float>(c);
    });
    table.add(backward, [dims, general = table.at(backward)](const Call& c) {
      if (!fits(c, c.in(0), dims)) return general(c);
      return c.in(0).dtype == DType::kFloat64 ? average_backward<double>(c)
                                              : average_backward<float>(c);
    });
  }
}

}  // namespace braid::runtime
