// Whether a graph is well formed. Passes call verify() on what they return.
#pragma once

#include <string>

#include "braid/graph/graph.h"

namespace braid {

// Throws std::invalid_argument with the first problem, naming the node: ids
// in range, values made before they are read, producers and types right,
// slots only where they belong, names unique, no phase after update.
void verify(const Graph& graph);

// What is wrong with the owners, names and beginnings of a slot of an array;
// empty when nothing is.
std::string owners_problem(const Slot& slot);

// What is wrong with the content of a slot; empty when nothing is.
std::string content_problem(const Slot& slot);

// Whether no size is negative and bytes and row-major strides fit 64 bits.
bool type_fits(const ValueType& type);

// Whether there is a stride >= 0 per dimension, the offset is >= 0, and the
// last byte the value touches can be counted in 64 bits.
bool layout_fits(const Value& value);

}  // namespace braid
