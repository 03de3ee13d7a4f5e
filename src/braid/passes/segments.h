// Segments: the units that a plan decides about. A segment is a layer of the
// model: the first part of the layer path, with its number when it is one of
// a list ("blocks.3"). Nodes outside any layer belong to the one before.
#pragma once

#include <string>
#include <vector>

#include "braid/graph/graph.h"

namespace braid::passes {

// Marks every node of a forward graph with its segment; later passes carry
// the marks along. Returns the names in order.
std::vector<std::string> mark_segments(Graph& forward);

}  // namespace braid::passes
