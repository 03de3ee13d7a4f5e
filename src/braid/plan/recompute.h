// Recomputation as a rewrite of the graph: forward nodes of a segment are
// repeated right before its backward, which then reads the copies.
#pragma once

#include "braid/ops/core/op.h"
#include "braid/passes/step/step_graph.h"
#include "braid/plan/plan.h"

namespace braid::plan {

passes::StepGraph add_recompute(const OpTable& ops, passes::StepGraph step,
                                const Plan& plan);

}  // namespace braid::plan
