#include "braid/plan/unroll.h"

#include <algorithm>
#include <set>

#include "braid/base/error.h"
#include "braid/graph/var.h"
#include "braid/plan/analysis.h"
#include "braid/plan/program.h"

namespace braid::plan {
namespace {

// For each slot that the micro part assigns, the stages between the first and
// the last node that touches its content, old or new.
class GroupFinder {
 public:
  GroupFinder(const OpTable& ops, const Graph& graph)
      : graph_(graph),
        analysis_(analyse(ops, graph)),
        ranges_(graph.slots().size()),
        is_assigned_(graph.slots().size(), false),
        slots_of_(graph.values().size()) {}

  StageGroups run() {
    for (NodeId id = 0; id < num_micro_nodes(); ++id) add_assigned(id);
    for (NodeId id = 0; id < num_micro_nodes(); ++id) add_node(id);
    std::vector<StageGroup> found;
    for (size_t i = 0; i < ranges_.size(); ++i) {
      bool spans = ranges_[i].end > ranges_[i].begin + 1;
      if (is_assigned_[i] && spans) found.push_back(ranges_[i]);
    }
    return {analysis_.stages.size(), joined(std::move(found))};
  }

 private:
  NodeId num_micro_nodes() const {
    auto all = static_cast<NodeId>(graph_.nodes().size());
    if (analysis_.update_stage == analysis_.stages.size()) return all;
    return analysis_.stages[analysis_.update_stage].begin;
  }
  std::set<SlotId>& slots_of(ValueId value) {
    return slots_of_[static_cast<size_t>(value)];
  }

  // The value that becomes the content may lie in the slot's memory.
  void add_assigned(NodeId id) {
    const Node& node = graph_.node(id);
    if (!node.is(OpKind::kAssign)) return;
    is_assigned_[static_cast<size_t>(node.slot)] = true;
    slots_of(node.inputs[0]).insert(node.slot);
  }

  void add_node(NodeId id) {
    const Node& node = graph_.node(id);
    std::set<SlotId> touched;
    if (node.slot != kNone) touched.insert(node.slot);
    for (ValueId input : node.inputs) {
      if (input == kNone) continue;
      touched.insert(slots_of(input).begin(), slots_of(input).end());
    }
    if (node.is(OpKind::kRead) || node.op->view) {
      slots_of(node.outputs[0]).insert(touched.begin(), touched.end());
    }
    for (ValueId output : node.outputs) {
      touched.insert(slots_of(output).begin(), slots_of(output).end());
    }
    for (SlotId slot : touched) widen(slot, analysis_.stage_of(id));
  }

  void widen(SlotId slot, size_t stage) {
    StageGroup& range = ranges_[static_cast<size_t>(slot)];
    if (range.end == 0) range = {stage, stage + 1};
    range.begin = std::min(range.begin, stage);
    range.end = std::max(range.end, stage + 1);
  }

  static std::vector<StageGroup> joined(std::vector<StageGroup> groups) {
    std::ranges::sort(groups, {}, &StageGroup::begin);
    std::vector<StageGroup> joined;
    for (const StageGroup& group : groups) {
      if (!joined.empty() && group.begin < joined.back().end) {
        joined.back().end = std::max(joined.back().end, group.end);
      } else {
        joined.push_back(group);
      }
    }
    return joined;
  }

  const Graph& graph_;
  StepAnalysis analysis_;
  std::vector<StageGroup> ranges_;  // by slot
  std::vector<bool> is_assigned_;   // by slot
  // By value: slots whose memory it may be.
  std::vector<std::set<SlotId>> slots_of_;
};

class Unroller {
 public:
  Unroller(const OpTable& ops, const passes::StepGraph& step,
           const StageGroups& groups)
      : step_(step),
        from_(step.graph),
        to_(from_.rules()),
        analysis_(analyse(ops, from_)),
        groups_(groups.groups),
        last_(step.micro_batches - 1),
        values_(static_cast<size_t>(step.micro_batches),
                std::vector<ValueId>(from_.values().size(), kNone)) {
    if (groups.num_stages == analysis_.stages.size()) return;
    fail_defect("[plan] {} stages became {}", groups.num_stages,
                analysis_.stages.size());
  }

  passes::StepGraph run() {
    add_slots();
    for (int64_t micro : input_order()) add_inputs(micro);
    for (size_t p = 0; p < analysis_.update_stage;) p = add_group(p);
    for (size_t p = analysis_.update_stage; p < analysis_.stages.size(); ++p) {
      add_stage(p, last_);
    }
    add_outputs();
    return finished();
  }

