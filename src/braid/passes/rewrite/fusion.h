// Fusion pass: runs of pointwise nodes become one node `fusion` each, so that
// values in between need no buffer and memory is read once. It looks at
// strides and runs after `layout`, for devices with a kernel for fusions.
#pragma once

#include "braid/ops/core/op.h"
#include "braid/passes/step/step_graph.h"

namespace braid::passes {

struct FusionRules {
  // The device's kernels for fusions take narrow types, cast from one to
  // another and walk through elements as they lie: with channels last, say.
  bool mixed = false;
};

// Joins nodes of one segment of the forward or of the backward phase whose
// results are alike in shape and order in memory. Without mixed types they are
// f32 or f64, and row-major. Gradients are mapped.
StepGraph fusion(const OpTable& ops, const StepGraph& step,
                 const FusionRules& rules = {});

}  // namespace braid::passes
