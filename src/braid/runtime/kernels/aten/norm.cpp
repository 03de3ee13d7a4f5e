#include "braid/runtime/kernels/aten/bind.h"
#include "braid/runtime/kernels/aten/members.h"

namespace braid::runtime {
namespace {

// Without elements there are no statistics: running ones stay as they are.
bool without_elements(Bound& b) {
  if (b.in[0].numel() > 0) return false;
  for (size_t i = 1; i < b.out.size(); ++i) {
    if (i < 3) b.out[i].zero_();
    if (i >= 3) b.out[i].copy_(b.in[i]);
  }
  return true;
}

// On a CPU libtorch sums channels that lie last in float32, one after the
// other; the mean of rows is ten times nearer.
at::Tensor summed_well(const at::Tensor& x) {
  return x.is_cpu() ? x.contiguous() : x;
}

void batch_norm(Bound& b) {
  if (without_elements(b)) return;
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
  auto [y, saved_mean, saved_rstd] = at::native_batch_norm(
      summed_well(b.in[0]), b.optional(1), b.optional(2), mean, var, training,
      a.number("momentum"), a.number("eps"));
  if (training) {
    write_outputs({b.out[0], b.out[1], b.out[2]}, {y, saved_mean, saved_rstd});
  } else {
    write_outputs({b.out[0], b.out[1], b.out[2]},
                  {y, *mean, at::rsqrt(*var + a.number("eps"))});
  }
}

void batch_norm_backward(Bound& b) {
  if (without_elements(b)) return;
  bool training = b.attrs().flag("training");
  std::optional<at::Tensor> running_mean, running_var;
  if (!training) {
    running_mean = b.in[3];
    running_var = b.in[4].pow(-2);
  }
  bool affine = b.has(2);
  auto [dx, dw, db] = at::native_batch_norm_backward(
      b.in[0], b.in[1], b.optional(2), running_mean, running_var, b.in[3],
      b.in[4], training, 0.0, {true, affine, affine});
  if (affine)
    return write_outputs({b.out[0], b.out[1], b.out[2]}, {dx, dw, db});
  write_outputs({b.out[0]}, {dx});
  b.out[1].zero_();
  b.out[2].zero_();
}

// x[N, C, S] as [N, C, S] and numbers of channels as [C, 1]; with members the
// same behind B.
struct Channels {
  Channels(const at::Tensor& x, int64_t members)
      : lead(members > 0 ? 1 : 0), wide(wide_type(x)) {
    for (int64_t d = 0; d < x.dim(); ++d) {
      if (d != lead + 1 && d >= lead) dims.push_back(d);
      shape.push_back(d == lead + 1 || d < lead ? x.size(d) : 1);
    }
    count = static_cast<double>(x.numel()) /
            static_cast<double>(c10::multiply_integers(shape));
  }

  static at::ScalarType wide_type(const at::Tensor& x) {
    return x.element_size() < 4 ? at::kFloat : x.scalar_type();
  }
  at::Tensor spread(const at::Tensor& numbers) const {
    return numbers.reshape(shape);
  }
  at::Tensor sum(const at::Tensor& x) const { return x.sum(dims); }

