#include "braid/runtime/kernels/aten/numbers.h"

namespace braid::runtime {
namespace {

const char* gelu_form(const Bound& b) {
  return b.attrs().flag_or("tanh", false) ? "tanh" : "none";
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
  add("add_alpha", [](Bound& b) {
    at::add_out(b.out[0], b.in[0], b.in[1], number(b, "alpha"));
  });
  add("add_scalar",
      [](Bound& b) { at::add_out(b.out[0], b.in[0], wrapped(b, "value")); });
  add("rsub_scalar",
      [](Bound& b) { at::sub_out(b.out[0], wrapped(b, "value"), b.in[0]); });
  add_scalar_row(table, device, {"mul", at::mul_out});
  add_scalar_row(table, device, {"div", at::div_out});
  const UnaryRow rows[] = {
      {"neg", at::neg_out},   {"exp", at::exp_out},
      {"log", at::log_out},   {"sqrt", at::sqrt_out},
      {"tanh", at::tanh_out}, {"sigmoid", at::sigmoid_out},
      {"relu", at::relu_out},
  };
  for (const UnaryRow& row : rows) add_row(table, device, row);
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
