// Convolution and pooling. Where libtorch asks for a tensor only to learn its
// shape, the output of that shape stands in.
#include "braid/runtime/kernels/aten/bind.h"

namespace braid::runtime {
namespace {

void conv2d(Bound& b) {
  const Attrs& a = b.attrs();
  land({b.out[0]}, {at::conv2d(b.in[0], b.in[1], b.optional(2),
                               a.ints("stride"), a.ints("padding"),
                               a.ints("dilation"), a.integer("groups"))});
}

void conv2d_backward(const Bound& b, const at::Tensor& x, const at::Tensor& w,
                     bool of_input) {
  const Attrs& a = b.attrs();
  auto grads = at::convolution_backward(
      b.in[0], x, w, std::nullopt, a.ints("stride"), a.ints("padding"),
      a.ints("dilation"), false, {0, 0}, a.integer("groups"),
      {of_input, !of_input, false});
  land({b.out[0]}, {of_input ? std::get<0>(grads) : std::get<1>(grads)});
}

constexpr at::IntArrayRef::value_type kOne[2] = {1, 1};

}  // namespace

void add_aten_conv(KernelTable& table, at::Device device) {
  auto add = [&](const char* op, Body body) {
    table.add(op, aten_kernel(device, std::move(body)));
  };
  auto add_landing = [&](const char* op, Body body) {
    table.add(op, landing_kernel(device, {0}, std::move(body)));
  };
  add_landing("conv2d", conv2d);
  add_landing("conv2d_backward_input",
              [](Bound& b) { conv2d_backward(b, b.out[0], b.in[1], true); });
  add_landing("conv2d_backward_weight",
              [](Bound& b) { conv2d_backward(b, b.in[1], b.out[0], false); });
  add("max_pool2d", [](Bound& b) {
    const Attrs& a = b.attrs();
    at::max_pool2d_with_indices_out(b.out[0], b.out[1], b.in[0],
                                    a.ints("kernel"), a.ints("stride"),
                                    a.ints("padding"), kOne, false);
  });
  add("max_pool2d_backward", [](Bound& b) {
    const Attrs& a = b.attrs();
    at::max_pool2d_with_indices_backward_out(
        b.out[0], b.in[0], b.out[0], a.ints("kernel"), a.ints("stride"),
        a.ints("padding"), kOne, false, b.in[1]);
  });
  add("avg_pool2d", [](Bound& b) {
    const Attrs& a = b.attrs();
    at::avg_pool2d_out(b.out[0], b.in[0], a.ints("kernel"), a.ints("stride"),
                       a.ints("padding"), false, true);
  });
  add("avg_pool2d_backward", [](Bound& b) {
    const Attrs& a = b.attrs();
    at::avg_pool2d_backward_out(b.out[0], b.in[0], b.out[0], a.ints("kernel"),
                                a.ints("stride"), a.ints("padding"), false,
                                true, std::nullopt);
  });
}

}  // namespace braid::runtime
