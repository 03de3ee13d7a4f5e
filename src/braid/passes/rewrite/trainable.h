// What a forward graph needs besides being right, so that it can learn.
#pragma once

#include "braid/graph/graph.h"

namespace braid::passes {

// Throws std::invalid_argument, naming the layer, for a batch norm over a
// single value per channel: PyTorch refuses it too, since the running variance
// of one value is 0 / 0 and would stay so.
void check_trainable(const Graph& forward);

}  // namespace braid::passes
