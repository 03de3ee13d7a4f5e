// Losses per member: logits[..., C] as [B, R, C] with B = 1 for one model.
#include "braid/runtime/kernels/aten/bind.h"

namespace braid::runtime {
namespace {

constexpr int64_t kIgnoreIndex = -100;

int64_t sets_of(const Bound& b) { return std::max<int64_t>(b.members(), 1); }

void cross_entropy(Bound& b) {
  int64_t sets = sets_of(b);
  double smoothing = b.attrs().number_or("label_smoothing", 0);
  at::Tensor logits = b.in[0].reshape({sets, -1, b.in[0].size(-1)});
  at::Tensor target = b.in[1].reshape({sets, -1});
  at::Tensor counts = target.ne(kIgnoreIndex);
  at::Tensor total = at::logsumexp(logits, {-1});
  at::Tensor picked =
      logits.gather(-1, target.clamp_min(0).unsqueeze(-1)).squeeze(-1);
  at::Tensor rows = total - picked;
  if (smoothing > 0) {
    rows = rows * (1 - smoothing) + (total - logits.mean(-1)) * smoothing;
  }
  at::Tensor number = counts.sum(-1).to(logits.scalar_type());
  at::Tensor loss = rows.mul_(counts).sum(-1) / number;
  b.out[0].copy_(loss.view(b.out[0].sizes()));
  b.out[1].copy_(total.view(b.out[1].sizes()));
  b.out[2].copy_(number.view(b.out[2].sizes()));
}

void cross_entropy_backward(Bound& b) {
  int64_t sets = sets_of(b);
  double smoothing = b.attrs().number_or("label_smoothing", 0);
  at::Tensor logits = b.in[1].reshape({sets, -1, b.in[1].size(-1)});
  at::Tensor target = b.in[2].reshape({sets, -1, 1});
  at::Tensor grad = (logits - b.in[3].reshape({sets, -1, 1})).exp_();
  auto classes = static_cast<double>(logits.size(-1));
  if (smoothing > 0) grad.sub_(smoothing / classes);
  at::Tensor index = target.clamp_min(0);
  grad.scatter_add_(
      -1, index, at::full({}, smoothing - 1, grad.options()).expand_as(index));
  at::Tensor factor = (b.in[0] / b.in[4]).view({sets, 1, 1});
  grad.mul_(at::where(target.ne(kIgnoreIndex), factor,
                      at::zeros({}, factor.options())));
  b.out[0].copy_(grad.view(b.out[0].sizes()));
}

void mse(Bound& b) {
  at::Tensor d = (b.in[0] - b.in[1]).reshape({sets_of(b), -1});
  b.out[0].copy_(d.square_().mean(-1).view(b.out[0].sizes()));
}

void mse_backward(Bound& b) {
  int64_t sets = sets_of(b);
  at::Tensor d = (b.in[1] - b.in[2]).reshape({sets, -1});
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
  add("mse_loss", mse);
  add("mse_loss_backward", mse_backward);
}

}  // namespace braid::runtime
