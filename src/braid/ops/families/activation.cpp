// Activations of torch.nn beyond relu and gelu. Those made of others (selu,
// celu, relu6, softsign, tanhshrink, rrelu) are functions alone.
#include "braid/ops/build/functions.h"
#include "braid/ops/core/families.h"
#include "braid/ops/core/promotion.h"
#include "braid/ops/core/traits.h"

namespace braid {
namespace {

using Names = std::vector<std::string_view>;

// The type of a float input; all of `numbers` must be given.
Op::ShapeRule float_with(const Names& numbers) {
  return [numbers](const NodeView& v) -> std::vector<ValueType> {
    for (std::string_view name : numbers) v.attrs().number(name);
    expect_float(v);
    return {v.type(0)};
  };
}

Op::ShapeRule number_with(const Names& numbers) {
  return [numbers](const NodeView& v) -> std::vector<ValueType> {
    for (std::string_view name : numbers) v.attrs().number(name);
    expect_no_bool(v, v.dtype(0));
    return {v.type(0)};
  };
}

// Adds f(x) and f_backward(dy, x) with the same attributes.
void add_activation(OpTable& table, const std::string& name,
                    std::string summary, Op::ShapeRule shape) {
  std::string backward = name + "_backward";
  table.add(pointwise_op(
      name, std::move(summary), 1, std::move(shape), [backward](VjpContext& c) {
        c.give(0, apply(backward, {c.grad(0), c.in(0)}, c.attrs()));
      }));
  table.add(backward_op(backward, "dy * " + name + "'(x)"));
}

// w must broadcast to x; the function `prelu` brings channels to dimension 1.
std::vector<ValueType> prelu_type(const NodeView& v) {
  expect_float(v);
  if (v.dtype(0) != v.dtype(1)) v.fail("x and weight differ in type");
  if (common_shape(v) != v.shape(0)) {
    v.fail("weight {} does not fit {}", shape_text(v.shape(1)),
           shape_text(v.shape(0)));
  }
  return {v.type(0)};
}

void prelu_vjp(VjpContext& c) {
  Var dy = c.grad(0);
  Var kept = gt_scalar(c.in(0), 0.0);
  if (c.needs(0)) c.give(0, where(kept, dy, mul(c.in(1), dy)));
  if (c.needs(1)) give_summed(c, 1, where(kept, 0.0, mul(c.in(0), dy)));
}

// One x beside many weights: the result has members, so x must have them.
void prelu_of_shared(ArrayContext& c) {
  Var x = c.leading(0), w = c.leading(1);
  Shape shape = w.shape();
  shape.insert(shape.begin() + 1, static_cast<size_t>(x.rank() - w.rank()), 1);
  c.emit(0, apply("prelu", {x, reshape(w, shape)}), MemberAxis::kLeading);
}

Op prelu_op() {
  Op op = pointwise_op("prelu", "x where x > 0, else w * x", 2, prelu_type,
                       prelu_vjp);
  op.array = [usual = op.array](ArrayContext& c) {
    return c.shared(0) ? prelu_of_shared(c) : usual(c);
  };
  return op;
}

// `dim` is not negative.
size_t glu_dim(const NodeView& v, size_t input) {
  int64_t dim = v.attrs().integer("dim");
  if (dim < 0 || dim >= v.rank(input)) v.fail("dimension {} is outside", dim);
  if (v.dim(input, dim) % 2 != 0) {
    v.fail("dimension {} of {} has no halves", dim, shape_text(v.shape(input)));
  }
  return static_cast<size_t>(dim);
}

Op glu_op() {
  return {.name = "glu",
          .summary = "first half * sigmoid(second half) of x[..., 2 C, ...]",
          .shape = [](const NodeView& v) -> std::vector<ValueType> {
            expect_float(v);
            Shape shape = v.shape(0);
            shape[glu_dim(v, 0)] /= 2;
            return {{v.dtype(0), shape}};
          },
          .vjp =
              [](VjpContext& c) {
                Var dx = apply("glu_backward", {c.grad(0), c.in(0)}, c.attrs());
                c.give(0, dx);
              },
          .array =
              [](ArrayContext& c) {
                array_shifted(c, {{"dim", c.attrs().integer("dim") + 1}});
              },
          .array_rule = ArrayRule::kShiftDims};
}

Op glu_backward_op() {
  return {.name = "glu_backward",
          .summary = "dy * glu'(x), in the shape of x",
          .min_inputs = 2,
          .max_inputs = 2,
          .shape = [](const NodeView& v) -> std::vector<ValueType> {
            glu_dim(v, 1);
            return {v.type(1)};
          }};
}

}  // namespace

void add_activation_ops(OpTable& table) {
  add_activation(table, "leaky_relu", "x where x > 0, else negative_slope * x",
                 float_with({"negative_slope"}));
  add_activation(table, "elu",
                 "scale * (x where x > 0, else alpha * expm1(x * input_scale))",
                 float_with({"alpha", "scale", "input_scale"}));
  add_activation(table, "hardtanh", "x held between min and max",
                 number_with({"min", "max"}));
  add_activation(table, "threshold", "x where x > threshold, else value",
                 number_with({"threshold", "value"}));
  add_activation(table, "hardswish", "x * relu6(x + 3) / 6", float_with({}));
  add_activation(table, "hardsigmoid", "relu6(x + 3) / 6", float_with({}));
  add_activation(table, "silu", "x * sigmoid(x)", float_with({}));
  add_activation(table, "mish", "x * tanh(softplus(x))", float_with({}));
  add_activation(table, "softplus",
                 "ln(1 + e^(beta x)) / beta; x where beta x > threshold",
                 float_with({"beta", "threshold"}));
  add_activation(table, "log_sigmoid", "ln(1 / (1 + e^-x))", float_with({}));
  add_activation(table, "hardshrink", "x where |x| > lambd, else 0",
                 float_with({"lambd"}));
  add_activation(table, "softshrink", "x moved to 0 by lambd",
                 float_with({"lambd"}));
  table.add(prelu_op());
  table.add(glu_op());
  table.add(glu_backward_op());
}

}  // namespace braid
