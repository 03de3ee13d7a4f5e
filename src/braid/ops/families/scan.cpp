// Reductions and running results along one dimension.
#include "braid/ops/build/functions.h"
#include "braid/ops/core/dim_rules.h"
#include "braid/ops/core/families.h"
#include "braid/ops/core/traits.h"

namespace braid {
namespace {

DType wide_type(const NodeView& v) {
  return is_floating(v.dtype(0)) ? v.dtype(0) : DType::kInt64;
}

std::vector<ValueType> scan_shape(const NodeView& v) {
  checked_dim(v);
  return {{wide_type(v), v.shape(0)}};
}

std::vector<ValueType> prod_shape(const NodeView& v) {
  return {{wide_type(v), dim_reduced(v)}};
}

std::vector<ValueType> place_shape(const NodeView& v) {
  if (v.dim(0, checked_dim(v)) == 0) v.fail("the dimension is empty");
  return {{DType::kInt64, dim_reduced(v)}};
}

Op along_op(std::string name, std::string summary, Op::ShapeRule shape,
            std::function<void(VjpContext&)> vjp = {}) {
  return {.name = std::move(name),
          .summary = std::move(summary),
          .shape = std::move(shape),
          .vjp = std::move(vjp),
          .array = array_dim,
          .array_rule = ArrayRule::kShiftDims,
          .cost = [](const NodeView& v) {
            return Cost{to_number(num_elements(v.shape(0))), 0};
          }};
}

Op backward_op(std::string name, std::string summary) {
  return {.name = std::move(name),
          .summary = std::move(summary),
          .min_inputs = 2,
          .max_inputs = 2,
          .shape = [](const NodeView& v) -> std::vector<ValueType> {
            return {v.type(1)};
          }};
}

void cumsum_vjp(VjpContext& c) {
  int64_t dim = c.attrs().integer("dim");
  c.give(0, flip(cumsum(flip(c.grad(0), {dim}), dim), {dim}));
}

void prod_vjp(VjpContext& c) {
  c.give(0, apply("prod_backward", {c.grad(0), c.in(0)}, c.attrs()));
}

void cumprod_vjp(VjpContext& c) {
  c.give(0, apply("cumprod_backward", {c.grad(0), c.in(0)}, c.attrs()));
}

Var reduce(const char* op, Var x, int64_t dim, bool keep_dims) {
  return apply_along(op, {x}, dim, {{"keep_dims", keep_dims}})[0];
}

// Neighbours subtracted; truth values differ when their numbers do.
Var differences(Var x, int64_t dim) {
  int64_t size = x.dim(dim);
  bool truth = x.dtype() == DType::kBool;
  if (truth) x = cast(x, DType::kInt32);
  Var y = sub(slice(x, dim, 1, size), slice(x, dim, 0, size - 1));
  return truth ? cast(y, DType::kBool) : y;
}

}  // namespace

void add_scan_ops(OpTable& table) {
  table.add(along_op("prod", "product along a dim; of whole numbers in i64",
                     prod_shape, prod_vjp));
  table.add(
      along_op("cumsum", "running sum along a dim", scan_shape, cumsum_vjp));
  table.add(along_op("cumprod", "running product along a dim", scan_shape,
                     cumprod_vjp));
  table.add(along_op("argmax", "place of the largest, the first of equals",
                     place_shape));
  table.add(along_op("argmin", "place of the smallest, the first of equals",
                     place_shape));
  table.add(backward_op("prod_backward", "dy * product of the others"));
  table.add(backward_op("cumprod_backward",
                        "sum over later dy times the products without x"));
}

Var prod(Var x) { return prod(reshape(x, {-1}), 0); }
Var prod(Var x, int64_t dim, bool keep_dims) {
  return reduce("prod", x, dim, keep_dims);
}
Var argmax(Var x) { return argmax(reshape(x, {-1}), 0); }
Var argmax(Var x, int64_t dim, bool keep_dims) {
  return reduce("argmax", x, dim, keep_dims);
}
Var argmin(Var x) { return argmin(reshape(x, {-1}), 0); }
Var argmin(Var x, int64_t dim, bool keep_dims) {
  return reduce("argmin", x, dim, keep_dims);
}
Var cumsum(Var x, int64_t dim) { return apply_along("cumsum", {x}, dim)[0]; }
Var cumprod(Var x, int64_t dim) { return apply_along("cumprod", {x}, dim)[0]; }

Var diff(Var x, int64_t dim, int64_t n) {
  dim = normalize_dim(dim, x.rank(), "diff");
  for (int64_t i = 0; i < n && x.dim(dim) > 0; ++i) x = differences(x, dim);
  return x;
}

}  // namespace braid
