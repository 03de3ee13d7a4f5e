// Layout pass: strides of every value are fixed, and every `reshape` becomes
// a `view` where memory allows it or a `copy` and a view where not. Nothing is
// decided at run time.
#pragma once

#include "braid/ops/core/op.h"
#include "braid/passes/step/step_graph.h"

namespace braid::passes {

Graph layout(const OpTable& ops, const Graph& graph);

// The same for a step; its gradients are mapped too.
StepGraph layout(const OpTable& ops, const StepGraph& step);

}  // namespace braid::passes
