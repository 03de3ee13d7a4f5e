// Losses of single elements. Operands come in the type and shape of the
// loss; a slope is a gradient with respect to one of them.
#include <cmath>
#include <limits>

#include "braid/runtime/kernels/aten/bind.h"

namespace braid::runtime {
namespace {

constexpr auto kEach = at::Reduction::None;

using Operands = std::vector<at::Tensor>;  // undefined where missing
using Forward = at::Tensor (*)(const Operands&, const Attrs&);
// (dy, operands, attributes, wrt) -> gradient of operand wrt
using Slope = at::Tensor (*)(const at::Tensor&, const Operands&, const Attrs&,
                             int64_t);

Operands operands_of(const Bound& b, size_t first) {
  Operands list;
  for (size_t i = first; i < b.in.size(); ++i) {
    if (!b.in[i].defined()) {
      list.emplace_back();
      continue;
    }
    list.push_back(b.in[i].to(b.out[0].scalar_type()).expand(b.out[0].sizes()));
  }
  return list;
}

std::optional<at::Tensor> operand(const Operands& o, size_t i) {
  return i < o.size() && o[i].defined() ? std::optional(o[i]) : std::nullopt;
}

// Gradients of operands 0 and 1 differ only in sign.
at::Tensor signed_by(at::Tensor dx, int64_t wrt) {
  return wrt == 0 ? dx : dx.neg();
}

at::Tensor l1(const Operands& o, const Attrs&) { return (o[0] - o[1]).abs_(); }

at::Tensor l1_slope(const at::Tensor& dy, const Operands& o, const Attrs&,
                    int64_t wrt) {
  return signed_by((o[0] - o[1]).sgn_().mul_(dy), wrt);
}

at::Tensor smooth_l1(const Operands& o, const Attrs& a) {
  return at::smooth_l1_loss(o[0], o[1], kEach, a.number("beta"));
}

at::Tensor smooth_l1_slope(const at::Tensor& dy, const Operands& o,
                           const Attrs& a, int64_t wrt) {
  const at::Tensor &own = o[wrt == 0 ? 0 : 1], &other = o[wrt == 0 ? 1 : 0];
  // Without a smooth part libtorch's CUDA kernel divides by zero at ties; the
  // CPU's takes the slope from below there.
  if (a.number("beta") == 0 && own.is_cuda()) {
    at::Tensor x = own - other;
    return at::where(x.isnan(), x, at::where(x > 0, dy, -dy));
  }
  return at::smooth_l1_loss_backward(dy, own, other, kEach, a.number("beta"));
}

at::Tensor huber(const Operands& o, const Attrs& a) {
  return at::huber_loss(o[0], o[1], kEach, a.number("delta"));
}

at::Tensor huber_slope(const at::Tensor& dy, const Operands& o, const Attrs& a,
                       int64_t wrt) {
  const at::Tensor &own = o[wrt == 0 ? 0 : 1], &other = o[wrt == 0 ? 1 : 0];
  return at::huber_loss_backward(dy, own, other, kEach, a.number("delta"));
}

// ATen refuses NaN as a probability, and so would stop all members for one:
// elements with it are computed without and become NaN.
at::Tensor bce(const Operands& o, const Attrs&) {
  at::Tensor lost = o[0].isnan().logical_or_(o[1].isnan());
  at::Tensor p = o[0].masked_fill(lost, 0.5), t = o[1].masked_fill(lost, 0.5);
  return at::binary_cross_entropy(p, t, operand(o, 2), kEach)
      .masked_fill_(lost, std::numeric_limits<double>::quiet_NaN());
}

at::Tensor bce_slope(const at::Tensor& dy, const Operands& o, const Attrs&,
                     int64_t wrt) {
  auto weight = operand(o, 2);
  if (wrt == 0) {
    return at::binary_cross_entropy_backward(dy, o[0], o[1], weight, kEach);
  }
  at::Tensor dt = (1 - o[0]).log_().sub_(o[0].log()).mul_(dy);
  return weight ? dt.mul_(*weight) : dt;
}

at::Tensor bce_logits(const Operands& o, const Attrs&) {
  return at::binary_cross_entropy_with_logits(o[0], o[1], operand(o, 2),
                                              operand(o, 3), kEach);
}

at::Tensor bce_logits_slope(const at::Tensor& dy, const Operands& o,
                            const Attrs&, int64_t wrt) {
  const at::Tensor &x = o[0], &t = o[1];
  auto weight = operand(o, 2), positive = operand(o, 3);
  at::Tensor d;
  if (wrt == 0 && positive) {
    at::Tensor scaled = *positive * t;
    d = (scaled + 1 - t) * x.sigmoid() - scaled;
  } else if (wrt == 0) {
    d = x.sigmoid() - t;
  } else if (positive) {
    d = at::log_sigmoid(-x) - at::log_sigmoid(x) * *positive;
  } else {
    d = -x;
  }
  d = d * dy;
  return weight ? d.mul_(*weight) : d;
}

at::Tensor kl(const Operands& o, const Attrs& a) {
  return at::kl_div(o[0], o[1], kEach, a.flag("log_target"));
}

at::Tensor kl_slope(const at::Tensor& dy, const Operands& o, const Attrs& a,
                    int64_t wrt) {
  const at::Tensor &x = o[0], &t = o[1];
  bool logs = a.flag("log_target");
  if (wrt == 0) return (logs ? t.exp() : t).mul(dy).neg_();
  if (logs) return (t - x + 1).mul_(t.exp()).mul_(dy);
  return (t.log() + t / t - x).mul_(dy);
}

at::Tensor soft_margin(const Operands& o, const Attrs&) {
  return at::soft_margin_loss(o[0], o[1], kEach);
}

at::Tensor soft_margin_slope(const at::Tensor& dy, const Operands& o,
                             const Attrs&, int64_t) {
  return at::soft_margin_loss_backward(dy, o[0], o[1], kEach);
}

at::Tensor poisson(const Operands& o, const Attrs& a) {
  return at::poisson_nll_loss(o[0], o[1], a.flag("log_input"), a.flag("full"),
                              a.number("eps"), kEach);
}

at::Tensor poisson_slope(const at::Tensor& dy, const Operands& o,
                         const Attrs& a, int64_t wrt) {
  const at::Tensor &x = o[0], &t = o[1];
  bool logs = a.flag("log_input");
  double eps = a.number("eps");
  if (wrt == 0) return (logs ? x.exp() - t : 1 - t / (x + eps)).mul_(dy);
  at::Tensor d = logs ? -x : (x + eps).log_().neg_();
  if (a.flag("full")) {
    d = d + (t.log() + 0.5 / t).masked_fill_(t.le(1), 0);
  }
  return d.mul_(dy);
}

at::Tensor gaussian(const Operands& o, const Attrs& a) {
  at::Tensor v = o[2].clamp_min(a.number("eps"));
  at::Tensor loss = ((o[0] - o[1]).square_().div_(v).add_(v.log())).mul_(0.5);
  if (a.flag("full")) loss.add_(0.5 * std::log(2 * M_PI));
  return loss;
}

at::Tensor gaussian_slope(const at::Tensor& dy, const Operands& o,
                          const Attrs& a, int64_t wrt) {
  at::Tensor v = o[2].clamp_min(a.number("eps")), d = o[0] - o[1];
  if (wrt < 2) return signed_by(d.div_(v).mul_(dy), wrt);
  return (1 - d.square_().div_(v)).div_(v).mul_(dy).mul_(0.5);
}

at::Tensor ranking(const Operands& o, const Attrs& a) {
  return at::margin_ranking_loss(o[0], o[1], o[2], a.number("margin"), kEach);
}

at::Tensor ranking_slope(const at::Tensor& dy, const Operands& o,
                         const Attrs& a, int64_t wrt) {
  at::Tensor d = o[0] - o[1];
  at::Tensor off = (-o[2] * d + a.number("margin")).lt(0);
  at::Tensor dx = wrt == 2 ? -d * dy : signed_by(-o[2] * dy, wrt);
  return dx.masked_fill_(off, 0);
}

at::Tensor hinge(const Operands& o, const Attrs& a) {
  return at::hinge_embedding_loss(o[0], o[1], a.number("margin"), kEach);
}

at::Tensor hinge_slope(const at::Tensor& dy, const Operands& o, const Attrs& a,
                       int64_t) {
  at::Tensor near = o[1].ne(-1);
  at::Tensor far = o[1].ne(1).logical_and_((a.number("margin") - o[0]).ge_(0));
  return (near.to(dy.scalar_type()) - far.to(dy.scalar_type())).mul_(dy);
}

at::Tensor cosine(const Operands& o, const Attrs& a) {
  at::Tensor none = at::zeros({}, o[0].options());
  at::Tensor far = (o[0] - a.number("margin")).clamp_min_(0);
  return at::where(o[1].eq(1), 1 - o[0], none) +
         at::where(o[1].eq(-1), far, none);
}

at::Tensor cosine_slope(const at::Tensor& dy, const Operands& o, const Attrs& a,
                        int64_t) {
  at::Tensor far = o[1].eq(-1).logical_and_((o[0] - a.number("margin")).ge_(0));
  return (far.to(dy.scalar_type()) - o[1].eq(1).to(dy.scalar_type())).mul_(dy);
}

at::Tensor triplet_gap(const Operands& o, const Attrs& a) {
  auto swapped = operand(o, 2);
  at::Tensor far = swapped ? at::minimum(o[1], *swapped) : o[1];
  return o[0] + a.number("margin") - far;
}

at::Tensor triplet(const Operands& o, const Attrs& a) {
  return triplet_gap(o, a).clamp_min_(0);
}

at::Tensor triplet_slope(const at::Tensor& dy, const Operands& o,
                         const Attrs& a, int64_t wrt) {
  at::Tensor dx = dy.masked_fill(triplet_gap(o, a).lt(0), 0);
  if (wrt == 0) return dx;
  dx.neg_();
  if (!operand(o, 2)) return dx;
  const at::Tensor &own = o[wrt == 1 ? 1 : 2], &other = o[wrt == 1 ? 2 : 1];
  at::Tensor share = own.lt(other).to(dx.scalar_type());
  return dx.mul_(share.add_(own.eq(other), 0.5));  // a tie is shared
}

struct Row {
  const char* op;
  Forward forward;
  Slope slope;
};

constexpr Row kRows[] = {
    {"l1_loss", l1, l1_slope},
    {"smooth_l1_loss", smooth_l1, smooth_l1_slope},
    {"huber_loss", huber, huber_slope},
    {"binary_cross_entropy", bce, bce_slope},
    {"binary_cross_entropy_with_logits", bce_logits, bce_logits_slope},
    {"kl_div", kl, kl_slope},
    {"soft_margin_loss", soft_margin, soft_margin_slope},
    {"poisson_nll_loss", poisson, poisson_slope},
    {"gaussian_nll_loss", gaussian, gaussian_slope},
    {"margin_ranking_loss", ranking, ranking_slope},
    {"hinge_embedding_loss", hinge, hinge_slope},
    {"cosine_margin", cosine, cosine_slope},
    {"triplet_margin", triplet, triplet_slope},
};

}  // namespace

void add_aten_pointwise_loss(KernelTable& table, at::Device device) {
  for (const Row& row : kRows) {
    table.add(row.op, aten_kernel(device, [f = row.forward](Bound& b) {
                b.out[0].copy_(f(operands_of(b, 0), b.attrs()));
              }));
    table.add(std::string(row.op) + "_backward",
              aten_kernel(device, [f = row.slope](Bound& b) {
                b.out[0].copy_(f(b.in[0], operands_of(b, 1), b.attrs(),
                                 b.attrs().integer("wrt")));
              }));
  }
}

}  // namespace braid::runtime
