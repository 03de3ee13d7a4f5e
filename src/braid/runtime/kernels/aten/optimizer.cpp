// What optimizers need beside their updates, which are kernels of each device.
// Nothing here asks a device for a number, so all of it can be recorded.
// Hyper-parameters are f64 [B]; `lift` brings them to the parameter's type and
// rank.
#include <limits>

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

// Members that are skipped keep `before`.
at::Tensor kept(const Bound& b, size_t keep, const at::Tensor& next,
                const at::Tensor& before) {
  if (!b.has(keep)) return next;
  return at::where(lift(b.in[keep], before, b.members()).ne(0), next, before);
}

void nadam_product(Bound& b) {
  at::Tensor step = b.in[1].to(at::kDouble) + 1;
  at::Tensor power = at::pow(0.96, step * b.in[3]);
  at::Tensor next = b.in[0] * b.in[2] * (1 - power * 0.5);
  if (b.has(4)) next = at::where(b.in[4].ne(0), next, b.in[0]);
  b.out[0].copy_(next);
}

void clip_value(Bound& b) {
  at::Tensor limit = lift(b.in[1], b.in[0], b.members());
  b.out[0].copy_(at::minimum(at::maximum(b.in[0], -limit), limit));
}

void ema_update(Bound& b) {
  int64_t members = b.members();
  at::Tensor decay = lift(b.in[3], b.in[0], members);
  at::Tensor first =
      lift(b.in[2].eq(0).to(at::kDouble), b.in[0], members).ne(0);
  at::Tensor next =
      at::where(first, b.in[1], b.in[0] * decay + b.in[1] * (1 - decay));
  b.out[0].copy_(kept(b, 4, next, b.in[0]));
}

void sum_squares(Bound& b) {
  int64_t sets = std::max<int64_t>(b.members(), 1);
  at::Tensor x = b.in[0].reshape({sets, b.in[0].numel() / sets});
  b.out[0].copy_(x.to(at::kDouble).square().sum(-1).view(b.out[0].sizes()));
}

void clip_scale(Bound& b) {
  at::Tensor scale = b.in[1] / (b.in[0].sqrt() + 1e-6);
  b.out[0].copy_(scale.clamp_max(1.0));
}

void keeps(Bound& b) {
  b.out[0].copy_(b.in[0].ne(0).logical_or_(b.in[1].eq(0)));
}

void redoes(Bound& b) {
  at::Tensor differs = at::zeros_like(b.out[0], at::kBool);
  if (b.has(0)) differs = differs.logical_or(b.in[0].ne(1));
  if (b.has(1)) differs = differs.logical_or(b.in[1].eq(0));
  b.out[0].copy_(differs);
}

void take_back(Bound& b) {
  at::Tensor takes = lift(b.in[2], b.in[0], b.members()).ne(0);
  b.out[0].copy_(at::where(takes, b.in[1], b.in[0]));
}

void unscale(Bound& b) {
  b.out[0].copy_(b.in[0] / lift(b.in[1], b.in[0], b.members()));
}

// As torch.amp.GradScaler.update; no scale grows beyond f32.
void loss_scale_update(Bound& b) {
  constexpr double kMost = std::numeric_limits<float>::max();
  at::Tensor factor = b.in[0], finite = b.in[2].ne(0), interval = b.in[5];
  at::Tensor count = at::where(finite, b.in[1] + 1, 0);
  at::Tensor grows = finite.logical_and(count.eq(interval));
  at::Tensor larger = factor * b.in[3];
  at::Tensor fits = (larger * b.in[6]).le(kMost);
  at::Tensor next = at::where(grows.logical_and(fits), larger, factor);
  next = at::where(finite, next, factor * b.in[4]);
  at::Tensor moves = interval.ne(0);
  b.out[0].copy_(at::where(moves, next, factor));
  b.out[1].copy_(at::where(grows.logical_or_(moves.logical_not()), 0, count));
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
  add("nadam_product", nadam_product);
  add("clip_value", clip_value);
  add("ema_update", ema_update);
  add("sum_squares", sum_squares);
  add("clip_scale", clip_scale);
  add("is_finite", [](Bound& b) { b.out[0].copy_(b.in[0].isfinite()); });
  add("keeps", keeps);
  add("set_aside", [](Bound& b) { b.out[0].copy_(b.in[0]); });
  add("redoes", redoes);
  add("take_back", take_back);
  add("unscale", unscale);
  add("loss_scale_update", loss_scale_update);
  add("advance", advance);
}

}  // namespace braid::runtime
