#include "braid/runtime/fold.h"

#include <algorithm>
#include <map>

#include "braid/base/error.h"
#include "braid/base/rng.h"
#include "braid/graph/copy.h"
#include "braid/runtime/evaluate.h"

namespace braid::runtime {
namespace {

// A constant larger than this is cheaper to make than to keep.
constexpr int64_t kLargest = int64_t{64} << 20;

int64_t bytes_of(const ValueType& type) {
  return num_elements(type.shape) * item_bytes(type.dtype);
}

bool names_no_input(const Node& node) {
  return node.is(OpKind::kForeign) &&
         node.attrs.text("args").find('$') == std::string::npos;
}

// Equal contents of equal types have one name, in whatever graph.
std::string constant_name(const ValueType& type,
                          const std::vector<std::byte>& bytes) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()),
                        bytes.size());
  std::string kind =
      fmt::format("{}{}", dtype_name(type.dtype), shape_text(type.shape));
  return fmt::format("constant/{:016x}",
                     mix_bits(stable_hash(kind), stable_hash(text)));
}

// Finds the values that are known, and those of them that others need.
class ConstantFinder {
 public:
  explicit ConstantFinder(const Graph& graph)
      : graph_(graph),
        known_(graph.values().size(), false),
        wanted_(graph.values().size(), false) {
    for (const Node& node : graph.nodes()) {
      if (!is_known(node)) continue;
      for (ValueId output : node.outputs) set(known_, output);
    }
    for (const Node& node : graph.nodes()) {
      if (is_folded(node)) continue;
      for (ValueId input : node.inputs) want(input);
    }
    for (const Output& output : graph.outputs()) want(output.value);
  }

  bool wanted(ValueId id) const { return at(wanted_, id); }
  // Whether a node need not run in every step.
  bool is_folded(const Node& node) const {
    return !node.outputs.empty() && !node.is(OpKind::kRead) &&
           std::all_of(node.outputs.begin(), node.outputs.end(),
                       [&](ValueId id) { return at(known_, id); });
  }

 private:
  static bool at(const std::vector<bool>& list, ValueId id) {
    return id != kNone && list[static_cast<size_t>(id)];
  }
  static void set(std::vector<bool>& list, ValueId id) {
    list[static_cast<size_t>(id)] = true;
  }

  bool is_known(const Node& node) const {
    if (node.is(OpKind::kRead)) {
      return graph_.slot(node.slot).role == Role::kConstant;
    }
    const Op& op = *node.op;
    if (op.random || op.writes_slot) return false;
    if (op.ignores_inputs || names_no_input(node)) return fits(node);
    bool all = !node.inputs.empty();
    for (ValueId id : node.inputs) all = all && (id == kNone || at(known_, id));
    return all && fits(node);
  }

  bool fits(const Node& node) const {
    return std::all_of(node.outputs.begin(), node.outputs.end(),
                       [&](ValueId id) {
                         return bytes_of(graph_.value(id).type) <= kLargest;
                       });
  }

  void want(ValueId id) {
    if (at(known_, id)) set(wanted_, id);
  }

  const Graph& graph_;
  std::vector<bool> known_, wanted_;
};

// Slots get other ids here.
void copy_node(GraphCopy& copy, Node node, SlotId slot) {
  node.slot = slot;
  copy.add(node);
}

// The known part as a graph of its own, with the wanted values as outputs.
struct ConstantPart {
  Graph graph;
  std::vector<ValueId> wanted;  // in the whole graph
  std::vector<SlotId> slots;    // of the whole graph, by slot of the part
};

ConstantPart constant_part(const OpTable& ops, const Graph& graph,
                           const ConstantFinder& finder) {
  GraphCopy copier(graph);
  ConstantPart part{Graph(ops), {}, {}};
  // Factories name an input of which they take the type; here it is a
  // stand-in.
  std::map<DType, ValueId> anchors;
  auto anchor = [&](DType dtype) {
    auto [at, fresh] = anchors.emplace(dtype, kNone);
    if (fresh) {
      SlotId none =
          copier.to.add_slot({.name = fmt::format("/{}", dtype_name(dtype)),
                              .dtype = dtype,
                              .role = Role::kConstant});
      part.slots.push_back(kNone);
      at->second = read(copier.to, none).id;
    }
    return at->second;
  };
  std::map<SlotId, SlotId> slots;
  for (const Node& node : graph.nodes()) {
    if (node.is(OpKind::kRead)) {
      if (graph.slot(node.slot).role != Role::kConstant) continue;
      auto [known, fresh] = slots.emplace(node.slot, 0);
      if (fresh) {
        known->second = copier.to.add_slot(graph.slot(node.slot));
        part.slots.push_back(node.slot);
      }
      copy_node(copier, node, known->second);
    } else if (finder.is_folded(node)) {
      for (ValueId id : node.inputs) {
        if (id != kNone && copier.value(id) == kNone) {
          copier.value(id) = anchor(graph.value(id).type.dtype);
        }
      }
      copy_node(copier, node, kNone);
    }
  }
  for (const Node& node : graph.nodes()) {
    if (!finder.is_folded(node)) continue;
    for (ValueId id : node.outputs) {
      if (!finder.wanted(id)) continue;
      Var value{&copier.to, copier.value(id)};
      copier.to.add_output(std::to_string(id), apply("copy", {value}).id);
      part.wanted.push_back(id);
    }
  }
  part.graph = std::move(copier.to);
  return part;
}

