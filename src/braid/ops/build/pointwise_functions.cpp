// Functions on Vars for arithmetic with numbers, comparisons and choices.
#include "braid/ops/build/functions.h"
#include "braid/ops/core/numbers.h"

namespace braid {
namespace {

Number negative(Number value) {
  if (const double* v = std::get_if<double>(&value)) return -*v;
  return -static_cast<int64_t>(number_value(value));
}

}  // namespace

Var add(Var a, Var b, Number alpha) {
  if (number_value(alpha) == 1) return add(a, b);
  return apply("add_alpha", {a, b}, {{"alpha", number_attr(alpha)}});
}
Var sub(Var a, Var b, Number alpha) {
  if (number_value(alpha) == 1) return sub(a, b);
  return add(a, b, negative(alpha));
}
Var rsub(Var a, Var b, Number alpha) { return sub(b, a, alpha); }

Var add_scalar(Var x, Number value) {
  return apply_number("add_scalar", x, value);
}
Var mul_scalar(Var x, Number value) {
  return apply_number("mul_scalar", x, value);
}
Var div_scalar(Var x, Number value) {
  return apply_number("div_scalar", x, value);
}
Var rsub_scalar(Var x, Number value) {
  return apply_number("rsub_scalar", x, value);
}
Var sub_scalar(Var x, Number value) { return add_scalar(x, negative(value)); }

Var eq(Var a, Var b) { return apply("eq", {a, b}); }
Var ne(Var a, Var b) { return apply("ne", {a, b}); }
Var lt(Var a, Var b) { return apply("lt", {a, b}); }
Var le(Var a, Var b) { return apply("le", {a, b}); }
Var gt(Var a, Var b) { return apply("gt", {a, b}); }
Var ge(Var a, Var b) { return apply("ge", {a, b}); }
Var logical_and(Var a, Var b) { return apply("logical_and", {a, b}); }
Var logical_or(Var a, Var b) { return apply("logical_or", {a, b}); }
Var logical_xor(Var a, Var b) { return apply("logical_xor", {a, b}); }
Var bitwise_and(Var a, Var b) { return apply("bitwise_and", {a, b}); }
Var bitwise_or(Var a, Var b) { return apply("bitwise_or", {a, b}); }
Var bitwise_xor(Var a, Var b) { return apply("bitwise_xor", {a, b}); }
Var bitwise_left_shift(Var a, Var b) {
  return apply("bitwise_left_shift", {a, b});
}
Var bitwise_right_shift(Var a, Var b) {
  return apply("bitwise_right_shift", {a, b});
}

Var eq_scalar(Var a, Number b) { return apply_number("eq_scalar", a, b); }
Var ne_scalar(Var a, Number b) { return apply_number("ne_scalar", a, b); }
Var lt_scalar(Var a, Number b) { return apply_number("lt_scalar", a, b); }
Var le_scalar(Var a, Number b) { return apply_number("le_scalar", a, b); }
Var gt_scalar(Var a, Number b) { return apply_number("gt_scalar", a, b); }
Var ge_scalar(Var a, Number b) { return apply_number("ge_scalar", a, b); }
Var bitwise_and_scalar(Var a, Number b) {
  return apply_number("bitwise_and_scalar", a, b);
}
Var bitwise_or_scalar(Var a, Number b) {
  return apply_number("bitwise_or_scalar", a, b);
}
Var bitwise_xor_scalar(Var a, Number b) {
  return apply_number("bitwise_xor_scalar", a, b);
}
Var bitwise_left_shift_scalar(Var a, Number b) {
  return apply_number("bitwise_left_shift_scalar", a, b);
}
Var bitwise_right_shift_scalar(Var a, Number b) {
  return apply_number("bitwise_right_shift_scalar", a, b);
}

Var isnan(Var x) { return apply("isnan", {x}); }
Var isinf(Var x) { return apply("isinf", {x}); }
Var isfinite(Var x) { return apply("isfinite", {x}); }
Var logical_not(Var x) { return apply("logical_not", {x}); }
Var bitwise_not(Var x) { return apply("bitwise_not", {x}); }

Var where(Var condition, Var a, Var b) {
  return apply("where", {condition, a, b});
}
Var where(Var condition, Var a, Number b) {
  return apply("where", {condition, a, Var{}}, {{"other", number_attr(b)}});
}
Var where(Var condition, Number a, Var b) {
  return apply("where", {condition, Var{}, b}, {{"self", number_attr(a)}});
}
Var where(Var condition, Number a, Number b) {
  return apply("where", {condition, Var{}, Var{}},
               {{"self", number_attr(a)}, {"other", number_attr(b)}});
}

Var masked_fill(Var x, Var mask, Var value) {
  return apply("masked_fill", {x, mask, value});
}
Var masked_fill(Var x, Var mask, Number value) {
  return apply("masked_fill_scalar", {x, mask},
               {{"value", number_value(value)}});
}

}  // namespace braid
