// Clamping, interpolation, and sums with a product or a quotient.
#include "braid/ops/build/functions.h"
#include "braid/ops/core/promotion.h"
#include "braid/ops/core/traits.h"
#include "braid/ops/families/math.h"

namespace braid {
namespace {

std::vector<ValueType> clamp_type(const NodeView& v) {
  bool limited = v.attrs().has("min") || v.attrs().has("max");
  if (!limited) v.fail("needs min or max");
  DType dtype = common_dtype(v, 0, {"min", "max"});
  expect_no_bool(v, dtype);
  return {{dtype, v.shape(0)}};
}

// The gradient flows where x lies between its limits, both included.
void clamp_vjp(VjpContext& c) {
  Var inside;
  auto limit = [&](const char* name, auto compare) {
    if (!c.attrs().has(name)) return;
    Var one = compare(c.in(0), c.attrs().number(name));
    inside = inside ? logical_and(inside, one) : one;
  };
  limit("min", [](Var x, double v) { return ge_scalar(x, v); });
  limit("max", [](Var x, double v) { return le_scalar(x, v); });
  c.give(0, where(inside, c.grad(0), 0.0));
}

std::vector<ValueType> clamp_tensor_type(const NodeView& v) {
  if (!v.has(1) && !v.has(2)) v.fail("needs min or max");
  DType dtype = common_dtype(v);
  expect_no_bool(v, dtype);
  return {{dtype, common_shape(v)}};
}

Var both(Var a, Var b) {
  if (!a || !b) return a ? a : b;
  return logical_and(a, b);
}

// Where limits cross, max has the last word, as in the value.
void clamp_tensor_vjp(VjpContext& c) {
  Var dy = c.grad(0), x = c.in(0), low = c.in(1), high = c.in(2);
  if (c.needs(0)) {
    Var inside = both(low ? ge(x, low) : Var{}, high ? le(x, high) : Var{});
    give_summed(c, 0, where(inside, dy, 0.0));
  }
  if (c.needs(1)) {
    Var taken = both(lt(x, low), high ? lt(low, high) : Var{});
    give_summed(c, 1, where(taken, dy, 0.0));
  }
  if (c.needs(2)) {
    Var taken = gt(x, high);
    if (low) taken = logical_or(taken, lt(high, low));
    give_summed(c, 2, where(taken, dy, 0.0));
  }
}

Op clamp_tensor_op() {
  Op op = pointwise_op("clamp_tensor", "x held between min and max", 3,
                       clamp_tensor_type, clamp_tensor_vjp);
  op.min_inputs = 1;
  op.array = [](ArrayContext& c) { array_promoted(c, 0, {}); };
  return op;
}

std::vector<ValueType> lerp_type(const NodeView& v) {
  expect_float(v);
  for (size_t i = 1; i < v.count(); ++i) {
    if (v.dtype(i) != v.dtype(0)) v.fail("inputs 0 and {} differ in type", i);
  }
  if (v.count() == 2) v.attrs().number("weight");
  return {{v.dtype(0), common_shape(v)}};
}

void lerp_scalar_vjp(VjpContext& c) {
  double weight = c.attrs().number("weight");
  if (c.needs(0)) give_summed(c, 0, mul_scalar(c.grad(0), 1 - weight));
  if (c.needs(1)) give_summed(c, 1, mul_scalar(c.grad(0), weight));
}

void lerp_vjp(VjpContext& c) {
  Var dy = c.grad(0), weight = c.in(2);
  if (c.needs(0)) give_summed(c, 0, mul(dy, rsub_scalar(weight, 1.0)));
  if (c.needs(1)) give_summed(c, 1, mul(dy, weight));
  if (c.needs(2)) give_summed(c, 2, mul(dy, sub(c.in(1), c.in(0))));
}

std::vector<ValueType> addcmul_type(const NodeView& v) {
  v.attrs().number("value");
  DType dtype = common_dtype(v);
  expect_no_bool(v, dtype);
  return {{dtype, common_shape(v)}};
}

std::vector<ValueType> addcdiv_type(const NodeView& v) {
  if (!is_floating(v.dtype(1)) && !is_floating(v.dtype(2))) {
    v.fail("does not divide integers");
  }
  return addcmul_type(v);
}

void addcmul_vjp(VjpContext& c) {
  double value = c.attrs().number("value");
  Var dy = c.grad(0);
  if (c.needs(0)) give_summed(c, 0, dy);
  if (c.needs(1)) give_summed(c, 1, mul(dy, mul_scalar(c.in(2), value)));
  if (c.needs(2)) give_summed(c, 2, mul(dy, mul_scalar(c.in(1), value)));
}

void addcdiv_vjp(VjpContext& c) {
  double value = c.attrs().number("value");
  Var dy = c.grad(0), a = c.in(1), b = c.in(2);
  if (c.needs(0)) give_summed(c, 0, dy);
  if (c.needs(1)) give_summed(c, 1, mul_scalar(div(dy, b), value));
  if (c.needs(2)) {
    Var slope = div(mul_scalar(a, -value), mul(b, b));
    give_summed(c, 2, mul(dy, slope));
  }
}

}  // namespace

void add_range_math(OpTable& table) {
  table.add(pointwise_op("clamp", "x held between the numbers min and max", 1,
                         clamp_type, clamp_vjp));
  table.add(clamp_tensor_op());
  table.add(
      pointwise_op("lerp", "a + weight * (b - a)", 3, lerp_type, lerp_vjp));
  table.add(pointwise_op("lerp_scalar", "a + weight * (b - a)", 2, lerp_type,
                         lerp_scalar_vjp));
  table.add(pointwise_op("addcmul", "a + value * b * c", 3, addcmul_type,
                         addcmul_vjp));
  table.add(pointwise_op("addcdiv", "a + value * b / c", 3, addcdiv_type,
                         addcdiv_vjp));
}

}  // namespace braid
