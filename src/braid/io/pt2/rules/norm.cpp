// Norms. In training, batch and instance norm write their running statistics.
#include "braid/base/error.h"
#include "braid/io/pt2/rule.h"

namespace braid::io::pt2 {
namespace {

using NormFunction = Normed (*)(Var, Var, Var, Var, Var, const Norm&);

// Without running statistics it always takes those of the input.
void give_normed(RuleContext& c, NormFunction f, bool trains) {
  bool running = c.has("running_mean");
  Norm norm{.training = !running || trains,
            .momentum = c.number_or("momentum", 0.1),
            .eps = c.number_or("eps", 1e-5)};
  Normed normed = f(c.tensor("input"), c.tensor_or_none("weight"),
                    c.tensor_or_none("bias"), c.tensor_or_none("running_mean"),
                    c.tensor_or_none("running_var"), norm);
  c.give(normed.y);
  if (!running || !trains) return;
  // What reads them later reads numbers, as in PyTorch.
  c.write("running_mean", detach(normed.running_mean));
  c.write("running_var", detach(normed.running_var));
}

void batch_norm_rule(RuleContext& c) {
  give_normed(c, batch_norm, c.trains("training", false));
}

void instance_norm_rule(RuleContext& c) {
  give_normed(c, instance_norm, c.trains("use_input_stats", true));
}

int64_t num_dims(RuleContext& c) {
  return static_cast<int64_t>(c.ints("normalized_shape").size());
}

void layer_norm_rule(RuleContext& c) {
  c.give(layer_norm(c.tensor("input"), c.tensor_or_none("weight"),
                    c.tensor_or_none("bias"), c.number_or("eps", 1e-5),
                    num_dims(c)));
}

void rms_norm_rule(RuleContext& c) {
  std::optional<double> eps;
  if (c.has("eps")) eps = c.number("eps");
  c.give(rms_norm(c.tensor("input"), c.tensor_or_none("weight"), eps,
                  num_dims(c)));
}

void group_norm_rule(RuleContext& c) {
  c.give(group_norm(c.tensor("input"), c.integer("num_groups"),
                    c.tensor_or_none("weight"), c.tensor_or_none("bias"),
                    c.number_or("eps", 1e-5)));
}

void weight_norm_rule(RuleContext& c) {
  c.give(weight_norm(c.tensor("v"), c.tensor("g"), c.integer_or("dim", 0)));
}

}  // namespace

void add_norm_rules(Rules& rules) {
  rules.insert({
      {"batch_norm", batch_norm_rule},
      {"instance_norm", instance_norm_rule},
      {"layer_norm", layer_norm_rule},
      {"rms_norm", rms_norm_rule},
      {"group_norm", group_norm_rule},
      {"_weight_norm", weight_norm_rule},
  });
}

}  // namespace braid::io::pt2
