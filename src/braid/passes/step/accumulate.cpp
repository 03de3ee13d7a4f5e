#include "braid/passes/step/accumulate.h"

#include "braid/graph/var.h"
#include "braid/passes/names.h"

namespace braid::passes {
namespace {

Var micro_index(Graph& graph) {
  ValueId id = graph.find_input(kMicroInput);
  if (id == kNone) return input(graph, kMicroInput, {DType::kInt64, {}});
  return {&graph, id};
}

SlotId add_gradient_slot(Graph& graph, const Slot& parameter) {
  return graph.add_slot(
      parameter.beside(gradient_slot(parameter.own_name()), Role::kGradient));
}

// Each `accumulate` moves right behind the node that makes its gradient, so
// that no gradient outlives its layer.
void move_behind_producers(Graph& graph) {
  std::vector<NodeId> order;
  std::multimap<NodeId, NodeId> behind;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    if (!node.is(OpKind::kAccumulate)) continue;
    behind.emplace(graph.value(node.inputs[0]).producer,
                   static_cast<NodeId>(i));
  }
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    auto id = static_cast<NodeId>(i);
    if (!graph.node(id).is(OpKind::kAccumulate)) order.push_back(id);
    auto [first, last] = behind.equal_range(id);
    for (auto at = first; at != last; ++at) order.push_back(at->second);
  }
  graph.reorder(order);
}

}  // namespace

StepGraph accumulate(const OpTable&, Gradients gradients,
                     int64_t micro_batches) {
  if (micro_batches < 1) {
    fail_usage("[accumulate] needs at least one micro-batch, got {}",
               micro_batches);
  }
  StepGraph step{std::move(gradients.graph), micro_batches,
                 std::move(gradients.of_slot)};
  if (micro_batches == 1) return step;
  Graph& graph = step.graph;
  std::map<SlotId, SlotId> sums;  // parameter -> gradient slot
  for (auto [parameter, gradient] : step.gradients) {
    graph.continue_at(graph.node(graph.value(gradient).producer));
    sums[parameter] = add_gradient_slot(graph, graph.slot(parameter));
    graph.add("accumulate", {gradient, micro_index(graph).id},
              {{"scale", 1.0 / static_cast<double>(micro_batches)}},
              sums[parameter]);
  }
  move_behind_producers(graph);
  for (auto& [parameter, gradient] : step.gradients) {
    graph.continue_at(graph.node(graph.value(gradient).producer));
    graph.set_phase(Phase::kUpdate);
    gradient = read(graph, sums[parameter]).id;
  }
  return step;
}

}  // namespace braid::passes
