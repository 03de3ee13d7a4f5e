// Autodiff: backward is made explicit, as nodes of the same graph.
#pragma once

#include <map>
#include <string>

#include "braid/ops/core/op.h"

namespace braid::passes {

// A graph that computes gradients: forward nodes, backward nodes, then the
// assignments of buffers.
struct Gradients {
  Graph graph;
  std::map<SlotId, ValueId> of_slot;  // parameters that the loss depends on
};

// Gradients of the output `loss` (one number, or [B]) with respect to every
// trainable parameter. Each vjp rule's nodes carry the layer path of their
// forward node.
Gradients differentiate(const OpTable& ops, Graph forward,
                        const std::string& loss = "loss");

}  // namespace braid::passes
