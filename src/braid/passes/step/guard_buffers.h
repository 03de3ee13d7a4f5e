// Guarded buffers: where a step may be skipped because of numbers that are not
// finite, such numbers do not get into running statistics either.
#pragma once

#include <string>

#include "braid/ops/core/op.h"

namespace braid::passes {

// `forward` is a forward graph of one model. Every float that it assigns to a
// buffer is kept as it was where the new one is not finite and the model skips
// such steps: its slot "hyper/skip_nonfinite", in the optimizer's scope, is not
// 0; `skips` is its first content. Slots keep their ids.
Graph guard_buffers(const Graph& forward, double skips,
                    const std::string& scope = "");

}  // namespace braid::passes
