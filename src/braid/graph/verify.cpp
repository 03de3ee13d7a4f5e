#include "braid/graph/verify.h"

#include <algorithm>
#include <functional>
#include <set>

#include "braid/base/error.h"

namespace braid {
namespace {

using Names = std::set<std::string_view>;

// Walks the graph once in order; `made_` holds the values that exist so far.
class Verifier {
 public:
  explicit Verifier(const Graph& graph)
      : graph_(graph), made_(graph.values().size(), false) {}

  void run() {
    check_slots();
    check_inputs();
    for (size_t i = 0; i < graph_.nodes().size(); ++i) {
      check_node(static_cast<NodeId>(i));
    }
    check_producers();
    check_outputs();
  }

 private:
  template <class... Args>
  [[noreturn]] void fail_node(NodeId id, fmt::format_string<Args...> text,
                              Args&&... args) const {
    const Node& node = graph_.node(id);
    fail_usage("[verify] node {} ({}, path '{}'): {}", id, node.op->name,
               node.path, fmt::format(text, std::forward<Args>(args)...));
  }

  bool exists(ValueId id) const {
    return id >= 0 && id < static_cast<ValueId>(made_.size());
  }
  bool is_made(ValueId id) const {
    return exists(id) && made_[static_cast<size_t>(id)];
  }
  void mark_made(ValueId id) { made_[static_cast<size_t>(id)] = true; }

  void check_slots() const;
  void check_inputs();
  void check_node(NodeId id);
  void check_slot_of(NodeId id) const;
  void check_reads(NodeId id) const;
  void check_phase(NodeId id);
  void check_results(NodeId id);
  void check_result(NodeId id, size_t index, const ValueType& type);
  void check_producers() const;
  void check_outputs() const;
  std::vector<ValueType> infer(NodeId id) const;

  const Graph& graph_;
  std::vector<bool> made_;
  bool updating_ = false;
};

void check_slot_name(Names& names, const std::string& name) {
  if (!names.insert(name).second) {
    fail_usage("[verify] two slots are named '{}' (aliases count)", name);
  }
}

void Verifier::check_slots() const {
  Names names;
  for (const Slot& slot : graph_.slots()) {
    check_slot_name(names, slot.name);
    for (const std::string& alias : slot.aliases) check_slot_name(names, alias);
    if (slot.members < 0 || !type_fits({slot.dtype, slot.stored_shape()})) {
      fail_usage("[verify] slot '{}' has an impossible size: {} of {} members",
                 slot.name, shape_text(slot.shape), slot.members);
    }
    for (const std::string& problem :
         {owners_problem(slot), content_problem(slot)}) {
      if (problem.empty()) continue;
      fail_usage("[verify] slot '{}': {}", slot.name, problem);
    }
  }
}

void Verifier::check_inputs() {
  Names names;
  for (ValueId id : graph_.inputs()) {
    if (!exists(id) || is_made(id)) {
      fail_usage("[verify] input value {} does not exist or is there twice",
                 id);
    }
    const Value& value = graph_.value(id);
    if (value.producer != kNone) {
      fail_usage("[verify] input '{}' claims to be made by node {}", value.name,
                 value.producer);
    }
    if (!names.insert(value.name).second) {
      fail_usage("[verify] two inputs are named '{}'", value.name);
    }
    if (!type_fits(value.type) || !layout_fits(value)) {
      fail_usage("[verify] input '{}': strides {} and offset {} do not fit {}",
                 value.name, shape_text(value.strides), value.offset,
                 shape_text(value.type.shape));
    }
    mark_made(id);
  }
}

void Verifier::check_node(NodeId id) {
  check_slot_of(id);
  check_reads(id);
  check_phase(id);
  check_results(id);
}

void Verifier::check_slot_of(NodeId id) const {
  const Node& node = graph_.node(id);
  if (!node.op->uses_slot()) {
    if (node.slot == kNone) return;
    fail_node(id,
              "has slot {}\n"
              "HINT: only read, assign and accumulate use slots",
              node.slot);
  }
  if (node.slot < 0 ||
      node.slot >= static_cast<SlotId>(graph_.slots().size())) {
    fail_node(id, "slot {} does not exist; there are {}", node.slot,
              graph_.slots().size());
  }
}

void Verifier::check_reads(NodeId id) const {
  const Node& node = graph_.node(id);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    ValueId input = node.inputs[i];
    if (input == kNone || is_made(input)) continue;
    if (!exists(input)) {
      fail_node(id, "input {} is value {}; there are {}", i, input,
                made_.size());
    }
    NodeId producer = graph_.value(input).producer;
    if (producer == kNone) {
      fail_node(id, "input {} is value {}, whose node was removed", i, input);
    }
    fail_node(id, "input {} is value {}, which node {} makes only later", i,
              input, producer);
  }
}

void Verifier::check_phase(NodeId id) {
  Phase phase = graph_.node(id).phase;
  if (updating_ && phase != Phase::kUpdate) {
    fail_node(id, "phase {} comes after update", phase_name(phase));
  }
  updating_ = phase == Phase::kUpdate;
}

std::vector<ValueType> Verifier::infer(NodeId id) const {
  try {
    return graph_.rules().infer(graph_, graph_.node(id));
  } catch (const std::logic_error& error) {
    fail_node(id, "{}", error.what());
  }
}

void Verifier::check_results(NodeId id) {
  const Node& node = graph_.node(id);
  std::vector<ValueType> types = infer(id);
  if (types.size() != node.outputs.size()) {
    fail_node(id, "has {} outputs, the op yields {}", node.outputs.size(),
              types.size());
  }
  for (size_t i = 0; i < types.size(); ++i) check_result(id, i, types[i]);
}

void Verifier::check_result(NodeId id, size_t index, const ValueType& type) {
  ValueId output = graph_.node(id).outputs[index];
  if (!exists(output) || is_made(output)) {
    fail_node(id, "output {} is value {}, which {}", index, output,
              exists(output) ? "exists already" : "does not exist");
  }
  const Value& value = graph_.value(output);
  if (value.producer != id) {
    fail_node(id, "output {} claims to be made by node {}", index,
              value.producer);
  }
  if (value.type != type) {
    fail_node(id, "output {} is {}{}, the op yields {}{}", index,
              dtype_name(value.type.dtype), shape_text(value.type.shape),
              dtype_name(type.dtype), shape_text(type.shape));
  }
  if (!type_fits(type) || !layout_fits(value)) {
    fail_node(id, "output {}: strides {} and offset {} do not fit {}", index,
              shape_text(value.strides), value.offset, shape_text(type.shape));
  }
  mark_made(output);
}

void Verifier::check_producers() const {
  for (size_t i = 0; i < made_.size(); ++i) {
    const Value& value = graph_.values()[i];
    if (!made_[i] && value.producer != kNone) {
      fail_usage("[verify] value {} claims to be made by node {}, wrongly", i,
                 value.producer);
    }
  }
}

void Verifier::check_outputs() const {
  Names names;
  for (const Output& output : graph_.outputs()) {
    if (!is_made(output.value)) {
      fail_usage("[verify] output '{}' is value {}, which nothing makes",
                 output.name, output.value);
    }
    if (!names.insert(output.name).second) {
      fail_usage("[verify] two outputs are named '{}'", output.name);
    }
  }
}

bool multiply(int64_t& total, int64_t factor) {
  return !__builtin_mul_overflow(total, factor, &total);
}

}  // namespace

