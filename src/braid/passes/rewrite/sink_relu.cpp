#include "braid/passes/rewrite/sink_relu.h"

#include <map>
#include <set>

#include "braid/graph/copy.h"

namespace braid::passes {
namespace {

class SinkRelu {
 public:
  explicit SinkRelu(const Graph& graph)
      : graph_(graph), copy_(graph), users_(graph) {
    for (const Output& output : graph.outputs()) results_.insert(output.value);
  }

  Graph run() {
    find_pairs();
    if (relu_of_.empty()) return graph_;
    copy_.add_slots();
    copy_.add_inputs();
    for (const Node& node : graph_.nodes()) add(node);
    copy_.add_outputs();
    return std::move(copy_.to);
  }

 private:
  size_t uses(ValueId id) const {
    return users_.of(id).size() + results_.count(id);
  }

  void find_pairs() {
    for (const Node& pool : graph_.nodes()) {
      if (!pool.is(OpKind::kMaxPool) || uses(pool.outputs[1]) > 0) continue;
      NodeId before = graph_.value(pool.inputs[0]).producer;
      if (before == kNone || !graph_.node(before).is(OpKind::kRelu)) continue;
      if (uses(pool.inputs[0]) > 1) continue;
      relu_of_[&pool] = &graph_.node(before);
      moved_.insert(&graph_.node(before));
    }
  }

  void add(const Node& node) {
    if (moved_.contains(&node)) return;
    auto pair = relu_of_.find(&node);
    if (pair == relu_of_.end()) return copy_.add(node);
    const Node& relu = *pair->second;
    copy_.add(node, {copy_.value(relu.inputs[0])});
    Node after = relu;
    after.path = node.path;
    after.segment = node.segment;
    copy_.add(after, {copy_.value(node.outputs[0])});
    copy_.value(node.outputs[0]) = copy_.value(relu.outputs[0]);
  }

  const Graph& graph_;
  GraphCopy copy_;
  Users users_;
  std::set<ValueId> results_;
  std::map<const Node*, const Node*> relu_of_;  // by pooling
  std::set<const Node*> moved_;
};

}  // namespace

Graph sink_relu(const Graph& forward) { return SinkRelu(forward).run(); }

}  // namespace braid::passes
