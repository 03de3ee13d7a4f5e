// Functions on Vars for elementary functions, clamping and interpolation.
#include "braid/ops/build/functions.h"
#include "braid/ops/core/numbers.h"

namespace braid {
namespace {

// A constant of rank 0 in the type that it and x meet in.
Var constant(Number value, Var x) {
  bool fraction = std::holds_alternative<double>(value);
  Var like = fraction && !is_floating(x.dtype()) ? cast(x, DType::kFloat32) : x;
  return full_like(like, {}, number_value(value));
}

}  // namespace

Var rsqrt(Var x) { return apply("rsqrt", {x}); }
Var reciprocal(Var x) { return apply("reciprocal", {x}); }
Var square(Var x) { return apply("square", {x}); }
Var abs(Var x) { return apply("abs", {x}); }
Var sign(Var x) { return apply("sign", {x}); }
Var sin(Var x) { return apply("sin", {x}); }
Var cos(Var x) { return apply("cos", {x}); }
Var tan(Var x) { return apply("tan", {x}); }
Var asin(Var x) { return apply("asin", {x}); }
Var acos(Var x) { return apply("acos", {x}); }
Var atan(Var x) { return apply("atan", {x}); }
Var sinh(Var x) { return apply("sinh", {x}); }
Var cosh(Var x) { return apply("cosh", {x}); }
Var asinh(Var x) { return apply("asinh", {x}); }
Var acosh(Var x) { return apply("acosh", {x}); }
Var atanh(Var x) { return apply("atanh", {x}); }
Var log1p(Var x) { return apply("log1p", {x}); }
Var log2(Var x) { return apply("log2", {x}); }
Var log10(Var x) { return apply("log10", {x}); }
Var expm1(Var x) { return apply("expm1", {x}); }
Var exp2(Var x) { return apply("exp2", {x}); }
Var erf(Var x) { return apply("erf", {x}); }
Var erfc(Var x) { return apply("erfc", {x}); }
Var lgamma(Var x) { return apply("lgamma", {x}); }
Var digamma(Var x) { return apply("digamma", {x}); }
Var floor(Var x) { return apply("floor", {x}); }
Var ceil(Var x) { return apply("ceil", {x}); }
Var trunc(Var x) { return apply("trunc", {x}); }
Var frac(Var x) { return apply("frac", {x}); }

Var round(Var x, int64_t decimals) {
  if (decimals == 0) return apply("round", {x});
  return apply("round", {x}, {{"decimals", decimals}});
}

Var nan_to_num(Var x, double nan, std::optional<double> posinf,
               std::optional<double> neginf) {
  Attrs attrs{{"nan", nan}};
  if (posinf) attrs.set("posinf", *posinf);
  if (neginf) attrs.set("neginf", *neginf);
  return apply("nan_to_num", {x}, attrs);
}

Var pow(Var a, Var b) { return apply("pow", {a, b}); }
Var atan2(Var a, Var b) { return apply("atan2", {a, b}); }
Var hypot(Var a, Var b) { return apply("hypot", {a, b}); }
Var maximum(Var a, Var b) { return apply("maximum", {a, b}); }
Var minimum(Var a, Var b) { return apply("minimum", {a, b}); }
Var xlogy(Var a, Var b) { return apply("xlogy", {a, b}); }
Var fmod(Var a, Var b) { return apply("fmod", {a, b}); }
Var remainder(Var a, Var b) { return apply("remainder", {a, b}); }

Var pow_scalar(Var base, Number exponent) {
  return apply_number("pow_scalar", base, exponent);
}
Var scalar_pow(Number base, Var exponent) {
  return pow(constant(base, exponent), exponent);
}
Var fmod_scalar(Var a, Number b) { return apply_number("fmod_scalar", a, b); }
Var remainder_scalar(Var a, Number b) {
  return apply_number("remainder_scalar", a, b);
}
Var scalar_remainder(Number a, Var b) { return remainder(constant(a, b), b); }
Var xlogy_scalar(Var a, double b) { return xlogy(a, constant(b, a)); }
Var scalar_xlogy(double a, Var b) { return xlogy(constant(a, b), b); }

Var div_mode(Var a, Var b, std::string rounding) {
  return apply("div_mode", {a, b}, {{"rounding", std::move(rounding)}});
}
Var div_mode_scalar(Var a, Number b, std::string rounding) {
  return apply(
      "div_mode_scalar", {a},
      {{"value", number_attr(a, b)}, {"rounding", std::move(rounding)}});
}
Var floor_divide(Var a, Var b) { return div_mode(a, b, "floor"); }
Var floor_divide_scalar(Var a, Number b) {
  return div_mode_scalar(a, b, "floor");
}

Var clamp(Var x, std::optional<Number> min, std::optional<Number> max) {
  Attrs attrs;
  if (min) attrs.set("min", number_attr(x, *min));
  if (max) attrs.set("max", number_attr(x, *max));
  return apply("clamp", {x}, attrs);
}
Var clamp_min(Var x, Number min) { return clamp(x, min, std::nullopt); }
Var clamp_max(Var x, Number max) { return clamp(x, std::nullopt, max); }
Var clamp_tensor(Var x, Var min, Var max) {
  return apply("clamp_tensor", {x, min, max});
}

Var lerp(Var a, Var b, Var weight) {
  // A weight without dimensions may be of another type.
  if (weight.rank() == 0) weight = cast(weight, a.dtype());
  return apply("lerp", {a, b, weight});
}
Var lerp_scalar(Var a, Var b, double weight) {
  return apply("lerp_scalar", {a, b}, {{"weight", weight}});
}
Var addcmul(Var a, Var b, Var c, double value) {
  return apply("addcmul", {a, b, c}, {{"value", value}});
}
Var addcdiv(Var a, Var b, Var c, double value) {
  return apply("addcdiv", {a, b, c}, {{"value", value}});
}

}  // namespace braid