void verify(const Graph& graph) { Verifier(graph).run(); }

std::string owners_problem(const Slot& slot) {
  const auto& owners = slot.owners;
  bool ascend = std::ranges::adjacent_find(owners, std::greater_equal<>()) ==
                owners.end();
  bool alone = slot.members == 0;
  if (!owners.empty() &&
      (owners[0] < 0 || !ascend || (alone && owners.size() > 1) ||
       (!alone && owners.back() >= slot.members))) {
    return fmt::format("{} cannot own a slot of {} members", shape_text(owners),
                       slot.members);
  }
  std::string prefix =
      slot.owner() == kAllMembers ? "" : member_prefix(slot.owner());
  auto is_prefixed = [&](const std::string& name) {
    return name.starts_with(prefix);
  };
  if (!is_prefixed(slot.name) ||
      !std::ranges::all_of(slot.aliases, is_prefixed)) {
    return fmt::format("its names do not begin with '{}'", prefix);
  }
  if (slot.inits.empty() ||
      static_cast<int64_t>(slot.inits.size()) == slot.members) {
    return "";
  }
  return fmt::format("{} beginnings for {} members", slot.inits.size(),
                     slot.members);
}

std::string content_problem(const Slot& slot) {
  if (!slot.content) return "";
  if (slot.role != Role::kConstant || slot.members != 0) {
    return "only constants that all members share have a content";
  }
  auto given = static_cast<int64_t>(slot.content.bytes->size());
  if (given == slot.bytes()) return "";
  return fmt::format("its content has {} bytes, expected {}", given,
                     slot.bytes());
}

bool type_fits(const ValueType& type) {
  int64_t bytes = item_bytes(type.dtype);
  for (int64_t size : type.shape) {
    // Zeros count as one because contiguous_strides() does so.
    if (size < 0 || !multiply(bytes, std::max<int64_t>(size, 1))) return false;
  }
  return true;
}

bool layout_fits(const Value& value) {
  const Shape& shape = value.type.shape;
  if (value.strides.size() != shape.size() || value.offset < 0) return false;
  int64_t last = value.offset;
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t reach = std::max<int64_t>(shape[i], 1) - 1;
    if (value.strides[i] < 0 || !multiply(reach, value.strides[i]) ||
        __builtin_add_overflow(last, reach, &last)) {
      return false;
    }
  }
  return !__builtin_add_overflow(last, 1, &last) &&
         multiply(last, item_bytes(value.type.dtype));
}

}  // namespace braid
