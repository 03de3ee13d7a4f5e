// Narrow convolutions of images work on channels that lie last in memory, as
// matrix units want them, and so do the casts that make their operands. Ops
// between them go on in the order of their inputs (ops/core/channels_last.h),
// so nothing is turned round but at the ends.
#pragma once

#include "braid/passes/step/step_graph.h"

namespace braid::passes {

// Of a whole step, before `layout`, which decides by what is written here.
void channels_last(StepGraph& step);

}  // namespace braid::passes
