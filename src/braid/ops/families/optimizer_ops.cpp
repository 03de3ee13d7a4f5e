// Updates of one parameter of all members at once. Hyper-parameters and step
// counts are f64 and i64 values of one number per member, so they may change
// between steps and differ between members. B members.
#include <algorithm>

#include "braid/ops/build/functions.h"
#include "braid/ops/core/families.h"
#include "braid/ops/core/traits.h"
#include "braid/ops/core/update_kinds.h"

namespace braid {
namespace {

bool needs_flag(const UpdateKind& kind, const std::string& state) {
  auto is_of = [&](const auto& flag) { return flag.second == state; };
  return std::any_of(kind.flags.begin(), kind.flags.end(), is_of);
}

// All numbers must be there, and all states but those of flags.
void check_inputs(const NodeView& v, const UpdateKind& kind) {
  for (size_t i = 2; i < kind.scale_input(); ++i) {
    bool optional =
        i < kind.step_input() && needs_flag(kind, kind.states[i - 2]);
    if (!optional && !v.has(i)) v.fail("input {} is missing", i);
  }
}

// The new parameter, and each state that is there.
std::vector<ValueType> update_types(const NodeView& v, const UpdateKind& kind) {
  check_inputs(v, kind);
  // Kernels widen a gradient in bf16.
  bool is_narrow = v.type(0).dtype == DType::kFloat32 &&
                   v.type(1).dtype == DType::kBFloat16 &&
                   v.shape(0) == v.shape(1);
  if (v.type(0) != v.type(1) && !is_narrow) {
    v.fail("parameter and gradient differ");
  }
  std::vector<ValueType> types{v.type(0)};
  for (size_t k = 0; k < kind.states.size(); ++k) {
    if (!v.has(2 + k)) continue;
    if (v.type(2 + k) != v.type(0)) v.fail("'{}' differs", kind.states[k]);
    types.push_back(v.type(0));
  }
  int64_t sets = std::max<int64_t>(v.members(), 1);
  for (size_t i = kind.step_input(); i < v.count(); ++i) {
    if (v.has(i) && num_elements(v.shape(i)) != sets) {
      v.fail("input {} is {}, expected {} numbers", i, shape_text(v.shape(i)),
             sets);
    }
  }
  return types;
}

// A state's output may take its place when all states before it are there.
Op update_op(const UpdateKind& kind) {
  Op op{.name = kind.op(),
        .summary = kind.summary,
        .min_inputs = 2,
        .max_inputs = kind.keep_input() + 1,
        .shape = [&kind](const NodeView& v) { return update_types(v, kind); },
        .updates = true,
        .update_kind = &kind};
  op.in_place.push_back({0, 0});
  for (size_t output = 1; output <= kind.states.size(); ++output) {
    for (size_t input = output + 1; input < 2 + kind.states.size(); ++input) {
      op.in_place.push_back({output, input});
    }
  }
  return op;
}

ValueType per_member(const NodeView& v, DType dtype) {
  v.expect_members(0);
  return {dtype, v.members() > 0 ? Shape{v.members()} : Shape{}};
}

}  // namespace

void add_optimizer_ops(OpTable& table) {
  for (const UpdateKind& kind : update_kinds()) table.add(update_op(kind));
  table.add({.name = "nadam_product",
             .summary = "product of the momenta so far, this step's included",
             .min_inputs = 4,
             .max_inputs = 5,
             .shape = shape_like_first,
             .in_place = {{0, 0}}});
  table.add({.name = "clip_value",
             .summary = "x between -limit and limit",
             .kind = OpKind::kClipValue,
             .min_inputs = 2,
             .max_inputs = 2,
             .shape = shape_like_first,
             .in_place = {{0, 0}}});
  table.add({.name = "add_scaled",
             .summary = "sum + x * scale from (x, sum); x * scale without sum",
             .min_inputs = 1,
             .max_inputs = 2,
             .shape = shape_like_first,
             .in_place = {{0, 1}}});
  table.add({.name = "ema_update",
             .summary = "average * decay + x * (1 - decay); x at first",
             .min_inputs = 4,
             .max_inputs = 5,
             .shape = shape_like_first,
             .in_place = {{0, 0}},
             .follows_update = true});
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
  table.add({.name = "keeps",
             .summary = "1 where finite, or where a member skips nothing",
             .min_inputs = 2,
             .max_inputs = 2,
             .shape = shape_like_first,
             .in_place = {{0, 0}}});
  table.add({.name = "set_aside",
             .summary = "x, for an update that may have to be made again",
             .shape = shape_like_first,
             .follows_update = true});
  // Inputs scale and keep, either of which may be missing.
  table.add({.name = "redoes",
             .summary = "1 where an update that was made with scale 1 and for "
                        "all members was not the right one, else 0",
             .min_inputs = 0,
             .max_inputs = 2,
             .shape = [](const NodeView& v) -> std::vector<ValueType> {
               if (!v.has(0) && !v.has(1)) v.fail("scale and keep are missing");
               return {v.type(v.has(0) ? 0 : 1)};
             }});
  table.add({.name = "take_back",
             .summary = "(x, before, redoes): before where redoes, else x",
             .min_inputs = 3,
             .max_inputs = 3,
             .shape = shape_like_first,
             .in_place = {{0, 0}},
             .follows_update = true});
  table.add({.name = "scale_gradient",
             .summary = "x, whose gradient is dy * scale",
             .min_inputs = 2,
             .max_inputs = 2,
             .shape = shape_like_first,
             .vjp =
                 [](VjpContext& c) {
                   c.give(0, mul(c.grad(0), cast(c.in(1), c.in(0).dtype())));
                 },
             .array = array_pointwise,
             .array_rule = ArrayRule::kPointwise,
             .view = [](const NodeView& v) -> std::optional<View> {
               return View{v.value(0).strides, v.value(0).offset};
             },
             .pointwise = true});
  table.add({.name = "unscale",
             .summary = "x / scale, per member",
             .min_inputs = 2,
             .max_inputs = 2,
             .shape = shape_like_first,
             .in_place = {{0, 0}}});
  // Inputs factor, count, finite, growth_factor, backoff_factor,
  // growth_interval and loss_scale; of interval 0 the factor stays.
  table.add({.name = "loss_scale_update",
             .summary = "the next factor of a loss scale, and the steps since "
                        "it changed",
             .min_inputs = 7,
             .max_inputs = 7,
             .shape = [](const NodeView& v) -> std::vector<ValueType> {
               return {v.type(0), v.type(1)};
             }});
  // Members that were skipped keep their count.
  table.add({.name = "advance",
             .summary = "step + 1 where keep",
             .max_inputs = 2,
             .shape = shape_like_first,
             .in_place = {{0, 0}}});
}

}  // namespace braid
