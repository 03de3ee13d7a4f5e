#include "built.h"

namespace braid::parity {
namespace {

using Rows = std::vector<Row>;
using at::Tensor;
using Parts = std::vector<Var>;
using TensorParts = std::vector<Tensor>;

// Parts weighed apart, so that each must stand in its place.
Var weighed(const Parts& parts) {
  Parts scaled;
  for (size_t i = 0; i < parts.size(); ++i) {
    scaled.push_back(reshape(mul_scalar(parts[i], 1.0 + double(i)), {-1}));
  }
  return cat(scaled, 0);
}

Tensor weighed(const TensorParts& parts) {
  TensorParts scaled;
  for (size_t i = 0; i < parts.size(); ++i) {
    scaled.push_back((parts[i] * (1.0 + double(i))).reshape({-1}));
  }
  return at::cat(scaled, 0);
}

void add_flips(Rows& rows) {
  const std::pair<Shape, Ints> cases[] = {{{5}, {0}},
                                          {{3, 4}, {1}},
                                          {{3, 4}, {-2, 1}},
                                          {{2, 3, 4}, {0, 2}},
                                          {{2, 3, 2, 3, 2}, {-1, 1}},
                                          {{3, 0}, {0}},
                                          {{}, {}},
                                          {{1, 4}, {0}}};
  for (const auto& [shape, dims] : cases) {
    add_built(
        rows, "flip", {shape}, [dims](Var v) { return flip(v, dims); },
        [dims](const Tensor& t) { return t.flip(dims); }, shape_text(dims));
  }
  add_built(
      rows, "flip", mask({3, 4}), [](Var v) { return flip(v, {0}); },
      [](const Tensor& t) { return t.flip(0); }, " truth");
}

void add_rolls(Rows& rows) {
  struct Case {
    Shape shape;
    Ints shifts, dims;
  };
  const Case cases[] = {{{5}, {2}, {0}},
                        {{3, 4}, {-1}, {1}},
                        {{3, 4}, {1, 2}, {0, -1}},
                        {{3, 4}, {9}, {0}},
                        {{3, 4}, {5}, {}},
                        {{2, 3, 4}, {-7}, {}},
                        {{2, 3, 4}, {1, 1}, {1, 1}},
                        {{0, 4}, {1}, {1}},
                        {{2, 8, 8, 3}, {-4, -4}, {1, 2}}};
  for (const Case& c : cases) {
    add_built(
        rows, "roll", {c.shape},
        [c](Var v) { return roll(v, c.shifts, c.dims); },
        [c](const Tensor& t) { return t.roll(c.shifts, c.dims); },
        shape_text(c.shifts) + shape_text(c.dims));
  }
}

void add_triangles(Rows& rows) {
  for (const Shape& shape : {Shape{4, 4}, Shape{3, 5}, Shape{5, 3},
                             Shape{2, 3, 4}, Shape{0, 3}, Shape{1, 1}}) {
    for (int64_t k : {0, 1, -1, 7, -7}) {
      std::string note = fmt::format(" {}", k);
      add_built(
          rows, "tril", {shape}, [k](Var v) { return tril(v, k); },
          [k](const Tensor& t) { return t.tril(k); }, note);
      add_built(
          rows, "triu", {shape}, [k](Var v) { return triu(v, k); },
          [k](const Tensor& t) { return t.triu(k); }, note);
    }
  }
  add_built(
      rows, "triu", mask({3, 4}), [](Var v) { return triu(v, 1); },
      [](const Tensor& t) { return t.triu(1); }, " truth");
}

void add_diagonals(Rows& rows) {
  struct Case {
    Shape shape;
    int64_t offset, dim1, dim2;
  };
  const Case cases[] = {{{4, 4}, 0, 0, 1},          {{3, 5}, 1, 0, 1},
                        {{3, 5}, -2, 0, 1},         {{3, 5}, 9, 0, 1},
                        {{2, 3, 4}, 0, -2, -1},     {{2, 3, 4}, 1, 2, 0},
                        {{2, 3, 2, 3, 2}, -1, 1, 3}};
  for (const Case& c : cases) {
    add_built(
        rows, "diagonal", {c.shape},
        [c](Var v) { return diagonal(v, c.offset, c.dim1, c.dim2); },
        [c](const Tensor& t) { return t.diagonal(c.offset, c.dim1, c.dim2); },
        fmt::format(" {} {} {}", c.offset, c.dim1, c.dim2));
    add_built(
        rows, "diagonal", {c.shape},
        [c](Var v) { return exp(diagonal(v, c.offset, c.dim1, c.dim2)); },
        [c](const Tensor& t) {
          return t.diagonal(c.offset, c.dim1, c.dim2).exp();
        },
        fmt::format(" {} {} {} exp", c.offset, c.dim1, c.dim2));
  }
}

void add_repeats(Rows& rows) {
  const std::pair<Shape, Ints> cases[] = {
      {{3}, {2}}, {{3}, {2, 2}},    {{2, 3}, {1, 4}}, {{2, 3}, {2, 1, 3}},
      {{}, {3}},  {{2, 3}, {0, 1}}, {{1, 3}, {4, 1}}, {{2, 2, 2}, {3, 1, 2}}};
  for (const auto& [shape, counts] : cases) {
    add_built(
        rows, "repeat", {shape}, [counts](Var v) { return repeat(v, counts); },
        [counts](const Tensor& t) { return t.repeat(counts); },
        shape_text(counts));
  }
  for (const Shape& shape : {Shape{4}, Shape{2, 3}, Shape{2, 3, 2}, Shape{}}) {
    for (int64_t count : {1, 3, 0}) {
      add_built(
          rows, "repeat_interleave", {shape},
          [count](Var v) { return repeat_interleave(v, count); },
          [count](const Tensor& t) { return t.repeat_interleave(count); },
          fmt::format(" {} flat", count));
      for (int64_t dim : {0, -1}) {
        if (shape.empty()) continue;
        add_built(
            rows, "repeat_interleave", {shape},
            [=](Var v) { return repeat_interleave(v, count, dim); },
            [=](const Tensor& t) { return t.repeat_interleave(count, dim); },
            fmt::format(" {} {}", count, dim));
      }
    }
  }
}

void add_joins(Rows& rows) {
  for (int64_t dim : {0, 1, -1, -3}) {
    rows.push_back(built(
        "stack", {{{2, 3}}, {{2, 3}}, {{2, 3}}},
        [=](const Vars& v) { return stack(v, dim); },
        [=](const Tensors& t) { return at::stack(t, dim); },
        std::to_string(dim)));
  }
  rows.push_back(built(
      "stack", {{{}}, {{}}}, [](const Vars& v) { return stack(v, 0); },
      [](const Tensors& t) { return at::stack(t, 0); }, "scalars"));
  rows.push_back(built(
      "cat", {index({2, 3}, 5), {{2, 3}}, mask({1, 3})},
      [](const Vars& v) { return cat(v, 0); },
      [](const Tensors& t) { return at::cat(t, 0); }, "promoted"));
  rows.push_back(built(
      "cat", {{{0}}, {{2, 3}}, {{2, 0}}},
      [](const Vars& v) { return cat(v, 1); },
      [](const Tensors& t) { return at::cat(t, 1); }, "empty parts"));
  const std::vector<std::vector<Shape>> shapes{
      {{3}, {2, 3}}, {{2, 1}, {1, 3}, {}}, {{4, 1, 2}, {3, 1}}, {{1}, {0}}};
  for (const auto& list : shapes) {
    std::vector<Arg> args;
    std::string note;
    for (const Shape& shape : list) {
      args.push_back({shape});
      note += shape_text(shape);
    }
    rows.push_back(built(
        "expand", args,
        [](const Vars& v) { return weighed(broadcast_tensors(v)); },
        [](const Tensors& t) { return weighed(at::broadcast_tensors(t)); },
        note + " broadcast"));
    rows.push_back(built(
        "expand", args,
        [](const Vars& v) { return braid::broadcast_tensors(v).back(); },
        [](const Tensors& t) { return at::broadcast_tensors(t).back(); },
        note + " broadcast last"));
  }
}

void add_parts(Rows& rows) {
  auto add = [&](Shape shape, std::function<Parts(Var)> f,
                 std::function<TensorParts(const Tensor&)> g,
                 const std::string& note) {
    add_built(
        rows, "slice", {shape}, [f](Var v) { return weighed(f(v)); },
        [g](const Tensor& t) { return weighed(g(t)); }, note);
  };
  for (int64_t dim : {0, 1, -1}) {
    std::string text = fmt::format(" {}", dim);
    add(
        {3, 4, 5}, [=](Var v) { return unbind(v, dim); },
        [=](const Tensor& t) { return t.unbind(dim); }, " unbind" + text);
    for (int64_t size : {1, 2, 3, 9}) {
      std::string sized = fmt::format("{} {}", text, size);
      add(
          {3, 4, 5}, [=](Var v) { return split(v, size, dim); },
          [=](const Tensor& t) { return t.split(size, dim); },
          " split" + sized);
      add(
          {3, 4, 5}, [=](Var v) { return chunk(v, size, dim); },
          [=](const Tensor& t) { return t.chunk(size, dim); },
          " chunk" + sized);
    }
  }
  add(
      {2, 6},
      [](Var v) {
        return split_with_sizes(v, {1, 0, 3, 2}, 1);
      },
      [](const Tensor& t) {
        return t.split_with_sizes({1, 0, 3, 2}, 1);
      },
      " sizes");
  add(
      {0, 2}, [](Var v) { return chunk(v, 3, 0); },
      [](const Tensor& t) { return t.chunk(3, 0); }, " chunk nothing");
}

void add_views(Rows& rows) {
  auto add = [&](const char* op, Shape shape, std::function<Var(Var)> f,
                 std::function<Tensor(const Tensor&)> g,
                 const std::string& note) {
    add_built(rows, op, {shape}, f, g, " " + note);
  };
  for (int64_t at : {0, 2, -1, -3}) {
    std::string text = fmt::format(" {}", at);
    add(
        "slice", {3, 4, 3}, [=](Var v) { return select(v, -1, at); },
        [=](const Tensor& t) { return t.select(-1, at); }, "select" + text);
    add(
        "reshape", {3, 4},
        [=](Var v) { return unsqueeze(v, at == 2 ? 2 : at); },
        [=](const Tensor& t) { return t.unsqueeze(at); }, "unsqueeze" + text);
  }
  add(
      "slice", {5, 4}, [](Var v) { return narrow(v, 0, -3, 2); },
      [](const Tensor& t) { return t.narrow(0, -3, 2); }, "narrow");
  add(
      "slice", {5, 4}, [](Var v) { return narrow(v, -1, 1, 0); },
      [](const Tensor& t) { return t.narrow(-1, 1, 0); }, "narrow nothing");
  add(
      "reshape", {1, 3, 1, 2}, [](Var v) { return squeeze(v); },
      [](const Tensor& t) { return t.squeeze(); }, "squeeze all");
  add(
      "reshape", {1, 3, 1, 2}, [](Var v) { return squeeze(v, {-2}); },
      [](const Tensor& t) { return t.squeeze(-2); }, "squeeze");
  add(
      "reshape", {1, 3, 1, 2},
      [](Var v) {
        return squeeze(v, {0, 1, 2});
      },
      [](const Tensor& t) {
        return t.squeeze(at::IntArrayRef{0, 1, 2});
      },
      "squeeze some");
  add(
      "permute", {2, 3, 4}, [](Var v) { return transpose(v, -1, 0); },
      [](const Tensor& t) { return t.swapaxes(-1, 0); }, "swapaxes");
  add(
      "reshape", {2, 12},
      [](Var v) {
        return unflatten(v, -1, {3, -1, 2});
      },
      [](const Tensor& t) {
        return t.unflatten(-1, {3, -1, 2});
      },
      "unflatten");
  const std::pair<Ints, Ints> moves[] = {{{0}, {2}},         {{-1}, {0}},
                                         {{0, 1}, {-1, -2}}, {{2, 0}, {0, 1}},
                                         {{1}, {1}},         {{3, 1}, {0, 2}}};
  for (const auto& [from, to] : moves) {
    add(
        "permute", {2, 3, 2, 4}, [=](Var v) { return movedim(v, from, to); },
        [=](const Tensor& t) { return t.movedim(from, to); },
        "movedim" + shape_text(from) + shape_text(to));
  }
}

}  // namespace

std::vector<Row> arrange_rows() {
  Rows rows;
  add_flips(rows);
  add_rolls(rows);
  add_triangles(rows);
  add_diagonals(rows);
  add_repeats(rows);
  add_joins(rows);
  add_parts(rows);
  add_views(rows);
  return rows;
}

}  // namespace braid::parity
