// Guarded buffers: where a step may be skipped because of numbers that are not
// finite, such numbers do not get into running statistics either.
#pragma once

#include "braid/ops/op.h"

namespace braid::passes {

// `forward` is a forward graph of one model. Every float that it assigns to a
// buffer is kept as it was where the new one is not finite. Slots keep their
// ids.
Graph guard_buffers(const OpTable& ops, const Graph& forward);

}  // namespace braid::passes
