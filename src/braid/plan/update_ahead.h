// Updates ahead: where clipping or skipping makes updates wait for the norm of
// all gradients, the host updates during the backward part as if that would
// change nothing, and sets aside what was there. Once the norm is known,
// members for which it does change something get their old content back,
// updated with the scale that is right. Both are in the graph, so bytes and
// instructions do not depend on the norm; what is not needed takes no time.
#pragma once

#include "braid/ops/core/op.h"
#include "braid/passes/step/step_graph.h"
#include "braid/plan/plan.h"

namespace braid::plan {

// Whether updates of the step wait for more than their own gradient.
bool has_waiting_updates(const passes::StepGraph& step);

// Of segments whose update is Update::kHostAhead.
passes::StepGraph update_ahead(const OpTable& ops, passes::StepGraph step,
                               const Plan& plan);

// Whether a node hardly ever has anything to do: what makes up for an update
// that was ahead.
bool is_rare(const Node& node);

}  // namespace braid::plan
