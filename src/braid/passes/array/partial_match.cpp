#include "braid/passes/array/partial_match.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "braid/graph/text_tokens.h"
#include "braid/passes/array/common_order.h"

namespace braid::passes {
namespace {

// What a slot must agree in; how it begins may differ.
bool is_same_slot(const Slot& a, const Slot& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.role == b.role &&
         a.aliases == b.aliases && a.trainable == b.trainable &&
         a.members == b.members && a.content == b.content;
}

// Numbers of a member that lie side by side even where only some have them.
bool is_number_of_member(const Slot& slot) {
  return slot.role == Role::kCounter || slot.role == Role::kHyper;
}

class SlotMatcher {
 public:
  SlotMatcher(const std::vector<Graph>& members,
              const std::set<std::string>& apart)
      : members_(members), apart_(apart) {}

  void run(Match& match) {
    for (const Graph& member : members_) {
      match.slot_index.emplace_back(member.slots().size(), kNone);
    }
    for (const Graph& member : members_) {
      for (const Slot& slot : member.slots()) add(slot, match);
    }
  }

 private:
  void add(const Slot& slot, Match& match) {
    if (apart_.contains(slot.name) || !seen_.insert(slot.name).second) return;
    CommonSlot common{slot, {}};
    for (const Graph& member : members_) {
      common.of_member.push_back(member.find_slot(slot.name));
    }
    if (!is_common(common)) return;
    describe(common);
    for (size_t k = 0; k < members_.size(); ++k) {
      SlotId id = common.of_member[k];
      if (id == kNone) continue;
      match.slot_index[k][static_cast<size_t>(id)] =
          static_cast<int32_t>(match.slots.size());
    }
    match.slots.push_back(std::move(common));
  }

  bool is_common(const CommonSlot& common) const {
    for (size_t k = 0; k < members_.size(); ++k) {
      SlotId id = common.of_member[k];
      if (id == kNone && is_number_of_member(common.slot)) continue;
      if (id == kNone || !is_same_slot(common.slot, members_[k].slot(id))) {
        return false;
      }
    }
    return true;
  }

  void describe(CommonSlot& common) const {
    std::vector<int64_t> owners;
    std::vector<Init> inits;
    for (size_t k = 0; k < members_.size(); ++k) {
      SlotId id = common.of_member[k];
      if (id != kNone) owners.push_back(static_cast<int64_t>(k));
      inits.push_back(id == kNone ? common.slot.init
                                  : members_[k].slot(id).init);
    }
    if (owners.size() < members_.size()) common.slot.owners = owners;
    bool differ =
        std::ranges::adjacent_find(inits, std::not_equal_to<>()) != inits.end();
    if (differ && common.slot.role != Role::kConstant) {
      common.slot.inits = inits;
    }
  }

  const std::vector<Graph>& members_;
  const std::set<std::string>& apart_;
  std::set<std::string> seen_;
};

std::string type_text(const Graph& graph, ValueId id) {
  if (id == kNone) return "_";
  const ValueType& type = graph.value(id).type;
  return fmt::format("{}{}", dtype_name(type.dtype), shape_text(type.shape));
}

// Everything that nodes must agree in. A node of a slot that members do not
// share is like no other's.
std::string key_of(const Match& match, const Graph& graph, size_t member,
                   const Node& node) {
  std::string key = fmt::format("{}\n{}\n{}\n{}", node.path, node.op->name,
                                node.rng_key, phase_name(node.phase));
  for (const auto& [name, value] : node.attrs.items()) {
    key += fmt::format("\n{}={}", name, attr_text(value));
  }
  for (ValueId id : node.inputs) key += "\n<" + type_text(graph, id);
  for (ValueId id : node.outputs) key += "\n>" + type_text(graph, id);
  if (node.slot == kNone) return key;
  int32_t slot = match.slot_index[member][static_cast<size_t>(node.slot)];
  return key + (slot == kNone ? fmt::format("\nof {}", member)
                              : fmt::format("\nslot {}", slot));
}

void match_nodes(const std::vector<Graph>& members, Match& match) {
  std::map<std::string, int32_t> numbers;
  std::vector<std::vector<int32_t>> lists(members.size());
  for (size_t k = 0; k < members.size(); ++k) {
    for (const Node& node : members[k].nodes()) {
      auto next = static_cast<int32_t>(numbers.size());
      auto key = key_of(match, members[k], k, node);
      lists[k].push_back(
          numbers.try_emplace(std::move(key), next).first->second);
    }
  }
  match.nodes = common_order(lists);
}

// Slots that the array would have to write for some of its members only.
std::set<std::string> half_written(const std::vector<Graph>& members,
                                   const Match& match) {
  std::vector<std::set<NodeId>> common(members.size());
  for (const auto& node : match.nodes) {
    for (size_t k = 0; k < node.size(); ++k) common[k].insert(node[k]);
  }
  std::set<std::string> names;
  for (size_t k = 0; k < members.size(); ++k) {
    for (size_t i = 0; i < members[k].nodes().size(); ++i) {
      const Node& node = members[k].nodes()[i];
      bool writes = node.slot != kNone && !node.is(OpKind::kRead);
      if (!writes || common[k].contains(static_cast<NodeId>(i))) continue;
      auto slot = static_cast<size_t>(node.slot);
      if (match.slot_index[k][slot] == kNone) continue;
      names.insert(members[k].slots()[slot].name);
    }
  }
  return names;
}

}  // namespace

Match match_members(const std::vector<Graph>& members) {
  std::set<std::string> apart;
  for (;;) {
    Match match;
    SlotMatcher(members, apart).run(match);
    match_nodes(members, match);
    std::set<std::string> more = half_written(members, match);
    if (more.empty()) return match;
    apart.insert(more.begin(), more.end());
  }
}

}  // namespace braid::passes
