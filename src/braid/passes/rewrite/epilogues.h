// Epilogues pass: a relu behind a linear layer becomes part of the layer, for
// devices whose products apply it before they write. The value in between is
// then neither written nor read.
#pragma once

#include "braid/passes/step/step_graph.h"

namespace braid::passes {

// Joins each relu with the `linear` node before it when nobody else reads what
// lies between, and both are of one phase and segment: the node gets attribute
// activation="relu". Every result keeps its bits. Gradients are mapped.
StepGraph epilogues(const StepGraph& step);

}  // namespace braid::passes
