// A trial call: what runs a kernel on memory of its own, so that a device sees
// how much scratch it takes.
#pragma once

#include <functional>

#include "braid/graph/graph.h"
#include "braid/runtime/kernels/kernel.h"

namespace braid::runtime {

// The node's call with operands that lie as in the graph. `make_memory` gives
// zeroed memory that the caller keeps while the call is in use; the call
// borrows the node and the workspace.
Call trial_call(const Graph& graph, const Node& node, Workspace& workspace,
                const std::function<std::byte*(int64_t bytes)>& make_memory);

}  // namespace braid::runtime
