// Accumulation: gradients of several micro-batches become one.
#pragma once

#include "braid/passes/step/autodiff.h"
#include "braid/passes/step/step_graph.h"

namespace braid::passes {

// With one micro-batch gradients flow to the update as values. With more,
// each parameter gets a gradient slot that holds the mean over micro-batches.
StepGraph accumulate(const OpTable& ops, Gradients gradients,
                     int64_t micro_batches);

}  // namespace braid::passes
