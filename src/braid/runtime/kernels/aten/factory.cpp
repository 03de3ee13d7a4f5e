// Values from nothing: ranges, unit matrices; and counts of values.
#include "braid/runtime/kernels/aten/bind.h"

namespace braid::runtime {
namespace {

// A number of a range in the arithmetic of its result.
at::Scalar scalar(const Bound& b, const char* name) {
  double value = b.attrs().number(name);
  if (b.out[0].is_floating_point()) return value;
  return static_cast<int64_t>(value);
}

at::Tensor numbers_to(int64_t count, const at::Tensor& like) {
  return at::arange(count, like.options().dtype(at::kLong));
}

// Whole counts are the same in any order of adding.
void count_places(at::Tensor out, const at::Tensor& places,
                  const at::Tensor& counted) {
  out.zero_().scatter_add_(-1, places, counted);
}

// The last bin holds its upper end; what lies outside is not counted.
void histc(Bound& b) {
  at::Tensor x = b.in[0];
  at::ScalarType counts = b.out[0].scalar_type();
  if (!x.is_floating_point()) x = x.to(at::kDouble);
  double low = b.attrs().number("min"), high = b.attrs().number("max");
  int64_t bins = b.attrs().integer("bins");
  at::Tensor inside = (x >= low).logical_and_(x <= high);
  at::Tensor places = ((x - low) * bins / (high - low))
                          .masked_fill_(inside.logical_not(), 0)
                          .to(at::kLong)
                          .clamp_max_(bins - 1);
  count_places(b.out[0], places, inside.to(counts));
}

}  // namespace

void add_aten_factory(KernelTable& table, at::Device device) {
  auto add = [&](const char* op, Body body) {
    table.add(op, aten_kernel(device, std::move(body)));
  };
  add("arange", [](Bound& b) {
    at::arange_out(b.out[0], scalar(b, "start"), scalar(b, "end"),
                   scalar(b, "step"));
  });
  add("linspace", [](Bound& b) {
    at::linspace_out(b.out[0], b.attrs().number("start"),
                     b.attrs().number("end"), b.attrs().integer("steps"));
  });
  add("eye", [](Bound& b) {
    at::eye_out(b.out[0], b.attrs().integer("rows"),
                b.attrs().integer("columns"));
  });
  add("one_hot", [](Bound& b) {
    at::Tensor classes = numbers_to(b.attrs().integer("classes"), b.in[0]);
    b.out[0].copy_(b.in[0].unsqueeze(-1).eq(classes));
  });
  add("bincount", [](Bound& b) {
    count_places(b.out[0], b.in[0], at::ones_like(b.in[0]));
  });
  add("histc", histc);
}

}  // namespace braid::runtime
