// Pooling before relu: the greatest of relu's results is relu of the greatest.
// What relu and its gradient work on is then smaller by the size of a window,
// and the large values before the pooling need not be kept for the backward
// part.
#pragma once

#include "braid/graph/graph.h"

namespace braid::passes {

// Exchanges each relu whose result only a max pooling reads with that pooling;
// it moves to the pooling's segment. Losses and gradients keep their bits, but
// for signs of zeros. Poolings whose places somebody reads stay: among results
// that are all 0 others are the first. `forward` is a forward graph.
Graph sink_relu(const Graph& forward);

}  // namespace braid::passes
