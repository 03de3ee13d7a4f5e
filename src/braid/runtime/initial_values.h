// Initial values of a slot: the numbers that its Init stands for.
#pragma once

#include <cstdint>
#include <functional>

#include "braid/graph/slot.h"

namespace braid::runtime {

// The value of one element of a member, by its row-major index. They depend on
// the seed and the slot's name alone. Throws when the Init does not fit.
std::function<double(uint64_t element)> initial_values(const Slot& slot,
                                                       int64_t seed);

// The x with erf(x) = y, for y in (-1, 1).
double inverse_erf(double y);

}  // namespace braid::runtime
