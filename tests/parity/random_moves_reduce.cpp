#include "random_moves.h"

namespace braid::parity {
namespace {

using T = const at::Tensor&;

// A random choice of dimensions, some counted from the end.
Ints some_dims(Chooser& c, int64_t rank) {
  Ints dims;
  for (int64_t d = 0; d < rank; ++d) {
    if (c.chance(0.5)) dims.push_back(c.chance(0.3) ? d - rank : d);
  }
  return dims;
}

struct Reduced {
  const char* name;
  Var (*ours)(Var, Ints, bool);
  at::Tensor (*theirs)(T, at::IntArrayRef, bool);
  int64_t least = 0;  // entries that it needs
};

Move reduced_move(const Reduced& f) {
  return {f.name, [f](Chooser& c) -> Drawn {
            size_t x = f.least > 0 ? c.of_rank(1, 5) : c.any_float();
            Ints dims = some_dims(c, c.rank(x));
            if (dims.empty() && c.rank(x) > 0) dims = {-1};
            bool keep = c.chance(0.5);
            at::Tensor one = f.theirs(c.value(x), dims, keep);
            if (one.numel() > 0 && c.value(x).numel() / one.numel() < f.least) {
              return {};
            }
            return step(
                {x}, [=](const Vars& v) { return f.ours(v[0], dims, keep); },
                [=](const Tensors& t) { return f.theirs(t[0], dims, keep); });
          }};
}

std::vector<Reduced> reduced() {
  return {
      {"sum", sum,
       [](T x, at::IntArrayRef d, bool k) { return at::sum(x, d, k); }},
      {"mean", mean,
       [](T x, at::IntArrayRef d, bool k) { return at::mean(x, d, k); }, 1},
      {"logsumexp", logsumexp,
       [](T x, at::IntArrayRef d, bool k) { return at::logsumexp(x, d, k); },
       1},
      {"variance", [](Var x, Ints d, bool k) { return variance(x, d, 1, k); },
       [](T x, at::IntArrayRef d, bool k) {
         return at::var(x, d, at::Scalar(1), k);
       },
       2},
      {"variance 0", [](Var x, Ints d, bool k) { return variance(x, d, 0, k); },
       [](T x, at::IntArrayRef d, bool k) {
         return at::var(x, d, at::Scalar(0), k);
       },
       1},
      {"norm 2 of what is positive",
       [](Var x, Ints d, bool k) {
         return vector_norm(add_scalar(square(x), 0.25), 2, d, k);
       },
       [](T x, at::IntArrayRef d, bool k) {
         return at::linalg_vector_norm(x.square() + 0.25, 2, d, k);
       },
       1},
      {"norm 3",
       [](Var x, Ints d, bool k) {
         return vector_norm(add_scalar(square(x), 0.25), 3, d, k);
       },
       [](T x, at::IntArrayRef d, bool k) {
         return at::linalg_vector_norm(x.square() + 0.25, 3, d, k);
       },
       1},
  };
}

// Functions along one dimension.
struct Along {
  const char* name;
  std::function<Var(Var, int64_t)> ours;
  std::function<at::Tensor(T, int64_t)> theirs;
  bool no_ties = false;
};

Move along_move(const Along& f) {
  return {f.name, [f](Chooser& c) -> Drawn {
            size_t x = c.of_rank(1, 5);
            int64_t dim = c.below(c.rank(x));
            if (f.no_ties && !has_no_ties(c, x, dim)) return {};
            if (c.chance(0.4)) dim -= c.rank(x);
            return step(
                {x}, [=](const Vars& v) { return f.ours(v[0], dim); },
                [=](const Tensors& t) { return f.theirs(t[0], dim); });
          }};
}

std::vector<Along> smooth_along() {
  return {
      {"softmax", softmax, [](T x, int64_t d) { return at::softmax(x, d); }},
      {"log_softmax", log_softmax,
       [](T x, int64_t d) { return at::log_softmax(x, d); }},
      {"cumsum", cumsum, [](T x, int64_t d) { return at::cumsum(x, d); }},
      {"cumprod", cumprod, [](T x, int64_t d) { return at::cumprod(x, d); }},
      {"diff", [](Var x, int64_t d) { return diff(x, d); },
       [](T x, int64_t d) { return at::diff(x, 1, d); }},
      {"prod", [](Var x, int64_t d) { return prod(x, d); },
       [](T x, int64_t d) { return at::prod(x, d); }},
      {"prod keeping",
       [](Var x, int64_t d) { return prod(softsign(x), d, true); },
       [](T x, int64_t d) { return at::prod(x / (x.abs() + 1), d, true); }},
      {"standardised",
       [](Var x, int64_t d) {
         Var deviation = sqrt(add_scalar(variance(x, {d}, 0, true), 0.1));
         return div(sub(x, mean(x, {d}, true)), deviation);
       },
       [](T x, int64_t d) {
         at::Tensor v = at::var(x, {d}, at::Scalar(0), true);
         return (x - x.mean({d}, true)) / (v + 0.1).sqrt();
       }},
      {"normalize", [](Var x, int64_t d) { return normalize(x, 2, d, 0.5); },
       [](T x, int64_t d) {
         return x / at::linalg_vector_norm(x, 2, at::IntArrayRef{d}, true)
                        .clamp_min(0.5);
       }},
  };
}

std::vector<Along> by_order() {
  return {
      {"amax", [](Var x, int64_t d) { return amax(x, {d}); },
       [](T x, int64_t d) { return at::amax(x, {d}); }, true},
      {"amin keeping", [](Var x, int64_t d) { return amin(x, {d}, true); },
       [](T x, int64_t d) { return at::amin(x, {d}, true); }, true},
      {"max by value", [](Var x, int64_t d) { return max(x, d).values; },
       [](T x, int64_t d) { return std::get<0>(at::max(x, d)); }, true},
      {"min by value", [](Var x, int64_t d) { return min(x, d, true).values; },
       [](T x, int64_t d) { return std::get<0>(at::min(x, d, true)); }, true},
      {"argmax", [](Var x, int64_t d) { return argmax(x, d); },
       [](T x, int64_t d) { return at::argmax(x, d); }, true},
      {"argmin keeping", [](Var x, int64_t d) { return argmin(x, d, true); },
       [](T x, int64_t d) { return at::argmin(x, d, true); }, true},
      {"sort", [](Var x, int64_t d) { return sort(x, d).values; },
       [](T x, int64_t d) { return std::get<0>(at::sort(x, d)); }, true},
      {"sort downwards",
       [](Var x, int64_t d) { return sort(x, d, true).values; },
       [](T x, int64_t d) { return std::get<0>(at::sort(x, d, true)); }, true},
      {"argsort", [](Var x, int64_t d) { return argsort(x, d); },
       [](T x, int64_t d) { return at::argsort(x, d); }, true},
      {"argmax then gather",
       [](Var x, int64_t d) { return gather(x, d, argmax(x, d, true)); },
       [](T x, int64_t d) { return at::gather(x, d, at::argmax(x, d, true)); },
       true},
  };
}

Drawn draw_topk(Chooser& c) {
  size_t x = c.of_rank(1, 4);
  int64_t dim = c.below(c.rank(x));
  if (!has_no_ties(c, x, dim)) return {};
  int64_t k = c.between(1, c.value(x).size(dim));
  bool largest = c.chance(0.5);
  return Step{{},
              {x},
              [=](const Vars& v) {
                Picked p = topk(v[0], k, dim, largest);
                return Vars{p.values, p.indices};
              },
              [=](const Tensors& t) {
                auto [values, indices] = at::topk(t[0], k, dim, largest);
                return Tensors{values, indices};
              }};
}

// Values and where they stood, both used on.
Drawn draw_max(Chooser& c) {
  size_t x = c.of_rank(1, 4);
  int64_t dim = c.below(c.rank(x));
  if (!has_no_ties(c, x, dim)) return {};
  return Step{{},
              {x},
              [=](const Vars& v) {
                Picked p = max(v[0], dim);
                return Vars{p.values, p.indices};
              },
              [=](const Tensors& t) {
                auto [values, indices] = at::max(t[0], dim);
                return Tensors{values, indices};
              }};
}

Drawn draw_sum_of_all(Chooser& c) {
  size_t x = c.any_float();
  return step(
      {x}, [](const Vars& v) { return sum(v[0], {}); },
      [](const Tensors& t) { return t[0].sum(); });
}

Drawn draw_prod_of_all(Chooser& c) {
  auto x = c.find_float([](T t) { return t.numel() > 0 && t.numel() < 8; });
  if (!x) return {};
  return step(
      {*x}, [](const Vars& v) { return prod(v[0]); },
      [](const Tensors& t) { return t[0].prod(); });
}

}  // namespace

void add_reduce_moves(std::vector<Move>& moves) {
  for (const Reduced& f : reduced()) moves.push_back(reduced_move(f));
  for (const Along& f : smooth_along()) moves.push_back(along_move(f));
  for (const Along& f : by_order()) moves.push_back(along_move(f));
  moves.insert(moves.end(), {{"topk", draw_topk},
                             {"max and index", draw_max},
                             {"sum of all", draw_sum_of_all},
                             {"prod of all", draw_prod_of_all}});
}

}  // namespace braid::parity
