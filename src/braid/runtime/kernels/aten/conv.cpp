// Convolution. Where libtorch asks for a tensor only to learn its shape, the
// output of that shape stands in. Members that are apart run one by one
// (members.h): here x is [N, C, S] and w [O, C/g, K] always.
#include <fmt/format.h>

#include "braid/runtime/kernels/aten/bind.h"
#include "braid/runtime/kernels/aten/members.h"

namespace braid::runtime {
namespace {

// Zeros unless the convolution is transposed.
Ints output_padding(const Attrs& a) {
  if (a.has("output_padding")) return a.ints("output_padding");
  return Ints(a.ints("stride").size(), 0);
}

// With the channels last in memory where the node says so.
at::Tensor arranged(const Bound& b, const at::Tensor& t) {
  if (!b.attrs().flag_or("channels_last", false)) return t;
  return t.contiguous(at::MemoryFormat::ChannelsLast);
}

void convolution(const Bound& b, bool transposed) {
  const Attrs& a = b.attrs();
  write_outputs({b.out[0]},
                {at::convolution(
                    arranged(b, b.in[0]), arranged(b, b.in[1]), b.optional(2),
                    a.ints("stride"), a.ints("padding"), a.ints("dilation"),
                    transposed, output_padding(a), a.integer("groups"))});
}

void backward(const Bound& b, const at::Tensor& x, const at::Tensor& w,
              bool transposed, bool of_input) {
  const Attrs& a = b.attrs();
  auto grads = at::convolution_backward(
      arranged(b, b.in[0]), x, w, std::nullopt, a.ints("stride"),
      a.ints("padding"), a.ints("dilation"), transposed, output_padding(a),
      a.integer("groups"), {of_input, !of_input, false});
  write_outputs({b.out[0]},
                {of_input ? std::get<0>(grads) : std::get<1>(grads)});
}

void backward_input(const Bound& b, bool transposed) {
  // Of x only the shape and the order in memory matter.
  at::Tensor x = b.out[0];
  if (b.attrs().flag_or("channels_last", false) &&
      !x.is_contiguous(at::MemoryFormat::ChannelsLast)) {
    x = at::empty_like(x, x.options(), at::MemoryFormat::ChannelsLast);
  }
  backward(b, x, arranged(b, b.in[1]), transposed, true);
}

void backward_weight(const Bound& b, bool transposed) {
  backward(b, arranged(b, b.in[1]), b.out[0], transposed, false);
}

// Kernels of one element: products of w[O, C] with x[N, C, S].
at::Tensor flat(const at::Tensor& x) { return x.flatten(2); }

at::Tensor matrix(const at::Tensor& w) {
  return w.view({w.size(0), w.size(1)});
}

at::Tensor repeated(const at::Tensor& w, int64_t batch) {
  return w.expand({batch, w.size(0), w.size(1)});
}

// [N, C, S] as [C, N * S].
at::Tensor by_channel(const at::Tensor& x) {
  return x.transpose(0, 1).reshape({x.size(1), -1});
}

// Products with images so small are slow: all of a batch become one.
bool is_small(const at::Tensor& x) {
  constexpr int64_t kSmall = 32;
  return x.is_cpu() && x.size(0) > 1 && x.size(2) < kSmall;
}

// y[N, O, S] = w[O, C] * x[N, C, S] + bias[O, 1].
void multiply(const at::Tensor& y, const at::Tensor& w, const at::Tensor& x,
              const at::Tensor& bias) {
  if (is_small(x)) {
    at::Tensor all = by_channel(x);
    all = bias.defined() ? at::addmm(bias, w, all) : at::mm(w, all);
    y.copy_(all.view({w.size(0), x.size(0), x.size(2)}).transpose(0, 1));
    return;
  }
  at::Tensor to = y, each = repeated(w, x.size(0));
  if (bias.defined()) {
    at::baddbmm_out(to, bias.unsqueeze(0), each, x);
  } else {
    at::bmm_out(to, each, x);
  }
}

void product(const Bound& b) {
  at::Tensor bias = b.has(2) ? b.in[2].view({-1, 1}) : at::Tensor();
  multiply(flat(b.out[0]), matrix(b.in[1]), flat(b.in[0]), bias);
}

void product_input(const Bound& b) {
  multiply(flat(b.out[0]), matrix(b.in[1]).t(), flat(b.in[0]), {});
}

// Image by image into one sum; one product where that would round too often
// or mean too many calls.
void product_weight(const Bound& b) {
  at::Tensor dw = matrix(b.out[0]), dy = flat(b.in[0]), x = flat(b.in[1]);
  bool one_by_one = dw.is_cpu() && dw.element_size() >= 4 && dy.size(0) > 0;
  if (!one_by_one || is_small(x)) {
    at::mm_out(dw, by_channel(dy), by_channel(x).t());
    return;
  }
  for (int64_t n = 0; n < dy.size(0); ++n) {
    at::addmm_out(dw, dw, dy[n], x[n].t(), n > 0 ? 1 : 0);
  }
}

// `product` where the node says so, else `general`. What products make on the
// way may be as large as the result and must not be made there.
Kernel either(at::Device device, const Body& general, const Body& product) {
  return [general = donating_kernel(device, {0}, general),
          product = aten_kernel(device, product)](const Call& c) {
    return c.attrs().flag_or("gemm", false) ? product(c) : general(c);
  };
}

}  // namespace

void add_aten_conv(KernelTable& table, at::Device device) {
  auto add = [&](const std::string& op, const Body& body,
                 void (*product)(const Bound&)) {
    Kernel one = either(device, body, product);
    // Other devices run members side by side in a way of their own.
    table.add(op, device.is_cpu() ? each_member(device, one) : one);
  };
  for (bool transposed : {false, true}) {
    for (int dims : {1, 2, 3}) {
      std::string op =
          fmt::format("conv{}{}d", transposed ? "_transpose" : "", dims);
      add(
          op, [=](Bound& b) { convolution(b, transposed); }, product);
      add(
          op + "_backward_input",
          [=](Bound& b) { backward_input(b, transposed); }, product_input);
      add(
          op + "_backward_weight",
          [=](Bound& b) { backward_weight(b, transposed); }, product_weight);
    }
  }
}

}  // namespace braid::runtime
