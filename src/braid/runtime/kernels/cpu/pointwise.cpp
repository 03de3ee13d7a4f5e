// Pointwise ops on row-major operands: the loops of fusions, so that an op
// gives the same bits alone and in a fusion. The rest is libtorch's.
#include "braid/ops/core/fusion.h"
#include "braid/runtime/kernels/cpu/cpu_kernels.h"
#include "braid/runtime/kernels/cpu/parallel_for.h"

namespace braid::runtime {
namespace {

template <class T>
Thunk make_run(const Call& c, const FusionStep& step, FusionLoop<T> loop) {
  constexpr int64_t kGrain = 32768;
  auto operand = [&](size_t i) {
    return c.in(i < c.inputs.size() ? i : 0).as<T>();
  };
  return [loop, n = c.out(0).numel(), y = c.out(0).as<T>(), a = operand(0),
          b = operand(1), d = operand(2), v = static_cast<T>(step.numbers[0]),
          w = static_cast<T>(step.numbers[1])] {
    parallel_for(n, kGrain, [&](int64_t from, int64_t to) {
      loop(y + from, a + from, b + from, d + from, v, w, to - from);
    });
  };
}

bool is_plain(const Call& c) {
  const Tensor& y = c.out(0);
  bool plain = y.contiguous() && y.dtype == c.in(0).dtype && has_loops(y.dtype);
  for (const Tensor& x : c.inputs) {
    plain = plain && x.shape == y.shape && x.contiguous() &&
            x.dtype == c.in(0).dtype;
  }
  return plain;
}

// A few numbers: `full` of gradients of losses, step counts.
Thunk prepare_full(const Call& c, const Kernel& general) {
  const Tensor& y = c.out(0);
  double value = c.attrs().number("value");
  if (y.dtype == DType::kFloat32) {
    return [y, n = y.numel(), value] {
      std::fill_n(y.as<float>(), n, static_cast<float>(value));
    };
  }
  return general(c);
}

// Counters of batches.
Thunk prepare_count(const Call& c, const Kernel& general) {
  const Tensor &x = c.in(0), &y = c.out(0);
  const auto* value = std::get_if<int64_t>(c.attrs().find("value"));
  bool counts = value && x.dtype == DType::kInt64 && y.dtype == DType::kInt64 &&
                x.contiguous();
  if (!counts) return general(c);
  return [n = y.numel(), y = y.as<int64_t>(), x = x.as<int64_t>(),
          value = *value] {
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] + value;
  };
}

Thunk prepare_advance(const Call& c, const Kernel&) {
  return [n = c.out(0).numel(), y = c.out(0).as<int64_t>(),
          x = c.in(0).as<int64_t>(),
          keep = c.has(1) ? c.in(1).as<double>() : nullptr] {
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] + (!keep || keep[i] != 0);
  };
}

}  // namespace

void add_cpu_pointwise(KernelTable& table, const Loops& loops) {
  for (const FusionOp& op : fusion_ops()) {
    auto f32 = loops.f32.fusion_loop(op.name);
    auto f64 = loops.f64.fusion_loop(op.name);
    table.add(op.name, [f32, f64, general = table.at(op.name)](const Call& c) {
      FusionStep step = fusion_step(*c.node);
      if (!step.op || !is_plain(c)) return general(c);
      return c.in(0).dtype == DType::kFloat64 ? make_run<double>(c, step, f64)
                                              : make_run<float>(c, step, f32);
    });
  }
  using Prepare = Thunk (*)(const Call&, const Kernel&);
  auto add = [&](const char* op, Prepare prepare) {
    table.add(op, [prepare, general = table.at(op)](const Call& c) {
      return prepare(c, general);
    });
  };
  add("full", prepare_full);
  add("add_scalar", prepare_count);
  add("advance", prepare_advance);
}

}  // namespace braid::runtime
