#include "braid/graph/splice.h"

#include "braid/base/error.h"
#include "braid/base/rng.h"

namespace braid {
namespace {

// Counters belong to the member, everything else to the layer; a '/' ends the
// kind of a slot that is not the model's: "hyper/drop.p".
std::string name_in(const Slot& slot, const std::string& text,
                    const std::string& prefix) {
  if (slot.role == Role::kCounter) return text;
  size_t slash = text.find('/');
  size_t begin = slash == text.npos ? 0 : slash + 1;
  return text.substr(0, begin) + prefix + "." + text.substr(begin);
}

}  // namespace

SlotId Splicer::slot_of(const Slot& slot, const std::string& name) {
  Slot copy = slot;
  copy.name = name_in(slot, slot.name, name);
  for (std::string& alias : copy.aliases) alias = name_in(slot, alias, name);
  SlotId known = into_.find_slot(copy.name);
  return known != kNone ? known : into_.add_slot(std::move(copy));
}

std::map<std::string, ValueId> Splicer::add(
    const Graph& from, const std::string& name,
    const std::map<std::string, ValueId>& inputs) {
  std::vector<ValueId> map(from.values().size(), kNone);
  auto at = [&](ValueId id) -> ValueId& {
    return map[static_cast<size_t>(id)];
  };
  std::vector<SlotId> slots;
  for (const Slot& slot : from.slots()) slots.push_back(slot_of(slot, name));
  for (ValueId id : from.inputs()) {
    const Value& value = from.value(id);
    auto bound = inputs.find(value.name);
    ValueId known = into_.find_input(value.name);
    if (bound != inputs.end()) {
      at(id) = bound->second;
    } else {
      at(id) = known != kNone ? known : into_.add_input(value.name, value.type);
    }
    if (into_.value(at(id)).type == value.type) continue;
    fail_usage("[{}] input '{}' is {}{}, expected {}{}", name, value.name,
               dtype_name(into_.value(at(id)).type.dtype),
               shape_text(into_.value(at(id)).type.shape),
               dtype_name(value.type.dtype), shape_text(value.type.shape));
  }
  int use = uses_[name]++;
  for (Node node : from.nodes()) {
    if (node.slot != kNone) node.slot = slots[static_cast<size_t>(node.slot)];
    node.path = join_path(name, node.path);
    if (node.rng_key != 0 && use > 0) {  // other draws than at the first use
      node.rng_key = mix_bits(node.rng_key, static_cast<uint64_t>(use));
    }
    if (node.op == "assign") {
      assigned_[node.slot] = at(node.inputs[0]);
      writers_[node.slot] = node;
      continue;
    }
    if (node.op == "read" && assigned_.contains(node.slot)) {
      at(node.outputs[0]) = assigned_.at(node.slot);
      continue;
    }
    std::vector<ValueId> bound;
    for (ValueId id : node.inputs) {
      bound.push_back(id == kNone ? kNone : at(id));
    }
    NodeId copy = into_.add_like(node, std::move(bound));
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      at(node.outputs[i]) = into_.node(copy).outputs[i];
    }
  }
  std::map<std::string, ValueId> outputs;
  for (const Output& output : from.outputs()) {
    outputs[output.name] = at(output.value);
  }
  return outputs;
}

void Splicer::finish() {
  for (const auto& [slot, value] : assigned_) {
    into_.add_like(writers_.at(slot), {value});
  }
}

}  // namespace braid
