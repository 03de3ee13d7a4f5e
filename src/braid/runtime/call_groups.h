// Call groups: which neighbours of one op may run as one.
#pragma once

#include <vector>

#include "braid/plan/program.h"
#include "braid/runtime/kernels/kernel.h"

namespace braid::runtime {

// Whether two calls give the same in any order and at once: neither writes,
// to its outputs or its scratch, a byte that the other touches.
bool are_independent(const Call& a, const Call& b);

// Numbers of two or more calls, in the order of the program.
using CallGroup = std::vector<int32_t>;

// Calls on the device that follow each other within a unit with nothing in
// between, all of one op and all independent of each other. `calls` are those
// of the program with their operands bound.
std::vector<CallGroup> call_groups(const plan::Program& program,
                                   const std::vector<Call>& calls);

}  // namespace braid::runtime
