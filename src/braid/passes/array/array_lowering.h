// Which lowering each convolution of an array gets. The cheapest one by itself
// may want its members where its neighbours do not have them, so the choice is
// made for the whole graph: seconds of convolutions and of relayouts between
// axes together.
#pragma once

#include <vector>

#include "braid/passes/array/array.h"

namespace braid::passes {

// By node of `one`; those that are no convolution say kGrouped. Convolutions
// that are alike get the same one. A pure function of its arguments.
std::vector<Lowering> choose_lowerings(const OpTable& ops, const Graph& one,
                                       const ArrayPassOptions& options);

}  // namespace braid::passes
