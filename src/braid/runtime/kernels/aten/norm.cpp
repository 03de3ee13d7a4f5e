#include "braid/runtime/kernels/aten/bind.h"

namespace braid::runtime {
namespace {

void batch_norm(Bound& b) {
  const Attrs& a = b.attrs();
  bool training = a.flag("training");
  std::optional<at::Tensor> mean, var;
  if (training && b.out.size() == 5) {  // libtorch updates them in place
    b.out[3].copy_(b.in[3]);
    b.out[4].copy_(b.in[4]);
    mean = b.out[3];
    var = b.out[4];
  } else if (!training) {
    mean = b.in[3];
    var = b.in[4];
  }
  auto [y, saved_mean, saved_rstd] =
      at::native_batch_norm(b.in[0], b.optional(1), b.optional(2), mean, var,
                            training, a.number("momentum"), a.number("eps"));
  if (training) {
    land({b.out[0], b.out[1], b.out[2]}, {y, saved_mean, saved_rstd});
  } else {
    land({b.out[0], b.out[1], b.out[2]},
         {y, *mean, at::rsqrt(*var + a.number("eps"))});
  }
}

void batch_norm_backward(Bound& b) {
  bool training = b.attrs().flag("training");
  std::optional<at::Tensor> running_mean, running_var;
  if (!training) {
    running_mean = b.in[3];
    running_var = b.in[4].pow(-2);
  }
  auto [dx, dw, db] = at::native_batch_norm_backward(
      b.in[0], b.in[1], b.optional(2), running_mean, running_var, b.in[3],
      b.in[4], training, 0.0, {true, true, true});
  land({b.out[0], b.out[1], b.out[2]}, {dx, dw, db});
}

// [B, C] as [B, 1, ..., 1, C], to meet x[B, ..., C].
at::Tensor per_member(const at::Tensor& w, const at::Tensor& x) {
  std::vector<int64_t> shape(static_cast<size_t>(x.dim()), 1);
  shape.front() = x.size(0);
  shape.back() = x.size(-1);
  return w.view(shape);
}

void layer_norm(Bound& b) {
  const at::Tensor& x = b.in[0];
  bool shared = b.members() == 0;
  auto [y, mean, rstd] = at::native_layer_norm(
      x, {x.size(-1)}, shared ? b.optional(1) : std::nullopt,
      shared ? b.optional(2) : std::nullopt, b.attrs().number("eps"));
  if (!shared && b.has(1)) y = y * per_member(b.in[1], x);
  if (!shared && b.has(2)) y = y + per_member(b.in[2], x);
  land({b.out[0], b.out[1], b.out[2]}, {y, mean, rstd});
}

void layer_norm_backward(Bound& b) {
  const at::Tensor &dy = b.in[0], &x = b.in[1];
  const at::Tensor &mean = b.in[3], &rstd = b.in[4];
  bool affine = b.has(2);
  at::Tensor scaled = dy;
  if (affine) {
    scaled = dy * (b.members() == 0 ? b.in[2] : per_member(b.in[2], x));
  }
  at::Tensor dx = std::get<0>(at::native_layer_norm_backward(
      scaled, x, {x.size(-1)}, mean, rstd, std::nullopt, std::nullopt,
      {true, false, false}));
  at::Tensor dy_rows = rows_of(dy, b.members());
  at::Tensor normal = rows_of((x - mean) * rstd, b.members());
  at::Tensor dw = (dy_rows * normal).sum({-2});
  land({b.out[0], b.out[1], b.out[2]}, {dx, dw, dy_rows.sum({-2})});
}

}  // namespace

void add_aten_norm(KernelTable& table, at::Device device) {
  auto add = [&](const char* op, Body body) {
    table.add(op, landing_kernel(device, {0}, std::move(body)));
  };
  add("batch_norm", batch_norm);
  add("batch_norm_backward", batch_norm_backward);
  add("layer_norm", layer_norm);
  add("layer_norm_backward", layer_norm_backward);
}

}  // namespace braid::runtime
