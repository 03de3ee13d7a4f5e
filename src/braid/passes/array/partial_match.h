// Which nodes and slots of several models are the same. The models are forward
// graphs; what is common keeps the order that it has in each of them, so that
// nodes of single members may run in between.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "braid/graph/graph.h"

namespace braid::passes {

// A slot that all members share the place of.
struct CommonSlot {
  Slot slot;  // `inits` where they differ; `owners` when not all have it
  std::vector<SlotId> of_member;  // kNone where a member does not have it
};

struct Match {
  // Nodes that are the same in all members: [node][member], in order.
  std::vector<std::vector<NodeId>> nodes;
  std::vector<CommonSlot> slots;  // in the order of the first that have them
  // [member][slot] -> index into `slots`, or kNone.
  std::vector<std::vector<int32_t>> slot_index;
};

// Nodes are the same when layer path, op, attributes, types, draw and slot
// are. An extra block in one of the members does not part what follows it.
Match match_members(const std::vector<Graph>& members);

}  // namespace braid::passes
