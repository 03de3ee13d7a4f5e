#include "braid/runtime/kernels/aten/bind.h"

namespace braid::runtime {
namespace {

void linear(Bound& b) {
  at::Tensor x = rows_of(b.in[0], b.members());
  at::Tensor y =
      b.out[0].view(b.members() == 0 ? at::IntArrayRef{-1, b.out[0].size(-1)}
                                     : at::IntArrayRef{b.members(), x.size(1),
                                                       b.out[0].size(-1)});
  at::Tensor w = b.in[1].transpose(-1, -2);
  if (b.members() == 0) {
    if (b.has(2)) {
      at::addmm_out(y, b.in[2], x, w);
    } else {
      at::mm_out(y, x, w);
    }
  } else if (b.has(2)) {
    at::baddbmm_out(y, b.in[2].view({b.members(), 1, -1}), x, w);
  } else {
    at::bmm_out(y, x, w);
  }
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
    table = table.view({-1, table.size(-1)});
  }
  at::Tensor y = b.out[0].view({-1, b.out[0].size(-1)});
  at::index_select_out(y, table, 0, indices.reshape({-1}));
}

void embedding_backward(Bound& b) {
  at::Tensor dy = b.in[0], indices = b.in[1];
  at::Tensor dw = b.out[0].view({-1, b.out[0].size(-1)});
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

}  // namespace

void add_aten_matmul(KernelTable& table, at::Device device) {
  auto add = [&](const char* op, Body body) {
    table.add(op, aten_kernel(device, std::move(body)));
  };
  add("linear", linear);
  add("matmul", matmul);
  add("embedding", embedding);
  add("embedding_backward", embedding_backward);
}

}  // namespace braid::runtime
