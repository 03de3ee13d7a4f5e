#include "braid/passes/rewrite/chains.h"

#include <algorithm>
#include <map>

#include "braid/graph/copy.h"
#include "braid/ops/core/chain.h"
#include "braid/passes/rewrite/chain_groups.h"

namespace braid::passes {
namespace {

// A node that computes the group, with the old values as inputs.
Node chain_node(const Op& op, const Graph& graph, const ChainGroup& group) {
  Chain chain;
  std::map<ValueId, size_t> made;
  auto place_of = [&](ValueId input) -> ChainOperand {
    auto step = made.find(input);
    if (step != made.end()) return {true, step->second};
    auto at = std::ranges::find(group.inputs, input);
    return {false, static_cast<size_t>(at - group.inputs.begin())};
  };
  for (NodeId id : group.nodes) {
    const Node& node = graph.node(id);
    ChainStep step = chain_step(node);
    for (ValueId in : node.inputs) step.operands.push_back(place_of(in));
    ValueId output = node.outputs[0];
    bool is_output = std::ranges::count(group.outputs, output) > 0;
    if (is_output) chain.outputs.push_back(chain.steps.size());
    made[output] = chain.steps.size();
    chain.steps.push_back(std::move(step));
  }
  Node next = graph.node(group.nodes.back());
  next.op = &op;
  next.attrs = chain_attrs(chain);
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

StepGraph chains(const OpTable& ops, const StepGraph& step) {
  std::map<NodeId, const ChainGroup*> group_of;
  const std::vector<ChainGroup> groups = find_chains(ops, step);
  for (const ChainGroup& group : groups) {
    for (NodeId id : group.nodes) group_of[id] = &group;
  }
  const Op& chain = ops.at("chain");
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
                      chain_node(chain, step.graph, *at->second));
    }
  }
  copy.add_outputs();
  StepGraph next{std::move(copy.to), step.micro_batches, step.gradients};
  for (auto& [slot, value] : next.gradients) value = copy.value(value);
  return next;
}

}  // namespace braid::passes
