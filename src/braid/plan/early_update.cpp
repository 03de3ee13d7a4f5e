#include "braid/plan/early_update.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace braid::plan {
namespace {

class EarlyUpdater {
 public:
  EarlyUpdater(Graph& graph, int64_t waiting_bytes)
      : graph_(graph),
        waiting_bytes_(waiting_bytes),
        users_(graph),
        slot_of_(graph.values().size(), kNone),
        last_use_(graph.slots().size(), kNone),
        anchor_(graph.nodes().size()) {
    std::iota(anchor_.begin(), anchor_.end(), 0);
  }

  void run() {
    for (NodeId id = 0; id < num_nodes(); ++id) note_uses(id);
    for (NodeId id = 0; id < num_nodes(); ++id) {
      if (graph_.node(id).op->updates) {
        move_group(id);
      } else {
        move_with_gradient(id);
      }
    }
    if (waiting_bytes_ > 0) wait_for_others();
    reorder();
  }

 private:
  // Nodes that move behind one anchor, and the bytes of what they wait with.
  struct Group {
    NodeId update = kNone, after = kNone;
    std::set<NodeId> nodes;
    int64_t bytes = 0;
  };

  NodeId num_nodes() const {
    return static_cast<NodeId>(graph_.nodes().size());
  }
  SlotId& slot_of(ValueId id) { return slot_of_[static_cast<size_t>(id)]; }
  NodeId& anchor(NodeId id) { return anchor_[static_cast<size_t>(id)]; }

  // The last node outside the update that looks at a slot's memory.
  void note_uses(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.is(OpKind::kRead)) slot_of(node.outputs[0]) = node.slot;
    if (node.op->view) {
      slot_of(node.outputs[0]) = slot_of(node.inputs[0]);
    }
    if (node.op->updates || node.phase == Phase::kUpdate) return;
    for (ValueId input : node.inputs) {
      if (input == kNone || slot_of(input) == kNone) continue;
      last_use_[static_cast<size_t>(slot_of(input))] = id;
    }
  }

  // What looks at one gradient alone, as the sum of its squares, comes right
  // behind it: then the gradient itself may go.
  void move_with_gradient(NodeId id) {
    Node& node = graph_.node(id);
    if (node.phase != Phase::kUpdate || node.op->follows_update ||
        node.op->uses_slot()) {
      return;
    }
    ValueId gradient = kNone;
    for (ValueId input : node.inputs) {
      if (input == kNone || slot_of(input) != kNone) continue;
      if (gradient != kNone && gradient != input) return;
      gradient = input;
    }
    if (gradient == kNone) return;
    NodeId maker = graph_.value(gradient).producer;
    if (maker == kNone || graph_.node(maker).phase != Phase::kBackward) return;
    anchor(id) = anchor(maker);
    node.phase = Phase::kBackward;
    node.segment = graph_.node(maker).segment;
    node.path = graph_.node(maker).path;
    move_reads_first(id);
  }

  // An update moves together with what follows it, assignments of its results
  // and averages of them, and with what sets aside the content before.
  void move_group(NodeId id) {
    NodeId after = kNone;
    for (ValueId input : graph_.node(id).inputs) {
      if (input == kNone || slot_of(input) != kNone) continue;
      NodeId producer = graph_.value(input).producer;
      if (graph_.node(producer).phase == Phase::kUpdate) return;
      after = std::max(after, anchor(producer));
    }
    std::set<NodeId> group{id};
    add_before(id, group);
    // Grows behind `n` on the way: what follows stands further down.
    for (NodeId n : group) {
      add_followers(n, group);
      SlotId slot = graph_.node(n).slot;
      if (slot == kNone) continue;
      after = std::max(after, last_use_[static_cast<size_t>(slot)]);
    }
    for (NodeId n : group) {
      anchor(n) = after;
      graph_.node(n).phase = Phase::kBackward;
      move_reads_first(n);
    }
    groups_.push_back({id, after, std::move(group), gradient_bytes(id)});
  }

  // Of what an update reads beside slots and numbers.
  int64_t gradient_bytes(NodeId id) {
    int64_t bytes = 0;
    for (ValueId input : graph_.node(id).inputs) {
      if (input == kNone || slot_of(input) != kNone) continue;
      const ValueType& type = graph_.value(input).type;
      bytes += num_elements(type.shape) * item_bytes(type.dtype);
    }
    return bytes;
  }

