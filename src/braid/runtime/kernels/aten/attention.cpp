// Attention by its formula, for any device and type.
#include <cmath>

#include "braid/runtime/kernels/aten/bind.h"

namespace braid::runtime {
namespace {

// q k^T / sqrt(D), with -inf above the diagonal when causal: [N, H, T, S].
at::Tensor scores(const Bound& b, const at::Tensor& q, const at::Tensor& k) {
  double scale = 1 / std::sqrt(static_cast<double>(q.size(-1)));
  at::Tensor s = at::matmul(q, k.transpose(-2, -1)).mul_(scale);
  if (b.attrs().flag("is_causal")) {
    at::Tensor later =
        at::ones({s.size(-2), s.size(-1)}, s.options().dtype(at::kBool))
            .triu(1);
    s.masked_fill_(later, -INFINITY);
  }
  return s;
}

void attention(Bound& b) {
  at::Tensor s = scores(b, b.in[0], b.in[1]);
  at::Tensor total = at::logsumexp(s, {-1});
  at::Tensor p = s.sub_(total.unsqueeze(-1)).exp_();
  b.out[0].copy_(at::matmul(p, b.in[2]));
  b.out[1].copy_(total);
}

void attention_backward(Bound& b) {
  const at::Tensor &dy = b.in[0], &q = b.in[1], &k = b.in[2], &v = b.in[3];
  double scale = 1 / std::sqrt(static_cast<double>(q.size(-1)));
  at::Tensor p = scores(b, q, k).sub_(b.in[5].unsqueeze(-1)).exp_();
  at::Tensor dv = at::matmul(p.transpose(-2, -1), dy);
  at::Tensor inner = (dy * b.in[4]).sum({-1}, true);
  at::Tensor ds =
      at::matmul(dy, v.transpose(-2, -1)).sub_(inner).mul_(p).mul_(scale);
  b.out[0].copy_(at::matmul(ds, k));
  b.out[1].copy_(at::matmul(ds.transpose(-2, -1), q));
  b.out[2].copy_(dv);
}

}  // namespace

void add_aten_attention(KernelTable& table, at::Device device) {
  table.add("scaled_dot_product_attention", aten_kernel(device, attention));
  table.add("scaled_dot_product_attention_backward",
            aten_kernel(device, attention_backward));
}

}  // namespace braid::runtime
