// Softmax and its logarithm along one dimension.
#include "braid/runtime/kernels/aten/bind.h"

namespace braid::runtime {

void add_aten_softmax(KernelTable& table, at::Device device) {
  auto add = [&](const char* op, Body body) {
    table.add(op, aten_kernel(device, std::move(body)));
  };
  add("softmax", [](Bound& b) {
    at::_softmax_out(b.out[0], b.in[0], b.attrs().integer("dim"), false);
  });
  add("log_softmax", [](Bound& b) {
    at::_log_softmax_out(b.out[0], b.in[0], b.attrs().integer("dim"), false);
  });
  add("softmax_backward", [](Bound& b) {
    at::_softmax_backward_data_out(b.out[0], b.in[0], b.in[1],
                                   b.attrs().integer("dim"),
                                   b.in[1].scalar_type());
  });
  add("log_softmax_backward", [](Bound& b) {
    at::_log_softmax_backward_data_out(b.out[0], b.in[0], b.in[1],
                                       b.attrs().integer("dim"),
                                       b.in[1].scalar_type());
  });
}

}  // namespace braid::runtime
