#include "braid/passes/rewrite/channels_last.h"

namespace braid::passes {
namespace {

constexpr const char* kAttr = "channels_last";

bool is_convolution(const Node& node) {
  return node.is(OpKind::kConvolution) ||
         node.is(OpKind::kTransposedConvolution) ||
         node.is(OpKind::kConvolutionBackward);
}

// A narrow one of images, alone or of members apart.
bool fits(const Graph& graph, const Node& node) {
  if (!is_convolution(node) || node.attrs.flag_or("gemm", false)) return false;
  const ValueType& type = graph.value(node.inputs[0]).type;
  size_t rank = node.attrs.integer_or("members", 0) > 0 ? 5 : 4;
  return item_bytes(type.dtype) < 4 && type.shape.size() == rank;
}

bool is_image(const Graph& graph, ValueId id) {
  size_t rank = graph.value(id).type.shape.size();
  return rank == 4 || rank == 5;
}

// The casts that make a convolution's operands.
void mark_operands(Graph& graph, const Node& node) {
  for (ValueId input : node.inputs) {
    if (input == kNone || !is_image(graph, input)) continue;
    NodeId from = graph.value(input).producer;
    if (from == kNone || !graph.node(from).is(OpKind::kCast)) continue;
    graph.node(from).attrs.set(kAttr, true);
  }
}

// Updates walk through rows: a weight's gradient becomes some where it is cast.
void mark_gradient(Graph& graph, const Users& users, const Node& node) {
  for (NodeId id : users.of(node.outputs[0])) {
    Node& reader = graph.node(id);
    if (!reader.is(OpKind::kCast)) continue;
    bool updates = false;
    for (NodeId next : users.of(reader.outputs[0])) {
      const Op& op = *graph.node(next).op;
      updates = updates || op.updates || op.writes_slot;
    }
    if (updates) reader.attrs.set(kAttr, false);
  }
}

}  // namespace

void channels_last(StepGraph& step) {
  Graph& graph = step.graph;
  Users users = graph.users();
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    Node& node = graph.node(id);
    if (!fits(graph, node)) continue;
    node.attrs.set(kAttr, true);
    mark_operands(graph, node);
    mark_gradient(graph, users, node);
  }
}

}  // namespace braid::passes
