#include "table.h"

namespace braid::parity {
namespace {

using VarFunction = Var (*)(Var, Var);
using TensorFunction = at::Tensor (*)(const at::Tensor&, const at::Tensor&);
using VarNumber = Var (*)(Var, Number);
using TensorScalar = at::Tensor (*)(const at::Tensor&, const at::Scalar&);

struct Function {
  const char* op;
  VarFunction ours;
  TensorFunction theirs;
  VarNumber ours_number = nullptr;
  TensorScalar theirs_number = nullptr;
};

void add_comparisons(std::vector<Row>& rows) {
  const Function table[] = {
      {"eq", eq, at::eq, eq_scalar, at::eq},
      {"ne", ne, at::ne, ne_scalar, at::ne},
      {"lt", lt, at::lt, lt_scalar, at::lt},
      {"le", le, at::le, le_scalar, at::le},
      {"gt", gt, at::gt, gt_scalar, at::gt},
      {"ge", ge, at::ge, ge_scalar, at::ge},
      {"logical_and", logical_and, at::logical_and},
      {"logical_or", logical_or, at::logical_or},
      {"logical_xor", logical_xor, at::logical_xor},
  };
  for (const Function& one : table) {
    const Binary f{one.op, one.ours, one.theirs};
    rows.push_back(binary_row(f, steps({30, 2}), steps({30, 2}), "ties"));
    rows.push_back(binary_row(f, special({90}), special({90}), "special"));
    rows.push_back(binary_row(f, steps({4, 1}), steps({1, 3}), "broadcast"));
    rows.push_back(binary_row(f, steps({}), steps({2, 0}), "empty"));
    add_promotions(rows, f, steps, steps);
    rows.push_back(cast_row(f, steps({30}), DType::kFloat32, plain({}),
                            DType::kFloat64, "a wide scalar is narrowed"));
    rows.push_back(binary_row(f, mask({9}), mask({9}), "bools"));
    add_integers(rows, f);
    if (!one.ours_number) continue;
    for (const Number& v : {Number(0.5), Number(2), Number(-1), Number(true)}) {
      const Unary g{one.op, [one, v](Var x) { return one.ours_number(x, v); },
                    [one, v](const at::Tensor& x) {
                      return one.theirs_number(x, scalar(v));
                    },
                    text(v)};
      rows.push_back(unary_row(g, steps({4, 5}), "float"));
      rows.push_back(unary_row(g, index({7}, 4), "integers"));
      rows.push_back(unary_row(g, special({40}), "special"));
    }
  }
}

void add_tests(std::vector<Row>& rows) {
  const Unary table[] = {
      {"isnan", isnan, at::isnan},
      {"isinf", isinf, at::isinf},
      {"isfinite", isfinite, at::isfinite},
      {"logical_not", logical_not,
       [](const at::Tensor& x) { return at::logical_not(x); }},
  };
  for (const Unary& f : table) {
    rows.push_back(unary_row(f, special({60}), "special"));
    rows.push_back(unary_row(f, index({3, 4}, 3), "integers"));
    rows.push_back(unary_row(f, mask({6}), "bool"));
    rows.push_back(unary_row(f, special({}), "scalar"));
    rows.push_back(transposed_row(f, special({3, 4, 2})));
  }
}

void add_bits(std::vector<Row>& rows) {
  const Function table[] = {
      {"bitwise_and", bitwise_and, at::bitwise_and, bitwise_and_scalar,
       at::bitwise_and},
      {"bitwise_or", bitwise_or, at::bitwise_or, bitwise_or_scalar,
       at::bitwise_or},
      {"bitwise_xor", bitwise_xor, at::bitwise_xor, bitwise_xor_scalar,
       at::bitwise_xor},
      {"bitwise_left_shift", bitwise_left_shift, at::bitwise_left_shift,
       bitwise_left_shift_scalar, at::bitwise_left_shift},
      {"bitwise_right_shift", bitwise_right_shift, at::bitwise_right_shift,
       bitwise_right_shift_scalar, at::bitwise_right_shift},
  };
  for (const Function& one : table) {
    const Binary f{one.op, one.ours, one.theirs};
    add_integers(rows, f);
    rows.push_back(binary_row(f, index({4, 1}, 9), index({1, 3}, 5), "grid"));
    bool shifts = std::string(one.op).ends_with("shift");
    if (!shifts) rows.push_back(binary_row(f, mask({9}), mask({9}), "bools"));
    const Unary g{
        one.op, [one](Var x) { return one.ours_number(x, 3); },
        [one](const at::Tensor& x) { return one.theirs_number(x, 3); }, "by 3"};
    rows.push_back(unary_row(g, index({8}, 99), "integers"));
    if (!shifts) rows.push_back(unary_row(g, mask({8}), "bool"));
  }
  const Unary turned{"bitwise_not", bitwise_not,
                     [](const at::Tensor& x) { return at::bitwise_not(x); }};
  rows.push_back(unary_row(turned, index({8}, 99), "integers"));
  rows.push_back(unary_row(turned, mask({3, 2}), "bool"));
}

Row where_row(Arg condition, Arg a, std::optional<DType> ta, Arg b,
              std::optional<DType> tb, std::string note) {
  auto ours = [ta, tb](const Vars& v) {
    return where(v[2], ta ? cast(v[0], *ta) : v[0],
                 tb ? cast(v[1], *tb) : v[1]);
  };
  Reference theirs = [ta, tb](const Tensors& t) {
    auto to = [](const at::Tensor& x, std::optional<DType> type) {
      return type ? x.to(runtime::scalar_type(*type)) : x;
    };
    return at::where(t[2], to(t[0], ta), to(t[1], tb));
  };
  return typed("where", {a, b, condition}, ours, theirs, note);
}

void add_where_shapes(std::vector<Row>& rows) {
  const std::vector<Shape> shapes[] = {
      {{4, 3}, {4, 3}, {4, 3}},
      {{4, 1}, {3}, {}},
      {{3}, {}, {4, 3}},
      {{}, {2, 2}, {2, 1}},
      {{}, {}, {}},
      {{0, 3}, {3}, {1}},
      {{1}, {5}, {}},
      {{2, 1, 2, 1, 2}, {2, 1, 2}, {1}},
  };
  for (const auto& s : shapes) {
    rows.push_back(
        where_row(mask(s[0]), plain(s[1]), {}, plain(s[2]), {},
                  shape_text(s[0]) + shape_text(s[1]) + shape_text(s[2])));
  }
  constexpr DType f32 = DType::kFloat32, f64 = DType::kFloat64;
  Arg c = mask({3, 4}), x = plain({3, 4}), one = plain({});
  rows.push_back(where_row(c, x, f32, x, f64, "f32 f64"));
  rows.push_back(where_row(c, x, f32, one, f64, "f32 f64 scalar"));
  rows.push_back(where_row(c, one, f32, one, f64, "two scalars"));
  rows.push_back(where_row(c, index({4}, 5), {}, x, {}, "i64 float"));
  rows.push_back(where_row(c, index({4}, 5), {}, one, f64, "i64 scalar"));
  rows.push_back(
      where_row(c, index({4}, 5), DType::kInt32, index({}, 3), {}, "ints"));
  rows.push_back(where_row(c, mask({4}), {}, index({}, 3), {}, "bool i64"));
  rows.push_back(
      where_row(mask({60}), special({60}), {}, special({60}), {}, "special"));
}

void add_where_numbers(std::vector<Row>& rows) {
  for (const Number& v : {Number(1.5), Number(2), Number(true)}) {
    const Binary table[] = {
        {"where", [v](Var c, Var x) { return where(c, x, v); },
         [v](const at::Tensor& c, const at::Tensor& x) {
           return at::where(c, x, scalar(v));
         },
         "other " + text(v)},
        {"where", [v](Var c, Var x) { return where(c, v, x); },
         [v](const at::Tensor& c, const at::Tensor& x) {
           return at::where(c, scalar(v), x);
         },
         "self " + text(v)},
        {"where", [v](Var c, Var x) { return mul(where(c, v, Number(3)), x); },
         [v](const at::Tensor& c, const at::Tensor& x) {
           return at::where(c, scalar(v), at::Scalar(3)) * x;
         },
         "both " + text(v)},
    };
    for (const Binary& f : table) {
      rows.push_back(binary_row(f, mask({3, 4}), plain({4}), "float"));
      rows.push_back(binary_row(f, mask({3, 4}), index({}, 4), "i64 scalar"));
      rows.push_back(binary_row(f, mask({}), index({4}, 4), "i64"));
      rows.push_back(binary_row(f, mask({5}), mask({5}), "bool"));
    }
  }
}

void add_masked_fill(std::vector<Row>& rows) {
  const std::pair<Shape, Shape> shapes[] = {
      {{4, 3}, {4, 3}}, {{4, 3}, {3}}, {{3}, {4, 3}},       {{}, {}},
      {{2, 0}, {1}},    {{1}, {5}},    {{2, 3, 4}, {3, 1}}, {{}, {2}},
  };
  const Binary numbers[] = {
      {"masked_fill_scalar",
       [](Var x, Var m) { return masked_fill(x, m, -2.5); },
       [](const at::Tensor& x, const at::Tensor& m) {
         return at::masked_fill(x, m, -2.5);
       }},
      {"masked_fill_scalar",
       [](Var x, Var m) {
         return masked_fill(x, m, -std::numeric_limits<double>::infinity());
       },
       [](const at::Tensor& x, const at::Tensor& m) {
         return at::masked_fill(x, m, -std::numeric_limits<double>::infinity());
       },
       "inf"},
  };
  for (const Binary& f : numbers) {
    for (const auto& [x, m] : shapes) {
      rows.push_back(
          binary_row(f, plain(x), mask(m), shape_text(x) + shape_text(m)));
    }
    rows.push_back(binary_row(f, special({40}), mask({40}), "special"));
  }
  rows.push_back(binary_row(numbers[0], index({6}, 5), mask({6}), "integers"));
  auto ours = [](const Vars& v) { return masked_fill(v[0], v[1], v[2]); };
  auto theirs = [](const Tensors& t) {
    return at::masked_fill(t[0], t[1], t[2]);
  };
  for (const auto& [x, m] : shapes) {
    rows.push_back(typed("masked_fill", {{x}, mask(m), {{}}}, ours, theirs,
                         "value " + shape_text(x) + shape_text(m)));
  }
  rows.push_back(typed("masked_fill", {{{4}}, mask({4}), index({}, 9)}, ours,
                       theirs, "integer value"));
  rows.push_back(typed("masked_fill", {index({4}, 5), mask({4}), index({}, 9)},
                       ours, theirs, "into integers"));
}

}  // namespace

std::vector<Row> compare_rows() {
  std::vector<Row> rows;
  add_comparisons(rows);
  add_tests(rows);
  add_bits(rows);
  add_where_shapes(rows);
  add_where_numbers(rows);
  add_masked_fill(rows);
  return rows;
}

}  // namespace braid::parity
