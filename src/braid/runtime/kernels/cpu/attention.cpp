// Attention by libtorch's blocked CPU kernel, which never holds all scores.
#include "braid/runtime/kernels/aten/bind.h"
#include "braid/runtime/kernels/cpu/cpu_kernels.h"

namespace braid::runtime {
namespace {

void forward(Bound& b) {
  auto [y, total] = at::_scaled_dot_product_flash_attention_for_cpu(
      b.in[0], b.in[1], b.in[2], 0.0, b.attrs().flag("is_causal"));
  land({b.out[0], b.out[1]}, {y, total});
}

void backward(Bound& b) {
  auto [dq, dk, dv] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
      b.in[0], b.in[1], b.in[2], b.in[3], b.in[4], b.in[5], 0.0,
      b.attrs().flag("is_causal"));
  land({b.out[0], b.out[1], b.out[2]}, {dq, dk, dv});
}

// The blocked kernel wants all head sizes equal and some work to do.
bool fits(const Tensor& q, const Tensor& v) {
  return q.numel() > 0 && v.numel() > 0 && q.shape.back() == v.shape.back();
}

}  // namespace

void add_cpu_attention(KernelTable& table) {
  const char* op = "scaled_dot_product_attention";
  table.add(op, [general = table.at(op),
                 own = landing_kernel(at::kCPU, {0}, forward)](const Call& c) {
    return fits(c.in(0), c.in(2)) ? own(c) : general(c);
  });
  const char* back = "scaled_dot_product_attention_backward";
  table.add(back, [general = table.at(back),
                   own = landing_kernel(at::kCPU, {0, 1, 2}, backward)](
                      const Call& c) {
    return fits(c.in(1), c.in(3)) ? own(c) : general(c);
  });
}

}  // namespace braid::runtime
