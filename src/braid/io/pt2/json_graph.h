// Graphs of a .pt2 file: nodes in order, each value named once.
#pragma once

#include "braid/io/pt2/exported.h"
#include "braid/io/pt2/json_tree.h"

namespace braid::io::pt2 {

// Every name that a node or an output uses is known to be defined before it
// as that kind, and no name to be defined twice, so there are no cycles. Each
// tensor has a meta. Graphs inside a graph see only their own inputs.
ExportedGraph read_graph(const JsonPlace& place);

}  // namespace braid::io::pt2
