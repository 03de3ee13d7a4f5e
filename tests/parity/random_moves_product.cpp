#include "random_moves.h"

namespace braid::parity {
namespace {

using T = const at::Tensor&;

int64_t last(const Chooser& c, size_t x, int64_t d = -1) {
  return c.value(x).size(d);
}

Drawn draw_linear(Chooser& c) {
  size_t x = c.of_rank(1, 4);
  int64_t outputs = c.between(1, 5);
  size_t w = c.of_shape({outputs, last(c, x)});
  if (c.chance(0.3)) {
    return step(
        {x, w}, [](const Vars& v) { return linear(v[0], v[1], {}); },
        [](const Tensors& t) { return at::linear(t[0], t[1]); });
  }
  return step(
      {x, w, c.of_shape({outputs})},
      [](const Vars& v) { return linear(v[0], v[1], v[2]); },
      [](const Tensors& t) { return at::linear(t[0], t[1], t[2]); });
}

// Any ranks; leading dimensions broadcast.
Drawn draw_matmul(Chooser& c) {
  size_t x = c.of_rank(1, 4);
  Shape other{last(c, x)};
  if (c.chance(0.8)) other.push_back(c.between(1, 4));
  if (other.size() == 2 && c.rank(x) > 2 && c.chance(0.5)) {
    other.insert(other.begin(), c.chance(0.5) ? 1 : c.value(x).size(-3));
  }
  return step(
      {x, c.of_shape(other)}, [](const Vars& v) { return matmul(v[0], v[1]); },
      [](const Tensors& t) { return at::matmul(t[0], t[1]); });
}

// x times itself, turned.
Drawn draw_gram(Chooser& c) {
  size_t x = c.of_rank(2, 4);
  return step(
      {x}, [](const Vars& v) { return matmul(v[0], transpose(v[0], -1, -2)); },
      [](const Tensors& t) {
        return at::matmul(t[0], t[0].transpose(-1, -2));
      });
}

Drawn draw_bmm(Chooser& c) {
  size_t x = c.of_rank(3, 3);
  size_t y = c.of_shape({c.value(x).size(0), last(c, x), c.between(1, 4)});
  return step(
      {x, y}, [](const Vars& v) { return bmm(v[0], v[1]); },
      [](const Tensors& t) { return at::bmm(t[0], t[1]); });
}

Drawn draw_addmm(Chooser& c) {
  size_t x = c.of_rank(2, 2);
  int64_t columns = c.between(1, 4);
  size_t y = c.of_shape({last(c, x), columns}), z = c.of_shape({columns});
  return step(
      {z, x, y},
      [](const Vars& v) { return addmm(v[0], v[1], v[2], 0.5, -1.5); },
      [](const Tensors& t) { return at::addmm(t[0], t[1], t[2], 0.5, -1.5); });
}

Drawn draw_baddbmm(Chooser& c) {
  size_t x = c.of_rank(3, 3);
  int64_t columns = c.between(1, 4);
  size_t y = c.of_shape({c.value(x).size(0), last(c, x), columns});
  size_t z = c.of_shape({c.value(x).size(1), columns});
  return step(
      {z, x, y}, [](const Vars& v) { return baddbmm(v[0], v[1], v[2], 2, 1); },
      [](const Tensors& t) { return at::baddbmm(t[0], t[1], t[2], 2, 1); });
}

Drawn draw_vectors(Chooser& c) {
  size_t x = c.of_rank(1, 1);
  switch (c.below(3)) {
    case 0:
      return step(
          {x, c.of_shape(c.shape(x))},
          [](const Vars& v) { return dot(v[0], v[1]); },
          [](const Tensors& t) { return at::dot(t[0], t[1]); });
    case 1:
      return step(
          {x, c.of_rank(1, 1)}, [](const Vars& v) { return outer(v[0], v[1]); },
          [](const Tensors& t) { return at::outer(t[0], t[1]); });
    default:
      return step(
          {c.of_shape({c.between(1, 4), last(c, x)}), x},
          [](const Vars& v) { return mv(v[0], v[1]); },
          [](const Tensors& t) { return at::mv(t[0], t[1]); });
  }
}

Drawn draw_einsum(Chooser& c) {
  size_t x = c.of_rank(2, 3);
  int64_t a = c.value(x).size(0), b = c.value(x).size(1), n = c.between(1, 3);
  struct Row {
    const char* equation;
    Shape other;
  };
  std::vector<Row> rows{{"ab,bc->ac", {b, n}},    {"ab,cb->ca", {n, b}},
                        {"ab,ab->b", {a, b}},     {"ab,ac->abc", {a, n}},
                        {"ab,b->a", {b}},         {"ab,cd->", {n, 2}},
                        {"...b,cb->...c", {n, b}}};
  if (c.rank(x) == 3) {
    int64_t d = c.value(x).size(2);
    rows = {{"abd,adc->abc", {a, d, n}},
            {"abd,cd->bac", {n, d}},
            {"abd,abd->d", {a, b, d}},
            {"abd,b->ad", {b}},
            {"...d,dc->...c", {d, n}}};
  }
  Row row = rows[static_cast<size_t>(c.below(std::ssize(rows)))];
  std::string equation = row.equation;
  return step(
      {x, c.of_shape(row.other)},
      [=](const Vars& v) { return einsum(equation, v); },
      [=](const Tensors& t) { return at::einsum(equation, t); });
}

Drawn draw_tensordot(Chooser& c) {
  size_t x = c.of_rank(2, 3);
  size_t y = c.of_shape({c.value(x).size(0), c.between(1, 3)});
  return step(
      {x, y}, [](const Vars& v) { return tensordot(v[0], v[1], {0}, {0}); },
      [](const Tensors& t) { return at::tensordot(t[0], t[1], {0}, {0}); });
}

Drawn draw_bilinear(Chooser& c) {
  size_t x = c.of_rank(2, 2);
  int64_t j = c.between(1, 3), o = c.between(1, 3);
  size_t y = c.of_shape({c.value(x).size(0), j});
  size_t w = c.of_shape({o, last(c, x), j}), b = c.of_shape({o});
  return step(
      {x, y, w, b},
      [](const Vars& v) { return bilinear(v[0], v[1], v[2], v[3]); },
      [](const Tensors& t) { return at::bilinear(t[0], t[1], t[2], t[3]); });
}

Drawn draw_cosine(Chooser& c) {
  size_t x = c.of_rank(2, 3), y = c.of_shape(c.shape(x));
  return step(
      {x, y},
      [](const Vars& v) {
        return cosine_similarity(add_scalar(exp(v[0]), 0.5), v[1], 1, 0.25);
      },
      [](const Tensors& t) {
        return at::cosine_similarity(at::exp(t[0]) + 0.5, t[1], 1, 0.25);
      });
}

Drawn draw_attention(Chooser& c) {
  size_t q = c.of_rank(3, 4);
  Shape k = c.shape(q);
  bool causal = c.chance(0.4);
  k[k.size() - 2] = causal ? k[k.size() - 2] : c.between(1, 4);
  size_t keys = c.of_shape(k);
  Shape v = k;
  if (c.chance(0.3)) v.back() = c.between(1, 4);
  size_t values = c.of_shape(v);
  return step(
      {q, keys, values},
      [=](const Vars& x) { return attention(x[0], x[1], x[2], causal); },
      [=](const Tensors& t) {
        return at::scaled_dot_product_attention(t[0], t[1], t[2], {}, 0.0,
                                                causal);
      });
}

// A mask that always lets the first key through.
Drawn draw_masked_attention(Chooser& c) {
  size_t q = c.of_rank(3, 4);
  Shape k = c.shape(q);
  size_t keys = c.of_shape(k), values = c.of_shape(k);
  int64_t length = k[k.size() - 2];
  bool add = c.chance(0.5);
  size_t mask = c.of_shape({length, length});
  if (!add && !is_clear_of(c, mask, 0.125)) return {};
  return step(
      {q, keys, values, mask},
      [=](const Vars& x) {
        Var seen = logical_or(
            gt_scalar(x[3], 0.125),
            lt_scalar(
                arange(x[0], 0, static_cast<double>(length), 1, DType::kInt64),
                int64_t{1}));
        return attention(x[0], x[1], x[2],
                         Attention{.mask = add ? x[3] : seen});
      },
      [=](const Tensors& t) {
        at::Tensor seen =
            (t[3] > 0.125)
                .logical_or(at::arange(length, at::TensorOptions(at::kLong)) <
                            1);
        return at::scaled_dot_product_attention(t[0], t[1], t[2],
                                                add ? t[3] : seen);
      });
}

}  // namespace

void add_product_moves(std::vector<Move>& moves) {
  moves.insert(moves.end(), {{"linear", draw_linear},
                             {"linear again", draw_linear},
                             {"matmul", draw_matmul},
                             {"matmul with itself", draw_gram},
                             {"bmm", draw_bmm},
                             {"addmm", draw_addmm},
                             {"baddbmm", draw_baddbmm},
                             {"dot, outer, mv", draw_vectors},
                             {"einsum", draw_einsum},
                             {"tensordot", draw_tensordot},
                             {"bilinear", draw_bilinear},
                             {"cosine_similarity", draw_cosine},
                             {"attention", draw_attention},
                             {"masked attention", draw_masked_attention}});
}

}  // namespace braid::parity
