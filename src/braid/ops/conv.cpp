// 2-d convolution. N batch, C input channels, O output channels, g groups.
// In an array the members' channels are merged and become groups; a shared
// input makes one dense convolution with B * O outputs.
#include "braid/ops/families.h"
#include "braid/ops/functions.h"
#include "braid/ops/traits.h"

namespace braid {
namespace {

int64_t conv_size(const NodeView& v, int64_t input, int64_t kernel, size_t d) {
  const Attrs& a = v.attrs();
  int64_t reach = num_elements({a.ints("dilation").at(d), kernel - 1});
  int64_t room = input + 2 * a.ints("padding").at(d) - 1 - reach;
  if (room < 0) v.fail("the kernel is larger than the padded input");
  return room / a.ints("stride").at(d) + 1;
}

void check_pairs(const NodeView& v) {
  for (const char* name : {"stride", "padding", "dilation"}) {
    const Ints& pair = v.attrs().ints(name);
    int64_t least = name == std::string_view("padding") ? 0 : 1;
    constexpr int64_t kMost = int64_t{1} << 31;  // larger ones overflow
    if (pair.size() != 2 || pair[0] < least || pair[1] < least ||
        pair[0] > kMost || pair[1] > kMost) {
      v.fail("{} = {} is no pair of sizes", name, shape_text(pair));
    }
  }
}

std::vector<ValueType> conv_shape(const NodeView& v) {
  check_pairs(v);
  int64_t groups = v.attrs().integer("groups");
  if (v.rank(0) != 4 || v.rank(1) != 4) v.fail("input and weight need rank 4");
  if (groups < 1 || v.dim(0, 1) != v.dim(1, 1) * groups ||
      v.dim(1, 0) % groups != 0 || v.dtype(0) != v.dtype(1)) {
    v.fail("input {} does not fit weight {} in {} groups",
           shape_text(v.shape(0)), shape_text(v.shape(1)), groups);
  }
  if (v.has(2) && v.type(2) != ValueType{v.dtype(0), {v.dim(1, 0)}}) {
    v.fail("bias {} does not fit", shape_text(v.shape(2)));
  }
  return {{v.dtype(0),
           {v.dim(0, 0), v.dim(1, 0), conv_size(v, v.dim(0, 2), v.dim(1, 2), 0),
            conv_size(v, v.dim(0, 3), v.dim(1, 3), 1)}}};
}

void conv_vjp(VjpContext& c) {
  Var dy = c.grad(0);
  auto with_shape = [&](Var like) {
    Attrs attrs = c.attrs();
    return attrs.set("shape", like.shape());
  };
  if (c.needs(0)) {
    c.give(0,
           apply("conv2d_backward_input", {dy, c.in(1)}, with_shape(c.in(0))));
  }
  if (c.needs(1)) {
    c.give(1,
           apply("conv2d_backward_weight", {dy, c.in(0)}, with_shape(c.in(1))));
  }
  if (c.needs(2)) c.give(2, sum(dy, {0, 2, 3}));
}

void conv_array(ArrayContext& c) {
  Attrs attrs = c.attrs();
  bool dense = c.shared(0) && attrs.integer("groups") == 1;
  if (!dense) attrs.set("groups", attrs.integer("groups") * c.members());
  Var x = dense ? c.in(0) : c.merged(0);
  c.emit(0, apply("conv2d", {x, c.rows(1), c.rows(2)}, attrs), Layout::kMerged);
}

// 2 * outputs * (C / g) * kh * kw; `y` and `w` are inputs or outputs.
Cost conv_cost(const Shape& y, const Shape& w) {
  return {2.0 * static_cast<double>(num_elements(y)) *
              static_cast<double>(w[1] * w[2] * w[3]),
          0};
}

std::vector<ValueType> given_shape(const NodeView& v) {
  if (v.rank(0) != 4 || v.rank(1) != 4 || v.attrs().ints("shape").size() != 4) {
    v.fail("operands and result need rank 4");
  }
  return {{v.dtype(0), v.attrs().ints("shape")}};
}

}  // namespace

void add_conv_ops(OpTable& table) {
  table.add({.name = "conv2d",
             .summary = "y[N, O, H', W'] = x[N, C, H, W] conv w[O, C/g, kh, kw]"
                        " + b[O]",
             .min_inputs = 2,
             .max_inputs = 3,
             .shape = conv_shape,
             .vjp = conv_vjp,
             .array = conv_array,
             .trait = "merge_channels",
             .cost = [](const NodeView& v) {
               return conv_cost(v.output(0).type.shape, v.shape(1));
             }});
  table.add({.name = "conv2d_backward_input",
             .summary = "dx from (dy, w)",
             .min_inputs = 2,
             .max_inputs = 2,
             .shape = given_shape,
             .cost = [](const NodeView& v) {
               return conv_cost(v.shape(0), v.shape(1));
             }});
  table.add({.name = "conv2d_backward_weight",
             .summary = "dw from (dy, x)",
             .min_inputs = 2,
             .max_inputs = 2,
             .shape = given_shape,
             .cost = [](const NodeView& v) {
               return conv_cost(v.shape(0), v.output(0).type.shape);
             }});
}

}  // namespace braid
