#include "braid/plan/analysis.h"

#include <algorithm>
#include <set>

namespace braid::plan {
namespace {

void find_stages(const Graph& graph, StepAnalysis& analysis) {
  std::vector<Stage>& stages = analysis.stages;
  auto num_nodes = static_cast<NodeId>(graph.nodes().size());
  for (NodeId id = 0; id < num_nodes; ++id) {
    const Node& node = graph.node(id);
    bool fresh =
        stages.empty() || stages.back().phase != node.phase ||
        (stages.back().segment != node.segment && !node.is(OpKind::kAssign));
    if (fresh) stages.push_back({node.phase, node.segment, id, id});
    stages.back().end = id + 1;
    analysis.stage_of_node.push_back(stages.size() - 1);
  }
  auto is_update = [](const Stage& stage) {
    return stage.phase == Phase::kUpdate;
  };
  auto first = std::ranges::find_if(stages, is_update);
  analysis.update_stage = static_cast<size_t>(first - stages.begin());
}

// A slot belongs to the segment that updates it, else to its first reader's.
void find_slot_owners(const Graph& graph, StepAnalysis& analysis) {
  analysis.slot_owner.assign(graph.slots().size(), kNone);
  for (const Node& node : graph.nodes()) {
    if (node.slot == kNone) continue;
    int32_t& owner = analysis.slot_owner[static_cast<size_t>(node.slot)];
    if (owner == kNone || node.is(OpKind::kAssign)) owner = node.segment;
  }
}

void add(Cost& sum, const Cost& cost) {
  sum.flops += cost.flops;
  sum.bytes += cost.bytes;
}

class CostTable {
 public:
  CostTable(const OpTable& ops, const Graph& graph,
            const StepAnalysis& analysis, size_t num_segments)
      : ops_(ops), graph_(graph), analysis_(analysis), rows_(num_segments) {}

  std::vector<SegmentCosts> run() {
    for (const Node& node : graph_.nodes()) add_node(node);
    for (size_t i = 0; i < graph_.slots().size(); ++i) add_slot(i);
    for (const Buffer& buffer : analysis_.buffers.all) add_buffer(buffer);
    return std::move(rows_);
  }

 private:
  SegmentCosts* row(int32_t segment) {
    auto at = static_cast<size_t>(segment);
    return segment >= 0 && at < rows_.size() ? &rows_[at] : nullptr;
  }

  void add_node(const Node& node) {
    SegmentCosts* r = row(node.segment);
    if (!r || node.is(OpKind::kRead)) return;
    Cost cost = ops_.cost(graph_, node);
    switch (node.phase) {
      case Phase::kForward:
        add(r->forward, cost);
        ++r->forward_nodes;
        break;
      case Phase::kBackward:
        add(r->backward, cost);
        ++r->backward_nodes;
        break;
      case Phase::kUpdate: add(r->update, cost); break;
    }
  }

  void add_slot(size_t number) {
    const Slot& slot = graph_.slots()[number];
    SegmentCosts* r = row(analysis_.slot_owner[number]);
    if (!r) return;
    if (slot.role == Role::kParameter) r->parameter_bytes += slot.bytes();
    if (slot.role == Role::kOptimizer) r->state_bytes += slot.bytes();
  }

  void add_buffer(const Buffer& buffer) {
    if (buffer.slot != kNone || buffer.writers.empty()) return;
    const Node& maker = graph_.node(buffer.writers[0]);
    if (maker.phase != Phase::kForward || !row(maker.segment)) return;
    auto in_backward = [&](NodeId id) {
      return graph_.node(id).phase == Phase::kBackward;
    };
    if (!std::ranges::any_of(buffer.users, in_backward)) return;
    row(maker.segment)->kept_bytes += buffer.bytes;
    std::set<int32_t> readers;
    for (NodeId id : buffer.users) {
      if (in_backward(id)) readers.insert(graph_.node(id).segment);
    }
    readers.erase(maker.segment);
    for (int32_t segment : readers) {
      if (SegmentCosts* r = row(segment)) r->input_bytes += buffer.bytes;
    }
  }

  const OpTable& ops_;
  const Graph& graph_;
  const StepAnalysis& analysis_;
  std::vector<SegmentCosts> rows_;
};

}  // namespace

StepAnalysis analyse(const OpTable& ops, const Graph& step) {
  StepAnalysis analysis{.buffers = find_buffers(ops, step)};
  find_stages(step, analysis);
  find_slot_owners(step, analysis);
  return analysis;
}

std::vector<SegmentCosts> segment_costs(const OpTable& ops, const Graph& step,
                                        const StepAnalysis& analysis,
                                        size_t num_segments) {
  return CostTable(ops, step, analysis, num_segments).run();
}

}  // namespace braid::plan
