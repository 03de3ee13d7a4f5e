// Pointwise ops on row-major operands. Simple arithmetic only: what needs
// transcendental functions is libtorch's.
#include "braid/runtime/kernels/cpu/cpu_kernels.h"
#include "braid/runtime/kernels/cpu/spread.h"

namespace braid::runtime {
namespace {

template <class T>
using Pointwise = typename LoopsOf<T>::Pointwise;

template <class T>
Run make_run(const Call& c, Pointwise<T> loop) {
  constexpr int64_t kGrain = 32768;
  const Tensor& b = c.inputs.size() > 1 ? c.in(1) : c.in(0);
  return [loop, n = c.out(0).numel(), y = c.out(0).as<T>(), a = c.in(0).as<T>(),
          b = b.as<T>()] {
    spread(n, kGrain, [&](int64_t from, int64_t to) {
      loop(y + from, a + from, b + from, to - from);
    });
  };
}

bool is_plain(const Call& c) {
  const Tensor& y = c.out(0);
  bool plain = y.contiguous() && (c.in(0).dtype == DType::kFloat32 ||
                                  c.in(0).dtype == DType::kFloat64);
  for (const Tensor& x : c.inputs) {
    plain = plain && x.shape == y.shape && x.contiguous() &&
            x.dtype == c.in(0).dtype;
  }
  return plain;
}

// A few numbers: `full` of gradients of losses, step counts.
Run prepare_full(const Call& c, const Kernel& general) {
  const Tensor& y = c.out(0);
  double value = c.attrs().number("value");
  if (y.dtype == DType::kFloat32) {
    return [y, n = y.numel(), value] {
      std::fill_n(y.as<float>(), n, static_cast<float>(value));
    };
  }
  return general(c);
}

Run prepare_advance(const Call& c, const Kernel&) {
  return [n = c.out(0).numel(), y = c.out(0).as<int64_t>(),
          x = c.in(0).as<int64_t>(),
          keep = c.has(1) ? c.in(1).as<double>() : nullptr] {
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] + (!keep || keep[i] != 0);
  };
}

}  // namespace

void add_cpu_pointwise(KernelTable& table, const Loops& loops) {
  auto add = [&](const char* op, Pointwise<float> f32, Pointwise<double> f64) {
    table.add(op, [f32, f64, general = table.at(op)](const Call& c) {
      if (!is_plain(c)) return general(c);
      return c.in(0).dtype == DType::kFloat64 ? make_run<double>(c, f64)
                                              : make_run<float>(c, f32);
    });
  };
  add("relu", loops.f32.relu, loops.f64.relu);
  add("relu_backward", loops.f32.relu_backward, loops.f64.relu_backward);
  add("add", loops.f32.add, loops.f64.add);
  add("sub", loops.f32.sub, loops.f64.sub);
  add("mul", loops.f32.mul, loops.f64.mul);
  table.add("full", [general = table.at("full")](const Call& c) {
    return prepare_full(c, general);
  });
  table.add("advance", [general = table.at("advance")](const Call& c) {
    return prepare_advance(c, general);
  });
}

}  // namespace braid::runtime
