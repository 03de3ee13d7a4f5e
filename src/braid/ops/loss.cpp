// Losses: one number per model, or [B] in an array. C classes, R rows.
#include "braid/ops/families.h"
#include "braid/ops/functions.h"
#include "braid/ops/traits.h"

namespace braid {
namespace {

Shape loss_shape(const NodeView& v) {
  return v.members() > 0 ? Shape{v.members()} : Shape{};
}

// Inputs logits[..., C], target[...] i64; outputs loss, logsumexp[...] and
// the number of rows that count (not ignore_index) per member.
std::vector<ValueType> cross_entropy_shape(const NodeView& v) {
  if (v.dtype(1) != DType::kInt64) {
    v.fail("targets are {}, expected i64", dtype_name(v.dtype(1)));
  }
  if (!is_floating(v.dtype(0))) {
    v.fail("logits are {}, expected floats", dtype_name(v.dtype(0)));
  }
  if (v.rank(0) < 1) v.fail("logits need a class dimension");
  v.expect_members(0);
  Shape rows(v.shape(0).begin(), v.shape(0).end() - 1);
  if (rows != v.shape(1)) {
    v.fail("logits {} do not fit targets {}", shape_text(v.shape(0)),
           shape_text(v.shape(1)));
  }
  return {{v.dtype(0), loss_shape(v)},
          {v.dtype(0), rows},
          {v.dtype(0), loss_shape(v)}};
}

void cross_entropy_vjp(VjpContext& c) {
  if (!c.needs(0)) return;
  c.give(0,
         apply("cross_entropy_loss_backward",
               {c.grad(0), c.in(0), c.in(1), c.out(1), c.out(2)}, c.attrs()));
}

std::vector<ValueType> mse_shape(const NodeView& v) {
  if (v.type(0) != v.type(1)) {
    v.fail("input {} and target {} differ", shape_text(v.shape(0)),
           shape_text(v.shape(1)));
  }
  v.expect_members(0);
  return {{v.dtype(0), loss_shape(v)}};
}

void mse_vjp(VjpContext& c) {
  for (size_t i = 0; i < 2; ++i) {
    if (!c.needs(i)) continue;
    c.give(i, apply("mse_loss_backward", {c.grad(0), c.in(i), c.in(1 - i)},
                    c.attrs()));
  }
}

}  // namespace

void add_loss_ops(OpTable& table) {
  table.add({.name = "cross_entropy_loss",
             .summary = "mean over rows of logsumexp - logit of the target",
             .min_inputs = 2,
             .max_inputs = 2,
             .shape = cross_entropy_shape,
             .vjp = cross_entropy_vjp,
             .array = array_members,
             .trait = "members"});
  table.add({.name = "cross_entropy_loss_backward",
             .summary = "dy * (softmax - one_hot) / rows",
             .min_inputs = 5,
             .max_inputs = 5,
             .shape = [](const NodeView& v) -> std::vector<ValueType> {
               return {v.type(1)};
             },
             .in_place = {{0, 1}}});
  table.add({.name = "mse_loss",
             .summary = "mean of (x - t)^2",
             .min_inputs = 2,
             .max_inputs = 2,
             .shape = mse_shape,
             .vjp = mse_vjp,
             .array = array_members,
             .trait = "members"});
  table.add({.name = "mse_loss_backward",
             .summary = "dy * 2 (x - t) / count",
             .min_inputs = 3,
             .max_inputs = 3,
             .shape = [](const NodeView& v) -> std::vector<ValueType> {
               return {v.type(1)};
             },
             .in_place = {{0, 1}, {0, 2}}});
}

}  // namespace braid
