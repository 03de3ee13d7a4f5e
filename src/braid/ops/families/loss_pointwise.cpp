// Losses of single elements; operands broadcast and promote. Each has a
// backward op (dy, operands...) that yields the gradient with respect to
// operand `wrt`, in the shape of the loss.
#include "braid/base/promote.h"
#include "braid/ops/build/functions.h"
#include "braid/ops/core/families.h"
#include "braid/ops/core/traits.h"

namespace braid {
namespace {

ValueType joint_type(const NodeView& v, size_t first) {
  ValueType type = v.type(first);
  for (size_t i = first + 1; i < v.count(); ++i) {
    if (!v.has(i)) continue;
    type.dtype =
        promote(type.dtype, type.shape.empty(), v.dtype(i), v.rank(i) == 0);
    type.shape =
        broadcast_shapes(type.shape, v.shape(i), v.node().op->name.c_str());
  }
  if (!is_floating(type.dtype)) {
    v.fail("operands are {}, expected floats", dtype_name(type.dtype));
  }
  return type;
}

// Operands that gradients flow to: the first `differentiable`.
std::function<void(VjpContext&)> loss_vjp(const std::string& name,
                                          size_t differentiable) {
  return [backward = name + "_backward", differentiable](VjpContext& c) {
    std::vector<Var> inputs{c.grad(0)};
    for (size_t i = 0; i < c.node().inputs.size(); ++i) {
      inputs.push_back(c.in(i));
    }
    for (size_t i = 0; i < differentiable; ++i) {
      if (!c.needs(i)) continue;
      Attrs attrs = c.attrs();
      attrs.set("wrt", static_cast<int64_t>(i));
      Var dx = sum_to(apply(backward, inputs, attrs), c.in(i).shape());
      c.give(i, cast(dx, c.in(i).dtype()));
    }
  };
}

// Members lead; operands of lower rank get ones after B.
void loss_array(ArrayContext& c) {
  auto rank = static_cast<int64_t>(c.one().output(0).type.shape.size());
  std::vector<Var> inputs;
  for (size_t i = 0; i < c.one().count(); ++i) {
    if (!c.has(i) || c.shared(i)) {
      inputs.push_back(c.has(i) ? c.in(i) : Var{});
      continue;
    }
    Var x = c.leading(i);
    Shape shape = x.shape();
    shape.insert(shape.begin() + 1, static_cast<size_t>(rank + 1 - x.rank()),
                 1);
    inputs.push_back(reshape(x, shape));
  }
  c.emit(0, apply(*c.one().node().op, inputs, c.attrs()), MemberAxis::kLeading);
}

struct Row {
  const char* name;
  const char* summary;
  size_t min_inputs, max_inputs;
  size_t differentiable;  // as in PyTorch
};

constexpr Row kRows[] = {
    {"l1_loss", "|x - t|", 2, 2, 2},
    {"smooth_l1_loss", "d^2 / (2 beta) below beta, else d - beta / 2", 2, 2, 2},
    {"huber_loss", "d^2 / 2 below delta, else delta (d - delta / 2)", 2, 2, 2},
    {"binary_cross_entropy", "-w (t log p + (1 - t) log(1 - p))", 2, 3, 2},
    {"binary_cross_entropy_with_logits",
     "-w (pos_weight t log s(x) + (1 - t) log(1 - s(x)))", 2, 4, 2},
    {"kl_div", "t (log t - x); x and, with log_target, t are logs", 2, 2, 2},
    {"soft_margin_loss", "log(1 + e^(-t x))", 2, 2, 1},
    {"poisson_nll_loss", "e^x - t x, or x - t log(x + eps)", 2, 2, 2},
    {"gaussian_nll_loss", "(log v + (x - t)^2 / v) / 2, v at least eps", 3, 3,
     3},
    {"margin_ranking_loss", "max(0, margin - t (a - b))", 3, 3, 3},
    {"hinge_embedding_loss", "x where t is 1, max(0, margin - x) where -1", 2,
     2, 1},
    {"cosine_margin", "1 - x where t is 1, max(0, x - margin) where -1", 2, 2,
     1},
    {"triplet_margin", "max(0, margin + near - min(far, swapped))", 2, 3, 3},
};

Op forward_op(const Row& row) {
  return {.name = row.name,
          .summary = row.summary,
          .min_inputs = row.min_inputs,
          .max_inputs = row.max_inputs,
          .shape = [](const NodeView& v) -> std::vector<ValueType> {
            return {joint_type(v, 0)};
          },
          .vjp = loss_vjp(row.name, row.differentiable),
          .array = loss_array,
          .array_rule = ArrayRule::kPointwise,
          .pointwise = true};
}

Op backward_op(const Row& row) {
  return {.name = std::string(row.name) + "_backward",
          .summary = "dy times the slope with respect to operand wrt",
          .min_inputs = row.min_inputs + 1,
          .max_inputs = row.max_inputs + 1,
          .shape = [](const NodeView& v) -> std::vector<ValueType> {
            return {joint_type(v, 1)};
          }};
}

}  // namespace

void add_pointwise_loss_ops(OpTable& table) {
  for (const Row& row : kRows) {
    table.add(forward_op(row));
    table.add(backward_op(row));
  }
}

}  // namespace braid
