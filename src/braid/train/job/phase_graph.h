// The graph of a phase: networks put together as its loss says.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "braid/ops/core/op.h"
#include "braid/train/job/loss_expression.h"

namespace braid::train {

// How a network is called.
struct PhaseNetwork {
  std::vector<std::string> names;  // of its inputs, in order
  // Its graph for inputs of these types, with one output.
  std::function<Graph(const std::map<std::string, ValueType>& inputs)> build;
};
using PhaseNetworks = std::map<std::string, PhaseNetwork>;

// Slots of a network begin with its name. `inputs` are those that a loss may
// use; the ones it does are the graph's.
Graph build_phase_graph(const OpTable& ops, const Expression& loss,
                        const PhaseNetworks& networks,
                        const std::map<std::string, ValueType>& inputs);

}  // namespace braid::train
