// Places allocations with known lifetimes into one arena.
#pragma once

#include "braid/plan/program.h"

namespace braid::plan {

// Sets the offset of every allocation of `space` so that no two that are
// alive together overlap; returns the bytes of the arena. Deterministic:
// largest first, at the lowest place that fits best.
int64_t place_allocations(std::vector<Allocation>& allocations, Space space);

}  // namespace braid::plan