// Builds the graph in which known values are read from slots.
class Folder {
 public:
  Folder(const Graph& graph, const ConstantFinder& finder,
         std::map<ValueId, std::vector<std::byte>> contents)
      : graph_(graph),
        finder_(finder),
        contents_(std::move(contents)),
        copier_(graph) {}

  Folded run() {
    Folded folded{Graph(graph_.rules())};
    folded_ = &folded;
    for (ValueId id : graph_.inputs()) {
      const Value& value = graph_.value(id);
      copier_.value(id) = copier_.to.add_input(value.name, value.type);
    }
    for (size_t i = 0; i < graph_.slots().size(); ++i) {
      bool stays = graph_.slots()[i].role != Role::kConstant;
      if (stays) slot_of(static_cast<SlotId>(i));
    }
    for (const Node& node : graph_.nodes()) add(node);
    for (const Output& output : graph_.outputs()) {
      copier_.to.add_output(output.name, value_of(output.value));
    }
    folded.graph = std::move(copier_.to);
    return folded;
  }

 private:
  bool is_constant(const Node& node) const {
    return node.is(OpKind::kRead) &&
           graph_.slot(node.slot).role == Role::kConstant;
  }

  void add(const Node& node) {
    if (finder_.is_folded(node)) return;
    if (is_constant(node) && !finder_.wanted(node.outputs[0])) return;
    copier_.to.continue_at(node);
    for (ValueId id : node.inputs) {
      if (id != kNone) value_of(id);
    }
    copy_node(copier_, node, node.slot == kNone ? kNone : slot_of(node.slot));
  }

  SlotId slot_of(SlotId old) {
    auto [at, fresh] = slots_.emplace(old, kNone);
    if (fresh) {
      at->second = copier_.to.add_slot(graph_.slot(old));
      folded_->kept.push_back(old);
    }
    return at->second;
  }

  // A constant is read where it is wanted first.
  ValueId value_of(ValueId id) {
    ValueId& value = copier_.value(id);
    if (value != kNone) return value;
    return value = read(copier_.to, made_slot(id)).id;
  }

  SlotId made_slot(ValueId id) {
    const ValueType& type = graph_.value(id).type;
    auto bytes = std::make_shared<const std::vector<std::byte>>(
        std::move(contents_.at(id)));
    std::string name = constant_name(type, *bytes);
    SlotId known = copier_.to.find_slot(name);
    if (known != kNone) return known;
    folded_->kept.push_back(kNone);
    return copier_.to.add_slot({.name = std::move(name),
                                .dtype = type.dtype,
                                .shape = type.shape,
                                .role = Role::kConstant,
                                .content = {std::move(bytes)}});
  }

  const Graph& graph_;
  const ConstantFinder& finder_;
  std::map<ValueId, std::vector<std::byte>> contents_;
  GraphCopy copier_;
  Folded* folded_ = nullptr;
  std::map<SlotId, SlotId> slots_;
};

}  // namespace

Folded fold_constants(const OpTable& ops, const Graph& graph,
                      const SlotBytes& constants) {
  ConstantFinder finder(graph);
  ConstantPart part = constant_part(ops, graph, finder);
  std::map<ValueId, std::vector<std::byte>> contents;
  if (!part.wanted.empty()) {
    auto bytes = evaluate(ops, part.graph, [&](SlotId slot) {
      SlotId whole = part.slots[static_cast<size_t>(slot)];
      if (whole != kNone) return constants(whole);
      int64_t item = item_bytes(part.graph.slot(slot).dtype);
      return std::vector<std::byte>(static_cast<size_t>(item));
    });
    for (size_t i = 0; i < bytes.size(); ++i) {
      contents[part.wanted[i]] = std::move(bytes[i]);
    }
  }
  return Folder(graph, finder, std::move(contents)).run();
}

}  // namespace braid::runtime
