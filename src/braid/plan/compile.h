// Compile: a step and a plan become a Program.
//
// The step is a row of stages: forward of each segment, backward of each
// segment, update of each segment. With depth d, stage p opens when evictions
// of stages before p - d are done; then fetches for stage p + d are issued,
// those for p are awaited, its nodes run, and its evictions are issued.
//
// What lies in a file is read d stages before its fetch, or before its update
// on the host, and written after its eviction or that update: writes of stages
// before p - 2 d are done when stage p opens.
#pragma once

#include <functional>

#include "braid/ops/core/op.h"
#include "braid/passes/step/step_graph.h"
#include "braid/plan/program.h"

namespace braid::plan {

// Scratch bytes that a node's kernel takes beside its operands, or that of the
// host, where the node runs there.
using WorkspaceRule =
    std::function<int64_t(const Graph&, const Node&, bool on_host)>;

// With `waiting_bytes`, gradients up to so many wait for each other where the
// plan keeps all parameters and updates on the device, so that one kernel may
// update many of them.
Program compile(const OpTable& ops, const passes::StepGraph& step,
                const Plan& plan, const WorkspaceRule& workspace = {},
                int64_t waiting_bytes = 0);

}  // namespace braid::plan
