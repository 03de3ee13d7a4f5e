// Rearrangements that copy: flips, rolls, triangles, repeats.
#include "braid/ops/families.h"
#include "braid/ops/functions.h"
#include "braid/ops/traits.h"

namespace braid {

void add_arrange_ops(OpTable&) {}

}  // namespace braid
