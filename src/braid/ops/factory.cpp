// Values from nothing: ranges, constants, unit matrices.
#include "braid/ops/families.h"
#include "braid/ops/functions.h"
#include "braid/ops/traits.h"

namespace braid {

void add_factory_ops(OpTable&) {}

}  // namespace braid
