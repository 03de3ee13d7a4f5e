// Elementary functions of one value. Those with a step as graph have a
// gradient of zeros, as in PyTorch.
#include "braid/ops/families/math.h"

#include <cmath>
#include <numbers>

#include "braid/ops/build/functions.h"
#include "braid/ops/core/families.h"
#include "braid/ops/core/promotion.h"
#include "braid/ops/core/traits.h"

namespace braid {
namespace {

// dx from dy, x and y.
using Gradient = Var (*)(Var dy, Var x, Var y);

void add_unary(OpTable& table, const char* name, const char* summary,
               Op::ShapeRule type, Gradient gradient) {
  Vjp vjp = [gradient](VjpContext& c) {
    c.give(0, gradient(c.grad(0), c.in(0), c.out(0)));
  };
  table.add(pointwise_op(name, summary, 1, std::move(type),
                         gradient ? std::move(vjp) : Vjp{}));
}

std::vector<ValueType> square_type(const NodeView& v) {
  bool is_bool = v.dtype(0) == DType::kBool;
  return {{is_bool ? DType::kInt64 : v.dtype(0), v.shape(0)}};
}

std::vector<ValueType> round_type(const NodeView& v) {
  return v.attrs().integer_or("decimals", 0) == 0 ? same_number_type(v)
                                                  : same_float_type(v);
}

Var zeros(Var, Var x, Var) { return full_like(x, x.shape(), 0); }

Var one_plus(Var x) { return add_scalar(x, 1.0); }

void add_powers(OpTable& table) {
  auto add = [&](auto... row) { add_unary(table, row...); };
  add("rsqrt", "1 / x^0.5", broadcast_float_type, [](Var dy, Var, Var y) {
    return mul(mul_scalar(dy, -0.5), mul(mul(y, y), y));
  });
  add("reciprocal", "1 / x", broadcast_float_type,
      [](Var dy, Var, Var y) { return mul(neg(dy), mul(y, y)); });
  add("square", "x * x", square_type,
      [](Var dy, Var x, Var) { return mul(dy, mul_scalar(x, 2.0)); });
  add("abs", "|x|", same_number_type,
      [](Var dy, Var x, Var) { return mul(dy, sign(x)); });
}

void add_angles(OpTable& table) {
  auto add = [&](const char* name, const char* summary, Gradient gradient) {
    add_unary(table, name, summary, broadcast_float_type, gradient);
  };
  add("sin", "sin x", [](Var dy, Var x, Var) { return mul(dy, cos(x)); });
  add("cos", "cos x", [](Var dy, Var x, Var) { return mul(dy, neg(sin(x))); });
  add("tan", "tan x",
      [](Var dy, Var, Var y) { return mul(dy, one_plus(mul(y, y))); });
  add("asin", "the angle in [-pi/2, pi/2] with sine x", [](Var dy, Var x, Var) {
    return mul(dy, rsqrt(one_plus(neg(mul(x, x)))));
  });
  add("acos", "the angle in [0, pi] with cosine x", [](Var dy, Var x, Var) {
    return mul(dy, neg(rsqrt(one_plus(neg(mul(x, x))))));
  });
  add("atan", "the angle in (-pi/2, pi/2) with tangent x",
      [](Var dy, Var x, Var) { return div(dy, one_plus(mul(x, x))); });
  add("sinh", "(e^x - e^-x) / 2",
      [](Var dy, Var x, Var) { return mul(dy, cosh(x)); });
  add("cosh", "(e^x + e^-x) / 2",
      [](Var dy, Var x, Var) { return mul(dy, sinh(x)); });
  add("asinh", "inverse of sinh",
      [](Var dy, Var x, Var) { return mul(dy, rsqrt(one_plus(mul(x, x)))); });
  add("acosh", "inverse of cosh, for x >= 1", [](Var dy, Var x, Var) {
    return mul(dy, rsqrt(add_scalar(mul(x, x), -1.0)));
  });
  add("atanh", "inverse of tanh, for |x| < 1",
      [](Var dy, Var x, Var) { return div(dy, one_plus(neg(mul(x, x)))); });
}

void add_exponentials(OpTable& table) {
  auto add = [&](const char* name, const char* summary, Gradient gradient) {
    add_unary(table, name, summary, broadcast_float_type, gradient);
  };
  add("log1p", "ln(1 + x)",
      [](Var dy, Var x, Var) { return div(dy, one_plus(x)); });
  add("log2", "logarithm to base 2", [](Var dy, Var x, Var) {
    return div(dy, mul_scalar(x, std::numbers::ln2));
  });
  add("log10", "logarithm to base 10", [](Var dy, Var x, Var) {
    return div(dy, mul_scalar(x, std::numbers::ln10));
  });
  add("expm1", "e^x - 1",
      [](Var dy, Var, Var y) { return mul(dy, one_plus(y)); });
  add("exp2", "2^x", [](Var dy, Var, Var y) {
    return mul_scalar(mul(dy, y), std::numbers::ln2);
  });
  add("erf", "2 / pi^0.5 * integral of e^(-t^2) from 0 to x",
      [](Var dy, Var x, Var) {
        Var bell = exp(neg(mul(x, x)));
        return mul(mul_scalar(bell, 2 * std::numbers::inv_sqrtpi), dy);
      });
  add("erfc", "1 - erf(x)", [](Var dy, Var x, Var) {
    Var bell = exp(neg(mul(x, x)));
    return mul(mul_scalar(bell, -2 * std::numbers::inv_sqrtpi), dy);
  });
  add("lgamma", "ln |gamma(x)|",
      [](Var dy, Var x, Var) { return mul(dy, digamma(x)); });
  add("digamma", "derivative of lgamma",
      [](Var dy, Var x, Var) { return mul(dy, apply("trigamma", {x})); });
  add("trigamma", "derivative of digamma; made by its gradient", nullptr);
}

void add_roundings(OpTable& table) {
  auto add = [&](auto... row) { add_unary(table, row...); };
  add("sign", "-1, 0 or 1", shape_like_first, zeros);
  add("floor", "x rounded down", same_number_type, zeros);
  add("ceil", "x rounded up", same_number_type, zeros);
  add("trunc", "x rounded to 0", same_number_type, zeros);
  add("round", "x rounded to `decimals` places, halves to even", round_type,
      zeros);
  add("frac", "x - trunc(x)", same_float_type,
      [](Var dy, Var, Var) { return dy; });
}

Op nan_to_num_op() {
  return pointwise_op("nan_to_num", "x with numbers for NaN and infinities", 1,
                      shape_like_first, [](VjpContext& c) {
                        c.give(0, mul(c.grad(0), isfinite(c.in(0))));
                      });
}

}  // namespace

void add_unary_math(OpTable& table) {
  add_powers(table);
  add_angles(table);
  add_exponentials(table);
  add_roundings(table);
  table.add(nan_to_num_op());
}

void add_math_ops(OpTable& table) {
  add_unary_math(table);
  add_binary_math(table);
  add_range_math(table);
}

}  // namespace braid
