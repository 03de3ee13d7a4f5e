// A StepGraph is a whole training step: the micro part (forward, backward,
// accumulate), repeated for every micro-batch, then the update part. Nothing
// is hidden: every byte and every kernel of a step is a node here.
#pragma once

#include <map>
#include <vector>

#include "braid/graph/graph.h"

namespace braid::passes {

struct StepGraph {
  Graph graph;
  int64_t micro_batches = 1;
  // The gradient that each parameter's update reads.
  std::map<SlotId, ValueId> gradients = {};
  // Whether the micro part holds the nodes of all micro-batches, see
  // plan/unroll.h.
  bool is_unrolled = false;

  bool repeats_micro_part() const { return micro_batches > 1 && !is_unrolled; }
};

}  // namespace braid::passes
