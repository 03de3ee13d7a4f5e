// Signature of a graph: what members of one array have in common.
#pragma once

#include <string>
#include <string_view>

#include "braid/graph/graph.h"

namespace braid {

// A text that is equal for graphs which can be one array: inputs, nodes with
// ops, attributes, types, layer paths and rng keys, slots with names, types and
// roles, outputs. How slots begin is each member's own and not in it, except
// for constants, which members share. Stable, so that it may enter files.
std::string graph_signature(const Graph& graph);

// 16 hexadecimal digits for a text, as short names of signatures.
std::string digest_text(std::string_view text);

}  // namespace braid
