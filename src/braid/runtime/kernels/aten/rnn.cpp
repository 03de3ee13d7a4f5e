// Cells of recurrent layers; gates lie side by side in the last dimension.
#include "braid/runtime/kernels/aten/bind.h"

namespace braid::runtime {
namespace {

void lstm_cell(Bound& b) {
  at::Tensor& gates = b.out[1];
  at::add_out(gates, b.in[0], b.in[1]);
  auto parts = gates.chunk(4, -1);  // i, f, g, o
  parts[0].sigmoid_();
  parts[1].sigmoid_();
  parts[2].tanh_();
  parts[3].sigmoid_();
  auto state = b.out[0].chunk(2, -1);  // h, c
  at::mul_out(state[1], parts[1], b.in[2]).add_(parts[0] * parts[2]);
  at::mul_out(state[0], parts[3], state[1].tanh());
}

void lstm_cell_backward(Bound& b) {
  auto dy = b.in[0].chunk(2, -1), parts = b.in[1].chunk(4, -1);
  auto grads = b.out[0].chunk(4, -1);
  const at::Tensor& c = b.in[2];
  at::Tensor tanh_c = b.in[3].chunk(2, -1)[1].tanh();
  at::Tensor dc = at::tanh_backward(dy[0] * parts[3], tanh_c).add_(dy[1]);
  grads[0].copy_(at::sigmoid_backward(dc * parts[2], parts[0]));
  grads[1].copy_(at::sigmoid_backward(dc * c, parts[1]));
  grads[2].copy_(at::tanh_backward(dc * parts[0], parts[2]));
  grads[3].copy_(at::sigmoid_backward(dy[0] * tanh_c, parts[3]));
  at::mul_out(b.out[1], dc, parts[1]);
}

void gru_cell(Bound& b) {
  auto from_x = b.in[0].chunk(3, -1), from_h = b.in[1].chunk(3, -1);
  auto gates = b.out[1].chunk(3, -1);  // r, z, n
  at::add_out(gates[0], from_x[0], from_h[0]).sigmoid_();
  at::add_out(gates[1], from_x[1], from_h[1]).sigmoid_();
  at::mul_out(gates[2], gates[0], from_h[2]).add_(from_x[2]).tanh_();
  at::sub_out(b.out[0], b.in[2], gates[2]).mul_(gates[1]).add_(gates[2]);
}

void gru_cell_backward(Bound& b) {
  const at::Tensor &dh = b.in[0], &h = b.in[3];
  auto gates = b.in[1].chunk(3, -1), from_h = b.in[2].chunk(3, -1);
  auto to_x = b.out[0].chunk(3, -1), to_h = b.out[1].chunk(3, -1);
  at::Tensor dn = at::tanh_backward(dh * (1 - gates[1]), gates[2]);
  at::Tensor dr = at::sigmoid_backward(dn * from_h[2], gates[0]);
  at::Tensor dz = at::sigmoid_backward(dh * (h - gates[2]), gates[1]);
  to_x[0].copy_(dr);
  to_x[1].copy_(dz);
  to_x[2].copy_(dn);
  to_h[0].copy_(dr);
  to_h[1].copy_(dz);
  to_h[2].copy_(dn * gates[0]);
  b.out[2].copy_(dh * gates[1]);
}

}  // namespace

void add_aten_rnn(KernelTable& table, at::Device device) {
  auto add = [&](const char* op, Body body) {
    table.add(op, aten_kernel(device, std::move(body)));
  };
  add("lstm_cell", lstm_cell);
  add("lstm_cell_backward", lstm_cell_backward);
  add("gru_cell", gru_cell);
  add("gru_cell_backward", gru_cell_backward);
}

}  // namespace braid::runtime
