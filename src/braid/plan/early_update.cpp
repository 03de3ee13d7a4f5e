#include "braid/plan/early_update.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace braid::plan {
namespace {

class EarlyUpdater {
 public:
  EarlyUpdater(const OpTable& ops, Graph& graph)
      : ops_(ops),
        graph_(graph),
        slot_of_(graph.values().size(), kNone),
        last_use_(graph.slots().size(), kNone),
        anchor_(graph.nodes().size()) {
    std::iota(anchor_.begin(), anchor_.end(), 0);
  }

  void run() {
    for (NodeId id = 0; id < num_nodes(); ++id) note_uses(id);
    for (NodeId id = 0; id < num_nodes(); ++id) {
      if (ops_.at(graph_.node(id).op).updates) move_group(id);
    }
    reorder();
  }

 private:
  NodeId num_nodes() const {
    return static_cast<NodeId>(graph_.nodes().size());
  }
  SlotId& slot_of(ValueId id) { return slot_of_[static_cast<size_t>(id)]; }
  NodeId& anchor(NodeId id) { return anchor_[static_cast<size_t>(id)]; }

  // The last node outside the update that looks at a slot's memory.
  void note_uses(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.op == "read") slot_of(node.outputs[0]) = node.slot;
    if (ops_.at(node.op).view) {
      slot_of(node.outputs[0]) = slot_of(node.inputs[0]);
    }
    if (ops_.at(node.op).updates || node.phase == Phase::kUpdate) return;
    for (ValueId input : node.inputs) {
      if (input == kNone || slot_of(input) == kNone) continue;
      last_use_[static_cast<size_t>(slot_of(input))] = id;
    }
  }

  // An update moves together with the assignments of its results.
  void move_group(NodeId id) {
    NodeId after = kNone;
    for (ValueId input : graph_.node(id).inputs) {
      if (input == kNone || slot_of(input) != kNone) continue;
      NodeId producer = graph_.value(input).producer;
      if (graph_.node(producer).phase == Phase::kUpdate) return;
      after = std::max(after, producer);
    }
    std::vector<NodeId> group{id};
    for (NodeId n = id + 1; n < num_nodes(); ++n) {
      const Node& node = graph_.node(n);
      const auto& made = graph_.node(id).outputs;
      if (node.op != "assign" ||
          std::find(made.begin(), made.end(), node.inputs[0]) == made.end()) {
        continue;
      }
      group.push_back(n);
      after = std::max(after, last_use_[static_cast<size_t>(node.slot)]);
    }
    for (NodeId n : group) {
      anchor(n) = after;
      graph_.node(n).phase = Phase::kBackward;
    }
    for (ValueId input : graph_.node(id).inputs) {
      if (input != kNone && slot_of(input) != kNone) {
        move_read_first(graph_.value(input).producer);
      }
    }
  }

  // A read costs nothing wherever it stands.
  void move_read_first(NodeId id) {
    Node& node = graph_.node(id);
    if (node.op != "read" || node.phase != Phase::kUpdate) return;
    anchor(id) = kNone;
    node.phase = graph_.node(0).phase;
    node.segment = graph_.node(0).segment;
  }

  void reorder() {
    std::vector<NodeId> order(graph_.nodes().size());
    std::iota(order.begin(), order.end(), 0);
    // A moved node follows its anchor; both otherwise keep their order.
    auto key = [&](NodeId id) {
      return std::make_tuple(anchor(id), anchor(id) != id, id);
    };
    std::sort(order.begin(), order.end(),
              [&](NodeId a, NodeId b) { return key(a) < key(b); });
    graph_.reorder(order);
  }

  const OpTable& ops_;
  Graph& graph_;
  std::vector<SlotId> slot_of_;   // by value: the slot whose memory it is
  std::vector<NodeId> last_use_;  // by slot
  std::vector<NodeId> anchor_;    // by node: the node that it follows
};

}  // namespace

passes::StepGraph update_early(const OpTable& ops, passes::StepGraph step) {
  if (step.micro_batches == 1) EarlyUpdater(ops, step.graph).run();
  return step;
}

}  // namespace braid::plan
