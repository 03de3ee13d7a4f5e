#include "table.h"

namespace braid::parity {
namespace {

const std::vector<Unary>& activations() {
  static const std::vector<Unary> table{
      {"leaky_relu", [](Var x) { return leaky_relu(x); },
       [](const at::Tensor& x) { return at::leaky_relu(x); }},
      {"leaky_relu", [](Var x) { return leaky_relu(x, -0.3); },
       [](const at::Tensor& x) { return at::leaky_relu(x, -0.3); },
       "negative slope"},
      {"elu", [](Var x) { return elu(x); },
       [](const at::Tensor& x) { return at::elu(x); }},
      {"elu", [](Var x) { return elu(x, 0.7, 1.3, 0.4); },
       [](const at::Tensor& x) { return at::elu(x, 0.7, 1.3, 0.4); },
       "three numbers"},
      // libtorch takes 1 / alpha in f32: one that is exact there.
      {"celu", [](Var x) { return celu(x, 0.5); },
       [](const at::Tensor& x) { return at::celu(x, 0.5); }},
      {"selu", [](Var x) { return selu(x); },
       [](const at::Tensor& x) { return at::selu(x); }},
      {"hardtanh", [](Var x) { return hardtanh(x, -0.5, 1.5); },
       [](const at::Tensor& x) { return at::hardtanh(x, -0.5, 1.5); }},
      {"relu6", [](Var x) { return relu6(mul_scalar(x, 4)); },
       [](const at::Tensor& x) { return at::relu6(x * 4); }},
      {"threshold", [](Var x) { return threshold(x, 0.5, -3); },
       [](const at::Tensor& x) { return at::threshold(x, 0.5, -3); }},
      {"hardswish", [](Var x) { return hardswish(mul_scalar(x, 3)); },
       [](const at::Tensor& x) { return at::hardswish(x * 3); }},
      {"hardsigmoid", [](Var x) { return hardsigmoid(mul_scalar(x, 3)); },
       [](const at::Tensor& x) { return at::hardsigmoid(x * 3); }},
      {"silu", [](Var x) { return silu(x); },
       [](const at::Tensor& x) { return at::silu(x); }},
      {"mish", [](Var x) { return mish(x); },
       [](const at::Tensor& x) { return at::mish(x); }},
      {"softplus", [](Var x) { return softplus(x); },
       [](const at::Tensor& x) { return at::softplus(x); }},
      {"softplus", [](Var x) { return softplus(x, 2.5, 1); },
       [](const at::Tensor& x) { return at::softplus(x, 2.5, 1); },
       "linear part"},
      {"log_sigmoid", [](Var x) { return log_sigmoid(mul_scalar(x, 5)); },
       [](const at::Tensor& x) { return at::log_sigmoid(x * 5); }},
      {"softsign", [](Var x) { return softsign(x); },
       [](const at::Tensor& x) { return x / (x.abs() + 1); }},
      {"tanhshrink", [](Var x) { return tanhshrink(x); },
       [](const at::Tensor& x) { return x - x.tanh(); }},
      {"hardshrink", [](Var x) { return hardshrink(x); },
       [](const at::Tensor& x) { return at::hardshrink(x); }},
      {"softshrink", [](Var x) { return softshrink(x, 1); },
       [](const at::Tensor& x) { return at::softshrink(x, 1); }},
      {"rrelu", [](Var x) { return rrelu(x, 0.1, 0.4); },
       [](const at::Tensor& x) { return at::rrelu(x, 0.1, 0.4, false); }},
  };
  return table;
}

// At NaN libtorch's gradients depend on where in a vector register it lies,
// so infinities are looked at without it.
void add_special(std::vector<Row>& rows, const Unary& f) {
  Unary g = f;
  g.ours = [f](Var x) { return f.ours(where(isnan(x), 0.25, x)); };
  g.theirs = [f](const at::Tensor& x) {
    return f.theirs(at::where(x.isnan(), 0.25, x));
  };
  rows.push_back(unary_row(g, special({64}), "infinities"));
  g.ours = [f](Var x) { return isnan(f.ours(x)); };
  g.theirs = [f](const at::Tensor& x) { return f.theirs(x).isnan(); };
  rows.push_back(unary_row(g, special({64}), "NaN stays"));
}

void add_activations(std::vector<Row>& rows) {
  const Shape shapes[] = {{}, {0, 3}, {1}, {2, 1, 3, 1, 2}, {70, 90}};
  size_t turn = 0;
  for (const Unary& f : activations()) {
    rows.push_back(unary_row(f, plain({5, 7}), "plain"));
    rows.push_back(unary_row(f, steps({9, 8}), "zeros and edges"));
    add_special(rows, f);
    rows.push_back(turn % 2 == 0 ? transposed_row(f, plain({3, 4, 2}))
                                 : sliced_row(f, plain({3, 9})));
    const Shape& shape = shapes[turn++ % std::size(shapes)];
    rows.push_back(unary_row(f, plain(shape), shape_text(shape)));
  }
  const Unary ints[] = {
      {"hardtanh", [](Var x) { return hardtanh(x, 1, 3); },
       [](const at::Tensor& x) { return at::hardtanh(x, 1, 3); }},
      {"threshold", [](Var x) { return threshold(x, 2, 7); },
       [](const at::Tensor& x) { return at::threshold(x, 2, 7); }},
  };
  for (const Unary& f : ints) {
    rows.push_back(unary_row(f, index({4, 5}, 6), "integers"));
  }
}

void add_prelu(std::vector<Row>& rows) {
  const Binary f{
      "prelu", [](Var x, Var w) { return prelu(x, w); },
      [](const at::Tensor& x, const at::Tensor& w) { return at::prelu(x, w); }};
  const std::pair<Shape, Shape> shapes[] = {
      {{4, 3}, {3}},       {{4, 3}, {1}},          {{2, 3, 4, 5}, {3}},
      {{2, 3, 4, 5}, {1}}, {{2, 3, 4}, {3}},       {{5}, {1}},
      {{}, {1}},           {{0, 3, 2}, {3}},       {{1, 1}, {1}},
      {{3, 3, 3}, {3}},    {{2, 2, 2, 2, 2}, {2}}, {{}, {}},
  };
  for (const auto& [x, w] : shapes) {
    rows.push_back(
        binary_row(f, plain(x), plain(w), shape_text(x) + shape_text(w)));
  }
  rows.push_back(binary_row(f, steps({6, 4, 3}), plain({4}), "zeros"));
  rows.push_back(binary_row(f, special({16, 4}), plain({4}), "special"));
  const Binary strided{
      "prelu", [](Var x, Var w) { return prelu(transpose(x, 0, 1), w); },
      [](const at::Tensor& x, const at::Tensor& w) {
        return at::prelu(x.transpose(0, 1), w);
      }};
  rows.push_back(binary_row(strided, plain({3, 2, 4}), plain({3}), "strided"));
}

void add_glu(std::vector<Row>& rows) {
  const std::pair<Shape, int64_t> cases[] = {
      {{4, 6}, -1},      {{4, 6}, 0},          {{2, 4, 3}, 1}, {{2, 4, 3}, -2},
      {{2}, 0},          {{2, 0}, 0},          {{0, 4}, 1},    {{3, 0}, -1},
      {{2, 1, 4, 3}, 2}, {{1, 2, 1, 2, 6}, 4},
  };
  for (const auto& [shape, dim] : cases) {
    const Unary f{"glu", [dim = dim](Var x) { return glu(x, dim); },
                  [dim = dim](const at::Tensor& x) { return at::glu(x, dim); }};
    rows.push_back(
        unary_row(f, plain(shape), shape_text(shape) + std::to_string(dim)));
    if (shape.size() == 3) rows.push_back(unary_row(f, special(shape), "inf"));
  }
  const Unary f{"glu", [](Var x) { return glu(x, 0); },
                [](const at::Tensor& x) { return at::glu(x, 0); }};
  rows.push_back(transposed_row(f, plain({3, 4, 2})));
}

}  // namespace

std::vector<Row> activation_rows() {
  std::vector<Row> rows;
  add_activations(rows);
  add_prelu(rows);
  add_glu(rows);
  return rows;
}

}  // namespace braid::parity
