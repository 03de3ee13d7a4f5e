// Copies and slot writes.
#include "braid/runtime/kernels/aten/bind.h"

namespace braid::runtime {
namespace {

void slice_backward(Bound& b) {
  const Attrs& a = b.attrs();
  b.out[0].zero_();
  b.out[0]
      .slice(a.integer("dim"), a.integer("start"), a.integer("end"),
             a.integer("step"))
      .copy_(b.in[0]);
}

// The micro index may lie on a device, so it is not looked at here.
void accumulate(Bound& b) {
  at::Tensor& slot = b.out[0];
  at::Tensor before =
      at::where(b.in[1].eq(0), at::zeros({}, slot.options()), slot);
  slot.copy_(before.add_(b.in[0], b.attrs().number("scale")));
}

// The bits of `accumulate`, whose slot is the sum.
void add_scaled(Bound& b) {
  double scale = b.attrs().number("scale");
  at::Tensor sum = b.has(1) ? b.in[1] : at::zeros({}, b.out[0].options());
  at::add_out(b.out[0], sum, b.in[0], scale);
}

}  // namespace

void add_aten_shape(KernelTable& table, at::Device device) {
  auto add = [&](const char* op, Body body) {
    table.add(op, aten_kernel(device, std::move(body)));
  };
  add("copy", [](Bound& b) { b.out[0].copy_(b.in[0]); });
  add("to", [](Bound& b) { b.out[0].copy_(b.in[0]); });
  add("assign", [](Bound& b) { b.out[0].copy_(b.in[0]); });
  add("accumulate", accumulate);
  add("add_scaled", add_scaled);
  add("full", [](Bound& b) { b.out[0].fill_(b.attrs().number("value")); });
  add("slice_backward", slice_backward);
  add("cat",
      [](Bound& b) { at::cat_out(b.out[0], b.in, b.attrs().integer("dim")); });
}

}  // namespace braid::runtime
