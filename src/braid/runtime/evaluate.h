// Evaluation: a graph without a step, run once on the CPU.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "braid/ops/op.h"

namespace braid::runtime {

// The row-major bytes of a slot, or of an input.
using SlotBytes = std::function<std::vector<std::byte>(SlotId)>;

// Runs a graph that has no inputs; the bytes of its outputs, in order.
std::vector<std::vector<std::byte>> evaluate(const OpTable& ops,
                                             const Graph& graph,
                                             const SlotBytes& slots);

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
