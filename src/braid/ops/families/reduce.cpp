// Reductions over listed dimensions. In the graph `dims` has no negative ones
// and an empty list reduces nothing; builders read an empty list as all.
#include <algorithm>

#include "braid/ops/build/functions.h"
#include "braid/ops/core/dim_rules.h"
#include "braid/ops/core/families.h"
#include "braid/ops/core/merged.h"
#include "braid/ops/core/traits.h"

namespace braid {
namespace {

using TypeRule = DType (*)(const NodeView&);
using Vjp = std::function<void(VjpContext&)>;

bool contains(const Ints& dims, int64_t d) {
  return std::find(dims.begin(), dims.end(), d) != dims.end();
}

Shape reduced_shape(const NodeView& v) {
  const Ints& dims = v.attrs().ints("dims");
  for (int64_t d : dims) {
    if (d < 0 || d >= v.rank(0)) v.fail("dimension {} is outside", d);
    if (std::count(dims.begin(), dims.end(), d) > 1) {
      v.fail("dimension {} is listed twice", d);
    }
  }
  Shape shape;
  for (int64_t d = 0; d < v.rank(0); ++d) {
    if (!contains(dims, d)) {
      shape.push_back(v.dim(0, d));
    } else if (v.attrs().flag("keep_dims")) {
      shape.push_back(1);
    }
  }
  return shape;
}

DType float_type(const NodeView& v) {
  if (!is_floating(v.dtype(0)))
    v.fail("{} is no float", dtype_name(v.dtype(0)));
  return v.dtype(0);
}

// Whole numbers are added up in i64.
DType sum_type(const NodeView& v) {
  return is_floating(v.dtype(0)) ? v.dtype(0) : DType::kInt64;
}

DType same_type(const NodeView& v) {
  for (int64_t d : v.attrs().ints("dims")) {
    if (v.dim(0, d) == 0) v.fail("dimension {} is empty", d);
  }
  return v.dtype(0);
}

DType truth_type(const NodeView& v) {
  return v.dtype(0) == DType::kUInt8 ? DType::kUInt8 : DType::kBool;
}

DType count_type(const NodeView&) { return DType::kInt64; }

// A reduced value spread over the reduced dimensions.
Var spread(VjpContext& c, Var y) {
  Shape kept = c.in(0).shape();
  for (int64_t d : c.attrs().ints("dims")) kept[static_cast<size_t>(d)] = 1;
  return expand(reshape(y, kept), c.in(0).shape());
}

// What is spatial goes where it lies. With the channels or the batch, members
// step out of the channels first, which costs nothing.
void array_reduce(ArrayContext& c) {
  Attrs attrs = c.attrs();
  const Ints& dims = attrs.ints("dims");
  if (c.member_axis(0) != MemberAxis::kMerged) {
    attrs.set("dims", shift_dims(dims));
    return array_shifted(c, attrs);
  }
  if (!contains(dims, 0) && !contains(dims, 1)) return array_merged(c);
  Ints moved;  // in [N, B, C, S]
  for (int64_t d : dims) moved.push_back(d == 0 ? 0 : d + 1);
  attrs.set("dims", moved);
  bool batch_left = !contains(dims, 0) || attrs.flag("keep_dims");
  Var y =
      apply(*c.one().node().op, {split_channels(c.in(0), c.members())}, attrs);
  c.emit(0, batch_left ? transpose(y, 0, 1) : y, MemberAxis::kLeading);
}

Op reduce_op(std::string name, std::string summary, TypeRule dtype,
             Vjp vjp = {}) {
  return {.name = std::move(name),
          .summary = std::move(summary),
          .shape = [dtype](const NodeView& v) -> std::vector<ValueType> {
            Shape shape = reduced_shape(v);
            return {{dtype(v), shape}};
          },
          .vjp = std::move(vjp),
          .array = array_reduce,
          .array_rule = ArrayRule::kShiftDims,
          .cost =
              [](const NodeView& v) {
                return Cost{to_number(num_elements(v.shape(0))), 0};
              }};
}

// Backward ops take (dy, x) and, where their formula needs it, y.
Op backward_op(std::string name, std::string summary) {
  return {.name = std::move(name),
          .summary = std::move(summary),
          .min_inputs = 2,
          .max_inputs = 3,
          .shape = [](const NodeView& v) -> std::vector<ValueType> {
            return {v.type(1)};
          }};
}

// dx from (dy, x, y) by the op `name`.
Vjp by_op(const std::string& name) {
  return [name](VjpContext& c) {
    c.give(0, apply(name, {c.grad(0), c.in(0), c.out(0)}, c.attrs()));
  };
}

void mean_vjp(VjpContext& c) {
  double count = 1;
  for (int64_t d : c.attrs().ints("dims")) count *= to_number(c.in(0).dim(d));
  c.give(0, spread(c, mul_scalar(c.grad(0), 1 / count)));
}

void var_vjp(VjpContext& c) {
  c.give(0, apply("var_backward", {c.grad(0), c.in(0)}, c.attrs()));
}

void logsumexp_vjp(VjpContext& c) {
  Var share = exp(sub(c.in(0), spread(c, c.out(0))));
  c.give(0, mul(spread(c, c.grad(0)), share));
}

Var reduce(const char* op, Var x, Ints dims, bool keep_dims, Attrs attrs = {}) {
  attrs.set("dims", all_dims(x, std::move(dims), op));
  attrs.set("keep_dims", keep_dims);
  return apply(op, {x}, std::move(attrs));
}

}  // namespace

void add_reduce_ops(OpTable& table) {
  table.add(reduce_op("sum", "sum over dims; of whole numbers in i64", sum_type,
                      [](VjpContext& c) { c.give(0, spread(c, c.grad(0))); }));
  table.add(reduce_op("mean", "mean over dims", float_type, mean_vjp));
  table.add(reduce_op("var", "sum of (x - mean)^2 / (count - correction)",
                      float_type, var_vjp));
  table.add(reduce_op("std", "root of var", float_type, by_op("var_backward")));
  table.add(reduce_op("amax", "largest over dims; ties share the gradient",
                      same_type, by_op("amax_backward")));
  table.add(reduce_op("amin", "smallest over dims; ties share the gradient",
                      same_type, by_op("amax_backward")));
  table.add(reduce_op("logsumexp", "ln of the sum of e^x over dims", float_type,
                      logsumexp_vjp));
  table.add(reduce_op("linalg_vector_norm", "(sum of |x|^ord)^(1/ord)",
                      float_type, by_op("linalg_vector_norm_backward")));
  table.add(reduce_op("any", "whether one is not 0", truth_type));
  table.add(reduce_op("all", "whether none is 0", truth_type));
  table.add(reduce_op("count_nonzero", "how many are not 0", count_type));
  table.add(backward_op("var_backward",
                        "dy * 2 (x - mean) / (count - correction); of std "
                        "when y is given"));
  table.add(
      backward_op("amax_backward", "dy / number of ties where x = y, else 0"));
  table.add(backward_op("linalg_vector_norm_backward",
                        "dy * d norm / dx; 0 where the norm is 0"));
}

Var sum(Var x, Ints dims, bool keep_dims) {
  return reduce("sum", x, std::move(dims), keep_dims);
}

Var mean(Var x, Ints dims, bool keep_dims) {
  return reduce("mean", x, std::move(dims), keep_dims);
}

Var variance(Var x, Ints dims, double correction, bool keep_dims) {
  return reduce("var", x, std::move(dims), keep_dims,
                {{"correction", correction}});
}

Var stddev(Var x, Ints dims, double correction, bool keep_dims) {
  return reduce("std", x, std::move(dims), keep_dims,
                {{"correction", correction}});
}

Var amax(Var x, Ints dims, bool keep_dims) {
  return reduce("amax", x, std::move(dims), keep_dims);
}

Var amin(Var x, Ints dims, bool keep_dims) {
  return reduce("amin", x, std::move(dims), keep_dims);
}

Var any(Var x, Ints dims, bool keep_dims) {
  return reduce("any", x, std::move(dims), keep_dims);
}

Var all(Var x, Ints dims, bool keep_dims) {
  return reduce("all", x, std::move(dims), keep_dims);
}

Var count_nonzero(Var x, Ints dims) {
  return reduce("count_nonzero", x, std::move(dims), false);
}

Var logsumexp(Var x, Ints dims, bool keep_dims) {
  return reduce("logsumexp", x, std::move(dims), keep_dims);
}

Var vector_norm(Var x, double ord, Ints dims, bool keep_dims) {
  return reduce("linalg_vector_norm", x, std::move(dims), keep_dims,
                {{"ord", ord}});
}

}  // namespace braid
