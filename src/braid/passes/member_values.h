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

}  // namespace braid::passes
