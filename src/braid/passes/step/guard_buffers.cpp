#include "braid/passes/step/guard_buffers.h"

#include "braid/graph/copy.h"
#include "braid/ops/build/functions.h"
#include "braid/passes/names.h"

namespace braid::passes {
namespace {

bool is_guarded(const Graph& graph, const Node& node) {
  if (!node.is(OpKind::kAssign)) return false;
  const Slot& slot = graph.slot(node.slot);
  return slot.role == Role::kBuffer && is_floating(slot.dtype);
}

// Whether each element of `next` is taken.
Var is_taken(Var next, SlotId skips) {
  Var never = eq_scalar(read(*next.graph, skips), int64_t{0});
  return logical_or(isfinite(next), never);
}

}  // namespace

Graph guard_buffers(const Graph& forward, double skips,
                    const std::string& scope) {
  GraphCopy copy(forward);
  copy.add_slots();
  SlotId slot =
      copy.to.add_slot({.name = scoped(hyper_slot("skip_nonfinite"), scope),
                        .dtype = DType::kFloat64,
                        .role = Role::kHyper,
                        .init = Init::constant(skips)});
  copy.add_inputs();
  for (const Node& node : forward.nodes()) {
    std::vector<ValueId> inputs = copy.inputs_of(node);
    if (is_guarded(forward, node)) {
      copy.to.continue_at(node);
      Var next{&copy.to, inputs[0]};
      Var before = read(copy.to, node.slot);
      inputs[0] = where(is_taken(next, slot), next, before).id;
    }
    copy.add(node, std::move(inputs));
  }
  copy.add_outputs();
  return std::move(copy.to);
}

}  // namespace braid::passes
