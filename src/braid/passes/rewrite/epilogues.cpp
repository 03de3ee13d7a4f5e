#include "braid/passes/rewrite/epilogues.h"

#include <set>

#include "braid/graph/copy.h"

namespace braid::passes {
namespace {

class Epilogues {
 public:
  explicit Epilogues(const StepGraph& step)
      : graph_(step.graph),
        linear_(graph_.rules().at("linear")),
        copy_(step.graph),
        users_(step.graph) {
    for (const Output& output : graph_.outputs()) results_.insert(output.value);
    for (const auto& [slot, value] : step.gradients) results_.insert(value);
    for (const Node& node : graph_.nodes()) {
      if (const Node* linear = joined_with(node)) relu_of_[linear] = &node;
    }
  }

  StepGraph run(const StepGraph& step) {
    if (relu_of_.empty()) return step;
    copy_.add_slots();
    copy_.add_inputs();
    for (const Node& node : graph_.nodes()) add(node);
    copy_.add_outputs();
    StepGraph next{std::move(copy_.to), step.micro_batches, step.gradients,
                   step.is_unrolled};
    for (auto& [slot, value] : next.gradients) value = copy_.value(value);
    return next;
  }

 private:
  // The layer that a relu becomes a part of; null when there is none.
  const Node* joined_with(const Node& relu) const {
    if (!relu.is(OpKind::kRelu)) return nullptr;
    ValueId between = relu.inputs[0];
    NodeId producer = graph_.value(between).producer;
    if (producer == kNone || users_.of(between).size() > 1 ||
        results_.contains(between)) {
      return nullptr;
    }
    const Node& linear = graph_.node(producer);
    bool together =
        linear.phase == relu.phase && linear.segment == relu.segment;
    bool is_bare = linear.op == &linear_ && !linear.attrs.has("activation");
    return together && is_bare ? &linear : nullptr;
  }

  void add(const Node& node) {
    auto pair = relu_of_.find(&node);
    if (pair != relu_of_.end()) {
      Node active = node;
      active.attrs.set("activation", std::string("relu"));
      active.outputs = pair->second->outputs;
      copy_.add(active);
      joined_.insert(pair->second);
    } else if (!joined_.contains(&node)) {
      copy_.add(node);
    }
  }

  const Graph& graph_;
  const Op& linear_;
  GraphCopy copy_;
  Users users_;
  std::set<ValueId> results_;
  std::map<const Node*, const Node*> relu_of_;  // by layer
  std::set<const Node*> joined_;
};

}  // namespace

StepGraph epilogues(const StepGraph& step) { return Epilogues(step).run(step); }

}  // namespace braid::passes
