// Folding: what depends on constants alone is run once, not in every step.
#pragma once

#include <vector>

#include "braid/runtime/evaluate.h"

namespace braid::runtime {

// A graph whose parts that depend on constants alone have been run. What they
// gave is the content of new constant slots, which are named by it: graphs of
// one model for several batch sizes have different ones where they differ.
// `kept` tells for each slot of the new graph which one it was, or kNone.
struct Folded {
  Graph graph;
  std::vector<SlotId> kept = {};
};

Folded fold_constants(const OpTable& ops, const Graph& graph,
                      const SlotBytes& constants);

}  // namespace braid::runtime
