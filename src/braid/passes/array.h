// Array pass: a graph of one model becomes a graph of B members.
#pragma once

#include <string>
#include <vector>

#include "braid/ops/op.h"

namespace braid::passes {

struct ArrayOptions {
  int64_t members = 1;  // B
  // Inputs that all members share; the others get a leading axis of B.
  std::vector<std::string> shared_inputs = {};
};

// Every slot gets an axis of B; values that depend on no member stay single;
// outputs lead with B. Runs before autodiff, which then sees ordinary ops.
Graph array(const OpTable& ops, const Graph& one, const ArrayOptions& options);

}  // namespace braid::passes
