// Images made larger or smaller.
#include "braid/ops/families.h"
#include "braid/ops/functions.h"
#include "braid/ops/traits.h"

namespace braid {

void add_upsample_ops(OpTable&) {}

}  // namespace braid
