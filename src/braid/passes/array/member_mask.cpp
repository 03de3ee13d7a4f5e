#include "braid/passes/array/member_mask.h"

#include "braid/graph/copy.h"
#include "braid/ops/build/functions.h"
#include "braid/passes/names.h"

namespace braid::passes {

Graph mask_members(const OpTable&, const Graph& forward) {
  GraphCopy copy(forward);
  copy.add_slots();
  SlotId active = copy.to.add_slot({.name = kActiveSlot,
                                    .dtype = DType::kFloat64,
                                    .role = Role::kCounter,
                                    .use = SlotUse::kActiveMask,
                                    .init = Init::constant(1)});
  copy.add_inputs();
  for (const Node& node : forward.nodes()) {
    std::vector<ValueId> inputs = copy.inputs_of(node);
    if (node.is(OpKind::kAssign)) {
      copy.to.continue_at(node);
      Var next{&copy.to, inputs[0]}, before = read(copy.to, node.slot);
      Var steps = ne_scalar(read(copy.to, active), Number(0.0));
      inputs[0] = where(steps, next, before).id;
    }
    copy.add(node, std::move(inputs));
  }
  copy.add_outputs();
  return std::move(copy.to);
}

}  // namespace braid::passes
