// Folding: what depends on constants alone is run once, not in every step.
#pragma once

#include <utility>
#include <vector>

#include "braid/runtime/evaluate.h"

namespace braid::runtime {

// A graph whose parts that depend on constants alone have been run. `made`
// are the new constant slots with their bytes; `kept` tells for each slot of
// the new graph which one it was, or kNone.
struct Folded {
  Graph graph;
  std::vector<std::pair<SlotId, std::vector<std::byte>>> made = {};
  std::vector<SlotId> kept = {};
};

Folded fold_constants(const OpTable& ops, const Graph& graph,
                      const SlotBytes& constants);

}  // namespace braid::runtime
