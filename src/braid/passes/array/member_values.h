// MemberValues: values of one member taken out of values [B, ...], each once.
#pragma once

#include <map>
#include <utility>

#include "braid/graph/var.h"

namespace braid::passes {

class MemberValues {
 public:
  // x[B, ...] -> [...]; kAllMembers gives x itself, and so does no value. The
  // nodes are appended where the graph stands when they are first asked for.
  Var of(Var all, int64_t member);

 private:
  std::map<std::pair<ValueId, int64_t>, Var> made_;
};

// Numbers by owner added up for each of B members, [B]: those of kAllMembers
// are [B], those of one member a single number. Some may be missing.
Var sum_of_members(const std::map<int64_t, Var>& by_owner, int64_t members);

}  // namespace braid::passes
