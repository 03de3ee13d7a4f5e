// What array_of() does, before it is done: the model that members have in
// common, and what runs beside each of its nodes.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "braid/passes/array/partial_match.h"

namespace braid::passes {

// A node of one member alone.
struct BranchNode {
  int64_t member = 0;
  NodeId node = kNone;  // of its graph
};

// A value of the common model that is made from those of the members.
struct Stacked {
  ValueId value = kNone;       // an input of the common model
  std::vector<ValueId> parts;  // by member, of its own graph
};

// What comes before a node of the common model; nodes first.
struct Beside {
  std::vector<BranchNode> nodes;
  std::vector<Stacked> stacked;
};

// An output whose type differs between members.
struct OwnOutput {
  std::string name;
  int64_t member = 0;
  ValueId value = kNone;
};

struct PartialPlan {
  Match match;
  Graph common;                // its slots are match.slots, under their index
  std::vector<Beside> beside;  // by node of `common`, and one for the end
  std::set<ValueId> stacked;   // inputs of `common` that are stacked
  std::vector<OwnOutput> outputs;
  // [member][value of its graph]: the value of `common` that it is a part of,
  // or kNone for a value of a branch.
  std::vector<std::vector<ValueId>> common_value;
};

// Throws when inputs or outputs of the members differ.
PartialPlan plan_members(const std::vector<Graph>& members);

}  // namespace braid::passes