  int64_t lead;
  at::ScalarType wide;
  std::vector<int64_t> dims, shape;
  double count = 0;  // of a channel
};

void batch_norm_statistics(Bound& b) {
  Channels c(b.in[0], b.members());
  at::Tensor x = b.in[0].to(c.wide);
  auto [var, mean] = at::var_mean(x, c.dims, /*unbiased=*/false);
  at::Tensor rstd = at::rsqrt(var + b.attrs().number("eps"));
  double momentum = b.attrs().number("momentum");
  b.out[0].copy_(mean);
  b.out[1].copy_(rstd);
  b.out[2].copy_(b.has(1) ? b.in[1] * rstd : rstd);
  if (b.out.size() < 5) return;
  at::Tensor whole = var * (c.count / (c.count - 1));
  b.out[3].copy_(b.in[2] * (1 - momentum) + mean * momentum);
  b.out[4].copy_(b.in[3] * (1 - momentum) + whole * momentum);
}

void batch_norm_sums(Bound& b) {
  Channels c(b.in[1], b.members());
  at::Tensor dy = b.in[0].to(c.wide), x = b.in[1].to(c.wide);
  at::Tensor db = c.sum(dy);
  at::Tensor dw = c.sum(dy * (x - c.spread(b.in[3]))) * b.in[4];
  b.out[0].copy_(dw);
  b.out[1].copy_(db);
  b.out[2].copy_(db / c.count);
  b.out[3].copy_(dw * b.in[4] / c.count);
  b.out[4].copy_(b.has(2) ? b.in[2] * b.in[4] : b.in[4]);
}

// [C] as it is; [B, C] as [B, 1, ..., 1, C], to meet x[B, ..., C].
at::Tensor per_member(const at::Tensor& w, const at::Tensor& x,
                      int64_t members) {
  if (members == 0) return w;
  std::vector<int64_t> shape(static_cast<size_t>(x.dim()), 1);
  shape.front() = x.size(0);
  shape.back() = x.size(-1);
  return w.reshape(shape);
}

// x[..., C] summed to [C]; with members x[B, ..., C] to [B, C].
at::Tensor sum_rows(const at::Tensor& x, int64_t members) {
  std::vector<int64_t> dims;
  for (int64_t d = members > 0 ? 1 : 0; d < x.dim() - 1; ++d) dims.push_back(d);
  return dims.empty() ? x : x.sum(dims);
}

void layer_norm(Bound& b) {
  const at::Tensor& x = b.in[0];
  bool shared = b.members() == 0;
  auto [y, mean, rstd] = at::native_layer_norm(
      x, {x.size(-1)}, shared ? b.optional(1) : std::nullopt,
      shared ? b.optional(2) : std::nullopt, b.attrs().number("eps"));
  if (!shared && b.has(1)) y = y * per_member(b.in[1], x, b.members());
  if (!shared && b.has(2)) y = y + per_member(b.in[2], x, b.members());
  write_outputs({b.out[0], b.out[1], b.out[2]}, {y, mean, rstd});
}

void layer_norm_backward(Bound& b) {
  const at::Tensor &dy = b.in[0], &x = b.in[1];
  const at::Tensor &mean = b.in[3], &rstd = b.in[4];
  at::Tensor scaled = dy;
  if (b.has(2)) scaled = dy * per_member(b.in[2], x, b.members());
  at::Tensor dx = std::get<0>(at::native_layer_norm_backward(
      scaled, x, {x.size(-1)}, mean, rstd, std::nullopt, std::nullopt,
      {true, false, false}));
  at::Tensor dw = sum_rows(dy * ((x - mean) * rstd), b.members());
  write_outputs({b.out[0], b.out[1], b.out[2]},
                {dx, dw, sum_rows(dy, b.members())});
}

void rms_norm(Bound& b) {
  const at::Tensor& x = b.in[0];
  at::Tensor &y = b.out[0], &rstd = b.out[1];
  at::mean_out(rstd, x.square(), {-1}, true);
  rstd.add_(b.attrs().number("eps")).rsqrt_();
  at::mul_out(y, x, rstd);
  if (b.has(1)) y.mul_(per_member(b.in[1], x, b.members()));
}

void rms_norm_backward(Bound& b) {
  const at::Tensor &dy = b.in[0], &x = b.in[1], &rstd = b.in[3];
  at::Tensor normal = x * rstd;
  b.out[1].copy_(sum_rows(dy * normal, b.members()));
  at::Tensor scaled = dy;
  if (b.has(2)) scaled = dy * per_member(b.in[2], x, b.members());
  at::Tensor along = (scaled * normal).mean({-1}, true);
  at::sub_out(b.out[0], scaled, normal.mul_(along));
  b.out[0].mul_(rstd);
}

// [N, C, S...]: how many of each.
struct Sizes {
  explicit Sizes(const at::Tensor& x)
      : batch(x.size(0)),
        channels(x.size(1)),
        places(c10::multiply_integers(x.sizes().slice(2))) {}
  int64_t batch, channels, places;
};

// libtorch walks through weights as if they were dense.
std::optional<at::Tensor> dense(const Bound& b, size_t i) {
  return b.has(i) ? std::optional(b.in[i].contiguous()) : std::nullopt;
}

void group_norm(Bound& b) {
  at::Tensor x = b.in[0].contiguous();
  Sizes n(x);
  auto [y, mean, rstd] = at::native_group_norm(
      x, dense(b, 1), dense(b, 2), n.batch, n.channels, n.places,
      b.attrs().integer("num_groups"), b.attrs().number("eps"));
  write_outputs({b.out[0], b.out[1], b.out[2]}, {y, mean, rstd});
}

void group_norm_backward(Bound& b) {
  at::Tensor dy = b.in[0].contiguous(), x = b.in[1].contiguous();
  Sizes n(x);
  // libtorch gives db only where there is a weight.
  at::Tensor w = b.has(2) ? b.in[2] : at::ones({n.channels}, x.options());
  auto [dx, dw, db] = at::native_group_norm_backward(
      dy, x, b.in[3].contiguous(), b.in[4].contiguous(), w.contiguous(),
      n.batch, n.channels, n.places, b.attrs().integer("num_groups"),
      {true, true, true});
  write_outputs({b.out[0], b.out[1], b.out[2]}, {dx, dw, db});
}

// [B, N, C, S] as [N, B * C, S]; [B, C] as [B * C].
at::Tensor merged(const at::Tensor& t) {
  if (!t.defined()) return t;
  return t.dim() > 2 ? t.transpose(0, 1).flatten(1, 2) : t.flatten();
}

// Where a launch per member costs more than turning values round: one call on
// the channels of all members side by side.
Body with_merged_channels(const Body& body) {
  return [body](Bound& b) {
    if (b.members() == 0) return body(b);
    Bound all{b.node, {}, {}};
    for (const at::Tensor& t : b.in) all.in.push_back(merged(t));
    for (const at::Tensor& t : b.out) {
      all.out.push_back(at::empty_like(merged(t)));
    }
    body(all);
    for (size_t i = 0; i < b.out.size(); ++i) {
      at::Tensor& to = b.out[i];
      at::Tensor from = all.out[i];
      if (to.dim() == 2) {
        to.copy_(from.view(to.sizes()));
      } else {
        to.copy_(from.unflatten(1, {to.size(0), to.size(2)}).transpose(0, 1));
      }
    }
  };
}

}  // namespace

void add_aten_norm(KernelTable& table, at::Device device) {
  auto add = [&](const char* op, Body body) {
    table.add(op, donating_kernel(device, {0}, std::move(body)));
  };
  auto add_apart = [&](const char* op, Body body) {
    Kernel kernel = donating_kernel(device, {0}, body);
    table.add(op, device.is_cpu()
                      ? each_member(device, kernel)
                      : aten_kernel(device, with_merged_channels(body)));
  };
  add_apart("batch_norm", batch_norm);
  add_apart("batch_norm_backward", batch_norm_backward);
  table.add("batch_norm_statistics",
            aten_kernel(device, batch_norm_statistics));
  table.add("batch_norm_sums", aten_kernel(device, batch_norm_sums));
  add("layer_norm", layer_norm);
  add("layer_norm_backward", layer_norm_backward);
  add("group_norm", group_norm);
  add("group_norm_backward", group_norm_backward);
  table.add("rms_norm", aten_kernel(device, rms_norm));
  table.add("rms_norm_backward", aten_kernel(device, rms_norm_backward));
}

}  // namespace braid::runtime
