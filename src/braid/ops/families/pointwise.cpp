// Pointwise arithmetic and activations. Two operands broadcast as in NumPy;
// gradients of a broadcast operand are summed back to its shape.
#include "braid/ops/build/functions.h"
#include "braid/ops/core/families.h"
#include "braid/ops/core/promotion.h"
#include "braid/ops/core/traits.h"

namespace braid {
namespace {

std::vector<ValueType> sub_type(const NodeView& v) {
  for (size_t i = 0; i < v.count(); ++i) expect_no_bool(v, v.dtype(i));
  return broadcast_type(v);
}

// a + alpha * b: integers take no fractions of each other.
std::vector<ValueType> add_alpha_type(const NodeView& v) {
  DType dtype = common_dtype(v);
  const Attr* alpha = v.attrs().find("alpha");
  if (!alpha) v.fail("there is no alpha");
  bool fraction = std::holds_alternative<double>(*alpha);
  if (fraction && !is_floating(dtype)) v.fail("alpha is no integer");
  return {{dtype, common_shape(v)}};
}

// x and the attribute `value` in the type they meet in.
std::vector<ValueType> scalar_type(const NodeView& v) {
  if (!v.attrs().has("value")) v.fail("there is no value");
  return {{common_dtype(v, 0, {"value"}), v.shape(0)}};
}

std::vector<ValueType> scalar_float_type(const NodeView& v) {
  return {{float_dtype(scalar_type(v)[0].dtype), v.shape(0)}};
}

std::vector<ValueType> rsub_type(const NodeView& v) {
  expect_no_bool(v, v.dtype(0));
  return scalar_type(v);
}

void add_arithmetic(OpTable& table) {
  table.add(pointwise_op("add", "a + b", 2, broadcast_type, [](VjpContext& c) {
    if (c.needs(0)) give_summed(c, 0, c.grad(0));
    if (c.needs(1)) give_summed(c, 1, c.grad(0));
  }));
  table.add(pointwise_op("sub", "a - b", 2, sub_type, [](VjpContext& c) {
    if (c.needs(0)) give_summed(c, 0, c.grad(0));
    if (c.needs(1)) give_summed(c, 1, neg(c.grad(0)));
  }));
  table.add(pointwise_op("add_alpha", "a + alpha * b", 2, add_alpha_type,
                         [](VjpContext& c) {
                           if (c.needs(0)) give_summed(c, 0, c.grad(0));
                           if (!c.needs(1)) return;
                           double alpha = c.attrs().number("alpha");
                           give_summed(c, 1, mul_scalar(c.grad(0), alpha));
                         }));
  table.add(pointwise_op("mul", "a * b", 2, broadcast_type, [](VjpContext& c) {
    if (c.needs(0)) give_summed(c, 0, mul(c.grad(0), c.in(1)));
    if (c.needs(1)) give_summed(c, 1, mul(c.grad(0), c.in(0)));
  }));
  table.add(
      pointwise_op("div", "a / b", 2, broadcast_float_type, [](VjpContext& c) {
        if (c.needs(0)) give_summed(c, 0, div(c.grad(0), c.in(1)));
        if (!c.needs(1)) return;
        give_summed(c, 1, mul(neg(c.grad(0)), div(c.out(0), c.in(1))));
      }));
}

void add_scalar_arithmetic(OpTable& table) {
  table.add(pointwise_op("add_scalar", "x + value", 1, scalar_type,
                         [](VjpContext& c) { c.give(0, c.grad(0)); }));
  table.add(pointwise_op(
      "mul_scalar", "x * value", 1, scalar_type, [](VjpContext& c) {
        c.give(0, mul_scalar(c.grad(0), c.attrs().number("value")));
      }));
  table.add(pointwise_op(
      "div_scalar", "x / value", 1, scalar_float_type, [](VjpContext& c) {
        c.give(0, div_scalar(c.grad(0), c.attrs().number("value")));
      }));
  table.add(pointwise_op("rsub_scalar", "value - x", 1, rsub_type,
                         [](VjpContext& c) { c.give(0, neg(c.grad(0))); }));
}

void add_functions(OpTable& table) {
  table.add(pointwise_op("neg", "-x", 1, same_number_type,
                         [](VjpContext& c) { c.give(0, neg(c.grad(0))); }));
  table.add(
      pointwise_op("exp", "e^x", 1, broadcast_float_type,
                   [](VjpContext& c) { c.give(0, mul(c.grad(0), c.out(0))); }));
  table.add(
      pointwise_op("log", "ln x", 1, broadcast_float_type,
                   [](VjpContext& c) { c.give(0, div(c.grad(0), c.in(0))); }));
  table.add(
      pointwise_op("sqrt", "x^0.5", 1, broadcast_float_type, [](VjpContext& c) {
        c.give(0, div(mul_scalar(c.grad(0), 0.5), c.out(0)));
      }));
  table.add(pointwise_op(
      "tanh", "tanh x", 1, broadcast_float_type, [](VjpContext& c) {
        c.give(0, apply("tanh_backward", {c.grad(0), c.out(0)}));
      }));
  table.add(pointwise_op(
      "sigmoid", "1 / (1 + e^-x)", 1, broadcast_float_type, [](VjpContext& c) {
        c.give(0, apply("sigmoid_backward", {c.grad(0), c.out(0)}));
      }));
  Op relu =
      pointwise_op("relu", "max(x, 0)", 1, same_number_type, [](VjpContext& c) {
        c.give(0, apply("relu_backward", {c.grad(0), c.out(0)}));
      });
  relu.kind = OpKind::kRelu;
  table.add(std::move(relu));
  table.add(pointwise_op(
      "gelu", "x * Phi(x), exact or with tanh", 1, same_float_type,
      [](VjpContext& c) {
        c.give(0, apply("gelu_backward", {c.grad(0), c.in(0)}, c.attrs()));
      }));
}

}  // namespace

void add_pointwise_ops(OpTable& table) {
  add_arithmetic(table);
  add_scalar_arithmetic(table);
  add_functions(table);
  table.add(backward_op("tanh_backward", "dy * (1 - y^2)"));
  table.add(backward_op("sigmoid_backward", "dy * y * (1 - y)"));
  table.add(backward_op("relu_backward", "dy where y > 0, else 0"));
  table.add(backward_op("gelu_backward", "dy * gelu'(x)"));
}

}  // namespace braid
