// The loss of a job in place of the model's own.
#pragma once

#include <map>
#include <string>

#include "braid/ops/core/op.h"
#include "braid/train/job/job_hooks.h"

namespace braid::train {

// What the loss is made of. Empty names: the first output that is not the
// loss, the last input.
struct LossPlaces {
  std::string model;  // in errors
  std::string output, target;
  // Types of inputs that the graph may lack.
  std::map<std::string, ValueType> inputs = {};
};

// Makes it the graph's first output "loss". What only the old loss read is
// gone, so that a target may have another type. Throws when there is no such
// output or target, or the loss is not one float.
Graph replace_loss(const OpTable& ops, Graph graph, const LossPlaces& places,
                   const LossFunction& loss);

}  // namespace braid::train
