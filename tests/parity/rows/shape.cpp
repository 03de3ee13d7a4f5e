#include "built.h"

namespace braid::parity {
namespace {

// Views of views, and what comes of their strides.
void add_views(std::vector<Row>& rows) {
  using at::Tensor;
  const std::pair<Shape, Shape> reshapes[] = {
      {{2, 3, 4}, {6, 4}},   {{2, 3, 4}, {3, 8}}, {{2, 3, 2, 3, 2}, {6, 12}},
      {{4, 1, 3}, {12}},     {{1, 1}, {}},        {{3, 0, 2}, {0}},
      {{2, 6}, {2, 2, 3, 1}}};
  for (const auto& [from, to] : reshapes) {
    add_built(
        rows, "reshape", {from}, [to](Var v) { return exp(reshape(v, to)); },
        [to](const Tensor& t) { return t.reshape(to).exp(); }, shape_text(to));
  }
  const std::pair<Shape, Shape> expands[] = {{{1, 3}, {4, 3}},
                                             {{3, 1, 2}, {2, 3, 4, 2}},
                                             {{1}, {0}},
                                             {{2, 1}, {2, 0}},
                                             {{1, 1}, {3, 2}}};
  for (const auto& [from, to] : expands) {
    add_built(
        rows, "expand", {from}, [to](Var v) { return exp(expand(v, to)); },
        [to](const Tensor& t) { return t.expand(to).exp(); }, shape_text(to));
  }
  add_built(
      rows, "detach", {{2, 3}}, [](Var v) { return mul(v, detach(v)); },
      [](const Tensor& t) { return t * t.detach(); }, "beside");
  for (int64_t step : {1, 2, 3, 9}) {
    add_built(
        rows, "slice", {{6, 5}},
        [=](Var v) { return slice(slice(v, 0, 1, 6, step), 1, -4, -1, 2); },
        [=](const Tensor& t) {
          return t.slice(0, 1, 6, step).slice(1, -4, -1, 2);
        },
        fmt::format(" {}", step));
  }
  for (int64_t dim : {0, 1, -1}) {
    add_built(
        rows, "cat", {{2, 3, 4}},
        [=](Var v) {
          return cat({v, slice(v, dim, 0, 1), v}, dim);
        },
        [=](const Tensor& t) {
          return at::cat({t, t.slice(dim, 0, 1), t}, dim);
        },
        fmt::format(" {}", dim));
  }
}

void add_casts(std::vector<Row>& rows) {
  const std::pair<DType, at::ScalarType> types[] = {
      {DType::kInt64, at::kLong},
      {DType::kInt32, at::kInt},
      {DType::kBool, at::kBool},
      {DType::kFloat64, at::kDouble},
      {DType::kFloat32, at::kFloat}};
  for (const auto& [ours, theirs] : types) {
    for (Arg x : {steps({3, 4}), index({3, 4}, 3), mask({3, 4})}) {
      bool has_gradient = x.kind == Arg::Kind::kSteps;
      if (is_floating(ours) && !has_gradient) continue;
      add_built(
          rows, "to", x, [d = ours](Var v) { return cast(v, d); },
          [d = theirs](const at::Tensor& t) { return t.to(d); },
          " " + std::string(dtype_name(ours)));
    }
  }
}

std::vector<Row> base_rows() {
  return {
      built(
          "reshape", {{{4, 6}}},
          [](const Vars& v) {
            return reshape(v[0], {3, 8});
          },
          [](const Tensors& t) {
            return t[0].reshape({3, 8});
          },
          "plain"),
      built(
          "reshape", {{{4, 6}}},
          [](const Vars& v) {
            return reshape(transpose(v[0], 0, 1), {2, 12});
          },
          [](const Tensors& t) {
            return t[0].t().reshape({2, 12});
          },
          "of a transpose"),
      built(
          "reshape", {{{2, 3, 4}}},
          [](const Vars& v) {
            return reshape(permute(v[0], {1, 0, 2}), {3, 8});
          },
          [](const Tensors& t) {
            return t[0].permute({1, 0, 2}).reshape({3, 8});
          },
          "of a permute"),
      built(
          "reshape", {{{0, 4}}},
          [](const Vars& v) {
            return reshape(v[0], {2, 0});
          },
          [](const Tensors& t) {
            return t[0].reshape({2, 0});
          },
          "empty"),
      built(
          "reshape", {{{}}},
          [](const Vars& v) {
            return reshape(v[0], {1, 1});
          },
          [](const Tensors& t) {
            return t[0].reshape({1, 1});
          },
          "scalar"),
      built(
          "permute", {{{2, 3, 4}}},
          [](const Vars& v) {
            return permute(v[0], {2, 0, 1});
          },
          [](const Tensors& t) {
            return t[0].permute({2, 0, 1});
          },
          "3d"),
      built(
          "permute", {{{2, 3}}},
          [](const Vars& v) {
            return exp(permute(v[0], {-1, 0}));
          },
          [](const Tensors& t) { return t[0].t().exp(); }, "then exp"),
      built(
          "expand", {{{3, 1}}},
          [](const Vars& v) {
            return expand(v[0], {2, 3, 4});
          },
          [](const Tensors& t) {
            return t[0].expand({2, 3, 4});
          },
          "3d"),
      built(
          "expand", {{{}}},
          [](const Vars& v) {
            return expand(v[0], {2, 2});
          },
          [](const Tensors& t) {
            return t[0].expand({2, 2});
          },
          "scalar"),
      built(
          "slice", {{{5, 7}}},
          [](const Vars& v) { return slice(v[0], 1, 1, 6, 2); },
          [](const Tensors& t) { return t[0].slice(1, 1, 6, 2); }, "step"),
      built(
          "slice", {{{5, 7}}},
          [](const Vars& v) { return slice(v[0], -2, -3, 100); },
          [](const Tensors& t) { return t[0].slice(0, -3, 100); },
          "negative start"),
      built(
          "slice", {{{5, 7}}},
          [](const Vars& v) { return slice(v[0], 0, 4, 2); },
          [](const Tensors& t) { return t[0].slice(0, 4, 2); }, "empty"),
      built(
          "cat", {{{2, 3}}, {{2, 1}}, {{2, 4}}},
          [](const Vars& v) {
            return cat({v[0], v[1], v[2]}, -1);
          },
          [](const Tensors& t) {
            return at::cat({t[0], t[1], t[2]}, 1);
          },
          "three"),
      built(
          "cat", {{{2, 3}}},
          [](const Vars& v) {
            return cat({v[0], exp(v[0])}, 0);
          },
          [](const Tensors& t) {
            return at::cat({t[0], t[0].exp()}, 0);
          },
          "twice the same"),
      built(
          "to", {{{3, 4}}},
          [](const Vars& v) {
            Var wide = cast(v[0], DType::kFloat64);
            return mul(wide, wide);
          },
          [](const Tensors& t) {
            return t[0].to(at::kDouble) * t[0].to(at::kDouble);
          },
          "wider"),
      built(
          "mul", {index({3, 4}, 5), {{3, 4}}},
          [](const Vars& v) { return mul(v[0], v[1]); },
          [](const Tensors& t) { return t[0] * t[1]; }, "integer"),
      built(
          "full", {{{2, 3}}},
          [](const Vars& v) { return add(v[0], full_like(v[0], {3}, 1.5)); },
          [](const Tensors& t) { return t[0] + 1.5; }, "added"),
  };
}

}  // namespace

std::vector<Row> shape_rows() {
  std::vector<Row> rows = base_rows();
  add_views(rows);
  add_casts(rows);
  return rows;
}

}  // namespace braid::parity
