#include "braid/plan/buffers.h"

#include <algorithm>

namespace braid::plan {
namespace {

class BufferFinder {
 public:
  explicit BufferFinder(const Graph& graph) : graph_(graph) {
    found_.of_value.assign(graph.values().size(), kNone);
    last_read_.assign(graph.values().size(), kNone);
    assigns_.resize(graph.slots().size());
    slot_buffers_.assign(graph.slots().size(), kNone);
    find_last_reads();
    for (ValueId id : graph.inputs()) found(new_buffer(id)).is_input = true;
    for (NodeId id = 0; id < num_nodes(); ++id) add_node(id);
    for (const Output& output : graph.outputs()) {
      found(found_.of(output.value)).is_output = true;
    }
    collect_users();
  }

  Buffers take() { return std::move(found_); }

 private:
  NodeId num_nodes() const {
    return static_cast<NodeId>(graph_.nodes().size());
  }
  Buffer& found(BufferId id) { return found_.all[static_cast<size_t>(id)]; }
  BufferId& buffer_of(ValueId id) {
    return found_.of_value[static_cast<size_t>(id)];
  }

  void find_last_reads() {
    for (NodeId id = 0; id < num_nodes(); ++id) {
      const Node& node = graph_.node(id);
      for (ValueId input : node.inputs) {
        if (input != kNone) last_read_[static_cast<size_t>(input)] = id;
      }
      if (node.is(OpKind::kAssign)) {
        assigns_[static_cast<size_t>(node.slot)].push_back(id);
      }
    }
    for (const Output& output : graph_.outputs()) {
      last_read_[static_cast<size_t>(output.value)] = num_nodes();
    }
  }

  BufferId new_buffer(ValueId id) {
    const Value& value = graph_.value(id);
    auto buffer = static_cast<BufferId>(found_.all.size());
    int64_t span = span_elements(value.type.shape, value.strides);
    found_.all.push_back({.bytes = span * item_bytes(value.type.dtype),
                          .writers = {},
                          .users = {}});
    last_.push_back({});
    join(buffer, id);
    return buffer;
  }

  void join(BufferId buffer, ValueId value) {
    buffer_of(value) = buffer;
    Last& last = last_[static_cast<size_t>(buffer)];
    last.read = std::max(last.read, last_read_[static_cast<size_t>(value)]);
    last.made = std::max(last.made, graph_.value(value).producer);
  }

  void add_node(NodeId id) {
    const Node& node = graph_.node(id);
    const Op& op = *node.op;
    if (node.is(OpKind::kRead)) return add_read(node);
    if (op.view) return join(found_.of(node.inputs[0]), node.outputs[0]);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      BufferId reused = find_in_place(id, node, op, i);
      if (reused != kNone) {
        join(reused, node.outputs[i]);
      } else {
        new_buffer(node.outputs[i]);
      }
    }
  }

  // All reads of a slot are one buffer.
  void add_read(const Node& node) {
    ValueId value = node.outputs[0];
    BufferId& buffer = slot_buffers_[static_cast<size_t>(node.slot)];
    if (buffer != kNone) return join(buffer, value);
    buffer = new_buffer(value);
    found(buffer).slot = node.slot;
  }

  BufferId find_in_place(NodeId id, const Node& node, const Op& op,
                         size_t output) {
    for (const InPlace& pair : op.in_place) {
      if (pair.output != output || pair.input >= node.inputs.size()) continue;
      ValueId input = node.inputs[pair.input];
      if (input != kNone && may_overwrite(id, node, pair, input)) {
        return found_.of(input);
      }
    }
    return kNone;
  }

  bool may_overwrite(NodeId id, const Node& node, const InPlace& pair,
                     ValueId input) {
    const Value& from = graph_.value(input);
    const Value& to = graph_.value(node.outputs[pair.output]);
    BufferId buffer = found_.of(input);
    const Buffer& target = found(buffer);
    if (target.is_input || from.type != to.type || from.offset != 0 ||
        from.strides != to.strides ||
        !is_contiguous(from.type.shape, from.strides) ||
        num_elements(from.type.shape) * item_bytes(from.type.dtype) !=
            target.bytes) {
      return false;
    }
    if (target.slot != kNone &&
        !is_assigned_next(id, node.outputs[pair.output], target.slot)) {
      return false;
    }
    return is_last_user(id, buffer) && !other_input_aliases(node, pair, input);
  }

  // A slot may be overwritten by the node whose result is assigned to it.
  bool is_assigned_next(NodeId id, ValueId output, SlotId slot) const {
    const auto& assigns = assigns_[static_cast<size_t>(slot)];
    auto next = std::ranges::upper_bound(assigns, id);
    return next != assigns.end() && graph_.node(*next).inputs[0] == output;
  }

  // Nor may another output of the node have taken the buffer over.
  bool is_last_user(NodeId id, BufferId buffer) const {
    const Last& last = last_[static_cast<size_t>(buffer)];
    return last.read <= id && last.made < id;
  }

  // Another operand in the same memory is fine only when it is the same
  // value of an op that goes element by element: then each element is read
  // before it is written.
  bool other_input_aliases(const Node& node, const InPlace& pair,
                           ValueId input) {
    bool elementwise = node.op->pointwise;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      ValueId other = node.inputs[i];
      if (i == pair.input || other == kNone) continue;
      if (other == input && elementwise) continue;
      if (found_.of(other) == found_.of(input)) return true;
    }
    return false;
  }

  void collect_users() {
    for (NodeId id = 0; id < num_nodes(); ++id) {
      const Node& node = graph_.node(id);
      if (node.is(OpKind::kRead)) continue;
      bool is_view = static_cast<bool>(node.op->view);
      if (is_view) continue;  // a view touches no memory
      for (ValueId output : node.outputs) {
        add_user(found_.of(output), id);
        found(found_.of(output)).writers.push_back(id);
      }
      for (ValueId input : node.inputs) {
        if (input != kNone) add_user(found_.of(input), id);
      }
      if (node.slot == kNone) continue;
      BufferId of_slot = slot_buffers_[static_cast<size_t>(node.slot)];
      if (of_slot != kNone) add_user(of_slot, id);
    }
  }

  void add_user(BufferId buffer, NodeId id) {
    auto& users = found(buffer).users;
    if (users.empty() || users.back() != id) users.push_back(id);
  }

  const Graph& graph_;
  Buffers found_;
  std::vector<NodeId> last_read_;             // by value
  std::vector<std::vector<NodeId>> assigns_;  // by slot, in order
  std::vector<BufferId> slot_buffers_;        // by slot
  // The last nodes that read and make one of a buffer's values.
  struct Last {
    NodeId read = kNone, made = kNone;
  };
  std::vector<Last> last_;  // by buffer
};

}  // namespace

bool is_assigned_in_place(const Graph& graph, const Buffers& buffers,
                          const Node& node) {
  if (!node.is(OpKind::kAssign)) return false;
  const Value& value = graph.value(node.inputs[0]);
  return buffers.at(buffers.of(node.inputs[0])).slot == node.slot &&
         value.offset == 0 && is_contiguous(value.type.shape, value.strides);
}

Buffers find_buffers(const OpTable&, const Graph& graph) {
  return BufferFinder(graph).take();
}

}  // namespace braid::plan
