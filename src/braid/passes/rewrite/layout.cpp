#include "braid/passes/rewrite/layout.h"

#include <map>
#include <set>

namespace braid::passes {
namespace {

class LayoutBuilder {
 public:
  LayoutBuilder(const OpTable& ops, const Graph& from)
      : view_(ops.at("view")),
        copy_(ops.at("copy")),
        graph_(ops),
        map_(from.values().size(), kNone) {
    for (const Output& output : from.outputs()) results_.insert(output.value);
    for (const Slot& slot : from.slots()) graph_.add_slot(slot);
    for (ValueId id : from.inputs()) {
      const Value& value = from.value(id);
      at(id) = graph_.add_input(value.name, value.type);
    }
    for (const Node& node : from.nodes()) add_node(node);
    for (const Output& output : from.outputs()) {
      auto copied = copies_.find(output.value);
      graph_.add_output(output.name, copied == copies_.end() ? at(output.value)
                                                             : copied->second);
    }
  }

  ValueId& at(ValueId id) { return map_[static_cast<size_t>(id)]; }
  Graph take() { return std::move(graph_); }

 private:
  void add_node(const Node& node) {
    std::vector<ValueId> inputs;
    for (ValueId id : node.inputs) inputs.push_back(id == kNone ? id : at(id));
    Node next = node;
    if (node.is(OpKind::kReshape)) {
      next.op = &view_;
      next.inputs = inputs;
      if (!view_.view(NodeView(graph_, next))) {
        inputs[0] = add_copy(node, inputs[0]);
      }
    }
    // Update kernels walk through all their operands alike.
    if (node.op->updates && !is_row_major(inputs[1])) {
      inputs[1] = at(node.inputs[1]) = add_copy(node, inputs[1]);
    }
    NodeId id = graph_.add_like(next, inputs);
    set_strides(id);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      at(node.outputs[i]) = graph_.node(id).outputs[i];
    }
    keep_result(node);
  }

  // An output in the memory of a slot is copied out where it is made: the
  // slot may have new content, or be on the host, when the step is over.
  void keep_result(const Node& node) {
    bool in_slot = node.is(OpKind::kRead) ||
                   (node.op->view && in_slots_.contains(node.inputs[0]));
    if (!in_slot) return;
    ValueId value = node.outputs[0];
    in_slots_.insert(value);
    if (!results_.contains(value)) return;
    copies_[value] = add_copy(node, at(value));
  }

  bool is_row_major(ValueId id) const {
    const Value& value = graph_.value(id);
    return is_contiguous(value.type.shape, value.strides);
  }

  ValueId add_copy(const Node& node, ValueId value) {
    Node copy;
    copy.op = &copy_;
    copy.path = node.path;
    copy.phase = node.phase;
    copy.segment = node.segment;
    return graph_.node(graph_.add_like(copy, {value})).outputs[0];
  }

  void set_strides(NodeId id) {
    const Node& node = graph_.node(id);
    const Op& op = *node.op;
    if (op.view) {
      View view = *op.view(NodeView(graph_, node));
      Value& value = graph_.value(node.outputs[0]);
      value.strides = view.strides;
      value.offset = view.offset;
    } else if (op.strides) {
      graph_.value(node.outputs[0]).strides =
          op.strides(NodeView(graph_, node));
    }
  }

  const Op &view_, &copy_;
  Graph graph_;
  std::vector<ValueId> map_;
  std::set<ValueId> results_;   // outputs of the old graph
  std::set<ValueId> in_slots_;  // old values whose memory is a slot's
  std::map<ValueId, ValueId> copies_;
};

}  // namespace

Graph layout(const OpTable& ops, const Graph& graph) {
  return LayoutBuilder(ops, graph).take();
}

StepGraph layout(const OpTable& ops, const StepGraph& step) {
  LayoutBuilder builder(ops, step.graph);
  StepGraph next{Graph(ops), step.micro_batches, step.gradients};
  for (auto& [slot, value] : next.gradients) value = builder.at(value);
  next.graph = builder.take();
  return next;
}

}  // namespace braid::passes
