#include <c10/core/GradMode.h>

#include <cmath>

#include "loss_rows.h"

namespace braid::parity {
namespace {

at::Tensor reduced(const at::Tensor& x, Reduction r) {
  if (r == Reduction::kEach) return x;
  return r == Reduction::kMean ? x.mean() : x.sum();
}

using TorchLoss = std::function<at::Tensor(const Tensors&, Reduction)>;
using BraidLoss = std::function<Var(const std::vector<Var>&, Reduction)>;

// One row per reduction.
void add(std::vector<Row>& rows, const char* op, std::vector<Arg> args,
         TorchLoss reference, BraidLoss build, const std::string& note = "") {
  for (Reduction r : kAll) {
    rows.push_back(
        {.op = op,
         .args = args,
         .attrs = {},
         .reference = [=](const Tensors& t) { return reference(t, r); },
         .build = [=](const std::vector<Var>& v) { return build(v, r); },
         .note = note + shape_text(args[0].shape)});
  }
}

// A probability: (0, 1) from a free number.
Var squash(Var x) { return sigmoid(x); }

// Broadcast first, as torch.nn.functional does: the gradients of libtorch's
// own broadcast count too many elements.
Tensors pair(const Tensors& t) {
  return at::broadcast_tensors({t[0], t[1].to(t[0].scalar_type())});
}

void add_distances(std::vector<Row>& rows) {
  const std::pair<Arg, Arg> pairs[] = {
      {{{4, 3}}, {{4, 3}}},        {{{}}, {{}}},
      {{{2, 3, 4}}, {{3, 1}}},     {steps({8, 9}), steps({8, 9})},
      {{{0, 3}}, {{0, 3}}},        {{{5, 4}}, index({5, 4}, 3)},
      {special({6, 9}), {{6, 9}}},
  };
  for (const auto& [x, t] : pairs) {
    add(
        rows, "l1_loss", {x, t},
        [](const Tensors& a, Reduction r) {
          auto both = pair(a);
          return at::l1_loss(both[0], both[1], torch_reduction(r));
        },
        [](const std::vector<Var>& v, Reduction r) {
          return l1_loss(v[0], v[1], r);
        });
    for (double beta : {1.0, 0.5, 0.0}) {
      add(
          rows, "smooth_l1_loss", {x, t},
          [=](const Tensors& a, Reduction r) {
            auto both = pair(a);
            return at::smooth_l1_loss(both[0], both[1], torch_reduction(r),
                                      beta);
          },
          [=](const std::vector<Var>& v, Reduction r) {
            return smooth_l1_loss(v[0], v[1], beta, r);
          });
      if (beta == 0) continue;
      add(
          rows, "huber_loss", {x, t},
          [=](const Tensors& a, Reduction r) {
            auto both = pair(a);
            return at::huber_loss(both[0], both[1], torch_reduction(r), beta);
          },
          [=](const std::vector<Var>& v, Reduction r) {
            return huber_loss(v[0], v[1], beta, r);
          });
    }
  }
}

void add_binary(std::vector<Row>& rows) {
  for (const Arg& weight : {missing(), positive({4, 3}), positive({3})}) {
    add(
        rows, "binary_cross_entropy", {{{4, 3}}, {{4, 3}}, weight},
        [](const Tensors& t, Reduction r) {
          return at::binary_cross_entropy(t[0].sigmoid(), t[1].sigmoid(),
                                          fixed(t[2]), torch_reduction(r));
        },
        [](const std::vector<Var>& v, Reduction r) {
          return binary_cross_entropy(squash(v[0]), squash(v[1]), v[2], r);
        });
    for (const Arg& positives : {missing(), positive({3})}) {
      add(
          rows, "binary_cross_entropy_with_logits",
          {{{4, 3}}, {{4, 3}}, weight, positives},
          [](const Tensors& t, Reduction r) {
            return at::binary_cross_entropy_with_logits(
                t[0], t[1], fixed(t[2]), fixed(t[3]), torch_reduction(r));
          },
          [](const std::vector<Var>& v, Reduction r) {
            return binary_cross_entropy_with_logits(v[0], v[1], v[2], v[3], r);
          });
    }
    add(
        rows, "binary_cross_entropy_with_logits", {{{4, 3}}, {{4, 3}}, weight},
        [](const Tensors& t, Reduction r) {
          at::Tensor loss = -(t[1] * at::log_sigmoid(t[0]) +
                              (1 - t[1]) * at::log_sigmoid(-t[0]));
          if (t[2].defined()) loss = loss * t[2].detach();
          return reduced(loss.mean(-1), r);
        },
        [](const std::vector<Var>& v, Reduction r) {
          return multilabel_soft_margin_loss(v[0], v[1], v[2], r);
        },
        "multilabel");
  }
  // Probabilities of exactly 0, 1/2 and 1.
  add(
      rows, "binary_cross_entropy", {index({20}, 3), index({20}, 2), {{20}}},
      [](const Tensors& t, Reduction r) {
        at::Tensor p = t[0].to(t[2].scalar_type()) / 2 + t[2] * 0;
        return at::binary_cross_entropy(p, t[1].to(p.scalar_type()),
                                        std::nullopt, torch_reduction(r));
      },
      [](const std::vector<Var>& v, Reduction r) {
        Var p =
            add(mul_scalar(cast(v[0], v[2].dtype()), 0.5), mul_scalar(v[2], 0));
        return binary_cross_entropy(p, v[1], {}, r);
      },
      "edges");
}

void add_likelihoods(std::vector<Row>& rows) {
  for (bool log_target : {false, true}) {
    for (const Shape& shape : {Shape{4, 3}, {2, 1, 3}, {}}) {
      add(
          rows, "kl_div", {{shape}, positive(shape)},
          [=](const Tensors& t, Reduction r) {
            return at::kl_div(t[0], t[1], torch_reduction(r), log_target);
          },
          [=](const std::vector<Var>& v, Reduction r) {
            return kl_div(v[0], v[1], log_target, r);
          });
    }
    add(
        rows, "kl_div", {{{5, 4}}, index({5, 4}, 2)},
        [=](const Tensors& t, Reduction r) {
          return at::kl_div(t[0], t[1].to(t[0].scalar_type()),
                            torch_reduction(r), log_target);
        },
        [=](const std::vector<Var>& v, Reduction r) {
          return kl_div(v[0], v[1], log_target, r);
        },
        "zeros");
    for (bool full : {false, true}) {
      add(
          rows, "poisson_nll_loss", {positive({4, 6}), positive({4, 6})},
          [=](const Tensors& t, Reduction r) {
            return at::poisson_nll_loss(t[0], t[1] * 2, log_target, full, 1e-3,
                                        torch_reduction(r));
          },
          [=](const std::vector<Var>& v, Reduction r) {
            return poisson_nll_loss(v[0], mul_scalar(v[1], 2), log_target, full,
                                    1e-3, r);
          });
    }
  }
  for (const Shape& shape : {Shape{4, 3}, {4, 1}, {4}}) {
    for (double eps : {1e-6, 1.0}) {
      for (bool full : {false, true}) {
        add(
            rows, "gaussian_nll_loss", {{{4, 3}}, {{4, 3}}, positive(shape)},
            [=](const Tensors& t, Reduction r) {
              at::Tensor v = t[2].dim() == 1 ? t[2].unsqueeze(-1) : t[2];
              v = v.clone();
              {
                c10::NoGradGuard guard;
                v.clamp_(eps);
              }
              at::Tensor loss = 0.5 * (v.log() + (t[0] - t[1]).square() / v);
              if (full) loss = loss + 0.5 * std::log(2 * M_PI);
              return reduced(loss, r);
            },
            [=](const std::vector<Var>& v, Reduction r) {
              return gaussian_nll_loss(v[0], v[1], v[2], full, eps, r);
            });
      }
    }
  }
}

// Targets 1 and -1 from a mask.
at::Tensor sides(const at::Tensor& mask, const at::Tensor& like) {
  return mask.to(like.scalar_type()) * 2 - 1;
}

Var sides(Var mask, Var like) {
  return add_scalar(mul_scalar(cast(mask, like.dtype()), 2), -1);
}

void add_margins(std::vector<Row>& rows) {
  for (double margin : {0.0, 0.5, -0.5}) {
    add(
        rows, "margin_ranking_loss", {steps({6, 5}), steps({6, 5}), mask({5})},
        [=](const Tensors& t, Reduction r) {
          return at::margin_ranking_loss(t[0], t[1], sides(t[2], t[0]), margin,
                                         torch_reduction(r));
        },
        [=](const std::vector<Var>& v, Reduction r) {
          return margin_ranking_loss(v[0], v[1], sides(v[2], v[0]), margin, r);
        });
    add(
        rows, "margin_ranking_loss", {{{6}}, {{6}}, {{6}}},
        [=](const Tensors& t, Reduction r) {
          return at::margin_ranking_loss(t[0], t[1], t[2], margin,
                                         torch_reduction(r));
        },
        [=](const std::vector<Var>& v, Reduction r) {
          return margin_ranking_loss(v[0], v[1], v[2], margin, r);
        },
        "target");
    add(
        rows, "hinge_embedding_loss", {steps({6, 5}), mask({6, 5})},
        [=](const Tensors& t, Reduction r) {
          return at::hinge_embedding_loss(t[0], sides(t[1], t[0]), margin,
                                          torch_reduction(r));
        },
        [=](const std::vector<Var>& v, Reduction r) {
          return hinge_embedding_loss(v[0], sides(v[1], v[0]), margin, r);
        });
    add(
        rows, "cosine_margin", {{{6, 4}}, {{6, 4}}, mask({6})},
        [=](const Tensors& t, Reduction r) {
          return at::cosine_embedding_loss(t[0], t[1], sides(t[2], t[0]),
                                           margin, torch_reduction(r));
        },
        [=](const std::vector<Var>& v, Reduction r) {
          return cosine_embedding_loss(v[0], v[1], sides(v[2], v[0]), margin,
                                       r);
        });
  }
  add(
      rows, "cosine_margin", {{{4}}, {{4}}, mask({})},
      [=](const Tensors& t, Reduction r) {
        return at::cosine_embedding_loss(t[0], t[1], sides(t[2], t[0]), 0,
                                         torch_reduction(r));
      },
      [=](const std::vector<Var>& v, Reduction r) {
        return cosine_embedding_loss(v[0], v[1], sides(v[2], v[0]), 0, r);
      },
      "vectors");
  add(
      rows, "soft_margin_loss", {{{6, 4}}, mask({6, 4})},
      [](const Tensors& t, Reduction r) {
        return at::soft_margin_loss(t[0], sides(t[1], t[0]),
                                    torch_reduction(r));
      },
      [](const std::vector<Var>& v, Reduction r) {
        return soft_margin_loss(v[0], sides(v[1], v[0]), r);
      });
}

void add_triplets(std::vector<Row>& rows) {
  for (bool swap : {false, true}) {
    for (double p : {1.0, 2.0, 3.0}) {
      for (const Shape& shape : {Shape{6, 4}, {4}}) {
        add(
            rows, "triplet_margin", {{shape}, {shape}, {shape}},
            [=](const Tensors& t, Reduction r) {
              return at::triplet_margin_loss(t[0], t[1], t[2], 0.5, p, 1e-6,
                                             swap, torch_reduction(r));
            },
            [=](const std::vector<Var>& v, Reduction r) {
              return triplet_margin_loss(
                  v[0], v[1], v[2],
                  {.margin = 0.5, .p = p, .swap = swap, .reduction = r});
            },
            swap ? "swap" : "");
      }
    }
  }
  // Whole numbers apart by one in one dimension: ties of both kinds.
  add(
      rows, "triplet_margin", {steps({40, 1}), steps({40, 1}), steps({40, 1})},
      [](const Tensors& t, Reduction r) {
        return at::triplet_margin_loss(t[0], t[1], t[2], 0.5, 2, 0, true,
                                       torch_reduction(r));
      },
      [](const std::vector<Var>& v, Reduction r) {
        return triplet_margin_loss(
            v[0], v[1], v[2],
            {.margin = 0.5, .eps = 0, .swap = true, .reduction = r});
      },
      "ties");
}

}  // namespace

std::vector<Row> pointwise_loss_rows() {
  std::vector<Row> rows;
  add_distances(rows);
  add_binary(rows);
  add_likelihoods(rows);
  add_margins(rows);
  add_triplets(rows);
  return rows;
}

}  // namespace braid::parity
