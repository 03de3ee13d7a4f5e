// Batch norm in training as two ops: one that reads all of x for the numbers of
// each channel, and pointwise ones, which fusions join with what comes before
// and after. For devices whose fusions mix types.
#pragma once

#include "braid/ops/core/op.h"
#include "braid/passes/step/step_graph.h"

namespace braid::passes {

// Of a whole step, before `layout`.
StepGraph split_norms(const OpTable& ops, const StepGraph& step);

}  // namespace braid::passes
