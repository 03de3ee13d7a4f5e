// Prune: nodes whose results nobody wants are dropped.
#pragma once

#include <vector>

#include "braid/ops/core/op.h"

namespace braid::passes {

// Keeps what leads to an output, a written slot, or a value of `wanted`.
void remove_dead_code(const OpTable& ops, Graph& graph,
                      const std::vector<ValueId>& wanted = {});

}  // namespace braid::passes
