// Signature of a call: op, types, strides, attributes, threads. Calls with one
// signature take the same scratch and about the same time.
#pragma once

#include <string>

#include "braid/graph/graph.h"

namespace braid::plan {

std::string call_signature(const Graph& graph, const Node& node, int threads);

}  // namespace braid::plan
