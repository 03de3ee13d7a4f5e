// Rows of elementary functions of two values, tensors and numbers.
#include "table.h"

namespace braid::parity {

std::vector<Row> binary_math_rows();

namespace {

using VarFunction = Var (*)(Var, Var);
using TensorFunction = at::Tensor (*)(const at::Tensor&, const at::Tensor&);

struct Function {
  Binary f;
  MakeArg a = plain;
  MakeArg b = plain;
  bool integers = true;
  bool bools = true;
};

std::vector<Function> functions() {
  auto binary = [](const char* op, VarFunction ours, TensorFunction theirs) {
    return Binary{op, ours, theirs};
  };
  auto rounded = [](const char* mode) {
    return Binary{"div_mode",
                  [mode](Var a, Var b) { return div_mode(a, b, mode); },
                  [mode](const at::Tensor& a, const at::Tensor& b) {
                    return at::div(a, b, mode);
                  },
                  mode};
  };
  return {{binary("pow", pow, at::pow), positive, plain, true, false},
          {binary("atan2", atan2, at::atan2), plain, plain, true, false},
          {binary("hypot", hypot, at::hypot), plain, plain, false},
          {binary("maximum", maximum, at::maximum)},
          {binary("minimum", minimum, at::minimum)},
          {binary("xlogy", xlogy, at::xlogy), plain, positive},
          {binary("fmod", fmod, at::fmod), plain, positive, true, false},
          {binary("remainder", remainder, at::remainder), plain, positive, true,
           false},
          {rounded("trunc"), plain, positive, true, false},
          {rounded("floor"), plain, positive, true, false}};
}

void add_functions(std::vector<Row>& rows) {
  for (const Function& one : functions()) {
    add_broadcasts(rows, one.f, one.a, one.b);
    std::vector<Row> mixed;
    add_promotions(mixed, one.f, one.a, one.b);
    // libtorch has no gradient of powers of bools.
    if (one.f.op == std::string("pow")) mixed.pop_back();
    rows.insert(rows.end(), mixed.begin(), mixed.end());
    if (one.integers) add_integers(rows, one.f);
    rows.push_back(binary_row(one.f, steps({60}), steps({60}), "ties"));
    rows.push_back(binary_row(one.f, special({90}), special({90}), "special"));
    if (one.bools) {
      rows.push_back(cast_row(one.f, mask({6}), {}, plain({6}), {}, "bool"));
    }
  }
  const Binary either[] = {
      {"maximum", [](Var a, Var b) { return maximum(a, b); }, at::maximum},
      {"minimum", [](Var a, Var b) { return minimum(a, b); }, at::minimum},
  };
  for (const Binary& f : either) {
    rows.push_back(binary_row(f, mask({9}), mask({9}), "bools"));
  }
}

void add_with_number(std::vector<Row>& rows, const Unary& f, MakeArg make,
                     bool integers) {
  rows.push_back(unary_row(f, make({4, 3}), "plain"));
  rows.push_back(unary_row(f, steps({20}), "steps"));
  rows.push_back(unary_row(f, special({30}), "special"));
  rows.push_back(transposed_row(f, make({2, 3, 1})));
  if (integers) rows.push_back(unary_row(f, index({8, 8}, 6), "integers"));
}

void add_powers(std::vector<Row>& rows) {
  const Number exponents[] = {2, 3, 0, 1, 0.5, -0.5, 1.7, -2.0, -1.0, 2.0, 0.0};
  for (const Number& e : exponents) {
    const Unary f{"pow_scalar", [e](Var x) { return pow_scalar(x, e); },
                  [e](const at::Tensor& x) { return x.pow(scalar(e)); },
                  text(e)};
    add_with_number(rows, f, positive, true);
  }
  const Number bases[] = {2, 2.5, 0, 0.0, -1.5, 1};
  for (const Number& base : bases) {
    const Unary f{
        "pow", [base](Var x) { return scalar_pow(base, x); },
        [base](const at::Tensor& x) { return at::pow(scalar(base), x); },
        "of " + text(base)};
    add_with_number(rows, f, plain, true);
  }
  const Unary of_bool{"pow_scalar", [](Var x) { return pow_scalar(x, 2); },
                      [](const at::Tensor& x) { return x.pow(2); }};
  rows.push_back(unary_row(of_bool, mask({5}), "bool"));
}

void add_remainders(std::vector<Row>& rows) {
  const Number divisors[] = {2, -3, 0.7, -1.3};
  for (const Number& d : divisors) {
    const Unary table[] = {
        {"fmod_scalar", [d](Var x) { return fmod_scalar(x, d); },
         [d](const at::Tensor& x) { return x.fmod(scalar(d)); }, text(d)},
        {"remainder_scalar", [d](Var x) { return remainder_scalar(x, d); },
         [d](const at::Tensor& x) { return x.remainder(scalar(d)); }, text(d)},
        {"div_mode_scalar",
         [d](Var x) { return div_mode_scalar(x, d, "trunc"); },
         [d](const at::Tensor& x) { return at::div(x, scalar(d), "trunc"); },
         text(d)},
        {"div_mode_scalar", [d](Var x) { return floor_divide_scalar(x, d); },
         [d](const at::Tensor& x) { return at::div(x, scalar(d), "floor"); },
         "floor " + text(d)},
    };
    for (const Unary& f : table) add_with_number(rows, f, plain, true);
  }
  const Unary turned{
      "remainder", [](Var x) { return scalar_remainder(7, add_scalar(x, 1)); },
      [](const at::Tensor& x) { return at::remainder(7, x + 1); }, "of 7"};
  rows.push_back(unary_row(turned, index({20}, 9), "integers"));
  const Unary floor{
      "floor_divide", [](Var x) { return floor_divide(x, add_scalar(x, 1)); },
      [](const at::Tensor& x) { return at::floor_divide(x, x + 1); }};
  rows.push_back(unary_row(floor, index({20}, 9), "integers"));
}

void add_logarithms(std::vector<Row>& rows) {
  for (double v : {0.0, 2.5, -1.0}) {
    const Unary table[] = {
        {"xlogy", [v](Var x) { return xlogy_scalar(x, v); },
         [v](const at::Tensor& x) { return at::xlogy(x, v); },
         fmt::format("by {}", v)},
        {"xlogy", [v](Var x) { return scalar_xlogy(v, x); },
         [v](const at::Tensor& x) { return at::xlogy(v, x); },
         fmt::format("of {}", v)},
    };
    for (const Unary& f : table) add_with_number(rows, f, positive, true);
  }
}

}  // namespace

std::vector<Row> binary_math_rows() {
  std::vector<Row> rows;
  add_functions(rows);
  add_powers(rows);
  add_remainders(rows);
  add_logarithms(rows);
  return rows;
}

}  // namespace braid::parity
