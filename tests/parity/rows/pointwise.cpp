#include "table.h"

namespace braid::parity {
namespace {

void add_functions(std::vector<Row>& rows) {
  const Unary table[] = {
      {"neg", neg, [](const at::Tensor& x) { return -x; }},
      {"exp", exp, [](const at::Tensor& x) { return x.exp(); }},
      {"log", log, [](const at::Tensor& x) { return x.log(); }},
      {"sqrt", sqrt, [](const at::Tensor& x) { return x.sqrt(); }},
      {"tanh", tanh, [](const at::Tensor& x) { return x.tanh(); }},
      {"sigmoid", sigmoid, [](const at::Tensor& x) { return x.sigmoid(); }},
      {"relu", relu, [](const at::Tensor& x) { return x.relu(); }},
  };
  for (const Unary& f : table) {
    bool is_root = f.op == std::string("log") || f.op == std::string("sqrt");
    MakeArg make = is_root ? positive : plain;
    rows.push_back(unary_row(f, make({5, 7}), "plain"));
    rows.push_back(unary_row(f, make({}), "scalar"));
    rows.push_back(unary_row(f, make({0, 4}), "empty"));
    rows.push_back(unary_row(f, make({300, 500}), "large"));
    rows.push_back(unary_row(f, special({60}), "special"));
    rows.push_back(unary_row(f, index({4, 3}, 5), "integers"));
    rows.push_back(transposed_row(f, make({3, 4, 2})));
    rows.push_back(sliced_row(f, make({3, 9})));
  }
  const Unary copy{"copy", [](Var x) { return apply("copy", {x}); },
                   [](const at::Tensor& x) { return x.clone(); }};
  rows.push_back(unary_row(copy, plain({5, 7}), "plain"));
  for (bool tanh_form : {false, true}) {
    const Unary f{"gelu", [=](Var x) { return gelu(x, tanh_form); },
                  [=](const at::Tensor& x) {
                    return at::gelu(x, tanh_form ? "tanh" : "none");
                  },
                  tanh_form ? "tanh" : "exact"};
    rows.push_back(unary_row(f, plain({6, 5}), "plain"));
    rows.push_back(unary_row(f, special({60}), "special"));
    rows.push_back(transposed_row(f, plain({3, 4})));
  }
}

void add_arithmetic(std::vector<Row>& rows) {
  auto pair = [](const char* op, Var (*ours)(Var, Var), auto theirs) {
    return Binary{op, ours, theirs};
  };
  using T = const at::Tensor&;
  const Binary table[] = {
      pair("add", add, [](T a, T b) { return a + b; }),
      pair("sub", sub, [](T a, T b) { return a - b; }),
      pair("mul", mul, [](T a, T b) { return a * b; }),
      pair("div", div, [](T a, T b) { return a / b; }),
  };
  for (const Binary& f : table) {
    bool bools = f.op != std::string("sub");
    add_broadcasts(rows, f, plain, positive);
    std::vector<Row> mixed;
    add_promotions(mixed, f, plain, positive);
    add_integers(mixed, f);
    for (Row& row : mixed) {
      if (bools || row.note.find("bool") == std::string::npos) {
        rows.push_back(std::move(row));
      }
    }
    rows.push_back(binary_row(f, special({90}), special({90}), "special"));
    if (bools) rows.push_back(binary_row(f, mask({9}), mask({9}), "bools"));
  }
}

void add_scaled(std::vector<Row>& rows) {
  for (const Number& v : {Number(2), Number(-1), Number(0.5), Number(1)}) {
    using T = const at::Tensor&;
    const Binary table[] = {
        {"add_alpha", [v](Var a, Var b) { return add(a, b, v); },
         [v](T a, T b) { return at::add(a, b, scalar(v)); }, text(v)},
        {"add_alpha", [v](Var a, Var b) { return sub(a, b, v); },
         [v](T a, T b) { return at::sub(a, b, scalar(v)); }, "sub " + text(v)},
        {"add_alpha", [v](Var a, Var b) { return rsub(a, b, v); },
         [v](T a, T b) { return at::rsub(a, b, scalar(v)); },
         "rsub " + text(v)},
    };
    for (const Binary& f : table) {
      rows.push_back(binary_row(f, plain({4, 1}), plain({3}), "broadcast"));
      rows.push_back(binary_row(f, plain({}), plain({0, 2}), "empty"));
      rows.push_back(binary_row(f, plain({3}), index({4, 3}, 5), "i64"));
      rows.push_back(cast_row(f, plain({3}), DType::kFloat32, plain({}),
                              DType::kFloat64, "wide scalar"));
      if (std::holds_alternative<double>(v)) continue;
      rows.push_back(
          binary_row(f, index({4, 3}, 5), index({3}, 5), "integers"));
    }
  }
}

void add_numbers(std::vector<Row>& rows) {
  for (const Number& v : {Number(2), Number(-3), Number(2.5), Number(0.0)}) {
    using T = const at::Tensor&;
    const Unary table[] = {
        {"add_scalar", [v](Var x) { return add_scalar(x, v); },
         [v](T x) { return x + scalar(v); }, text(v)},
        {"sub_scalar", [v](Var x) { return sub_scalar(x, v); },
         [v](T x) { return x - scalar(v); }, text(v)},
        {"mul_scalar", [v](Var x) { return mul_scalar(x, v); },
         [v](T x) { return x * scalar(v); }, text(v)},
        {"div_scalar", [v](Var x) { return div_scalar(x, v); },
         [v](T x) { return x / scalar(v); }, text(v)},
        {"rsub_scalar", [v](Var x) { return rsub_scalar(x, v); },
         [v](T x) { return at::rsub(x, scalar(v)); }, text(v)},
    };
    for (const Unary& f : table) {
      bool bools = f.op[0] != 's' && f.op[0] != 'r';
      rows.push_back(unary_row(f, plain({3, 4}), "plain"));
      rows.push_back(unary_row(f, special({30}), "special"));
      rows.push_back(unary_row(f, index({3, 4}, 6), "integers"));
      rows.push_back(unary_row(f, index({}, 6), "integer"));
      if (bools) rows.push_back(unary_row(f, mask({4}), "bool"));
      rows.push_back(transposed_row(f, plain({2, 3})));
    }
  }
}

}  // namespace

std::vector<Row> pointwise_rows() {
  std::vector<Row> rows;
  add_functions(rows);
  add_arithmetic(rows);
  add_scaled(rows);
  add_numbers(rows);
  return rows;
}

}  // namespace braid::parity
