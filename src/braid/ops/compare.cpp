// Comparisons, logic, bits, and choices between values.
#include "braid/ops/families.h"
#include "braid/ops/functions.h"
#include "braid/ops/traits.h"

namespace braid {

void add_compare_ops(OpTable&) {}

}  // namespace braid
