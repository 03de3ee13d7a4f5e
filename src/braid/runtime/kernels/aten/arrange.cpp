// Rearrangements that move or drop entries.
#include "braid/runtime/kernels/aten/bind.h"

namespace braid::runtime {
namespace {

void diagonal_backward(Bound& b) {
  const Ints& dims = b.attrs().ints("dims");
  b.out[0].zero_();
  b.out[0]
      .diagonal(b.attrs().integer("offset"), dims[0], dims[1])
      .copy_(b.in[0]);
}

}  // namespace

void add_aten_arrange(KernelTable& table, at::Device device) {
  auto add = [&](const char* op, Body body) {
    table.add(op, aten_kernel(device, std::move(body)));
  };
  add("flip",
      [](Bound& b) { b.out[0].copy_(b.in[0].flip(b.attrs().ints("dims"))); });
  add("roll", [](Bound& b) {
    b.out[0].copy_(
        b.in[0].roll(b.attrs().ints("shifts"), b.attrs().ints("dims")));
  });
  add("tril", [](Bound& b) {
    at::tril_out(b.out[0], b.in[0], b.attrs().integer("diagonal"));
  });
  add("triu", [](Bound& b) {
    at::triu_out(b.out[0], b.in[0], b.attrs().integer("diagonal"));
  });
  add("diagonal_backward", diagonal_backward);
}

}  // namespace braid::runtime
