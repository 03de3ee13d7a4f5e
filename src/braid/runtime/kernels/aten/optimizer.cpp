// Updates by their formulas, for any device. Hyper-parameters are f64 [B];
// `lift` brings them to the parameter's type and rank.
#include "braid/runtime/kernels/aten/bind.h"

namespace braid::runtime {
namespace {

at::Tensor lift(const at::Tensor& values, const at::Tensor& like,
                int64_t members) {
  if (members == 0) return values.to(like.scalar_type());
  std::vector<int64_t> shape(static_cast<size_t>(like.dim()), 1);
  shape[0] = members;
  return values.to(like.scalar_type()).view(shape);
}

at::Tensor scaled_gradient(const Bound& b, size_t scale) {
  if (!b.has(scale)) return b.in[1];
  return b.in[1] * lift(b.in[scale], b.in[1], b.members());
}

// Members that are skipped keep `before`.
void store(const Bound& b, const at::Tensor& out, const at::Tensor& next,
           const at::Tensor& before, size_t keep) {
  if (!b.has(keep)) {
    out.copy_(next);
    return;
  }
  at::Tensor kept = lift(b.in[keep], before, b.members()).ne(0);
  out.copy_(at::where(kept, next, before));
}

void sgd(Bound& b) {
  const at::Tensor& p = b.in[0];
  int64_t m = b.members();
  auto value = [&](size_t i) { return lift(b.in[i], p, m); };
  at::Tensor g = scaled_gradient(b, 8) + p * value(7);
  at::Tensor d = g;
  if (b.has(2)) {
    at::Tensor first = lift(b.in[3].eq(0).to(at::kDouble), p, m).ne(0);
    at::Tensor buffer =
        at::where(first, g, b.in[2] * value(5) + g * (1 - value(6)));
    bool nesterov = b.attrs().flag("nesterov");
    d = nesterov ? g + buffer * value(5) : buffer;
    d = at::where(value(5).ne(0), d, g);
    store(b, b.out[1], buffer, b.in[2], 9);
  }
  store(b, b.out[0], p - d * value(4), p, 9);
}

void adamw(Bound& b) {
  const at::Tensor& p = b.in[0];
  int64_t members = b.members();
  auto value = [&](size_t i) { return lift(b.in[i], p, members); };
  at::Tensor g = scaled_gradient(b, 10);
  at::Tensor step = b.in[4].to(at::kDouble) + 1;
  at::Tensor correction1 = lift(1 - b.in[6].pow(step), p, members);
  at::Tensor correction2 = lift((1 - b.in[7].pow(step)).sqrt(), p, members);
  at::Tensor m = b.in[2] + (g - b.in[2]) * (1 - value(6));
  at::Tensor v = b.in[3] * value(7) + g * g * (1 - value(7));
  at::Tensor denominator = v.sqrt() / correction2 + value(8);
  at::Tensor next = p * (1 - value(5) * value(9)) -
                    m / denominator * (value(5) / correction1);
  store(b, b.out[1], m, b.in[2], 11);
  store(b, b.out[2], v, b.in[3], 11);
  store(b, b.out[0], next, p, 11);
}

void sum_squares(Bound& b) {
  at::Tensor x = b.in[0].reshape({std::max<int64_t>(b.members(), 1), -1});
  b.out[0].copy_(x.to(at::kDouble).square().sum(-1).view(b.out[0].sizes()));
}

void clip_scale(Bound& b) {
  at::Tensor scale = b.in[1] / (b.in[0].sqrt() + 1e-6);
  b.out[0].copy_(scale.clamp_max(1.0));
}

void advance(Bound& b) {
  at::Tensor next = b.in[0] + 1;
  b.out[0].copy_(b.has(1) ? at::where(b.in[1].ne(0), next, b.in[0]) : next);
}

}  // namespace

void add_aten_optimizer(KernelTable& table, at::Device device) {
  auto add = [&](const char* op, Body body) {
    table.add(op, aten_kernel(device, std::move(body)));
  };
  add("sgd_update", sgd);
  add("adamw_update", adamw);
  add("sum_squares", sum_squares);
  add("clip_scale", clip_scale);
  add("is_finite", [](Bound& b) { b.out[0].copy_(b.in[0].isfinite()); });
  add("advance", advance);
}

}  // namespace braid::runtime
