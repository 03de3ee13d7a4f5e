#include "braid/passes/guard_buffers.h"

#include "braid/ops/functions.h"

namespace braid::passes {

Graph guard_buffers(const OpTable& ops, const Graph& forward) {
  Graph to(ops);
  std::vector<ValueId> map(forward.values().size(), kNone);
  auto at = [&](ValueId id) -> ValueId& {
    return map[static_cast<size_t>(id)];
  };
  for (const Slot& slot : forward.slots()) to.add_slot(slot);
  for (ValueId id : forward.inputs()) {
    const Value& value = forward.value(id);
    at(id) = to.add_input(value.name, value.type);
  }
  for (const Node& node : forward.nodes()) {
    std::vector<ValueId> inputs;
    for (ValueId id : node.inputs) {
      inputs.push_back(id == kNone ? kNone : at(id));
    }
    bool is_guarded = node.op == "assign" &&
                      to.slot(node.slot).role == Role::kBuffer &&
                      is_floating(to.slot(node.slot).dtype);
    if (is_guarded) {
      to.continue_at(node);
      Var next{&to, inputs[0]};
      inputs[0] = where(isfinite(next), next, read(to, node.slot)).id;
    }
    NodeId copy = to.add_like(node, std::move(inputs));
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      at(node.outputs[i]) = to.node(copy).outputs[i];
    }
  }
  for (const Output& output : forward.outputs()) {
    to.add_output(output.name, at(output.value));
  }
  return to;
}

}  // namespace braid::passes
