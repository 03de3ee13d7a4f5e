// Optimizer pass: the update of every parameter becomes part of the graph.
// Every value (learning rate, betas, decay, clip norm) is a slot of one
// number per member.
#pragma once

#include <map>
#include <string>

#include "braid/ops/op.h"
#include "braid/passes/step_graph.h"

namespace braid::passes {

struct Optimizer {
  std::string kind;                     // "sgd" or "adamw"
  std::map<std::string, double> hyper;  // name -> value for new members
  bool momentum = false;                // sgd: keeps a momentum buffer
  bool nesterov = false;                // sgd
  bool clip = false;            // by global norm per member: "clip_norm"
  bool skip_nonfinite = false;  // a member with NaN or inf in its gradients
                                // keeps everything as it is
};

// Known kinds with their default values; throws for others.
Optimizer make_optimizer(const std::string& kind);

// Sets a value by name ("lr", "weight_decay", "clip_norm", "nesterov", ...);
// an unknown name is an error that names the nearest known one.
void set_option(Optimizer& optimizer, const std::string& name, double value);

// Appends the update part. Parameters without a gradient stay as they are.
StepGraph add_optimizer(const OpTable& ops, StepGraph step,
                        const Optimizer& optimizer);

}  // namespace braid::passes
