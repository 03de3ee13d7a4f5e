// Initial values of a slot: the numbers that its Init stands for.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "braid/graph/slot.h"

namespace braid::runtime {

// Fills `to` with the values of a member's elements from `first` on, by their
// row-major index.
using InitialValues = std::function<void(std::span<double> to, uint64_t first)>;

// Values depend on the seed and the slot's name alone. Throws when the Init
// does not fit.
InitialValues initial_values(const Slot& slot, int64_t seed);

// The x with erf(x) = y, for y in (-1, 1).
double inverse_erf(double y);

}  // namespace braid::runtime
