// Member mask: members of an array that pause while others step.
#pragma once

#include "braid/ops/core/op.h"

namespace braid::passes {

// `forward` is a forward graph of one model. Adds the slot `array/active`, one
// number per member; where it is 0, a step leaves every slot of that member as
// it is: buffers by what is added here, the rest by the optimizer pass, which
// looks for the slot. Slots keep their ids.
Graph mask_members(const OpTable& ops, const Graph& forward);

}  // namespace braid::passes
