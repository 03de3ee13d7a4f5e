// Attention by its formula, for any device and type.
#include <cmath>

#include "braid/runtime/kernels/aten/bind.h"

namespace braid::runtime {
namespace {

double scale_of(const Bound& b, const at::Tensor& q) {
  double usual = 1 / std::sqrt(static_cast<double>(q.size(-1)));
  return b.attrs().number_or("scale", usual);
}

// Narrow operands are multiplied in f32: scores rounded to bf16 would move the
// weights by several percent.
at::Tensor wide(const at::Tensor& x) {
  return x.scalar_type() == at::kBFloat16 ? x.to(at::kFloat) : x;
}

// Scores[N, H, T, S] get -inf where a query may not look.
void apply_mask(at::Tensor& s, const at::Tensor& mask, bool causal) {
  if (mask.defined() && mask.scalar_type() == at::kBool) {
    s.masked_fill_(mask.logical_not(), -INFINITY);
  } else if (mask.defined()) {
    s.add_(mask);
  }
  if (causal) {
    at::Tensor later =
        at::ones({s.size(-2), s.size(-1)}, s.options().dtype(at::kBool))
            .triu(1);
    s.masked_fill_(later, -INFINITY);
  }
}

// q k^T * scale with the mask, which is input `mask` where there is one.
at::Tensor scores(const Bound& b, const at::Tensor& q, const at::Tensor& k,
                  size_t mask) {
  at::Tensor s =
      at::matmul(wide(q), wide(k).transpose(-2, -1)).mul_(scale_of(b, q));
  apply_mask(s, b.has(mask) ? b.in[mask] : at::Tensor(),
             b.attrs().flag_or("is_causal", false));
  return s;
}

// logsumexp of rows; 0 for a row that sees nothing, as the blocked kernel.
at::Tensor row_totals(const at::Tensor& s) {
  at::Tensor total = at::logsumexp(s, {-1});
  return total.masked_fill_(total.eq(-INFINITY), 0);
}

void attention(Bound& b) {
  at::Tensor s = scores(b, b.in[0], b.in[1], 3);
  b.out[1].copy_(row_totals(s));
  b.out[0].copy_(at::matmul(at::_safe_softmax(s, -1), wide(b.in[2])));
}

void attention_backward(Bound& b) {
  at::Tensor dy = wide(b.in[0]), q = wide(b.in[1]), k = wide(b.in[2]);
  at::Tensor v = wide(b.in[3]);
  // Not exp(s - logsumexp): that loses digits where scores are large.
  at::Tensor p = at::_safe_softmax(scores(b, q, k, 6), -1);
  at::Tensor dv = at::matmul(p.transpose(-2, -1), dy);
  at::Tensor ds = at::matmul(dy, v.transpose(-2, -1));
  at::Tensor inner = (ds * p).sum({-1}, true);
  ds.sub_(inner).mul_(p);
  if (b.out.size() == 4) b.out[3].copy_(ds.sum_to_size(b.out[3].sizes()));
  ds.mul_(scale_of(b, q));
  b.out[0].copy_(at::matmul(ds, k));
  b.out[1].copy_(at::matmul(ds.transpose(-2, -1), q));
  b.out[2].copy_(dv);
}

void weights(Bound& b) {
  at::Tensor s = wide(b.in[0]) * b.attrs().number("scale");
  apply_mask(s, b.has(1) ? b.in[1] : at::Tensor(),
             b.attrs().flag_or("is_causal", false));
  b.out[0].copy_(at::_safe_softmax(s, -1));
}

void weights_backward(Bound& b) {
  at::Tensor dp = wide(b.in[0]), p = wide(b.in[1]);
  at::Tensor inner = (dp * p).sum({-1}, true);
  b.out[0].copy_((dp - inner).mul_(p));
}

}  // namespace

void add_aten_attention(KernelTable& table, at::Device device) {
  auto add = [&](const char* op, Body body) {
    table.add(op, aten_kernel(device, std::move(body)));
  };
  add("scaled_dot_product_attention", attention);
  add("scaled_dot_product_attention_backward", attention_backward);
  add("attention_softmax", weights);
  add("attention_softmax_backward", weights_backward);
}

}  // namespace braid::runtime
