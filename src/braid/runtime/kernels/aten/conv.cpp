// Convolution. Where libtorch asks for a tensor only to learn its shape, the
// output of that shape stands in.
#include <fmt/format.h>

#include "braid/runtime/kernels/aten/bind.h"

namespace braid::runtime {
namespace {

// Zeros unless the convolution is transposed.
Ints output_padding(const Attrs& a) {
  if (a.has("output_padding")) return a.ints("output_padding");
  return Ints(a.ints("stride").size(), 0);
}

void convolution(const Bound& b, bool transposed) {
  const Attrs& a = b.attrs();
  land({b.out[0]},
       {at::convolution(b.in[0], b.in[1], b.optional(2), a.ints("stride"),
                        a.ints("padding"), a.ints("dilation"), transposed,
                        output_padding(a), a.integer("groups"))});
}

void backward(const Bound& b, const at::Tensor& x, const at::Tensor& w,
              bool transposed, bool of_input) {
  const Attrs& a = b.attrs();
  auto grads = at::convolution_backward(
      b.in[0], x, w, std::nullopt, a.ints("stride"), a.ints("padding"),
      a.ints("dilation"), transposed, output_padding(a), a.integer("groups"),
      {of_input, !of_input, false});
  land({b.out[0]}, {of_input ? std::get<0>(grads) : std::get<1>(grads)});
}

}  // namespace

void add_aten_conv(KernelTable& table, at::Device device) {
  auto add = [&](const std::string& op, Body body) {
    table.add(op, landing_kernel(device, {0}, std::move(body)));
  };
  for (bool transposed : {false, true}) {
    for (int dims : {1, 2, 3}) {
      std::string op =
          fmt::format("conv{}{}d", transposed ? "_transpose" : "", dims);
      add(op, [=](Bound& b) { convolution(b, transposed); });
      add(op + "_backward_input",
          [=](Bound& b) { backward(b, b.out[0], b.in[1], transposed, true); });
      add(op + "_backward_weight",
          [=](Bound& b) { backward(b, b.in[1], b.out[0], transposed, false); });
    }
  }
}

}  // namespace braid::runtime
