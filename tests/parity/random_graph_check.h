// Runs a random graph in every way and says what disagrees.
#pragma once

#include "random_graph.h"

namespace braid::parity {

// The first disagreement, or nothing: with libtorch, between a run and its
// repeat, an array and solo runs, the graph and its text, a random plan and
// none.
std::string check_random_graph(const RandomGraph& graph, uint64_t seed);

// A smaller graph that still has a problem of this kind.
RandomGraph shrink(RandomGraph graph, uint64_t seed);

}  // namespace braid::parity
