#include "random_moves.h"

namespace braid::parity {
namespace {

using T = const at::Tensor&;

struct Loss {
  const char* name;
  Var (*ours)(Var, Var, Reduction);
  std::function<at::Tensor(T, T, int64_t)> theirs;
};

// Of a float and a value of its shape.
Move loss_move(const Loss& f) {
  return {f.name, [f](Chooser& c) -> Drawn {
            size_t x = c.of_rank(0, 4), y = c.of_shape(c.shape(x));
            bool mean = c.chance(0.7);
            return step(
                {x, y},
                [=](const Vars& v) {
                  return f.ours(v[0], v[1],
                                mean ? Reduction::kMean : Reduction::kSum);
                },
                [=](const Tensors& t) {
                  return f.theirs(
                      t[0], t[1],
                      mean ? at::Reduction::Mean : at::Reduction::Sum);
                });
          }};
}

std::vector<Loss> losses() {
  return {
      {"mse_loss", mse_loss,
       [](T x, T y, int64_t r) { return at::mse_loss(x, y, r); }},
      {"smooth_l1_loss",
       [](Var x, Var y, Reduction r) { return smooth_l1_loss(x, y, 0.5, r); },
       [](T x, T y, int64_t r) { return at::smooth_l1_loss(x, y, r, 0.5); }},
      {"huber_loss",
       [](Var x, Var y, Reduction r) { return huber_loss(x, y, 0.7, r); },
       [](T x, T y, int64_t r) { return at::huber_loss(x, y, r, 0.7); }},
      {"binary_cross_entropy",
       [](Var x, Var y, Reduction r) {
         return binary_cross_entropy(sigmoid(x), sigmoid(y), {}, r);
       },
       [](T x, T y, int64_t r) {
         return at::binary_cross_entropy(x.sigmoid(), y.sigmoid(), {}, r);
       }},
      {"binary_cross_entropy_with_logits",
       [](Var x, Var y, Reduction r) {
         return binary_cross_entropy_with_logits(x, sigmoid(y), {}, {}, r);
       },
       [](T x, T y, int64_t r) {
         return at::binary_cross_entropy_with_logits(x, y.sigmoid(), {}, {}, r);
       }},
      {"kl_div",
       [](Var x, Var y, Reduction r) {
         return kl_div(log_sigmoid(x), log_sigmoid(y), true, r);
       },
       [](T x, T y, int64_t r) {
         return at::kl_div(at::log_sigmoid(x), at::log_sigmoid(y), r, true);
       }},
      {"poisson_nll_loss",
       [](Var x, Var y, Reduction r) {
         return poisson_nll_loss(x, sigmoid(y), true, false, 1e-8, r);
       },
       [](T x, T y, int64_t r) {
         return at::poisson_nll_loss(x, y.sigmoid(), true, false, 1e-8, r);
       }},
  };
}

Drawn draw_cross_entropy(Chooser& c) {
  size_t x = c.of_rank(2, 4);
  Shape rows = c.shape(x);
  int64_t classes = rows[1];
  rows.erase(rows.begin() + 1);
  size_t target = c.index(rows, classes);
  double smoothing = c.chance(0.4) ? 0.125 : 0;
  return step(
      {x, target},
      [=](const Vars& v) {
        return cross_entropy_loss(v[0], v[1], {.label_smoothing = smoothing});
      },
      [=](const Tensors& t) {
        return at::cross_entropy_loss(t[0], t[1], {}, at::Reduction::Mean, -100,
                                      smoothing);
      });
}

Drawn draw_weighted_cross_entropy(Chooser& c) {
  size_t x = c.of_rank(2, 2);
  int64_t classes = c.value(x).size(1);
  size_t target = c.index({c.value(x).size(0)}, classes);
  // Not learned: libtorch has no gradient of class weights.
  size_t weight = c.buffer({classes}, 0.5);
  return step(
      {x, target, weight},
      [](const Vars& v) {
        return cross_entropy_loss(v[0], v[1], {.weight = v[2]});
      },
      [](const Tensors& t) {
        return at::cross_entropy_loss(t[0], t[1], t[2]);
      });
}

Drawn draw_nll(Chooser& c) {
  size_t x = c.of_rank(2, 2);
  size_t target = c.index({c.value(x).size(0)}, c.value(x).size(1));
  return step(
      {x, target},
      [](const Vars& v) { return nll_loss(log_softmax(v[0], 1), v[1]); },
      [](const Tensors& t) {
        return at::nll_loss(at::log_softmax(t[0], 1), t[1]);
      });
}

}  // namespace

void add_loss_moves(std::vector<Move>& moves) {
  for (const Loss& f : losses()) moves.push_back(loss_move(f));
  moves.insert(moves.end(),
               {{"cross_entropy", draw_cross_entropy},
                {"weighted cross_entropy", draw_weighted_cross_entropy},
                {"nll_loss", draw_nll}});
}

}  // namespace braid::parity
