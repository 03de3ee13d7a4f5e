#include "braid/passes/rewrite/fusion.h"

#include <algorithm>
#include <map>

#include "braid/graph/copy.h"
#include "braid/ops/core/fusion.h"
#include "braid/passes/rewrite/fusion_groups.h"

namespace braid::passes {
namespace {

// A node that computes the group, with the old values as inputs.
Node fusion_node(const Op& op, const Graph& graph, const FusionGroup& group,
                 const FusionRules& rules) {
  Fusion fusion;
  std::map<ValueId, size_t> made;
  auto place_of = [&](ValueId input) -> FusionOperand {
    auto step = made.find(input);
    if (step != made.end()) return {true, step->second};
    auto at = std::ranges::find(group.inputs, input);
    return {false, static_cast<size_t>(at - group.inputs.begin())};
  };
  for (NodeId id : group.nodes) {
    const Node& node = graph.node(id);
    FusionStep step = fusion_step(node, rules.mixed);
    for (ValueId in : node.inputs) step.operands.push_back(place_of(in));
    ValueId output = node.outputs[0];
    bool is_output = std::ranges::count(group.outputs, output) > 0;
    if (is_output) fusion.outputs.push_back(fusion.steps.size());
    made[output] = fusion.steps.size();
    fusion.steps.push_back(std::move(step));
  }
  Node next = graph.node(group.nodes.back());
  next.op = &op;
  next.attrs = fusion_attrs(fusion);
  next.inputs = group.inputs;
  next.outputs = group.outputs;
  return next;
}

// GraphCopy makes values anew; where they lie was decided before.
void add_with_layout(const Graph& from, GraphCopy& copy, const Node& node) {
  copy.add(node);
  for (ValueId old : node.outputs) {
    Value& value = copy.to.value(copy.value(old));
    value.strides = from.value(old).strides;
    value.offset = from.value(old).offset;
  }
}

}  // namespace

StepGraph fusion(const OpTable& ops, const StepGraph& step,
                 const FusionRules& rules) {
  std::map<NodeId, const FusionGroup*> group_of;
  const std::vector<FusionGroup> groups = find_fusions(step, rules);
  for (const FusionGroup& group : groups) {
    for (NodeId id : group.nodes) group_of[id] = &group;
  }
  const Op& fusion = ops.at("fusion");
  GraphCopy copy(step.graph);
  copy.add_slots();
  copy.add_inputs();
  for (NodeId id = 0; id < static_cast<NodeId>(step.graph.nodes().size());
       ++id) {
    auto at = group_of.find(id);
    if (at == group_of.end()) {
      add_with_layout(step.graph, copy, step.graph.node(id));
    } else if (at->second->nodes.back() == id) {
      add_with_layout(step.graph, copy,
                      fusion_node(fusion, step.graph, *at->second, rules));
    }
  }
  copy.add_outputs();
  StepGraph next{std::move(copy.to), step.micro_batches, step.gradients};
  for (auto& [slot, value] : next.gradients) value = copy.value(value);
  return next;
}

}  // namespace braid::passes