  // Groups in the order of their gradients, as many together as may wait: all
  // of them move behind the last one's anchor.
  void wait_for_others() {
    std::ranges::stable_sort(groups_, {}, &Group::after);
    for (size_t begin = 0, end = 0; begin < groups_.size(); begin = end) {
      int64_t bytes = groups_[end++].bytes;
      while (end < groups_.size() &&
             bytes + groups_[end].bytes <= waiting_bytes_) {
        bytes += groups_[end++].bytes;
      }
      for (size_t i = begin; i < end; ++i) {
        follow(groups_[i], groups_[end - 1].after);
      }
    }
  }

  void follow(const Group& group, NodeId after) {
    for (NodeId n : group.nodes) {
      Node& node = graph_.node(n);
      anchor(n) = after;
      node.segment = graph_.node(after).segment;
      if (n > group.update && is_after_update(node)) late_.insert(n);
    }
  }

  // Averages, and assignments of them.
  bool is_after_update(const Node& node) const {
    if (!node.is(OpKind::kAssign)) return node.op->follows_update;
    return late_.contains(graph_.value(node.inputs[0]).producer);
  }

  void add_before(NodeId id, std::set<NodeId>& group) const {
    for (ValueId input : graph_.node(id).inputs) {
      if (input == kNone || slot_of_[static_cast<size_t>(input)] == kNone) {
        continue;
      }
      for (NodeId user : users_.of(input)) {
        const Node& node = graph_.node(user);
        if (user < id && node.op->follows_update && reads_slots_alone(node)) {
          group.insert(user);
        }
      }
    }
  }

  bool reads_slots_alone(const Node& node) const {
    return std::ranges::all_of(node.inputs, [&](ValueId input) {
      return input != kNone && slot_of_[static_cast<size_t>(input)] != kNone;
    });
  }

  void add_followers(NodeId id, std::set<NodeId>& group) const {
    for (ValueId output : graph_.node(id).outputs) {
      for (NodeId user : users_.of(output)) {
        const Node& node = graph_.node(user);
        bool follows = node.is(OpKind::kAssign) || node.op->follows_update;
        if (follows) group.insert(user);
      }
    }
  }

  // A read, and a view of what is read, cost nothing wherever they stand.
  void move_reads_first(NodeId id) {
    for (ValueId input : graph_.node(id).inputs) {
      if (input == kNone || slot_of(input) == kNone) continue;
      NodeId reader = graph_.value(input).producer;
      Node& read = graph_.node(reader);
      bool moves = read.is(OpKind::kRead) || read.op->view;
      if (!moves || read.phase != Phase::kUpdate) continue;
      anchor(reader) = kNone;
      read.phase = graph_.node(0).phase;
      read.segment = graph_.node(0).segment;
      move_reads_first(reader);
    }
  }

  void reorder() {
    std::vector<NodeId> order(graph_.nodes().size());
    std::iota(order.begin(), order.end(), 0);
    // A moved node follows its anchor; both otherwise keep their order. Of
    // those that waited for each other, updates stand together.
    auto key = [&](NodeId id) {
      return std::make_tuple(anchor(id), anchor(id) != id, late_.contains(id),
                             id);
    };
    std::sort(order.begin(), order.end(),
              [&](NodeId a, NodeId b) { return key(a) < key(b); });
    graph_.reorder(order);
  }

  Graph& graph_;
  int64_t waiting_bytes_;
  Users users_;
  std::vector<SlotId> slot_of_;   // by value: the slot whose memory it is
  std::vector<NodeId> last_use_;  // by slot
  std::vector<NodeId> anchor_;    // by node: the node that it follows
  std::vector<Group> groups_;     // of updates that moved
  std::set<NodeId> late_;         // that stand behind updates of other groups
};

}  // namespace

passes::StepGraph update_early(const OpTable&, passes::StepGraph step,
                               int64_t waiting_bytes) {
  if (!step.repeats_micro_part()) {
    EarlyUpdater(step.graph, waiting_bytes).run();
  }
  return step;
}

}  // namespace braid::plan
