// Activations of torch.nn beyond relu and gelu.
#include "braid/runtime/kernels/aten/numbers.h"

namespace braid::runtime {
namespace {

using Add = std::function<void(const char*, Body)>;

// libtorch's CPU code wants what its forward has saved: e^-|x|.
void log_sigmoid_backward(Bound& b) {
  at::Tensor saved = b.in[1].abs().neg_().exp_();
  at::log_sigmoid_backward_out(b.out[0], b.in[0], b.in[1], saved);
}

void add_forward(const Add& add) {
  add("leaky_relu", [](Bound& b) {
    at::leaky_relu_out(b.out[0], b.in[0], number(b, "negative_slope"));
  });
  add("elu", [](Bound& b) {
    at::elu_out(b.out[0], b.in[0], number(b, "alpha"), number(b, "scale"),
                number(b, "input_scale"));
  });
  add("hardtanh", [](Bound& b) {
    at::hardtanh_out(b.out[0], b.in[0], number(b, "min"), number(b, "max"));
  });
  add("threshold", [](Bound& b) {
    at::threshold_out(b.out[0], b.in[0], number(b, "threshold"),
                      number(b, "value"));
  });
  add("softplus", [](Bound& b) {
    at::softplus_out(b.out[0], b.in[0], number(b, "beta"),
                     number(b, "threshold"));
  });
  add("hardshrink", [](Bound& b) {
    at::hardshrink_out(b.out[0], b.in[0], number(b, "lambd"));
  });
  add("softshrink", [](Bound& b) {
    at::softshrink_out(b.out[0], b.in[0], number(b, "lambd"));
  });
  add("glu", [](Bound& b) {
    at::glu_out(b.out[0], b.in[0], b.attrs().integer("dim"));
  });
}

void add_backward(const Add& add) {
  add("leaky_relu_backward", [](Bound& b) {
    at::leaky_relu_backward_out(b.out[0], b.in[0], b.in[1],
                                number(b, "negative_slope"), false);
  });
  add("elu_backward", [](Bound& b) {
    at::elu_backward_out(b.out[0], b.in[0], number(b, "alpha"),
                         number(b, "scale"), number(b, "input_scale"), false,
                         b.in[1]);
  });
  add("hardtanh_backward", [](Bound& b) {
    at::hardtanh_backward_out(b.out[0], b.in[0], b.in[1], number(b, "min"),
                              number(b, "max"));
  });
  add("threshold_backward", [](Bound& b) {
    at::threshold_backward_out(b.out[0], b.in[0], b.in[1],
                               number(b, "threshold"));
  });
  add("softplus_backward", [](Bound& b) {
    at::softplus_backward_out(b.out[0], b.in[0], b.in[1], number(b, "beta"),
                              number(b, "threshold"));
  });
  add("hardshrink_backward", [](Bound& b) {
    at::hardshrink_backward_out(b.out[0], b.in[0], b.in[1], number(b, "lambd"));
  });
  add("softshrink_backward", [](Bound& b) {
    at::softshrink_backward_out(b.out[0], b.in[0], b.in[1], number(b, "lambd"));
  });
  add("glu_backward", [](Bound& b) {
    at::glu_backward_out(b.out[0], b.in[0], b.in[1], b.attrs().integer("dim"));
  });
  add("log_sigmoid_backward", log_sigmoid_backward);
}

// libtorch's CUDA kernels take 1/6 in f32, also for f64.
bool needs_own_sixth(const at::Tensor& x) {
  return x.is_cuda() && x.scalar_type() == at::kDouble;
}

// Functions without a form that writes into a given tensor.
void add_donating(const Add& add) {
  add("log_sigmoid", [](Bound& b) {
    write_outputs({b.out[0]}, {std::get<0>(at::log_sigmoid_forward(b.in[0]))});
  });
  add("prelu", [](Bound& b) {
    write_outputs({b.out[0]}, {at::_prelu_kernel(b.in[0], b.in[1])});
  });
  add("hardswish_backward", [](Bound& b) {
    write_outputs({b.out[0]}, {at::hardswish_backward(b.in[0], b.in[1])});
  });
  add("mish_backward", [](Bound& b) {
    write_outputs({b.out[0]}, {at::mish_backward(b.in[0], b.in[1])});
  });
}

}  // namespace

void add_aten_activation(KernelTable& table, at::Device device) {
  Add add = [&](const char* op, Body body) {
    table.add(op, aten_kernel(device, std::move(body)));
  };
  add_forward(add);
  add_backward(add);
  add_donating([&](const char* op, Body body) {
    table.add(op, donating_kernel(device, {0}, std::move(body)));
  });
  add("hardswish", [](Bound& b) {
    if (!needs_own_sixth(b.in[0]))
      return void(at::hardswish_out(b.out[0], b.in[0]));
    b.out[0].copy_(b.in[0] * (b.in[0] + 3).clamp_(0, 6).div_(6));
  });
  add("hardsigmoid", [](Bound& b) {
    if (!needs_own_sixth(b.in[0]))
      return void(at::hardsigmoid_out(b.out[0], b.in[0]));
    b.out[0].copy_((b.in[0] + 3).clamp_(0, 6).div_(6));
  });
  const UnaryRow rows[] = {{"silu", at::silu_out}, {"mish", at::mish_out}};
  for (const UnaryRow& row : rows) add_row(table, device, row);
  add_row(table, device, BinaryRow{"silu_backward", at::silu_backward_out});
  add_row(table, device,
          BinaryRow{"hardsigmoid_backward", at::hardsigmoid_backward_out});
}

}  // namespace braid::runtime
