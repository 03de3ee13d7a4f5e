// How functions give numbers to ops.
#pragma once

#include "braid/ops/build/functions.h"

namespace braid {

inline double number_value(const Number& number) {
  return std::visit([](auto v) { return static_cast<double>(v); }, number);
}

inline Attr number_attr(const Number& number) {
  return std::visit([](auto v) -> Attr { return v; }, number);
}

// Beside a float all numbers are floats.
inline Attr number_attr(Var x, const Number& number) {
  if (is_floating(x.dtype())) return number_value(number);
  return number_attr(number);
}

// An op on x and the attribute `value`.
inline Var apply_number(const std::string& op, Var x, const Number& value) {
  return apply(op, {x}, {{"value", number_attr(x, value)}});
}

}  // namespace braid
