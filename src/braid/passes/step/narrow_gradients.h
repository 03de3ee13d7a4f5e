// Narrow gradients: with a precision of bf16 gradients are made in bf16 and
// cast for the update. Where nothing else wants the cast, an update whose
// kernel widens what it reads takes the gradient as it was made.
#pragma once

#include "braid/ops/core/op.h"
#include "braid/passes/step/step_graph.h"

namespace braid::passes {

// For graphs with layouts: what updates read must be row-major.
StepGraph narrow_gradients(const OpTable& ops, StepGraph step);

}  // namespace braid::passes
