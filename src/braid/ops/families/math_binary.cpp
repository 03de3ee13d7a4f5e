// Elementary functions of two values. Operands broadcast and promote.
#include "braid/ops/build/functions.h"
#include "braid/ops/core/promotion.h"
#include "braid/ops/core/traits.h"
#include "braid/ops/families/math.h"

namespace braid {
namespace {

std::vector<ValueType> number_type(const NodeView& v) {
  DType dtype = common_dtype(v, 0, {"value"});
  expect_no_bool(v, dtype);
  return {{dtype, common_shape(v)}};
}

std::vector<ValueType> float_only_type(const NodeView& v) {
  DType dtype = common_dtype(v);
  if (!is_floating(dtype)) v.fail("works on floats, got {}", dtype_name(dtype));
  return {{dtype, common_shape(v)}};
}

void give_zero(VjpContext& c, size_t i) {
  c.give(i, full_like(c.in(i), c.in(i).shape(), 0));
}

std::vector<ValueType> pow_scalar_type(const NodeView& v) {
  std::vector<ValueType> types = number_type(v);
  bool negative = v.attrs().number("value") < 0;
  if (negative && !is_floating(types[0].dtype)) {
    v.fail("integers have no negative powers");
  }
  return types;
}

void pow_scalar_vjp(VjpContext& c) {
  double exponent = c.attrs().number("value");
  if (exponent == 0) return give_zero(c, 0);
  Var slope = mul_scalar(pow_scalar(c.in(0), exponent - 1), exponent);
  c.give(0, mul(c.grad(0), slope));
}

void pow_vjp(VjpContext& c) {
  Var dy = c.grad(0), base = c.in(0), exponent = c.in(1);
  if (c.needs(0)) {
    Var slope = mul(exponent, pow(base, add_scalar(exponent, -1)));
    give_summed(c, 0, where(eq_scalar(exponent, 0), 0.0, mul(dy, slope)));
  }
  if (c.needs(1)) {  // 0^x is flat
    Var flat = logical_and(eq_scalar(base, 0), ge_scalar(exponent, 0));
    Var slope = mul(c.out(0), log(cast(base, c.out(0).dtype())));
    give_summed(c, 1, mul(dy, where(flat, 0.0, slope)));
  }
}

// At (0, 0) the gradient is 0.
void atan2_vjp(VjpContext& c) {
  Var dy = c.grad(0), a = c.in(0), b = c.in(1);
  Var square = add(mul(a, a), mul(b, b));
  Var scale = where(eq_scalar(square, 0), 0.0, reciprocal(square));
  if (c.needs(0)) give_summed(c, 0, mul(mul(dy, b), scale));
  if (c.needs(1)) give_summed(c, 1, mul(neg(mul(dy, a)), scale));
}

void hypot_vjp(VjpContext& c) {
  for (size_t i : {0u, 1u}) {
    if (c.needs(i)) {
      give_summed(c, i, mul(c.grad(0), div(c.in(i), c.out(0))));
    }
  }
}

// The larger (or smaller) operand takes the gradient; at a tie both a half.
void give_to_winner(VjpContext& c, bool larger) {
  Var a = c.in(0), b = c.in(1), dy = c.grad(0);
  Var shares = where(eq(a, b), mul_scalar(dy, 0.5), dy);
  Var first_loses = larger ? lt(a, b) : gt(a, b);
  Var second_loses = larger ? gt(a, b) : lt(a, b);
  if (c.needs(0)) give_summed(c, 0, masked_fill(shares, first_loses, 0.0));
  if (c.needs(1)) give_summed(c, 1, masked_fill(shares, second_loses, 0.0));
}

// a - b * rounded(a / b).
Vjp remainder_vjp(const char* rounding) {
  return [rounding](VjpContext& c) {
    if (c.needs(0)) give_summed(c, 0, c.grad(0));
    if (c.needs(1)) {
      Var times = div_mode(c.in(0), c.in(1), rounding);
      give_summed(c, 1, neg(mul(c.grad(0), times)));
    }
  };
}

void xlogy_vjp(VjpContext& c) {
  Var dy = c.grad(0), x = c.in(0), y = c.in(1);
  if (c.needs(0)) {
    Var none = logical_and(eq_scalar(x, 0), le_scalar(y, 0));
    give_summed(c, 0, masked_fill(xlogy(dy, y), none, 0.0));
  }
  if (c.needs(1)) give_summed(c, 1, div(mul(dy, x), y));
}

std::vector<ValueType> div_mode_type(const NodeView& v) {
  const std::string& rounding = v.attrs().text("rounding");
  if (rounding != "trunc" && rounding != "floor") {
    v.fail("rounding is '{}', expected trunc or floor", rounding);
  }
  return number_type(v);
}

void zero_vjp(VjpContext& c) {
  for (size_t i = 0; i < c.node().inputs.size(); ++i) {
    if (c.needs(i)) give_zero(c, i);
  }
}

void add_divisions(OpTable& table) {
  auto pass = [](VjpContext& c) { c.give(0, c.grad(0)); };
  table.add(pointwise_op("fmod", "a - b * trunc(a / b)", 2, number_type,
                         remainder_vjp("trunc")));
  table.add(pointwise_op("fmod_scalar", "x - value * trunc(x / value)", 1,
                         number_type, pass));
  table.add(pointwise_op("remainder", "a - b * floor(a / b)", 2, number_type,
                         remainder_vjp("floor")));
  table.add(pointwise_op("remainder_scalar", "x - value * floor(x / value)", 1,
                         number_type, pass));
  table.add(pointwise_op("div_mode", "a / b rounded, `trunc` or `floor`", 2,
                         div_mode_type, zero_vjp));
  table.add(pointwise_op("div_mode_scalar",
                         "x / value rounded, `trunc` or `floor`", 1,
                         div_mode_type, zero_vjp));
}

}  // namespace

void add_binary_math(OpTable& table) {
  table.add(pointwise_op("pow", "a^b", 2, number_type, pow_vjp));
  table.add(pointwise_op("pow_scalar", "x^value", 1, pow_scalar_type,
                         pow_scalar_vjp));
  table.add(pointwise_op("atan2", "the angle of the point (b, a)", 2,
                         broadcast_float_type, atan2_vjp));
  table.add(
      pointwise_op("hypot", "(a^2 + b^2)^0.5", 2, float_only_type, hypot_vjp));
  table.add(pointwise_op("maximum", "the larger of a and b", 2, broadcast_type,
                         [](VjpContext& c) { give_to_winner(c, true); }));
  table.add(pointwise_op("minimum", "the smaller of a and b", 2, broadcast_type,
                         [](VjpContext& c) { give_to_winner(c, false); }));
  table.add(pointwise_op("xlogy", "a * ln b, 0 where a is 0", 2,
                         broadcast_float_type, xlogy_vjp));
  add_divisions(table);
}

}  // namespace braid
