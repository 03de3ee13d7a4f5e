// Segments: the units that a plan decides about. A segment is a layer of the
// model: the layer path up to its first number ("model.blocks.3"), or without
// one its first part. A part that all paths begin with does not count. Nodes
// outside any layer belong to the one before.
#pragma once

#include <string>
#include <vector>

#include "braid/graph/graph.h"

namespace braid::passes {

// Marks every node of a forward graph with its segment; later passes carry
// the marks along. Returns the names in order.
std::vector<std::string> mark_segments(Graph& forward);

}  // namespace braid::passes
