#include "braid/passes/array/partial.h"

#include <algorithm>

#include "braid/ops/build/functions.h"
#include "braid/passes/array/branch_emitter.h"
#include "braid/passes/array/member_values.h"
#include "braid/passes/array/partial_plan.h"

namespace braid::passes {
namespace {

// Adds the branches while the array of the common model is built.
class Branches : public BranchEmitter {
 public:
  Branches(const std::vector<Graph>& members, const PartialPlan& plan)
      : members_(members), plan_(plan) {
    for (const Graph& member : members) {
      own_.emplace_back(member.values().size());
      slots_.emplace_back(member.slots().size(), kNone);
    }
  }

  bool makes(ValueId input) const override {
    return plan_.stacked.contains(input);
  }

  void before(ArrayDraft& array, size_t index) override {
    if (index == 0) add_slots(array.graph());
    const Beside& beside = plan_.beside[index];
    for (const BranchNode& node : beside.nodes) add_node(array, node);
    const auto& nodes = plan_.common.nodes();
    if (index < nodes.size()) array.graph().continue_at(nodes[index]);
    for (const Stacked& stacked : beside.stacked) {
      array.place(stacked.value, stack(parts_of(array, stacked), 0));
    }
    if (index == nodes.size()) add_outputs(array);
  }

 private:
  static size_t at(int64_t id) { return static_cast<size_t>(id); }

  void add_slots(Graph& graph) {
    for (size_t k = 0; k < members_.size(); ++k) {
      for (size_t i = 0; i < members_[k].slots().size(); ++i) {
        slots_[k][i] = plan_.match.slot_index[k][i];
        if (slots_[k][i] != kNone) continue;
        slots_[k][i] = graph.add_slot(own_slot(members_[k].slots()[i], k));
      }
    }
  }

  static Slot own_slot(Slot slot, size_t member) {
    std::string prefix = member_prefix(static_cast<int64_t>(member));
    slot.name = prefix + slot.name;
    for (std::string& alias : slot.aliases) alias = prefix + alias;
    slot.owners = {static_cast<int64_t>(member)};
    return slot;
  }

  void add_node(ArrayDraft& array, const BranchNode& branch) {
    Graph& graph = array.graph();
    Node node = members_[at(branch.member)].node(branch.node);
    graph.continue_at(node);
    std::vector<ValueId> inputs;
    for (ValueId id : node.inputs) {
      inputs.push_back(id == kNone ? kNone
                                   : value(array, branch.member, id).id);
    }
    if (node.slot != kNone)
      node.slot = slots_[at(branch.member)][at(node.slot)];
    const Node& made = graph.node(graph.add_like(node, inputs));
    std::vector<ValueId> outputs = made.outputs;
    bool is_array = node.slot != kNone && graph.slot(node.slot).members > 0;
    for (size_t i = 0; i < outputs.size(); ++i) {
      Var result{&graph, outputs[i]};
      if (is_array) result = taken_.of(result, branch.member);
      own_[at(branch.member)][at(node.outputs[i])] = result;
    }
  }

  // A member's value, as its branches read it.
  Var value(ArrayDraft& array, int64_t member, ValueId id) {
    ValueId common = plan_.common_value[at(member)][at(id)];
    if (common == kNone) return own_[at(member)][at(id)];
    Var shared = array.shared(common);
    return shared ? shared : taken_.of(array.leading(common), member);
  }

  std::vector<Var> parts_of(ArrayDraft& array, const Stacked& stacked) {
    std::vector<Var> parts;
    for (size_t k = 0; k < members_.size(); ++k) {
      auto member = static_cast<int64_t>(k);
      parts.push_back(value(array, member, stacked.parts[k]));
    }
    return parts;
  }

  void add_outputs(ArrayDraft& array) {
    for (const OwnOutput& output : plan_.outputs) {
      array.graph().add_output(member_prefix(output.member) + output.name,
                               value(array, output.member, output.value).id);
    }
  }

  const std::vector<Graph>& members_;
  const PartialPlan& plan_;
  std::vector<std::vector<Var>> own_;       // [member][value]: of branches
  std::vector<std::vector<SlotId>> slots_;  // [member][slot]: of the whole
  MemberValues taken_;
};

bool computes(const Node& node) { return node.slot == kNone; }

void check_members(const std::vector<Graph>& members) {
  if (members.empty()) fail_usage("[array] needs at least one member, got 0");
}

}  // namespace

Graph array_of(const OpTable& ops, const std::vector<Graph>& members,
               ArrayPassOptions options) {
  check_members(members);
  PartialPlan plan = plan_members(members);
  if (std::ranges::none_of(plan.common.nodes(), computes)) {
    fail_usage(
        "[array] the {} members have nothing in common\n"
        "HINT: train models that are not alike in arrays of their own",
        members.size());
  }
  options.members = static_cast<int64_t>(members.size());
  Branches branches(members, plan);
  return array_with_branches(ops, plan.common, options, branches);
}

PartialReport partial_report(const std::vector<Graph>& members) {
  check_members(members);
  Match match = match_members(members);
  PartialReport report{static_cast<int64_t>(match.nodes.size()), {}};
  for (const Graph& member : members) {
    report.own.push_back(static_cast<int64_t>(member.nodes().size()) -
                         report.common);
  }
  return report;
}

double common_share(const std::vector<Graph>& members) {
  check_members(members);
  auto count = [](const auto& nodes, auto&& node_of) {
    double sum = 0;
    for (const auto& node : nodes) sum += computes(node_of(node)) ? 1 : 0;
    return sum;
  };
  Match match = match_members(members);
  double common = count(match.nodes, [&](const auto& ids) -> const Node& {
    return members[0].node(ids[0]);
  });
  double shares = 0;
  for (const Graph& member : members) {
    double all =
        count(member.nodes(), [](const Node& n) -> const Node& { return n; });
    shares += all == 0 ? 0 : common / all;
  }
  return shares / static_cast<double>(members.size());
}

}  // namespace braid::passes
