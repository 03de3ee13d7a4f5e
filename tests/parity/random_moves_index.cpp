#include "random_moves.h"

namespace braid::parity {
namespace {

using T = const at::Tensor&;

Drawn draw_gather(Chooser& c) {
  size_t x = c.of_rank(1, 4);
  int64_t dim = c.below(c.rank(x)), limit = c.value(x).size(dim);
  Shape shape = c.shape(x);
  shape[static_cast<size_t>(dim)] = c.between(1, 4);
  size_t at = c.index(shape, limit);
  bool along = c.chance(0.3);
  return step(
      {x, at},
      [=](const Vars& v) {
        return along ? take_along_dim(v[0], v[1], dim)
                     : gather(v[0], dim, v[1]);
      },
      [=](const Tensors& t) { return at::gather(t[0], dim, t[1]); });
}

// Places that other values of the graph decide.
Drawn draw_select_by_values(Chooser& c) {
  size_t x = c.of_rank(1, 4);
  int64_t dim = c.below(c.rank(x)), limit = c.value(x).size(dim);
  auto at = c.find(at::kLong, [](T t) { return t.dim() == 1; });
  size_t places = at ? *at : c.index({c.between(1, 4)}, limit);
  return step(
      {x, places},
      [=](const Vars& v) {
        return index_select(v[0], dim, remainder_scalar(v[1], limit));
      },
      [=](const Tensors& t) {
        return at::index_select(t[0], dim, at::remainder(t[1], limit));
      });
}

Drawn draw_index(Chooser& c) {
  size_t x = c.of_rank(2, 4);
  Shape rows{c.between(1, 3), c.between(1, 3)}, columns{rows[1]};
  size_t a = c.index(rows, c.value(x).size(0));
  size_t b = c.index(columns, c.value(x).size(1));
  bool first = c.chance(0.3);
  return step(
      {x, a, b},
      [=](const Vars& v) {
        return first ? index(v[0], {v[1]}) : index(v[0], {v[1], v[2]});
      },
      [=](const Tensors& t) {
        return first ? at::index(t[0], {t[1]}) : at::index(t[0], {t[1], t[2]});
      });
}

Drawn draw_index_put(Chooser& c) {
  size_t x = c.of_rank(1, 3);
  Shape values = c.shape(x);
  values[0] = c.between(1, 4);
  size_t at = c.index({values[0]}, c.value(x).size(0));
  size_t src = c.of_shape(values);
  return step(
      {x, at, src},
      [](const Vars& v) { return index_put(v[0], {v[1]}, v[2], true); },
      [](const Tensors& t) { return at::index_put(t[0], {t[1]}, t[2], true); });
}

Drawn draw_index_put_over(Chooser& c) {
  size_t x = c.of_rank(1, 3);
  size_t at = c.permutation(c.value(x).size(0)), src = c.of_shape(c.shape(x));
  return step(
      {x, at, src}, [](const Vars& v) { return index_put(v[0], {v[1]}, v[2]); },
      [](const Tensors& t) { return at::index_put(t[0], {t[1]}, t[2]); });
}

struct Scattered {
  const char* name;
  std::function<Var(Var, int64_t, Var, Var)> ours;
  std::function<at::Tensor(T, int64_t, T, T)> theirs;
};

// Sources that all land somewhere, many at the same place.
Move scattered_move(const Scattered& f) {
  return {
      f.name, [f](Chooser& c) -> Drawn {
        size_t x = c.of_rank(1, 3);
        int64_t dim = c.below(c.rank(x));
        Shape shape = c.shape(x);
        shape[static_cast<size_t>(dim)] = c.between(1, 4);
        size_t at = c.index(shape, c.value(x).size(dim));
        size_t src = c.of_shape(shape);
        return step(
            {x, at, src},
            [=](const Vars& v) { return f.ours(v[0], dim, v[1], v[2]); },
            [=](const Tensors& t) { return f.theirs(t[0], dim, t[1], t[2]); });
      }};
}

std::vector<Scattered> scattered() {
  return {
      {"scatter_add", scatter_add,
       [](T x, int64_t d, T i, T s) { return at::scatter_add(x, d, i, s); }},
      {"scatter_reduce sum",
       [](Var x, int64_t d, Var i, Var s) {
         return scatter_reduce(x, d, i, s, "sum");
       },
       [](T x, int64_t d, T i, T s) {
         return at::scatter_reduce(x, d, i, s, "sum");
       }},
      {"scatter_reduce mean",
       [](Var x, int64_t d, Var i, Var s) {
         return scatter_reduce(x, d, i, s, "mean", false);
       },
       [](T x, int64_t d, T i, T s) {
         return at::scatter_reduce(x, d, i, s, "mean", false);
       }},
  };
}

// Along dimension 0 by a permutation, so that no two land together.
Drawn draw_scatter(Chooser& c) {
  size_t x = c.of_rank(1, 3);
  Shape shape = c.shape(x);
  size_t order = c.permutation(shape[0]), src = c.of_shape(shape);
  Shape column(shape.size(), 1);
  column[0] = -1;
  bool constant = c.chance(0.3);
  return step(
      {x, order, src},
      [=](const Vars& v) {
        Var at = expand(reshape(v[1], column), shape);
        return constant ? scatter_value(v[0], 0, at, 0.5)
                        : scatter(v[0], 0, at, v[2]);
      },
      [=](const Tensors& t) {
        at::Tensor at = t[1].reshape(column).expand(shape);
        return constant ? at::scatter(t[0], 0, at, 0.5)
                        : at::scatter(t[0], 0, at, t[2]);
      });
}

Drawn draw_slice_scatter(Chooser& c) {
  size_t x = c.of_rank(1, 4);
  int64_t dim = c.below(c.rank(x)), size = c.value(x).size(dim);
  int64_t start = c.below(size), end = c.between(start + 1, size);
  Shape part = c.value(x).slice(dim, start, end).sizes().vec();
  size_t src = c.of_shape(part);
  return step(
      {x, src},
      [=](const Vars& v) { return slice_scatter(v[0], v[1], dim, start, end); },
      [=](const Tensors& t) {
        return at::slice_scatter(t[0], t[1], dim, start, end);
      });
}

Drawn draw_select_scatter(Chooser& c) {
  size_t x = c.of_rank(1, 4);
  int64_t dim = c.below(c.rank(x)), at = c.below(c.value(x).size(dim));
  size_t src = c.of_shape(c.value(x).select(dim, at).sizes().vec());
  return step(
      {x, src},
      [=](const Vars& v) { return select_scatter(v[0], v[1], dim, at); },
      [=](const Tensors& t) {
        return at::select_scatter(t[0], t[1], dim, at);
      });
}

Drawn draw_embedding(Chooser& c) {
  size_t table = c.of_rank(2, 2);
  int64_t rows = c.value(table).size(0);
  Shape shape{c.between(1, 3), c.between(1, 4)};
  size_t at = c.index(shape, rows);
  int64_t padding = c.chance(0.3) ? c.below(rows) : -1;
  return step(
      {table, at},
      [=](const Vars& v) { return embedding(v[0], v[1], padding); },
      [=](const Tensors& t) { return at::embedding(t[0], t[1], padding); });
}

Drawn draw_one_hot(Chooser& c) {
  auto x = c.find(at::kLong, [](T t) { return t.dim() < 4; });
  if (!x || c.value(*x).numel() == 0) return {};
  size_t w = c.of_rank(2, 2);
  int64_t classes = c.value(w).size(0);
  DType dtype = c.value(w).scalar_type() == at::kDouble ? DType::kFloat64
                                                        : DType::kFloat32;
  return step(
      {*x, w},
      [=](const Vars& v) {
        Var hot = one_hot(remainder_scalar(v[0], classes), classes);
        return matmul(cast(hot, dtype), v[1]);
      },
      [=](const Tensors& t) {
        at::Tensor hot = at::one_hot(at::remainder(t[0], classes), classes);
        return at::matmul(hot.to(t[1].scalar_type()), t[1]);
      });
}

}  // namespace

void add_index_moves(std::vector<Move>& moves) {
  for (const Scattered& f : scattered()) moves.push_back(scattered_move(f));
  moves.insert(moves.end(), {{"gather", draw_gather},
                             {"index_select by values", draw_select_by_values},
                             {"index", draw_index},
                             {"index_put adding", draw_index_put},
                             {"index_put over", draw_index_put_over},
                             {"scatter", draw_scatter},
                             {"slice_scatter", draw_slice_scatter},
                             {"select_scatter", draw_select_scatter},
                             {"embedding", draw_embedding},
                             {"one_hot", draw_one_hot}});
}

}  // namespace braid::parity
