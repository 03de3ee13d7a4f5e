#include <cmath>

#include "braid/runtime/kernels/aten/bind.h"

namespace braid::runtime {
namespace {

// [..., C] as [rows, C], or [B, rows, C] in an array; any size may be 0.
at::Tensor matrix_of(const at::Tensor& x, int64_t members) {
  int64_t rows = 1;
  for (int64_t d = members > 0 ? 1 : 0; d + 1 < x.dim(); ++d) {
    rows *= x.size(d);
  }
  if (members == 0) return x.reshape({rows, x.size(-1)});
  return x.reshape({members, rows, x.size(-1)});
}

void linear(Bound& b) {
  at::Tensor x = matrix_of(b.in[0], b.members());
  at::Tensor y = matrix_of(b.out[0], b.members());
  at::Tensor w = b.in[1].transpose(-1, -2);
  if (b.members() == 0) {
    if (b.has(2)) {
      at::addmm_out(y, b.in[2], x, w);
    } else {
      at::mm_out(y, x, w);
    }
  } else if (b.has(2)) {
    at::baddbmm_out(y, b.in[2].reshape({b.members(), 1, y.size(-1)}), x, w);
  } else {
    at::bmm_out(y, x, w);
  }
  if (b.attrs().has("activation")) y.relu_();
}

void matmul(Bound& b) {
  if (b.in[0].dim() == 2 && b.in[1].dim() == 2) {
    at::mm_out(b.out[0], b.in[0], b.in[1]);
  } else if (b.in[0].dim() == 3 && b.in[1].dim() == 3 &&
             b.in[0].size(0) == b.in[1].size(0)) {
    at::bmm_out(b.out[0], b.in[0], b.in[1]);
  } else {
    b.out[0].copy_(at::matmul(b.in[0], b.in[1]));
  }
}

void embedding(Bound& b) {
  at::Tensor table = b.in[0], indices = b.in[1];
  if (b.members() > 0) {
    int64_t entries = table.size(1);
    at::Tensor first =
        at::arange(0, b.members() * entries, entries, indices.options());
    std::vector<int64_t> shape(static_cast<size_t>(indices.dim()), 1);
    shape[0] = b.members();
    indices = indices + first.view(shape);
    table = table.reshape({b.members() * entries, table.size(-1)});
  }
  at::Tensor y = matrix_of(b.out[0], 0);
  at::index_select_out(y, table, 0, indices.reshape({indices.numel()}));
}

void embedding_backward(Bound& b) {
  at::Tensor dy = b.in[0], indices = b.in[1];
  at::Tensor dw = matrix_of(b.out[0], 0);
  int64_t padding = b.attrs().integer("padding_idx");
  if (b.members() > 0) {
    int64_t entries = b.out[0].size(1);
    at::Tensor first =
        at::arange(0, b.members() * entries, entries, indices.options());
    std::vector<int64_t> shape(static_cast<size_t>(indices.dim()), 1);
    shape[0] = b.members();
    indices = indices + first.view(shape);
  }
  dw.copy_(at::embedding_dense_backward(dy.contiguous(), indices, dw.size(0),
                                        -1, false));
  if (padding >= 0) b.out[0].select(-2, padding).zero_();
}

at::Tensor norm_of(const Bound& b, const at::Tensor& x) {
  return at::linalg_vector_norm(x, b.attrs().number("p"),
                                b.attrs().integer("dim"), true);
}

void bounded_norm(Bound& b) {
  at::Tensor norm = norm_of(b, b.in[0]);
  b.out[0].copy_(norm.clamp_min_(b.attrs().number("eps")));
}

// As PyTorch's norm backward: sign(x) for p = 1, x / norm for p = 2, the
// largest elements share for p = inf.
void bounded_norm_backward(Bound& b) {
  const at::Tensor &dy = b.in[0], &x = b.in[1];
  double p = b.attrs().number("p");
  at::Tensor norm = norm_of(b, x), dx;
  if (p == 1) {
    dx = x.sgn() * dy;
  } else if (std::isinf(p)) {
    at::Tensor largest = x.abs().eq(norm);
    at::Tensor share = dy / largest.sum({b.attrs().integer("dim")}, true);
    dx = x.sgn() * share * largest;
  } else if (p == 2) {
    dx = x * (dy / norm).masked_fill_(norm.eq(0), 0);
  } else {
    at::Tensor slope = x.sgn() * x.abs().pow(p - 1);
    if (p < 1) slope.masked_fill_(x.eq(0), 0);
    dx = slope * (dy / norm.pow(p - 1)).masked_fill_(norm.eq(0), 0);
  }
  b.out[0].copy_(dx);
}

}  // namespace

void add_aten_matmul(KernelTable& table, at::Device device) {
  auto add = [&](const char* op, Body body) {
    table.add(op, aten_kernel(device, std::move(body)));
  };
  add("linear", linear);
  add("matmul", matmul);
  add("bounded_norm", bounded_norm);
  add("bounded_norm_backward", bounded_norm_backward);
  add("embedding", embedding);
  add("embedding_backward", embedding_backward);
}

}  // namespace braid::runtime
