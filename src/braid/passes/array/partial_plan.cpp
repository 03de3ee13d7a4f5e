#include "braid/passes/array/partial_plan.h"

#include <algorithm>
#include <map>

#include "braid/base/error.h"
#include "braid/passes/names.h"

namespace braid::passes {
namespace {

std::string type_text(const ValueType& type) {
  return fmt::format("{}{}", dtype_name(type.dtype), shape_text(type.shape));
}

// Nodes of branches in an order that keeps each member's and has the same
// layers of several members side by side, so that they are one segment.
std::vector<BranchNode> by_layer(const std::vector<Graph>& members,
                                 std::vector<NodeId> next,
                                 const std::vector<NodeId>& ends) {
  auto layer_of = [&](size_t k) {
    return next[k] < ends[k] ? &members[k].node(next[k]).path : nullptr;
  };
  std::vector<BranchNode> order;
  for (size_t first = 0; first < members.size();) {
    const std::string* layer = layer_of(first);
    if (!layer) {
      ++first;
      continue;
    }
    for (size_t k = first; k < members.size(); ++k) {
      for (; layer_of(k) && *layer_of(k) == *layer; ++next[k]) {
        order.push_back({static_cast<int64_t>(k), next[k]});
      }
    }
  }
  return order;
}

class Planner {
 public:
  explicit Planner(const std::vector<Graph>& members)
      : members_(members),
        plan_{.match = match_members(members),
              .common = Graph(members[0].rules()),
              .beside = {},
              .stacked = {},
              .outputs = {},
              .common_value = {}},
        next_(members.size(), 0) {
    for (const Graph& member : members) {
      plan_.common_value.emplace_back(member.values().size(), kNone);
    }
  }

  PartialPlan run() {
    for (const CommonSlot& slot : plan_.match.slots)
      common().add_slot(slot.slot);
    for (size_t k = 0; k < members_.size(); ++k) add_inputs(k);
    for (const auto& nodes : plan_.match.nodes) add_common(nodes);
    std::vector<NodeId> ends;
    for (const Graph& member : members_) {
      ends.push_back(static_cast<NodeId>(member.nodes().size()));
    }
    add_branches(ends);
    for (const Output& output : members_[0].outputs()) add_output(output.name);
    return std::move(plan_);
  }

 private:
  Graph& common() { return plan_.common; }
  ValueId& common_value(size_t member, ValueId id) {
    return plan_.common_value[member][static_cast<size_t>(id)];
  }
  const ValueType& type(size_t member, ValueId id) const {
    return members_[member].value(id).type;
  }

  // Only models that draw know about micro-batches; anything else is given to
  // all members.
  void add_inputs(size_t k) {
    for (ValueId id : members_[0].inputs()) check_input(k, 0, id);
    for (ValueId id : members_[k].inputs()) {
      check_input(0, k, id);
      const Value& value = members_[k].value(id);
      ValueId known = common().find_input(value.name);
      common_value(k, id) =
          known == kNone ? common().add_input(value.name, value.type) : known;
    }
  }

  // Whether member `k` has the input of member `other`.
  void check_input(size_t k, size_t other, ValueId id) const {
    const Value& value = members_[other].value(id);
    if (value.name == kMicroInput) return;
    ValueId own = members_[k].find_input(value.name);
    if (own != kNone && type(k, own) == value.type) return;
    fail_usage(
        "[array] expected {} for input '{}' of member {}, got {}\n"
        "HINT: models that are trained together take the same inputs",
        type_text(value.type), value.name, k,
        own == kNone ? "none" : type_text(type(k, own)));
  }

  // Nodes that members have before these, and not in common.
  void add_branches(const std::vector<NodeId>& ends) {
    plan_.beside.push_back({by_layer(members_, next_, ends), {}});
    for (size_t k = 0; k < members_.size(); ++k) next_[k] = ends[k] + 1;
  }

  void add_common(const std::vector<NodeId>& nodes) {
    add_branches(nodes);
    Node node = members_[0].node(nodes[0]);
    if (node.slot != kNone) {
      node.slot = plan_.match.slot_index[0][static_cast<size_t>(node.slot)];
    }
    std::vector<ValueId> inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      inputs.push_back(operand(nodes, i));
    }
    const Node& made = common().node(common().add_like(node, inputs));
    for (size_t k = 0; k < members_.size(); ++k) {
      const Node& own = members_[k].node(nodes[k]);
      for (size_t i = 0; i < own.outputs.size(); ++i) {
        common_value(k, own.outputs[i]) = made.outputs[i];
      }
    }
  }

  ValueId operand(const std::vector<NodeId>& nodes, size_t index) {
    std::vector<ValueId> parts;
    for (size_t k = 0; k < members_.size(); ++k) {
      parts.push_back(members_[k].node(nodes[k]).inputs[index]);
    }
    return parts[0] == kNone ? kNone : value_of(parts);
  }

  // The common value that the members' values are parts of.
  ValueId value_of(const std::vector<ValueId>& parts) {
    ValueId first = common_value(0, parts[0]);
    bool is_common = first != kNone;
    for (size_t k = 0; k < parts.size(); ++k) {
      is_common = is_common && common_value(k, parts[k]) == first;
    }
    if (is_common) return first;
    auto [known, fresh] = stacked_.try_emplace(parts, kNone);
    if (fresh) {
      known->second = common().add_input(
          fmt::format("/stacked.{}", stacked_.size()), type(0, parts[0]));
      plan_.stacked.insert(known->second);
      plan_.beside.back().stacked.push_back({known->second, parts});
    }
    return known->second;
  }

  void add_output(const std::string& name) {
    std::vector<ValueId> parts;
    bool is_same = true;
    for (size_t k = 0; k < members_.size(); ++k) {
      parts.push_back(output_of(k, name));
      is_same = is_same && type(k, parts[k]) == type(0, parts[0]);
    }
    if (is_same) return common().add_output(name, value_of(parts));
    for (size_t k = 0; k < members_.size(); ++k) {
      plan_.outputs.push_back({name, static_cast<int64_t>(k), parts[k]});
    }
  }

  ValueId output_of(size_t k, const std::string& name) const {
    ValueId value = members_[k].find_output(name);
    bool as_many = members_[k].outputs().size() == members_[0].outputs().size();
    if (value == kNone || !as_many) {
      fail_usage(
          "[array] expected output '{}' and {} in all of member {}, got {}",
          name, members_[0].outputs().size(), k, members_[k].outputs().size());
    }
    return value;
  }

  const std::vector<Graph>& members_;
  PartialPlan plan_;
  std::vector<NodeId> next_;  // by member: its first node that is not added
  std::map<std::vector<ValueId>, ValueId> stacked_;
};

}  // namespace

PartialPlan plan_members(const std::vector<Graph>& members) {
  return Planner(members).run();
}

}  // namespace braid::passes
