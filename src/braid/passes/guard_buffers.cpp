#include "braid/passes/guard_buffers.h"

#include "braid/graph/copy.h"
#include "braid/ops/functions.h"

namespace braid::passes {
namespace {

bool is_guarded(const Graph& graph, const Node& node) {
  if (node.op != "assign") return false;
  const Slot& slot = graph.slot(node.slot);
  return slot.role == Role::kBuffer && is_floating(slot.dtype);
}

}  // namespace

Graph guard_buffers(const OpTable&, const Graph& forward) {
  GraphCopy copy(forward);
  copy.add_slots();
  copy.add_inputs();
  for (const Node& node : forward.nodes()) {
    std::vector<ValueId> inputs = copy.inputs_of(node);
    if (is_guarded(forward, node)) {
      copy.to.continue_at(node);
      Var next{&copy.to, inputs[0]};
      inputs[0] = where(isfinite(next), next, read(copy.to, node.slot)).id;
    }
    copy.add(node, std::move(inputs));
  }
  copy.add_outputs();
  return std::move(copy.to);
}

}  // namespace braid::passes
