#include "braid/plan/recompute.h"

#include <algorithm>
#include <map>
#include <set>

namespace braid::plan {
namespace {

// One segment after the other; nodes are put into order once, at the end.
class Recomputer {
 public:
  explicit Recomputer(Graph& graph)
      : graph_(graph), num_old_(static_cast<NodeId>(graph.nodes().size())) {
    for (NodeId id = 0; id < num_old_; ++id) {
      const Node& node = graph_.node(id);
      if (is_reader(node)) readers_[node.segment].push_back(id);
    }
  }

  void run(int32_t segment) {
    auto found = readers_.find(segment);
    if (found == readers_.end()) return;
    copies_.clear();
    std::set<NodeId> needed;  // in order
    for (NodeId id : found->second) {
      for (ValueId input : graph_.node(id).inputs) {
        need(input, segment, needed);
      }
    }
    Copied& copied = before_[found->second[0]];
    copied.begin = static_cast<NodeId>(graph_.nodes().size());
    for (NodeId id : needed) repeat(id);
    copied.end = static_cast<NodeId>(graph_.nodes().size());
    for (NodeId id : found->second) rewire(graph_.node(id));
  }

  // The copies, at the end so far, move before the first reader of their
  // segment.
  void reorder() {
    std::vector<NodeId> order;
    order.reserve(graph_.nodes().size());
    for (NodeId id = 0; id < num_old_; ++id) {
      auto copied = before_.find(id);
      if (copied != before_.end()) {
        for (NodeId c = copied->second.begin; c < copied->second.end; ++c) {
          order.push_back(c);
        }
      }
      order.push_back(id);
    }
    graph_.reorder(order);
  }

 private:
  struct Copied {
    NodeId begin = 0, end = 0;
  };

  // Backward nodes; assignments of buffers keep the originals.
  static bool is_reader(const Node& node) {
    return node.phase == Phase::kBackward && !node.is(OpKind::kAssign);
  }

  static bool can_repeat(const Node& node, int32_t segment) {
    return node.phase == Phase::kForward && node.segment == segment &&
           !node.op->uses_slot();
  }

  // The node of a value, and all that it needs within the segment.
  void need(ValueId value, int32_t segment, std::set<NodeId>& needed) const {
    std::vector<ValueId> open{value};
    while (!open.empty()) {
      ValueId at = open.back();
      open.pop_back();
      NodeId producer = at == kNone ? kNone : graph_.value(at).producer;
      if (producer == kNone || !can_repeat(graph_.node(producer), segment)) {
        continue;
      }
      if (!needed.insert(producer).second) continue;
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

  Graph& graph_;
  NodeId num_old_;
  std::map<int32_t, std::vector<NodeId>> readers_;  // by segment
  std::map<NodeId, Copied> before_;                 // by first reader
  std::map<ValueId, ValueId> copies_;               // of the present segment
};

}  // namespace

passes::StepGraph add_recompute(const OpTable&, passes::StepGraph step,
                                const Plan& plan) {
  Recomputer recomputer(step.graph);
  for (size_t i = 0; i < plan.segments.size(); ++i) {
    if (plan.segments[i].activations != Activations::kRecompute) continue;
    recomputer.run(static_cast<int32_t>(i));
  }
  recomputer.reorder();
  return step;
}

}  // namespace braid::plan
