// Updates of one parameter of all members at once. Hyper-parameters and step
// counts are f64 and i64 values of one number per member, so they may change
// between steps and differ between members. B members.
#include "braid/ops/families.h"
#include "braid/ops/traits.h"

namespace braid {
namespace {

std::vector<ValueType> first_types(const NodeView& v, size_t count) {
  if (v.type(0) != v.type(1)) v.fail("parameter and gradient differ");
  v.expect_members(0);
  return std::vector<ValueType>(count, v.type(0));
}

ValueType per_member(const NodeView& v, DType dtype) {
  v.expect_members(0);
  return {dtype, v.members() > 0 ? Shape{v.members()} : Shape{}};
}

}  // namespace

void add_optimizer_ops(OpTable& table) {
  // p, g, momentum_buffer?, step, lr, momentum, dampening, weight_decay,
  // scale?, keep?
  table.add(
      {.name = "sgd_update",
       .summary = "new p and momentum buffer",
       .min_inputs = 2,
       .max_inputs = 10,
       .shape =
           [](const NodeView& v) { return first_types(v, v.has(2) ? 2 : 1); },
       .in_place = {{0, 0}, {1, 2}},
       .updates = true});
  // p, g, m, v, step, lr, beta1, beta2, eps, weight_decay, scale?, keep?
  table.add({.name = "adamw_update",
             .summary = "new p and both moments",
             .min_inputs = 10,
             .max_inputs = 12,
             .shape = [](const NodeView& v) { return first_types(v, 3); },
             .in_place = {{0, 0}, {1, 2}, {2, 3}},
             .updates = true});
  table.add({.name = "sum_squares",
             .summary = "sum of x^2 per member, in f64",
             .shape = [](const NodeView& v) -> std::vector<ValueType> {
               return {per_member(v, DType::kFloat64)};
             }});
  table.add({.name = "clip_scale",
             .summary = "min(1, clip / (norm + 1e-6)) from (norm^2, clip)",
             .min_inputs = 2,
             .max_inputs = 2,
             .shape = shape_like_first});
  table.add({.name = "is_finite",
             .summary = "1 where x is finite, else 0",
             .shape = shape_like_first});
  // Members that were skipped keep their count.
  table.add({.name = "advance",
             .summary = "step + 1 where keep",
             .max_inputs = 2,
             .shape = shape_like_first,
             .in_place = {{0, 0}}});
}

}  // namespace braid
