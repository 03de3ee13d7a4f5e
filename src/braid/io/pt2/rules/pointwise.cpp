// Arithmetic, comparisons, choices, casts.
#include "braid/io/pt2/rule.h"
#include "braid/io/pt2/scalars.h"

namespace braid::io::pt2 {
namespace {

using Unary = Var (*)(Var);
using Binary = Var (*)(Var, Var);
using WithNumber = Var (*)(Var, Number);

template <Unary f>
void unary(RuleContext& c) {
  c.give(f(c.tensor("self")));
}

// Whether the other operand is a tensor is not told by the overload alone.
template <Binary f, WithNumber g>
void binary(RuleContext& c) {
  if (c.is_tensor("other")) {
    c.give(f(c.tensor("self"), c.tensor("other")));
  } else {
    c.give(g(c.tensor("self"), c.scalar("other")));
  }
}

template <Binary f>
void two_tensors(RuleContext& c) {
  c.give(f(c.tensor("self"), c.tensor("other")));
}

bool is_one(const Scalar& value) {
  return std::visit([](auto v) { return v == 1; }, value);
}

Scalar product(const Scalar& a, const Scalar& b) {
  bool is_real =
      std::holds_alternative<double>(a) || std::holds_alternative<double>(b);
  return is_real ? Scalar(real(a) * real(b)) : Scalar(whole(a) * whole(b));
}

Scalar alpha_of(RuleContext& c) {
  return c.has("alpha") ? c.scalar("alpha") : Scalar(int64_t{1});
}

// Sums and differences: x and alpha times the other.
template <Binary f, Var (*with_alpha)(Var, Var, Number), WithNumber g>
void scaled(RuleContext& c) {
  Scalar alpha = alpha_of(c);
  Var x = c.tensor("self");
  if (!c.is_tensor("other")) {
    return c.give(g(x, product(c.scalar("other"), alpha)));
  }
  Var y = c.tensor("other");
  c.give(is_one(alpha) ? f(x, y) : with_alpha(x, y, alpha));
}

void rsub_rule(RuleContext& c) {
  Scalar alpha = alpha_of(c);
  Var x = c.tensor("self");
  if (c.is_tensor("other")) return c.give(rsub(x, c.tensor("other"), alpha));
  if (!is_one(alpha)) x = mul_scalar(x, alpha);
  c.give(rsub_scalar(x, c.scalar("other")));
}

void div_rule(RuleContext& c) {
  std::string mode = c.text_or("rounding_mode", "");
  Var x = c.tensor("self");
  if (c.is_tensor("other")) {
    Var y = c.tensor("other");
    return c.give(mode.empty() ? div(x, y) : div_mode(x, y, mode));
  }
  Scalar y = c.scalar("other");
  c.give(mode.empty() ? div_scalar(x, y) : div_mode_scalar(x, y, mode));
}

void pow_rule(RuleContext& c) {
  if (!c.is_tensor("self")) {
    return c.give(scalar_pow(c.scalar("self"), c.tensor("exponent")));
  }
  Var x = c.tensor("self");
  c.give(c.is_tensor("exponent") ? pow(x, c.tensor("exponent"))
                                 : pow_scalar(x, c.scalar("exponent")));
}

void remainder_rule(RuleContext& c) {
  if (!c.is_tensor("self")) {
    return c.give(scalar_remainder(c.scalar("self"), c.tensor("other")));
  }
  binary<remainder, remainder_scalar>(c);
}

void xlogy_rule(RuleContext& c) {
  if (!c.is_tensor("self")) {
    return c.give(scalar_xlogy(c.number("self"), c.tensor("other")));
  }
  Var x = c.tensor("self");
  c.give(c.is_tensor("other") ? xlogy(x, c.tensor("other"))
                              : xlogy_scalar(x, c.number("other")));
}

std::optional<Number> bound(RuleContext& c, const char* name) {
  if (!c.has(name)) return std::nullopt;
  return c.scalar(name);
}

void clamp_rule(RuleContext& c) {
  Var x = c.tensor("self");
  if (c.is_tensor("min") || c.is_tensor("max")) {
    return c.give(
        clamp_tensor(x, c.tensor_or_none("min"), c.tensor_or_none("max")));
  }
  c.give(clamp(x, bound(c, "min"), bound(c, "max")));
}

void clamp_min_rule(RuleContext& c) {
  Var x = c.tensor("self");
  c.give(c.is_tensor("min") ? clamp_tensor(x, c.tensor("min"), {})
                            : clamp_min(x, c.scalar("min")));
}

void clamp_max_rule(RuleContext& c) {
  Var x = c.tensor("self");
  c.give(c.is_tensor("max") ? clamp_tensor(x, {}, c.tensor("max"))
                            : clamp_max(x, c.scalar("max")));
}

void where_rule(RuleContext& c) {
  Var condition = c.tensor("condition");
  bool a = c.is_tensor("self"), b = c.is_tensor("other");
  if (a && b)
    return c.give(where(condition, c.tensor("self"), c.tensor("other")));
  if (a) return c.give(where(condition, c.tensor("self"), c.scalar("other")));
  if (b) return c.give(where(condition, c.scalar("self"), c.tensor("other")));
  c.give(where(condition, c.scalar("self"), c.scalar("other")));
}

void masked_fill_rule(RuleContext& c) {
  Var x = c.tensor("self"), mask = c.tensor("mask");
  c.give(c.is_tensor("value") ? masked_fill(x, mask, c.tensor("value"))
                              : masked_fill(x, mask, c.scalar("value")));
}

void lerp_rule(RuleContext& c) {
  Var x = c.tensor("self"), end = c.tensor("end");
  c.give(c.is_tensor("weight") ? lerp(x, end, c.tensor("weight"))
                               : lerp_scalar(x, end, c.number("weight")));
}

void addcmul_rule(RuleContext& c) {
  c.give(addcmul(c.tensor("self"), c.tensor("tensor1"), c.tensor("tensor2"),
                 c.number_or("value", 1)));
}

void addcdiv_rule(RuleContext& c) {
  c.give(addcdiv(c.tensor("self"), c.tensor("tensor1"), c.tensor("tensor2"),
                 c.number_or("value", 1)));
}

void round_rule(RuleContext& c) {
  c.give(round(c.tensor("self"), c.integer_or("decimals", 0)));
}

void nan_to_num_rule(RuleContext& c) {
  auto given = [&](const char* name) -> std::optional<double> {
    if (!c.has(name)) return std::nullopt;
    return c.number(name);
  };
  c.give(nan_to_num(c.tensor("self"), c.number_or("nan", 0), given("posinf"),
                    given("neginf")));
}

// What copy_ writes: the source in the shape and type of the target.
void copy_rule(RuleContext& c) {
  Var x = c.tensor("self"), source = cast(c.tensor("src"), x.dtype());
  c.give(source.shape() == x.shape() ? source : expand(source, x.shape()));
}

void fill_rule(RuleContext& c) {
  Var x = c.tensor("self");
  if (c.is_tensor("value")) {
    return c.give(expand(cast(c.tensor("value"), x.dtype()), x.shape()));
  }
  c.give(full_like(x, x.shape(), c.number("value")));
}

void zero_rule(RuleContext& c) {
  Var x = c.tensor("self");
  c.give(full_like(x, x.shape(), 0));
}

void add_functions(Rules& rules) {
  rules.insert({
      {"neg", unary<neg>},
      {"exp", unary<exp>},
      {"log", unary<log>},
      {"sqrt", unary<sqrt>},
      {"rsqrt", unary<rsqrt>},
      {"reciprocal", unary<reciprocal>},
      {"square", unary<square>},
      {"abs", unary<abs>},
      {"sign", unary<sign>},
      {"sin", unary<sin>},
      {"cos", unary<cos>},
      {"tan", unary<tan>},
      {"asin", unary<asin>},
      {"acos", unary<acos>},
      {"atan", unary<atan>},
      {"arctan", unary<atan>},
      {"sinh", unary<sinh>},
      {"cosh", unary<cosh>},
      {"asinh", unary<asinh>},
      {"acosh", unary<acosh>},
      {"atanh", unary<atanh>},
      {"arctanh", unary<atanh>},
      {"log1p", unary<log1p>},
      {"log2", unary<log2>},
      {"log10", unary<log10>},
      {"expm1", unary<expm1>},
      {"exp2", unary<exp2>},
      {"special_exp2", unary<exp2>},
      {"erf", unary<erf>},
      {"special_erf", unary<erf>},
      {"erfc", unary<erfc>},
      {"lgamma", unary<lgamma>},
      {"floor", unary<floor>},
      {"ceil", unary<ceil>},
      {"trunc", unary<trunc>},
      {"fix", unary<trunc>},
      {"frac", unary<frac>},
      {"isnan", unary<isnan>},
      {"isinf", unary<isinf>},
      {"isfinite", unary<isfinite>},
      {"logical_not", unary<logical_not>},
      {"bitwise_not", unary<bitwise_not>},
      {"round", round_rule},
      {"nan_to_num", nan_to_num_rule},
  });
}

void add_comparisons(Rules& rules) {
  rules.insert({
      {"eq", binary<eq, eq_scalar>},
      {"ne", binary<ne, ne_scalar>},
      {"not_equal", binary<ne, ne_scalar>},
      {"lt", binary<lt, lt_scalar>},
      {"less", binary<lt, lt_scalar>},
      {"le", binary<le, le_scalar>},
      {"less_equal", binary<le, le_scalar>},
      {"gt", binary<gt, gt_scalar>},
      {"greater", binary<gt, gt_scalar>},
      {"ge", binary<ge, ge_scalar>},
      {"greater_equal", binary<ge, ge_scalar>},
      {"logical_and", two_tensors<logical_and>},
      {"logical_or", two_tensors<logical_or>},
      {"logical_xor", two_tensors<logical_xor>},
  });
  for (const char* prefix : {"bitwise_", "__"}) {
    std::string suffix = prefix[0] == '_' ? "__" : "";
    auto name = [&](const char* op) {
      return prefix + std::string(op) + suffix;
    };
    rules[name("and")] = binary<bitwise_and, bitwise_and_scalar>;
    rules[name("or")] = binary<bitwise_or, bitwise_or_scalar>;
    rules[name("xor")] = binary<bitwise_xor, bitwise_xor_scalar>;
  }
  rules["bitwise_left_shift"] = rules["__lshift__"] =
      binary<bitwise_left_shift, bitwise_left_shift_scalar>;
  rules["bitwise_right_shift"] = rules["__rshift__"] =
      binary<bitwise_right_shift, bitwise_right_shift_scalar>;
}

}  // namespace

void add_pointwise_rules(Rules& rules) {
  add_functions(rules);
  add_comparisons(rules);
  rules.insert({
      {"add", scaled<add, add, add_scalar>},
      {"sub", scaled<sub, sub, sub_scalar>},
      {"subtract", scaled<sub, sub, sub_scalar>},
      {"rsub", rsub_rule},
      {"mul", binary<mul, mul_scalar>},
      {"multiply", binary<mul, mul_scalar>},
      {"div", div_rule},
      {"divide", div_rule},
      {"true_divide", div_rule},
      {"floor_divide", binary<floor_divide, floor_divide_scalar>},
      {"remainder", remainder_rule},
      {"fmod", binary<fmod, fmod_scalar>},
      {"pow", pow_rule},
      {"atan2", two_tensors<atan2>},
      {"arctan2", two_tensors<atan2>},
      {"hypot", two_tensors<hypot>},
      {"maximum", two_tensors<maximum>},
      {"minimum", two_tensors<minimum>},
      {"xlogy", xlogy_rule},
      {"clamp", clamp_rule},
      {"clip", clamp_rule},
      {"clamp_min", clamp_min_rule},
      {"clamp_max", clamp_max_rule},
      {"where", where_rule},
      {"masked_fill", masked_fill_rule},
      {"lerp", lerp_rule},
      {"addcmul", addcmul_rule},
      {"addcdiv", addcdiv_rule},
      {"copy", copy_rule},
      {"fill", fill_rule},
      {"zero", zero_rule},
  });
}

}  // namespace braid::io::pt2
