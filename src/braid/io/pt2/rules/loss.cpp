// Losses.
#include "braid/base/error.h"
#include "braid/io/pt2/rule.h"

namespace braid::io::pt2 {
namespace {

Reduction reduction_of(RuleContext& c) {
  switch (c.integer_or("reduction", 1)) {
    case 0: return Reduction::kEach;
    case 1: return Reduction::kMean;
    case 2: return Reduction::kSum;
    default: fail_usage("reduction {} is unknown", c.integer("reduction"));
  }
}

ClassLoss class_loss_of(RuleContext& c) {
  return {.weight = c.tensor_or_none("weight"),
          .ignore_index = c.integer_or("ignore_index", -100),
          .label_smoothing = c.number_or("label_smoothing", 0),
          .reduction = reduction_of(c)};
}

void cross_entropy_rule(RuleContext& c) {
  c.give(cross_entropy_loss(c.tensor("self"), c.tensor("target"),
                            class_loss_of(c)));
}

void nll_loss_rule(RuleContext& c) {
  c.give(nll_loss(c.tensor("self"), c.tensor("target"), class_loss_of(c)));
}

template <Var (*f)(Var, Var, Reduction)>
void element_loss(RuleContext& c) {
  c.give(f(c.tensor("self"), c.tensor("target"), reduction_of(c)));
}

void smooth_l1_rule(RuleContext& c) {
  c.give(smooth_l1_loss(c.tensor("self"), c.tensor("target"),
                        c.number_or("beta", 1), reduction_of(c)));
}

void huber_rule(RuleContext& c) {
  c.give(huber_loss(c.tensor("self"), c.tensor("target"),
                    c.number_or("delta", 1), reduction_of(c)));
}

void bce_rule(RuleContext& c) {
  c.give(binary_cross_entropy(c.tensor("self"), c.tensor("target"),
                              c.tensor_or_none("weight"), reduction_of(c)));
}

void bce_with_logits_rule(RuleContext& c) {
  c.give(binary_cross_entropy_with_logits(
      c.tensor("self"), c.tensor("target"), c.tensor_or_none("weight"),
      c.tensor_or_none("pos_weight"), reduction_of(c)));
}

void kl_div_rule(RuleContext& c) {
  c.give(kl_div(c.tensor("self"), c.tensor("target"),
                c.flag_or("log_target", false), reduction_of(c)));
}

void poisson_rule(RuleContext& c) {
  c.give(poisson_nll_loss(
      c.tensor("input"), c.tensor("target"), c.flag_or("log_input", true),
      c.flag_or("full", false), c.number_or("eps", 1e-8), reduction_of(c)));
}

template <Var (*f)(Var, Var, Var, double, Reduction)>
void pair_loss(RuleContext& c) {
  c.give(f(c.tensor("input1"), c.tensor("input2"), c.tensor("target"),
           c.number_or("margin", 0), reduction_of(c)));
}

void hinge_embedding_rule(RuleContext& c) {
  c.give(hinge_embedding_loss(c.tensor("self"), c.tensor("target"),
                              c.number_or("margin", 1), reduction_of(c)));
}

void triplet_rule(RuleContext& c) {
  c.give(triplet_margin_loss(c.tensor("anchor"), c.tensor("positive"),
                             c.tensor("negative"),
                             {.margin = c.number_or("margin", 1),
                              .p = c.number_or("p", 2),
                              .eps = c.number_or("eps", 1e-6),
                              .swap = c.flag_or("swap", false),
                              .reduction = reduction_of(c)}));
}

}  // namespace

void add_loss_rules(Rules& rules) {
  rules.insert({
      {"cross_entropy_loss", cross_entropy_rule},
      {"nll_loss", nll_loss_rule},
      {"nll_loss2d", nll_loss_rule},
      {"nll_loss_nd", nll_loss_rule},
      {"mse_loss", element_loss<mse_loss>},
      {"l1_loss", element_loss<l1_loss>},
      {"soft_margin_loss", element_loss<soft_margin_loss>},
      {"smooth_l1_loss", smooth_l1_rule},
      {"huber_loss", huber_rule},
      {"binary_cross_entropy", bce_rule},
      {"binary_cross_entropy_with_logits", bce_with_logits_rule},
      {"kl_div", kl_div_rule},
      {"poisson_nll_loss", poisson_rule},
      {"margin_ranking_loss", pair_loss<margin_ranking_loss>},
      {"hinge_embedding_loss", hinge_embedding_rule},
      {"cosine_embedding_loss", pair_loss<cosine_embedding_loss>},
      {"triplet_margin_loss", triplet_rule},
  });
}

}  // namespace braid::io::pt2
