// Early updates: a parameter is updated as soon as its gradient is complete
// and nobody reads its old content any more, so that gradients of different
// layers never lie in memory together and a spilled parameter is written back
// from where its backward left it. Where a device updates many parameters at
// once, gradients may wait for each other up to so many bytes.
#pragma once

#include "braid/ops/core/op.h"
#include "braid/passes/step/step_graph.h"

namespace braid::plan {

// Moves updates into the backward part. Those that need all gradients first
// (clipping, skipping) and those of accumulated gradients stay where they are.
// With `waiting_bytes`, updates go on to the segment of the last one that they
// wait for: only for plans that keep parameters and updates on the device.
passes::StepGraph update_early(const OpTable& ops, passes::StepGraph step,
                               int64_t waiting_bytes = 0);

}  // namespace braid::plan
