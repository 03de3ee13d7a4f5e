#include "braid/graph/copy.h"

namespace braid {

std::vector<ValueId> GraphCopy::inputs_of(const Node& node) {
  std::vector<ValueId> inputs;
  for (ValueId id : node.inputs) {
    inputs.push_back(id == kNone ? kNone : value(id));
  }
  return inputs;
}

void GraphCopy::add_slots() {
  for (const Slot& slot : from_.slots()) to.add_slot(slot);
}

void GraphCopy::add_inputs() {
  for (ValueId id : from_.inputs()) add_input(id);
}

void GraphCopy::add_input(ValueId id) {
  value(id) = to.add_input(from_.value(id).name, from_.value(id).type);
}

void GraphCopy::add(const Node& node, std::vector<ValueId> inputs) {
  NodeId made = to.add_like(node, std::move(inputs));
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    ValueId copy = to.node(made).outputs[i];
    value(node.outputs[i]) = copy;
    to.value(copy).name = from_.value(node.outputs[i]).name;
  }
}

void GraphCopy::add_outputs() {
  for (const Output& output : from_.outputs()) {
    to.add_output(output.name, value(output.value));
  }
}

}  // namespace braid
