#include "braid/runtime/evaluate.h"

#include <algorithm>
#include <map>

#include "braid/base/error.h"
#include "braid/runtime/cpu_backend.h"
#include "braid/runtime/forward_run.h"

namespace braid::runtime {
namespace {

// A constant larger than this is cheaper to make than to keep.
constexpr int64_t kLargest = int64_t{64} << 20;

int64_t bytes_of(const ValueType& type) {
  return num_elements(type.shape) * item_bytes(type.dtype);
}

bool names_no_input(const Node& node) {
  return node.op == "torch_op" &&
         node.attrs.text("args").find('$') == std::string::npos;
}

// Finds the values that are known, and those of them that others need.
class ConstantFinder {
 public:
  ConstantFinder(const OpTable& ops, const Graph& graph)
      : ops_(ops),
        graph_(graph),
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
    return !node.outputs.empty() && node.op != "read" &&
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
    if (node.op == "read") {
      return graph_.slot(node.slot).role == Role::kConstant;
    }
    const Op& op = ops_.at(node.op);
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

  const OpTable& ops_;
  const Graph& graph_;
  std::vector<bool> known_, wanted_;
};

// Copies nodes into another graph.
class Copier {
 public:
  Copier(const OpTable& ops, const Graph& from)
      : from_(from), to(ops), values_(from.values().size(), kNone) {}

  ValueId& value(ValueId id) { return values_[static_cast<size_t>(id)]; }

  void copy(const Node& node, SlotId slot) {
    std::vector<ValueId> inputs;
    for (ValueId id : node.inputs) {
      inputs.push_back(id == kNone ? kNone : value(id));
    }
    Node like = node;
    like.slot = slot;
    NodeId made = to.add_like(like, inputs);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      value(node.outputs[i]) = to.node(made).outputs[i];
      to.value(value(node.outputs[i])).name = from_.value(node.outputs[i]).name;
    }
  }

 private:
  const Graph& from_;

 public:
  Graph to;

 private:
  std::vector<ValueId> values_;
};

// The known part as a graph of its own, with the wanted values as outputs.
struct ConstantPart {
  Graph graph;
  std::vector<ValueId> wanted;  // in the whole graph
  std::vector<SlotId> slots;    // of the whole graph, by slot of the part
};

ConstantPart constant_part(const OpTable& ops, const Graph& graph,
                           const ConstantFinder& finder) {
  Copier copier(ops, graph);
  ConstantPart part{Graph(ops), {}, {}};
  // Factories name an input that they do not read; here it is a stand-in.
  Slot none{.name = "/none", .role = Role::kConstant};
  Var anchor = read(copier.to, copier.to.add_slot(none));
  part.slots.push_back(kNone);
  std::map<SlotId, SlotId> slots;
  for (const Node& node : graph.nodes()) {
    if (node.op == "read") {
      if (graph.slot(node.slot).role != Role::kConstant) continue;
      auto [known, fresh] = slots.emplace(node.slot, 0);
      if (fresh) {
        known->second = copier.to.add_slot(graph.slot(node.slot));
        part.slots.push_back(node.slot);
      }
      copier.copy(node, known->second);
    } else if (finder.is_folded(node)) {
      for (ValueId id : node.inputs) {
        if (id != kNone && copier.value(id) == kNone) {
          copier.value(id) = anchor.id;
        }
      }
      copier.copy(node, kNone);
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

}  // namespace

std::vector<std::vector<std::byte>> evaluate(const OpTable& ops,
                                             const Graph& graph,
                                             const SlotBytes& slots) {
  KernelTable kernels = cpu_kernels();
  CpuBackend backend(kernels, {});
  ForwardRun run(ops, graph, backend);
  for (size_t i = 0; i < graph.slots().size(); ++i) {
    run.state().write(static_cast<SlotId>(i), slots(static_cast<SlotId>(i)));
  }
  run.executor().step([](int64_t, ValueId) { return nullptr; });
  std::vector<std::vector<std::byte>> results;
  for (const Output& output : graph.outputs()) {
    results.push_back(run.executor().output(output.name));
  }
  return results;
}

Folded fold_constants(const OpTable& ops, const Graph& graph,
                      const SlotBytes& constants) {
  ConstantFinder finder(ops, graph);
  ConstantPart part = constant_part(ops, graph, finder);
  std::vector<std::vector<std::byte>> bytes;
  if (!part.wanted.empty()) {
    bytes = evaluate(ops, part.graph, [&](SlotId slot) {
      SlotId whole = part.slots[static_cast<size_t>(slot)];
      return whole == kNone ? std::vector<std::byte>(4) : constants(whole);
    });
  }
  Copier copier(ops, graph);
  Folded folded{Graph(ops)};
  for (ValueId id : graph.inputs()) {
    copier.value(id) =
        copier.to.add_input(graph.value(id).name, graph.value(id).type);
  }
  std::map<SlotId, SlotId> slots;
  auto slot_of = [&](SlotId old) {
    auto [at, fresh] = slots.emplace(old, kNone);
    if (fresh) {
      at->second = copier.to.add_slot(graph.slot(old));
      folded.kept.push_back(old);
    }
    return at->second;
  };
  for (size_t i = 0; i < graph.slots().size(); ++i) {
    if (graph.slots()[i].role != Role::kConstant)
      slot_of(static_cast<SlotId>(i));
  }
  // A constant is read where it is wanted first.
  auto make = [&](ValueId id) {
    auto place = std::ranges::find(part.wanted, id);
    if (place == part.wanted.end() || copier.value(id) != kNone) return;
    const ValueType& type = graph.value(id).type;
    SlotId slot = copier.to.add_slot(
        {.name = fmt::format("constant/{}", folded.made.size()),
         .dtype = type.dtype,
         .shape = type.shape,
         .role = Role::kConstant});
    folded.kept.push_back(kNone);
    folded.made.emplace_back(
        slot,
        std::move(bytes[static_cast<size_t>(place - part.wanted.begin())]));
    copier.value(id) = read(copier.to, slot).id;
  };
  std::vector<bool> used(graph.values().size(), false);
  for (const Node& node : graph.nodes()) {
    if (finder.is_folded(node)) continue;
    for (ValueId id : node.inputs) {
      if (id != kNone) used[static_cast<size_t>(id)] = true;
    }
  }
  for (const Output& o : graph.outputs())
    used[static_cast<size_t>(o.value)] = true;
  for (const Node& node : graph.nodes()) {
    if (finder.is_folded(node)) continue;
    bool is_constant =
        node.op == "read" && graph.slot(node.slot).role == Role::kConstant;
    if (is_constant && !used[static_cast<size_t>(node.outputs[0])]) continue;
    copier.to.continue_at(node);
    for (ValueId id : node.inputs) {
      if (id != kNone) make(id);
    }
    copier.copy(node, node.slot == kNone ? kNone : slot_of(node.slot));
  }
  for (const Output& output : graph.outputs()) {
    make(output.value);
    copier.to.add_output(output.name, copier.value(output.value));
  }
  folded.graph = std::move(copier.to);
  return folded;
}

}  // namespace braid::runtime
