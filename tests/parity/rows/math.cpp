// Rows of elementary functions of one value, of clamping and interpolation;
// those of two values are in math_binary.cpp.
#include "table.h"

namespace braid::parity {

std::vector<Row> binary_math_rows();

namespace {

using VarFunction = Var (*)(Var);
using TensorFunction = at::Tensor (*)(const at::Tensor&);

// Where a function is smooth: anywhere, in (0.5, 1.5), or below or above 1.
enum class Domain { kAll, kPositive, kBelowOne, kAboveOne };

struct Function {
  const char* op;
  VarFunction ours;
  TensorFunction theirs;
  Domain domain = Domain::kAll;
  bool integers = true;
};

const std::vector<Function>& functions() {
  static const std::vector<Function> table{
      {"rsqrt", rsqrt, at::rsqrt, Domain::kPositive},
      {"reciprocal", reciprocal, at::reciprocal, Domain::kPositive},
      {"square", square, at::square},
      {"abs", abs, at::abs},
      {"sign", sign, at::sign},
      {"sin", sin, at::sin},
      {"cos", cos, at::cos},
      {"tan", tan, at::tan, Domain::kBelowOne},
      {"asin", asin, at::asin, Domain::kBelowOne},
      {"acos", acos, at::acos, Domain::kBelowOne},
      {"atan", atan, at::atan},
      {"sinh", sinh, at::sinh},
      {"cosh", cosh, at::cosh},
      {"asinh", asinh, at::asinh},
      {"acosh", acosh, at::acosh, Domain::kAboveOne},
      {"atanh", atanh, at::atanh, Domain::kBelowOne},
      {"log1p", log1p, at::log1p, Domain::kPositive},
      {"log2", log2, at::log2, Domain::kPositive},
      {"log10", log10, at::log10, Domain::kPositive},
      {"expm1", expm1, at::expm1},
      {"exp2", exp2, at::exp2},
      {"erf", erf, at::erf},
      {"erfc", erfc, at::erfc},
      {"lgamma", lgamma, at::lgamma, Domain::kPositive},
      {"floor", floor, at::floor},
      {"ceil", ceil, at::ceil},
      {"trunc", trunc, at::trunc},
      {"round", [](Var x) { return round(x); },
       [](const at::Tensor& x) { return x.round(); }},
      {"frac", frac, at::frac, Domain::kAll, false},
  };
  return table;
}

// The function behind one that brings numbers of (0.5, 1.5) to its domain.
Unary unary(const Function& f) {
  Unary g{f.op, f.ours, f.theirs};
  if (f.domain == Domain::kBelowOne) {
    g.ours = [f](Var x) { return f.ours(add_scalar(x, -1.0)); };
    g.theirs = [f](const at::Tensor& x) { return f.theirs(x - 1.0); };
  } else if (f.domain == Domain::kAboveOne) {
    g.ours = [f](Var x) { return f.ours(add_scalar(x, 1.0)); };
    g.theirs = [f](const at::Tensor& x) { return f.theirs(x + 1.0); };
  }
  return g;
}

void add_functions(std::vector<Row>& rows) {
  const Shape shapes[] = {{}, {0, 3}, {1}, {2, 1, 3, 1, 2}, {40, 60}};
  size_t turn = 0;
  for (const Function& f : functions()) {
    MakeArg make = f.domain == Domain::kAll ? plain : positive;
    rows.push_back(unary_row(unary(f), make({5, 7}), "plain"));
    const Shape& shape = shapes[turn++ % std::size(shapes)];
    rows.push_back(unary_row(unary(f), make(shape), shape_text(shape)));
    rows.push_back(turn % 2 == 0 ? transposed_row(unary(f), make({3, 4, 2}))
                                 : sliced_row(unary(f), make({3, 9})));
    const Unary bare{f.op, f.ours, f.theirs};
    rows.push_back(unary_row(bare, special({60}), "special"));
    if (f.integers) {
      rows.push_back(unary_row(bare, index({8, 8}, 9), "integers"));
    }
  }
}

// What has arguments of its own, or no gradient of its own.
void add_other_functions(std::vector<Row>& rows) {
  const Unary table[] = {
      {"digamma", [](Var x) { return isfinite(digamma(x)); },
       [](const at::Tensor& x) { return x.digamma().isfinite(); }},
      {"sign", [](Var x) { return sign(gt_scalar(x, 0)); },
       [](const at::Tensor& x) { return x.gt(0).sign(); }, "bool"},
      {"square", [](Var x) { return square(gt_scalar(x, 0)); },
       [](const at::Tensor& x) { return x.gt(0).square(); }, "bool"},
      {"round", [](Var x) { return round(x, 1); },
       [](const at::Tensor& x) { return at::round(x, 1); }, "1 decimal"},
      {"round", [](Var x) { return round(mul_scalar(x, 100), -1); },
       [](const at::Tensor& x) { return at::round(x * 100, -1); }, "tens"},
      {"nan_to_num", [](Var x) { return nan_to_num(x); },
       [](const at::Tensor& x) { return at::nan_to_num(x, 0.0); }},
      {"nan_to_num", [](Var x) { return nan_to_num(x, 1.5, 7, -8); },
       [](const at::Tensor& x) { return at::nan_to_num(x, 1.5, 7, -8); },
       "three numbers"},
  };
  for (const Unary& f : table) {
    rows.push_back(unary_row(f, plain({6, 5}), "plain"));
    rows.push_back(unary_row(f, special({50}), "special"));
  }
  const Unary ints{"nan_to_num", [](Var x) { return nan_to_num(x, 4); },
                   [](const at::Tensor& x) { return at::nan_to_num(x, 4.0); }};
  rows.push_back(unary_row(ints, index({4}, 5), "integers"));
  const Unary floats[] = {{"sin", sin, at::sin},
                          {"digamma", digamma, at::digamma}};
  rows.push_back(unary_row(floats[1], positive({6, 5}), "plain"));
  rows.push_back(transposed_row(floats[1], positive({3, 4, 2})));
  for (const Unary& f : floats) {
    rows.push_back(unary_row(f, mask({64}), "bool"));
    rows.push_back(unary_row(f, index({64}, 9), "counts"));
  }
}

using MaybeNumber = std::optional<Number>;

std::optional<at::Scalar> limit(const MaybeNumber& number) {
  return number ? std::optional(scalar(*number)) : std::nullopt;
}

void add_clamps(std::vector<Row>& rows) {
  const std::pair<MaybeNumber, MaybeNumber> limits[] = {
      {-0.5, 1.0}, {0.5, {}}, {{}, -0.5}, {1, 0}, {0, 2}, {-1.5, {}},
  };
  for (const auto& [low, high] : limits) {
    const Unary f{
        "clamp",
        [low = low, high = high](Var x) { return clamp(x, low, high); },
        [low = low, high = high](const at::Tensor& x) {
          return at::clamp(x, limit(low), limit(high));
        }};
    rows.push_back(unary_row(f, plain({4, 5}), "plain"));
    rows.push_back(unary_row(f, steps({30}), "at the limits"));
    rows.push_back(unary_row(f, special({40}), "special"));
    rows.push_back(unary_row(f, index({3, 4}, 5), "integers"));
    rows.push_back(transposed_row(f, plain({2, 3, 4})));
  }
  const Unary low{"clamp", [](Var x) { return clamp_min(x, 1e-3); },
                  [](const at::Tensor& x) { return at::clamp_min(x, 1e-3); },
                  "min"};
  const Unary high{"clamp", [](Var x) { return clamp_max(x, 0.25); },
                   [](const at::Tensor& x) { return at::clamp_max(x, 0.25); },
                   "max"};
  rows.push_back(unary_row(low, plain({}), "scalar"));
  rows.push_back(unary_row(high, plain({0, 2}), "empty"));
  rows.push_back(unary_row(high, mask({5}), "bool"));
}

using Ternary = std::function<at::Tensor(const Tensors&)>;

void add_ternary(std::vector<Row>& rows, const char* op, const Build& ours,
                 const Ternary& theirs, bool same_types) {
  const std::vector<Shape> shapes[] = {
      {{4, 3}, {4, 3}, {4, 3}}, {{4, 1}, {3}, {}},
      {{}, {2, 3}, {1, 3}},     {{}, {}, {}},
      {{0, 3}, {3}, {}},        {{2, 1, 3}, {4, 1}, {2, 1, 1}},
      {{1}, {}, {5}},
  };
  for (const auto& s : shapes) {
    rows.push_back(
        typed(op, {{s[0]}, {s[1]}, positive(s[2])}, ours, theirs,
              shape_text(s[0]) + shape_text(s[1]) + shape_text(s[2])));
  }
  rows.push_back(
      typed(op, {steps({40}), steps({40}), steps({40})}, ours, theirs, "ties"));
  rows.push_back(typed(op, {special({60}), special({60}), special({60})}, ours,
                       theirs, "special"));
  if (same_types) return;
  rows.push_back(typed(op, {index({3, 4}, 5), {{4}}, positive({})}, ours,
                       theirs, "integer first"));
  rows.push_back(typed(op, {{{3, 4}}, index({}, 5), positive({4})}, ours,
                       theirs, "integer second"));
}

void add_wide_ternary(std::vector<Row>& rows, const char* op, const Build& ours,
                      const Ternary& theirs) {
  rows.push_back(typed(
      op, {{{3, 4}}, {{4}}, positive({})},
      [ours](const Vars& v) {
        return ours(
            {cast(v[0], DType::kFloat32), v[1], cast(v[2], DType::kFloat64)});
      },
      [theirs](const Tensors& t) {
        return theirs({t[0].to(at::kFloat), t[1], t[2].to(at::kDouble)});
      },
      "wide scalar"));
}

void add_ranges(std::vector<Row>& rows) {
  auto add = [&](const char* op, bool same_types, Build ours, Ternary theirs) {
    add_ternary(rows, op, ours, theirs, same_types);
    // Left out: with a wide scalar bound torch 2.11 gives another type.
    if (!same_types && op != std::string("clamp_tensor")) {
      add_wide_ternary(rows, op, ours, theirs);
    }
  };
  add(
      "clamp_tensor", false,
      [](const Vars& v) { return clamp_tensor(v[0], v[1], v[2]); },
      [](const Tensors& t) {  // libtorch's gradient does not broadcast
        Tensors wide = at::broadcast_tensors(t);
        return at::clamp(wide[0], wide[1], wide[2]);
      });
  add(
      "clamp_tensor", false,
      [](const Vars& v) { return mul(clamp_tensor(v[0], v[1], {}), v[2]); },
      [](const Tensors& t) {
        return at::clamp(t[0], t[1], std::nullopt) * t[2];
      });
  add(
      "clamp_tensor", false,
      [](const Vars& v) { return mul(clamp_tensor(v[0], {}, v[1]), v[2]); },
      [](const Tensors& t) {
        return at::clamp(t[0], std::nullopt, t[1]) * t[2];
      });
  add(
      "lerp", true, [](const Vars& v) { return lerp(v[0], v[1], v[2]); },
      [](const Tensors& t) { return at::lerp(t[0], t[1], t[2]); });
  add(
      "lerp_scalar", true,
      [](const Vars& v) { return mul(lerp_scalar(v[0], v[1], 0.3), v[2]); },
      [](const Tensors& t) { return at::lerp(t[0], t[1], 0.3) * t[2]; });
  add(
      "addcmul", false,
      [](const Vars& v) { return addcmul(v[0], v[1], v[2], -1.5); },
      [](const Tensors& t) { return at::addcmul(t[0], t[1], t[2], -1.5); });
  add(
      "addcdiv", false,
      [](const Vars& v) { return addcdiv(v[0], v[1], v[2], 0.5); },
      [](const Tensors& t) { return at::addcdiv(t[0], t[1], t[2], 0.5); });
  rows.push_back(typed(
      "addcmul", {index({3, 4}, 5), index({4}, 5), index({}, 5)},
      [](const Vars& v) { return addcmul(v[0], v[1], v[2], 2); },
      [](const Tensors& t) { return at::addcmul(t[0], t[1], t[2], 2); },
      "integers"));
  rows.push_back(typed(
      "lerp", {{{3, 4}}, {{4}}, {{}}},
      [](const Vars& v) {
        return lerp(cast(v[0], DType::kFloat32), cast(v[1], DType::kFloat32),
                    cast(v[2], DType::kFloat64));
      },
      [](const Tensors& t) {
        return at::lerp(t[0].to(at::kFloat), t[1].to(at::kFloat),
                        t[2].to(at::kDouble));
      },
      "wide weight"));
}

}  // namespace

std::vector<Row> math_rows() {
  std::vector<Row> rows = binary_math_rows();
  add_functions(rows);
  add_other_functions(rows);
  add_clamps(rows);
  add_ranges(rows);
  return rows;
}

}  // namespace braid::parity
