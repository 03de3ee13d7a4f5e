// The parts of the family of elementary functions.
#pragma once

#include "braid/ops/core/op.h"

namespace braid {

void add_unary_math(OpTable& table);
void add_binary_math(OpTable& table);
void add_range_math(OpTable& table);  // clamping, interpolation, sums

}  // namespace braid
