// Softmax and its logarithm along one dimension.
#include "braid/ops/build/functions.h"
#include "braid/ops/core/dim_rules.h"
#include "braid/ops/core/families.h"
#include "braid/ops/core/traits.h"

namespace braid {
namespace {

std::vector<ValueType> softmax_shape(const NodeView& v) {
  checked_dim(v);
  if (!is_floating(v.dtype(0))) {
    v.fail("{} is no float", dtype_name(v.dtype(0)));
  }
  return {v.type(0)};
}

Op softmax_op(std::string name, std::string summary) {
  std::string backward = name + "_backward";
  return {.name = std::move(name),
          .summary = std::move(summary),
          .shape = softmax_shape,
          .vjp =
              [backward](VjpContext& c) {
                c.give(0, apply(backward, {c.grad(0), c.out(0)}, c.attrs()));
              },
          .array = array_dim,
          .array_rule = ArrayRule::kShiftDims,
          .cost =
              [](const NodeView& v) {
                return Cost{4 * to_number(num_elements(v.shape(0))), 0};
              }};
}

Op backward_op(std::string name, std::string summary) {
  return {.name = std::move(name),
          .summary = std::move(summary),
          .min_inputs = 2,
          .max_inputs = 2,
          .shape = shape_like_first};
}

}  // namespace

void add_softmax_ops(OpTable& table) {
  table.add(softmax_op("softmax", "e^x / sum of e^x along a dim"));
  table.add(softmax_op("log_softmax", "x - logsumexp(x) along a dim"));
  table.add(backward_op("softmax_backward", "y * (dy - sum of dy * y)"));
  table.add(backward_op("log_softmax_backward", "dy - e^y * sum of dy"));
}

Var softmax(Var x, int64_t dim) { return apply_along("softmax", {x}, dim)[0]; }

Var log_softmax(Var x, int64_t dim) {
  return apply_along("log_softmax", {x}, dim)[0];
}

}  // namespace braid
