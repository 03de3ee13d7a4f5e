// Values picked by their order along one dimension, and where they stood.
// Gradients go back to the places.
#include "braid/ops/build/functions.h"
#include "braid/ops/core/dim_rules.h"
#include "braid/ops/core/families.h"
#include "braid/ops/core/traits.h"

namespace braid {
namespace {

std::vector<ValueType> values_and_places(const NodeView& v, Shape shape) {
  return {{v.dtype(0), shape}, {DType::kInt64, shape}};
}

std::vector<ValueType> extreme_shape(const NodeView& v) {
  if (v.dim(0, checked_dim(v)) == 0) v.fail("the dimension is empty");
  return values_and_places(v, dim_reduced(v));
}

std::vector<ValueType> sort_shape(const NodeView& v) {
  checked_dim(v);
  return values_and_places(v, v.shape(0));
}

std::vector<ValueType> topk_shape(const NodeView& v) {
  auto dim = static_cast<size_t>(checked_dim(v));
  int64_t k = v.attrs().integer("k");
  Shape shape = v.shape(0);
  if (k < 0 || k > shape[dim]) v.fail("{} of {} entries", k, shape[dim]);
  shape[dim] = k;
  return values_and_places(v, shape);
}

// dx is dy at the places that the values came from.
void picked_vjp(VjpContext& c) {
  Shape picked = c.in(0).shape();
  int64_t dim = c.attrs().integer("dim");
  bool reduced = c.attrs().has("keep_dims");
  int64_t count = reduced ? 1 : c.out(0).dim(dim);
  picked[static_cast<size_t>(dim)] = count;
  c.give(0, apply("gather_backward",
                  {reshape(c.grad(0), picked), reshape(c.out(1), picked)},
                  {{"dim", dim}, {"shape", c.in(0).shape()}}));
}

Op order_op(std::string name, std::string summary, Op::ShapeRule shape) {
  return {.name = std::move(name),
          .summary = std::move(summary),
          .shape = std::move(shape),
          .vjp = picked_vjp,
          .array = array_dim,
          .array_rule = ArrayRule::kShiftDims};
}

Picked picked(std::vector<Var> outputs) { return {outputs[0], outputs[1]}; }

}  // namespace

void add_sort_ops(OpTable& table) {
  Op largest =
      order_op("max", "largest along a dim; also its place", extreme_shape);
  largest.kind = OpKind::kMaxPool;
  table.add(std::move(largest));
  table.add(
      order_op("min", "smallest along a dim; also its place", extreme_shape));
  table.add(order_op("topk",
                     "the k largest or smallest along a dim; also "
                     "their places",
                     topk_shape));
  table.add(order_op("sort",
                     "in order along a dim, equals as they stood; "
                     "also their places",
                     sort_shape));
}

Picked max(Var x, int64_t dim, bool keep_dims) {
  return picked(apply_along("max", {x}, dim, {{"keep_dims", keep_dims}}));
}

Picked min(Var x, int64_t dim, bool keep_dims) {
  return picked(apply_along("min", {x}, dim, {{"keep_dims", keep_dims}}));
}

Picked topk(Var x, int64_t k, int64_t dim, bool largest, bool sorted) {
  return picked(apply_along(
      "topk", {x}, dim, {{"k", k}, {"largest", largest}, {"sorted", sorted}}));
}

Picked sort(Var x, int64_t dim, bool descending) {
  return picked(apply_along("sort", {x}, dim, {{"descending", descending}}));
}

Var argsort(Var x, int64_t dim, bool descending) {
  return sort(x, dim, descending).indices;
}

}  // namespace braid
