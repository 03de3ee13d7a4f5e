#include "built.h"

namespace braid::parity {
namespace {

using Rows = std::vector<Row>;
using at::Tensor;

// A factory beside a parameter, in its type; whole numbers as they come.
void add_factory(Rows& rows, const std::string& op,
                 std::function<Var(Var, DType)> f,
                 std::function<Tensor(at::TensorOptions)> g,
                 const std::string& note) {
  rows.push_back(built(
      op, {{{}}},
      [f](const Vars& v) { return mul(f(v[0], v[0].dtype()), v[0]); },
      [g](const Tensors& t) { return g(t[0].options()) * t[0]; }, note));
  rows.push_back(built(
      op, {mask({2})}, [f](const Vars& v) { return f(v[0], DType::kInt64); },
      [g](const Tensors&) { return g(at::kLong); }, note + " whole"));
}

void add_ranges(Rows& rows) {
  struct Range {
    double start, end, step;
  };
  for (const Range& r : {Range{0, 5, 1}, Range{2, 9, 3}, Range{5, -2, -2},
                         Range{3, 3, 1}, Range{-4, 4, 1}, Range{0, 1, 1}}) {
    add_factory(
        rows, "arange",
        [r](Var x, DType d) { return arange(x, r.start, r.end, r.step, d); },
        [r](at::TensorOptions o) {
          return at::arange(r.start, r.end, r.step, o);
        },
        fmt::format("{} {} {}", r.start, r.end, r.step));
  }
  rows.push_back(built(
      "arange", {{{}}},
      [](const Vars& v) {
        return mul(arange(v[0], 0.5, 2, 0.3, v[0].dtype()), v[0]);
      },
      [](const Tensors& t) {
        return at::arange(0.5, 2, 0.3, t[0].options()) * t[0];
      },
      "fractions"));
  for (int64_t steps : {1, 2, 7, 0}) {
    rows.push_back(built(
        "linspace", {{{}}},
        [=](const Vars& v) {
          return mul(linspace(v[0], -1, 2.5, steps, v[0].dtype()), v[0]);
        },
        [=](const Tensors& t) {
          return at::linspace(-1, 2.5, steps, t[0].options()) * t[0];
        },
        std::to_string(steps)));
  }
}

void add_constants(Rows& rows) {
  const std::pair<int64_t, int64_t> sizes[] = {
      {3, 3}, {2, 4}, {4, 2}, {0, 3}, {1, 1}};
  for (const auto& [n, m] : sizes) {
    add_factory(
        rows, "eye", [n, m](Var x, DType d) { return eye(x, n, m, d); },
        [n, m](at::TensorOptions o) { return at::eye(n, m, o); },
        fmt::format("{} {}", n, m));
  }
  for (const Shape& shape : {Shape{2, 3}, Shape{}, Shape{0, 2}}) {
    for (double value : {0.0, 1.0, -3.0}) {
      add_factory(
          rows, "full",
          [=](Var x, DType d) { return full(x, shape, value, d); },
          [=](at::TensorOptions o) { return at::full(shape, value, o); },
          shape_text(shape) + fmt::format("{}", value));
    }
  }
  rows.push_back(built(
      "full", {{{2}}},
      [](const Vars& v) { return full(v[0], {3}, 1, DType::kBool); },
      [](const Tensors&) { return at::ones({3}, at::kBool); }, "truth"));
}

void add_counts(Rows& rows) {
  for (const Shape& shape : {Shape{5}, Shape{2, 3}, Shape{}, Shape{0}}) {
    add_built(
        rows, "one_hot", index(shape, 4), [](Var v) { return one_hot(v, 4); },
        [](const Tensor& t) {
          return t.unsqueeze(-1).eq(at::arange(4, at::kLong)).to(at::kLong);
        });
    add_built(
        rows, "bincount", index(shape, 4), [](Var v) { return bincount(v, 6); },
        [](const Tensor& t) { return at::bincount(t.reshape({-1}), {}, 6); });
  }
  for (const Shape& shape : {Shape{50}, Shape{4, 6}, Shape{0}, Shape{1}}) {
    for (int64_t bins : {1, 4, 10}) {
      add_built(
          rows, "histc", steps(shape),
          [=](Var v) { return mul(histc(v, bins, -1, 1.5), sum(v, {})); },
          [=](const Tensor& t) {
            return at::histc(t.detach(), bins, -1, 1.5) * t.sum();
          },
          fmt::format(" {}", bins));
    }
  }
  add_built(
      rows, "histc", index({40}, 8),
      [](Var v) {
        return cast(histc(cast(v, DType::kFloat32), 8, 0, 7), DType::kInt64);
      },
      [](const Tensor& t) {
        return at::histc(t.to(at::kFloat), 8, 0, 7).to(at::kLong);
      },
      " experts");
}

void add_grids(Rows& rows) {
  for (bool xy : {false, true}) {
    for (size_t which : {0, 1, 2}) {
      rows.push_back(built(
          "expand", {{{2}}, {{3}}, {{4}}},
          [=](const Vars& v) { return meshgrid(v, xy)[which]; },
          [=](const Tensors& t) {
            return at::meshgrid(t, xy ? "xy" : "ij")[which];
          },
          fmt::format("meshgrid {}{}", which, xy ? " xy" : "")));
    }
  }
}

}  // namespace

std::vector<Row> factory_rows() {
  Rows rows;
  add_ranges(rows);
  add_constants(rows);
  add_counts(rows);
  add_grids(rows);
  return rows;
}

}  // namespace braid::parity
