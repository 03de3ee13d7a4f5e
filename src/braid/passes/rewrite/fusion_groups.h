// Which nodes of a step become fusions.
#pragma once

#include <vector>

#include "braid/passes/rewrite/fusion.h"
#include "braid/passes/step/step_graph.h"

namespace braid::passes {

// Two nodes or more, in order. Its fusion can stand in the place of the last:
// all that it reads is there by then, and nothing has read its results yet.
struct FusionGroup {
  std::vector<NodeId> nodes = {};
  std::vector<ValueId> inputs = {};   // made outside
  std::vector<ValueId> outputs = {};  // read outside, in order
};

std::vector<FusionGroup> find_fusions(const StepGraph& step,
                                      const FusionRules& rules);

}  // namespace braid::passes
