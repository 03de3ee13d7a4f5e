#include "braid/runtime/kernels/aten/bind.h"

namespace braid::runtime {
namespace {

const char* gelu_form(const Bound& b) {
  return b.attrs().flag_or("tanh", false) ? "tanh" : "none";
}

// The attribute `value` in the type of the input.
at::Tensor value_tensor(const Bound& b) {
  return at::scalar_tensor(b.attrs().number("value"), b.in[0].options());
}

}  // namespace

void add_aten_pointwise(KernelTable& table, at::Device device) {
  auto add = [&](const char* op, Body body) {
    table.add(op, aten_kernel(device, std::move(body)));
  };
  add("add", [](Bound& b) { at::add_out(b.out[0], b.in[0], b.in[1]); });
  add("sub", [](Bound& b) { at::sub_out(b.out[0], b.in[0], b.in[1]); });
  add("mul", [](Bound& b) { at::mul_out(b.out[0], b.in[0], b.in[1]); });
  add("div", [](Bound& b) { at::div_out(b.out[0], b.in[0], b.in[1]); });
  add("add_scalar",
      [](Bound& b) { at::add_out(b.out[0], b.in[0], value_tensor(b)); });
  add("mul_scalar",
      [](Bound& b) { at::mul_out(b.out[0], b.in[0], value_tensor(b)); });
  add("neg", [](Bound& b) { at::neg_out(b.out[0], b.in[0]); });
  add("exp", [](Bound& b) { at::exp_out(b.out[0], b.in[0]); });
  add("log", [](Bound& b) { at::log_out(b.out[0], b.in[0]); });
  add("sqrt", [](Bound& b) { at::sqrt_out(b.out[0], b.in[0]); });
  add("tanh", [](Bound& b) { at::tanh_out(b.out[0], b.in[0]); });
  add("sigmoid", [](Bound& b) { at::sigmoid_out(b.out[0], b.in[0]); });
  add("relu", [](Bound& b) { at::relu_out(b.out[0], b.in[0]); });
  add("gelu", [](Bound& b) { at::gelu_out(b.out[0], b.in[0], gelu_form(b)); });
  add("tanh_backward",
      [](Bound& b) { at::tanh_backward_out(b.out[0], b.in[0], b.in[1]); });
  add("sigmoid_backward",
      [](Bound& b) { at::sigmoid_backward_out(b.out[0], b.in[0], b.in[1]); });
  add("relu_backward", [](Bound& b) {
    at::threshold_backward_out(b.out[0], b.in[0], b.in[1], 0);
  });
  add("gelu_backward", [](Bound& b) {
    at::gelu_backward_out(b.out[0], b.in[0], b.in[1], gelu_form(b));
  });
}

}  // namespace braid::runtime
