// Values put to places given by an index along one dimension, and views
// written back. src has the shape of index.
#include <algorithm>

#include "braid/ops/build/functions.h"
#include "braid/ops/core/dim_rules.h"
#include "braid/ops/core/families.h"
#include "braid/ops/core/traits.h"

namespace braid {
namespace {

std::vector<ValueType> scatter_shape(const NodeView& v) {
  expect_index_fits(v);
  if (v.has(2) && v.type(2) != ValueType{v.dtype(0), v.shape(1)}) {
    v.fail("src is {} {}, expected {} {}", dtype_name(v.dtype(2)),
           shape_text(v.shape(2)), dtype_name(v.dtype(0)),
           shape_text(v.shape(1)));
  }
  return {v.type(0)};
}

std::vector<ValueType> scatter_reduce_shape(const NodeView& v) {
  const std::string& reduce = v.attrs().text("reduce");
  if (reduce != "sum" && reduce != "mean" && reduce != "amax" &&
      reduce != "amin") {
    v.fail("unknown reduction '{}'", reduce);
  }
  if (!is_floating(v.dtype(0)) && reduce == "mean") {
    v.fail("{} is no float", dtype_name(v.dtype(0)));
  }
  v.attrs().flag("include_self");
  return scatter_shape(v);
}

Op scatter_op(std::string name, std::string summary, size_t inputs,
              std::function<void(VjpContext&)> vjp) {
  return {.name = std::move(name),
          .summary = std::move(summary),
          .min_inputs = inputs,
          .max_inputs = inputs,
          .shape = scatter_shape,
          .vjp = std::move(vjp),
          .array = array_dim,
          .array_rule = ArrayRule::kShiftDims,
          .in_place = {{0, 0}}};
}

Attrs only_dim(VjpContext& c) { return {{"dim", c.attrs().integer("dim")}}; }

Var taken(VjpContext& c) {
  return apply("gather", {c.grad(0), c.in(1)}, only_dim(c));
}

Var cleared(VjpContext& c) {
  Attrs attrs = only_dim(c);
  return apply("scatter_value", {c.grad(0), c.in(1)}, attrs.set("value", 0.0));
}

void scatter_vjp(VjpContext& c) {
  if (c.needs(0)) c.give(0, cleared(c));
  if (c.needs(2)) c.give(2, taken(c));
}

void scatter_add_vjp(VjpContext& c) {
  if (c.needs(0)) c.give(0, c.grad(0));
  if (c.needs(2)) c.give(2, taken(c));
}

void scatter_reduce_vjp(VjpContext& c) {
  auto grads =
      apply_all("scatter_reduce_backward",
                {c.grad(0), c.in(0), c.in(1), c.in(2), c.out(0)}, c.attrs());
  if (c.needs(0)) c.give(0, grads[0]);
  if (c.needs(2)) c.give(2, grads[1]);
}

std::vector<ValueType> slice_scatter_shape(const NodeView& v) {
  int64_t dim = checked_dim(v);
  const Attrs& a = v.attrs();
  int64_t start = a.integer("start"), end = a.integer("end");
  int64_t step = a.integer("step");
  if (start < 0 || end < start || end > v.dim(0, dim) || step < 1) {
    v.fail("no slice {}:{}:{} of {}", start, end, step, v.dim(0, dim));
  }
  Shape shape = v.shape(0);
  shape[static_cast<size_t>(dim)] = (end - start + step - 1) / step;
  if (v.type(1) != ValueType{v.dtype(0), shape}) {
    v.fail("src is {} {}, expected {} {}", dtype_name(v.dtype(1)),
           shape_text(v.shape(1)), dtype_name(v.dtype(0)), shape_text(shape));
  }
  return {v.type(0)};
}

void slice_scatter_vjp(VjpContext& c) {
  if (c.needs(0)) {
    Var zeros = full_like(c.grad(0), c.in(1).shape(), 0);
    c.give(0, apply("slice_scatter", {c.grad(0), zeros}, c.attrs()));
  }
  if (c.needs(1)) c.give(1, apply("slice", {c.grad(0)}, c.attrs()));
}

// The part of src that the index covers; the rest is not read.
Var covered(Var src, Var index) {
  for (int64_t d = 0; d < index.rank(); ++d) {
    if (src.dim(d) != index.dim(d)) src = slice(src, d, 0, index.dim(d));
  }
  return src;
}

Var scatter_from(const char* op, Var x, int64_t dim, Var index, Var src,
                 Attrs attrs = {}) {
  index = cast(index, DType::kInt64);
  return apply_along(op, {x, index, covered(src, index)}, dim,
                     std::move(attrs))[0];
}

}  // namespace

void add_scatter_ops(OpTable& table) {
  table.add(scatter_op("scatter",
                       "x with src at index along a dim; the last of equal "
                       "places stays",
                       3, scatter_vjp));
  table.add(scatter_op("scatter_value", "x with a number at index along a dim",
                       2, [](VjpContext& c) { c.give(0, cleared(c)); }));
  table.add(scatter_op("scatter_add", "x with src added at index along a dim",
                       3, scatter_add_vjp));
  Op reduce = scatter_op("scatter_reduce",
                         "x with src summed, averaged or compared at index "
                         "along a dim",
                         3, scatter_reduce_vjp);
  reduce.shape = scatter_reduce_shape;
  reduce.in_place = {};
  table.add(reduce);
  table.add({.name = "scatter_reduce_backward",
             .summary = "dx, dsrc from (dy, x, index, src, y)",
             .min_inputs = 5,
             .max_inputs = 5,
             .shape = [](const NodeView& v) -> std::vector<ValueType> {
               return {v.type(1), v.type(3)};
             }});
  table.add({.name = "slice_scatter",
             .summary = "x with src in place of a slice",
             .min_inputs = 2,
             .max_inputs = 2,
             .shape = slice_scatter_shape,
             .vjp = slice_scatter_vjp,
             .array = array_dim,
             .array_rule = ArrayRule::kShiftDims,
             .in_place = {{0, 0}}});
}

Var scatter(Var x, int64_t dim, Var index, Var src) {
  return scatter_from("scatter", x, dim, index, src);
}

Var scatter_value(Var x, int64_t dim, Var index, double value) {
  return apply_along("scatter_value", {x, cast(index, DType::kInt64)}, dim,
                     {{"value", value}})[0];
}

Var scatter_add(Var x, int64_t dim, Var index, Var src) {
  return scatter_from("scatter_add", x, dim, index, src);
}

Var scatter_reduce(Var x, int64_t dim, Var index, Var src, std::string reduce,
                   bool include_self) {
  return scatter_from(
      "scatter_reduce", x, dim, index, src,
      {{"reduce", std::move(reduce)}, {"include_self", include_self}});
}

Var slice_scatter(Var x, Var src, int64_t dim, int64_t start, int64_t end,
                  int64_t step) {
  dim = normalize_dim(dim, x.rank(), "slice_scatter");
  int64_t size = x.dim(dim);
  auto clamp = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
  };
  start = clamp(start);
  end = std::max(clamp(end), start);
  return apply("slice_scatter", {x, src},
               {{"dim", dim}, {"start", start}, {"end", end}, {"step", step}});
}

Var select_scatter(Var x, Var src, int64_t dim, int64_t index) {
  dim = normalize_dim(dim, x.rank(), "select_scatter");
  index = normalize_dim(index, x.dim(dim), "select_scatter");
  return slice_scatter(x, unsqueeze(src, dim), dim, index, index + 1);
}

}  // namespace braid
