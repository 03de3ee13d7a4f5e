#include "braid/plan/recompute.h"

#include <algorithm>
#include <map>
#include <set>

namespace braid::plan {
namespace {

class Recomputer {
 public:
  Recomputer(const OpTable& ops, Graph& graph, int32_t segment)
      : ops_(ops), graph_(graph), segment_(segment) {}

  void run() {
    NodeId first = kNone;
    auto num_nodes = static_cast<NodeId>(graph_.nodes().size());
    for (NodeId id = 0; id < num_nodes; ++id) {
      const Node& node = graph_.node(id);
      if (!is_reader(node)) continue;
      if (first == kNone) first = id;
      for (ValueId input : node.inputs) need(input);
    }
    if (needed_.empty()) return;
    for (NodeId id : needed_) repeat(id);
    for (NodeId id = 0; id < num_nodes; ++id) {
      if (is_reader(graph_.node(id))) rewire(graph_.node(id));
    }
    move_before(first, num_nodes);
  }

 private:
  // Backward nodes of the segment; its buffer assignments keep the originals.
  bool is_reader(const Node& node) const {
    return node.phase == Phase::kBackward && node.segment == segment_ &&
           node.op != "assign";
  }

  bool can_repeat(const Node& node) const {
    return node.phase == Phase::kForward && node.segment == segment_ &&
           node.op != "read" && !ops_.at(node.op).writes_slot;
  }

  // The node of a value, and all that it needs within the segment.
  void need(ValueId value) {
    std::vector<ValueId> open{value};
    while (!open.empty()) {
      ValueId at = open.back();
      open.pop_back();
      NodeId producer = at == kNone ? kNone : graph_.value(at).producer;
      if (producer == kNone || !can_repeat(graph_.node(producer))) continue;
      if (!needed_.insert(producer).second) continue;
      for (ValueId input : graph_.node(producer).inputs) open.push_back(input);
    }
  }

  void repeat(NodeId id) {
    Node node = graph_.node(id);
    node.phase = Phase::kBackward;
    rewire(node);
    NodeId copy = graph_.add_like(node, node.inputs);
    const Node& made = graph_.node(copy);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      ValueId from = node.outputs[i], to = made.outputs[i];
      graph_.value(to).strides = graph_.value(from).strides;
      graph_.value(to).offset = graph_.value(from).offset;
      copies_[from] = to;
    }
  }

  void rewire(Node& node) {
    for (ValueId& input : node.inputs) {
      auto at = copies_.find(input);
      if (at != copies_.end()) input = at->second;
    }
  }

  // The copies, at the end so far, move before the first reader.
  void move_before(NodeId first, NodeId num_old) {
    std::vector<NodeId> order;
    auto num_nodes = static_cast<NodeId>(graph_.nodes().size());
    for (NodeId id = 0; id < num_old; ++id) {
      if (id == first) {
        for (NodeId c = num_old; c < num_nodes; ++c) order.push_back(c);
      }
      order.push_back(id);
    }
    graph_.reorder(order);
  }

  const OpTable& ops_;
  Graph& graph_;
  int32_t segment_;
  std::set<NodeId> needed_;  // in order
  std::map<ValueId, ValueId> copies_;
};

}  // namespace

passes::StepGraph add_recompute(const OpTable& ops, passes::StepGraph step,
                                const Plan& plan) {
  for (size_t i = 0; i < plan.segments.size(); ++i) {
    if (plan.segments[i].activations != Activations::kRecompute) continue;
    Recomputer(ops, step.graph, static_cast<int32_t>(i)).run();
  }
  return step;
}

}  // namespace braid::plan
