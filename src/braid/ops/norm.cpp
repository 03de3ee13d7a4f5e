// Batch and layer normalisation.
// N batch, C channels or last dimension, S everything after C, R rows.
#include "braid/ops/families.h"
#include "braid/ops/functions.h"
#include "braid/ops/traits.h"

namespace braid {
namespace {

// Inputs x[N, C, S], w[C]?, b[C]?, running_mean[C]?, running_var[C]?.
// Outputs y, mean[C], rstd[C] and, in training with running statistics, the
// two new ones.
std::vector<ValueType> batch_norm_shape(const NodeView& v) {
  if (v.rank(0) < 2) v.fail("the input needs two dimensions");
  Shape channels{v.dim(0, 1)};
  for (size_t i = 1; i < v.count(); ++i) {
    if (v.has(i) && v.type(i) != ValueType{v.dtype(0), channels}) {
      v.fail("input {} is {} {}, expected {} {}", i, dtype_name(v.dtype(i)),
             shape_text(v.shape(i)), dtype_name(v.dtype(0)),
             shape_text(channels));
    }
  }
  bool training = v.attrs().flag("training");
  if (!training && !(v.has(3) && v.has(4))) {
    v.fail("the eval form needs running statistics");
  }
  std::vector<ValueType> types(3, {v.dtype(0), channels});
  types[0] = v.type(0);
  if (training && v.has(3)) types.resize(5, {v.dtype(0), channels});
  return types;
}

void batch_norm_vjp(VjpContext& c) {
  auto grads = apply_all("batch_norm_backward",
                         {c.grad(0), c.in(0), c.in(1), c.out(1), c.out(2)},
                         {{"training", c.attrs().flag("training")}});
  for (size_t i = 0; i < 3; ++i) {
    if (c.needs(i)) c.give(i, grads[i]);
  }
}

// Channels of all members side by side; statistics are per channel anyway.
void batch_norm_array(ArrayContext& c) {
  std::vector<Var> inputs{c.merged(0)};
  for (size_t i = 1; i < c.one().count(); ++i) inputs.push_back(c.rows(i));
  auto outputs = apply_all("batch_norm", inputs, c.attrs());
  c.emit(0, outputs[0], Layout::kMerged);
  for (size_t i = 1; i < outputs.size(); ++i) {
    int64_t channels = outputs[i].dim(0) / c.members();
    c.emit(i, reshape(outputs[i], {c.members(), channels}), Layout::kLeading);
  }
}

// Inputs x[..., C], w[C]?, b[C]? (or [B, C]); outputs y, mean[R], rstd[R].
std::vector<ValueType> layer_norm_shape(const NodeView& v) {
  int64_t columns = v.dim(0, -1);
  int64_t sets = std::max<int64_t>(v.members(), 1);
  v.expect_members(0);
  for (size_t i = 1; i < v.count(); ++i) {
    if (v.has(i) && (v.dim(i, -1) != columns || v.dtype(i) != v.dtype(0) ||
                     num_elements(v.shape(i)) != columns * sets)) {
      v.fail("input {} is {} {}, expected {} values", i, dtype_name(v.dtype(i)),
             shape_text(v.shape(i)), columns);
    }
  }
  Shape rows(v.shape(0).begin(), v.shape(0).end() - 1);
  rows.push_back(1);
  ValueType statistics{v.dtype(0), rows};
  return {v.type(0), statistics, statistics};
}

void layer_norm_vjp(VjpContext& c) {
  auto grads =
      apply_all("layer_norm_backward",
                {c.grad(0), c.in(0), c.in(1), c.out(1), c.out(2)}, c.attrs());
  if (c.needs(0)) c.give(0, grads[0]);
  if (c.needs(1)) c.give(1, reshape(grads[1], c.in(1).shape()));
  if (c.needs(2)) c.give(2, reshape(grads[2], c.in(2).shape()));
}

}  // namespace

void add_norm_ops(OpTable& table) {
  table.add({.name = "batch_norm",
             .summary = "(x - mean) * rstd * w + b per channel; also new "
                        "running statistics",
             .max_inputs = 5,
             .shape = batch_norm_shape,
             .vjp = batch_norm_vjp,
             .array = batch_norm_array,
             .trait = "merge_channels"});
  table.add({.name = "batch_norm_backward",
             .summary = "dx, dw, db from (dy, x, w, mean, rstd)",
             .min_inputs = 2,
             .max_inputs = 5,
             .shape = [](const NodeView& v) -> std::vector<ValueType> {
               ValueType channels{v.dtype(0), {v.dim(0, 1)}};
               return {v.type(1), channels, channels};
             }});
  table.add({.name = "layer_norm",
             .summary = "(x - mean) * rstd * w + b over the last dimension",
             .max_inputs = 3,
             .shape = layer_norm_shape,
             .vjp = layer_norm_vjp,
             .array = array_members,
             .trait = "members"});
  table.add({.name = "layer_norm_backward",
             .summary = "dx, dw, db from (dy, x, w, mean, rstd)",
             .min_inputs = 2,
             .max_inputs = 5,
             .shape = [](const NodeView& v) -> std::vector<ValueType> {
               Shape shape{v.dim(0, -1)};
               if (v.members() > 0) shape.insert(shape.begin(), v.members());
               ValueType affine{v.dtype(0), shape};
               return {v.type(1), affine, affine};
             },
             .in_place = {{0, 0}}});
}

}  // namespace braid
