// Which nodes of a step become chains.
#pragma once

#include <vector>

#include "braid/ops/core/op.h"
#include "braid/passes/step/step_graph.h"

namespace braid::passes {

// Two nodes or more, in order. Its chain can stand in the place of the last:
// all that it reads is there by then, and nothing has read its results yet.
struct ChainGroup {
  std::vector<NodeId> nodes = {};
  std::vector<ValueId> inputs = {};   // made outside
  std::vector<ValueId> outputs = {};  // read outside, in order
};

std::vector<ChainGroup> find_chains(const OpTable& ops, const StepGraph& step);

}  // namespace braid::passes
