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

std::string type_text(const ValueType& type) {
  return fmt::format("{}{}", dtype_name(type.dtype), shape_text(type.shape));
}

}  // namespace

SlotId Splicer::slot_of(const Slot& slot, const std::string& name) {
  Slot copy = slot;
  copy.name = name_in(slot, slot.name, name);
  for (std::string& alias : copy.aliases) alias = name_in(slot, alias, name);
  SlotId known = into_.find_slot(copy.name);
  if (known == kNone) return into_.add_slot(std::move(copy));
  const Slot& there = into_.slot(known);
  if (there.dtype != slot.dtype || there.shape != slot.shape) {
    fail_usage("[{}] '{}' is {} in one use and {} in another", name, copy.name,
               type_text({slot.dtype, slot.shape}),
               type_text({there.dtype, there.shape}));
  }
  return known;
}

void Splicer::bind_inputs(Piece& piece,
                          const std::map<std::string, ValueId>& inputs) {
  for (ValueId id : piece.from.inputs()) {
    const Value& value = piece.from.value(id);
    auto given = inputs.find(value.name);
    ValueId bound =
        given != inputs.end() ? given->second : into_.find_input(value.name);
    if (bound == kNone) bound = into_.add_input(value.name, value.type);
    piece.at(id) = bound;
    if (into_.value(bound).type == value.type) continue;
    fail_usage("[{}] input '{}' is {}, expected {}", piece.name, value.name,
               type_text(into_.value(bound).type), type_text(value.type));
  }
}

void Splicer::add_node(Piece& piece, Node node) {
  if (node.slot != kNone) {
    node.slot = piece.slots[static_cast<size_t>(node.slot)];
  }
  node.path = join_path(piece.name, node.path);
  if (node.rng_key != 0) node.rng_key = mix_bits(node.rng_key, piece.draws);
  if (node.is(OpKind::kAssign)) {
    assigned_[node.slot] = piece.at(node.inputs[0]);
    writers_[node.slot] = node;
    return;
  }
  if (node.is(OpKind::kRead) && assigned_.contains(node.slot)) {
    piece.at(node.outputs[0]) = assigned_.at(node.slot);
    return;
  }
  std::vector<ValueId> bound;
  for (ValueId id : node.inputs) {
    bound.push_back(id == kNone ? kNone : piece.at(id));
  }
  NodeId copy = into_.add_like(node, std::move(bound));
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    piece.at(node.outputs[i]) = into_.node(copy).outputs[i];
  }
}

std::map<std::string, ValueId> Splicer::add(
    const Graph& from, const std::string& name,
    const std::map<std::string, ValueId>& inputs) {
  auto use = static_cast<uint64_t>(uses_[name]++);
  Piece piece{.from = from,
              .name = name,
              .draws = mix_bits(stable_hash(name), use),
              .slots = {},
              .values = std::vector<ValueId>(from.values().size(), kNone)};
  for (const Slot& slot : from.slots()) {
    piece.slots.push_back(slot_of(slot, name));
  }
  bind_inputs(piece, inputs);
  for (const Node& node : from.nodes()) add_node(piece, node);
  std::map<std::string, ValueId> outputs;
  for (const Output& output : from.outputs()) {
    outputs[output.name] = piece.at(output.value);
  }
  return outputs;
}

void Splicer::finish() {
  for (const auto& [slot, value] : assigned_) {
    into_.add_like(writers_.at(slot), {value});
  }
}

}  // namespace braid
