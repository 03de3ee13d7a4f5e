// Values put to places given by an index along one dimension.
#include "braid/runtime/kernels/aten/bind.h"
#include "braid/runtime/kernels/aten/places.h"

namespace braid::runtime {
namespace {

int64_t dim_of(const Bound& b) { return b.attrs().integer("dim"); }

// How many entries meet at each place, at least 1.
at::Tensor counts(const Bound& b, const at::Tensor& x, const at::Tensor& index,
                  const at::Tensor& src) {
  double self = b.attrs().flag("include_self") ? 1 : 0;
  return at::full(x.sizes(), self, x.options())
      .scatter_add_(dim_of(b), index, at::ones(src.sizes(), src.options()))
      .clamp_min_(1);
}

void scatter_reduce(Bound& b) {
  const std::string& reduce = b.attrs().text("reduce");
  bool include_self = b.attrs().flag("include_self");
  if (reduce == "amax" || reduce == "amin") {
    at::scatter_reduce_out(b.out[0], b.in[0], dim_of(b), b.in[1], b.in[2],
                           reduce, include_self);
    return;
  }
  b.out[0].copy_(b.in[0]);
  if (!include_self) b.out[0].scatter_(dim_of(b), b.in[1], 0);
  add_along(b.out[0], dim_of(b), b.in[1], b.in[2]);
  if (reduce == "mean") b.out[0].div_(counts(b, b.in[0], b.in[1], b.in[2]));
}

// Inputs dy, x, index, src, y. Entries that tie for the extreme share dy.
void scatter_reduce_backward(Bound& b) {
  const at::Tensor &x = b.in[1], &index = b.in[2], &src = b.in[3], &y = b.in[4];
  const std::string& reduce = b.attrs().text("reduce");
  int64_t dim = dim_of(b);
  at::Tensor dx = b.in[0], dsrc;
  if (reduce == "mean") dx = dx / counts(b, x, index, src);
  if (reduce == "sum" || reduce == "mean") {
    dsrc = dx.gather(dim, index);
  } else {
    at::Tensor from_x = (x == y).to(x.scalar_type());
    at::Tensor from_src = (src == y.gather(dim, index)).to(x.scalar_type());
    dx = dx / from_x.scatter_add(dim, index, from_src);
    dsrc = from_src * dx.gather(dim, index);
    dx = from_x * dx;
  }
  b.out[0].copy_(dx);
  b.out[1].copy_(dsrc);
  if (!b.attrs().flag("include_self")) b.out[0].scatter_(dim, index, 0);
}

void slice_scatter(Bound& b) {
  const Attrs& a = b.attrs();
  start_from(b.out[0], b.in[0]);
  b.out[0]
      .slice(a.integer("dim"), a.integer("start"), a.integer("end"),
             a.integer("step"))
      .copy_(b.in[1]);
}

}  // namespace

void add_aten_scatter(KernelTable& table, at::Device device) {
  auto add = [&](const char* op, Body body) {
    table.add(op, aten_kernel(device, std::move(body)));
  };
  add("scatter", [](Bound& b) {
    start_from(b.out[0], b.in[0]);
    put_along(b.out[0], dim_of(b), b.in[1], b.in[2]);
  });
  add("scatter_value", [](Bound& b) {
    start_from(b.out[0], b.in[0]);
    b.out[0].scatter_(dim_of(b), b.in[1], b.attrs().number("value"));
  });
  add("scatter_add", [](Bound& b) {
    start_from(b.out[0], b.in[0]);
    add_along(b.out[0], dim_of(b), b.in[1], b.in[2]);
  });
  add("scatter_reduce", scatter_reduce);
  add("scatter_reduce_backward", scatter_reduce_backward);
  add("slice_scatter", slice_scatter);
}

}  // namespace braid::runtime
