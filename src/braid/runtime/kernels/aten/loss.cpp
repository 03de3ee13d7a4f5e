// Losses per member: x[..., C] as [B, R, C] with B = 1 for one model.
#include "braid/base/error.h"
#include "braid/runtime/kernels/aten/bind.h"

namespace braid::runtime {
namespace {

int64_t sets_of(const Bound& b) { return std::max<int64_t>(b.members(), 1); }

bool reduces_by(const Bound& b, const char* how) {
  if (!b.attrs().has("reduction")) return std::string_view(how) == "mean";
  return b.attrs().text("reduction") == how;
}

// Label smoothing as [B or 1, 1, 1], from input `operand` or the attribute;
// undefined where there is none.
at::Tensor smoothing_of(const Bound& b, const at::Tensor& x, size_t operand) {
  if (b.has(operand)) {
    return b.in[operand].to(x.scalar_type()).reshape({-1, 1, 1});
  }
  double smoothing = b.attrs().number_or("label_smoothing", 0);
  if (smoothing == 0) return {};
  return at::full({1, 1, 1}, smoothing, x.options());
}

// [..., C] as [B, R, C]; sizes are spelled out because any may be 0.
at::Tensor as_rows(const Bound& b, const at::Tensor& x) {
  int64_t rows = 1;
  for (int64_t d = b.members() > 0 ? 1 : 0; d + 1 < x.dim(); ++d) {
    rows *= x.size(d);
  }
  return x.reshape({sets_of(b), rows, x.size(-1)});
}

// On a GPU a wrong target makes the index check of the device fail.
void check_targets(const Bound& b, const at::Tensor& bad,
                   const at::Tensor& target, int64_t classes) {
  if (!bad.is_cpu() || !bad.any().item<bool>()) return;
  fail_usage(
      "[{}] target {} is outside the {} classes\n"
      "HINT: targets count from 0; ignore_index marks rows to leave "
      "out",
      b.node.op->name, target.masked_select(bad)[0].item<int64_t>(), classes);
}

// Targets of rows, and how much each row counts.
struct Targets {
  at::Tensor ignored;  // [B, R]
  at::Tensor index;    // [B, R], 0 where ignored
  at::Tensor weight;   // [B, R], 0 where ignored
};

// x[B, R, C]; class weights are input `weight` where there is one.
Targets read_targets(const Bound& b, const at::Tensor& x,
                     const at::Tensor& given, size_t weight) {
  Targets t;
  at::Tensor target = given.reshape({x.size(0), x.size(1)});
  t.ignored = target.eq(b.attrs().integer_or("ignore_index", -100));
  t.index = target.masked_fill(t.ignored, 0);
  int64_t classes = x.size(2);
  check_targets(b, t.index.lt(0).logical_or_(t.index.ge(classes)), target,
                classes);
  t.weight = t.ignored.logical_not().to(x.scalar_type());
  if (b.has(weight)) {
    at::Tensor table = b.in[weight].reshape({x.size(0), classes});
    t.weight.mul_(table.gather(1, t.index));
  }
  return t;
}

// Class weights as [B, 1, C], or nothing.
at::Tensor class_weights(const Bound& b, const at::Tensor& x, size_t weight) {
  if (!b.has(weight)) return {};
  return b.in[weight].reshape({x.size(0), 1, x.size(2)});
}

// Infinite logits make NaN, as log_softmax does.
at::Tensor log_total(const at::Tensor& x) {
  if (x.size(-1) == 0) return at::logsumexp(x, {-1});
  at::Tensor most = x.amax({-1}, true);
  return (x - most).exp_().sum({-1}).log_().add_(most.squeeze(-1));
}

// Probabilities after smoothing, times class weights: [B, R, C].
at::Tensor soft_targets(const Bound& b, const at::Tensor& x,
                        const at::Tensor& given, size_t weight) {
  at::Tensor t = as_rows(b, given);
  at::Tensor smoothing = smoothing_of(b, x, weight + 1);
  if (smoothing.defined()) t = t * (1 - smoothing) + smoothing / x.size(2);
  at::Tensor w = class_weights(b, x, weight);
  return w.defined() ? t * w : t;
}

// What is narrow is computed in f32.
at::Tensor widened(const at::Tensor& x) {
  return x.element_size() < 4 ? x.to(at::kFloat) : x;
}

// Losses of rows [B, R] reduced into output 0.
void reduce(Bound& b, const at::Tensor& rows, const at::Tensor& number) {
  at::Tensor loss = rows;
  if (!reduces_by(b, "none")) loss = rows.sum({-1});
  if (reduces_by(b, "mean")) loss = loss / number;
  b.out[0].copy_(loss.view(b.out[0].sizes()));
}

// dy per row: [B, R or 1].
at::Tensor row_factor(const Bound& b, const at::Tensor& x,
                      const at::Tensor& number) {
  if (reduces_by(b, "none")) return b.in[0].reshape({x.size(0), x.size(1)});
  at::Tensor dy = b.in[0].reshape({x.size(0), 1});
  return reduces_by(b, "mean") ? dy / number.reshape({x.size(0), 1}) : dy;
}

// A member without smoothing has none of `even`, infinite or not.
at::Tensor with_even(const at::Tensor& rows, const at::Tensor& even,
                     const at::Tensor& smoothing) {
  return at::where(smoothing.eq(0), rows,
                   rows * (1 - smoothing) + even * smoothing);
}

at::Tensor hard_losses(const Bound& b, const at::Tensor& x,
                       const at::Tensor& total, const Targets& t) {
  at::Tensor rows =
      (total - x.gather(-1, t.index.unsqueeze(-1)).squeeze(-1)) * t.weight;
  at::Tensor smoothing = smoothing_of(b, x, 3);
  if (smoothing.defined()) {
    at::Tensor even = total.unsqueeze(-1) - x, w = class_weights(b, x, 2);
    if (w.defined()) even.mul_(w);
    rows = with_even(rows, even.sum({-1}) / x.size(2), smoothing.squeeze(-1));
  }
  return rows.masked_fill_(t.ignored, 0);
}

void cross_entropy(Bound& b) {
  at::Tensor x = widened(as_rows(b, b.in[0]));
  at::Tensor total = log_total(x), rows, number;
  if (b.in[1].is_floating_point()) {
    at::Tensor t = soft_targets(b, x, b.in[1], 2);
    rows = ((total.unsqueeze(-1) - x) * t).sum({-1});
    number = at::full({x.size(0)}, x.size(1), x.options());
  } else {
    Targets t = read_targets(b, x, b.in[1], 2);
    rows = hard_losses(b, x, total, t);
    number = t.weight.sum({-1});
  }
  reduce(b, rows, number);
  b.out[1].copy_(total.view(b.out[1].sizes()));
  b.out[2].copy_(number.view(b.out[2].sizes()));
}

// d row loss / dx for targets as indices; p = softmax, overwritten.
at::Tensor hard_gradient(const Bound& b, const at::Tensor& x, at::Tensor p,
                         const Targets& t) {
  at::Tensor smoothing = smoothing_of(b, x, 6);
  at::Tensor weight = t.weight.unsqueeze(-1);
  if (!smoothing.defined()) {
    p.mul_(weight);
  } else {
    weight = weight * (1 - smoothing);
    at::Tensor share = smoothing / x.size(2), w = class_weights(b, x, 5);
    if (!w.defined()) w = at::ones({1, 1, x.size(2)}, x.options());
    p.mul_(weight + w.sum({-1}, true) * share).sub_(w * share);
  }
  p.scatter_add_(-1, t.index.unsqueeze(-1), -weight);
  return p.masked_fill_(t.ignored.unsqueeze(-1), 0);
}

void cross_entropy_backward(Bound& b) {
  at::Tensor x = widened(as_rows(b, b.in[1]));
  at::Tensor p = (x - b.in[3].reshape({x.size(0), x.size(1), 1})).exp_();
  at::Tensor factor = row_factor(b, x, b.in[4]).unsqueeze(-1);
  if (b.in[2].is_floating_point()) {
    at::Tensor t = soft_targets(b, x, b.in[2], 5);
    p.mul_(t.sum({-1}, true)).sub_(t).mul_(factor);
  } else {
    Targets t = read_targets(b, x, b.in[2], 5);
    p = hard_gradient(b, x, p, t).mul_(factor);
    p.masked_fill_(t.ignored.unsqueeze(-1), 0);
  }
  b.out[0].copy_(p.view(b.out[0].sizes()));
}

void nll(Bound& b) {
  at::Tensor x = as_rows(b, b.in[0]);
  Targets t = read_targets(b, x, b.in[1], 2);
  at::Tensor rows = x.gather(-1, t.index.unsqueeze(-1)).squeeze(-1).neg_();
  at::Tensor number = t.weight.sum({-1});
  reduce(b, rows.mul_(t.weight).masked_fill_(t.ignored, 0), number);
  b.out[1].copy_(number.view(b.out[1].sizes()));
}

void nll_backward(Bound& b) {
  at::Tensor x = as_rows(b, b.in[1]);
  Targets t = read_targets(b, x, b.in[2], 4);
  at::Tensor at_target = (row_factor(b, x, b.in[3]) * t.weight).neg_();
  at_target.masked_fill_(t.ignored, 0);
  at::Tensor dx = at::zeros(x.sizes(), x.options());
  dx.scatter_(-1, t.index.unsqueeze(-1), at_target.unsqueeze(-1));
  b.out[0].copy_(dx.view(b.out[0].sizes()));
}

void mse(Bound& b) {
  at::Tensor d = (b.in[0] - b.in[1]);
  d = d.reshape({sets_of(b), d.numel() / sets_of(b)});
  b.out[0].copy_(d.square_().mean(-1).view(b.out[0].sizes()));
}

void mse_backward(Bound& b) {
  int64_t sets = sets_of(b);
  at::Tensor d = (b.in[1] - b.in[2]);
  d = d.reshape({sets, d.numel() / sets});
  d.mul_(b.in[0].reshape({sets, 1}) * (2.0 / static_cast<double>(d.size(1))));
  b.out[0].copy_(d.view(b.out[0].sizes()));
}

}  // namespace

void add_aten_loss(KernelTable& table, at::Device device) {
  auto add = [&](const char* op, Body body) {
    table.add(op, aten_kernel(device, std::move(body)));
  };
  add("cross_entropy_loss", cross_entropy);
  add("cross_entropy_loss_backward", cross_entropy_backward);
  add("nll_loss", nll);
  add("nll_loss_backward", nll_backward);
  add("mse_loss", mse);
  add("mse_loss_backward", mse_backward);
}

}  // namespace braid::runtime
