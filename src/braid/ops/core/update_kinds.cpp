#include "braid/ops/core/update_kinds.h"

namespace braid {

// Defaults are those of torch.optim. A state that a flag brings is missing
// without it.
const std::vector<UpdateKind>& update_kinds() {
  static const std::vector<UpdateKind> kinds = {
      {.name = "sgd",
       .states = {"momentum_buffer"},
       .values = {{"lr", 1e-3},
                  {"momentum", 0},
                  {"dampening", 0},
                  {"weight_decay", 0}},
       .flags = {{"momentum", "momentum_buffer"}, {"nesterov", ""}},
       .summary = "p - lr * (g + weight_decay p), with momentum"},
      {.name = "adamw",
       .states = {"exp_avg", "exp_avg_sq"},
       .values = {{"lr", 1e-3},
                  {"beta1", 0.9},
                  {"beta2", 0.999},
                  {"eps", 1e-8},
                  {"weight_decay", 0.01}},
       .summary = "Adam with the decay apart from the gradient"},
      {.name = "adam",
       .states = {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"},
       .values = {{"lr", 1e-3},
                  {"beta1", 0.9},
                  {"beta2", 0.999},
                  {"eps", 1e-8},
                  {"weight_decay", 0}},
       .flags = {{"amsgrad", "max_exp_avg_sq"}, {"decoupled", ""}},
       .summary = "p - lr * m / (sqrt(v) + eps), both corrected"},
      {.name = "adadelta",
       .states = {"square_avg", "acc_delta"},
       .values = {{"lr", 1}, {"rho", 0.9}, {"eps", 1e-6}, {"weight_decay", 0}},
       .summary = "steps in the proportion of past steps to gradients"},
      {.name = "adagrad",
       .states = {"sum"},
       .values =
           {{"lr", 1e-2}, {"lr_decay", 0}, {"eps", 1e-10}, {"weight_decay", 0}},
       .summary = "p - lr * g / sqrt(sum of g^2)"},
      {.name = "rmsprop",
       .states = {"square_avg", "momentum_buffer", "grad_avg"},
       .values = {{"lr", 1e-2},
                  {"alpha", 0.99},
                  {"eps", 1e-8},
                  {"weight_decay", 0},
                  {"momentum", 0}},
       .flags = {{"momentum", "momentum_buffer"}, {"centered", "grad_avg"}},
       .summary = "p - lr * g / sqrt(mean of g^2)"},
      {.name = "nadam",
       .states = {"exp_avg", "exp_avg_sq"},
       .values = {{"lr", 2e-3},
                  {"beta1", 0.9},
                  {"beta2", 0.999},
                  {"eps", 1e-8},
                  {"weight_decay", 0},
                  {"momentum_decay", 4e-3}},
       .flags = {{"decoupled", ""}},
       .has_extra = true,
       .summary = "Adam with Nesterov momentum"},
      {.name = "radam",
       .states = {"exp_avg", "exp_avg_sq"},
       .values = {{"lr", 1e-3},
                  {"beta1", 0.9},
                  {"beta2", 0.999},
                  {"eps", 1e-8},
                  {"weight_decay", 0}},
       .flags = {{"decoupled", ""}},
       .summary = "Adam that waits until its variance is known"},
      {.name = "lion",
       .states = {"exp_avg"},
       .values =
           {{"lr", 1e-4}, {"beta1", 0.9}, {"beta2", 0.99}, {"weight_decay", 0}},
       .summary = "p - lr * sign of the averaged gradient"},
  };
  return kinds;
}

const UpdateKind* find_update_kind(const std::string& name) {
  for (const UpdateKind& kind : update_kinds()) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

}  // namespace braid
