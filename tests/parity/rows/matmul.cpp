#include "../row.h"
#include "braid/ops/build/functions.h"

namespace braid::parity {
namespace {

std::optional<at::Tensor> optional(const at::Tensor& t) {
  return t.defined() ? std::optional(t) : std::nullopt;
}

Row linear_row(Shape x, Shape w, bool bias, std::string note) {
  Row row{.op = "linear",
          .args = {{x}, {w}, {{w[0]}}},
          .attrs = {},
          .reference =
              [](const Tensors& t) {
                return at::linear(t[0], t[1], optional(t[2]));
              },
          .note = std::move(note)};
  if (!bias) row.args[2] = missing();
  return row;
}

// The layer with relu as its activation, or with a node for it.
Row active_linear(Arg x, Arg w, Arg b, bool is_one, std::string note) {
  Row row{.op = "linear",
          .args = {std::move(x), std::move(w), std::move(b)},
          .attrs = {{"activation", std::string("relu")}},
          .reference =
              [](const Tensors& t) {
                return at::relu(at::linear(t[0], t[1], optional(t[2])));
              },
          .note = "relu " + std::move(note)};
  if (is_one) return row;
  row.build = [](const std::vector<Var>& v) {
    return relu(linear(v[0], v[1], v[2]));
  };
  row.note += " node";
  return row;
}

void add_active_linears(std::vector<Row>& rows) {
  for (bool is_one : {true, false}) {
    auto add = [&](Arg x, Arg w, Arg b, const char* note) {
      rows.push_back(active_linear(std::move(x), std::move(w), std::move(b),
                                   is_one, note));
    };
    add({{4, 16}}, {{8, 16}}, {{8}}, "2d");
    add({{4, 3, 16}}, {{8, 16}}, {{8}}, "3d");
    add({{4, 16}}, {{8, 16}}, missing(), "no bias");
    add({{16}}, {{8, 16}}, {{8}}, "1d");
    add({{9, 37}}, {{53, 37}}, {{53}}, "odd");
    add({{65, 64}}, {{64, 64}}, {{64}}, "more");
    add({{4, 0}}, {{2, 0}}, {{2}}, "no inputs");
    add({{0, 3}}, {{2, 3}}, {{2}}, "empty batch");
    // Infinities and NaN come through as they do through relu.
    add({{4, 16}}, {{32, 16}}, special({32}), "special bias");
    add(special({40, 2}), {{8, 2}}, {{8}}, "special");
  }
}

// Operands given transposed, so that kernels see other strides.
Row strided_linear(Shape x, Shape w) {
  return {.op = "linear",
          .args = {{x}, {w}, {{w[1]}}},
          .attrs = {},
          .reference =
              [](const Tensors& t) {
                return at::linear(t[0].transpose(0, 1), t[1].t(), t[2]);
              },
          .build =
              [](const std::vector<Var>& v) {
                return linear(transpose(v[0], 0, 1), transpose(v[1], 0, 1),
                              v[2]);
              },
          .note = "strided"};
}

// Rows that lie further apart than they are long, and begin anywhere.
Row sliced_linear(Shape x, int64_t start, int64_t length) {
  return {.op = "linear",
          .args = {{x}, {{8, length}}, {{8}}},
          .attrs = {},
          .reference =
              [=](const Tensors& t) {
                return at::linear(t[0].narrow(-1, start, length), t[1], t[2]);
              },
          .build =
              [=](const std::vector<Var>& v) {
                return linear(narrow(v[0], -1, start, length), v[1], v[2]);
              },
          .note = "sliced" + std::to_string(start)};
}

using Two = at::Tensor (*)(const at::Tensor&, const at::Tensor&);

Row product(const char* name, Shape a, Shape b, Var (*build)(Var, Var),
            Two reference) {
  return {.op = "matmul",
          .args = {{a}, {b}},
          .attrs = {},
          .reference = [=](const Tensors& t) { return reference(t[0], t[1]); },
          .build = [=](const std::vector<Var>& v) { return build(v[0], v[1]); },
          .note = std::string(name) + shape_text(a) + shape_text(b)};
}

void add_matmuls(std::vector<Row>& rows) {
  const std::pair<Shape, Shape> shapes[] = {
      {{4, 5}, {5, 3}},
      {{2, 4, 5}, {2, 5, 3}},
      {{2, 4, 5}, {5, 3}},
      {{4, 5}, {2, 5, 3}},
      {{2, 1, 4, 5}, {3, 5, 2}},
      {{1, 1}, {1, 1}},
      {{2, 64, 96}, {2, 96, 80}},
      {{16, 32}, {32, 20}},
      {{3, 17, 19}, {3, 19, 61}},
      {{5}, {5}},
      {{1}, {1}},
      {{5}, {5, 3}},
      {{4, 5}, {5}},
      {{5}, {2, 5, 3}},
      {{2, 4, 5}, {5}},
      {{2, 3, 2, 4, 5}, {5}},
      {{5}, {2, 3, 5, 2}},
      {{2, 2, 3, 4}, {2, 2, 4, 5}},
      {{2, 2, 2, 3, 4}, {2, 2, 2, 4, 3}},
      {{2, 2, 3, 4}, {4, 5}},
      {{2, 1, 2, 3, 4}, {3, 1, 4, 2}},
      {{1, 4, 5}, {6, 5, 3}},
      {{6, 4, 5}, {1, 5, 3}},
      {{0, 5}, {5, 3}},
      {{4, 0}, {0, 3}},
      {{2, 4, 0}, {2, 0, 3}},
      {{0, 4, 5}, {0, 5, 3}},
      {{0}, {0}},
      {{3, 0}, {0}},
  };
  for (const auto& [a, b] : shapes) {
    rows.push_back(product("", a, b, matmul, at::matmul));
  }
  rows.push_back(product("mm", {4, 5}, {5, 3}, mm, at::mm));
  rows.push_back(product("bmm", {3, 4, 5}, {3, 5, 2}, bmm, at::bmm));
  rows.push_back(product("mv", {4, 5}, {5}, mv, at::mv));
  rows.push_back(product("mv", {4, 1}, {1}, mv, at::mv));
  rows.push_back(product("dot", {7}, {7}, dot, at::dot));
  rows.push_back(product("outer", {4}, {3}, outer, at::outer));
  rows.push_back(product("outer", {0}, {3}, outer, at::outer));
}

// Both operands with their last dimensions swapped first.
Row swapped_matmul(Shape a, Shape b) {
  return {.op = "matmul",
          .args = {{a}, {b}},
          .attrs = {},
          .reference =
              [](const Tensors& t) {
                return at::matmul(t[0].transpose(-1, -2),
                                  t[1].transpose(-1, -2));
              },
          .build =
              [](const std::vector<Var>& v) {
                return matmul(transpose(v[0], -1, -2), transpose(v[1], -1, -2));
              },
          .note = "swapped" + shape_text(a)};
}

Row addmm_row(Shape c, double beta, double alpha) {
  return {.op = "matmul",
          .args = {{c}, {{4, 5}}, {{5, 3}}},
          .attrs = {},
          .reference =
              [=](const Tensors& t) {
                return at::addmm(t[0], t[1], t[2], beta, alpha);
              },
          .build =
              [=](const std::vector<Var>& v) {
                return addmm(v[0], v[1], v[2], beta, alpha);
              },
          .note = "addmm" + shape_text(c)};
}

Row baddbmm_row(Shape c, double beta, double alpha) {
  return {.op = "matmul",
          .args = {{c}, {{2, 4, 5}}, {{2, 5, 3}}},
          .attrs = {},
          .reference =
              [=](const Tensors& t) {
                return at::baddbmm(t[0], t[1], t[2], beta, alpha);
              },
          .build =
              [=](const std::vector<Var>& v) {
                return baddbmm(v[0], v[1], v[2], beta, alpha);
              },
          .note = "baddbmm" + shape_text(c)};
}

void add_blends(std::vector<Row>& rows) {
  for (const Shape& c : {Shape{4, 3}, {3}, {4, 1}, {1, 1}, {}}) {
    rows.push_back(addmm_row(c, 1, 1));
    rows.push_back(addmm_row(c, 0.5, -2));
  }
  rows.push_back(addmm_row({4, 3}, 0, 1));
  rows.push_back(addmm_row({4, 3}, 2, 0));
  for (const Shape& c : {Shape{2, 4, 3}, {1, 4, 3}, {4, 1}, {3}}) {
    rows.push_back(baddbmm_row(c, 1, 1));
    rows.push_back(baddbmm_row(c, -1.5, 0.25));
  }
  rows.push_back(
      {.op = "matmul",
       .args = {{{4}}, {{4, 5}}, {{5}}},
       .attrs = {},
       .reference =
           [](const Tensors& t) { return at::addmv(t[0], t[1], t[2], 0.5, 2); },
       .build =
           [](const std::vector<Var>& v) {
             return addmv(v[0], v[1], v[2], 0.5, 2);
           },
       .note = "addmv"});
}

Row tensordot_row(Shape a, Shape b, Ints dims_a, Ints dims_b) {
  return {.op = "matmul",
          .args = {{a}, {b}},
          .attrs = {},
          .reference =
              [=](const Tensors& t) {
                return at::tensordot(t[0], t[1], dims_a, dims_b);
              },
          .build =
              [=](const std::vector<Var>& v) {
                return tensordot(v[0], v[1], dims_a, dims_b);
              },
          .note = "tensordot" + shape_text(dims_a) + shape_text(dims_b)};
}

void add_tensordots(std::vector<Row>& rows) {
  rows.push_back(tensordot_row({3, 4, 5}, {4, 3, 2}, {1, 0}, {0, 1}));
  rows.push_back(tensordot_row({3, 4, 5}, {5, 2}, {2}, {0}));
  rows.push_back(tensordot_row({3, 4, 5}, {5, 2}, {-1}, {-2}));
  rows.push_back(tensordot_row({2, 3}, {4, 5}, {}, {}));
  rows.push_back(tensordot_row({2, 3}, {2, 3}, {0, 1}, {0, 1}));
  rows.push_back(tensordot_row({2, 3}, {2, 3}, {1, 0}, {1, 0}));
  rows.push_back(tensordot_row({2, 1, 3}, {4, 5}, {1}, {0}));
  rows.push_back(tensordot_row({2, 4, 3}, {1, 5}, {1}, {0}));
  rows.push_back(tensordot_row({0, 4}, {4, 3}, {1}, {0}));
  rows.push_back(tensordot_row({2, 2, 3, 2, 2}, {2, 3, 2}, {0, 2}, {0, 1}));
  Row counted = tensordot_row({2, 3, 4}, {3, 4, 2}, {1, 2}, {0, 1});
  counted.build = [](const std::vector<Var>& v) {
    return tensordot(v[0], v[1], 2);
  };
  rows.push_back(counted);
}

Row bilinear_row(Shape lead, bool bias) {
  Shape a = lead, b = lead;
  a.push_back(3);
  b.push_back(4);
  Row row{.op = "matmul",
          .args = {{a}, {b}, {{5, 3, 4}}, {{5}}},
          .attrs = {},
          .reference =
              [](const Tensors& t) {
                return at::bilinear(t[0], t[1], t[2], optional(t[3]));
              },
          .build =
              [](const std::vector<Var>& v) {
                return bilinear(v[0], v[1], v[2], v[3]);
              },
          .note = "bilinear" + shape_text(lead)};
  if (!bias) row.args[3] = missing();
  return row;
}

Row embedding_row(Shape indices, int64_t entries, int64_t columns,
                  int64_t padding) {
  return {.op = "embedding",
          .args = {{{entries, columns}}, index(indices, entries)},
          .attrs = {{"padding_idx", padding}},
          .reference =
              [padding](const Tensors& t) {
                return at::embedding(t[0], t[1], padding);
              },
          .note = "pad" + std::to_string(padding)};
}

Row cosine_row(Arg a, Arg b, int64_t dim, double eps) {
  std::string note = "cosine" + shape_text(a.shape) + shape_text(b.shape);
  return {.op = "bounded_norm",
          .args = {std::move(a), std::move(b)},
          .attrs = {},
          .reference =
              [=](const Tensors& t) {
                return at::cosine_similarity(t[0], t[1], dim, eps);
              },
          .build =
              [=](const std::vector<Var>& v) {
                return cosine_similarity(v[0], v[1], dim, eps);
              },
          .note = note};
}

Row pairwise_row(Shape a, Shape b, double p, double eps, bool keep) {
  return {.op = "bounded_norm",
          .args = {{a}, {b}},
          .attrs = {},
          .reference =
              [=](const Tensors& t) {
                return at::pairwise_distance(t[0], t[1], p, eps, keep);
              },
          .build =
              [=](const std::vector<Var>& v) {
                return pairwise_distance(v[0], v[1], p, eps, keep);
              },
          .note = "pairwise p" + std::to_string(p)};
}

Row cdist_row(Arg a, Arg b, double p) {
  std::string note = "cdist" + shape_text(a.shape) + std::to_string(p);
  return {
      .op = "bounded_norm",
      .args = {std::move(a), std::move(b)},
      .attrs = {},
      .reference = [=](const Tensors& t) { return at::cdist(t[0], t[1], p); },
      .build = [=](const std::vector<Var>& v) { return cdist(v[0], v[1], p); },
      .note = note};
}

void add_distances(std::vector<Row>& rows) {
  for (double eps : {1e-8, 2.0}) {
    rows.push_back(cosine_row({{4, 5}}, {{4, 5}}, 1, eps));
    rows.push_back(cosine_row({{4, 5}}, {{1, 5}}, -1, eps));
    rows.push_back(cosine_row({{2, 3, 4}}, {{2, 3, 4}}, 0, eps));
    rows.push_back(cosine_row(steps({6, 1}), steps({6, 1}), 1, eps));
  }
  rows.push_back(cosine_row({{3, 1, 4}}, {{1, 2, 4}}, 2, 1e-8));
  rows.push_back(cosine_row({{5}}, {{5}}, 0, 1e-8));
  for (double p : {1.0, 2.0, 3.0, 1.5, static_cast<double>(INFINITY)}) {
    rows.push_back(pairwise_row({4, 5}, {4, 5}, p, 1e-6, false));
    rows.push_back(pairwise_row({2, 4, 5}, {5}, p, 0.1, true));
  }
  for (double p : {1.0, 2.0}) {
    rows.push_back(cdist_row({{4, 3}}, {{5, 3}}, p));
    rows.push_back(cdist_row({{2, 4, 3}}, {{2, 1, 3}}, p));
    rows.push_back(cdist_row(steps({7, 1}), steps({6, 1}), p));
  }
}

}  // namespace

std::vector<Row> matmul_rows() {
  std::vector<Row> rows{linear_row({4, 16}, {8, 16}, true, "2d"),
                        linear_row({4, 3, 16}, {8, 16}, true, "3d"),
                        linear_row({4, 3, 2, 5}, {7, 5}, true, "4d"),
                        linear_row({2, 2, 3, 2, 5}, {7, 5}, true, "5d"),
                        linear_row({2, 2, 3, 2, 5}, {7, 5}, false, "5d bare"),
                        linear_row({4, 16}, {8, 16}, false, "no bias"),
                        linear_row({16, 16}, {32, 16}, true, "small"),
                        linear_row({16, 32}, {4, 32}, true, "narrow"),
                        linear_row({9, 37}, {53, 37}, true, "odd"),
                        linear_row({3, 37}, {53, 37}, true, "few rows"),
                        linear_row({5, 128}, {33, 128}, true, "long"),
                        linear_row({64, 64}, {64, 64}, true, "most"),
                        linear_row({65, 64}, {64, 64}, true, "more"),
                        linear_row({16}, {8, 16}, true, "1d"),
                        linear_row({16}, {8, 16}, false, "1d bare"),
                        linear_row({1, 1}, {1, 1}, true, "ones"),
                        linear_row({0, 3}, {2, 3}, true, "empty batch"),
                        linear_row({2, 0, 3}, {2, 3}, true, "empty middle"),
                        linear_row({4, 0}, {2, 0}, true, "no inputs"),
                        linear_row({4, 3}, {0, 3}, true, "no outputs"),
                        linear_row({128, 200}, {150, 200}, true, "large"),
                        strided_linear({5, 4}, {5, 3}),
                        strided_linear({4, 2, 5}, {5, 3}),
                        sliced_linear({6, 40}, 8, 16),
                        sliced_linear({6, 40}, 3, 16),
                        sliced_linear({6, 2, 7}, 1, 5),
                        swapped_matmul({5, 4}, {3, 5}),
                        swapped_matmul({2, 5, 4}, {2, 3, 5}),
                        swapped_matmul({2, 3, 5, 4}, {3, 5}),
                        bilinear_row({6}, true),
                        bilinear_row({2, 3}, false),
                        bilinear_row({}, true),
                        embedding_row({4, 6}, 10, 5, -1),
                        embedding_row({30}, 4, 3, 2),
                        embedding_row({2, 3, 4}, 7, 8, 0),
                        embedding_row({0}, 7, 8, 0),
                        embedding_row({5}, 1, 1, -1),
                        embedding_row({}, 5, 4, -1)};
  add_active_linears(rows);
  add_matmuls(rows);
  add_blends(rows);
  add_tensordots(rows);
  add_distances(rows);
  return rows;
}

}  // namespace braid::parity
