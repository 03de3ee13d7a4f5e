// Pointwise arithmetic and activations. Two operands broadcast as in NumPy;
// gradients of a broadcast operand are summed back to its shape.
#include "braid/base/promote.h"
#include "braid/ops/families.h"
#include "braid/ops/functions.h"
#include "braid/ops/traits.h"

namespace braid {
namespace {

std::vector<ValueType> broadcast_shape(const NodeView& v) {
  return {{promote(v.dtype(0), v.rank(0) == 0, v.dtype(1), v.rank(1) == 0),
           broadcast_shapes(v.shape(0), v.shape(1), v.node().op.c_str())}};
}

// The gradient of a broadcast or promoted operand, brought back to its type.
void give_summed(VjpContext& c, size_t i, Var gradient) {
  c.give(i, cast(sum_to(gradient, c.in(i).shape()), c.in(i).dtype()));
}

Op unary(std::string name, std::string summary,
         std::function<void(VjpContext&)> vjp) {
  return {.name = std::move(name),
          .summary = std::move(summary),
          .shape = shape_like_first,
          .vjp = std::move(vjp),
          .array = array_pointwise,
          .trait = "pointwise",
          .in_place = {{0, 0}}};
}

Op binary(std::string name, std::string summary,
          std::function<void(VjpContext&)> vjp) {
  return {.name = std::move(name),
          .summary = std::move(summary),
          .min_inputs = 2,
          .max_inputs = 2,
          .shape = broadcast_shape,
          .vjp = std::move(vjp),
          .array = array_pointwise,
          .trait = "pointwise",
          .in_place = {{0, 0}, {0, 1}}};
}

// (dy, saved) -> dx, element by element.
Op unary_backward(std::string name, std::string summary) {
  return {.name = std::move(name),
          .summary = std::move(summary),
          .min_inputs = 2,
          .max_inputs = 2,
          .shape = shape_like_first,
          .in_place = {{0, 0}, {0, 1}}};
}

void add_arithmetic(OpTable& table) {
  table.add(binary("add", "a + b", [](VjpContext& c) {
    if (c.needs(0)) give_summed(c, 0, c.grad(0));
    if (c.needs(1)) give_summed(c, 1, c.grad(0));
  }));
  table.add(binary("sub", "a - b", [](VjpContext& c) {
    if (c.needs(0)) give_summed(c, 0, c.grad(0));
    if (c.needs(1)) give_summed(c, 1, neg(c.grad(0)));
  }));
  table.add(binary("mul", "a * b", [](VjpContext& c) {
    if (c.needs(0)) give_summed(c, 0, mul(c.grad(0), c.in(1)));
    if (c.needs(1)) give_summed(c, 1, mul(c.grad(0), c.in(0)));
  }));
  table.add(binary("div", "a / b", [](VjpContext& c) {
    Var scaled = div(c.grad(0), c.in(1));
    if (c.needs(0)) give_summed(c, 0, scaled);
    if (c.needs(1)) give_summed(c, 1, neg(mul(scaled, c.out(0))));
  }));
  table.add(unary("add_scalar", "x + value",
                  [](VjpContext& c) { c.give(0, c.grad(0)); }));
  table.add(unary("mul_scalar", "x * value", [](VjpContext& c) {
    c.give(0, mul_scalar(c.grad(0), c.attrs().number("value")));
  }));
}

void add_functions(OpTable& table) {
  table.add(
      unary("neg", "-x", [](VjpContext& c) { c.give(0, neg(c.grad(0))); }));
  table.add(unary("exp", "e^x",
                  [](VjpContext& c) { c.give(0, mul(c.grad(0), c.out(0))); }));
  table.add(unary("log", "ln x",
                  [](VjpContext& c) { c.give(0, div(c.grad(0), c.in(0))); }));
  table.add(unary("sqrt", "x^0.5", [](VjpContext& c) {
    c.give(0, div(mul_scalar(c.grad(0), 0.5), c.out(0)));
  }));
  table.add(unary("tanh", "tanh x", [](VjpContext& c) {
    c.give(0, apply("tanh_backward", {c.grad(0), c.out(0)}));
  }));
  table.add(unary("sigmoid", "1 / (1 + e^-x)", [](VjpContext& c) {
    c.give(0, apply("sigmoid_backward", {c.grad(0), c.out(0)}));
  }));
  table.add(unary("relu", "max(x, 0)", [](VjpContext& c) {
    c.give(0, apply("relu_backward", {c.grad(0), c.out(0)}));
  }));
  table.add(unary("gelu", "x * Phi(x), exact or with tanh", [](VjpContext& c) {
    c.give(0, apply("gelu_backward", {c.grad(0), c.in(0)}, c.attrs()));
  }));
}

}  // namespace

void add_pointwise_ops(OpTable& table) {
  add_arithmetic(table);
  add_functions(table);
  table.add(unary_backward("tanh_backward", "dy * (1 - y^2)"));
  table.add(unary_backward("sigmoid_backward", "dy * y * (1 - y)"));
  table.add(unary_backward("relu_backward", "dy where y > 0, else 0"));
  table.add(unary_backward("gelu_backward", "dy * gelu'(x)"));
}

}  // namespace braid
