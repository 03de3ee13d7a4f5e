#include "braid/ops/core/promotion.h"

#include <algorithm>

#include "braid/base/promote.h"
#include "braid/ops/build/functions.h"
#include "braid/ops/core/channels_last.h"
#include "braid/ops/core/traits.h"

namespace braid {
namespace {

using MaybeDType = std::optional<DType>;

void widen(MaybeDType& dtype, DType other) {
  dtype = dtype ? promote(*dtype, other) : other;
}

// `minor` decides only when its category is higher.
MaybeDType combine(MaybeDType major, MaybeDType minor) {
  if (!major) return minor;
  if (!minor) return major;
  return promote(*major, false, *minor, true);
}

DType number_dtype(const Attr& number) {
  if (std::holds_alternative<bool>(number)) return DType::kBool;
  if (std::holds_alternative<int64_t>(number)) return DType::kInt64;
  return DType::kFloat32;
}

// [B, ...] with ones after B, so that it broadcasts to `rank` member dims.
Var lift(ArrayContext& c, size_t i, int64_t rank) {
  if (c.shared(i)) return c.in(i);
  Var x = c.leading(i);
  Shape shape = x.shape();
  shape.insert(shape.begin() + 1, static_cast<size_t>(rank + 1 - x.rank()), 1);
  return reshape(x, shape);
}

}  // namespace

DType common_dtype(const NodeView& v, size_t first,
                   std::initializer_list<std::string_view> attrs) {
  MaybeDType tensors, scalars, numbers;
  for (size_t i = first; i < v.count(); ++i) {
    if (v.has(i)) widen(v.rank(i) > 0 ? tensors : scalars, v.dtype(i));
  }
  for (std::string_view name : attrs) {
    if (const Attr* a = v.attrs().find(name)) widen(numbers, number_dtype(*a));
  }
  MaybeDType common = combine(tensors, combine(scalars, numbers));
  if (!common) v.fail("there is no operand");
  return *common;
}

Shape common_shape(const NodeView& v) {
  Shape shape;
  for (size_t i = 0; i < v.count(); ++i) {
    if (!v.has(i)) continue;
    shape = broadcast_shapes(shape, v.shape(i), v.node().op->name.c_str());
  }
  return shape;
}

DType float_dtype(DType dtype) {
  return is_floating(dtype) ? dtype : DType::kFloat32;
}

void expect_float(const NodeView& v, size_t i) {
  if (is_floating(v.dtype(i))) return;
  v.fail("input {} is {}, expected a float", i, dtype_name(v.dtype(i)));
}

void expect_no_bool(const NodeView& v, DType dtype) {
  if (dtype == DType::kBool) v.fail("does not work on bools");
}

void expect_integer(const NodeView& v, DType dtype) {
  if (!is_floating(dtype)) return;
  v.fail("works on integers, got {}", dtype_name(dtype));
}

std::vector<ValueType> same_number_type(const NodeView& v) {
  expect_no_bool(v, v.dtype(0));
  return {v.type(0)};
}

std::vector<ValueType> same_float_type(const NodeView& v) {
  expect_float(v);
  return {v.type(0)};
}

std::vector<ValueType> broadcast_type(const NodeView& v) {
  return {{common_dtype(v), common_shape(v)}};
}

std::vector<ValueType> broadcast_float_type(const NodeView& v) {
  return {{float_dtype(common_dtype(v)), common_shape(v)}};
}

void array_promoted(ArrayContext& c, size_t first,
                    std::initializer_list<std::string_view> attrs) {
  NodeView one = c.one();
  if (one.count() == 1) return array_pointwise(c);
  auto rank = static_cast<int64_t>(one.output(0).type.shape.size());
  DType common = common_dtype(one, first, attrs);
  std::vector<Var> inputs;
  for (size_t i = 0; i < one.count(); ++i) {
    inputs.push_back(c.has(i) ? lift(c, i, rank) : Var{});
    if (i < first || !c.has(i) || c.shared(i) || one.rank(i) > 0) continue;
    inputs.back() = cast(inputs.back(), common);
  }
  c.emit(0, apply(*one.node().op, inputs, c.attrs()), MemberAxis::kLeading);
}

void array_promoted(ArrayContext& c) {
  NodeView one = c.one();
  DType common = common_dtype(one);
  for (size_t i = 0; i < one.count(); ++i) {
    bool widened = one.rank(i) == 0 && one.dtype(i) != common;
    if (widened) return array_promoted(c, 0, {});
  }
  array_pointwise(c);
}

void give_summed(VjpContext& c, size_t i, Var gradient) {
  c.give(i, cast(sum_to(gradient, c.in(i).shape()), c.in(i).dtype()));
}

Op pointwise_op(std::string name, std::string summary, size_t inputs,
                Op::ShapeRule shape, Vjp vjp) {
  Op op{.name = std::move(name),
        .summary = std::move(summary),
        .min_inputs = inputs,
        .max_inputs = inputs,
        .shape = std::move(shape),
        .vjp = std::move(vjp),
        .array = [](ArrayContext& c) { array_promoted(c); },
        .array_rule = ArrayRule::kPointwise,
        .strides = strides_of_input,
        .pointwise = true};
  for (size_t i = 0; i < inputs; ++i) op.in_place.push_back({0, i});
  return op;
}

Op backward_op(std::string name, std::string summary, size_t inputs) {
  Op op = pointwise_op(std::move(name), std::move(summary), inputs,
                       shape_like_first);
  op.array = {};
  op.array_rule = ArrayRule::kNone;
  return op;
}

}  // namespace braid