 private:
  ValueId& value(ValueId id, int64_t micro) {
    return values_[static_cast<size_t>(micro)][static_cast<size_t>(id)];
  }

  // The last micro-batch takes the place of the only one.
  std::vector<int64_t> input_order() const {
    std::vector<int64_t> order{last_};
    for (int64_t micro = 0; micro < last_; ++micro) order.push_back(micro);
    return order;
  }

  void add_slots() {
    slots_.assign(from_.slots().size(), kNone);
    for (size_t i = 0; i < slots_.size(); ++i) {
      const Slot& slot = from_.slots()[i];
      if (slot.role == Role::kGradient) continue;
      slots_[i] = to_.add_slot(slot);
    }
  }

  void add_inputs(int64_t micro) {
    for (ValueId id : from_.inputs()) {
      const Value& input = from_.value(id);
      std::string name = input.name;
      if (micro != last_) name += fmt::format("@{}", micro);
      ValueId made = value(id, micro) = to_.add_input(name, input.type);
      to_.value(made).strides = input.strides;
    }
  }

  // Returns the stage behind the group that begins at `p`.
  size_t add_group(size_t p) {
    auto group = std::ranges::find(groups_, p, &StageGroup::begin);
    size_t end = group == groups_.end() ? p + 1 : group->end;
    for (int64_t micro = 0; micro <= last_; ++micro) {
      for (size_t q = p; q < end; ++q) add_stage(q, micro);
    }
    return end;
  }

  void add_stage(size_t p, int64_t micro) {
    const Stage& stage = analysis_.stages[p];
    for (NodeId id = stage.begin; id < stage.end; ++id) {
      add(from_.node(id), micro);
    }
  }

  void add(const Node& node, int64_t micro) {
    if (node.is(OpKind::kAccumulate)) return add_share(node, micro);
    bool is_sum = node.is(OpKind::kRead) && sums_.contains(node.slot);
    if (is_sum) {
      value(node.outputs[0], micro) = sums_.at(node.slot);
      return;
    }
    std::vector<ValueId> inputs;
    for (ValueId input : node.inputs) {
      inputs.push_back(input == kNone ? kNone : value(input, micro));
    }
    Node like = node;
    if (node.slot != kNone) like.slot = slots_[static_cast<size_t>(node.slot)];
    NodeId id = to_.add_like(like, std::move(inputs));
    const Node& made = to_.node(id);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const Value& from = from_.value(node.outputs[i]);
      Value& copy = to_.value(made.outputs[i]);
      copy.strides = from.strides;
      copy.offset = from.offset;
      if (micro == last_) copy.name = from.name;
      value(node.outputs[i], micro) = made.outputs[i];
    }
  }

  // What a micro-batch adds to the sum of a gradient.
  void add_share(const Node& node, int64_t micro) {
    to_.continue_at(node);
    std::vector<ValueId> inputs{value(node.inputs[0], micro)};
    auto before = sums_.find(node.slot);
    if (before != sums_.end()) inputs.push_back(before->second);
    NodeId id = to_.add("add_scaled", std::move(inputs), node.attrs);
    sums_[node.slot] = to_.node(id).outputs[0];
  }

  void add_outputs() {
    for (const Output& output : from_.outputs()) {
      to_.add_output(output.name, value(output.value, last_));
    }
    ValueId loss = from_.find_output("loss");
    for (int64_t micro = 0; loss != kNone && micro < last_; ++micro) {
      to_.add_output(loss_output(micro), value(loss, micro));
    }
  }

  passes::StepGraph finished() {
    passes::StepGraph step{.graph = std::move(to_),
                           .micro_batches = step_.micro_batches,
                           .is_unrolled = true};
    for (auto [parameter, gradient] : step_.gradients) {
      step.gradients[slots_[static_cast<size_t>(parameter)]] =
          value(gradient, last_);
    }
    return step;
  }

  const passes::StepGraph& step_;
  const Graph& from_;
  Graph to_;
  StepAnalysis analysis_;
  const std::vector<StageGroup>& groups_;
  int64_t last_;                              // micro-batch
  std::vector<std::vector<ValueId>> values_;  // by micro-batch and value
  std::vector<SlotId> slots_;                 // by slot
  std::map<SlotId, ValueId> sums_;            // by slot of a gradient
};

}  // namespace

StageGroups stage_groups(const OpTable& ops, const passes::StepGraph& step) {
  return GroupFinder(ops, step.graph).run();
}

passes::StepGraph unroll(const OpTable& ops, const passes::StepGraph& step,
                         const StageGroups& groups) {
  return Unroller(ops, step, groups).run();
}

}  // namespace braid::plan
