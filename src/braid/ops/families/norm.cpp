// Batch, layer, group and root mean square normalisation. Instance and weight
// norm are built from these and other ops (norm_functions.cpp).
// N batch, C channels or last dimension, S everything after C, R rows, G
// groups.
#include "braid/ops/build/functions.h"
#include "braid/ops/core/families.h"
#include "braid/ops/core/promotion.h"
#include "braid/ops/core/traits.h"

namespace braid {
namespace {

// [C] of x[N, C, S] or, where members are apart, [B, C] of x[B, N, C, S].
Shape channels_of(const NodeView& v, size_t i) {
  v.expect_members(i);
  if (v.members() == 0) return {v.dim(i, 1)};
  return {v.members(), v.dim(i, 2)};
}

// Numbers of the channels of input x: inputs from `first` on, if there, and
// results. Of a narrow x they are f32, unless some are given in its type.
ValueType channel_type(const NodeView& v, size_t x, size_t first) {
  DType dtype = item_bytes(v.dtype(x)) < 4 ? DType::kFloat32 : v.dtype(x);
  for (size_t i = first; i < v.count(); ++i) {
    if (v.has(i) && v.dtype(i) == v.dtype(x)) dtype = v.dtype(x);
  }
  return {dtype, channels_of(v, x)};
}

void check_channels(const NodeView& v, size_t x, size_t first) {
  if (v.rank(x) < (v.members() > 0 ? 3 : 2)) {
    v.fail("the input needs two dimensions");
  }
  ValueType channels = channel_type(v, x, first);
  for (size_t i = first; i < v.count(); ++i) {
    if (v.has(i) && v.type(i) != channels) {
      v.fail("input {} is {} {}, expected {} {}", i, dtype_name(v.dtype(i)),
             shape_text(v.shape(i)), dtype_name(channels.dtype),
             shape_text(channels.shape));
    }
  }
}

// Inputs x[N, C, S], w[C]?, b[C]?, running_mean[C]?, running_var[C]?.
// Outputs y, mean[C], rstd[C] and, in training with running statistics, the
// two new ones.
std::vector<ValueType> batch_norm_shape(const NodeView& v) {
  check_channels(v, 0, 1);
  bool training = v.attrs().flag("training");
  if (!training && !(v.has(3) && v.has(4))) {
    v.fail("the eval form needs running statistics");
  }
  std::vector<ValueType> types(training && v.has(3) ? 5 : 3,
                               channel_type(v, 0, 1));
  types[0] = v.type(0);
  return types;
}

// Inputs x[N, C, S], w[C]?, running_mean[C]?, running_var[C]?. Outputs mean,
// rstd, scale[C] and, with running statistics, the two new ones.
std::vector<ValueType> batch_norm_statistics_shape(const NodeView& v) {
  expect_float(v);
  check_channels(v, 0, 1);
  return std::vector<ValueType>(v.has(2) ? 5 : 3, channel_type(v, 0, 1));
}

// Inputs dy, x, w[C]?, mean[C], rstd[C]. Outputs dw, db, shift, slope and
// scale[C].
std::vector<ValueType> batch_norm_sums_shape(const NodeView& v) {
  expect_float(v);
  if (v.type(0) != v.type(1)) v.fail("the operands differ in type");
  check_channels(v, 1, 2);
  return std::vector<ValueType>(5, channel_type(v, 1, 2));
}

void batch_norm_vjp(VjpContext& c) {
  Attrs attrs{{"training", c.attrs().flag("training")}};
  int64_t members = c.attrs().integer_or("members", 0);
  if (members > 0) attrs.set("members", members);
  auto grads =
      apply_all("batch_norm_backward",
                {c.grad(0), c.in(0), c.in(1), c.out(1), c.out(2)}, attrs);
  for (size_t i = 0; i < 3; ++i) {
    if (c.needs(i)) c.give(i, grads[i]);
  }
}

// Channels of all members side by side; statistics are per channel anyway.
// Members that lead stay apart.
void batch_norm_array(ArrayContext& c) {
  if (c.member_axis(0) != MemberAxis::kMerged) return array_members(c);
  std::vector<Var> inputs{c.merged(0)};
  for (size_t i = 1; i < c.one().count(); ++i) inputs.push_back(c.rows(i));
  auto outputs = apply_all("batch_norm", inputs, c.attrs());
  c.emit(0, outputs[0], MemberAxis::kMerged);
  for (size_t i = 1; i < outputs.size(); ++i) {
    int64_t channels = outputs[i].dim(0) / c.members();
    c.emit(i, reshape(outputs[i], {c.members(), channels}),
           MemberAxis::kLeading);
  }
}

// x[..., C]; the other inputs are [C] or, in an array, [B, C].
void check_last_dim(const NodeView& v) {
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
}

// One number per row of x[..., C].
ValueType row_statistics(const NodeView& v) {
  Shape rows(v.shape(0).begin(), v.shape(0).end() - 1);
  rows.push_back(1);
  return {v.dtype(0), rows};
}

// The gradient of w or b: [C] or [B, C].
ValueType affine_gradient(const NodeView& v) {
  Shape shape{v.dim(0, -1)};
  if (v.members() > 0) shape.insert(shape.begin(), v.members());
  return {v.dtype(0), shape};
}

// Inputs x, w?, b?; outputs y, mean[R], rstd[R].
std::vector<ValueType> layer_norm_shape(const NodeView& v) {
  check_last_dim(v);
  return {v.type(0), row_statistics(v), row_statistics(v)};
}

void layer_norm_vjp(VjpContext& c) {
  auto grads =
      apply_all("layer_norm_backward",
                {c.grad(0), c.in(0), c.in(1), c.out(1), c.out(2)}, c.attrs());
  if (c.needs(0)) c.give(0, grads[0]);
  if (c.needs(1)) c.give(1, reshape(grads[1], c.in(1).shape()));
  if (c.needs(2)) c.give(2, reshape(grads[2], c.in(2).shape()));
}

// Inputs x, w?; outputs y, rstd[R].
std::vector<ValueType> rms_norm_shape(const NodeView& v) {
  check_last_dim(v);
  return {v.type(0), row_statistics(v)};
}

void rms_norm_vjp(VjpContext& c) {
  auto grads = apply_all("rms_norm_backward",
                         {c.grad(0), c.in(0), c.in(1), c.out(1)}, c.attrs());
  if (c.needs(0)) c.give(0, grads[0]);
  if (c.needs(1)) c.give(1, reshape(grads[1], c.in(1).shape()));
}

// Inputs x[N, C, S], w[C]?, b[C]?; outputs y, mean[N, G], rstd[N, G].
std::vector<ValueType> group_norm_shape(const NodeView& v) {
  if (v.rank(0) < 2) v.fail("the input needs two dimensions");
  int64_t groups = v.attrs().integer("num_groups"), channels = v.dim(0, 1);
  if (groups < 1 || channels % groups != 0) {
    v.fail("{} channels do not make {} groups", channels, groups);
  }
  for (size_t i = 1; i < v.count(); ++i) {
    if (v.has(i) && v.type(i) != ValueType{v.dtype(0), {channels}}) {
      v.fail("input {} is {} {}, expected {} {}", i, dtype_name(v.dtype(i)),
             shape_text(v.shape(i)), dtype_name(v.dtype(0)),
             shape_text({channels}));
    }
  }
  ValueType statistics{v.dtype(0), {v.dim(0, 0), groups}};
  return {v.type(0), statistics, statistics};
}

void group_norm_vjp(VjpContext& c) {
  auto grads =
      apply_all("group_norm_backward",
                {c.grad(0), c.in(0), c.in(1), c.out(1), c.out(2)}, c.attrs());
  for (size_t i = 0; i < 3; ++i) {
    if (c.needs(i)) c.give(i, grads[i]);
  }
}

// Groups of all members side by side. Without weights they may as well lie in
// the batch, which needs no copy of members that lead.
void group_norm_array(ArrayContext& c) {
  bool affine = c.has(1) || c.has(2);
  if (!affine && c.member_axis(0) != MemberAxis::kMerged)
    return array_folded(c);
  Attrs attrs = c.attrs();
  attrs.set("num_groups", attrs.integer("num_groups") * c.members());
  std::vector<Var> inputs{c.merged(0)};
  for (size_t i = 1; i < c.one().count(); ++i) inputs.push_back(c.rows(i));
  auto outputs = apply_all("group_norm", inputs, attrs);
  for (size_t i = 0; i < 3; ++i) c.emit(i, outputs[i], MemberAxis::kMerged);
}

std::vector<ValueType> channel_gradients(const NodeView& v) {
  ValueType channels = channel_type(v, 1, 2);
  return {v.type(1), channels, channels};
}

// A normalisation with weights per channel, and its gradient.
void add_channel_norm(OpTable& table, Op op) {
  std::string backward = op.name + "_backward";
  bool is_batch_norm = op.is(OpKind::kBatchNorm);
  op.array_rule = ArrayRule::kMergeChannels;
  table.add(std::move(op));
  table.add(
      {.name = std::move(backward),
       .summary = "dx, dw, db from (dy, x, w, mean, rstd)",
       .kind = is_batch_norm ? OpKind::kBatchNormBackward : OpKind::kGeneral,
       .min_inputs = 2,
       .max_inputs = 5,
       .shape = channel_gradients});
}

// What batch norm in training is made of where the rest of it is pointwise
// (passes/rewrite/split_norms.h).
void add_split_norm(OpTable& table) {
  table.add({.name = "batch_norm_statistics",
             .summary =
                 "mean, rstd and w * rstd of each channel of x[N, C, S]; "
                 "also new running statistics",
             .max_inputs = 4,
             .shape = batch_norm_statistics_shape,
             .in_place = {{3, 2}, {4, 3}}});
  table.add({.name = "batch_norm_sums",
             .summary = "dw, db and what dx = (dy - shift - (x - mean) * "
                        "slope) * scale needs, from (dy, x, w, mean, rstd)",
             .min_inputs = 2,
             .max_inputs = 5,
             .shape = batch_norm_sums_shape});
}

void add_rms_norm(OpTable& table) {
  table.add({.name = "rms_norm",
             .summary = "x[..., C] * (mean(x^2) + eps)^-0.5 * w[C]",
             .max_inputs = 2,
             .shape = rms_norm_shape,
             .vjp = rms_norm_vjp,
             .array = array_members,
             .array_rule = ArrayRule::kMembers});
  table.add({.name = "rms_norm_backward",
             .summary = "dx, dw from (dy, x, w, rstd)",
             .min_inputs = 2,
             .max_inputs = 4,
             .shape = [](const NodeView& v) -> std::vector<ValueType> {
               return {v.type(1), affine_gradient(v)};
             }});
}

}  // namespace

void add_norm_ops(OpTable& table) {
  add_channel_norm(table,
                   {.name = "group_norm",
                    .summary = "(x - mean) * rstd * w[C] + b[C] over each of "
                               "num_groups groups of channels of x[N, C, S]",
                    .kind = OpKind::kGroupNorm,
                    .max_inputs = 3,
                    .shape = group_norm_shape,
                    .vjp = group_norm_vjp,
                    .array = group_norm_array});
  add_rms_norm(table);
  add_channel_norm(table,
                   {.name = "batch_norm",
                    .summary = "(x - mean) * rstd * w + b per channel; also "
                               "new running statistics",
                    .kind = OpKind::kBatchNorm,
                    .max_inputs = 5,
                    .shape = batch_norm_shape,
                    .vjp = batch_norm_vjp,
                    .array = batch_norm_array});
  add_split_norm(table);
  table.add({.name = "layer_norm",
             .summary = "(x - mean) * rstd * w + b over the last dimension",
             .max_inputs = 3,
             .shape = layer_norm_shape,
             .vjp = layer_norm_vjp,
             .array = array_members,
             .array_rule = ArrayRule::kMembers});
  table.add({.name = "layer_norm_backward",
             .summary = "dx, dw, db from (dy, x, w, mean, rstd)",
             .min_inputs = 2,
             .max_inputs = 5,
             .shape = [](const NodeView& v) -> std::vector<ValueType> {
               return {v.type(1), affine_gradient(v), affine_gradient(v)};
             },
             .in_place = {{0, 0}}});
}

}  // namespace braid
