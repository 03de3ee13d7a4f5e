// Early updates: a parameter is updated as soon as its gradient is complete
// and nobody reads its old content any more, so that gradients of different
// layers never lie in memory together and a spilled parameter is written back
// from where its backward left it.
#pragma once

#include "braid/ops/core/op.h"
#include "braid/passes/step/step_graph.h"

namespace braid::plan {

// Moves updates into the backward part. Those that need all gradients first
// (clipping, skipping) and those of accumulated gradients stay where they are.
passes::StepGraph update_early(const OpTable& ops, passes::StepGraph step);

}  // namespace braid::plan
