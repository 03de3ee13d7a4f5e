// Losses over classes and the mean squared error. These reduce inside: one
// number per model, or [B] in an array. C classes, always the last dimension;
// builders in loss_functions.cpp bring them there. Losses of single elements
// are in loss_pointwise.cpp.
#include "braid/ops/build/functions.h"
#include "braid/ops/core/families.h"
#include "braid/ops/core/traits.h"

namespace braid {
namespace {

Shape reduced_shape(const NodeView& v) {
  return v.members() > 0 ? Shape{v.members()} : Shape{};
}

// "mean" unless said otherwise; "none" leaves one loss per row.
std::string reduction_of(const Attrs& attrs) {
  return attrs.has("reduction") ? attrs.text("reduction") : "mean";
}

Shape loss_shape(const NodeView& v, const Shape& rows) {
  std::string reduction = reduction_of(v.attrs());
  if (reduction == "none") return rows;
  if (reduction != "mean" && reduction != "sum") {
    v.fail("unknown reduction '{}'", reduction);
  }
  return reduced_shape(v);
}

// x[..., C], target[...] i64, or as many probabilities as x where allowed.
Shape check_classes(const NodeView& v, bool probabilities) {
  if (!is_floating(v.dtype(0))) {
    v.fail("logits are {}, expected floats", dtype_name(v.dtype(0)));
  }
  if (v.rank(0) < (v.members() > 0 ? 2 : 1)) {
    v.fail("logits need a class dimension");
  }
  v.expect_members(0);
  Shape rows(v.shape(0).begin(), v.shape(0).end() - 1);
  bool soft = probabilities && v.type(1) == v.type(0);
  if (!soft && v.dtype(1) != DType::kInt64) {
    v.fail("targets are {} {}, expected i64 or probabilities like the logits",
           dtype_name(v.dtype(1)), shape_text(v.shape(1)));
  }
  if (!soft && rows != v.shape(1)) {
    v.fail("logits {} do not fit targets {}", shape_text(v.shape(0)),
           shape_text(v.shape(1)));
  }
  int64_t weights = v.dim(0, -1) * std::max<int64_t>(v.members(), 1);
  if (v.has(2) && (num_elements(v.shape(2)) != weights ||
                   v.dim(2, -1) != v.dim(0, -1) || v.dtype(2) != v.dtype(0))) {
    v.fail("weights {} {} do not fit {} classes", dtype_name(v.dtype(2)),
           shape_text(v.shape(2)), v.dim(0, -1));
  }
  return rows;
}

// Label smoothing is an attribute, or an operand of one number per member.
void check_smoothing(const NodeView& v) {
  double smoothing = v.attrs().number_or("label_smoothing", 0);
  if (smoothing < 0 || smoothing > 1) {
    v.fail("label smoothing {} is outside [0, 1]", smoothing);
  }
  if (!v.has(3)) return;
  if (smoothing != 0) v.fail("label smoothing is given twice");
  int64_t sets = std::max<int64_t>(v.members(), 1);
  if (v.dtype(3) != DType::kFloat64 || num_elements(v.shape(3)) != sets) {
    v.fail("label smoothing is {} {}, expected {} numbers in f64",
           dtype_name(v.dtype(3)), shape_text(v.shape(3)), sets);
  }
}

// Outputs loss, logsumexp[...] and what a mean divides by, per member.
std::vector<ValueType> cross_entropy_shape(const NodeView& v) {
  Shape rows = check_classes(v, true);
  check_smoothing(v);
  // Of narrow scores the losses are f32.
  DType wide = item_bytes(v.dtype(0)) < 4 ? DType::kFloat32 : v.dtype(0);
  return {{wide, loss_shape(v, rows)}, {wide, rows}, {wide, reduced_shape(v)}};
}

// The gradient of the loss per row: dy, over what a mean divides by.
Var row_factor(VjpContext& c, int64_t rank) {
  std::string reduction = reduction_of(c.attrs());
  Var dy = c.grad(0);
  if (reduction == "mean") dy = div(dy, c.out(2));
  Shape shape = dy.shape();
  shape.resize(static_cast<size_t>(rank), 1);
  return reshape(dy, shape);
}

// What smoothing leaves of a gradient of x's shape.
Var times_kept(VjpContext& c, Var gradient) {
  double constant = c.attrs().number_or("label_smoothing", 0);
  if (!c.has(3)) return mul_scalar(gradient, 1 - constant);
  Shape shape(static_cast<size_t>(gradient.rank()), 1);
  shape[0] = c.in(3).numel();
  Var kept = rsub_scalar(reshape(c.in(3), shape), 1.0);
  return mul(gradient, cast(kept, gradient.dtype()));
}

// d loss / d probabilities = -w * log softmax, less what smoothing takes.
Var target_gradient(VjpContext& c) {
  Var x = c.in(0);
  Var surprise = sub(unsqueeze(c.out(1), -1), x);
  if (c.has(2)) {
    Shape shape = x.shape();
    for (size_t d = 0; d + 1 < shape.size(); ++d) shape[d] = 1;
    if (c.in(2).rank() > 1) shape[0] = c.in(2).dim(0);
    surprise = mul(surprise, reshape(c.in(2), shape));
  }
  return times_kept(c, mul(surprise, row_factor(c, x.rank())));
}

void cross_entropy_vjp(VjpContext& c) {
  if (c.needs(0)) {
    std::vector<Var> inputs{c.grad(0), c.in(0), c.in(1), c.out(1), c.out(2)};
    if (c.has(2) || c.has(3)) inputs.push_back(c.in(2));
    if (c.has(3)) inputs.push_back(c.in(3));
    c.give(0, apply("cross_entropy_loss_backward", inputs, c.attrs()));
  }
  if (c.needs(1)) c.give(1, target_gradient(c));
}

std::vector<ValueType> nll_shape(const NodeView& v) {
  Shape rows = check_classes(v, false);
  return {{v.dtype(0), loss_shape(v, rows)}, {v.dtype(0), reduced_shape(v)}};
}

void nll_vjp(VjpContext& c) {
  if (!c.needs(0)) return;
  std::vector<Var> inputs{c.grad(0), c.in(0), c.in(1), c.out(1)};
  if (c.has(2)) inputs.push_back(c.in(2));
  c.give(0, apply("nll_loss_backward", inputs, c.attrs()));
}

std::vector<ValueType> mse_shape(const NodeView& v) {
  if (v.type(0) != v.type(1)) {
    v.fail("input {} and target {} differ", shape_text(v.shape(0)),
           shape_text(v.shape(1)));
  }
  v.expect_members(0);
  return {{v.dtype(0), reduced_shape(v)}};
}

void mse_vjp(VjpContext& c) {
  for (size_t i = 0; i < 2; ++i) {
    if (!c.needs(i)) continue;
    c.give(i, apply("mse_loss_backward", {c.grad(0), c.in(i), c.in(1 - i)},
                    c.attrs()));
  }
}

std::vector<ValueType> shape_like_second(const NodeView& v) {
  return {v.type(1)};
}

void add_class_losses(OpTable& table) {
  table.add({.name = "cross_entropy_loss",
             .summary = "logsumexp - logit of the target, per row, weighted "
                        "by class and reduced; x[..., C], target[...], "
                        "weight[C], label smoothing",
             .kind = OpKind::kCrossEntropy,
             .min_inputs = 2,
             .max_inputs = 4,
             .shape = cross_entropy_shape,
             .vjp = cross_entropy_vjp,
             .array = array_members,
             .array_rule = ArrayRule::kMembers});
  table.add({.name = "cross_entropy_loss_backward",
             .summary = "dy * (softmax - one_hot) / rows",
             .min_inputs = 5,
             .max_inputs = 7,
             .shape = shape_like_second,
             .in_place = {{0, 1}}});
  table.add({.name = "nll_loss",
             .summary = "-x at the target, per row, weighted by class and "
                        "reduced; x[..., C], target[...]",
             .kind = OpKind::kNllLoss,
             .min_inputs = 2,
             .max_inputs = 3,
             .shape = nll_shape,
             .vjp = nll_vjp,
             .array = array_members,
             .array_rule = ArrayRule::kMembers});
  table.add({.name = "nll_loss_backward",
             .summary = "-dy / rows at the targets, else 0",
             .min_inputs = 4,
             .max_inputs = 5,
             .shape = shape_like_second});
}

}  // namespace

void add_loss_ops(OpTable& table) {
  add_class_losses(table);
  table.add({.name = "mse_loss",
             .summary = "mean of (x - t)^2",
             .min_inputs = 2,
             .max_inputs = 2,
             .shape = mse_shape,
             .vjp = mse_vjp,
             .array = array_members,
             .array_rule = ArrayRule::kMembers});
  table.add({.name = "mse_loss_backward",
             .summary = "dy * 2 (x - t) / count",
             .min_inputs = 3,
             .max_inputs = 3,
             .shape = shape_like_second,
             .in_place = {{0, 1}, {0, 2}}});
}

}  // namespace braid
