// Evaluation: a graph without a step, run once on the CPU.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "braid/ops/core/op.h"

namespace braid::runtime {

// The row-major bytes of a slot, or of an input.
using SlotBytes = std::function<std::vector<std::byte>(SlotId)>;

// Runs a graph that has no inputs; the bytes of its outputs, in order.
std::vector<std::vector<std::byte>> evaluate(const OpTable& ops,
                                             const Graph& graph,
                                             const SlotBytes& slots);

}  // namespace braid::runtime
