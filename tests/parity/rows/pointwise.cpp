#include "../row.h"

namespace braid::parity {
namespace {

Row unary(const char* op, at::Tensor (*f)(const at::Tensor&),
          Arg arg = {{5, 7}}) {
  return {.op = op,
          .args = {std::move(arg)},
          .attrs = {},
          .reference = [f](const Tensors& t) { return f(t[0]); }};
}

using Binary = at::Tensor (*)(const at::Tensor&, const at::Tensor&);

void add_binary(std::vector<Row>& rows, const char* op, Binary f) {
  const std::pair<Shape, Shape> shapes[] = {
      {{4, 3}, {4, 3}}, {{4, 3}, {3}},       {{3}, {4, 3}}, {{4, 1}, {1, 3}},
      {{2, 4, 3}, {}},  {{2, 1, 3}, {4, 1}}, {{0, 3}, {3}}, {{1}, {1}},
  };
  for (const auto& [a, b] : shapes) {
    rows.push_back(
        {.op = op,
         .args = {{a}, positive(b)},
         .attrs = {},
         .reference = [f](const Tensors& t) { return f(t[0], t[1]); },
         .note = shape_text(a) + shape_text(b)});
  }
}

}  // namespace

std::vector<Row> pointwise_rows() {
  std::vector<Row> rows{
      unary("neg", [](const at::Tensor& x) { return -x; }),
      unary("exp", [](const at::Tensor& x) { return x.exp(); }),
      unary(
          "log", [](const at::Tensor& x) { return x.log(); }, positive({5, 7})),
      unary(
          "sqrt", [](const at::Tensor& x) { return x.sqrt(); },
          positive({5, 7})),
      unary("tanh", [](const at::Tensor& x) { return x.tanh(); }),
      unary("sigmoid", [](const at::Tensor& x) { return x.sigmoid(); }),
      unary("relu", [](const at::Tensor& x) { return x.relu(); }),
      unary("relu", [](const at::Tensor& x) { return x.relu(); }, {{}}),
      unary("relu", [](const at::Tensor& x) { return x.relu(); }, {{0, 4}}),
      unary("relu", [](const at::Tensor& x) { return x.relu(); }, {{300, 500}}),
      unary("copy", [](const at::Tensor& x) { return x.clone(); }),
  };
  for (bool tanh_form : {false, true}) {
    rows.push_back({.op = "gelu",
                    .args = {{{6, 5}}},
                    .attrs = {{"tanh", tanh_form}},
                    .reference =
                        [tanh_form](const Tensors& t) {
                          return at::gelu(t[0], tanh_form ? "tanh" : "none");
                        },
                    .note = tanh_form ? "tanh" : "exact"});
  }
  rows.push_back({.op = "add_scalar",
                  .args = {{{3, 4}}},
                  .attrs = {{"value", 2.5}},
                  .reference = [](const Tensors& t) { return t[0] + 2.5; }});
  rows.push_back({.op = "mul_scalar",
                  .args = {{{3, 4}}},
                  .attrs = {{"value", -1.5}},
                  .reference = [](const Tensors& t) { return t[0] * -1.5; }});
  add_binary(rows, "add",
             [](const at::Tensor& a, const at::Tensor& b) { return a + b; });
  add_binary(rows, "sub",
             [](const at::Tensor& a, const at::Tensor& b) { return a - b; });
  add_binary(rows, "mul",
             [](const at::Tensor& a, const at::Tensor& b) { return a * b; });
  add_binary(rows, "div",
             [](const at::Tensor& a, const at::Tensor& b) { return a / b; });
  return rows;
}

}  // namespace braid::parity
