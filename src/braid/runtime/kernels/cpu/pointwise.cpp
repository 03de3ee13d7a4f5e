// Pointwise ops on row-major operands. Simple arithmetic only: what needs
// transcendental functions is libtorch's.
#include <ATen/Parallel.h>

#include "braid/runtime/kernels/cpu/cpu_kernels.h"
#include "braid/runtime/kernels/cpu/vectorize.h"

namespace braid::runtime {
namespace {

enum class Form { kRelu, kReluBackward, kAdd, kSub, kMul };

template <class T>
BRAID_INLINE void loop(Form form, T* y, const T* a, const T* b, int64_t n) {
  switch (form) {
    case Form::kRelu:
      BRAID_ELEMENTWISE  // NaN stays NaN
          for (int64_t i = 0; i < n; ++i) y[i] = a[i] < T(0) ? T(0) : a[i];
      break;
    case Form::kReluBackward:
      BRAID_ELEMENTWISE
      for (int64_t i = 0; i < n; ++i) y[i] = b[i] <= T(0) ? T(0) : a[i];
      break;
    case Form::kAdd:
      BRAID_ELEMENTWISE
      for (int64_t i = 0; i < n; ++i) y[i] = a[i] + b[i];
      break;
    case Form::kSub:
      BRAID_ELEMENTWISE
      for (int64_t i = 0; i < n; ++i) y[i] = a[i] - b[i];
      break;
    case Form::kMul:
      BRAID_ELEMENTWISE
      for (int64_t i = 0; i < n; ++i) y[i] = a[i] * b[i];
      break;
  }
}

BRAID_VECTORIZE void loop_f32(Form form, float* y, const float* a,
                              const float* b, int64_t n) {
  loop(form, y, a, b, n);
}

BRAID_VECTORIZE void loop_f64(Form form, double* y, const double* a,
                              const double* b, int64_t n) {
  loop(form, y, a, b, n);
}

Run prepare(Form form, const Call& c, const Kernel& general) {
  const Tensor &y = c.out(0), &a = c.in(0);
  const Tensor& b = c.inputs.size() > 1 ? c.in(1) : a;
  bool plain = a.shape == y.shape && b.shape == y.shape && a.contiguous() &&
               b.contiguous() && y.contiguous() && a.dtype == b.dtype;
  bool floats = a.dtype == DType::kFloat32 || a.dtype == DType::kFloat64;
  if (!plain || !floats) return general(c);
  auto spread = [n = y.numel()](auto&& part) {
    constexpr int64_t kGrain = 32768;
    at::parallel_for(0, n, kGrain, part);
  };
  if (a.dtype == DType::kFloat32) {
    return [=, y = y.as<float>(), a = a.as<float>(), b = b.as<float>()] {
      spread([=](int64_t from, int64_t to) {
        loop_f32(form, y + from, a + from, b + from, to - from);
      });
    };
  }
  return [=, y = y.as<double>(), a = a.as<double>(), b = b.as<double>()] {
    spread([=](int64_t from, int64_t to) {
      loop_f64(form, y + from, a + from, b + from, to - from);
    });
  };
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

void add_cpu_pointwise(KernelTable& table) {
  const std::pair<const char*, Form> rows[] = {
      {"relu", Form::kRelu}, {"relu_backward", Form::kReluBackward},
      {"add", Form::kAdd},   {"sub", Form::kSub},
      {"mul", Form::kMul},
  };
  for (auto [op, form] : rows) {
    table.add(op, [form = form, general = table.at(op)](const Call& c) {
      return prepare(form, c, general);
    });
  }
  table.add("full", [general = table.at("full")](const Call& c) {
    return prepare_full(c, general);
  });
  table.add("advance", [general = table.at("advance")](const Call& c) {
    return prepare_advance(c, general);
  });
}

}  // namespace braid::runtime
