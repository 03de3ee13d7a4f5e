#include "braid/graph/var.h"

#include "braid/base/error.h"

namespace braid {

int64_t Var::dim(int64_t index) const {
  // Elsewhere a number passes for one of a single dimension.
  if (rank() == 0) fail_usage("[dim] a number has no dimension {}", index);
  return shape()[static_cast<size_t>(normalize_dim(index, rank(), "dim"))];
}

namespace {

Graph* graph_of(const std::vector<Var>& inputs, std::string_view op) {
  Graph* graph = nullptr;
  for (const Var& input : inputs) {
    if (!input) continue;
    if (graph && graph != input.graph) {
      fail_usage("[{}] inputs belong to different graphs", op);
    }
    graph = input.graph;
  }
  if (!graph) fail_usage("[{}] needs at least one input", op);
  return graph;
}

}  // namespace

std::vector<Var> apply_all(std::string_view op, const std::vector<Var>& inputs,
                           Attrs attrs) {
  const TypeRules& rules = graph_of(inputs, op)->rules();
  return apply_all(rules.at(op), inputs, std::move(attrs));
}

std::vector<Var> apply_all(const Op& op, const std::vector<Var>& inputs,
                           Attrs attrs) {
  Graph* graph = graph_of(inputs, op.name);
  std::vector<ValueId> ids;
  for (const Var& input : inputs) ids.push_back(input.id);
  NodeId node = graph->add(op, std::move(ids), std::move(attrs));
  std::vector<Var> outputs;
  for (ValueId id : graph->node(node).outputs) outputs.push_back({graph, id});
  return outputs;
}

Var apply(std::string_view op, const std::vector<Var>& inputs, Attrs attrs) {
  return apply_all(op, inputs, std::move(attrs)).at(0);
}

Var apply(const Op& op, const std::vector<Var>& inputs, Attrs attrs) {
  return apply_all(op, inputs, std::move(attrs)).at(0);
}

Var input(Graph& graph, std::string name, ValueType type) {
  return {&graph, graph.add_input(std::move(name), std::move(type))};
}

Var read(Graph& graph, SlotId slot) {
  NodeId node = graph.add("read", {}, {}, slot);
  return {&graph, graph.node(node).outputs[0]};
}

void assign(SlotId slot, Var value) {
  value.graph->add("assign", {value.id}, {}, slot);
}

}  // namespace braid
