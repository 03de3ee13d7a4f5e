// Elementary functions, powers, clamping, interpolation.
#include "braid/ops/families.h"
#include "braid/ops/functions.h"
#include "braid/ops/traits.h"

namespace braid {

void add_math_ops(OpTable&) {}

}  // namespace braid
