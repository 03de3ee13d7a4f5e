// Unroll: the micro part for every micro-batch, written out segment by segment.
// All micro-batches go through a segment before the next one has its turn, so
// that a parameter is fetched once for all of them, and a gradient is whole,
// and may be used up, where the backward part of its segment ends.
#pragma once

#include "braid/ops/core/op.h"
#include "braid/passes/step/step_graph.h"

namespace braid::plan {

// Stages [begin, end) of the micro part that a micro-batch goes through as one.
struct StageGroup {
  size_t begin = 0, end = 0;
};

struct StageGroups {
  size_t num_stages = 0;  // in all
  std::vector<StageGroup> groups = {};
};

// Groups of more than one stage: what one micro-batch leaves in a slot there,
// the next one finds, as running statistics of a layer that is used twice.
// Of a step before nodes are repeated for recomputation.
StageGroups stage_groups(const OpTable& ops, const passes::StepGraph& step);

// Gradients of micro-batches become values that are added up in the order in
// which their slots were, with the same bits; slots for them are gone.
passes::StepGraph unroll(const OpTable& ops, const passes::StepGraph& step,
                         const StageGroups& groups);

}  // namespace braid::plan
