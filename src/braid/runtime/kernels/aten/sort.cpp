// Values picked by their order along one dimension, and their places.
#include "braid/runtime/kernels/aten/bind.h"

namespace braid::runtime {

void add_aten_sort(KernelTable& table, at::Device device) {
  auto add = [&](const char* op, Body body) {
    table.add(op, aten_kernel(device, std::move(body)));
  };
  add("max", [](Bound& b) {
    at::max_out(b.out[0], b.out[1], b.in[0], b.attrs().integer("dim"),
                b.attrs().flag("keep_dims"));
  });
  add("min", [](Bound& b) {
    at::min_out(b.out[0], b.out[1], b.in[0], b.attrs().integer("dim"),
                b.attrs().flag("keep_dims"));
  });
  add("topk", [](Bound& b) {
    const Attrs& a = b.attrs();
    at::topk_out(b.out[0], b.out[1], b.in[0], a.integer("k"), a.integer("dim"),
                 a.flag("largest"), a.flag("sorted"));
  });
  // Always stable: one order of equals everywhere.
  add("sort", [](Bound& b) {
    at::sort_out(b.out[0], b.out[1], b.in[0], /*stable=*/true,
                 b.attrs().integer("dim"), b.attrs().flag("descending"));
  });
}

}  // namespace braid::runtime
