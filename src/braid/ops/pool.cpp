// 2-d pooling over [N, C, H, W]; each channel is treated apart, so members
// may lie in the batch or in the channels.
#include "braid/ops/families.h"
#include "braid/ops/functions.h"
#include "braid/ops/traits.h"

namespace braid {
namespace {

int64_t pooled_size(const NodeView& v, int64_t input, size_t d) {
  int64_t kernel = v.attrs().ints("kernel").at(d);
  int64_t stride = v.attrs().ints("stride").at(d);
  int64_t padding = v.attrs().ints("padding").at(d);
  if (kernel < 1 || stride < 1 || padding < 0 || padding > kernel / 2) {
    v.fail("kernel {}, stride {}, padding {} do not fit", kernel, stride,
           padding);
  }
  int64_t room = input - (kernel - 2 * padding);
  if (room < 0) v.fail("the window is larger than the input");
  return room / stride + 1;
}

ValueType pooled(const NodeView& v) {
  if (v.rank(0) != 4) v.fail("the input needs rank 4");
  return {v.dtype(0),
          {v.dim(0, 0), v.dim(0, 1), pooled_size(v, v.dim(0, 2), 0),
           pooled_size(v, v.dim(0, 3), 1)}};
}

Attrs with_input_shape(VjpContext& c) {
  Attrs attrs = c.attrs();
  return attrs.set("shape", c.in(0).shape());
}

std::vector<ValueType> given_shape(const NodeView& v) {
  return {{v.dtype(0), v.attrs().ints("shape")}};
}

}  // namespace

void add_pool_ops(OpTable& table) {
  table.add({.name = "max_pool2d",
             .summary = "largest of each window; also its place",
             .shape = [](const NodeView& v) -> std::vector<ValueType> {
               return {pooled(v), {DType::kInt64, pooled(v).shape}};
             },
             .vjp =
                 [](VjpContext& c) {
                   c.give(0, apply("max_pool2d_backward", {c.grad(0), c.out(1)},
                                   with_input_shape(c)));
                 },
             .array = array_channels,
             .trait = "channels"});
  table.add({.name = "max_pool2d_backward",
             .summary = "dx from (dy, places)",
             .min_inputs = 2,
             .max_inputs = 2,
             .shape = given_shape});
  table.add({.name = "avg_pool2d",
             .summary = "mean of each window, padding counted",
             .shape = [](const NodeView& v) -> std::vector<ValueType> {
               return {pooled(v)};
             },
             .vjp =
                 [](VjpContext& c) {
                   c.give(0, apply("avg_pool2d_backward", {c.grad(0)},
                                   with_input_shape(c)));
                 },
             .array = array_channels,
             .trait = "channels"});
  table.add({.name = "avg_pool2d_backward",
             .summary = "dx from dy",
             .shape = given_shape});
}

}  // namespace braid
